//! What a server spoke last, so that the next connect begins with that: in this process and, where there is a directory for
//! it, from one run to the next. It only saves questions; whatever becomes of the files, nothing fails.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use crate::config::{ServerSpec, TransportSpec};
use crate::protocol::Protocol;
use crate::session::{Recipe, Way};

/// The eras of the protocol (see [`Protocol`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// What a server turned out to speak.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spoken {
    known: Arc<Mutex<Known>>,
    dir: Option<PathBuf>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Known {
    era: Option<Era>,
    /// Whether a server of a guessed kind speaks HTTP with SSE.
    sse: bool,
}

impl Spoken {
    /// Kept in files of this directory as well.
    pub(crate) fn kept_in(dir: Option<PathBuf>) -> Self {
        Self { dir, ..Self::default() }
    }

    fn known(&self) -> Known {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks up what an earlier run found out of this server.
    pub(super) fn recall(&self, server: &ServerSpec) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = self.file(server).filter(|_| known.era.is_none()) else { return };
        let Ok(text) = std::fs::read_to_string(file) else { return };
        let word = |word: &str| text.split_whitespace().any(|other| other == word);
        let era = if word("modern") { Some(Era::Modern) } else { word("legacy").then_some(Era::Legacy) };
        *known = Known { era, sse: era == Some(Era::Legacy) && word("sse") };
    }

    /// The server was connected to in this way.
    pub(super) fn note(&self, server: Option<&ServerSpec>, recipe: &Recipe, era: Era) {
        let now = Known { era: Some(era), sse: is_sse(recipe) };
        let before = std::mem::replace(&mut *self.known.lock().unwrap_or_else(PoisonError::into_inner), now);
        let file = server.and_then(|server| self.file(server)).filter(|_| before != now);
        if let Some(Err(error)) = file.map(|file| write(&file, now)) {
            tracing::debug!(%error, "the era of the server isn't remembered for the next run");
        }
    }

    /// One file a server: what is remembered holds for just this command, or this URL.
    fn file(&self, server: &ServerSpec) -> Option<PathBuf> {
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        match &server.transport {
            TransportSpec::Stdio(stdio) => {
                add(stdio.command.as_os_str().as_encoded_bytes());
                stdio.args.iter().for_each(|arg| add(arg.as_bytes()));
                stdio.cwd.iter().for_each(|cwd| add(cwd.as_os_str().as_encoded_bytes()));
            }
            TransportSpec::Http(http) | TransportSpec::Sse(http) => add(http.url.as_bytes()),
        }
        let name: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Some(self.dir.as_ref()?.join(name))
    }

    pub(super) fn was_sse(&self) -> bool {
        self.known().sse
    }

    /// How to begin, and whether that is what worked before instead of what was asked for. A server that was modern is waited
    /// for longer: it may only be slow to start.
    pub(super) fn way(&self, protocol: Protocol, recipe: &Recipe, patience: [Duration; 2]) -> (Way, bool) {
        let [short, long] = patience;
        match protocol {
            _ if is_sse(recipe) => (Way::Handshake(protocol.handshake()), false),
            Protocol::Modern => (Way::Modern, false),
            Protocol::Auto => match self.known().era {
                Some(Era::Legacy) => (Way::Handshake(protocol.handshake()), true),
                Some(Era::Modern) => (Way::Probe(long), false),
                None => (Way::Probe(short), false),
            },
            Protocol::Legacy | Protocol::Revision(_) => (Way::Handshake(protocol.handshake()), false),
        }
    }
}

fn write(file: &Path, known: Known) -> std::io::Result<()> {
    let dir = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir)?;
    let era = if known.era == Some(Era::Modern) { "modern" } else { "legacy" };
    let part = file.with_extension(std::process::id().to_string());
    let mut out = std::fs::File::create(&part)?;
    writeln!(out, "{era}{}", if known.sse { " sse" } else { "" })?;
    std::fs::rename(part, file)
}

/// Whether this is the transport of 2024-11-05, which has only the handshake.
fn is_sse(_recipe: &Recipe) -> bool {
    #[cfg(feature = "sse")]
    return matches!(_recipe, Recipe::Sse(_));
    #[cfg(not(feature = "sse"))]
    false
}
