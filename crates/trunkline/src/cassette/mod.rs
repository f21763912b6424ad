//! Conversations with servers, recorded and replayed: [`Tape`] writes a cassette while [`Recorder`]s listen,
//! [`Cassette`] reads it, and [`Replay`] answers from it with nobody behind it. Owns the file format; what is secret
//! on a server is known to others.
//!
//! A cassette is a text file, one JSON object a line (`line`): `{"cassette":1,…}` where a recording begins, what each
//! server says of itself, each call with its answer, and what happened between calls.

mod compare;
#[cfg(any(test, fuzzing))]
pub(crate) mod laws;
mod line;
mod miss;
mod note;
mod read;
mod reading;
mod recorder;
mod reel;
mod replay;
mod scrub;
mod take;
mod tape;
#[cfg(test)]
mod tests;
mod track;

pub use read::Cassette;
pub use recorder::Recorder;
pub use replay::Replay;
pub use tape::Tape;
pub(crate) use track::Track;

/// What stands in a cassette for a secret. In what is compared it stands for any text.
use crate::redact::MASK;
