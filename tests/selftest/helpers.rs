//! What tests use beside the fake: the log's readers, bounded waits, the directory.

use std::future::Future;
use std::panic::catch_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use trunkline_tests::*;

use crate::peer::Peer;

#[test]
fn the_log_has_every_raw_line_and_what_was_written() {
    let dir = TempDir::new();
    let log = Log::at(dir.join("log"));
    assert!(log.entries().is_empty());
    let script =
        Script::new().log(log.path()).on("tools/list", [ask([request(json!(7), "roots/list")]), default_answer()]);
    let mut peer = Peer::start(&script);
    peer.send("not json\r");
    peer.send(r#"{"id":1,"method":"tools/list","params":{"arguments":{"n":1.0,"a":1e400}}}"#);
    assert_eq!(peer.json()["id"], json!(7));
    peer.send(r#"{"id":7,"result":{}}"#);
    assert_eq!(peer.json()["id"], json!(1));

    assert_eq!(log.lines()[0], "not json\r");
    assert_eq!(log.methods(), ["tools/list"]);
    let request = &log.sent("tools/list")[0];
    assert_eq!((request.id(), request.pid), (json!(1), peer.pid()));
    assert_eq!(request.raw_arguments(), r#"{"n":1.0,"a":1e400}"#);
    assert_eq!(log.replies().len(), 1);
    assert_eq!(log.replies()[0].id(), json!(7));
    let asked = log.entries().into_iter().find(|entry| entry.kind == Kind::Wrote).unwrap();
    assert_eq!(asked.method().as_deref(), Some("roots/list"));
    assert!(request.at <= asked.at && asked.at <= log.replies()[0].at);
}

#[test]
fn a_wait_in_vain_says_what_for() {
    let panic = catch_unwind(|| eventually_within(Duration::from_millis(20), "rain", || None::<()>)).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("rain") && text.contains("20ms"), "{text}");
}

#[test]
fn offloaded_work_wakes_any_executor() {
    let slow = || {
        thread::sleep(Duration::from_millis(20));
        42
    };
    assert_eq!(block_on(offload(slow)), 42);
    assert_eq!(block_on(offload(|| 43)), 43);
    let panicked = catch_unwind(|| block_on(offload(|| -> u32 { panic!("inside") })));
    assert_eq!(panicked.unwrap_err().downcast_ref::<&str>(), Some(&"inside"));
}

#[test]
fn the_directory_goes_with_the_value() {
    let dir = TempDir::new();
    let path = dir.write("a/b.txt", "text");
    assert_eq!((dir.read("a/b.txt").as_str(), dir.read("none").as_str()), ("text", ""));
    drop(dir);
    assert!(!path.exists());
}

#[test]
fn memory_of_a_process_is_known_while_it_lives() {
    let mut peer = Peer::start(&Script::new());
    peer.request(1, "ping", json!({}));
    peer.json();
    let peak = peak_memory(peer.pid()).unwrap();
    assert!((1 << 19..1 << 26).contains(&peak), "{peak}");
    peer.close_stdin();
    peer.status();
    assert_eq!(peak_memory(peer.pid()), None);
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    let deadline = Instant::now() + limit();
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        assert!(Instant::now() < deadline, "the future was never woken");
        thread::park_timeout(limit());
    }
}
