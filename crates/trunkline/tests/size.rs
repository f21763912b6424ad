//! What a call weighs: its future is moved about on the way down, so whatever is large and rare in it belongs in a box.

use std::mem::size_of_val;

use trunkline::{Client, MultiServer, StaticServer};

#[test]
fn a_call_is_small() {
    let server = StaticServer::new().function("t", "", || "x");
    let client = Client::in_memory(server).build().unwrap();
    assert!(size_of_val(&client.call_tool("t", ())) < 8192, "{}", size_of_val(&client.call_tool("t", ())));
    assert!(size_of_val(&client.list_tools()) < 4096, "{}", size_of_val(&client.list_tools()));
    let all = MultiServer::new();
    assert!(size_of_val(&all.call("t", ())) < 8192, "{}", size_of_val(&all.call("t", ())));
}
