//! Many servers with many tools: started a few at a time, listed at once, found by hash.

use std::time::{Duration, Instant};

use serde_json::json;
use trunkline::{Client, Limits, MultiServer, StaticServer};
use trunkline_tests::*;

use super::{Servers, marked};
use crate::rig::{SOON, limits, ms};

const SERVERS: usize = 50;
const TOOLS: usize = 200;

#[tokio::test]
async fn p42_fifty_servers_with_two_hundred_tools_each() {
    let mut servers = Servers::new();
    for n in 0..SERVERS {
        let tools = (0..TOOLS).map(|t| tool(&format!("tool_{t}")));
        let script = Script::new().tools(tools).on("tools/call", [text(&format!("s{n} $NAME"))]);
        servers.add(&format!("s{n}"), script);
    }
    let begun = Instant::now();
    let tools = servers.tools().await;
    assert_eq!(tools.len(), SERVERS * TOOLS);
    assert_eq!((tools[0].as_str(), tools[SERVERS * TOOLS - 1].as_str()), ("s0_tool_0", "s49_tool_199"));
    assert!(begun.elapsed() < SOON * 3, "took {:?}", begun.elapsed());
    assert_eq!(servers.call("s31_tool_117").await.unwrap(), "s31 tool_117");
    let again = Instant::now();
    for n in 0..SERVERS {
        assert_eq!(servers.call(&format!("s{n}_tool_7")).await.unwrap(), format!("s{n} tool_7"));
    }
    assert!(again.elapsed() < SOON, "took {:?}", again.elapsed());
    for n in 0..SERVERS {
        assert_eq!(servers.sent(&format!("s{n}"), "tools/list"), 1);
    }
    servers.multi.disconnect().await;
}

#[tokio::test]
async fn p42_only_so_many_start_at_once() {
    const PERMITS: usize = 3;
    let patient = Duration::from_secs(600);
    let mut servers =
        Servers::bounded(Limits { start_permits: PERMITS, permit_hold: patient, settle: patient, ..limits() });
    let marks = servers.dir.join("marks");
    for n in 0..12 {
        let start = [mark(&marks, "begin"), sleep(20), mark(&marks, "end"), default_answer()];
        servers.add(&format!("s{n}"), marked("ok", &["x"]).on("initialize", start));
    }
    assert_eq!(servers.tools().await.len(), 12);
    let (mut now, mut peak) = (0, 0);
    for word in servers.dir.read("marks").lines() {
        now = if word == "begin" { now + 1 } else { now - 1 };
        peak = peak.max(now);
    }
    assert!((1..=PERMITS).contains(&peak), "{peak} at once");
}

#[tokio::test]
async fn p42_a_silent_server_gives_its_permit_back() {
    let limits = Limits { start_permits: 1, permit_hold: ms(50), settle: ms(300), ..limits() };
    let mut servers = Servers::bounded(limits);
    servers.add("silent", Script::new().on("initialize", []));
    servers.add("a", marked("a", &["x"]));
    servers.add("b", marked("b", &["x"]));
    let tools = tokio::time::timeout(SOON, servers.tools()).await.unwrap();
    assert_eq!(tools, ["a_x", "b_x"]);
}

#[tokio::test]
async fn p42_ten_thousand_local_tools_are_merged_and_found_quickly() {
    let mut multi = MultiServer::new();
    for n in 0..SERVERS {
        let server =
            (0..TOOLS).fold(StaticServer::new(), |server, t| server.function(format!("tool_{t}"), "", move || t));
        multi.add(Client::from_connection(server).label(format!("s{n}")).build().unwrap()).unwrap();
    }
    let begun = Instant::now();
    assert_eq!(multi.tools().await.unwrap().len(), SERVERS * TOOLS);
    for _ in 0..2 {
        for n in 0..SERVERS {
            assert_eq!(multi.call(&format!("s{n}_tool_{n}"), ()).await.unwrap(), json!(n));
        }
    }
    assert!(begun.elapsed() < SOON, "took {:?}", begun.elapsed());
}
