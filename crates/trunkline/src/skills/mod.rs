//! The skills of a server (extension `io.modelcontextprotocol/skills`): listed, and their files read one by one, each held
//! against its entry before anybody sees it.

mod entry;
mod frontmatter;
#[cfg(any(test, fuzzing))]
pub(crate) mod laws;
mod path;
#[cfg(test)]
mod tests;
mod verify;

use std::collections::HashSet;
use std::fmt;

use serde_json::json;

use crate::client::Client;
use crate::connection::EventKind;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::protocol::RawJson;
use entry::Entry;
pub use entry::SkillFile;

const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// A skill of a server: instructions for a model, and the files they speak of. Nothing of it is fetched before it is asked for
/// (extension Skills, "Lazy Retrieval").
///
/// What its files hold is the server's word, not yours: show a model where it comes from, and let it run nothing without
/// asking. The digests say that a file is what the entry describes, not that either can be trusted.
///
/// ```no_run
/// use trunkline::Client;
///
/// # async fn f() -> trunkline::Result<()> {
/// let server = Client::http("https://example.com/mcp").build()?;
/// for skill in server.list_skills().await? {
///     println!("{}: {}", skill.name(), skill.description());
/// }
/// let skill = server.skill("skill://pdf-processing/SKILL.md").await?;
/// let instructions = skill.load().await?; // SKILL.md, verified
/// let forms = skill.read("references/FORMS.md").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Skill {
    client: Client,
    entry: Entry,
}

impl Client {
    /// The skills that the server lists, over all pages. One whose entry breaks the rules is left out and told in
    /// [`warnings`](Self::warnings). A server may have more than it lists: see [`skill`](Self::skill).
    ///
    /// # Errors
    /// [`Unsupported`](ErrorKind::Unsupported) where the server doesn't declare skills, else as
    /// [`list_tools`](Self::list_tools).
    pub async fn list_skills(&self) -> Result<Vec<Skill>> {
        self.need_skills().await?;
        let bounds = self.managed().setup().limits.clone();
        let (mut skills, mut cursors, mut size) = (Vec::new(), HashSet::new(), 0);
        let mut cursor: Option<String> = None;
        for _ in 0..bounds.max_pages {
            let params = cursor.as_ref().map_or_else(RawJson::empty_object, |cursor| json!({"cursor": cursor}).into());
            let page = self.request("skills/list", Some(params)).await?;
            size += page.as_bytes().len();
            if size > bounds.max_list {
                return Err(over("max_list", bounds.max_list, "bytes"));
            }
            self.take_skills(&page, &mut skills)?;
            if skills.len() > bounds.max_items {
                return Err(over("max_items", bounds.max_items, "entries"));
            }
            match page.text("nextCursor") {
                None => return Ok(skills),
                Some(next) if !cursors.insert(next.clone()) => {
                    self.warn("skills/list repeats a page cursor; the list ends there".to_owned());
                    return Ok(skills);
                }
                next => cursor = next,
            }
        }
        Err(over("max_pages", bounds.max_pages, "pages"))
    }

    /// The skill whose `SKILL.md` is at `uri`, listed or not, as it is now.
    ///
    /// # Errors
    /// As [`list_skills`](Self::list_skills), and [`Protocol`](ErrorKind::Protocol) where the server has no such skill or its
    /// entry breaks the rules.
    pub async fn skill(&self, uri: &str) -> Result<Skill> {
        self.need_skills().await?;
        let answer = self.request("skills/get", Some(json!({"uri": uri}).into())).await?;
        let raw = answer.field("skill").unwrap_or_else(RawJson::empty_object);
        let entry = Entry::read(raw).and_then(|entry| match entry.uri == uri {
            true => Ok(entry),
            false => Err(format!("is that of {}", entry.uri)),
        });
        let entry =
            entry.map_err(|why| self.broken(format!("The entry of the skill {uri} can't be used: it {why}")))?;
        Ok(Skill { client: self.clone(), entry })
    }

    async fn need_skills(&self) -> Result<()> {
        let extensions = self.info().await?.capabilities().field("extensions");
        match extensions.and_then(|extensions| extensions.field(EXTENSION)) {
            Some(_) => Ok(()),
            None => {
                Err(Error::new(ErrorKind::Unsupported, "The server offers no skills")
                    .with_context("server", self.label()))
            }
        }
    }

