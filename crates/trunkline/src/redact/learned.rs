//! Secrets that turn up while a server is used: tokens, one after the other.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

/// How many forms of tokens are remembered; a token that is older has long run out.
const MOST: usize = 64;

/// Shared by all copies of a redactor; the newest last.
#[derive(Clone, Default)]
pub(super) struct Learned(Arc<RwLock<VecDeque<Box<str>>>>);

impl Learned {
    pub(super) fn add(&self, forms: Vec<Box<str>>) {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if forms.iter().all(|form| known.contains(form)) {
            return;
        }
        drop(known);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for form in forms {
            if !known.contains(&form) {
                known.push_back(form);
            }
        }
        let surplus = known.len().saturating_sub(MOST);
        known.drain(..surplus);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(super) fn each(&self, mut see: impl FnMut(&str)) {
        self.0.read().unwrap_or_else(PoisonError::into_inner).iter().for_each(|form| see(form));
    }
}
