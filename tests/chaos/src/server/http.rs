//! The server over Streamable HTTP: a thread for each connection.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::connection::{Connection, Request, write_event};
use super::{Journal, Message, NOISE, Task, common, die, exit, sleep};
use crate::deed::Deed;

/// What the connections share.
struct House {
    journal: Journal,
    opened: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The sessions, and the standing stream of each.
    sessions: HashMap<String, Option<TcpStream>>,
    /// The calls for which all sessions were forgotten already.
    forgotten: HashSet<String>,
    /// Answers that wait for whoever takes their stream up again.
    kept: HashMap<String, String>,
}

/// What becomes of a connection.
enum Then {
    Goes,
    Ends,
}

pub(super) fn serve(journal: Journal, port: u16) {
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(0); // whoever started it is gone
    });
    // the port of one that was just killed may be taken for a moment
    let listener = loop {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(listener) => break listener,
            Err(_) => sleep(5),
        }
    };
    let house = Arc::new(House { journal, opened: AtomicU64::new(0), state: Mutex::default() });
    for stream in listener.incoming().flatten() {
        let house = house.clone();
        thread::spawn(move || {
            let Ok(mut connection) = Connection::new(stream) else { return };
            while let Ok(Some(request)) = connection.read() {
                if !matches!(house.answer(&mut connection, &request), Ok(Then::Goes)) {
                    return;
                }
            }
        });
    }
}

impl House {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, connection: &mut Connection, request: &Request) -> io::Result<Then> {
        let session = request.session.as_deref().unwrap_or_default();
        let message = Message::read(&request.body);
        if let Some(Message { id: Some(id), method, .. }) = &message
            && method == "initialize"
        {
            let session = format!("{}-{}", std::process::id(), self.opened.fetch_add(1, Ordering::Relaxed));
            self.state().sessions.insert(session.clone(), None);
            return connection.json(&common(id, method), Some(&session)).map(|()| Then::Goes);
        }
        if !self.state().sessions.contains_key(session) {
            return connection.status("404 Not Found", "").map(|()| Then::Goes);
        }
        match request.method.as_str() {
            "GET" => self.stream(connection, request, session),
            "DELETE" => {
                self.state().sessions.remove(session);
                connection.status("200 OK", "").map(|()| Then::Goes)
            }
            _ => match message {
                Some(Message { id: Some(id), method, params }) if method == "tools/call" => {
                    self.call(connection, session, &Task::of(id, &params))
                }
                Some(Message { id: Some(id), method, .. }) if !method.is_empty() => {
                    connection.json(&common(&id, &method), None).map(|()| Then::Goes)
                }
                _ => connection.status("202 Accepted", "").map(|()| Then::Goes),
            },
        }
    }

    /// The standing stream, or the rest of one that broke.
    fn stream(&self, connection: &mut Connection, request: &Request, session: &str) -> io::Result<Then> {
        let kept = request.last_event.as_ref().map(|last| self.state().kept.remove(last));
        connection.begin_events()?;
        match kept {
            Some(kept) => {
                kept.map_or(Ok(()), |answer| connection.event(&answer))?;
                connection.end_events().map(|()| Then::Goes)
            }
            None => {
                let stream = connection.share()?;
                if let Some(standing) = self.state().sessions.get_mut(session) {
                    *standing = Some(stream);
                }
                Ok(Then::Ends)
            }
        }
    }

    /// Says something on the standing stream.
    fn tell(&self, session: &str, message: &str) {
        if let Some(standing) = self.state().sessions.get_mut(session)
            && standing.as_mut().is_some_and(|stream| write_event(stream, message).is_err())
        {
            *standing = None;
        }
    }

    fn call(&self, connection: &mut Connection, session: &str, task: &Task) -> io::Result<Then> {
        match task.deed {
            Deed::Ignore => return connection.wait_for_its_end(),
            Deed::ExitFirst => exit(task.amount),
            Deed::ResetFirst => return connection.reset(),
            Deed::Busy => return connection.status("503 Service Unavailable", "busy").map(|()| Then::Goes),
            Deed::Page => return connection.page().map(|()| Then::Goes),
            Deed::Late => sleep(task.amount),
            Deed::Forget => {
                let mut state = self.state();
                if state.forgotten.insert(task.nonce.clone()) {
                    state.sessions.clear();
                    drop(state);
                    return connection.status("404 Not Found", "").map(|()| Then::Goes);
                }
            }
            _ => {}
        }
        task.work(&self.journal);
        let answer = task.answer();
        match task.deed {
            Deed::Mute => return connection.wait_for_its_end(),
            Deed::Exit => exit(task.amount),
            Deed::Die => die(),
            Deed::Reset => return connection.reset(),
            Deed::Torn => return connection.half_json(&answer).map(|()| Then::Ends),
            Deed::Cut => return connection.half_event(&answer).map(|()| Then::Ends),
            Deed::Slow => sleep(task.amount),
            Deed::Resume => {
                self.state().kept.insert(task.nonce.clone(), answer);
                return connection.promise(&task.nonce).map(|()| Then::Ends);
            }
            Deed::Beside => {
                connection.status("202 Accepted", "")?;
                self.tell(session, &answer);
                return Ok(Then::Goes);
            }
            _ => {}
        }
        let mut messages = task.messages();
        if task.deed == Deed::Storm {
            messages.iter().take(messages.len() - 1).for_each(|message| self.tell(session, message));
        }
        if messages.len() == 1 && !matches!(task.deed, Deed::Stream | Deed::Noise) {
            return connection.json(&messages.remove(0), None).map(|()| Then::Goes);
        }
        connection.begin_events()?;
        if task.deed == Deed::Noise {
            connection.noise(&NOISE)?;
        }
        messages.iter().try_for_each(|message| connection.event(message))?;
        connection.end_events().map(|()| Then::Goes)
    }
}

impl Connection {
    /// Holds the connection without a word until the client lets go of it.
    fn wait_for_its_end(&mut self) -> io::Result<Then> {
        self.read().map(|_| Then::Ends)
    }

    fn reset(&mut self) -> io::Result<Then> {
        self.linger_not()?;
        Ok(Then::Ends)
    }
}
