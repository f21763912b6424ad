//! What holds of what a model's endpoint streams, whatever it is and however it is cut.

use serde_json::Value;

use super::events::Events;
use super::reply::Pieces;

/// The events don't depend on the cuts, and whatever they hold makes a message that can go back to the endpoint.
pub(crate) fn replies(chunks: &[&[u8]]) {
    let (mut events, mut found) = (Events::default(), Vec::new());
    chunks.iter().for_each(|chunk| found.extend(events.push(chunk)));
    found.extend(events.finish());
    let mut whole = Events::default();
    let mut at_once = whole.push(&chunks.concat());
    at_once.extend(whole.finish());
    assert_eq!(found, at_once);

    let mut pieces = Pieces::default();
    let values = found.iter().filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let told: String = values.map(|chunk| pieces.add(&chunk)).collect();
    let reply = pieces.finish(1);
    assert_eq!(reply.message["role"], "assistant");
    if reply.message.get("tool_calls").is_none() {
        assert_eq!(reply.text(), told);
    }
    for call in reply.message["tool_calls"].as_array().into_iter().flatten() {
        assert!(call["id"].is_string() && call["type"].is_string(), "{call}");
        assert!(call["function"]["name"].is_string() && call["function"]["arguments"].is_string(), "{call}");
    }
}
