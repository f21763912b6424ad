//! `Bridge`: a program that speaks over its standard streams, behind HTTP, so that one script is played over every
//! transport. What a client posts goes to the program's standard input as it is; each line it writes is an event.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::event::Event;
use super::fake::HttpFake;
use super::request::HttpRequest;
use super::rule::post;
use super::script::HttpScript;
use super::state::State;
use super::step::{Step, act, reply, send};

/// A program behind HTTP. Both end with the value.
pub struct Bridge {
    fake: HttpFake,
    child: Child,
    reader: Option<JoinHandle<()>>,
}

/// A line for one request; whether it is its answer.
type Line = (Vec<u8>, bool);
pub(crate) type Lines = Arc<Mutex<UnboundedReceiver<Line>>>;

/// The requests that wait for their answers, the newest last.
#[derive(Default)]
struct Open(Mutex<Vec<(String, UnboundedSender<Line>)>>);

impl Bridge {
    /// Starts the program `fake` with this script, behind Streamable HTTP or, with `legacy`, HTTP+SSE of 2024-11-05. An
    /// answer that comes alone is a JSON body; where more is said before it, both are events on a stream.
    pub fn start(program: &str, script: &Path, legacy: bool) -> Bridge {
        let mut command = Command::new(program);
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"));
        let input = Mutex::new(child.stdin.take().expect("a pipe"));
        let open: Arc<Open> = Arc::default();
        let waiting = open.clone();
        let answer = act(move |request| {
            let follow = (!legacy && request.wants_answer()).then(|| waiting.expect(request));
            put(&input, request);
            vec![follow.unwrap_or_else(|| send(reply(202)))]
        });
        let script = HttpScript::new().sessionless().listening();
        let script = if legacy { script.legacy_sse() } else { script };
        let fake = script.on(post(), [answer]).start();
        let (output, state) = (child.stdout.take().expect("a pipe"), fake.state().clone());
        let reader = Some(std::thread::spawn(move || open.deliver(output, &state)));
        Bridge { fake, child, reader }
    }

    /// The address that a client is given.
    pub fn url(&self) -> String {
        self.fake.url()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may be gone
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join(); // it has told why it panicked
        }
    }
}

/// Hands a message to the program, which may be gone.
fn put(input: &Mutex<ChildStdin>, request: &HttpRequest) {
    let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = input.write_all(&[request.body.trim_ascii_end(), b"\n"].concat());
}

impl Open {
    fn expect(&self, request: &HttpRequest) -> Step {
        let (sender, lines) = unbounded_channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((request.id(), sender));
        Step::Follow(Arc::new(Mutex::new(lines)))
    }

    /// Sends each line where it belongs: an answer to its request; anything else to the newest that waits, or, where
    /// none does, to the streams that listen.
    fn deliver(&self, output: ChildStdout, state: &State) {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = line.trim_ascii_end().to_vec();
            line.clear();
            let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let to = open.iter().position(|(id, _)| answers(&text, id));
            let sent = match to.map_or_else(|| open.last(), |at| open.get(at)) {
                Some((_, lines)) => lines.send((text.clone(), to.is_some())).is_ok(),
                None => false,
            };
            if let Some(at) = to {
                open.remove(at);
            }
            if !sent {
                state.push(Event::data(&String::from_utf8_lossy(&text)).name("message").text());
            }
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Whether a line, however broken, answers the request with this id.
fn answers(line: &[u8], id: &str) -> bool {
    const ENDS: usize = 300;
    let (start, end) = (&line[..line.len().min(ENDS)], &line[line.len().saturating_sub(ENDS)..]);
    let ends = format!("{} {}", String::from_utf8_lossy(start), String::from_utf8_lossy(end));
    let names = |id: &str| {
        ends.match_indices(&format!("\"id\":{id}")).any(|(at, found)| {
            !ends[at + found.len()..].starts_with(|next: char| next.is_ascii_alphanumeric() || next == '.')
        })
    };
    !ends.contains("\"method\":") && (names(id) || names(&format!("\"{id}\"")))
}

#[cfg(test)]
mod tests {
    use super::answers;

    #[test]
    fn an_answer_is_known_by_its_id() {
        for (line, is) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, true),
            (r#"{"result":{"n":NaN},"id":"1"}"#, true),
            (r#"[{"id":7,"result":{}},{"id":1,"result":{}}]"#, true),
            (r#"{"id":10,"result":{}}"#, false),
            (r#"{"id":1.0,"result":{}}"#, false),
            (r#"{"id":1,"method":"ping"}"#, false),
            ("noise", false),
        ] {
            assert_eq!(answers(line.as_bytes(), "1"), is, "{line}");
        }
    }
}
