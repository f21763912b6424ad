//! What was recorded of one server, and which of it answers a call.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::compare::Rules;
use super::line::{Call, trimmed};
use super::miss;
use crate::connection::{EventKind, Hub};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::protocol::content::prompt_arguments;
use crate::protocol::{Arguments, RawJson};

/// A recorded call.
#[derive(Debug)]
pub(super) struct Scene {
    /// Where it stands in the file.
    pub(super) line: usize,
    pub(super) call: Call,
    /// What happened between its end and the next call.
    pub(super) after: Vec<EventKind>,
    /// Its params as they are compared.
    pub(super) wanted: RawJson,
}

/// The calls of one server, in the order in which they began.
#[derive(Debug)]
pub(super) struct Reel {
    pub(super) server: String,
    pub(super) path: Arc<Path>,
    pub(super) info: Option<RawJson>,
    /// Why it could not be connected to, where that was recorded.
    pub(super) down: Option<Error>,
    pub(super) scenes: Vec<Scene>,
    played: Mutex<Vec<bool>>,
    pub(super) hub: Arc<Hub>,
}

impl Scene {
    pub(super) fn new(line: usize, call: Call) -> Self {
        let wanted = comparable(&call.method, call.params.clone());
        Self { line, call, after: Vec::new(), wanted }
    }
}

impl Reel {
    pub(super) fn new(server: &str, path: &Arc<Path>) -> Self {
        let (server, path, hub) = (server.to_owned(), path.clone(), Hub::new(server, &Limits::default()));
        Self { server, path, info: None, down: None, scenes: Vec::new(), played: Mutex::default(), hub }
    }

    /// Finds what answers a call and marks it as played.
    pub(super) fn play(&self, method: &str, params: Option<RawJson>, rules: &Rules) -> Result<&Scene> {
        if let Some(error) = self.down.as_ref().filter(|_| self.scenes.is_empty()) {
            return Err(error.clone());
        }
        let given = comparable(method, params);
        let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        played.resize(self.scenes.len(), false);
        let found = match rules.strict && !is_asked_any_time(method) {
            true => self.next(method, &given, &played, rules)?,
            false => self.any(method, &given, &played, rules)?,
        };
        played[found] = true;
        Ok(&self.scenes[found])
    }

    /// Whatever answers it: what wasn't played yet before what was, and then the last.
    fn any(&self, method: &str, given: &RawJson, played: &[bool], rules: &Rules) -> Result<usize> {
        let fits = |scene: &Scene| scene.call.method == method && rules.fits(&scene.wanted, given);
        let mut fitting: Vec<_> = (0..self.scenes.len()).filter(|at| fits(&self.scenes[*at])).collect();
        let equal = |at: &usize| rules.are_equal(&self.scenes[*at].wanted, given);
        if fitting.iter().any(equal) {
            fitting.retain(equal);
        }
        let fresh = fitting.iter().find(|at| !played[**at]).or(fitting.last()).copied();
        fresh.ok_or_else(|| miss::nothing_fits(self, method, given, rules))
    }

    /// The next in order, if it is that.
    fn next(&self, method: &str, given: &RawJson, played: &[bool], rules: &Rules) -> Result<usize> {
        let due = |at: &usize| !played[*at] && !is_asked_any_time(&self.scenes[*at].call.method);
        let Some(next) = (0..self.scenes.len()).find(due) else {
            return Err(miss::at_the_end(self, method, given));
        };
        let scene = &self.scenes[next];
        let fits = scene.call.method == method && rules.fits(&scene.wanted, given);
        if fits { Ok(next) } else { Err(miss::another_is_due(self, scene, method, given, rules)) }
    }

    /// The calls that were never played; those a client makes when it needs to don't count.
    pub(super) fn unplayed(&self) -> impl Iterator<Item = &Scene> {
        let played = self.played.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let unplayed = move |at: usize| !played.get(at).copied().unwrap_or(false);
        let scenes = self.scenes.iter().enumerate();
        scenes
            .filter(move |(at, scene)| unplayed(*at) && !is_asked_any_time(&scene.call.method))
            .map(|(_, scene)| scene)
    }
}

/// Whether a client asks this whenever it needs to, so that its place says nothing.
fn is_asked_any_time(method: &str) -> bool {
    method.ends_with("/list") || matches!(method, "ping" | "logging/setLevel")
}

/// Params as they are compared: no arguments are empty ones, and those of a prompt are texts.
fn comparable(method: &str, params: Option<RawJson>) -> RawJson {
    let params = trimmed(params).unwrap_or_else(RawJson::empty_object);
    if !matches!(method, "tools/call" | "prompts/get") {
        return params;
    }
    match params.field("arguments").map_or_else(|| Ok(Arguments::none()), Arguments::from_raw) {
        Ok(arguments) if method == "prompts/get" => params.with_member("arguments", prompt_arguments(&arguments).raw()),
        Ok(arguments) => params.with_member("arguments", arguments.raw()),
        Err(_) => params, // no object: as odd as it was
    }
}
