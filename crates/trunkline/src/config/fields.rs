//! Reads the object of one entry: which keys it has, whether their values make sense together. The first
//! thing that makes the entry unusable is the error; what is merely odd is collected.

use std::time::Duration;

use indexmap::IndexMap;
use jsonc_parser::ast::{Object, ObjectProp, Value};

use super::auth::WrittenAuth;
use super::bounds::Bounds;
use super::check::{check_header, check_header_name, check_url, check_variable_name};
use super::duration::parse_duration;
use super::expand::Template;
use super::filter::ToolFilter;
use super::jsonc::{kind, member};
use super::keys::INSTEAD;
use crate::protocol::era::{self, Protocol};

/// An entry as it is written, checked as far as that goes without looking anything up.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    pub(crate) transport: Written,
    pub(crate) protocol: Protocol,
    pub(crate) timeout: Option<Duration>,
    pub(crate) start_timeout: Option<Duration>,
    pub(crate) max_timeout: Option<Duration>,
    pub(crate) required: bool,
    pub(crate) strict_output: bool,
    pub(crate) tools: ToolFilter,
    pub(crate) bounds: Bounds,
}

/// How the server is reached, as written.
#[derive(Debug, Clone)]
pub(crate) enum Written {
    Stdio {
        command: Template,
        args: Vec<Template>,
        env: IndexMap<String, Template>,
        cwd: Option<Template>,
        inherit_env: bool,
    },
    Http {
        kind: Option<HttpKind>,
        url: Template,
        headers: IndexMap<String, Template>,
        ca_file: Option<Template>,
        bearer_command: Vec<Template>,
        auth: Option<WrittenAuth>,
    },
}

/// Which of the two HTTP transports an entry names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpKind {
    Streamable,
    Sse,
}

impl Fields {
    /// Reads an entry.
    pub(crate) fn read(object: &Object<'_>, odd: &mut Vec<String>) -> Result<Self, String> {
        let reader = Reader { object };
        if reader.find("envFile").is_some() {
            return Err(
                "\"envFile\" isn't supported; put the variables into \"env\", as \"${NAME}\" for instance".to_owned()
            );
        }
        Ok(Self {
            transport: reader.transport(odd)?,
            protocol: reader.protocol()?,
            timeout: reader.duration("timeout", odd)?,
            start_timeout: reader.duration("startTimeout", odd)?,
            max_timeout: reader.duration("maxTimeout", odd)?,
            required: reader.flag("required")?,
            strict_output: reader.flag("strictOutput")?,
            tools: reader.tools()?,
            bounds: reader.bounds()?,
        })
    }
}

struct Reader<'a, 'b> {
    object: &'b Object<'a>,
}

impl<'a, 'b> Reader<'a, 'b> {
    /// The value of a key; `null` is as good as nothing.
    fn find(&self, key: &str) -> Option<&'b Value<'a>> {
        member(self.object, key).map(|found| &found.value).filter(|value| !matches!(value, Value::NullKeyword(_)))
    }

    fn transport(&self, odd: &mut Vec<String>) -> Result<Written, String> {
        let (command, url) = (self.find("command"), self.find("url"));
        let http = self.check_type(command.is_some(), url.is_some())?;
        match (command, url) {
            (Some(_), Some(_)) => {
                Err("it has both \"command\" and \"url\"; keep the one that the server is reached by".to_owned())
            }
            (None, None) => Err(format!("it has neither \"command\" nor \"url\"{}", self.instead())),
            (Some(command), None) => self.stdio(command, odd),
            (None, Some(url)) => self.http(url, http, odd),
        }
    }

    /// For an entry without command or URL: the key that another program would take for it.
    fn instead(&self) -> String {
        let foreign = INSTEAD.iter().find(|(theirs, ours)| *ours == "url" && self.find(theirs).is_some());
        foreign.map(|(theirs, _)| format!("; what it has in \"{theirs}\" belongs into \"url\"")).unwrap_or_default()
    }

