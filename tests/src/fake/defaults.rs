//! What the fake answers where no rule does: an ordinary server of the era the script names.

use serde_json::{Value, json};

use super::expand::quoted;
use super::lock;
use super::message::Message;
use super::server::Server;
use crate::json::Json;
use crate::script::Eras;

const MODERN: &str = "2026-07-28";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
    ("prompts/list", "prompts"),
];

pub(crate) enum Answer {
    /// The members of a result, without its braces.
    Result(String),
    Error {
        code: i64,
        message: String,
        data: Option<Json>,
    },
    /// A notification that needs none.
    Nothing,
    Unknown,
}

use Answer::{Nothing, Result, Unknown};

pub(crate) fn answer(server: &Server, message: &Message) -> Answer {
    if let Some(refusal) = refuse_era(server, message) {
        return refusal;
    }
    let known_notification = matches!(
        message.method.strip_prefix("notifications/"),
        Some("initialized" | "cancelled" | "progress" | "roots/list_changed")
    );
    match message.method.as_str() {
        _ if known_notification => Nothing,
        "initialize" => Result(initialize(server, message)),
        "server/discover" if server.script.eras != Eras::Legacy => Result(discover(server)),
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => Result(String::new()),
        "tools/call" => call(server, message),
        "resources/read" => read(server, message),
        "prompts/get" => prompt(server, message),
        method => match LISTS.iter().find(|(list, _)| *list == method) {
            Some((_, member)) => list(server, message, member),
            None => Unknown,
        },
    }
}

/// Members that every result of the modern era has, to be put before these.
pub(crate) fn modern_members(message: &Message, members: String) -> String {
    if asked_version(message).as_deref() != Some(MODERN) {
        return members;
    }
    let cached = message.method.ends_with("/list") || matches!(&*message.method, "resources/read" | "server/discover");
    let cache = if cached { r#""ttlMs":0,"cacheScope":"private""# } else { "" };
    join([r#""resultType":"complete""#, cache, &members])
}

fn asked_version(message: &Message) -> Option<String> {
    message.meta(VERSION_KEY)?.string()
}

fn refuse_era(server: &Server, message: &Message) -> Option<Answer> {
    let eras = server.script.eras;
    if eras == Eras::Legacy || message.id.is_none() {
        return None;
    }
    let asked = match message.method.as_str() {
        "initialize" if eras == Eras::Both => return None,
        "initialize" => message.member("protocolVersion").and_then(Json::string),
        _ => asked_version(message),
    };
    match asked {
        Some(version) if version == MODERN && message.method != "initialize" => None,
        None if eras == Eras::Both => None,
        None if message.method != "initialize" => Some(error(-32602, &format!("_meta has no {VERSION_KEY}"))),
        requested => {
            let data = json!({"supported": [MODERN], "requested": requested});
            Some(Answer::Error {
                code: -32022,
                message: "Unsupported protocol version".to_owned(),
                data: Some(data.into()),
            })
        }
    }
}

fn initialize(server: &Server, message: &Message) -> String {
    let script = &server.script;
    let asked = || message.member("protocolVersion").and_then(Json::string).unwrap_or_default();
    let version = script.version.clone().unwrap_or_else(asked);
    join([
        &format!(r#""protocolVersion":{}"#, quoted(&version)),
        &format!(r#""capabilities":{}"#, capabilities(server)),
        &format!(r#""serverInfo":{}"#, server_info(server)),
        &instructions(server),
    ])
}

fn discover(server: &Server) -> String {
    join([
        &format!(r#""supportedVersions":["{MODERN}"]"#),
        &format!(r#""capabilities":{}"#, capabilities(server)),
        &instructions(server),
        &format!(r#""_meta":{{"io.modelcontextprotocol/serverInfo":{}}}"#, server_info(server)),
    ])
}

fn capabilities(server: &Server) -> String {
    if let Some(given) = &server.script.capabilities {
        return given.text().to_owned();
    }
    let mut capabilities = json!({});
    for method in server.script.lists.keys() {
        let kind = method.split('/').next().unwrap_or_default();
        capabilities[kind] = json!({});
    }
    capabilities.to_string()
}

fn server_info(server: &Server) -> String {
    let given = server.script.server_info.as_ref();
    given.map_or_else(|| json!({"name": "fake", "version": "1"}).to_string(), |info| info.text().to_owned())
}

fn instructions(server: &Server) -> String {
    server.script.instructions.as_ref().map_or_else(String::new, |text| format!(r#""instructions":{}"#, quoted(text)))
}

fn list(server: &Server, message: &Message, member: &str) -> Answer {
    let lists = lock(&server.lists);
    let Some(pages) = lists.get(&message.method) else { return Unknown };
    let cursor = message.cursor();
    let Some(at) = pages.iter().position(|page| page.cursor == cursor) else {
        return error(-32602, &format!("Unknown cursor: {}", cursor.unwrap_or_default()));
    };
    let items: Vec<&str> = pages[at].items.iter().map(Json::text).collect();
    let next = pages.get(at + 1).and_then(|page| page.cursor.as_deref());
    let next = next.map_or_else(String::new, |cursor| format!(r#""nextCursor":{}"#, quoted(cursor)));
    Result(join([&format!(r#""{member}":[{}]"#, items.join(",")), &next]))
}

fn call(server: &Server, message: &Message) -> Answer {
    if offers(server, "tools/list", "name", message) {
        Result(text_content("\"ok\""))
    } else {
        error(-32602, &format!("Unknown tool: {}", message.name().unwrap_or_default()))
    }
}

fn read(server: &Server, message: &Message) -> Answer {
    let uri = message.name().unwrap_or_default();
    if offers(server, "resources/list", "uri", message) {
        Result(format!(r#""contents":[{{"uri":{},"mimeType":"text/plain","text":"ok"}}]"#, quoted(&uri)))
    } else {
        error(-32002, &format!("Resource not found: {uri}"))
    }
}

fn prompt(server: &Server, message: &Message) -> Answer {
    if offers(server, "prompts/list", "name", message) {
        Result(r#""messages":[{"role":"user","content":{"type":"text","text":"ok"}}]"#.to_owned())
    } else {
        error(-32602, &format!("Unknown prompt: {}", message.name().unwrap_or_default()))
    }
}

fn offers(server: &Server, method: &str, key: &str, message: &Message) -> bool {
    let lists = lock(&server.lists);
    let mut items = lists.get(method).into_iter().flatten().flat_map(|page| &page.items);
    let name = message.name();
    items.any(|item| {
        let item: Option<Value> = serde_json::from_str(item.text()).ok();
        item.is_some_and(|item| name.is_some() && item[key].as_str() == name.as_deref())
    })
}

/// The members of a result with one text block; the text is a JSON string already.
pub(crate) fn text_content(quoted: &str) -> String {
    format!(r#""content":[{{"type":"text","text":{quoted}}}]"#)
}

fn error(code: i64, message: &str) -> Answer {
    Answer::Error { code, message: message.to_owned(), data: None }
}

fn join<const N: usize>(members: [&str; N]) -> String {
    members.into_iter().filter(|member| !member.is_empty()).collect::<Vec<_>>().join(",")
}
