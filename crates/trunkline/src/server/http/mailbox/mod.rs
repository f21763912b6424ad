//! What one session has to say to its client, sorted by stream: a stream for each POST that holds requests, and the
//! standing one for everything else. Bounded: see [`HttpServerLimits`].

mod reader;
mod stream;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

pub(super) use reader::Reader;
pub(super) use stream::Event;

use super::limits::HttpServerLimits;
use crate::protocol::RawJson;
use crate::server::outlet::{Outlet, Route};
use stream::{Sort, Stream};

/// The number of the standing stream.
pub(super) const STANDING: u64 = 0;

/// How many streams that have ended are kept for resuming.
const KEPT_STREAMS: usize = 64;

/// How a session's messages reach the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A stream for each POST and a standing one.
    Streams,
    /// One POST that stands alone.
    Alone,
    /// Everything on the standing stream (HTTP+SSE of 2024-11-05).
    Single,
}

/// Why the requests of a POST are not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// This id is in use.
    Duplicate(RawJson),
    TooMany,
    Over,
}

pub(super) struct Mailbox {
    shape: Shape,
    limits: Arc<HttpServerLimits>,
    boxes: Mutex<Boxes>,
}

#[derive(Default)]
struct Boxes {
    streams: BTreeMap<u64, Stream>,
    /// Which stream a request's answer goes to.
    owners: HashMap<RawJson, u64>,
    last: u64,
    over: bool,
}

impl Mailbox {
    pub(super) fn new(shape: Shape, limits: Arc<HttpServerLimits>) -> Arc<Self> {
        let mut boxes = Boxes::default();
        if shape != Shape::Alone {
            boxes.streams.insert(STANDING, Stream::of(1, false)); // never answered, so it never ends
        }
        Arc::new(Self { shape, limits, boxes: Mutex::new(boxes) })
    }

    fn boxes(&self) -> MutexGuard<'_, Boxes> {
        self.boxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the stream of a POST with these requests.
    pub(super) fn open(self: &Arc<Self>, ids: &[RawJson], answers_only: bool) -> Result<Reader, Denied> {
        let mut boxes = self.boxes();
        let number = boxes.last + 1;
        boxes.claim(ids, number, self.limits.max_running)?;
        boxes.last = number;
        boxes.streams.insert(number, Stream::of(ids.len(), answers_only));
        drop(boxes);
        self.read(number, None).ok_or(Denied::Over)
    }

    /// Takes these requests, to be answered on the standing stream.
    pub(super) fn expect(&self, ids: &[RawJson]) -> Result<(), Denied> {
        self.boxes().claim(ids, STANDING, self.limits.max_running)
    }

    /// How many requests have no answer yet.
    pub(super) fn owed(&self) -> usize {
        self.boxes().owners.len()
    }

    /// Reads a stream on: what waits, or all after an event that was sent. `None` where there is no such event any
    /// more. Whoever read it before is done.
    pub(super) fn read(self: &Arc<Self>, number: u64, after: Option<u64>) -> Option<Reader> {
        let mut boxes = self.boxes();
        let over = boxes.over;
        let stream = boxes.streams.get_mut(&number).filter(|_| !over)?;
        if after.is_some_and(|after| !stream.rewind(after)) {
            return None;
        }
        let wake = Arc::new(Notify::new());
        stream.wake();
        stream.reader = Some(wake.clone());
        Some(Reader { mailbox: self.clone(), stream: number, wake })
    }

    /// Ends every stream once what waits is taken; what is said from now on is lost.
    pub(super) fn close(&self) {
        self.boxes().close();
    }

    /// Whether everything goes over one stream.
    pub(super) fn is_single(&self) -> bool {
        self.shape == Shape::Single
    }

    pub(super) fn is_over(&self) -> bool {
        self.boxes().over
    }

    fn deliver(&self, boxes: &mut Boxes, number: u64, line: Bytes, sort: Sort) {
        let Some(stream) = boxes.streams.get_mut(&number) else { return };
        stream.push(line, sort);
        if sort == Sort::Notice && stream.trim_notices(self.limits.max_notices) {
            tracing::warn!("a client doesn't read its messages; notifications were lost");
        }
        if boxes.streams.values().map(Stream::unsent).sum::<usize>() > self.limits.max_unsent {
            tracing::warn!("a client doesn't read its messages; its session was ended");
            boxes.close();
            boxes.streams.clear();
        }
    }
}

impl Boxes {
    /// Notes where the answers to these requests go.
    fn claim(&mut self, ids: &[RawJson], number: u64, most: usize) -> Result<(), Denied> {
        if self.over {
            return Err(Denied::Over);
        }
        if self.owners.len() + ids.len() > most {
            return Err(Denied::TooMany);
        }
        for (index, id) in ids.iter().enumerate() {
            if ids[..index].contains(id) || self.owners.contains_key(id) {
                return Err(Denied::Duplicate(id.clone()));
            }
        }
        self.owners.extend(ids.iter().map(|id| (id.clone(), number)));
        Ok(())
    }

    fn close(&mut self) {
        self.over = true;
        self.owners.clear();
        self.streams.values().for_each(Stream::wake);
    }

    fn settle(&mut self, number: u64) {
        let Some(stream) = self.streams.get_mut(&number).filter(|_| number != STANDING) else { return };
        stream.settle();
        if stream.complete() && stream.abandoned {
            self.streams.remove(&number);
        }
    }

    /// Forgets what was sent, the oldest first, until no more than `most` bytes and [`KEPT_STREAMS`] are kept. The
    /// stream that ended last stays, and of each the last event.
    fn forget(&mut self, most: usize) {
        let mut kept: usize = self.streams.values().map(Stream::sent).sum();
        let ended = self.streams.iter().filter(|(_, stream)| stream.complete() && stream.reader.is_none());
        let mut ended: Vec<u64> = ended.map(|(number, _)| *number).collect();
        ended.pop();
        let excess = ended.len().saturating_sub(KEPT_STREAMS);
        for (index, number) in ended.into_iter().enumerate() {
            if kept <= most && index >= excess {
                break;
            }
            kept -= self.streams.remove(&number).map_or(0, |stream| stream.sent().min(kept));
        }
        for stream in self.streams.values_mut() {
            while kept > most {
                match stream.forget_one() {
                    0 => break,
                    freed => kept -= freed.min(kept),
                }
            }
        }
    }
}

impl Outlet for Mailbox {
    fn send(&self, route: Route<'_>, line: Vec<u8>) {
        let line = Bytes::from(line);
        let mut boxes = self.boxes();
        if boxes.over {
            return;
        }
        let beside = |boxes: &Boxes, id: &RawJson| {
            let takes = |number: &&u64| boxes.streams.get(number).is_some_and(|stream| !stream.answers_only);
            boxes.owners.get(id).filter(takes).copied().unwrap_or(STANDING)
        };
        match route {
            Route::Answer(id) => {
                let Some(number) = boxes.owners.remove(id) else { return };
                self.deliver(&mut boxes, number, line, Sort::Answer);
                boxes.settle(number);
            }
            Route::During(id) => {
                let number = beside(&boxes, id);
                self.deliver(&mut boxes, number, line, Sort::Notice);
            }
            Route::Ask(id) => {
                let number = beside(&boxes, id);
                self.deliver(&mut boxes, number, line, Sort::Question);
            }
            Route::Apart => self.deliver(&mut boxes, STANDING, line, Sort::Notice),
        }
    }

    fn unanswered(&self, id: &RawJson) {
        let mut boxes = self.boxes();
        if let Some(number) = boxes.owners.remove(id) {
            boxes.settle(number);
        }
    }
}