    /// Checks `type` against the rest; which HTTP transport it names, if it does.
    fn check_type(&self, has_command: bool, has_url: bool) -> Result<Option<HttpKind>, String> {
        let key = if self.find("type").is_some() { "type" } else { "transport" };
        let Some(value) = self.find(key) else { return Ok(None) };
        let Value::StringLit(text) = value else {
            return Err(format!("\"{key}\" has to be text, not {}", kind(value)));
        };
        let plain: String = text.value.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).collect();
        let http = match plain.to_ascii_lowercase().as_str() {
            "stdio" => None,
            "http" | "streamablehttp" => Some(HttpKind::Streamable),
            "sse" => Some(HttpKind::Sse),
            _ => {
                let shown: String = text.value.chars().take(40).collect();
                return Err(format!("\"{key}\" is {shown:?}, which is none of \"stdio\", \"http\", \"sse\""));
            }
        };
        match (http.is_some(), has_command, has_url) {
            (true, true, false) => {
                Err(format!("its {key} \"{}\" needs a \"url\", but it has a \"command\"", text.value))
            }
            (false, false, true) => {
                Err(format!("its {key} \"{}\" needs a \"command\", but it has a \"url\"", text.value))
            }
            (true, false, false) => Err(format!("its {key} \"{}\" needs a \"url\"{}", text.value, self.instead())),
            _ => Ok(http),
        }
    }

    fn stdio(&self, command: &Value<'_>, odd: &mut Vec<String>) -> Result<Written, String> {
        if let Value::Array(_) = command {
            return Err(
                "\"command\" has to be text, not a list; put the program into \"command\" and the rest into \"args\""
                    .to_owned(),
            );
        }
        for key in ["headers", "caFile", "bearerCommand", "auth"] {
            if let Some(value) = self.find(key) {
                odd.push(format!("\"{key}\" ({}) has no effect beside \"command\"", kind(value)));
            }
        }
        let command = template("command", command)?;
        if command.written().trim().is_empty() {
            return Err("\"command\" is empty".to_owned());
        }
        let args = self.list("args")?;
        let mut words = command.written().split_whitespace();
        let first = words.next().unwrap_or_default();
        if args.is_empty() && words.next().is_some() && !first.contains(['/', '\\', '$']) {
            odd.push(format!("\"command\" holds more than a program; what follows \"{first}\" belongs into \"args\""));
        }
        let cwd = self.find("cwd").map(|value| template("cwd", value)).transpose()?;
        Ok(Written::Stdio { command, args, env: self.env()?, cwd, inherit_env: self.flag("inheritEnv")? })
    }

    fn list(&self, key: &str) -> Result<Vec<Template>, String> {
        match self.find(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => {
                list.elements.iter().enumerate().map(|(at, item)| template(&format!("{key}[{at}]"), item)).collect()
            }
            Some(other) => {
                Err(format!("\"{key}\" has to be a list, not {}; write [\"first\", \"second\"]", kind(other)))
            }
        }
    }

    fn env(&self) -> Result<IndexMap<String, Template>, String> {
        let env = self.texts("env")?;
        env.keys().try_for_each(|name| check_variable_name(name))?;
        Ok(env)
    }

    fn http(&self, url: &Value<'_>, kind: Option<HttpKind>, odd: &mut Vec<String>) -> Result<Written, String> {
        for key in ["args", "env", "cwd", "inheritEnv"] {
            if self.find(key).is_some() {
                odd.push(format!("\"{key}\" has no effect beside \"url\""));
            }
        }
        let url = template("url", url)?;
        if url.is_plain() {
            check_url(&url.literal())?;
        }
        let headers = self.texts("headers")?;
        for (name, value) in &headers {
            check_header_name(name)?;
            check_header(name, &value.literal())?;
        }
        let ca_file = self.find("caFile").map(|value| template("caFile", value)).transpose()?;
        let auth = self.find("auth").map(|value| WrittenAuth::read(value, odd)).transpose()?;
        Ok(Written::Http { kind, url, headers, ca_file, bearer_command: self.list("bearerCommand")?, auth })
    }

    fn texts(&self, key: &str) -> Result<IndexMap<String, Template>, String> {
        let object = match self.find(key) {
            None => return Ok(IndexMap::new()),
            Some(Value::Object(object)) => object,
            Some(other) => {
                return Err(format!(
                    "\"{key}\" has to be an object, not {}; write {{\"NAME\": \"value\"}}",
                    kind(other)
                ));
            }
        };
        let pair = |found: &ObjectProp<'_>| {
            let name = found.name.as_str();
            Ok((name.to_owned(), template(&format!("{key}.{name}"), &found.value)?))
        };
        object.properties.iter().map(pair).collect()
    }

    fn flag(&self, key: &str) -> Result<bool, String> {
        match self.find(key) {
            None => Ok(false),
            Some(Value::BooleanLit(flag)) => Ok(flag.value),
            Some(other) => Err(format!("\"{key}\" has to be true or false, not {}", kind(other))),
        }
    }

    fn duration(&self, key: &str, odd: &mut Vec<String>) -> Result<Option<Duration>, String> {
        let (text, bare) = match self.find(key) {
            None => return Ok(None),
            Some(Value::NumberLit(number)) => (plain_number(number.value), true),
            Some(Value::StringLit(text)) => (text.value.to_string(), text.value.parse::<f64>().is_ok()),
            Some(other) => return Err(format!("\"{key}\" has to be a number of seconds, not {}", kind(other))),
        };
        let duration = parse_duration(&text).map_err(|why| format!("\"{key}\": {why}"))?;
        if bare && duration > Duration::from_secs(3600) {
            odd.push(format!("\"{key}\" is {text} seconds; milliseconds? Then write \"{text}ms\""));
        }
        Ok(Some(duration))
    }

    fn protocol(&self) -> Result<Protocol, String> {
        let protocol = match self.find("protocol") {
            None => return Ok(Protocol::Auto),
            Some(Value::StringLit(text)) => text.value.parse().ok(),
            Some(_) => None,
        };
        let known = era::known();
        protocol.ok_or_else(|| {
            format!(
                "\"protocol\" has to be \"auto\", \"legacy\", \"modern\" or a revision this client speaks ({known})"
            )
        })
    }

    fn bounds(&self) -> Result<Bounds, String> {
        match self.find("limits") {
            None => Ok(Bounds::default()),
            Some(Value::Object(object)) => Bounds::read(object),
            Some(other) => Err(format!("\"limits\" has to be an object, not {}", kind(other))),
        }
    }

    /// `{"allow": […], "deny": […]}`; a bare list allows.
    fn tools(&self) -> Result<ToolFilter, String> {
        let (allow, deny) = match self.find("tools") {
            None => return Ok(ToolFilter::default()),
            Some(value @ Value::Array(_)) => (patterns("tools", Some(value))?, Vec::new()),
            Some(Value::Object(object)) => {
                if let Some(other) =
                    object.properties.iter().find(|found| !matches!(found.name.as_str(), "allow" | "deny"))
                {
                    return Err(format!(
                        "\"tools.{}\" is no known key; there are \"tools.allow\" and \"tools.deny\"",
                        other.name.as_str()
                    ));
                }
                let tools = Reader { object };
                (patterns("tools.allow", tools.find("allow"))?, patterns("tools.deny", tools.find("deny"))?)
            }
            Some(other) => {
                return Err(format!("\"tools\" has to be an object with \"allow\" or \"deny\", not {}", kind(other)));
            }
        };
        ToolFilter::new(allow, deny).map_err(|why| format!("\"tools\": {why}"))
    }
}

