//! Calls that nobody waits for any more: the server is told, once, after the call, and what it still answers is
//! ignored.

use std::time::Instant;

use trunkline::{Cancellation, ErrorKind};
use trunkline_tests::*;

use crate::rig::{Rig, assert_took, everywhere, ms, rig};

/// Holds calls of `slow` until they are cancelled, and answers them then, too late.
fn late() -> Script {
    let slow = background([wait_line("notifications/cancelled"), text("late"), notify("notifications/late")]);
    Script::new().tools([tool("echo"), tool("slow")]).on(call("slow"), [slow])
}

/// One cancellation, for the one call of `slow`, after it; and a session that goes on as though nothing was.
async fn assert_cancelled_once(rig: &Rig) {
    let cancelled = rig.wait_sent("notifications/cancelled", 1).await;
    let slow = rig.log.sent("tools/call").into_iter().find(|call| call.params()["name"] == "slow").unwrap();
    assert_eq!(cancelled[0].params()["requestId"], slow.id());
    assert!(cancelled[0].params()["requestId"].is_u64() && cancelled[0].params()["reason"].is_string());
    assert!(cancelled[0].at >= slow.at);
    assert_eq!(rig.call("echo").await.unwrap(), "ok");
    let late = rig.log.clone();
    offload(move || late.wait_for("the late answer", |all| all.iter().find(|e| e.text.contains("/late")).cloned()))
        .await;
    assert_eq!(rig.call("echo").await.unwrap(), "ok");
    assert_eq!((rig.sent("notifications/cancelled"), rig.starts()), (1, 1));
    assert_eq!(rig.client.warnings(), Vec::<String>::new());
}

#[tokio::test]
async fn p85_a_deadline_cancels_once() {
    for capped in [false, true] {
        for rig in everywhere(late()) {
            rig.client.connect().await.unwrap();
            let call = rig.client.call("slow", ());
            let call = if capped { call.timeout(ms(0)).max_timeout(ms(200)) } else { call.timeout(ms(200)) };
            let begun = Instant::now();
            let error = call.await.unwrap_err();
            assert_took(begun, ms(200));
            assert_eq!((error.kind(), error.may_have_run()), (ErrorKind::Deadline, true));
            assert_cancelled_once(&rig).await;
        }
    }
}

#[tokio::test]
async fn p85_dropping_the_future_cancels_once() {
    for rig in everywhere(late()) {
        let call = tokio::spawn(rig.client.call("slow", ()).into_future());
        rig.wait_sent("tools/call", 1).await;
        call.abort();
        assert_cancelled_once(&rig).await;
    }
}

/// The future may be dropped where there is no runtime.
#[test]
fn p85_dropping_the_future_outside_the_runtime_cancels_once() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let rig = rig(late());
    let mut call = rig.client.call("slow", ()).into_future();
    runtime.block_on(async {
        tokio::select! {
            outcome = &mut call => panic!("{outcome:?}"),
            _ = rig.wait_sent("tools/call", 1) => {}
        }
    });
    drop(call);
    runtime.block_on(assert_cancelled_once(&rig));
}

#[tokio::test]
async fn p85_a_switch_cancels_once() {
    for rig in everywhere(late()) {
        let switch = Cancellation::new();
        let call = rig.client.call("slow", ()).cancellation(switch.clone());
        let fired = async {
            rig.wait_sent("tools/call", 1).await;
            switch.cancel();
        };
        let (outcome, ()) = tokio::join!(call.into_future(), fired);
        let error = outcome.unwrap_err();
        assert_eq!((error.kind(), error.may_have_run()), (ErrorKind::Cancelled, true));
        assert_cancelled_once(&rig).await;
    }
}

/// What was cancelled before it began is not sent, and nothing is said of it.
#[tokio::test]
async fn p85_a_switch_that_has_fired_keeps_the_call_from_leaving() {
    let rig = rig(late());
    rig.client.connect().await.unwrap();
    let switch = Cancellation::new();
    switch.cancel();
    let error = rig.client.call("slow", ()).cancellation(switch).await.unwrap_err();
    assert_eq!((error.kind(), error.may_have_run()), (ErrorKind::Cancelled, false));
    assert_eq!(rig.call("echo").await.unwrap(), "ok");
    assert_eq!((rig.sent("tools/call"), rig.sent("notifications/cancelled")), (1, 0));
}

