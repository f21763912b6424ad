//! The soak run: a great number of calls on one server, several at a time, with a reconnect now and then. Memory has to
//! stay flat.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use tokio::time::{sleep, timeout};
use trunkline::{Client, Error, ErrorKind};

use crate::deed::Way;
use crate::fleet::{client, limits};
use crate::host::Host;
use crate::signals;
use crate::slope::slope;
use crate::vitals::{Vitals, mebibytes, memory};

const IN_FLIGHT: u64 = 16;
/// How many reconnects there are in a run.
const RECONNECTS: u64 = 100;
/// One call of so many is dropped before its answer.
const DROPPED: u64 = 100;
/// What part of the calls warms up.
const WARM: f64 = 0.2;
const SAMPLE: Duration = Duration::from_millis(50);
/// How much the line through the samples may rise from its beginning to its end. Memory is handed out in pieces of 32
/// bytes at least: one piece lost a call would be 2.4 MiB in 100,000 calls (of which four fifths are measured), and 24 MiB
/// in a million; one of 10 KiB lost a reconnect would be as much in any run.
const RISE: f64 = (1 << 20) as f64 * 0.75;

pub(crate) async fn run(calls: u64) -> Result<(), String> {
    soak(Way::Stdio, calls).await?;
    soak(Way::Http, calls).await
}

struct Soak {
    client: Client,
    host: Option<Host>,
    folder: tempfile::TempDir,
    calls: u64,
    answered: AtomicU64,
    failed: AtomicU64,
    reconnects: AtomicU64,
    over: AtomicBool,
    fault: Mutex<Option<String>>,
}

async fn soak(way: Way, calls: u64) -> Result<(), String> {
    let folder = tempfile::Builder::new().prefix("trunkline-soak-").tempdir().map_err(|error| error.to_string())?;
    let host = (way == Way::Http).then(|| Host::start(folder.path(), "soak")).transpose()?;
    let client = client(folder.path(), "soak", host.as_ref()).limits(limits()).label("soak").build();
    let client = client.map_err(|error| error.to_string())?;
    let (answered, failed, reconnects) = Default::default();
    let (over, fault) = Default::default();
    let soak = Arc::new(Soak { client, host, folder, calls, answered, failed, reconnects, over, fault });

    while soak.client.connect().await.is_err() {
        sleep(SAMPLE).await; // the server over HTTP has only begun to start
    }
    soak.client.disconnect().await;
    // the guard, which the first server over stdio has brought, and the server over HTTP
    let children = 1 + usize::from(way == Way::Http);
    let before = Vitals::settled(|now| now.children == children).await;

    let begun = Instant::now();
    let sampling = tokio::spawn(sample(soak.clone()));
    let workers: Vec<_> = (0..IN_FLIGHT).map(|who| tokio::spawn(work(soak.clone(), who))).collect();
    for worker in workers {
        worker.await.map_err(|error| error.to_string())?;
    }
    let took = begun.elapsed().as_secs_f64();
    soak.over.store(true, Ordering::SeqCst);
    let samples = sampling.await.map_err(|error| error.to_string())?;
    soak.client.disconnect().await;
    let back =
        |now: &Vitals| now.files <= before.files && now.threads <= before.threads && now.children <= before.children;
    let after = Vitals::settled(back).await;

    let soak = Arc::into_inner(soak).ok_or("somebody still uses the run")?;
    if let Some(fault) = soak.fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(fault);
    }
    let warm: Vec<_> = samples.iter().filter(|(at, _)| *at >= WARM * calls as f64).copied().collect();
    let (Some(first), Some(last)) = (warm.first(), warm.last()) else { return Err("no samples".to_owned()) };
    let (slope, error) = slope(&warm);
    let rise = slope * (last.0 - first.0);
    println!(
        "soak over {way:?}: {calls} calls, {:.0}/s, {} reconnects, {} calls lost with their server",
        calls as f64 / took,
        soak.reconnects.into_inner(),
        soak.failed.into_inner()
    );
    println!(
        "  memory {:.2} → {:.2} MiB in {} samples after the first fifth; slope {:+.3} ± {:.3} MiB per million calls; \
         {} files, {} threads, {} children as before",
        mebibytes(first.1),
        mebibytes(last.1),
        warm.len(),
        mebibytes(slope * 1e6),
        mebibytes(error * 1e6),
        after.files,
        after.threads,
        after.children
    );
    if let Some(host) = soak.host {
        host.stop().await;
    }
    match signals::servers_running(soak.folder.path()) {
        0 => {}
        left => return Err(format!("{left} servers still run")),
    }
    if !back(&after) {
        return Err(format!("more is held than before the run: {after}; it was {before}"));
    }
    if rise > RISE {
        return Err(format!("memory grew by {:.2} MiB: that is no noise", mebibytes(rise)));
    }
    Ok(())
}

/// How many calls were answered, and the memory held: now and then.
async fn sample(soak: Arc<Soak>) -> Vec<(f64, f64)> {
    let mut samples = Vec::with_capacity(1 << 16);
    while !soak.over.load(Ordering::SeqCst) {
        samples.push((soak.answered.load(Ordering::Relaxed) as f64, memory() as f64));
        sleep(SAMPLE).await;
    }
    samples
}

/// Calls until enough was answered.
async fn work(soak: Arc<Soak>, who: u64) {
    let mut which = 0_u64;
    while soak.goes_on() {
        which += 1;
        let nonce = format!("{who}-{which}");
        let call = soak.client.call("work", json!({"nonce": nonce}));
        if which.is_multiple_of(DROPPED) {
            let _ = timeout(Duration::ZERO, call.into_future()).await; // sent, and given up
            continue;
        }
        match call.await {
            Ok(result) if result.text() == nonce => {
                let answered = soak.answered.fetch_add(1, Ordering::Relaxed) + 1;
                if answered.is_multiple_of((soak.calls / RECONNECTS).max(1)) {
                    soak.reconnect().await;
                }
            }
            Ok(result) => soak.fail(format!("{nonce} got the answer {}", result.text())),
            Err(error) => soak.lost(&error).await,
        }
    }
}

impl Soak {
    fn goes_on(&self) -> bool {
        self.answered.load(Ordering::Relaxed) < self.calls && !self.over.load(Ordering::Relaxed)
    }

    fn fail(&self, fault: String) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
        self.over.store(true, Ordering::SeqCst);
    }

    /// A call that its server couldn't answer, because it was killed.
    async fn lost(&self, error: &Error) {
        let gone = matches!(error.kind(), ErrorKind::Closed | ErrorKind::Unreachable)
            || error.kind() == ErrorKind::Protocol && error.code().is_none() && self.host.is_some();
        if !gone {
            return self.fail(format!("a call failed for no reason that is known: {error:?}"));
        }
        self.failed.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(5)).await;
    }

    /// Kills the server, or lets it forget the session.
    async fn reconnect(&self) {
        let number = self.reconnects.fetch_add(1, Ordering::Relaxed);
        match &self.host {
            None => drop(signals::send(self.folder.path(), "soak", Signal::KILL)),
            Some(host) if number.is_multiple_of(2) => host.kill(Duration::from_millis(20)),
            Some(_) => {
                let nonce = format!("forget-{number}");
                let forgotten = self.client.call("work", json!({"nonce": nonce, "do": "forget"})).await;
                if let Err(error) = forgotten {
                    self.lost(&error).await;
                }
            }
        }
    }
}
