//! Calls that a server answers with questions (MCP specification 2026-07-28, Multi Round-Trip Requests): the handler of the
//! call, or of the client, answers them, and the call is made again with the answers.

use super::{Session, calls, tasks};
use crate::connection::{CallContext, answer_all};
use crate::error::Result;
use crate::limits;
use crate::protocol::jsonrpc::{Field, Params};
use crate::protocol::raw::ObjectWriter;
use crate::protocol::{RawJson, input_required};

/// Makes a call, answers what the server asks for it where there is somebody to (else the questions are the result), and
/// follows what it goes on with to the end.
pub(super) async fn converse(session: &Session, method: &str, params: Params<'_>, cx: &CallContext) -> Result<RawJson> {
    let result = rounds(session, method, params, cx).await?;
    match session.modern() {
        Some(modern) if modern.follows(cx) => tasks::followed(session, result, cx).await,
        _ => Ok(result),
    }
}

async fn rounds(session: &Session, method: &str, params: Params<'_>, cx: &CallContext) -> Result<RawJson> {
    let mut result = calls::request(session, method, params, cx).await?;
    if session.modern().is_none() || !input_required(&result) {
        return Ok(result);
    }
    let params = bare(&params);
    for _ in 0..session.limits.max_rounds {
        let questions: Vec<_> = result.field("inputRequests").iter().flat_map(RawJson::members).collect();
        let handler = cx.handler().or_else(|| session.desk.handler());
        let answers = match handler {
            _ if questions.is_empty() => None,
            None => return Ok(result),
            Some(handler) => {
                let _patience = cx.hold();
                Some(answer_all(handler, &questions).await?)
            }
        };
        let mut again = params.clone();
        if let Some(answers) = answers {
            again = again.with_member("inputResponses", &answers);
        }
        if let Some(state) = result.field("requestState") {
            again = again.with_member("requestState", &state);
        }
        result = calls::request(session, method, Params::Raw(&again), cx).await?;
        if !input_required(&result) {
            return Ok(result);
        }
    }
    let most = session.limits.max_rounds;
    let message = format!("The server still asks for more after {most} rounds of {method} (max_rounds)");
    Err(limits::exceeded("max_rounds", message).with_may_have_run(true))
}

/// The parameters as they are made the first time.
fn bare(params: &Params<'_>) -> RawJson {
    let mut out = ObjectWriter::new();
    match params {
        Params::None => {}
        Params::Fields(fields) => fields.iter().for_each(|(key, value)| match value {
            Field::Text(text) => out.text(key, text),
            Field::Json(json) => out.member(key, json),
        }),
        Params::Raw(raw) => raw
            .members()
            .filter(|(key, _)| !matches!(key.as_str(), "inputResponses" | "requestState"))
            .for_each(|(key, value)| out.member(&key, &value)),
    }
    out.finish()
}
