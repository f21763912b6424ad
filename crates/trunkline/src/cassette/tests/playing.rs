//! Which recorded answer a call gets, and what it is told where there is none.

use super::*;

#[tokio::test]
async fn loosely_any_order_will_do_and_the_last_answer_stays() {
    let bench = Bench::new();
    bench.write(&CALLS);
    let cassette = bench.open();
    let replay = cassette.replay("s").unwrap();
    let ask = json!({"at": 1.0, "q": "a"});
    assert_eq!(call(&replay, "u", json!({})).await.unwrap(), r#"{"n":3}"#);
    for (answer, left) in [(r#"{"n":1}"#, 1), (r#"{"n":2}"#, 0), (r#"{"n":2}"#, 0)] {
        assert_eq!(call(&replay, "t", ask.clone()).await.unwrap(), answer);
        assert_eq!(cassette.unplayed().len(), left);
    }
    let ignoring = bench.open().ignoring(["/arguments/at"]).replay("s").unwrap();
    call(&ignoring, "t", json!({"q": "a", "at": "later"})).await.unwrap();
    assert_eq!(replay.list_tools(&CallContext::new()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn strictly_each_call_has_its_turn() {
    let bench = Bench::new();
    bench.write(&CALLS);
    let replay = bench.open().strict().replay("s").unwrap();
    let ask = json!({"at": 1, "q": "a"});
    let early = call(&replay, "u", json!({})).await.unwrap_err();
    assert_eq!(
        early.message(),
        "The recording of server \"s\" goes on with tools/call \"t\" in line 2, not with tools/call \"u\""
    );
    let early = call(&replay, "t", json!({"q": "b"})).await.unwrap_err();
    assert_eq!(
        early.message(),
        "The recording of server \"s\" goes on with another tools/call \"t\", in line 2, with \"a\" at /arguments/q \
         instead of \"b\" (and 1 more)"
    );
    for _ in 0..3 {
        replay.list_tools(&CallContext::new()).await.unwrap();
    }
    call(&replay, "t", ask.clone()).await.unwrap();
    call(&replay, "t", ask.clone()).await.unwrap();
    let other = replay.read_resource("u:1", &CallContext::new()).await.unwrap_err();
    assert_eq!(
        other.message(),
        "The recording of server \"s\" goes on with tools/call \"u\" in line 5, not with resources/read \"u:1\""
    );
    call(&replay, "u", json!({})).await.unwrap();
    let late = call(&replay, "t", ask).await.unwrap_err();
    assert_eq!(late.message(), "The recording of server \"s\" is at its end, with no answer left to tools/call \"t\"");
}

#[tokio::test]
async fn a_miss_names_the_nearest_and_what_differs() {
    let bench = Bench::new();
    bench.write(&CALLS);
    let replay = bench.replay();
    let mut events = replay.events();
    let error = call(&replay, "t", json!({"q": "b", "at": 1})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(
        error.message(),
        "The recording of server \"s\" has no answer to tools/call \"t\": the nearest is in line 2, with \"a\" at \
         /arguments/q instead of \"b\""
    );
    assert_eq!(error.get("differs"), Some("\"a\" at /arguments/q instead of \"b\""));
    assert!(error.get("cassette").unwrap().ends_with("t.jsonl") && error.hint().unwrap().contains("Record it again"));
    assert!(matches!(events.try_next().unwrap().kind, EventKind::Warning(text) if text == error.message()));
    let long = call(&replay, "t", json!({"q": "é".repeat(500)})).await.unwrap_err();
    assert!(long.message().len() < 400, "{long}");
    let error = call(&replay, "v", json!({})).await.unwrap_err();
    assert!(error.message().ends_with("the nearest is in line 5, with \"u\" at /name instead of \"v\""), "{error}");
    let error = replay.get_prompt("p", Arguments::none(), &CallContext::new()).await.unwrap_err();
    assert!(error.message().ends_with(": recorded is only \"tools/call\", \"tools/list\""), "{error}");
    let error = bench.open().replay("S").unwrap_err();
    assert_eq!((error.kind(), error.hint()), (ErrorKind::NotFound, Some("Did you mean \"s\"?")));
}
