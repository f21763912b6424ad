//! While somebody logs in, the clocks that mind the server stand still: a person takes longer than any server may.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How many logins are under way. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pause(Arc<watch::Sender<usize>>);

/// A login that is under way, as long as this is held.
#[cfg(any(test, feature = "oauth"))]
pub(crate) struct Paused(Pause);

impl Pause {
    #[cfg(any(test, feature = "oauth"))]
    pub(crate) fn begin(&self) -> Paused {
        self.0.send_modify(|under_way| *under_way += 1);
        Paused(self.clone())
    }

    /// Waits until no login is under way any more; whether one was.
    #[cfg(feature = "oauth")]
    pub(crate) async fn over(&self) -> bool {
        let mut under_way = self.0.subscribe();
        let was = *under_way.borrow_and_update() > 0;
        was && under_way.wait_for(|under_way| *under_way == 0).await.is_ok()
    }

    /// What the future comes to, if it takes no longer than `limit` beside the time of logins.
    pub(crate) async fn within<T>(&self, limit: Duration, future: impl Future<Output = T>) -> Option<T> {
        let (mut future, mut left) = (pin!(future), limit);
        let mut under_way = self.0.subscribe();
        loop {
            let (paused, begun) = (*under_way.borrow_and_update() > 0, Instant::now());
            tokio::select! {
                biased;
                done = &mut future => return Some(done),
                _ = under_way.changed() => {}
                () = sleep(left), if !paused => return None,
            }
            if !paused {
                left = left.saturating_sub(begun.elapsed());
            }
        }
    }
}

#[cfg(any(test, feature = "oauth"))]
impl Drop for Paused {
    fn drop(&mut self) {
        self.0.0.send_modify(|under_way| *under_way -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn the_time_of_logins_does_not_count() {
        let pause = Pause::default();
        let slow = |logins: u32| {
            let pause = pause.clone();
            async move {
                sleep(LIMIT * 6 / 10).await;
                for _ in 0..logins {
                    let _one = pause.begin();
                    let _another = pause.begin();
                    sleep(LIMIT * 100).await;
                }
                sleep(LIMIT * 3 / 10).await;
            }
        };
        assert_eq!(pause.within(LIMIT, slow(0)).await, Some(()));
        assert_eq!(pause.within(LIMIT, slow(3)).await, Some(()));
    }

    #[tokio::test(start_paused = true)]
    async fn all_other_time_does() {
        let pause = Pause::default();
        let begun = Instant::now();
        assert_eq!(pause.within(LIMIT, std::future::pending::<()>()).await, None);
        assert_eq!(begun.elapsed(), LIMIT);
        let login = async {
            sleep(LIMIT / 2).await;
            drop((pause.begin(), sleep(LIMIT * 5).await));
            std::future::pending::<()>().await
        };
        let begun = Instant::now();
        assert_eq!(pause.within(LIMIT, login).await, None);
        assert_eq!(begun.elapsed(), LIMIT * 6);
    }
}
