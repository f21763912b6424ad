//! What may be asked while a call is under way.

use std::sync::{Arc, OnceLock};

use serde_json::json;
use trunkline::{Client, EventKind, Handlers};
use trunkline_tests::*;

use crate::rig::{Over, Rig};

#[tokio::test]
async fn p50_p51_a_listener_may_list_while_a_call_runs() {
    for rig in Rig::each(
        |dir| {
            Script::new().on(
                call("echo"),
                [
                    set_tools([tool("echo"), tool("new")]),
                    notify("notifications/tools/list_changed"),
                    background([wait_file(dir.join("listed")), text("done")]),
                ],
            )
        },
        |builder| builder,
    ) {
        let mut events = rig.client.events();
        let (client, listed) = (rig.client.clone(), rig.dir.join("listed"));
        let listener = tokio::spawn(async move {
            while !matches!(events.next().await.unwrap().kind, EventKind::ToolsChanged) {}
            let tools = client.list_tools().await.unwrap();
            std::fs::write(listed, "").unwrap();
            tools.len()
        });
        assert_eq!(rig.call("echo").await.unwrap(), "done");
        assert_eq!(listener.await.unwrap(), 2);
    }
}

#[tokio::test]
async fn p51_who_answers_the_server_may_call_it_meanwhile() {
    let script = Script::new()
        .tools([tool("ask"), tool("echo")])
        .on(call("ask"), [background([ask([request(json!("q"), "sampling/createMessage")]), text("$REPLY")])]);
    for over in Over::ALL {
        let caller: Arc<OnceLock<Client>> = Arc::default();
        let own = caller.clone();
        let handlers = Handlers::new().on("sampling/createMessage", json!({"sampling": {}}), move |_| {
            let client = own.get().unwrap().clone();
            async move { Ok(json!({"heard": client.call_tool("echo", ()).await?}).into()) }
        });
        let rig = Rig::over(over, |_| script.clone(), |builder| builder.handler(handlers));
        caller.set(rig.client.clone()).unwrap();
        assert!(rig.call("ask").await.unwrap().contains(r#""heard":"ok""#), "{over:?}");
    }
}
