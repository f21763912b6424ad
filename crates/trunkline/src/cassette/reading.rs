//! From the lines of a cassette to its calls in the order in which they began, server by server.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use indexmap::IndexMap;

use super::line::Line;
use super::note::Note;
use super::reel::{Reel, Scene};
use crate::connection::EventKind;
use crate::error::{Error, Result};
use crate::protocol::RawJson;

/// Puts a cassette together; what was put up with is told beside.
pub(super) fn assemble(path: &Arc<Path>, text: &Bytes) -> Result<(IndexMap<String, Reel>, Option<String>)> {
    let lines = lines(text);
    check_first(path, text, lines.first())?;
    let mut servers: IndexMap<String, Assembly> = IndexMap::new();
    let mut warning = None;
    for (at, (number, place)) in lines.iter().enumerate() {
        match read(text, place) {
            Ok(Line::Header(known)) => {
                servers.values_mut().for_each(Assembly::begin_again);
                for server in known {
                    servers.entry(server.clone()).or_insert_with(|| Assembly::new(&server, path));
                }
            }
            Ok(line) => {
                let server = server_of(&line).to_owned();
                servers.entry(server.clone()).or_insert_with(|| Assembly::new(&server, path)).take(*number, line);
            }
            Err(why) if at + 1 == lines.len() => {
                let told = format!("{}:{number}: the last line is cut off and was left out ({why})", path.display());
                tracing::warn!("{told}");
                warning = Some(told);
            }
            Err(why) => return Err(broken(path, *number, &why)),
        }
    }
    servers.retain(|_, assembly| assembly.is_used);
    Ok((servers.into_iter().map(|(server, assembly)| (server, assembly.reel())).collect(), warning))
}

/// How much of a file can be kept to record behind it, and whether its last line has no end yet.
pub(super) fn end_of(path: &Path, text: &[u8]) -> Result<(usize, bool)> {
    let text = Bytes::copy_from_slice(text);
    let lines = lines(&text);
    let Some((_, last)) = lines.last() else { return Ok((0, false)) };
    let is_torn = read(&text, last).is_err();
    if is_torn && lines.len() == 1 && is_start_of_header(&text[last.clone()]) {
        return Ok((0, false)); // the end came with the first line
    }
    check_first(path, &text, lines.first())?;
    Ok(if is_torn { (last.start, false) } else { (text.len(), !text.ends_with(b"\n")) })
}

fn is_start_of_header(text: &[u8]) -> bool {
    let start = Line::Header(Vec::new()).write();
    let same = text.iter().zip(start.as_bytes()).take_while(|(a, b)| a == b).count();
    same == text.len() || same + 2 == start.as_bytes().len() // the servers follow
}

/// The lines that aren't blank, with their numbers from 1.
fn lines(text: &[u8]) -> Vec<(usize, Range<usize>)> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if !line.trim_ascii().is_empty() {
            found.push((at + 1, start..start + line.len()));
        }
        start += line.len() + 1;
    }
    found
}

fn read(text: &Bytes, place: &Range<usize>) -> Result<Line, String> {
    let line = RawJson::parse(text.slice(place.clone())).map_err(|error| lower(error.message()))?;
    Line::read(&line)
}

fn lower(message: &str) -> String {
    message.replacen("Not", "not", 1)
}

fn check_first(path: &Path, text: &Bytes, first: Option<&(usize, Range<usize>)>) -> Result<()> {
    let why = match first.map(|(_, place)| read(text, place)) {
        Some(Ok(Line::Header(_))) => return Ok(()),
        Some(Err(why)) if why.starts_with("its format") => why,
        Some(_) => "its first line has no \"cassette\"".to_owned(),
        None => "it is empty".to_owned(),
    };
    Err(Error::config(format!("{} is no cassette that can be used: {why}", path.display())))
}

fn broken(path: &Path, number: usize, why: &str) -> Error {
    let place = format!("{}:{number}", path.display());
    Error::config(format!("The cassette is broken in {place}: {why}"))
        .with_hint("Mend or remove that line, or record the cassette again")
        .with_context("cassette", place)
}

fn server_of(line: &Line) -> &str {
    match line {
        Line::Header(_) => "",
        Line::Info { server, .. }
        | Line::Down { server, .. }
        | Line::Call { server, .. }
        | Line::Event { server, .. } => server,
    }
}

/// One server while its lines are read.
struct Assembly {
    reel: Reel,
    /// Scenes with the place in the order of their beginnings: which recording, which of its calls.
    placed: Vec<((usize, usize), Scene)>,
    recording: usize,
    /// Places of calls that began but whose line didn't come yet.
    open: Vec<usize>,
    begun: usize,
    /// What happened before the first call.
    early: Vec<Note>,
    /// Whether anything was recorded of it.
    is_used: bool,
}

impl Assembly {
    fn new(server: &str, path: &Arc<Path>) -> Self {
        let reel = Reel::new(server, path);
        Self { reel, placed: Vec::new(), recording: 0, open: Vec::new(), begun: 0, early: Vec::new(), is_used: false }
    }

    /// A new recording begins: the calls that are open will have no line.
    fn begin_again(&mut self) {
        self.recording += 1;
        self.open.clear();
        self.begun = 0;
    }

    fn take(&mut self, number: usize, line: Line) {
        self.is_used = true;
        match line {
            Line::Header(_) => {}
            Line::Info { info, .. } => self.reel.info = Some(info),
            Line::Down { error, .. } => self.reel.down = Some(error),
            Line::Event { event, .. } => self.event(event),
            Line::Call { overtook, mut call, .. } => {
                call.during.splice(0..0, self.early.drain(..));
                let place = (self.recording, self.place(overtook));
                self.placed.push((place, Scene::new(number, *call)));
            }
        }
    }

    fn event(&mut self, event: EventKind) {
        match self.placed.last_mut() {
            Some((_, scene)) => scene.after.push(event),
            None => self.early.push(Note::Event(event)),
        }
    }

    /// Where a call began that ended while `overtook` older ones still ran.
    fn place(&mut self, overtook: usize) -> usize {
        while self.open.len() <= overtook {
            self.open.push(self.begun);
            self.begun += 1;
        }
        self.open.remove(overtook)
    }

    fn reel(mut self) -> Reel {
        self.placed.sort_by_key(|(place, _)| *place);
        self.reel.scenes = self.placed.into_iter().map(|(_, scene)| scene).collect();
        self.reel
    }
}