    fn take_skills(&self, page: &RawJson, skills: &mut Vec<Skill>) -> Result<()> {
        let Some(list) = page.field("skills").filter(RawJson::is_array) else {
            return Err(self.broken("The server's answer has no list \"skills\"".to_owned()));
        };
        for (at, raw) in list.items().enumerate() {
            match Entry::read(raw) {
                Ok(entry) => skills.push(Skill { client: self.clone(), entry }),
                Err(why) => self.warn(format!("skills[{at}] was left out: it {why}")),
            }
        }
        Ok(())
    }

    fn warn(&self, warning: String) {
        self.managed().hub().emit(EventKind::Warning(warning));
    }

    fn broken(&self, message: String) -> Error {
        Error::new(ErrorKind::Protocol, message).with_context("server", self.label())
    }
}

fn over(limit: &'static str, most: usize, what: &str) -> Error {
    limits::exceeded(limit, format!("The list of skills has over {most} {what} ({limit})"))
}

impl Skill {
    /// The URI of its `SKILL.md`. With the [server](Self::server) it is what identifies the skill: names may repeat.
    pub fn uri(&self) -> &str {
        &self.entry.uri
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.entry.frontmatter.text("name").unwrap_or_default()
    }

    /// What it is for.
    pub fn description(&self) -> String {
        self.entry.frontmatter.text("description").unwrap_or_default()
    }

    /// All that its author wrote at the head of its `SKILL.md`. Fields that ask for permissions (`allowed-tools`) are a wish
    /// of the server's; nothing here grants it.
    pub fn frontmatter(&self) -> &RawJson {
        &self.entry.frontmatter
    }

    /// All its files; none where the server makes them up as it goes, so that nothing can be verified.
    pub fn files(&self) -> Option<&[SkillFile]> {
        self.entry.files.as_deref()
    }

    /// The label of its server.
    pub fn server(&self) -> &str {
        self.client.label()
    }

    /// The entry as the server sent it.
    pub fn raw(&self) -> &RawJson {
        &self.entry.raw
    }

    /// Fetches its `SKILL.md`. Size, digest and front matter are held against the entry, and nothing that differs is given.
    ///
    /// # Errors
    /// [`Protocol`](ErrorKind::Protocol) where it isn't what the entry describes: altered on the way, or newer than the entry
    /// ([`Client::skill`] gets the present one). Else as [`Client::read_resource`].
    pub async fn load(&self) -> Result<String> {
        let bytes = self.fetch(self.uri()).await?;
        let text = String::from_utf8(bytes).map_err(|_| self.differs(self.uri(), "is no text"))?;
        verify::frontmatter(&self.entry.frontmatter, &text).map_err(|why| self.differs(self.uri(), &why))?;
        Ok(text)
    }

    /// Fetches one of its files, by its URI or by its path from the skill's folder, such as `references/FORMS.md`. Size and
    /// digest are held against the entry.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) where the entry has no such file: none is asked for that isn't in it. Else as
    /// [`load`](Self::load).
    pub async fn read(&self, file: &str) -> Result<Vec<u8>> {
        let uri = path::within(self.entry.root(), file).filter(|uri| self.entry.has(uri)).ok_or_else(|| {
            let message = format!("The skill \"{}\" has no file \"{file}\"", self.name());
            Error::new(ErrorKind::NotFound, message)
                .with_hint("If the skill has changed, get its present entry with Client::skill")
                .with_context("server", self.server())
        })?;
        self.fetch(&uri).await
    }

    async fn fetch(&self, uri: &str) -> Result<Vec<u8>> {
        let contents = self.client.read_resource_contents(uri).await?.contents();
        let [contents] = &contents[..] else {
            return Err(self.differs(uri, &format!("has {} parts, and a file has one", contents.len())));
        };
        let bytes = match contents.blob()? {
            Some(bytes) => bytes,
            None => contents.text().ok_or_else(|| self.differs(uri, "has no content"))?.into_bytes(),
        };
        match self.entry.file(uri) {
            Some(file) => verify::content(file, &bytes).map_err(|why| self.differs(uri, &why))?,
            None => debug_assert!(self.entry.files.is_none(), "only files of the entry are asked for"),
        }
        Ok(bytes)
    }

    fn differs(&self, uri: &str, why: &str) -> Error {
        self.client
            .broken(format!("{uri} isn't what the skill's entry describes: it {why}"))
            .with_hint("If the skill has changed, get its present entry and have it agreed to again; else don't use it")
            .with_context("uri", uri)
    }
}

impl fmt::Debug for Skill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Skill({})", self.entry.raw)
    }
}
