//! The servers that speak HTTP too, each over every transport it offers, and behind a proxy that does what proxies do.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use trunkline::{CallContext, Client, ClientBuilder, Connection as _, MultiServer, Outcome};
use trunkline_tests::http::Proxy;
use trunkline_tests::*;

use super::{Bench, MODERN, Server, Way, use_all};

/// A server that listens; it ends with this.
pub(super) struct Listening {
    child: Child,
    address: SocketAddr,
    pub(super) url: String,
}

impl Listening {
    pub(super) fn start(server: &Server, way: &Way) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let port = free.port().to_string();
        let filled = |text: &String| text.replace("{port}", &port);
        let mut command = Command::new(&server.command);
        command.args(way.args.iter().map(filled)).envs(&server.env);
        command.envs(way.env.iter().map(|(name, value)| (name, filled(value))));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // some listen on every address, some on IPv6 alone
        let addresses = [free, SocketAddr::new("::1".parse().unwrap(), free.port())];
        let address = eventually_within(Duration::from_secs(120), "a server that listens", || {
            // a free port of this range can be connected to itself
            let listens = |address: &SocketAddr| {
                TcpStream::connect(address).is_ok_and(|stream| stream.local_addr().ok() != stream.peer_addr().ok())
            };
            addresses.into_iter().find(listens)
        });
        Self { child, address, url: format!("http://{address}{}", way.path) }
    }

    pub(super) fn client(&self, way: &Way) -> ClientBuilder {
        client_of(&self.url, way)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended by itself
        let _ = self.child.wait();
    }
}

fn client_of(url: &str, way: &Way) -> ClientBuilder {
    let client = if way.way == "sse" { Client::sse(url) } else { Client::http(url) };
    client.start_timeout(Duration::from_secs(60)).timeout(Duration::from_secs(60))
}

async fn exercise(id: &str, name: &str) {
    let bench = Bench::new();
    let mut server = bench.take(id);
    let way = server.over_http.iter().position(|way| way.way == name).map(|at| server.over_http.remove(at)).unwrap();
    if way.way == "stateless" {
        server.progress = None; // there is nothing to carry it
    }
    if way.progress_apart {
        server.progress.as_mut().unwrap().apart = true;
    }
    for (protocol, revision) in server.eras() {
        if way.way == "sse" && revision == MODERN {
            continue; // which knows nothing of HTTP+SSE
        }
        let listening = Listening::start(&server, &way); // anew: some end with their first client
        let client = listening.client(&way).protocol(protocol).label(id).build().unwrap();
        let info = client.info().await.unwrap_or_else(|error| panic!("{protocol:?}: {error:?}"));
        assert_eq!(info.protocol_version().as_deref(), Some(revision));
        use_all(&server, &client).await;
        client.disconnect().await;
        assert!(!client.connected());
    }
}

macro_rules! each_way {
    ($($name:ident = $id:literal over $way:literal),* $(,)?) => {
        $(#[tokio::test]
        #[ignore = "testbed"]
        async fn $name() {
            exercise($id, $way).await;
        })*

        #[test]
        fn every_way_of_the_list_has_its_test() {
            let text = include_str!("../../../testbed/servers.json");
            let servers = serde_json::from_str::<super::Servers>(text).unwrap().servers;
            let ways = |server: &Server| server.over_http.iter().map(|way| (server.id.clone(), way.way.clone())).collect();
            let listed: Vec<(String, String)> = servers.iter().flat_map::<Vec<_>, _>(ways).collect();
            assert_eq!(listed, [$(($id.to_owned(), $way.to_owned())),*]);
        }
    };
}

each_way! {
    everything_over_http = "everything" over "http",
    everything_over_sse = "everything" over "sse",
    everything_of_2024_11_05_over_sse = "everything-2024-11-05" over "sse",
    everything_of_2025_03_26_over_http = "everything-2025-03-26" over "http",
    everything_of_2025_03_26_over_sse = "everything-2025-03-26" over "sse",
    everything_of_2025_06_18_over_http = "everything-2025-06-18" over "http",
    everything_of_2025_06_18_over_sse = "everything-2025-06-18" over "sse",
    fastmcp_over_http = "fastmcp" over "http",
    fastmcp_over_sse = "fastmcp" over "sse",
    mcp1_over_http = "mcp1" over "http",
    mcp1_without_sessions = "mcp1" over "stateless",
    mcp1_over_sse = "mcp1" over "sse",
    mcp2_over_http = "mcp2" over "http",
    mcp2_over_sse = "mcp2" over "sse",
    ts2_without_sessions = "ts2" over "stateless",
}

