//! Does the steps of a rule, one after the other.

use std::sync::PoisonError;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;

use super::bridge::Lines;
use super::defaults;
use super::request::HttpRequest;
use super::state::{Pushed, State};
use super::step::{Framing, Reply, Step, reply};
use super::writer::{Out, Stop, Written};

/// Answers a request: by what comes before all rules, by its rule, else by default. The response is whole afterwards, or the connection over.
pub(crate) async fn answer<O: Out>(state: &State, request: &HttpRequest, out: &mut O) -> Written {
    let before = state.script.before.as_ref().and_then(|before| before(request));
    match before {
        Some(steps) => all(state, request, out, &steps).await?,
        None => match state.rule_for(request) {
            Some(steps) => all(state, request, out, steps).await?,
            None => all(state, request, out, &defaults::steps(state, request)).await?,
        },
    }
    if out.is_open() { out.finish().await } else { Ok(()) }
}

/// Does these steps.
pub(crate) fn all<'a, O: Out>(
    state: &'a State,
    request: &'a HttpRequest,
    out: &'a mut O,
    steps: &'a [Step],
) -> BoxFuture<'a, Written> {
    Box::pin(async move {
        for step in steps {
            one(state, request, out, step).await?;
        }
        Ok(())
    })
}

async fn one<O: Out>(state: &State, request: &HttpRequest, out: &mut O, step: &Step) -> Written {
    match step {
        Step::Result(result) => {
            let message = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{}}}"#, result.text());
            all(state, request, out, &defaults::answer(state, request, &message)).await
        }
        Step::Error { code, message } => {
            let error = json!({"code": code, "message": message});
            let message = format!(r#"{{"jsonrpc":"2.0","id":$ID,"error":{error}}}"#);
            all(state, request, out, &defaults::answer(state, request, &message)).await
        }
        Step::Default => all(state, request, out, &defaults::steps(state, request)).await,
        Step::Send(reply) => {
            begin(request, out, reply).await?;
            out.finish().await
        }
        Step::Open(reply) => begin(request, out, reply).await,
        Step::Body(bytes) => out.body(&fill(bytes, request)).await,
        Step::Wire(bytes) => out.wire(&fill(bytes, request)).await,
        Step::Pieces { bytes, pause_us } => {
            out.set_pieces(*bytes, *pause_us);
            Ok(())
        }
        Step::EndAt { bytes, reset } => {
            out.set_end(*bytes, *reset);
            Ok(())
        }
        Step::Refuse => Err(Stop::Refused),
        Step::End { reset } => Err(if *reset { Stop::Reset } else { Stop::Cut }),
        _ => in_time(state, request, out, step).await,
    }
}

/// The steps that wait, repeat, or reach beyond this response.
async fn in_time<O: Out>(state: &State, request: &HttpRequest, out: &mut O, step: &Step) -> Written {
    match step {
        Step::Push(event) => {
            let text = fill(event.text().as_bytes(), request);
            state.push(String::from_utf8(text).expect("an event is text"));
        }
        Step::Listen => listen(state, request, out).await?,
        Step::Follow(lines) => follow(out, lines).await?,
        Step::Hang => std::future::pending().await,
        Step::Wait(gate) => gate.pass().await,
        Step::WaitRequest(on) => {
            let came = |log: &super::HttpLog| log.requests().iter().any(|request| on.fits(request)).then_some(());
            state.log.until(came).await;
        }
        Step::Pause(ms) => tokio::time::sleep(Duration::from_millis(*ms)).await,
        Step::Set { name, value } => state.set(name, value),
        Step::Act(f) => return all(state, request, out, &f(request)).await,
        Step::Forever(steps) => loop {
            all(state, request, out, steps).await?;
            tokio::task::yield_now().await;
        },
        _ => unreachable!("done by one"),
    }
    Ok(())
}

async fn begin<O: Out>(request: &HttpRequest, out: &mut O, reply: &Reply) -> Written {
    let mut reply = Reply { body: fill(&reply.body, request), ..reply.clone() };
    if request.header("connection").is_some_and(|connection| connection.eq_ignore_ascii_case("close")) {
        reply = reply.header("Connection", "close");
    }
    let reply = &reply;
    out.head(reply).await?;
    // a head with a length and no body yet is followed by nothing
    let empty = reply.body.is_empty() && reply.framing == Framing::Length;
    if empty { Ok(()) } else { out.body(&reply.body).await }
}

async fn listen<O: Out>(state: &State, request: &HttpRequest, out: &mut O) -> Written {
    let (kept, mut pushed) = state.listen();
    for text in kept {
        out.body(&fill(text.as_bytes(), request)).await?;
    }
    loop {
        match pushed.recv().await {
            Ok(Pushed::Text(text)) => out.body(&fill(text.as_bytes(), request)).await?,
            Ok(Pushed::End) | Err(RecvError::Closed) => return Ok(()),
            Err(RecvError::Lagged(lost)) => panic!("a stream that listens lost {lost} events"),
        }
    }
}

/// Passes the lines of a program on: an answer that comes alone as JSON, else all of them as events.
async fn follow<O: Out>(out: &mut O, lines: &Lines) -> Written {
    let next = || std::future::poll_fn(|cx| lines.lock().unwrap_or_else(PoisonError::into_inner).poll_recv(cx));
    let events = reply(200).header("Content-Type", "text/event-stream").chunked();
    while let Some((line, last)) = next().await {
        if last && !out.is_open() {
            let body = reply(200).content("application/json", &line);
            out.head(&body).await?;
            return out.body(&line).await;
        }
        if !out.is_open() {
            out.head(&events).await?;
        }
        out.body(&[b"event: message\ndata: ", &line[..], b"\n\n"].concat()).await?;
        if last {
            return Ok(());
        }
    }
    Err(Stop::Cut) // the program is gone
}

/// Puts the request's id and session in.
fn fill(bytes: &[u8], request: &HttpRequest) -> Vec<u8> {
    let mut filled = bytes.to_vec();
    for (name, value) in
        [("$ID", request.id()), ("$SESSION", request.header("mcp-session-id").unwrap_or_default().to_owned())]
    {
        while let Some(at) = filled.windows(name.len()).position(|window| window == name.as_bytes()) {
            filled.splice(at..at + name.len(), value.bytes());
        }
    }
    filled
}
