//! Several questions of a server at once, answered by one handler.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use futures_util::future::try_join_all;

use super::handler::{Handler, SharedHandler};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::RawJson;
use crate::protocol::raw::ObjectWriter;

/// The answers to all of them, under their keys. Without an answer to each there is none.
pub(crate) async fn answer_all(handler: &SharedHandler, questions: &[(String, RawJson)]) -> Result<RawJson> {
    let answers = try_join_all(questions.iter().map(async |(_, question)| {
        let method = question.text("method").unwrap_or_default();
        let params = question.field("params").unwrap_or_else(RawJson::empty_object);
        let handled = AssertUnwindSafe(handler.handle(&method, params)).catch_unwind().await;
        let panicked = || Error::new(ErrorKind::Protocol, "it panicked");
        handled.unwrap_or_else(|_| Err(panicked())).map_err(|error| unanswered(&method, error))
    }));
    let mut out = ObjectWriter::new();
    for ((key, _), answer) in questions.iter().zip(answers.await?) {
        out.member(key, &answer);
    }
    Ok(out.finish())
}

fn unanswered(method: &str, error: Error) -> Error {
    let message = format!("This client failed to answer \"{method}\", which the server asks for: {}", error.message());
    error.with_message(message).with_may_have_run(true)
}
