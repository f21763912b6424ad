//! How outcomes are put for the client: the parameters of progress, and errors as JSON-RPC has them.

use serde_json::{Value, json};

use crate::connection::Progress;
use crate::error::{Error, ErrorKind};
use crate::protocol::RawJson;
use crate::protocol::jsonrpc::{self, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND};

/// The protocol's code for a resource that doesn't exist.
const RESOURCE_NOT_FOUND: i64 = -32002;

pub(super) fn progress_params(token: &RawJson, progress: &Progress) -> Value {
    let mut params = json!({"progressToken": token.to_value(), "progress": progress.progress});
    if let Some(total) = progress.total {
        params["total"] = total.into();
    }
    if let Some(message) = &progress.message {
        params["message"] = message.clone().into();
    }
    params
}

pub(super) fn panicked(method: &str) -> Error {
    Error::new(ErrorKind::Protocol, format!("This server failed to answer \"{method}\""))
}

pub(super) fn error_line(id: &RawJson, method: &str, error: &Error) -> Vec<u8> {
    let code = match error.kind() {
        _ if error.code().is_some() => error.code().unwrap_or(INTERNAL_ERROR),
        ErrorKind::Unsupported => METHOD_NOT_FOUND,
        ErrorKind::NotFound if method == "resources/read" => RESOURCE_NOT_FOUND,
        ErrorKind::NotFound | ErrorKind::InvalidArguments | ErrorKind::Ambiguous => INVALID_PARAMS,
        _ => INTERNAL_ERROR,
    };
    let message = match error.hint() {
        Some(hint) => format!("{}. {hint}", error.message().trim_end_matches('.')),
        None => error.message().to_owned(),
    };
    jsonrpc::error(id, code, &message, error.data())
}
