//! What is asked for at all, and what an answer without a list means.

use std::time::Duration;

use serde_json::json;
use trunkline::{ErrorKind, Protocol};
use trunkline_tests::*;

use super::{LISTS, everything, listed, tools};
use crate::rig::{Rig, everywhere, rig};

#[tokio::test]
async fn p29_only_what_is_declared_is_asked_for() {
    let script = Script::new().capabilities(json!({"tools": {}}));
    for rig in Rig::each(|_| script.clone(), |builder| builder.protocol(Protocol::Legacy)) {
        for (method, _, _) in LISTS {
            assert_eq!(listed(&rig, method).await.unwrap().len(), usize::from(method == "tools/list"), "{method}");
        }
        let asked = rig.log.methods();
        assert_eq!(asked, ["initialize", "notifications/initialized", "tools/list"]);
    }
}

#[tokio::test]
async fn p29_a_server_that_declares_nothing_is_asked_for_its_tools() {
    for capabilities in [json!({}), json!({"tools": null}), json!({"tools": null, "logging": null})] {
        let rig = rig(Script::new().capabilities(capabilities.clone()));
        assert_eq!(tools(&rig).await, ["echo"], "{capabilities}");
    }
    let rig = rig(Script::new().capabilities(json!({})).on("tools/list", [respond_error(-32601, "no")]));
    assert!(tools(&rig).await.is_empty());
}

#[tokio::test]
async fn p29_a_declared_list_that_is_not_there_is_empty() {
    for (method, _, _) in &LISTS[1..] {
        for rig in everywhere(everything().on(*method, [respond_error(-32601, "Method not found")])) {
            assert!(listed(&rig, method).await.unwrap().is_empty(), "{method}");
            assert!(rig.warned(&format!("doesn't know {method}")), "{:?}", rig.client.warnings());
            assert_eq!(tools(&rig).await, ["echo"]);
        }
    }
}

#[tokio::test]
async fn p29_a_list_that_really_fails_is_an_error() {
    for (method, _, _) in LISTS {
        let rig = rig(everything().on(method, [respond_error(-32603, "disk full")]));
        let error = listed(&rig, method).await.unwrap_err();
        assert_eq!((error.code(), error.message()), (Some(-32603), "disk full"), "{method}");
    }
}

#[tokio::test]
async fn p29_a_list_that_hangs_holds_up_no_other() {
    let script = everything().on("prompts/list", []);
    for rig in Rig::each(|_| script.clone(), |builder| builder.timeout(Duration::from_millis(500))) {
        rig.client.connect().await.unwrap();
        let (prompts, tools) = tokio::join!(rig.client.list_prompts(), async {
            let tools = rig.client.list_tools().await;
            assert!(rig.client.call_tool("echo", ()).await.is_ok());
            tools
        });
        assert_eq!(tools.unwrap().len(), 1);
        let error = prompts.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Deadline);
        assert!(error.message().contains("prompts/list"), "{error}");
    }
}

#[tokio::test]
async fn p32_an_answer_without_its_list_is_an_error_not_an_empty_list() {
    for answer in [json!({}), json!({"tools": null}), json!({"tools": "none"}), json!([]), json!("x")] {
        let rig = rig(Script::new().on("tools/list", [respond(answer.clone())]));
        let error = rig.client.list_tools().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{answer}");
        assert!(error.message().contains("\"tools\""), "{error}");
    }
}
