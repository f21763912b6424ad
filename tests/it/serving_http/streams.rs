//! Which message goes on which stream, in which form, and how a stream that broke is read on.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use trunkline::{HttpAnswers, HttpServerLimits};
use trunkline_tests::contract::MEETING;
use trunkline_tests::{TempDir, eventually, offload};

use super::{Peer, call, notification, request, serving};

const NEWEST: &str = "2025-11-25";

#[tokio::test]
async fn an_answer_alone_is_json_and_more_is_a_stream() {
    let serving = serving(|http| http).await;
    let peer = Peer::begin(&serving, NEWEST).await;
    let alone = peer.post(call(1, "echo", json!({"text": "a\r\nb\u{2028}"}))).await;
    assert_eq!(alone.header("content-type"), Some("application/json"));
    assert_eq!(alone.answer().await["result"]["content"][0]["text"], "a\r\nb\u{2028}");
    let mut more = peer.post(call(2, "count", json!({"steps": 2}))).await;
    assert_eq!(
        (more.header("cache-control"), more.header("x-accel-buffering")),
        (Some("no-cache, no-transform"), Some("no"))
    );
    assert!(more.streams());
    let primed = more.block().await.unwrap();
    assert_eq!((primed.data.as_deref(), primed.retry), (Some(""), Some(1000)));
    for step in 1..=2 {
        assert_eq!(more.message().await.unwrap().json()["params"]["progress"], json!(f64::from(step)));
    }
    assert_eq!(more.message().await.unwrap().json()["id"], 2);
    assert_eq!(more.block().await, None, "an answered stream ends");
    for (accept, streams) in [("application/json", false), ("text/event-stream", true)] {
        let reply = peer.with("accept", accept).post(call(3, "echo", json!({"text": "x"}))).await;
        assert_eq!(reply.streams(), streams, "{accept}");
        assert_eq!(reply.answer().await["id"], 3);
    }
}

#[tokio::test]
async fn json_alone_leaves_the_rest_to_the_standing_stream() {
    let serving = serving(|http| http.answers(HttpAnswers::Json)).await;
    let peer = Peer::begin(&serving, NEWEST).await;
    let mut standing = peer.get().await;
    assert_eq!(standing.block().await.unwrap().retry, Some(1000));
    let answer = peer.post(call(1, "count", json!({"steps": 3}))).await;
    assert!(!answer.streams());
    assert_eq!(answer.answer().await["result"]["content"][0]["text"], "3");
    for step in 1..=3 {
        assert_eq!(standing.message().await.unwrap().json()["params"]["progress"], json!(f64::from(step)));
    }
    let refused = peer.with("accept", "text/event-stream").post(request(2, "ping", json!({}))).await;
    assert_eq!(refused.status.as_u16(), 406);
}

#[tokio::test]
async fn p60_a_slow_answer_gets_a_stream_with_comments() {
    let limits = HttpServerLimits {
        patience: Duration::from_millis(20),
        keep_alive: Duration::from_millis(20),
        ..HttpServerLimits::default()
    };
    let serving = serving(|http| http.limits(limits)).await;
    let peer = Peer::begin(&serving, "2025-06-18").await;
    let dir = TempDir::new();
    let mut reply = peer.post(call(1, "hang", json!({"notes": dir.join("notes")}))).await;
    assert!(reply.streams());
    for _ in 0..3 {
        assert_eq!(reply.block().await, Some(super::Block::default()), "comments, and nothing to resume from");
    }
    let mut standing = peer.get().await;
    standing.block().await.unwrap();
    assert_eq!(standing.block().await, Some(super::Block::default()));
}

#[tokio::test]
async fn a_broken_stream_is_read_on_from_any_event() {
    let serving = serving(|http| http.answers(HttpAnswers::Sse)).await;
    for revision in ["2025-03-26", "2025-06-18", NEWEST] {
        let peer = Peer::begin(&serving, revision).await;
        let mut reply = peer.post(call(1, "count", json!({"steps": 4}))).await;
        let first = reply.message().await.unwrap();
        drop(reply);
        let (stream, number) = first.id.as_deref().unwrap().split_once('-').unwrap();
        assert_eq!(number, "1");
        for after in [3, 0, 1, 5, 4] {
            let mut resumed = peer.with("last-event-id", &format!("{stream}-{after}")).get().await;
            for next in after + 1..=5 {
                let message = resumed.message().await.unwrap();
                assert_eq!(message.id, Some(format!("{stream}-{next}")), "{revision}");
                assert_eq!(message.json()["id"] == json!(1), next == 5);
            }
            assert_eq!(resumed.message().await, None, "{revision}");
        }
        assert_eq!(peer.with("last-event-id", &format!("{stream}-6")).get().await.status.as_u16(), 400);
    }
}

#[tokio::test]
async fn p95_what_is_kept_for_resuming_is_bounded() {
    let limits = HttpServerLimits { replay: 3500, ..HttpServerLimits::default() };
    let serving = serving(|http| http.answers(HttpAnswers::Sse).limits(limits)).await;
    let peer = Peer::begin(&serving, NEWEST).await;
    let mut ids = Vec::new();
    for id in 1..=5 {
        let mut reply = peer.post(call(id, "echo", json!({"text": "x".repeat(1000)}))).await;
        ids.push(reply.block().await.unwrap().id.unwrap());
        reply.message().await.unwrap();
        assert_eq!(reply.block().await, None);
    }
    for (index, id) in ids.iter().enumerate() {
        let status = peer.with("last-event-id", id).get().await.status.as_u16();
        assert_eq!(status, if index < 2 { 400 } else { 200 }, "{index}");
    }
}

