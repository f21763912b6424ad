//! Testing code that uses MCP without any server: a `StaticServer` stands in, and every path is the real one
//! (listing, names, calls, errors). Run with `cargo run --example testing`.

use serde_json::json;
use trunkline::{Client, ErrorKind, Result, StaticServer};

/// The code under test: it takes a client and doesn't care what is behind.
async fn summary(client: &Client) -> Result<String> {
    let weather = client.call_tool("weather", json!({"city": "Bergen"})).await?;
    let motto = client.read_resource("office://motto").await?;
    Ok(format!("{} and {motto}", weather.as_str().unwrap_or_default()))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    /// The city to look at.
    city: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let server = StaticServer::new()
        .function("weather", "Tells the weather.", |city: City| format!("{}: rain", city.city))
        .resource("office://motto", "onwards")
        .prompt("greet", "Say hello to {name}.");

    // directly, and over the real protocol in memory
    for client in [Client::from_connection(server.clone()).build()?, Client::in_memory(server.clone()).build()?] {
        assert_eq!(summary(&client).await?, "Bergen: rain and onwards");
        assert_eq!(client.get_prompt("greet", json!({"name": "Ann"})).await?, "Say hello to Ann.");
        let error = client.call_tool("wether", json!({})).await.unwrap_err();
        println!("{error}");
        assert!(matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Protocol));
    }
    println!("all as expected");
    Ok(())
}
