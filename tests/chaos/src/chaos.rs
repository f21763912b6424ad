//! The chaos run: rounds of many calls on servers that fail in every way, and what is left after each.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use trunkline::{CallContext, Cancellation, Connection as _, IntoArguments as _};

use crate::fleet::{Fleet, START};
use crate::ledger::Ledger;
use crate::plan::{Call, GivesUp, blow};
use crate::signals::servers_running;
use crate::verdict::{Done, Outcome, judge};
use crate::vitals::Vitals;

const SERVERS: usize = 50;
const CALLERS: u64 = 64;
/// How long a round lasts before everything is disconnected and measured.
const ROUND: Duration = Duration::from_secs(12);
/// How much more memory may be held after a round than after the first. A heap that two threads use comes to rest within
/// some 2 MiB; a hundred bytes lost a call would be as much as this in a hundred seconds.
const MORE_MEMORY: u64 = 8 << 20;
/// What a call may take beside the time it was given: two starts (of a server that was lost in between), the ends of the
/// processes before them, and a busy machine.
const SLACK: Duration = START.saturating_mul(2).saturating_add(Duration::from_secs(20));

struct Run {
    seed: u64,
    fleet: Fleet,
    ledger: Ledger,
    /// How far each caller is in its plan.
    made: Vec<AtomicU64>,
    blows: AtomicU64,
    over: AtomicBool,
    ends: Mutex<BTreeMap<String, u64>>,
}

pub(crate) async fn run(seconds: u64, seed: u64) -> Result<(), String> {
    println!("chaos: {SERVERS} servers, {CALLERS} callers, {seconds} s, SEED={seed}");
    let folder = tempfile::Builder::new().prefix("trunkline-chaos-").tempdir().map_err(|error| error.to_string())?;
    let run = Arc::new(Run {
        seed,
        fleet: Fleet::start(folder.path(), SERVERS)?,
        ledger: Ledger::open(folder.path())?,
        made: (0..CALLERS).map(|_| AtomicU64::new(0)).collect(),
        blows: AtomicU64::new(0),
        over: AtomicBool::new(false),
        ends: Mutex::default(),
    });
    let begun = Instant::now();
    let rounds = (seconds / ROUND.as_secs()).max(2);
    let mut first: Option<Vitals> = None;
    for round in 1..=rounds {
        run.round(Duration::from_secs(seconds) / u32::try_from(rounds).unwrap_or(u32::MAX)).await;
        // the first round warms up: threads, buffers, the guard process
        let back = |now: &Vitals| first.is_none_or(|first| now.is_back_to(&first));
        let now = Vitals::settled(|now| now.children <= SERVERS / 2 + 1 && back(now)).await;
        println!(
            "  round {round}/{rounds}: {} calls, {} blows; holds {now}",
            run.calls(),
            run.blows.load(Ordering::Relaxed)
        );
        let first = *first.get_or_insert(now);
        if !now.is_back_to(&first) {
            run.ledger.fault(format!("after round {round} more is held than after the first: {now}; it was {first}"));
        }
    }
    let calls = run.calls();
    let run = Arc::into_inner(run).ok_or("somebody still uses the run")?;
    let Run { fleet, ledger, ends, blows, .. } = run;
    fleet.stop().await;
    let left = servers_running(folder.path());
    if left > 0 {
        ledger.fault(format!("{left} servers still run"));
    }
    let (faults, done) = ledger.close(folder.path(), SERVERS)?;
    let ends = ends.into_inner().unwrap_or_else(PoisonError::into_inner);
    let told: Vec<_> = ends.iter().map(|(end, count)| format!("{count} {end}")).collect();
    println!(
        "  {calls} calls in {:.0} s, {done} done by a server, {} blows",
        begun.elapsed().as_secs_f64(),
        blows.into_inner()
    );
    println!("  they ended: {}", told.join(", "));
    let verdict = faults
        .verdict()
        .map_err(|faults| format!("{faults}\nTo see it again: SEED={seed} cargo xtask chaos --seconds {seconds}"));
    verdict.inspect_err(|_| drop(folder.keep()))
}

impl Vitals {
    /// Whether no more is held than `then`.
    fn is_back_to(&self, then: &Self) -> bool {
        let counts = self.files <= then.files && self.threads <= then.threads && self.children <= then.children;
        counts && self.memory <= then.memory + MORE_MEMORY
    }
}

impl Run {
    fn calls(&self) -> u64 {
        self.made.iter().map(|made| made.load(Ordering::Relaxed)).sum()
    }

