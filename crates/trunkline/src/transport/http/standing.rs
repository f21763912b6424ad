//! The standing stream: a GET on which the server says what belongs to no request. It is opened beside everything else;
//! that there is none, or that it breaks, is no failure of the server.

use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use tokio::sync::oneshot;

use super::answer::content_type;
use super::follow::{End, Place, follow, hand_on};
use super::requests::{Core, pause};

/// How often in a row the stream may end without having said anything.
const MOST_TRIES: usize = 8;
/// A stream that lasted so long was worth it, even if nothing was said.
const LONG: Duration = Duration::from_secs(60);

/// Listens until the server has no such stream, or ends it in silence too often.
pub(super) async fn listen(core: Weak<Core>, opened: oneshot::Sender<()>) {
    let mut opened = Some(opened);
    let mut place = Place::default();
    let (mut tries, mut was_there) = (0, false);
    loop {
        let begun = Instant::now();
        place.heard = false;
        {
            let Some(core) = core.upgrade() else { return };
            match core.get(place.last.as_deref()).await {
                Err(failure) => tracing::debug!(error = %failure.error, "the standing stream can't be opened"),
                Ok(answer) if was_there && core.is_lost(answer.status) => return drop(core.lose()),
                Ok(mut answer)
                    if answer.status.is_success() && content_type(&answer).as_deref() == Some("text/event-stream") =>
                {
                    was_there = true;
                    core.listens.store(true, Ordering::Relaxed);
                    drop(opened.take());
                    let end = follow(&mut answer.body, &mut place, &core.limits, Duration::ZERO, &mut |event, data| {
                        hand_on(&*core.inbox, event, data, None);
                    })
                    .await;
                    core.listens.store(false, Ordering::Relaxed);
                    if let End::Refused(error) = end {
                        core.inbox.warning(format!("sent too much on its standing stream: {error}"));
                        return;
                    }
                }
                Ok(answer) if may_come_back(answer.status) => {}
                Ok(_) => return, // there is none; some servers say so with 404
            }
        }
        drop(opened.take());
        tries = if place.heard || begun.elapsed() > LONG { 1 } else { tries + 1 };
        if tries > MOST_TRIES {
            tracing::debug!("the standing stream is given up");
            return;
        }
        tokio::time::sleep(pause(place.retry, tries)).await;
    }
}

/// Whether a refusal may be for the moment only.
pub(super) fn may_come_back(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 500 | 502..=504)
}
