//! What a person sees of a conversation: the model's text on standard output as it comes, the calls on standard error
//! as they happen, a spinner meanwhile.

use std::cell::RefCell;
use std::io::Write as _;
use std::time::Duration;

use trunkline::format::ToolCall;
use trunkline::{CallContext, RawJson, ToolResult};

use super::endpoint::Listener;
use super::mask::Mask;
use super::talk::Called;
use crate::exit::Outcome;
use crate::progress::Spinner;
use crate::render::{CYAN, DIM, GREEN, RED, Screen, YELLOW, escape, paint};

/// How much is shown of all arguments, and of what came of a call.
const LONGEST: usize = 160;

/// How much of one argument.
const LONGEST_VALUE: usize = 60;

/// How much of the arguments a person is shown who has to decide.
const LONGEST_QUESTION: usize = 4000;

pub(crate) struct View<'a> {
    screen: &'a Screen,
    mask: Mask,
    spinner: RefCell<Option<Spinner>>,
    /// The text of this step that was printed ends within a line.
    within_line: bool,
    /// A line end that may be the first half of one.
    carriage: bool,
}

impl<'a> View<'a> {
    pub(crate) fn new(screen: &'a Screen, mask: Mask) -> Self {
        Self { screen, mask, spinner: RefCell::default(), within_line: false, carriage: false }
    }

    /// Something is waited for.
    pub(crate) fn waits_for(&self, what: &str) {
        *self.spinner.borrow_mut() = Some(Spinner::start(self.screen, escape::line(what)));
    }

    /// Nothing is waited for any more.
    pub(crate) fn rests(&self) {
        *self.spinner.borrow_mut() = None;
    }

    fn note(&self, text: &str) {
        match &*self.spinner.borrow() {
            Some(spinner) => spinner.aside(|| self.screen.note(text)),
            None => self.screen.note(text),
        }
    }

    /// Whether the model's text is printed as it comes.
    fn streams(&self) -> bool {
        !self.screen.json && !self.screen.quiet
    }

    /// The model has said what it had to say in this step.
    pub(crate) fn said(&mut self) -> Outcome {
        self.rests();
        if std::mem::take(&mut self.within_line) {
            self.write("\n")?;
        }
        self.carriage = false;
        Ok(())
    }

    /// The conversation is over: `answer` is printed where it wasn't yet.
    pub(crate) fn answer(&self, answer: &str) -> Outcome {
        if self.screen.quiet && !self.screen.json && !answer.is_empty() {
            self.screen.print(&escape::text(answer))?;
        }
        if answer.trim().is_empty() {
            self.note("(the model said nothing)");
        }
        Ok(())
    }

    /// A call is being made.
    pub(crate) fn calls(&self, address: &str, call: &ToolCall) {
        let arguments = self.arguments(call, LONGEST, LONGEST_VALUE);
        self.note(&format!("{} {}{arguments}", paint(CYAN, "->"), escape::line(address)));
    }

    /// What came of a call.
    pub(crate) fn called(&self, called: &Called) {
        let text = called.outcome.as_ref().map_or_else(|error| error.message().to_owned(), ToolResult::text);
        let text = short(self.mask.text(text.trim()).trim(), LONGEST); // masked before it is cut
        let (colour, word) = match () {
            () if called.refused => (YELLOW, "refused: "),
            () if called.is_error() => (RED, "failed: "),
            () => (GREEN, ""),
        };
        let shown = if text.is_empty() { "(nothing)" } else { &text };
        let took = paint(DIM, format!("({})", time(called.took)));
        let address = escape::line(&called.tool.address);
        self.note(&format!("{} {address}: {}{shown} {took}", paint(CYAN, "<-"), paint(colour, word)));
    }

    /// The question whether a call may be made; nothing moves while it is open.
    pub(crate) fn question(&self, address: &str, call: &ToolCall) -> String {
        self.rests();
        let arguments = self.arguments(call, LONGEST_QUESTION, LONGEST_QUESTION);
        format!("{} {}{arguments}", paint(YELLOW, "Call"), escape::line(address))
    }

    /// The arguments of a call as they would stand in its signature.
    fn arguments(&self, call: &ToolCall, longest: usize, longest_value: usize) -> String {
        let Ok(arguments) = call.arguments() else { return "(?)".to_owned() };
        let members: Vec<_> = self.mask.json(arguments.raw()).members().collect();
        let one = |(name, value): &(String, RawJson)| format!("{name}: {}", short(&value.to_string(), longest_value));
        let all = members.iter().map(one).collect::<Vec<_>>().join(", ");
        format!("({})", short(&all, longest))
    }

    /// What a call is made with.
    pub(crate) fn context(&self, address: &str) -> CallContext {
        let sink = self.spinner.borrow().as_ref().and_then(|spinner| spinner.progress_sink(&escape::line(address)));
        match sink {
            Some(sink) => CallContext::new().on_progress(sink),
            None => CallContext::new(),
        }
    }

    fn write(&self, text: &str) -> Outcome {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(())
    }
}

impl Listener for View<'_> {
    fn text(&mut self, piece: &str) -> Outcome {
        if piece.is_empty() || !self.streams() {
            return Ok(());
        }
        self.rests();
        let joined = if std::mem::take(&mut self.carriage) { format!("\r{piece}") } else { piece.to_owned() };
        let text = joined.strip_suffix('\r').unwrap_or(&joined);
        self.carriage = text.len() < joined.len();
        self.within_line = !text.ends_with('\n');
        self.write(&escape::text(text))
    }

    fn again(&mut self, why: &str, pause: Duration) {
        self.note(&format!("note: {}; trying again in {}", escape::line(why), time(pause)));
    }
}

/// The start of a text in one line.
fn short(text: &str, longest: usize) -> String {
    let start: String = text.chars().take(longest + 1).collect();
    let line = escape::line(&start);
    match line.char_indices().nth(longest) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
}

fn time(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}
