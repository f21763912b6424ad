//! A model behind an OpenAI-compatible endpoint that follows a script: what it says and which tools it calls, turn by
//! turn, or how it fails. It is strict with what it is sent, as OpenAI is: see [`rules`].
//!
//! ```no_run
//! use serde_json::json;
//! use trunkline_tests::model::{Model, Turn};
//!
//! let model = Model::playing([
//!     Turn::calls([("demo_add", json!({"a": 2, "b": 40}))]),
//!     Turn::says("It is 42."),
//! ]);
//! // … run an agent against model.base(), then:
//! let requests = model.requests();
//! assert_eq!(requests[1]["messages"][2]["content"], "42");
//! ```
//!
//! A turn is streamed in awkward pieces: comments between the events, line ends of both kinds, calls mixed with each
//! other and with text, and seven bytes at a time on the wire. [`Turn::plain`] answers with one JSON document
//! instead, and [`Turn::steps`] does anything that [`http`](crate::http) can do.

#![allow(missing_debug_implementations, reason = "a turn may hold closures")]

pub mod rules;
mod turn;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::http::{HttpFake, HttpRequest, HttpScript, Step, Tls, act, get, post, reply, send};
pub use turn::{Turn, chunk, last_chunk};

const PATH: &str = "/v1/chat/completions";

/// An endpoint that plays its turns, one for each request. It ends with the value.
pub struct Model {
    fake: HttpFake,
    state: Arc<State>,
}

struct State {
    turns: Mutex<VecDeque<Turn>>,
    complaints: Mutex<Vec<String>>,
}

impl Model {
    /// Starts it.
    pub fn playing(turns: impl IntoIterator<Item = Turn>) -> Model {
        Self::start(turns, HttpScript::start)
    }

    /// Starts it behind TLS.
    pub fn playing_over_tls(turns: impl IntoIterator<Item = Turn>, tls: Tls<'_>) -> Model {
        Self::start(turns, |script| script.start_tls(tls))
    }

    fn start(turns: impl IntoIterator<Item = Turn>, start: impl FnOnce(HttpScript) -> HttpFake) -> Model {
        let state = State { turns: Mutex::new(turns.into_iter().collect()), complaints: Mutex::default() };
        let state = Arc::new(state);
        let player = state.clone();
        let models = json!({"object": "list", "data": [{"id": "scripted", "object": "model"}, {"id": "other", "object": "model"}]});
        let script = HttpScript::new()
            .on(post().path(PATH), [act(move |request| player.play(request))])
            .on(get().path("/v1/models"), [send(reply(200).json(models))]);
        Model { fake: start(script), state }
    }

    /// What an agent is told: the base of the endpoint.
    pub fn base(&self) -> String {
        format!("{}/v1", self.fake.origin())
    }

    /// The server behind it, with its log.
    pub fn http(&self) -> &HttpFake {
        &self.fake
    }

    /// The bodies of the requests so far.
    ///
    /// # Panics
    /// When one of them broke a rule.
    #[track_caller]
    pub fn requests(&self) -> Vec<Value> {
        let complaints = self.state.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(complaints.is_empty(), "the endpoint complains: {complaints:#?}");
        self.fake.log().of("POST").iter().map(HttpRequest::json).collect()
    }

    /// How many turns were not played.
    pub fn left(&self) -> usize {
        self.state.turns.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl State {
    fn play(&self, request: &HttpRequest) -> Vec<Step> {
        let body = request.json();
        if let Err(complaint) = rules::check(&body) {
            self.complaints.lock().unwrap_or_else(PoisonError::into_inner).push(complaint.clone());
            let error = json!({"error": {"message": complaint, "type": "invalid_request_error", "code": null}});
            return vec![send(reply(400).json(error))];
        }
        let turn = self.turns.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        match turn {
            Some(turn) => turn.into_steps(&body),
            None => vec![send(reply(500).header("retry-after", "0").json(json!({"error": "the script is over"})))],
        }
    }
}