/// A call that waits for its server to start can be given up too; the start goes on.
#[tokio::test]
async fn p85_a_switch_cancels_while_the_server_starts() {
    let rig =
        Rig::with(|dir| late().on("initialize", [wait_file(dir.join("go")), default_answer()]), |builder| builder);
    let switch = Cancellation::new();
    let call = rig.client.call("slow", ()).cancellation(switch.clone());
    let fired = async {
        rig.wait_sent("initialize", 1).await;
        switch.cancel();
    };
    let (outcome, ()) = tokio::join!(call.into_future(), fired);
    let error = outcome.unwrap_err();
    assert_eq!((error.kind(), error.may_have_run()), (ErrorKind::Cancelled, false));
    rig.dir.write("go", "");
    assert_eq!(rig.call("echo").await.unwrap(), "ok");
    assert_eq!((rig.starts(), rig.sent("tools/call"), rig.sent("notifications/cancelled")), (1, 1, 0));
}

/// One of many that is given up takes nothing from the others.
#[tokio::test]
async fn p85_one_call_of_many_is_cancelled_alone() {
    for rig in Rig::each(
        |dir| {
            let held = background([wait_file(dir.join("go")), text("ok")]);
            Script::new().tools([tool("held"), tool("slow")]).on(call("held"), [held]).on(call("slow"), [])
        },
        |builder| builder,
    ) {
        let held: Vec<_> = (0..10).map(|_| tokio::spawn(rig.client.call("held", ()).into_future())).collect();
        let slow: Vec<_> = (0..10).map(|_| tokio::spawn(rig.client.call("slow", ()).into_future())).collect();
        rig.wait_sent("tools/call", 20).await;
        slow.iter().for_each(|call| call.abort());
        let cancelled = rig.wait_sent("notifications/cancelled", 10).await;
        rig.dir.write("go", "");
        for call in held {
            assert_eq!(call.await.unwrap().unwrap().text(), "ok");
        }
        let calls = rig.log.sent("tools/call");
        let slow = calls.iter().filter(|call| call.params()["name"] == "slow").map(|call| call.id().to_string());
        let mut told: Vec<_> = cancelled.iter().map(|entry| entry.params()["requestId"].to_string()).collect();
        let mut slow: Vec<_> = slow.collect();
        told.sort();
        slow.sort();
        assert_eq!(told, slow);
    }
}

/// However fast a call is given up, its cancellation never overtakes it.
#[tokio::test]
async fn p85_a_cancellation_never_overtakes_its_call() {
    let rig = rig(Script::new().on(call("echo"), []));
    rig.client.connect().await.unwrap();
    for n in 0..200 {
        let mut call = rig.client.call("echo", serde_json::json!({"text": "x".repeat(n * 50)})).into_future();
        assert!(futures_util::poll!(&mut call).is_pending());
    }
    let cancelled = rig.wait_sent("notifications/cancelled", 200).await;
    let received = rig.log.received();
    for entry in cancelled {
        let id = entry.params()["requestId"].clone();
        let position = |method: &str, same: &dyn Fn(&Entry) -> bool| {
            received.iter().position(|entry| entry.method().as_deref() == Some(method) && same(entry)).unwrap()
        };
        let call = position("tools/call", &|entry| entry.id() == id);
        assert!(call < position("notifications/cancelled", &|entry| entry.params()["requestId"] == id));
    }
}

/// What the handshake asks may not be cancelled: a start that is given up says nothing more.
#[tokio::test]
async fn p85_the_handshake_is_never_cancelled() {
    for rig in Rig::each(|_| Script::new().on("initialize", []), |builder| builder.start_timeout(ms(300))) {
        assert_eq!(rig.call("echo").await.unwrap_err().kind(), ErrorKind::Deadline);
        rig.client.disconnect().await;
        assert_eq!((rig.sent("initialize"), rig.sent("notifications/cancelled")), (1, 0), "{:?}", rig.over);
    }
}

/// Lists, reads and prompts are given up like calls.
#[tokio::test]
async fn p85_every_request_that_is_given_up_is_cancelled() {
    let script = Script::new()
        .resources([resource("a:1")])
        .prompts([prompt("p")])
        .on("tools/list", [])
        .on("resources/read", [])
        .on("prompts/get", []);
    for rig in Rig::each(|_| script.clone(), |builder| builder.timeout(ms(200))) {
        rig.client.connect().await.unwrap();
        let kinds = [
            rig.client.list_tools().await.unwrap_err().kind(),
            rig.client.read_resource("a:1").await.unwrap_err().kind(),
            rig.client.get_prompt("p", ()).await.unwrap_err().kind(),
        ];
        assert_eq!(kinds, [ErrorKind::Deadline; 3]);
        let told = rig.wait_sent("notifications/cancelled", 3).await;
        let asked = ["tools/list", "resources/read", "prompts/get"].map(|method| rig.log.sent(method)[0].id());
        assert_eq!(told.iter().map(|entry| entry.params()["requestId"].clone()).collect::<Vec<_>>(), asked);
    }
}
