//! Who of the clients of one connection wants to hear of which resource. The server behind it knows one subscriber:
//! it is told to stop only once nobody wants to hear any more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub(super) struct Subscriptions(Mutex<BTreeMap<String, BTreeSet<u64>>>);

impl Subscriptions {
    fn table(&self) -> MutexGuard<'_, BTreeMap<String, BTreeSet<u64>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, uri: String, client: u64) {
        self.table().entry(uri).or_default().insert(client);
    }

    pub(super) fn holds(&self, uri: &str, client: u64) -> bool {
        self.table().get(uri).is_some_and(|clients| clients.contains(&client))
    }

    /// Whether others want to hear of it too.
    pub(super) fn shared(&self, uri: &str, client: u64) -> bool {
        self.table().get(uri).is_some_and(|clients| clients.iter().any(|other| *other != client))
    }

    pub(super) fn remove(&self, uri: &str, client: u64) {
        let mut table = self.table();
        if let Some(clients) = table.get_mut(uri) {
            clients.remove(&client);
            if clients.is_empty() {
                table.remove(uri);
            }
        }
    }

    /// The client is gone; what nobody wants to hear of any more.
    pub(super) fn leave(&self, client: u64) -> Vec<String> {
        let mut left = Vec::new();
        self.table().retain(|uri, clients| {
            if clients.remove(&client) && clients.is_empty() {
                left.push(uri.clone());
            }
            !clients.is_empty()
        });
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p93_a_subscription_lasts_as_long_as_its_last_client() {
        let table = Subscriptions::default();
        for (uri, client) in [("a:1", 1), ("a:1", 2), ("a:2", 1), ("a:2", 1)] {
            table.add(uri.to_owned(), client);
        }
        assert!(table.holds("a:1", 1) && table.shared("a:1", 1));
        assert!(table.holds("a:2", 1) && !table.shared("a:2", 1));
        table.remove("a:2", 1);
        table.remove("a:3", 1);
        assert!(!table.holds("a:2", 1));
        assert!(table.leave(1).is_empty());
        assert!(!table.holds("a:1", 1) && table.holds("a:1", 2));
        assert_eq!(table.leave(2), ["a:1"]);
    }
}
