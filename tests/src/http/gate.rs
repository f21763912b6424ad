//! `Gate`: a place in a script where it waits for the test, and where the test can wait for it.

use std::sync::Arc;

use tokio::sync::watch;

use crate::wait::limit;

/// Closed until the test opens it. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate(Arc<watch::Sender<(usize, bool)>>);

impl Gate {
    /// A closed gate.
    #[expect(clippy::new_without_default, reason = "a default gate says nothing of being closed")]
    pub fn new() -> Gate {
        Gate(Arc::new(watch::Sender::new((0, false))))
    }

    /// Lets through whoever waits and whoever comes.
    pub fn open(&self) {
        self.0.send_modify(|(_, open)| *open = true);
    }

    /// Waits until so many have come to the gate.
    pub async fn reached(&self, n: usize) {
        let mut state = self.0.subscribe();
        let came = async { state.wait_for(|(came, _)| *came >= n).await.map(drop) };
        tokio::time::timeout(limit(), came).await.expect("the script to reach the gate").expect("the gate");
    }

    pub(crate) async fn pass(&self) {
        self.0.send_modify(|(came, _)| *came += 1);
        let _ = self.0.subscribe().wait_for(|(_, open)| *open).await; // this gate holds the sender
    }
}
