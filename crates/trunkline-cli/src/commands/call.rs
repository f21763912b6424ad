//! `trunkline call`: finds the tool, types the arguments by its schema, calls it and shows what comes back.

use std::path::Path;

use trunkline::{Error, ToolResult};

use crate::address::{self, Found};
use crate::args;
use crate::exit::{Exit, Failure, Outcome};
use crate::progress::Spinner;
use crate::render::content::{self, Sink};
use crate::render::{DIM, Screen, escape};
use crate::servers::Servers;
use crate::shape::Shape;
use crate::signature::Signature;
use crate::values::Given;

pub(crate) struct Call {
    args: args::Call,
    given: Given,
}

impl Call {
    pub(crate) fn new(args: args::Call) -> Outcome<Self> {
        let given = Given::read(&args.arguments, args.args.as_deref())?;
        Ok(Self { args, given })
    }

    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        let spinner = Spinner::start(screen, "connecting").telling(servers);
        let Found { client, tool } = address::tool(servers, &self.args.tool, screen).await?;
        let address = format!("{}.{}", client.label(), tool.name());
        let typed = self.given.typed(&Shape::new(tool.input_schema()));
        let typed = typed.and_then(|arguments| match tool.check_arguments(&arguments) {
            Ok(()) => Ok(arguments),
            // the signature says what there is; the hint would only say it again
            Err(error) => Err(Error::new(error.kind(), error.message()).into()),
        });
        let arguments = typed.map_err(|failure| {
            let signature = Signature::of_tool(trunkline::Tool::definition(&tool)).plain();
            failure.with_exit(Exit::Usage).context("usage", format!("{}.{signature}", client.label()))
        })?;
        spinner.say(escape::line(&address));
        let mut call = client.call(tool.wire_name(), arguments);
        if let Some(sink) = spinner.progress_sink(&escape::line(&address)) {
            call = call.on_progress(sink);
        }
        if self.args.detach {
            call = call.detached();
        }
        let result = call.await?;
        drop(spinner);
        if let Some(task) = result.task().filter(|_| !screen.json) {
            screen.print(&task.id())?;
            let label = escape::line(client.label());
            screen.note(&format!(
                "The server goes on with it: trunkline task {label} {} --wait",
                escape::line(&task.id())
            ));
            return Ok(Exit::Done);
        }
        let shown = Shown { raw: self.args.raw, output: self.args.output.as_deref() };
        shown.show(&result, &address, screen)
    }
}

/// How a result is shown.
pub(super) struct Shown<'a> {
    pub(super) raw: bool,
    /// The directory for what is no text.
    pub(super) output: Option<&'a Path>,
}

impl Shown<'_> {
    pub(super) fn show(&self, result: &ToolResult, address: &str, screen: &Screen) -> Outcome<Exit> {
        let exit = if result.is_error() { Exit::ToolError } else { Exit::Done };
        if let Some(why) = result.schema_mismatch() {
            let told = format!("warning: the result of {address} doesn't fit its outputSchema: {why}");
            screen.note(&escape::line(&told));
        }
        let sink = Sink { dir: self.output, option: "use -o DIR" };
        if self.raw || screen.json {
            if sink.dir.is_some() {
                content::result(result, screen, sink)?; // for the files
            }
            screen.print_exact(result.raw().as_bytes())?;
            return Ok(exit);
        }
        let text = content::result(result, screen, sink)?;
        if exit == Exit::Done {
            screen.print(&text)?;
            if text.is_empty() && screen.out_is_terminal() {
                screen.note("(the tool returned nothing)");
            }
            return Ok(exit);
        }
        let said = if text.trim().is_empty() { "it did not say which".to_owned() } else { text };
        let head = crate::render::paint(crate::render::RED, "error");
        let told = match result.structured().filter(|_| !result.content().is_empty()) {
            Some(data) => format!("\n  {} {}", crate::render::paint(DIM, "data     "), escape::json(&data.to_string())),
            None => String::new(),
        };
        screen.report(&format!("{head}: the tool {} reported an error: {said}{told}", escape::line(address)));
        Err(Failure::told(exit))
    }
}
