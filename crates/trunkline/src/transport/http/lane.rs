//! One HTTP/1.1 connection. It has no task of its own: whoever uses it drives it, so that a request costs no hop
//! between tasks.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use super::connect::Stream;

/// An HTTP/1.1 connection and what drives it, while it lives. Large, so it is kept in a box.
pub(super) struct Lane {
    pub(super) sender: http1::SendRequest<Full<Bytes>>,
    pub(super) driver: Option<http1::Connection<TokioIo<Stream>, Full<Bytes>>>,
}

impl Lane {
    /// Drives the connection while `work` waits for it.
    pub(super) async fn driven<T>(&mut self, work: impl Future<Output = T>) -> T {
        let driver = &mut self.driver;
        drive(driver, work).await
    }

    /// Whether the peer still holds it open and it can take a request.
    pub(super) async fn is_usable(&mut self) -> bool {
        let Self { sender, driver } = self;
        poll_fn(|cx| {
            let alive = driver.as_mut().is_some_and(|driver| Pin::new(driver).poll(cx).is_pending());
            Poll::Ready(alive && matches!(sender.poll_ready(cx), Poll::Ready(Ok(()))))
        })
        .await
    }
}

/// Drives a connection while `work` waits for it.
pub(super) async fn drive<T>(
    driver: &mut Option<http1::Connection<TokioIo<Stream>, Full<Bytes>>>,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    poll_fn(|cx| {
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(done);
        }
        let Some(running) = driver.as_mut() else { return Poll::Pending };
        if Pin::new(running).poll(cx).is_ready() {
            *driver = None; // what went wrong, `work` hears as well
        }
        work.as_mut().poll(cx)
    })
    .await
}
