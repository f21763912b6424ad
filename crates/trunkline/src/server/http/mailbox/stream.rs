//! One stream of events: what waits for the client, and what was sent and is kept for resuming.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Notify;

/// What an event is. Only a notice may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Notice,
    Question,
    Answer,
}

/// One message and its number within the stream.
#[derive(Debug, Clone)]
pub(in crate::server::http) struct Event {
    pub(in crate::server::http) number: u64,
    pub(in crate::server::http) line: Bytes,
    sort: Sort,
}

/// The events of one stream, in order. Number 0 is the event that opens it and carries nothing.
#[derive(Debug, Default)]
pub(super) struct Stream {
    events: VecDeque<Event>,
    last: u64,
    /// The last event that a connection took.
    taken: u64,
    /// The bytes of the events that wait, and of those that were taken.
    unsent: usize,
    sent: usize,
    /// How many requests have no answer yet.
    awaited: usize,
    /// Whether it carries answers alone.
    pub(super) answers_only: bool,
    /// Whether the client knows an id to resume it from.
    pub(super) resumable: bool,
    /// Nobody can read it any more.
    pub(super) abandoned: bool,
    /// Wakes the connection that reads it; a later one takes over.
    pub(super) reader: Option<Arc<Notify>>,
}

/// What a reader gets.
pub(in crate::server::http) struct Taken {
    pub(in crate::server::http) events: Vec<Event>,
    /// Nothing more will come.
    pub(in crate::server::http) done: bool,
}

impl Stream {
    /// The stream of so many requests.
    pub(super) fn of(requests: usize, answers_only: bool) -> Self {
        Self { awaited: requests, answers_only, ..Self::default() }
    }

    /// Whether all requests are answered. The standing stream never ends.
    pub(super) fn complete(&self) -> bool {
        self.awaited == 0
    }

    /// A request got its answer, or will get none.
    pub(super) fn settle(&mut self) {
        self.awaited = self.awaited.saturating_sub(1);
        self.wake();
    }

    pub(super) fn push(&mut self, line: Bytes, sort: Sort) {
        if self.abandoned {
            return;
        }
        self.last += 1;
        self.unsent += line.len();
        self.events.push_back(Event { number: self.last, line, sort });
        self.wake();
    }

    pub(super) fn wake(&self) {
        if let Some(reader) = &self.reader {
            reader.notify_one();
        }
    }

    /// What waits, up to about so many bytes.
    pub(super) fn take(&mut self, most: usize) -> Vec<Event> {
        let mut size = 0;
        let mut events = Vec::new();
        for event in self.events.iter().skip_while(|event| event.number <= self.taken) {
            if size >= most {
                break;
            }
            size += event.line.len();
            events.push(event.clone());
        }
        self.taken = events.last().map_or(self.taken, |event| event.number);
        self.unsent -= size;
        self.sent += size;
        events
    }

    /// Whether there is a message that is no answer.
    pub(super) fn has_more_than_answers(&self) -> bool {
        self.events.iter().any(|event| event.sort != Sort::Answer)
    }

    /// Reads on after this event; false if there never was such an event.
    pub(super) fn rewind(&mut self, after: u64) -> bool {
        let known = after <= self.last;
        if known {
            self.taken = after;
            let size = |event: &Event| event.line.len();
            self.unsent = self.events.iter().filter(|event| event.number > after).map(size).sum();
            self.sent = self.events.iter().map(size).sum::<usize>() - self.unsent;
        }
        known
    }

    /// How many bytes wait.
    pub(super) fn unsent(&self) -> usize {
        self.unsent
    }

    /// How many bytes are kept of what was taken.
    pub(super) fn sent(&self) -> usize {
        self.sent
    }

    /// Loses the oldest notices until no more than so many wait; whether any was lost.
    pub(super) fn trim_notices(&mut self, most: usize) -> bool {
        let taken = self.taken;
        if self.last - taken <= most as u64 {
            return false;
        }
        let waits = |event: &Event| event.sort == Sort::Notice && event.number > taken;
        let mut excess = self.events.iter().filter(|event| waits(event)).count().saturating_sub(most);
        let (lost, mut freed) = (excess > 0, 0);
        self.events.retain(|event| {
            let lose = excess > 0 && waits(event);
            if lose {
                excess -= 1;
                freed += event.line.len();
            }
            !lose
        });
        self.unsent -= freed;
        lost
    }

    /// Forgets the oldest event that was taken, never the only one; the bytes that frees.
    pub(super) fn forget_one(&mut self) -> usize {
        if self.events.len() < 2 || self.events[0].number > self.taken {
            return 0;
        }
        let freed = self.events.pop_front().map_or(0, |event| event.line.len());
        self.sent -= freed;
        freed
    }

    /// Everything goes.
    pub(super) fn clear(&mut self) {
        self.events.clear();
        (self.unsent, self.sent) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(sorts: &[Sort]) -> Stream {
        let mut stream = Stream::of(1, false);
        sorts.iter().for_each(|sort| stream.push(Bytes::from_static(b"0123456789"), *sort));
        stream
    }

    fn numbers(events: &[Event]) -> Vec<u64> {
        events.iter().map(|event| event.number).collect()
    }

    #[test]
    fn what_was_taken_can_be_taken_again_from_any_event() {
        let mut stream = filled(&[Sort::Notice; 5]);
        assert_eq!(numbers(&stream.take(25)), [1, 2, 3]);
        assert_eq!((stream.sent(), stream.unsent()), (30, 20));
        assert_eq!(numbers(&stream.take(1000)), [4, 5]);
        assert!(stream.take(1000).is_empty());
        assert!(stream.rewind(2));
        assert_eq!(numbers(&stream.take(1000)), [3, 4, 5]);
        assert!(!stream.rewind(6));
        assert_eq!(stream.forget_one() + stream.forget_one(), 20);
        assert!(stream.rewind(0));
        assert_eq!(numbers(&stream.take(1000)), [3, 4, 5], "what is gone is gone");
    }

    #[test]
    fn only_notices_that_wait_are_lost() {
        let mut stream = filled(&[Sort::Notice, Sort::Answer, Sort::Notice, Sort::Notice]);
        stream.take(1);
        assert!(stream.trim_notices(1));
        assert!(!stream.trim_notices(1));
        stream.rewind(0);
        assert_eq!(numbers(&stream.take(1000)), [1, 2, 4]);
    }

    #[test]
    fn neither_what_waits_nor_the_last_event_is_forgotten() {
        let mut stream = filled(&[Sort::Answer; 3]);
        assert_eq!(stream.forget_one(), 0);
        stream.take(1);
        assert_eq!((stream.forget_one(), stream.forget_one()), (10, 0));
        stream.take(1000);
        assert_eq!((stream.forget_one(), stream.forget_one()), (10, 0));
    }
}
