//! Whose a URI or a prompt is. URIs are never rewritten: one that two servers offer has to be addressed with
//! its server.

use std::sync::Arc;

use super::MultiServer;
use super::gather::{gather, gather_more};
use super::member::Seat;
use crate::connection::CallContext;
use crate::error::{Error, ErrorKind, Result};
use crate::suggest;

impl MultiServer {
    /// The member that offers `uri`: by its list, else by a template that matches, else the only one that
    /// offers resources at all. What isn't known is asked for: first of those whose lists are missing, since
    /// only complete lists tell that a URI is unique, then once of the others.
    pub(super) async fn owner_of(&self, uri: &str, cx: &CallContext) -> Result<Arc<Seat>> {
        let settle = self.0.limits.settle;
        let (told, untold): (Vec<_>, Vec<_>) =
            self.seats().into_iter().partition(|seat| seat.has_told_resources(settle));
        let known = if untold.is_empty() { self.known_owner(uri)? } else { None };
        if let Some(owner) = known {
            return Ok(owner);
        }
        for (seats, others) in [(&untold, &told), (&told, &untold)] {
            if seats.is_empty() {
                continue;
            }
            self.ask_for_resources(seats, !others.is_empty(), cx).await;
            if let Some(owner) = self.known_owner(uri)? {
                return Ok(owner);
            }
        }
        match self.seats_where(offers_resources).as_slice() {
            [only] => Ok(only.clone()),
            _ => Err(self.unknown_resource(uri)),
        }
    }

    async fn ask_for_resources(&self, seats: &[Arc<Seat>], others_told: bool, cx: &CallContext) {
        let bounds = cx.bounds();
        let ask = async |seat: &Arc<Seat>| {
            let lists = (self.0.starter.resources(seat, &bounds), self.0.starter.templates(seat, &bounds));
            let (resources, templates) = tokio::join!(lists.0, lists.1);
            resources.map(drop).and(templates.map(drop))
        };
        gather_more(seats.iter().map(ask), Some(self.0.limits.settle), others_told, |_, _| false).await;
    }

    fn known_owner(&self, uri: &str) -> Result<Option<Arc<Seat>>> {
        let lists = |seat: &Seat| seat.known_resources().is_some_and(|list| list.iter().any(|item| item.uri() == uri));
        let matches =
            |seat: &Seat| seat.known_templates().is_some_and(|list| list.iter().any(|item| item.matches(uri)));
        let listed = only(self.seats_where(lists), "resource", uri)?;
        if listed.is_some() { Ok(listed) } else { only(self.seats_where(matches), "resource", uri) }
    }

    fn seats_where(&self, condition: impl Fn(&Seat) -> bool) -> Vec<Arc<Seat>> {
        self.seats().into_iter().filter(|seat| condition(seat)).collect()
    }

    fn unknown_resource(&self, uri: &str) -> Error {
        let lists: Vec<_> = self.seats().iter().filter_map(|seat| seat.known_resources()).collect();
        let uris = lists.iter().flat_map(|list| list.iter()).map(|resource| resource.uri());
        suggest::unknown("resource", uri, "", uris)
    }

    /// The member and the wire name of a prompt, by its exposed name, or by its own where that is unique.
    pub(super) async fn prompt_owner(&self, name: &str, cx: &CallContext) -> Result<(Arc<Seat>, String)> {
        let (namer, bounds, settle) = (self.namer(), cx.bounds(), self.0.limits.settle);
        let (told, untold): (Vec<_>, Vec<_>) = self.seats().into_iter().partition(|seat| seat.has_told_prompts(settle));
        if let Some(owner) = self.known_prompt(name, untold.is_empty())? {
            return Ok(owner);
        }
        let (likely, others): (Vec<_>, Vec<_>) =
            self.seats().into_iter().partition(|seat| namer.may_be_of(&seat.label, name));
        let ask = |seat| self.0.starter.prompts(seat, &bounds);
        gather(likely.iter().map(ask), None, |_, _| false).await;
        if let Some(owner) = self.known_prompt(name, false)? {
            return Ok(owner);
        }
        gather_more(others.iter().map(ask), Some(settle), !told.is_empty(), |_, _| false).await;
        match self.known_prompt(name, true)? {
            Some(owner) => Ok(owner),
            None => {
                let known = self.known_prompts();
                Err(suggest::unknown("prompt", name, "", known.iter().map(|(exposed, _, _)| exposed.as_str())))
            }
        }
    }

    /// By the lists there are: the prompt that is shown as `name`, or, where the lists are all there are, the
    /// only one that is called so by its server.
    fn known_prompt(&self, name: &str, all_told: bool) -> Result<Option<(Arc<Seat>, String)>> {
        let known = self.known_prompts();
        if let Some((_, seat, wire)) = known.iter().find(|(exposed, _, _)| exposed == name) {
            return Ok(Some((seat.clone(), wire.clone())));
        }
        let bare = known.into_iter().filter(|(_, _, wire)| all_told && wire == name).map(|(_, seat, _)| seat);
        Ok(only(bare.collect(), "prompt", name)?.map(|seat| (seat, name.to_owned())))
    }

    fn known_prompts(&self) -> Vec<(String, Arc<Seat>, String)> {
        let namer = self.namer();
        let mut known = Vec::new();
        for seat in self.seats() {
            for prompt in seat.known_prompts().iter().flat_map(|prompts| prompts.iter()) {
                known.push((namer.exposed(&seat.label, prompt.name()), seat.clone(), prompt.name().to_owned()));
            }
        }
        known
    }
}

fn offers_resources(seat: &Seat) -> bool {
    seat.known_resources().is_some_and(|list| !list.is_empty())
        || seat.known_templates().is_some_and(|list| !list.is_empty())
}

/// The only one of several; an error that names them where there are more.
fn only(mut seats: Vec<Arc<Seat>>, kind: &str, name: &str) -> Result<Option<Arc<Seat>>> {
    if seats.len() < 2 {
        return Ok(seats.pop());
    }
    let labels = seats.iter().map(|seat| seat.label.as_str()).collect::<Vec<_>>().join(", ");
    let error =
        Error::new(ErrorKind::Ambiguous, format!("The {kind} \"{name}\" is offered by several servers: {labels}"));
    Err(error.with_hint("Say which server it is to come from").with_context("available", labels))
}