    /// Calls and blows for so long; at the end every call has ended and every server is disconnected.
    async fn round(self: &Arc<Self>, length: Duration) {
        self.over.store(false, Ordering::SeqCst);
        let run = self.clone();
        let blows = tokio::spawn(async move { run.deal_blows().await });
        let run = self.clone();
        let lister = tokio::spawn(async move { run.list().await });
        let callers: Vec<JoinHandle<()>> = (0..CALLERS)
            .map(|who| {
                let run = self.clone();
                tokio::spawn(async move { run.call(who).await })
            })
            .collect();
        sleep(length).await;
        self.over.store(true, Ordering::SeqCst);
        for task in callers.into_iter().chain([blows, lister]) {
            if let Err(error) = task.await {
                self.ledger.fault(format!("a task of the run failed: {error}"));
            }
        }
        if timeout(SLACK, self.fleet.multi.disconnect()).await.is_err() {
            self.ledger.fault("the servers could not be disconnected".to_owned());
        }
    }

    fn goes_on(&self) -> bool {
        !self.over.load(Ordering::SeqCst)
    }

    /// Hits one server after the other; what takes time goes on beside.
    async fn deal_blows(self: Arc<Self>) {
        let mut under_way = JoinSet::new();
        while self.goes_on() {
            let (pause, server, blow) = blow(self.seed, self.blows.fetch_add(1, Ordering::Relaxed), SERVERS);
            sleep(pause).await;
            let run = self.clone();
            under_way.spawn(async move { run.fleet.take(server, blow).await });
            while under_way.try_join_next().is_some() {}
        }
        under_way.join_all().await;
    }

    /// Asks for what an application asks for beside its calls.
    async fn list(self: Arc<Self>) {
        let mut events = self.fleet.multi.events();
        while self.goes_on() {
            let cx = CallContext::new().with_timeout(Duration::from_secs(1));
            let listed = timeout(SLACK, self.fleet.multi.list_tools(&cx)).await;
            match listed {
                Err(_) => self.ledger.fault("a list didn't end".to_owned()),
                Ok(Ok(tools)) if tools.len() > SERVERS => {
                    self.ledger.fault(format!("{} tools were listed of {SERVERS}", tools.len()));
                }
                _ => {}
            }
            let seen = self.fleet.multi.members().len();
            if seen != SERVERS {
                self.ledger.fault(format!("{seen} members instead of {SERVERS}"));
            }
            let _ = timeout(Duration::from_millis(200), events.next()).await; // a listener that is mostly too slow
        }
    }

    /// Makes one call after the other.
    async fn call(self: Arc<Self>, who: u64) {
        while self.goes_on() {
            let which = self.made[who as usize].fetch_add(1, Ordering::Relaxed);
            let call = Call::planned(self.seed, who, which, &self.fleet.ways);
            let begun = Instant::now();
            let outcome = self.make(&call).await;
            let verdict = judge(&call, &outcome, begun.elapsed());
            let (end, done) = match &verdict {
                Ok((end, done)) => (format!("{end:?}"), *done),
                Err(_) => ("Wrong".to_owned(), Done::Perhaps),
            };
            self.ledger.note(&call.nonce, call.server, done);
            *self.ends.lock().unwrap_or_else(PoisonError::into_inner).entry(end).or_default() += 1;
            if let Err(fault) = verdict {
                let Call { nonce, server, row, amount, timeout, gives_up } = &call;
                let error =
                    if let Outcome::Result(Err(error)) = &outcome { format!("\n    {error:?}") } else { String::new() };
                let what = format!("{nonce} on s{server}, {} {amount}, {timeout:?}, gives up {gives_up:?}", row.word);
                self.ledger.fault(format!("{what}: {fault}{error}"));
            }
        }
    }

    async fn make(&self, call: &Call) -> Outcome {
        let switch = Cancellation::new();
        let cx = CallContext::new().with_timeout(call.timeout).with_cancellation(switch.clone());
        let cx = if call.amount.is_multiple_of(2) { cx } else { cx.on_progress(|_| {}) };
        let arguments = json!({"nonce": call.nonce, "do": call.row.word, "amount": call.amount});
        let arguments = arguments.into_arguments().expect("an object");
        let tool = self.fleet.tool(call.server);
        let made = self.fleet.multi.call_tool(&tool, arguments, &cx);
        let bounded = timeout(call.timeout.saturating_mul(2) + SLACK, made);
        let ended = match call.gives_up {
            GivesUp::Never => bounded.await,
            GivesUp::Drops(after) => match timeout(after, bounded).await {
                Ok(ended) => ended,
                Err(_) => return Outcome::Dropped,
            },
            GivesUp::Cancels(after) => {
                let mut bounded = std::pin::pin!(bounded);
                match timeout(after, bounded.as_mut()).await {
                    Ok(ended) => ended,
                    Err(_) => {
                        switch.cancel();
                        bounded.await
                    }
                }
            }
        };
        ended.map_or(Outcome::Hangs, Outcome::Result)
    }
}
