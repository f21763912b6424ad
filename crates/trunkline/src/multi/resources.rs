//! Whose a URI or a prompt is. URIs are never rewritten: one that two servers offer has to be addressed with
//! its server.

use std::sync::Arc;

use super::MultiServer;
use super::member::Seat;
use crate::connection::{CallContext, Listed};
use crate::error::{Error, ErrorKind, Result};
use crate::suggest;

impl MultiServer {
    /// The member that offers `uri`: by its list, else by a template that matches, else the only one that
    /// offers resources at all.
    pub(super) async fn owner_of(&self, uri: &str, cx: &CallContext) -> Result<Arc<Seat>> {
        for refreshed in [false, true] {
            if refreshed {
                self.resources_by_server(cx).await;
                self.templates_by_server(cx).await;
            }
            let listed = self.seats_where(|seat| {
                let resources = seat.resources.fresh(seat.generation(Listed::Resources));
                resources.is_some_and(|list| list.iter().any(|resource| resource.uri() == uri))
            });
            // a list that isn't complete can't tell that a URI is unique
            let complete = refreshed || self.all_listed();
            if let Some(owner) = only(listed, "resource", uri).transpose()?.filter(|_| complete) {
                return Ok(owner);
            }
            let matching = self.seats_where(|seat| {
                let templates = seat.templates.fresh(seat.generation(Listed::Resources));
                templates.is_some_and(|list| list.iter().any(|template| template.matches(uri)))
            });
            if let Some(owner) = only(matching, "resource", uri).transpose()?.filter(|_| complete) {
                return Ok(owner);
            }
        }
        let offering = self.seats_where(|seat| {
            let generation = seat.generation(Listed::Resources);
            let some = |count: Option<usize>| count.is_some_and(|count| count > 0);
            some(seat.resources.fresh(generation).map(|list| list.len()))
                || some(seat.templates.fresh(generation).map(|list| list.len()))
        });
        match offering.as_slice() {
            [only] => Ok(only.clone()),
            _ => Err(self.unknown_resource(uri)),
        }
    }

    fn all_listed(&self) -> bool {
        self.seats().iter().all(|seat| seat.resources.fresh(seat.generation(Listed::Resources)).is_some())
    }

    fn seats_where(&self, condition: impl Fn(&Seat) -> bool) -> Vec<Arc<Seat>> {
        self.seats().into_iter().filter(|seat| condition(seat)).collect()
    }

    fn unknown_resource(&self, uri: &str) -> Error {
        let lists: Vec<_> = self.seats();
        let lists = lists.iter().filter_map(|seat| seat.resources.fresh(seat.generation(Listed::Resources)));
        let uris: Vec<String> =
            lists.flat_map(|list| list.iter().map(|r| r.uri().to_owned()).collect::<Vec<_>>()).collect();
        suggest::unknown("resource", uri, "", uris.iter().map(String::as_str))
    }

    /// The member and the wire name of a prompt, by its exposed name, or by its own where that is unique.
    pub(super) async fn prompt_owner(&self, name: &str, cx: &CallContext) -> Result<(Arc<Seat>, String)> {
        for refreshed in [false, true] {
            if refreshed {
                self.prompts_by_server(cx).await;
            }
            let known = self.known_prompts();
            if let Some((_, seat, wire)) = known.iter().find(|(exposed, _, _)| exposed == name) {
                return Ok((seat.clone(), wire.clone()));
            }
            if !refreshed {
                continue; // a bare name is unique only among all
            }
            let bare: Vec<_> =
                known.iter().filter(|(_, _, wire)| wire == name).map(|(_, seat, _)| seat.clone()).collect();
            if let Some(owner) = only(bare, "prompt", name) {
                return Ok((owner?, name.to_owned()));
            }
        }
        let known = self.known_prompts();
        Err(suggest::unknown("prompt", name, "", known.iter().map(|(exposed, _, _)| exposed.as_str())))
    }

    fn known_prompts(&self) -> Vec<(String, Arc<Seat>, String)> {
        let namer = self.namer();
        let mut known = Vec::new();
        for seat in self.seats() {
            let prompts = seat.prompts.fresh(seat.generation(Listed::Prompts));
            for prompt in prompts.iter().flat_map(|prompts| prompts.iter()) {
                known.push((namer.exposed(&seat.label, prompt.name()), seat.clone(), prompt.name().to_owned()));
            }
        }
        known
    }
}

/// The only one of several; an error that names them where there are more.
fn only(mut seats: Vec<Arc<Seat>>, kind: &str, name: &str) -> Option<Result<Arc<Seat>>> {
    if seats.len() < 2 {
        return seats.pop().map(Ok);
    }
    let labels = seats.iter().map(|seat| seat.label.as_str()).collect::<Vec<_>>().join(", ");
    let error =
        Error::new(ErrorKind::Ambiguous, format!("The {kind} \"{name}\" is offered by several servers: {labels}"));
    Some(Err(error.with_hint("Say which server it is to come from").with_context("available", labels)))
}
