//! Whether a call is made: by the rules, or by what the person says.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use super::person::{self, Answer};
use super::policy::{Policy, Rule};
use super::tools::Known;
use crate::person::Person;

/// Decides on calls, and remembers what was allowed for good.
pub(crate) struct Consent {
    pub(crate) policy: Policy,
    person: Arc<Person>,
    always: RefCell<HashSet<String>>,
}

impl Consent {
    pub(crate) fn new(policy: Policy, person: Arc<Person>) -> Self {
        Self { policy, person, always: RefCell::default() }
    }

    pub(crate) fn is_somebody_there(&self) -> bool {
        self.person.is_there
    }

    /// Whether the call is made; if not, why, in words for the model. `question` is put to the person.
    pub(crate) async fn to(&self, tool: &Known, question: impl FnOnce() -> String) -> Result<(), String> {
        match self.policy.rule(tool) {
            Rule::Allow => return Ok(()),
            Rule::Deny => return Err("This tool may not be called here. Do without it.".to_owned()),
            Rule::Ask => {}
        }
        let is_settled = || self.always.borrow().contains(&tool.address);
        if is_settled() {
            return Ok(());
        }
        match person::ask(&self.person, question, is_settled).await {
            Answer::Yes => Ok(()),
            Answer::Always => {
                self.always.borrow_mut().insert(tool.address.clone());
                Ok(())
            }
            Answer::No => Err("The user refused this call. Don't repeat it; ask what to do instead.".to_owned()),
            Answer::Absent => {
                Err("This call needs the user's consent, and nobody is there to give it. Do without it.".to_owned())
            }
        }
    }
}
