//! A cassette that was read: its servers and the rules by which it is replayed.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

use super::compare::Rules;
use super::miss;
use super::reading;
use super::reel::{Reel, Scene};
use super::replay::Replay;
use crate::error::{Error, Result};
use crate::suggest;

/// A recording, ready to be replayed without the servers it was made of.
///
/// Calls are answered *loosely*: a call gets the recorded answer to the same method and params, in whatever order the
/// calls come; key order and the spelling of numbers don't matter. A call that was recorded several times gets its
/// answers in their order, then the last again. [`strict`](Self::strict) asks for the recorded order.
///
/// ```
/// use trunkline::{Cassette, Client, MultiServer, StaticServer, Tape};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> trunkline::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let file = dir.path().join("talk.jsonl");
/// # let tape = Tape::create(&file)?;
/// # for label in ["docs", "code"] {
/// #     let server = StaticServer::new().function("search", "", || "found");
/// #     let mut all = MultiServer::new();
/// #     all.add(Client::from_connection(server).label(label).record(&tape).build()?)?;
/// #     all.call(&format!("{label}_search"), ()).await?;
/// # }
/// let cassette = Cassette::open(&file)?;
/// let mut all = MultiServer::new();
/// for server in cassette.servers() {
///     all.add(Client::from_connection(cassette.replay(server)?).label(server).build()?)?;
/// }
/// assert_eq!(all.call("code_search", ()).await?, "found");
/// assert_eq!(cassette.unplayed(), ["line 4: tools/call \"search\" of docs"]);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Cassette {
    path: Arc<Path>,
    reels: IndexMap<String, Arc<Reel>>,
    rules: Arc<Rules>,
    warnings: Vec<String>,
}

impl Cassette {
    /// Reads a cassette. A last line that was cut off, by the end of the process that recorded it, is left out with a
    /// [warning](Self::warnings).
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) when the file can't be read, is no cassette, or has a broken line; it says
    /// which.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path: Arc<Path> = path.as_ref().into();
        let text = std::fs::read(&path).map_err(|error| {
            let message = format!("Can't read the cassette {}: {error}", path.display());
            Error::config(message)
                .with_hint("Record one: ClientBuilder::record in code, --record FILE on the command line")
        })?;
        let (reels, warning) = reading::assemble(&path, &text.into())?;
        let reels = reels.into_iter().map(|(server, reel)| (server, Arc::new(reel))).collect();
        Ok(Self { path, reels, rules: Arc::default(), warnings: Vec::from_iter(warning) })
    }

    /// Asks for the recorded order, server by server: each call has to be the next that was recorded, as often as it
    /// was. Lists are left out of that, since clients ask for them when they need to. Key order still doesn't matter.
    #[must_use]
    pub fn strict(mut self) -> Self {
        Arc::make_mut(&mut self.rules).strict = true;
        self
    }

    /// Leaves out of the comparison what stands at these places of a call's params: JSON pointers such as
    /// `/arguments/now`, where `*` is any key or index. For timestamps, random ids and the like.
    #[must_use]
    pub fn ignoring<S: AsRef<str>>(mut self, places: impl IntoIterator<Item = S>) -> Self {
        let rules = Arc::make_mut(&mut self.rules);
        places.into_iter().for_each(|place| rules.ignore(place.as_ref()));
        self
    }

    /// The labels of the recorded servers, in the order in which they were used first.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.reels.keys().map(String::as_str)
    }

    /// One server as a connection. Several of one server share what was played.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) when no server of this label was recorded.
    pub fn replay(&self, server: &str) -> Result<Replay> {
        match self.reels.get(server) {
            Some(reel) => Ok(Replay::new(reel.clone(), self.rules.clone())),
            None => Err(suggest::unknown("recorded server", server, "", self.servers())
                .with_context("cassette", self.path.display().to_string())),
        }
    }

    /// The calls that nobody made yet, one text each: empty when a test did all that was recorded. Lists don't count.
    pub fn unplayed(&self) -> Vec<String> {
        let told = |reel: &Reel, scene: &Scene| {
            let call = miss::told(&scene.call.method, &scene.wanted);
            format!("line {}: {call} of {}", scene.line, reel.server)
        };
        self.reels.values().flat_map(|reel| reel.unplayed().map(|scene| told(reel, scene))).collect()
    }

    /// What was odd about the file and was put up with.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Debug for Cassette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<_> = self.servers().collect();
        f.debug_struct("Cassette").field("path", &self.path).field("servers", &servers).finish_non_exhaustive()
    }
}
