//! The JSON-RPC envelope: written from parts, and split by one validating pass that leaves `params`,
//! `result` and `error` as the bytes they are. Knows no MCP method.

#[cfg(any(test, fuzzing))]
pub(super) mod laws;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use read::{Message, Outcome, RpcError, Unreadable, snippet, split, split_within, without_mark};
pub(crate) use write::{Field, Meta, Params, error, notification, request, result};

/// The codes this crate answers with.
pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const INVALID_PARAMS: i64 = -32602;
pub(crate) const INTERNAL_ERROR: i64 = -32603;