fn patterns(field: &str, value: Option<&Value<'_>>) -> Result<Vec<String>, String> {
    let one = |value: &Value<'_>| match value {
        Value::StringLit(text) => Ok(text.value.to_string()),
        other => Err(format!("\"{field}\" has to be a list of patterns, but holds {}", kind(other))),
    };
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(list)) => list.elements.iter().map(one).collect(),
        Some(value) => one(value).map(|pattern| vec![pattern]),
    }
}

/// Text of an entry. A number or a flag is taken as it is written, since `"PORT": 8080` is clear enough.
pub(super) fn template(field: &str, value: &Value<'_>) -> Result<Template, String> {
    let text = match value {
        Value::StringLit(text) => text.value.as_ref(),
        Value::NumberLit(number) if field.contains(['.', '[']) => number.value,
        Value::BooleanLit(flag) if field.contains(['.', '[']) => {
            if flag.value {
                "true"
            } else {
                "false"
            }
        }
        other => return Err(format!("\"{field}\" has to be text, not {}", kind(other))),
    };
    if text.contains('\0') {
        return Err(format!("\"{field}\" holds a NUL character"));
    }
    Template::parse(text).map_err(|why| format!("\"{field}\": {why}"))
}

/// A JSON number without exponent, as far as one can be written that way.
fn plain_number(written: &str) -> String {
    match written.parse::<f64>() {
        Ok(number) if written.contains(['e', 'E']) => number.to_string(),
        _ => written.to_owned(),
    }
}
