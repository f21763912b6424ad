//! Calls that a server answers with questions (MCP specification 2026-07-28, Multi Round-Trip Requests): the handler of the
//! call, or of the client, answers them, and the call is made again with the answers.

use super::{Session, calls, pages, tasks};
use crate::connection::{CallContext, answer_all};
use crate::error::Result;
use crate::limits;
use crate::protocol::jsonrpc::{Field, Params};
use crate::protocol::raw::ObjectWriter;
use crate::protocol::{RawJson, input_required, result_type};

/// Makes a call, answers what the server asks for it where there is somebody to (else the questions are the result), and
/// follows what it goes on with to the end.
pub(super) async fn converse(session: &Session, method: &str, params: Params<'_>, cx: &CallContext) -> Result<RawJson> {
    let outcome = calls::request(session, method, params, cx).await;
    match (outcome, session.modern()) {
        (Err(error), None) if pages::are_needed(&error) => {
            Box::pin(pages::by_way_of(session, method, params, cx, error)).await
        }
        (Ok(result), Some(modern)) if !is_complete(&result) => {
            let result = Box::pin(rounds(session, method, params, cx, result)).await?;
            if modern.follows(cx) { Box::pin(tasks::followed(session, result, cx)).await } else { Ok(result) }
        }
        (outcome, _) => outcome,
    }
}

fn is_complete(result: &RawJson) -> bool {
    !matches!(result_type(result).as_deref(), Some("input_required" | "task"))
}

/// Answers, round for round, until the server asks no more.
async fn rounds(
    session: &Session,
    method: &str,
    params: Params<'_>,
    cx: &CallContext,
    first: RawJson,
) -> Result<RawJson> {
    let (mut result, params) = (first, bare(&params));
    for _ in 0..session.limits.max_rounds {
        if !input_required(&result) {
            return Ok(result);
        }
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
    }
    if !input_required(&result) {
        return Ok(result);
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
