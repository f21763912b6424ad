//! What holds of all that reads bytes here, gathered.

pub(crate) use super::framing::laws::lines;
#[cfg(feature = "http")]
pub(crate) use super::http::laws::*;
#[cfg(all(unix, feature = "stdio"))]
pub(crate) use super::stdio::tail;
