//! What goes on between a call and its answer: forms to fill in, a model's turn, progress, calls that are given up, resources
//! that change. Over every way a server is reached that can carry it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use trunkline::{Answer, Cancellation, Client, ClientBuilder, ErrorKind, EventKind, Handlers, Protocol, Sampled};

use super::over_http::Listening;
use super::{Bench, Call, MODERN, Server, Watch};

/// Fills in every form, and speaks for a model.
fn handlers() -> Handlers {
    let fill = |form: trunkline::Elicitation| async move {
        let mut content = form.defaults().raw().to_value();
        content["name"] = json!("Ann");
        Answer::accept(content)
    };
    Handlers::new().elicit_forms(fill).sample(|_| async { Ok(Sampled::text("model", "said by a model")) })
}

/// In the legacy era, and in the modern one where the server and the way know it.
async fn converse(server: &Server, builder: ClientBuilder) {
    let legacy = builder.clone().protocol(Protocol::Legacy).handler(handlers()).build().unwrap();
    answer(&legacy, [&server.ask, &server.sample]).await;
    if let Some(call) = &server.cancel {
        give_up(&legacy, call).await;
        answer(&legacy, [&Some(server.call.clone())]).await;
    }
    if let Some(watch) = &server.watch {
        see_a_change(&legacy, watch).await;
    }
    legacy.disconnect().await;

    let auto = builder.handler(handlers()).build().unwrap();
    if server.modern && auto.info().await.unwrap().protocol_version().as_deref() == Some(MODERN) {
        answer(&auto, [&server.ask_modern]).await;
        if let Some(call) = &server.cancel {
            give_up(&auto, call).await;
            answer(&auto, [&Some(server.call.clone())]).await;
        }
        if let Some(watch) = &server.watch_modern {
            see_a_change(&auto, watch).await;
        }
    }
    auto.disconnect().await;
}

async fn answer<const N: usize>(client: &Client, calls: [&Option<Call>; N]) {
    for call in calls.into_iter().flatten() {
        let result = client.call(&call.tool, call.arguments.clone()).await.unwrap();
        assert!(!result.is_error() && result.text().contains(&call.text), "{}: {result:?}", call.tool);
    }
}

/// Gives a call up once it is under way.
async fn give_up(client: &Client, call: &Call) {
    let (started, cancellation) = (Arc::new(Notify::new()), Cancellation::new());
    let begun = started.clone();
    let running = client
        .call(&call.tool, call.arguments.clone())
        .cancellation(cancellation.clone())
        .on_progress(move |_| begun.notify_one());
    let give_up = async {
        started.notified().await;
        cancellation.cancel();
    };
    let (outcome, ()) = tokio::join!(running, give_up);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Cancelled);
}

async fn see_a_change(client: &Client, watch: &Watch) {
    client.request("resources/subscribe", Some(json!({"uri": watch.uri}).into())).await.unwrap();
    let mut events = client.events();
    client.call_tool(&watch.tool, watch.arguments.clone()).await.unwrap();
    let changed = async {
        loop {
            match events.next().await.expect("an event").kind {
                EventKind::ResourceUpdated { uri, .. } if uri == watch.uri => return,
                _ => {}
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), changed).await.expect("the server tells of the change");
}

async fn over_stdio(id: &str) {
    let bench = Bench::new();
    let server = bench.server(id);
    converse(server, server.builder()).await;
}

async fn over_http(id: &str, name: &str) {
    let bench = Bench::new();
    let server = bench.server(id);
    let way = server.over_http.iter().find(|way| way.way == name).unwrap();
    let listening = Listening::start(server, way);
    converse(server, listening.client(way).label(id)).await;
}

macro_rules! each {
    ($($name:ident = $id:literal $(over $way:literal)?),* $(,)?) => {
        $(#[tokio::test]
        #[ignore = "testbed"]
        async fn $name() {
            each!(@ $id $($way)?);
        })*
    };
    (@ $id:literal) => { over_stdio($id).await };
    (@ $id:literal $way:literal) => { over_http($id, $way).await };
}

each! {
    everything = "everything",
    everything_over_http = "everything" over "http",
    everything_over_sse = "everything" over "sse",
    everything_of_2024_11_05 = "everything-2024-11-05",
    everything_of_2024_11_05_over_sse = "everything-2024-11-05" over "sse",
    everything_of_2025_03_26 = "everything-2025-03-26",
    everything_of_2025_03_26_over_http = "everything-2025-03-26" over "http",
    everything_of_2025_03_26_over_sse = "everything-2025-03-26" over "sse",
    everything_of_2025_06_18 = "everything-2025-06-18",
    everything_of_2025_06_18_over_http = "everything-2025-06-18" over "http",
    everything_of_2025_06_18_over_sse = "everything-2025-06-18" over "sse",
    memory = "memory",
    fastmcp = "fastmcp",
    fastmcp_over_http = "fastmcp" over "http",
    fastmcp_over_sse = "fastmcp" over "sse",
    mcp1 = "mcp1",
    mcp1_over_http = "mcp1" over "http",
    mcp1_over_sse = "mcp1" over "sse",
    mcp2 = "mcp2",
    mcp2_over_http = "mcp2" over "http",
    mcp2_over_sse = "mcp2" over "sse",
    ts2 = "ts2",
}

/// The one server here that speaks 2026-07-28 only: found out, and truthfully refused where the handshake is insisted on.
#[tokio::test]
#[ignore = "testbed"]
async fn a_server_of_the_modern_era_alone() {
    let bench = Bench::new();
    let server = bench.server("ts2");
    let reject = |arg: &String| if arg == "serve" { "reject".to_owned() } else { arg.clone() };
    let args: Vec<_> = server.args.iter().map(reject).collect();
    let builder = Client::stdio(&server.command, args).handler(handlers());
    let client = builder.clone().build().unwrap();
    answer(&client, [&Some(server.call.clone()), &server.ask_modern]).await;
    see_a_change(&client, server.watch_modern.as_ref().unwrap()).await;
    assert_eq!(client.info().await.unwrap().protocol_version().as_deref(), Some(MODERN));
    client.disconnect().await;
    let error = builder.protocol(Protocol::Legacy).build().unwrap().connect().await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Protocol, Some(-32022)), "{error:?}");
}
