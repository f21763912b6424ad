//! What the library tells a `tracing` subscriber: spans around connecting and calling, never the arguments.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use trunkline::{Client, StaticServer};

/// Writes down each span with its fields.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<String>>>);

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl<S: tracing::Subscriber> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, _id: &Id, _context: Context<'_, S>) {
        if attributes.metadata().target().starts_with("trunkline") {
            let mut span = attributes.metadata().name().to_owned();
            attributes.record(&mut Fields(&mut span));
            self.0.lock().unwrap().push(span);
        }
    }
}

#[tokio::test]
async fn connecting_and_calling_have_spans_without_arguments() {
    let spans = Spans::default();
    let subscriber = tracing_subscriber::registry().with(spans.clone().with_filter(LevelFilter::DEBUG));
    let _guard = tracing::subscriber::set_default(subscriber);
    let server = StaticServer::new().function("greet", "Says hello.", || "hello");
    let client = Client::in_memory(server).label("greeter").build().unwrap();
    client.call_tool("greet", json!({"password": "hunter2"})).await.unwrap();
    client.disconnect().await;
    let spans = spans.0.lock().unwrap();
    assert_eq!(*spans, ["connect server=greeter", "call server=greeter what=tools/call \"greet\""]);
}
