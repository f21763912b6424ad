//! The twin of a skill.

use super::Client;
use super::runtime::run;
use crate::error::Result;
use crate::skills;

/// A skill of a server. Twin of [`Skill`](crate::Skill), which says more of each method.
///
/// ```no_run
/// use trunkline::Client;
///
/// # fn main() -> trunkline::Result<()> {
/// let server = Client::http("https://example.com/mcp").build_blocking()?;
/// for skill in server.list_skills()? {
///     println!("{}: {} bytes", skill.inner().name(), skill.load()?.len());
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Skill(skills::Skill);

impl Client {
    /// The skills that the server lists.
    ///
    /// # Errors
    /// As [`Client::list_skills`](crate::Client::list_skills).
    pub fn list_skills(&self) -> Result<Vec<Skill>> {
        Ok(run(self.inner().list_skills())?.into_iter().map(Skill).collect())
    }

    /// The skill whose `SKILL.md` is at `uri`, listed or not.
    ///
    /// # Errors
    /// As [`Client::skill`](crate::Client::skill).
    pub fn skill(&self, uri: &str) -> Result<Skill> {
        run(self.inner().skill(uri)).map(Skill)
    }
}

impl Skill {
    /// What its entry says: name, files and the like.
    pub fn inner(&self) -> &skills::Skill {
        &self.0
    }

    /// Fetches its `SKILL.md`, verified.
    ///
    /// # Errors
    /// As [`Skill::load`](crate::Skill::load).
    pub fn load(&self) -> Result<String> {
        run(self.0.load())
    }

    /// Fetches one of its files, verified.
    ///
    /// # Errors
    /// As [`Skill::read`](crate::Skill::read).
    pub fn read(&self, file: &str) -> Result<Vec<u8>> {
        run(self.0.read(file))
    }
}
