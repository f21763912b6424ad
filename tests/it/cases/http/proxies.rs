//! Proxies from the environment. The servers have names that only the proxy knows, since what is on this machine is
//! always reached directly.

use std::net::TcpListener;

use serde_json::json;
use trunkline::{Client, ClientBuilder, Environment, ErrorKind};
use trunkline_tests::TempDir;
use trunkline_tests::http::*;

use super::{all_of, echo};

fn with(url: &str, variables: &[(&str, &str)]) -> ClientBuilder {
    Client::http(url).label("fake").environment(Environment::from_pairs(variables.iter().copied()))
}

#[tokio::test]
async fn plain_requests_name_the_whole_address() {
    let fake = HttpScript::new().start();
    for variable in ["http_proxy", "HTTP_PROXY", "ALL_PROXY"] {
        let proxy = ForwardProxy::start([("server.test:80", fake.address())]);
        let client = with("http://server.test/mcp?a=b", &[(variable, &proxy.url())]).build().unwrap();
        assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
        assert!(
            proxy.targets().iter().all(|target| target.ends_with(" http://server.test/mcp?a=b")),
            "{:?}",
            proxy.targets()
        );
        assert_eq!(fake.log().rpc("tools/call").last().unwrap().header("host"), Some("server.test"));
    }
}

#[tokio::test]
async fn tls_goes_through_a_tunnel() {
    let (ca, dir) = (TestCa::new(), TempDir::new());
    for tls in [Tls::of(&ca).names(["server.test"]), Tls::of(&ca).names(["server.test"]).http1()] {
        let fake = HttpScript::new().start_tls(tls);
        let proxy = ForwardProxy::start([("server.test:8443", fake.address())]);
        let client = with(
            "https://server.test:8443/mcp",
            &[("HTTPS_PROXY", &proxy.url()), ("HTTP_PROXY", "http://127.0.0.1:1")],
        );
        let client = client.bearer("T-1").ca_file(ca.file(&dir)).build().unwrap();
        assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
        assert!(proxy.targets().iter().all(|target| target == "CONNECT server.test:8443"), "{:?}", proxy.targets());
        assert!(proxy.log().requests().iter().all(|request| request.header("authorization").is_none()));
        assert!(fake.log().requests().iter().all(|request| request.header("proxy-authorization").is_none()));
    }
}

#[tokio::test]
async fn a_proxy_gets_its_login_and_the_server_does_not() {
    let (ca, dir) = (TestCa::new(), TempDir::new());
    let (plain, secure) = (HttpScript::new().start(), HttpScript::new().start_tls(Tls::of(&ca).names(["secure.test"])));
    let hosts = [("plain.test:80", plain.address()), ("secure.test:443", secure.address())];
    let proxy = ForwardProxy::start_guarded(hosts, "Basic dTpwdy1CQkI=");
    let address = proxy.url().replace("http://", "http://u:pw-BBB@");
    let variables = [("HTTP_PROXY", address.as_str()), ("HTTPS_PROXY", address.as_str())];
    for url in ["http://plain.test/mcp", "https://secure.test/mcp"] {
        let client = with(url, &variables).ca_file(ca.file(&dir)).build().unwrap();
        assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
    }
    for fake in [&plain, &secure] {
        assert!(fake.log().requests().iter().all(|request| request.header("proxy-authorization").is_none()));
    }
    let wrong = proxy.url().replace("http://", "http://u:pw-XYZ@");
    for url in ["http://plain.test/mcp", "https://secure.test/mcp"] {
        let variables = [("HTTP_PROXY", wrong.as_str()), ("HTTPS_PROXY", wrong.as_str())];
        let error = with(url, &variables).ca_file(ca.file(&dir)).build().unwrap().connect().await.unwrap_err();
        let shown = all_of(&error);
        assert!(error.message().contains("407") && shown.contains(&proxy.url().replace("http://", "")), "{error:?}");
        assert!(error.hint().unwrap().contains("proxy's URL"), "{error:?}");
        assert!(!shown.contains("pw-XYZ"), "{shown}");
    }
}

#[tokio::test]
async fn hosts_without_a_proxy_and_this_machine_are_reached_directly() {
    let fake = HttpScript::new().start();
    let proxy = ForwardProxy::start([("server.test:80", fake.address())]);
    let near = with(&fake.url(), &[("HTTP_PROXY", &proxy.url())]).build().unwrap();
    assert_eq!(echo(&near, "x").await.unwrap(), json!("x"));
    let near = with(&fake.url().replace("127.0.0.1", "localhost"), &[("ALL_PROXY", &proxy.url())]).build().unwrap();
    assert_eq!(echo(&near, "x").await.unwrap(), json!("x"));
    for none in ["server.test", ".test", "*", "a.example, server.test"] {
        let url = "http://server.test/mcp";
        let error = with(url, &[("HTTP_PROXY", &proxy.url()), ("NO_PROXY", none)]).build().unwrap().connect().await;
        assert_eq!(error.unwrap_err().get("stage"), Some("name"), "{none}: only the proxy knows the name");
    }
    assert_eq!(proxy.log().connections(), 0);
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named_with_its_variable() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let down = format!("http://u:pw-BBB@{free}");
    for url in ["http://server.test/mcp", "https://server.test/mcp"] {
        let error = with(url, &[("ALL_PROXY", &down)]).build().unwrap().connect().await.unwrap_err();
        assert_eq!((error.kind(), error.may_have_run()), (ErrorKind::Unreachable, false));
        assert!(error.message().contains(&free.to_string()) && error.message().contains("proxy"), "{error}");
        assert!(
            error.hint().unwrap().contains("HTTP_PROXY") && error.hint().unwrap().contains("NO_PROXY"),
            "{error:?}"
        );
        assert!(!all_of(&error).contains("pw-BBB"), "{error:?}");
    }
}

#[tokio::test]
async fn what_a_proxy_refuses_is_told_as_its_refusal() {
    let proxy = ForwardProxy::start([]);
    let client = with("https://server.test/mcp", &[("HTTPS_PROXY", &proxy.url())]).build().unwrap();
    let error = client.connect().await.unwrap_err();
    assert_eq!(error.get("stage"), Some("proxy"));
    assert!(error.message().contains("502") && error.message().contains("server.test"), "{error}");
}

#[tokio::test]
async fn a_proxy_that_can_not_be_used_is_told() {
    for proxy in ["socks5://127.0.0.1:1080", "https://127.0.0.1:1"] {
        let error =
            with("https://server.test/mcp", &[("ALL_PROXY", proxy)]).build().unwrap().connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{error:?}");
        assert!(error.message().contains(proxy.trim_end_matches('/')), "{error}");
        assert!(error.hint().unwrap().contains("NO_PROXY"));
    }
}