#[tokio::test]
async fn a_client_that_goes_has_not_cancelled() {
    let serving = serving(|http| http.answers(HttpAnswers::Sse)).await;
    let peer = Peer::begin(&serving, NEWEST).await;
    let dir = TempDir::new();
    let notes = |word: &'static str| {
        let path = dir.join(format!("notes.{word}"));
        offload(move || eventually(word, || path.exists().then_some(())))
    };
    let mut reply = peer.post(call(1, "hang", json!({"notes": dir.join("notes")}))).await;
    let id = reply.block().await.unwrap().id.unwrap();
    notes("begun").await;
    drop(reply);
    assert_eq!(peer.call(2, "echo", json!({"text": "on"})).await["id"], 2);
    let mut resumed = peer.with("last-event-id", &id).get().await;
    assert!(resumed.streams() && !dir.join("notes.dropped").exists());
    let cancelled = peer.post(notification("notifications/cancelled", json!({"requestId": 1}))).await;
    assert_eq!(cancelled.status.as_u16(), 202);
    notes("dropped").await;
    while let Some(block) = resumed.block().await {
        assert_eq!(block.data, None, "what is cancelled gets no answer");
    }
}

#[tokio::test]
async fn a_cancelled_call_gets_an_empty_answer_where_one_is_due() {
    let serving = serving(|http| http.answers(HttpAnswers::Json)).await;
    let peer = Peer::begin(&serving, NEWEST).await;
    let dir = TempDir::new();
    let call = call(1, "hang", json!({"notes": dir.join("notes")}));
    let hanging = tokio::spawn({
        let peer = peer.clone();
        async move { peer.post(call).await }
    });
    let path = dir.join("notes.begun");
    offload(move || eventually("begun", || path.exists().then_some(()))).await;
    peer.post(notification("notifications/cancelled", json!({"requestId": 1}))).await;
    let reply = hanging.await.unwrap();
    assert_eq!((reply.status.as_u16(), reply.rest().await.as_str()), (202, ""));
}

#[tokio::test]
async fn a_long_stream_is_closed_to_be_resumed() {
    let limits = HttpServerLimits {
        max_stream: Some(Duration::from_millis(60)),
        retry: Duration::from_millis(7),
        ..HttpServerLimits::default()
    };
    let serving = serving(|http| http.limits(limits).answers(HttpAnswers::Sse)).await;
    let peer = Peer::begin(&serving, NEWEST).await;
    let met: Vec<_> = (1..MEETING as u64).map(|id| call(id, "meet", json!({}))).collect();
    let begun = Instant::now();
    let mut waiting = Vec::new();
    for message in met {
        waiting.push(peer.post(message).await);
    }
    let mut ids = Vec::new();
    for mut reply in waiting {
        let primed = reply.block().await.unwrap();
        assert_eq!(primed.retry, Some(7));
        ids.push(primed.id.unwrap());
        let goodbye = reply.block().await.unwrap();
        assert_eq!((goodbye.retry, goodbye.data), (Some(7), None));
        assert_eq!(reply.block().await, None);
    }
    assert!(begun.elapsed() >= Duration::from_millis(60));
    peer.call(100, "meet", json!({})).await;
    for (index, id) in ids.iter().enumerate() {
        let answer = peer.with("last-event-id", id).get().await.answer().await;
        assert_eq!(answer["id"], json!(index + 1));
    }
    let old = Peer::begin(&serving, "2025-06-18").await;
    let dir = TempDir::new();
    let mut reply = old.post(call(1, "hang", json!({"notes": dir.join("notes")}))).await;
    reply.block().await.unwrap();
    let longer = tokio::time::timeout(Duration::from_millis(150), reply.block()).await;
    assert!(longer.is_err(), "an older client doesn't know that it can happen");
}

#[tokio::test]
async fn the_newest_standing_stream_gets_what_there_is() {
    let serving = serving(|http| http.answers(HttpAnswers::Json)).await;
    let peer = Peer::begin(&serving, NEWEST).await;
    peer.call(1, "count", json!({"steps": 1})).await;
    let mut first = peer.get().await;
    let event = first.message().await.unwrap();
    let mut second = peer.get().await;
    second.block().await.unwrap();
    peer.call(2, "count", json!({"steps": 1})).await;
    assert_eq!(second.message().await.unwrap().json()["params"]["progressToken"], 2);
    assert_eq!(first.message().await, None, "the older one ends");
    drop(second);
    peer.call(3, "count", json!({"steps": 1})).await;
    let mut third = peer.with("last-event-id", &event.id.unwrap()).get().await;
    for token in [2, 3] {
        assert_eq!(third.message().await.unwrap().json()["params"]["progressToken"], token);
    }
}

#[tokio::test]
async fn p92_many_streams_are_open_at_once_and_none_gets_anothers_messages() {
    let serving = serving(|http| http.answers(HttpAnswers::Sse)).await;
    let peers = [Peer::begin(&serving, NEWEST).await, Peer::begin(&serving, "2025-03-26").await];
    let calls = (0..40_u64).map(|n| {
        let peer = &peers[n as usize % 2];
        async move {
            let mut reply = peer.post(call(n, "count", json!({"steps": 30}))).await;
            for _ in 0..30 {
                assert_eq!(reply.message().await.unwrap().json()["params"]["progressToken"], n);
            }
            assert_eq!(reply.message().await.unwrap().json()["id"], n);
            assert_eq!(reply.block().await, None);
        }
    });
    join_all(calls).await;
    let same = join_all(peers.iter().map(|peer| peer.call(7, "echo", json!({"text": "x"})))).await;
    assert_eq!(same[0], same[1], "each session has its own ids");
}
