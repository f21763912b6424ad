//! TLS and HTTP/2.

use serde_json::json;
use trunkline::{Client, ErrorKind};
use trunkline_tests::TempDir;
use trunkline_tests::http::*;

use super::{all_of, at, echo};

fn trusting(ca: &TestCa, dir: &TempDir, url: String) -> Client {
    at(url).ca_file(ca.file(dir)).build().unwrap()
}

#[tokio::test]
async fn an_authority_of_one_s_own_is_trusted_by_its_file() {
    let (ca, dir) = (TestCa::new(), TempDir::new());
    for (tls, version) in
        [(Tls::of(&ca), "HTTP/2"), (Tls::of(&ca).http1(), "HTTP/1.1"), (Tls::of(&ca).without_alpn(), "HTTP/1.1")]
    {
        let fake = HttpScript::new().strict_version().listening().start_tls(tls);
        for url in [fake.url(), fake.url().replace("127.0.0.1", "localhost")] {
            let client = trusting(&ca, &dir, url);
            assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
            client.disconnect().await;
        }
        let log = fake.log();
        assert!(log.requests().iter().all(|request| request.version == version), "{version}");
        assert_eq!(log.of("DELETE").len(), 2);
    }
}

#[tokio::test]
async fn many_calls_share_one_connection_of_http2() {
    let (ca, dir, gate) = (TestCa::new(), TempDir::new(), Gate::new());
    for script in [HttpScript::new(), HttpScript::new().sse_answers()] {
        let fake =
            script.listening().on(rpc_call("echo").first(64), [wait(&gate), default_answer()]).start_tls(Tls::of(&ca));
        let client = trusting(&ca, &dir, fake.url());
        let calls = futures_util::future::join_all((0..64).map(|n| {
            let client = client.clone();
            async move { echo(&client, &n.to_string()).await.unwrap() }
        }));
        let (results, ()) = tokio::join!(calls, async {
            gate.reached(64).await;
            gate.open();
        });
        assert_eq!(results, (0..64).map(|n| json!(n)).collect::<Vec<_>>());
        assert_eq!(fake.log().connections(), 1);
        client.disconnect().await;
        assert_eq!(fake.log().of("DELETE").len(), 1);
    }
}

#[tokio::test]
async fn a_stream_of_http2_that_is_reset_fails_its_call_alone() {
    let (ca, dir) = (TestCa::new(), TempDir::new());
    let fake = HttpScript::new()
        .on(rpc_call("echo").contains("before"), [reset()])
        .on(rpc_call("echo").contains("within"), [sse(), comment("x"), reset()])
        .start_tls(Tls::of(&ca));
    let client = trusting(&ca, &dir, fake.url());
    for text in ["before", "within"] {
        let error = echo(&client, text).await.unwrap_err();
        assert!(error.may_have_run(), "{}", all_of(&error));
        assert_eq!(echo(&client, "x").await.unwrap(), json!("x"));
    }
    assert_eq!((fake.log().connections(), fake.log().rpc("tools/call").len()), (1, 4));
}

#[tokio::test]
async fn a_request_that_http2_refused_is_made_once_more_and_never_said_to_have_run() {
    let (ca, dir) = (TestCa::new(), TempDir::new());
    let fake = HttpScript::new()
        .on(rpc_call("echo").contains("once").first(1), [refuse()])
        .on(rpc_call("echo").contains("always"), [refuse()])
        .start_tls(Tls::of(&ca));
    let client = trusting(&ca, &dir, fake.url());
    assert_eq!(echo(&client, "once").await.unwrap(), json!("once"));
    let error = echo(&client, "always").await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unreachable && !error.may_have_run(), "{}", all_of(&error));
    assert_eq!((fake.log().connections(), fake.log().rpc("tools/call").len()), (1, 4));
}

