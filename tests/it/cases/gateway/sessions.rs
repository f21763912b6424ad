//! What many clients cost: nothing once they are gone.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use trunkline::HttpServerLimits;
use trunkline_tests::*;

use super::super::multi::Servers;
use super::serve;
use crate::serving_http::Peer;

#[tokio::test]
async fn p95_a_thousand_sessions_leave_one_server_and_nothing_else() {
    let servers = Servers::with([("s", Script::new())]);
    let limits =
        HttpServerLimits { idle: Duration::from_millis(300), max_sessions: 1000, ..HttpServerLimits::default() };
    let serving = serve(servers.multi.clone(), |http| http.limits(limits)).await;
    for _ in 0..2 {
        // fifty at a time: half of them say goodbye, half just go
        for _ in 0..20 {
            let peers = join_all((0..50).map(|_| Peer::begin(&serving, "2025-11-25"))).await;
            let used = peers.iter().enumerate().map(async |(n, peer)| {
                assert!(peer.call(1, "s_echo", json!({})).await.get("result").is_some());
                if n % 2 == 0 {
                    assert_eq!(peer.send("DELETE", "/mcp", "").await.status.as_u16(), 200);
                }
            });
            join_all(used).await;
        }
        let gone = async {
            while serving.sessions() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(limit(), gone).await.expect("sessions that nobody uses end");
        assert_eq!(servers.log("s").starts().len(), 1, "all clients share the server");
    }
    assert_eq!(servers.sent("s", "tools/call"), 2000);
}