/// A server that speaks only HTTP+SSE, of which nothing but the URL is told.
#[tokio::test]
#[ignore = "testbed"]
async fn an_old_server_is_found_out_by_its_url_alone() {
    let bench = Bench::new();
    let server = bench.server("mcp1");
    let way = server.over_http.iter().find(|way| way.way == "sse").unwrap();
    let listening = Listening::start(server, way);
    let client = Client::http(&listening.url).build().unwrap();
    assert_eq!(client.list_tools().await.unwrap().len(), server.tools.unwrap());
    client.disconnect().await;
    assert_eq!(client.list_tools().await.unwrap().len(), server.tools.unwrap());
    client.disconnect().await;
}

/// Pieces of a few bytes, everything late, then a connection cut in the middle: the next call works again.
#[tokio::test]
#[ignore = "testbed"]
async fn a_proxy_that_delays_splits_and_cuts_costs_what_it_cuts() {
    let bench = Bench::new();
    for (id, name) in [("everything", "http"), ("mcp1", "http"), ("mcp1", "sse")] {
        let server = bench.server(id);
        let way = server.over_http.iter().find(|way| way.way == name).unwrap();
        let listening = Listening::start(server, way);
        let proxy = Proxy::to(listening.address);
        let client = client_of(&proxy.via(&listening.url), way).label(id).build().unwrap();
        proxy.pieces(7);
        proxy.delay(Duration::from_millis(5));
        let text = |result: trunkline::ToolResult| result.text();
        let made = client.call(&server.call.tool, server.call.arguments.clone()).await.unwrap();
        assert!(text(made).contains(&server.call.text));
        proxy.cut();
        // what was kept open is gone; whether that is noticed before or while it is used, it is over soon
        let mut tries = 0;
        loop {
            match client.call(&server.call.tool, server.call.arguments.clone()).await {
                Ok(made) => break assert!(text(made).contains(&server.call.text)),
                Err(error) if tries < 3 => tracing::debug!(%error, "cut"),
                Err(error) => panic!("{id} over {name}: {error:?}"),
            }
            tries += 1;
        }
        client.disconnect().await;
    }
}

/// All of them behind one, over HTTP, with one that is not there.
#[tokio::test]
#[ignore = "testbed"]
async fn all_over_http_at_once_with_a_dead_one() {
    let bench = Bench::new();
    let ways = bench.servers.iter().filter_map(|server| Some((server, server.over_http.first()?)));
    let started: Vec<_> = ways.map(|(server, way)| (server, way, Listening::start(server, way))).collect();
    let mut multi = MultiServer::new();
    for (server, way, listening) in &started {
        multi.add(listening.client(way).label(&server.id).build().unwrap()).unwrap();
    }
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    multi.add(Client::http(format!("http://{dead}/mcp")).label("dead").build().unwrap()).unwrap();
    let listings = multi.tools_by_server(&CallContext::new()).await;
    let (dead, live) = listings.split_last().unwrap();
    for (listing, (server, ..)) in live.iter().zip(&started) {
        let Outcome::Ready(tools) = &listing.outcome else { panic!("{listing:?}") };
        assert!(tools.len() + 1 >= server.tools.unwrap(), "{}", server.id);
    }
    assert!(matches!(&dead.outcome, Outcome::Failed(error) if error.kind() == trunkline::ErrorKind::Unreachable));
    for (server, ..) in &started {
        let exposed = multi.exposed_name(&server.id, &server.call.tool);
        multi
            .call(&exposed, server.call.arguments.clone())
            .await
            .unwrap_or_else(|error| panic!("{exposed}: {error:?}"));
    }
    multi.close().await.unwrap();
}
