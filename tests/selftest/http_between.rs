//! What stands between a client and the HTTP fake: TLS, HTTP/2, and the two proxies.

use std::io::Write as _;
use std::net::TcpStream;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http2;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use trunkline_tests::eventually;
use trunkline_tests::http::*;

use crate::http::{Raw, echo};

async fn dial(fake: &HttpFake, ca: &TestCa, protocol: &[u8]) -> std::io::Result<TlsStream<tokio::net::TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    let stream = tokio::net::TcpStream::connect(fake.address()).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

#[tokio::test]
async fn tls_is_spoken_with_a_certificate_of_the_authority() {
    let ca = TestCa::new();
    let fake = HttpScript::new().sessionless().start_tls(Tls::of(&ca));
    assert!(fake.url().starts_with("https://127.0.0.1:"));
    let mut stream = dial(&fake, &ca, b"http/1.1").await.unwrap();
    let body = echo(1).to_string();
    let request = format!("POST /mcp HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("\"hi\""), "{answer}");

    assert!(dial(&fake, &TestCa::new(), b"http/1.1").await.is_err(), "another authority");
    fake.log().wait_for("the refusal", |log| (log.tls_refused() == [2]).then_some(())).await;
    let expired = HttpScript::new().start_tls(Tls::of(&ca).expired());
    assert!(dial(&expired, &ca, b"http/1.1").await.is_err());
    let other = HttpScript::new().start_tls(Tls::of(&ca).names(["other.test"]));
    assert!(dial(&other, &ca, b"http/1.1").await.is_err());
    let old = HttpScript::new().start_tls(Tls::of(&ca).http1());
    assert!(dial(&old, &ca, b"h2").await.is_err());
    let silent = HttpScript::new().start_tls(Tls::of(&ca).without_alpn());
    assert_eq!(dial(&silent, &ca, b"h2").await.unwrap().get_ref().1.alpn_protocol(), None);
}

async fn text(response: Response<Incoming>) -> Result<String, hyper::Error> {
    let (mut body, mut text) = (response.into_body(), String::new());
    while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        text += &String::from_utf8_lossy(&frame?.into_data().unwrap_or_default());
    }
    Ok(text)
}

