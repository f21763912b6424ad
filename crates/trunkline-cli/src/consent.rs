//! Has the person log in: by a browser that is opened, by an address that is shown, by what they paste.

use std::sync::Arc;

use trunkline::{Consent, ConsentRequest, Environment, Loopback, Redirect};

use crate::browser;
use crate::person::Person;
use crate::render::{BOLD, Screen, escape, paint};

/// Asks the person at this terminal.
pub(crate) struct Asking {
    way_back: Loopback,
    person: Arc<Person>,
    /// Whether the person can paste where a browser on another machine ended up.
    pastes: bool,
}

impl Asking {
    pub(crate) fn new(no_browser: bool, person: &Arc<Person>, environment: &Environment, screen: Screen) -> Self {
        let environment = environment.clone();
        let pastes = person.is_there && !screen.json;
        let way_back = Loopback::new(move |request| show(request, !no_browser, pastes, &environment, &screen));
        Self { way_back, person: person.clone(), pastes }
    }

    /// What is pasted, once it is where the browser should have come back to.
    async fn pasted(&self, request: &ConsentRequest) -> Redirect {
        let mut turn = self.person.turn().await;
        while let Some(line) = turn.ask("").await {
            let line = line.trim();
            if line.split('?').next() == Some(request.redirect_uri()) {
                return Redirect::new(line);
            }
            if !line.is_empty() {
                turn.say(&format!("That is not it: the address begins with {}?", request.redirect_uri()));
            }
        }
        std::future::pending().await // the input is at its end; the browser may come all the same
    }
}

impl Consent for Asking {
    async fn redirect_uri(&self) -> trunkline::Result<String> {
        self.way_back.redirect_uri().await
    }

    async fn authorize(&self, request: &ConsentRequest) -> trunkline::Result<Redirect> {
        if !self.pastes {
            return self.way_back.authorize(request).await;
        }
        tokio::select! {
            redirect = self.way_back.authorize(request) => redirect,
            pasted = self.pasted(request) => Ok(pasted),
        }
    }
}

/// Shows the address, always: the browser that opens may be the wrong one.
fn show(request: &ConsentRequest, open: bool, pastes: bool, environment: &Environment, screen: &Screen) {
    let opened = open && browser::open(request.url(), environment);
    let (server, url) = (escape::line(request.server()), escape::line(request.url()));
    let lead = match opened {
        true => format!("A browser opens to log in to {}. If none does, open this address:", paint(BOLD, server)),
        false => format!("To log in to {}, open this address in a browser:", paint(BOLD, server)),
    };
    screen.report(&format!("{lead}\n\n  {url}\n"));
    if pastes && !opened {
        screen.report(
            "If that browser is on another machine, it ends up at an address that it can't reach: paste it here.",
        );
    }
}