#[tokio::test]
async fn a_request_that_a_leaving_server_did_not_look_at_is_made_on_a_new_connection() {
    let (ca, dir) = (TestCa::new(), TempDir::new());
    let fake = HttpScript::new().start_tls(Tls::of(&ca));
    let once = Leaving::before(&fake, &ca, 1).await;
    assert_eq!(echo(&trusting(&ca, &dir, once.url()), "x").await.unwrap(), json!("x"));
    assert_eq!(fake.log().rpc("initialize").len(), 1);
    let always = Leaving::before(&fake, &ca, usize::MAX).await;
    let error = trusting(&ca, &dir, always.url()).connect().await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unreachable && !error.may_have_run(), "{}", all_of(&error));
}

#[tokio::test]
async fn a_connection_of_http2_that_broke_is_replaced() {
    let (ca, dir) = (TestCa::new(), TempDir::new());
    let fake = HttpScript::new().start_tls(Tls::of(&ca));
    let proxy = Proxy::to(fake.address());
    let client = trusting(&ca, &dir, proxy.via(&fake.url()));
    echo(&client, "x").await.unwrap();
    for n in 0..3 {
        proxy.cut();
        let first = echo(&client, "y").await; // may meet the end of the old one
        assert!(
            first.as_ref().is_ok_and(|value| value == "y")
                || first.is_err_and(|error| error.kind() == ErrorKind::Unreachable)
        );
        assert_eq!(echo(&client, &n.to_string()).await.unwrap(), json!(n));
    }
    assert_eq!(fake.log().rpc("initialize").len(), 1);
}

#[tokio::test]
async fn whom_nobody_vouches_for_is_not_spoken_to() {
    let (ca, other, dir) = (TestCa::new(), TestCa::new(), TempDir::new());
    let of = |tls: Tls<'_>| HttpScript::new().start_tls(tls);
    for (fake, told, fix) in [
        (of(Tls::of(&other)), "BadSignature", "certificate"),
        (of(Tls::of(&ca).names(["other.example"])), "", "host name"),
        (of(Tls::of(&ca).expired()), "xpired", "certificate"),
    ] {
        let error = trusting(&ca, &dir, fake.url()).connect().await.unwrap_err();
        assert_eq!((error.kind(), error.get("stage")), (ErrorKind::Unreachable, Some("TLS")));
        assert!(error.message().contains(&fake.origin()) && error.message().contains(told), "{error}");
        assert!(error.hint().unwrap().contains(fix), "{error:?}");
        assert!(fake.log().requests().is_empty());
        fake.log().wait_for("the refusal", |log| (log.tls_refused() == [1]).then_some(())).await;
    }
    let fake = of(Tls::of(&ca));
    let error = at(fake.url()).build().unwrap().connect().await.unwrap_err();
    assert!(error.hint().unwrap().contains("caFile"), "{error:?}");
}

#[tokio::test]
async fn the_wrong_scheme_is_told_both_ways() {
    let (ca, dir) = (TestCa::new(), TempDir::new());
    let plain = HttpScript::new().on(accepted(), [wire("HTTP/1.1 400 Bad Request\r\n\r\n"), cut()]).start();
    let error = trusting(&ca, &dir, plain.url().replace("http://", "https://")).connect().await.unwrap_err();
    assert!(error.hint().unwrap().contains("http://"), "{error:?}");
    let secure = HttpScript::new().start_tls(Tls::of(&ca));
    let error = at(secure.url().replace("https://", "http://")).build().unwrap().connect().await.unwrap_err();
    assert!(error.hint().unwrap().contains("https://"), "{error:?}");
}

#[tokio::test]
async fn a_file_that_holds_no_certificate_is_told() {
    let (fake, dir) = (HttpScript::new().start(), TempDir::new());
    for (file, content) in [("none.pem", None), ("empty.pem", Some("")), ("bad.pem", Some("hello"))] {
        let path = content.map_or_else(|| dir.join(file), |content| dir.write(file, content));
        let url = fake.url().replace("http://", "https://");
        let error = at(url).ca_file(&path).build().unwrap().connect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{error:?}");
        assert!(error.message().contains(file), "{error}");
    }
}