#[tokio::test]
async fn http2_follows_the_same_script() {
    let (ca, gate, begun) = (TestCa::new(), Gate::new(), Gate::new());
    let script = HttpScript::new()
        .on(rpc_call("echo").nth(1), [wait(&gate), default_answer()])
        .on(rpc_call("echo").nth(2), [sse(), event(Event::result(json!({})))])
        .on(rpc_call("echo").nth(3), [sse(), comment("so far"), wait(&begun), reset()])
        .on(rpc_call("echo").nth(4), [reset()])
        .on(rpc_call("echo").nth(5), [hang()])
        .on(rpc_call("echo").nth(6), [cut()]);
    let fake = script.sessionless().start_tls(Tls::of(&ca));
    let stream = dial(&fake, &ca, b"h2").await.unwrap();
    let (mut client, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut ask = |id| {
        let request = Request::post(format!("https://127.0.0.1{}", "/mcp")).header("x-test", "1");
        client.send_request(request.body(echo(id).to_string()).unwrap())
    };
    let slow = tokio::spawn(ask(1));
    gate.reached(1).await;
    assert!(text(ask(2).await.unwrap()).await.unwrap().contains("\"id\":2"), "while the first waits");
    gate.open();
    assert!(text(slow.await.unwrap().unwrap()).await.unwrap().contains("\"id\":1"));
    let broken = ask(3).await.unwrap();
    begun.open();
    assert!(text(broken).await.is_err(), "the stream was reset");
    assert!(ask(4).await.is_err(), "the stream was reset before its head");
    let dropped = tokio::spawn(ask(5));
    fake.log().wait_rpc("tools/call", 5).await;
    dropped.abort();
    fake.log().wait_for("the client to give up", |log| (log.given_up().len() == 1).then_some(())).await;
    assert!(ask(6).await.is_err());
    assert!(ask(7).await.is_err(), "the connection is over");
    let log = fake.log();
    assert_eq!((log.connections(), log.rpc("tools/call").len()), (1, 6));
    assert_eq!((log.requests()[0].version.as_str(), log.requests()[0].header("x-test")), ("HTTP/2", Some("1")));
}

#[test]
fn a_proxy_passes_on_until_it_is_told_otherwise() {
    let fake = HttpScript::new().sessionless().start();
    let proxy = Proxy::to(fake.address());
    assert_eq!(proxy.via(&fake.url()), format!("http://{}/mcp", proxy.address()));
    let mut raw = Raw::to(proxy.address());
    raw.post("", &echo(1));
    raw.until("\"id\":1");
    proxy.pieces(1);
    proxy.delay(Duration::from_millis(20));
    let begun = Instant::now();
    raw.post("", &echo(2));
    raw.until("\"id\":2");
    assert!(begun.elapsed() >= Duration::from_millis(40), "once each way");
    raw.until("]}}");
    proxy.cut();
    assert_eq!(raw.rest(), (String::new(), false));

    proxy.delay(Duration::ZERO);
    proxy.cut_after(12);
    let mut raw = Raw::to(proxy.address());
    raw.post("", &echo(3));
    assert_eq!(raw.rest(), ("HTTP/1.1 200".to_owned(), false));
    proxy.cut_after(None);
    let mut raw = Raw::to(proxy.address());
    raw.post("", &echo(4));
    raw.until("]}}");
    proxy.reset();
    assert!(raw.rest().1);
    proxy.refuse(true);
    assert_eq!(Raw::to(proxy.address()).rest().0, "");
    assert_eq!((proxy.connections(), fake.log().connections()), (4, 3));
}

#[test]
fn a_proxy_holds_back_and_gathers() {
    let fake = HttpScript::new().listening().sessionless().start();
    let proxy = Proxy::to(fake.address());
    proxy.hold(true);
    let mut raw = Raw::to(proxy.address());
    raw.post("", &echo(1));
    eventually("the request", || (!fake.log().requests().is_empty()).then_some(()));
    proxy.hold(false);
    raw.until("\"id\":1");
    proxy.gather(1000);
    let mut stream = Raw::to(proxy.address());
    stream.send("GET", "/mcp", "", "");
    fake.push(Event::data("first"));
    fake.push(Event::data(&"x".repeat(1000)));
    assert!(stream.until("xxx").contains("first"));
}

#[tokio::test]
async fn a_forward_proxy_tunnels_and_passes_on() {
    let fake = HttpScript::new().sessionless().start();
    let proxy = ForwardProxy::start_guarded([("mcp.test:80", fake.address())], "Basic eDp5");
    let address = proxy.url().strip_prefix("http://").unwrap().parse().unwrap();
    let body = echo(1).to_string();
    let plain = |authorization: &str| {
        let head = "POST http://mcp.test/mcp HTTP/1.1\r\nHost: mcp.test\r\n";
        format!("{head}{authorization}Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let asked = |request: &str| {
        let mut stream = TcpStream::connect::<std::net::SocketAddr>(address).unwrap();
        stream.set_read_timeout(Some(trunkline_tests::limit())).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut stream, &mut answer).unwrap();
        answer
    };
    assert!(asked(&plain("")).starts_with("HTTP/1.1 407"));
    let authorized = "Proxy-Authorization: Basic eDp5\r\n";
    assert!(asked(&plain(authorized)).contains("\"id\":1"));
    let connect = format!("CONNECT mcp.test:80 HTTP/1.1\r\n{authorized}\r\n");
    let request = format!("POST /mcp HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    assert!(asked(&format!("{connect}{request}")).contains("Connection established"));
    assert!(asked(&format!("CONNECT 127.0.0.1:1 HTTP/1.1\r\n{authorized}\r\n")).starts_with("HTTP/1.1 502"));
    let targets =
        ["POST http://mcp.test/mcp", "POST http://mcp.test/mcp", "CONNECT mcp.test:80", "CONNECT 127.0.0.1:1"];
    assert_eq!(proxy.targets(), targets);
    let forwarded = &fake.log().requests()[0];
    assert_eq!((forwarded.target.as_str(), forwarded.header("proxy-authorization")), ("/mcp", None));
}
