//! `trunkline ask`: lets a model answer a question with the tools of the servers. This file reads what the command line
//! names and puts the parts together; `talk` is the loop, `endpoint` the model's side, `tools` the servers', `consent`
//! decides on calls, `view` and `transcript` show what happens.

mod consent;
mod endpoint;
mod mask;
mod person;
mod policy;
mod talk;
mod tools;
mod transcript;
mod view;

use trunkline::{Environment, Error, ErrorKind, Redactor, Secret};

use crate::args;
use crate::exit::{Exit, Failure, Outcome};
use crate::render::{Screen, escape, list};
use crate::servers::Servers;
use crate::values::read_file;
use consent::Consent;
#[cfg(any(test, fuzzing))]
pub(crate) use endpoint::replies;
use endpoint::{Endpoint, Target};
use mask::Mask;
use policy::Policy;
use talk::Talk;
use tools::Tools;
use transcript::Transcript;
use view::View;

const OPENAI: &str = "https://api.openai.com/v1";
const OPENAI_KEY: &str = "OPENAI_API_KEY";

pub(crate) struct Ask {
    args: args::Ask,
    question: String,
    system: Option<String>,
    policy: Policy,
    strict: bool,
}

impl Ask {
    pub(crate) fn new(args: args::Ask, strict: bool) -> Outcome<Self> {
        let policy = Policy::new(&args.allow, &args.ask, &args.deny)?;
        let question = match args.question.as_str() {
            "-" => read_file("the question", "-")?,
            text => text.to_owned(),
        };
        if question.trim().is_empty() {
            return Err(Failure::usage("The question is empty"));
        }
        let system = match args.system.as_deref().map(|text| (text, text.strip_prefix('@'))) {
            Some((_, Some(file))) => Some(read_file("--system", file)?),
            Some((text, None)) => Some(text.to_owned()),
            None => None,
        };
        Ok(Self { args, question, system, policy, strict })
    }

    pub(crate) async fn run(self, servers: &Servers, screen: &Screen) -> Outcome<Exit> {
        servers.ensure_any()?;
        let target = self.target(&servers.environment, screen)?;
        let key = target.key.as_ref().map(|key| Redactor::new([key.expose()]));
        let mask = Mask::new(servers.redactors().into_iter().chain(key).collect());
        let endpoint = Endpoint::new(target, mask.clone())?;
        let view = View::new(screen, mask.clone());
        view.waits_for("connecting");
        if self.args.server.is_empty() {
            servers.config.problems().iter().for_each(|problem| screen.report(&list::dead(&problem.to_error())));
        }
        let tools = Tools::of(servers, &self.args.server, endpoint.dialect(), &self.policy).await?;
        view.rests();
        tools.tell(screen);
        tools.ensure(servers, self.strict)?;
        let mut talk = Talk {
            endpoint,
            tools,
            consent: Consent::new(self.policy, servers.person.clone()),
            mask,
            view,
            transcript: Transcript::new(&self.args.model, talk::opening(self.system.as_deref(), &self.question)),
            max_steps: self.args.max_steps,
        };
        let outcome = talk.run().await;
        finish(&talk, outcome, screen)
    }

    /// How to reach the model.
    fn target(&self, environment: &Environment, screen: &Screen) -> Outcome<Target> {
        let named = |name: &str| environment.get(name).filter(|value| !value.trim().is_empty());
        let base = self.args.api_base.as_deref().or_else(|| named("OPENAI_BASE_URL")).unwrap_or(OPENAI).to_owned();
        let key_name = self.args.api_key_env.as_deref().unwrap_or(OPENAI_KEY).to_owned();
        let mut key = named(&key_name).map(|key| Secret::new(key.trim()));
        if key.is_none() && self.args.api_key_env.is_some() {
            return Err(Failure::usage(format!("${key_name}, named by --api-key-env, is not set")));
        }
        if key.is_none() && base == OPENAI {
            let error = Error::new(ErrorKind::Auth, format!("There is no API key: ${key_name} is not set"));
            return Err(error.with_hint("--api-base asks another endpoint, such as one on this machine").into());
        }
        if self.args.api_key_env.is_none() && key.is_some() && !endpoint::is_private(&base) {
            key = None;
            screen.note(&format!(
                "note: ${key_name} is not sent over plain http; --api-key-env {key_name} sends it all the same"
            ));
        }
        Ok(Target { base, model: self.args.model.clone(), key, key_name, patience: self.args.model_timeout })
    }
}

/// Shows how the conversation ended.
fn finish(talk: &Talk<'_>, outcome: Outcome<String>, screen: &Screen) -> Outcome<Exit> {
    let refused = talk.transcript.refused();
    if !refused.is_empty() && !talk.consent.is_somebody_there() {
        let shown: Vec<_> = refused.iter().map(|address| escape::line(address)).collect();
        screen.note(&format!("note: refused: {}; --allow GLOB lets them run", shown.join(", ")));
    }
    if screen.json {
        let document = talk.transcript.document(&outcome, &talk.tools.failures, &talk.mask);
        screen.print_exact(document.as_bytes())?;
        return outcome.map(|_| Exit::Done).map_err(|failure| Failure::told(failure.exit));
    }
    talk.view.answer(&outcome?)?;
    Ok(Exit::Done)
}
