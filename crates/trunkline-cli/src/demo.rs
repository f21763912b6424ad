//! The built-in server `demo`: a handful of tools, resources and prompts that show every kind of result. It is a real
//! server in a process of its own, served over standard input and output.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use trunkline::{
    CallContext, ContentBlock, Json, Progress, PromptArgument, ResourceContents, StaticResource, StaticServer,
    ToolResult, tool,
};

/// A small black cross on white, 32 pixels wide.
const LOGO: &[u8] = b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x20\x00\x00\x00\x20\
    \x01\x00\x00\x00\x00\x5b\x01\x47\x59\x00\x00\x00\x14\x49\x44\x41\x54\x78\xda\x63\xf8\xff\x43\xfe\
    \x3f\x03\x25\x04\x7e\x40\xa9\xf1\x00\x17\xbc\x50\x23\xa4\x9b\x81\x9b\x00\x00\x00\x00\x49\x45\x4e\
    \x44\xae\x42\x60\x82";

/// Serves until the standard input ends.
pub(crate) async fn serve() -> trunkline::Result<()> {
    trunkline::serve_stdio(server()).await
}

fn server() -> StaticServer {
    StaticServer::new()
        .name("trunkline-demo")
        .version(env!("CARGO_PKG_VERSION"))
        .instructions("Tools, resources and prompts to try trunkline with. Nothing here changes anything.")
        .tool(echo_tool())
        .tool(add_tool())
        .tool(join_tool())
        .tool(weather_tool().output_schema::<Weather>())
        .tool(picture_tool())
        .tool(sound_tool())
        .tool(document_tool())
        .tool(slow_tool())
        .tool(fail_tool())
        .resource("demo://readme", StaticResource::from(README).mime_type("text/markdown").description("What this is."))
        .resource("demo://logo", StaticResource::from(LOGO).mime_type("image/png").description("A picture."))
        .template("demo://square/{n}", |uri| {
            let n: u64 = uri.strip_prefix("demo://square/")?.parse().ok()?;
            Some(n.checked_mul(n)?.to_string())
        })
        .prompt("greet", "Greet {name} warmly, in one sentence.")
        .prompt_fn("review", [PromptArgument::new("code", true), PromptArgument::new("language", false)], |arguments| {
            let text = |name: &str| arguments.get(name).and_then(|value| value.as_text());
            let language = text("language").map(|language| format!(" {language}")).unwrap_or_default();
            format!("Review this{language} code:\n\n{}", text("code").unwrap_or_default())
        })
}

const README: &str = "\
# The demo server

It comes with trunkline, so that there is something to list, call, read and prompt before any server is set up.
";

/// Says the text back.
#[tool(read_only)]
fn echo(
    /// What to say.
    text: &str,
    /// How often.
    #[tool(default = 1)]
    times: u32,
) -> String {
    vec![text; times.min(1000) as usize].join("\n")
}

/// Adds two numbers.
#[tool(read_only)]
fn add(
    /// The first number.
    a: i64,
    /// The second number.
    b: i64,
) -> i64 {
    a.saturating_add(b)
}

/// Joins words.
#[tool(read_only)]
fn join(
    /// The words, in their order.
    words: Vec<String>,
    /// What goes between them.
    #[tool(default = " ".to_owned())]
    separator: String,
) -> String {
    words.join(&separator)
}

#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Unit {
    Celsius,
    Fahrenheit,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Weather {
    city: String,
    temperature: f64,
    unit: &'static str,
    sky: &'static str,
}

/// Tells the weather of a city: always the same, as structured data.
#[tool(read_only)]
fn weather(
    /// Which city.
    city: String,
    /// In which unit; degrees Celsius where it isn't given.
    unit: Option<Unit>,
) -> Json<Weather> {
    let (temperature, unit) = match unit {
        Some(Unit::Fahrenheit) => (69.8, "fahrenheit"),
        Some(Unit::Celsius) | None => (21.0, "celsius"),
    };
    Json(Weather { city, temperature, unit, sky: "clear" })
}

/// Shows a picture: an image beside a line of text.
#[tool(read_only)]
fn picture() -> Vec<ContentBlock> {
    vec![ContentBlock::text_block("A cross, 32 pixels wide."), ContentBlock::image(LOGO, "image/png")]
}

/// Plays a short tone.
#[tool(read_only)]
fn sound() -> Vec<ContentBlock> {
    vec![ContentBlock::audio(&tone(), "audio/wav")]
}

/// Hands over a document: an embedded resource and a link to another.
#[tool(read_only)]
fn document() -> Vec<ContentBlock> {
    let contents = ResourceContents::from_text("demo://readme", README).with_mime_type("text/markdown");
    let link = serde_json::json!({"type": "resource_link", "uri": "demo://logo", "name": "logo"});
    vec![ContentBlock::resource(&contents), ContentBlock::from_raw(link.into())]
}

/// Takes its time and reports progress.
#[tool(read_only)]
async fn slow(
    /// How long it takes, in seconds.
    #[tool(default = 2.0)]
    seconds: f64,
    /// How many reports it makes.
    #[tool(default = 4)]
    steps: u32,
    cx: &CallContext,
) -> Result<String, String> {
    if !(0.0..=600.0).contains(&seconds) || !(1..=1000).contains(&steps) {
        return Err("seconds has to be from 0 to 600, and steps from 1 to 1000".to_owned());
    }
    for step in 1..=steps {
        tokio::time::sleep(Duration::from_secs_f64(seconds / f64::from(steps))).await;
        let message = Some(format!("step {step} of {steps}"));
        cx.report_progress(&Progress::new(f64::from(step), Some(f64::from(steps)), message));
    }
    Ok(format!("done after {seconds} s"))
}

/// Fails, as a tool does that can't do what it was asked.
#[tool(read_only)]
fn fail(
    /// What it says.
    #[tool(default = "this tool always fails".to_owned())]
    message: String,
) -> ToolResult {
    ToolResult::error(message)
}

/// A quarter of a second of 440 Hz as a WAV file: 8 kHz, 8 bits, mono.
fn tone() -> Vec<u8> {
    const RATE: u32 = 8000;
    let samples = (0..RATE / 4).map(|at| {
        let phase = f64::from(at) / f64::from(RATE) * 440.0 * std::f64::consts::TAU;
        (128.0 + 60.0 * phase.sin()) as u8
    });
    let mut wav = b"RIFF".to_vec();
    wav.extend((36 + RATE / 4).to_le_bytes());
    wav.extend(b"WAVEfmt ");
    wav.extend(16u32.to_le_bytes());
    wav.extend([1, 0, 1, 0]); // PCM, one channel
    wav.extend(RATE.to_le_bytes());
    wav.extend(RATE.to_le_bytes()); // bytes a second
    wav.extend([1, 0, 8, 0]); // one byte a sample
    wav.extend(b"data");
    wav.extend((RATE / 4).to_le_bytes());
    wav.extend(samples);
    wav
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_put_together_rightly() {
        server().check().unwrap();
    }

    #[test]
    fn the_files_are_what_they_say() {
        assert!(LOGO.starts_with(b"\x89PNG"));
        let wav = tone();
        assert_eq!(wav.len(), 44 + 2000);
        assert_eq!(u32::from_le_bytes(wav[4..8].try_into().unwrap()) as usize, wav.len() - 8);
    }
}
