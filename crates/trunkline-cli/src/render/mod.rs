//! What a person sees: the two output streams with their colours and widths, and how things are worded there. What
//! is shown is left to `commands`.

pub(crate) mod check;
pub(crate) mod content;
pub(crate) mod entry;
pub(crate) mod error;
pub(crate) mod json;
#[cfg(any(test, fuzzing))]
pub(crate) mod laws;
pub(crate) mod list;
pub(crate) mod lock;
pub(crate) mod sarif;

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
pub(crate) use trunkline::display as escape;

use crate::args::{Color, Global};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// The text in a style. The streams drop the style where it isn't wanted.
pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    let text = text.to_string();
    if text.is_empty() { text } else { format!("{style}{text}{style:#}") }
}

/// Standard output and standard error, and what this call of the program wants on them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) verbose: u8,
    choice: anstream::ColorChoice,
}

impl Screen {
    pub(crate) fn new(global: &Global) -> Self {
        let choice = match global.color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        Self { json: global.json, quiet: global.quiet, verbose: global.verbose, choice }
    }

    /// Prints text for people on standard output, with a line end.
    pub(crate) fn print(&self, text: &str) -> io::Result<()> {
        let mut out = anstream::AutoStream::new(io::stdout(), self.choice).lock();
        out.write_all(text.as_bytes())?;
        if !text.is_empty() && !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        out.flush()
    }

    /// Prints bytes on standard output exactly as they are, with a line end.
    pub(crate) fn print_exact(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        if !bytes.ends_with(b"\n") {
            out.write_all(b"\n")?;
        }
        out.flush()
    }

    /// Something to know beside the result, on standard error.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.report(text);
        }
    }

    /// Something that has to be known, on standard error. A standard error that is closed can't be helped.
    pub(crate) fn report(&self, text: &str) {
        let mut err = anstream::AutoStream::new(io::stderr(), self.choice).lock();
        let _ = writeln!(err, "{}", text.trim_end());
    }

    /// The beginning of a line on standard error, whose rest the person types.
    pub(crate) fn prompt(&self, text: &str) {
        let mut err = anstream::AutoStream::new(io::stderr(), self.choice).lock();
        let _ = write!(err, "{text}").and_then(|()| err.flush()); // without a stream there is no answer either
    }

    pub(crate) fn out_is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Whether somebody watches: a spinner makes sense.
    pub(crate) fn is_watched(&self) -> bool {
        !self.quiet && !self.json && self.verbose == 0 && io::stderr().is_terminal()
    }

    /// How many columns lines should keep to.
    pub(crate) fn width(&self) -> usize {
        match terminal_size::terminal_size_of(io::stdout()) {
            Some((width, _)) => usize::from(width.0).clamp(40, 120),
            None => 100,
        }
    }
}
