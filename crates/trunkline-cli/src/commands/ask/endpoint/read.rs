//! Reads what an endpoint sends back: a stream of events, or one JSON document where it doesn't stream, whatever its
//! content type says.

use reqwest::Response;
use serde_json::Value;

use super::Listener;
use super::events::Events;
use super::failure::{Failures, Trouble};
use super::reply::Pieces;

/// The largest answer, in bytes.
const LARGEST: usize = 64 << 20;

/// How much is read of an answer that is no completion.
const START: usize = 16 << 10;

/// How the answer comes, once its first bytes are here.
enum Form {
    Unknown,
    Stream(Events),
    Whole,
}

/// Reads the answer to its end, telling `listener` the text as it comes.
pub(super) async fn reply(
    mut response: Response,
    failures: &Failures,
    listener: &mut impl Listener,
) -> Result<Pieces, Trouble> {
    let (mut form, mut pieces, mut size, mut whole) = (Form::Unknown, Pieces::default(), 0, Vec::new());
    loop {
        let bytes = match response.chunk().await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => break,
            Err(_) if pieces.is_finished() => break, // nothing of it is missing
            Err(error) => return Err(failures.of_body(&error)),
        };
        size += bytes.len();
        if size > LARGEST {
            return Err(failures.too_large(LARGEST));
        }
        whole.extend_from_slice(&bytes);
        if let Form::Unknown = form {
            form = form_of(&whole);
        }
        if let Form::Stream(events) = &mut form {
            for data in events.push(&std::mem::take(&mut whole)) {
                if take(&data, &mut pieces, failures, listener)? {
                    return Ok(pieces);
                }
            }
        }
    }
    match form {
        Form::Stream(mut events) => {
            let last = events.finish().filter(|last| is_whole(last));
            let done = last.map_or(Ok(false), |last| take(&last, &mut pieces, failures, listener))?;
            if done || pieces.is_finished() { Ok(pieces) } else { Err(failures.cut_off()) }
        }
        Form::Unknown | Form::Whole => {
            let text = String::from_utf8_lossy(&whole);
            let completion: Value = serde_json::from_str(&text).map_err(|_| failures.not_json(&text))?;
            complete(&completion, &mut pieces, failures, listener)?;
            Ok(pieces)
        }
    }
}

/// Takes in the data of one event; whether it was the last.
fn take(data: &str, pieces: &mut Pieces, failures: &Failures, listener: &mut impl Listener) -> Result<bool, Trouble> {
    match data.trim() {
        "[DONE]" => return Ok(true),
        "" => return Ok(false),
        _ => {}
    }
    let chunk: Value = serde_json::from_str(data).map_err(|_| failures.not_json(data))?;
    if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
        return Err(failures.of_event(error));
    }
    listener.text(&pieces.add(&chunk))?;
    Ok(false)
}

/// Takes in an answer that came as one document.
fn complete(
    completion: &Value,
    pieces: &mut Pieces,
    failures: &Failures,
    listener: &mut impl Listener,
) -> Result<(), Trouble> {
    if completion.pointer("/choices/0").is_none() {
        return Err(match completion.get("error").filter(|error| !error.is_null()) {
            Some(error) => failures.of_event(error),
            None => failures.no_completion(completion),
        });
    }
    listener.text(&pieces.add(completion))?;
    Ok(())
}

/// Told by the first byte: no line of an event stream begins as JSON or HTML do.
fn form_of(start: &[u8]) -> Form {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Form::Unknown,
        Some(b'd' | b'e' | b'i' | b'r' | b':' | 0xef) => Form::Stream(Events::default()),
        Some(_) => Form::Whole,
    }
}

/// Whether the last event came whole though nothing marks its end.
fn is_whole(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<Value>(data).is_ok()
}

/// The start of an answer that is no completion.
pub(super) async fn start(mut response: Response) -> String {
    let mut start = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        start.extend_from_slice(&bytes);
        if start.len() > START {
            break;
        }
    }
    String::from_utf8_lossy(&start).into_owned()
}

/// The names of a list of models; none where it is something else.
pub(super) async fn models(mut response: Response) -> Vec<String> {
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        body.extend_from_slice(&bytes);
        if body.len() > LARGEST {
            return Vec::new();
        }
    }
    let list: Value = serde_json::from_slice(&body).unwrap_or_default();
    let models = list.get("data").and_then(Value::as_array).into_iter().flatten();
    models.filter_map(|model| model.get("id")?.as_str().map(str::to_owned)).collect()
}
