//! The plan of a run: a pure function of the seed. Which call goes where, what its server does with it and how long it
//! waits depends only on who makes it and which of its calls it is; so does what happens to the servers from outside.

use std::hash::{BuildHasher as _, RandomState};
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::deed::{Row, Way};

/// A seed by chance.
pub(crate) fn chance() -> u64 {
    RandomState::new().hash_one(0) % 1_000_000
}

/// Numbers that look random and follow from a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn of(seed: u64, who: u64, which: u64) -> Self {
        let mut dice = Self(seed);
        dice.0 = dice.next() ^ who.wrapping_mul(0xA24B_AED4_963E_E407);
        dice.0 = dice.next() ^ which.wrapping_mul(0x9FB2_1C65_1E98_DF25);
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        range.start() + self.next() % (range.end() - range.start() + 1)
    }

    fn millis(&mut self, range: RangeInclusive<u64>) -> Duration {
        Duration::from_millis(self.within(range))
    }
}

/// How a caller gives up before the deadline, if it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivesUp {
    Never,
    /// Drops the future.
    Drops(Duration),
    /// Throws the switch of the call's context.
    Cancels(Duration),
}

/// One call.
pub(crate) struct Call {
    /// Its own text, which nothing but its answer holds.
    pub(crate) nonce: String,
    pub(crate) server: usize,
    pub(crate) row: &'static Row,
    pub(crate) amount: u64,
    pub(crate) timeout: Duration,
    pub(crate) gives_up: GivesUp,
}

impl Call {
    /// Call number `which` of caller `who`, where the servers are reached in these ways.
    pub(crate) fn planned(seed: u64, who: u64, which: u64, ways: &[Way]) -> Self {
        let mut dice = Dice::of(seed, who, which);
        let server = dice.within(0..=ways.len() as u64 - 1) as usize;
        let row = Row::drawn(ways[server], dice.next());
        let amount = dice.within(row.amount.clone());
        let timeout = dice.millis(50..=1500);
        let gives_up = match dice.within(0..=19) {
            0 => GivesUp::Drops(dice.millis(0..=300)),
            1 => GivesUp::Cancels(dice.millis(0..=300)),
            _ => GivesUp::Never,
        };
        Self { nonce: format!("call-{who}-{which}."), server, row, amount, timeout, gives_up }
    }
}

/// What happens to a server from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blow {
    /// SIGKILL. A server over HTTP is back after a while.
    Kill(Duration),
    /// SIGSTOP, and SIGCONT after a while.
    Freeze(Duration),
    /// The client disconnects from it, whatever runs.
    Disconnect,
}

/// Blow number `which`: after how long a pause, whom it hits, what it is.
pub(crate) fn blow(seed: u64, which: u64, servers: usize) -> (Duration, usize, Blow) {
    let mut dice = Dice::of(seed, u64::MAX, which);
    let (pause, server) = (dice.millis(5..=75), dice.within(0..=servers as u64 - 1) as usize);
    let blow = match dice.within(0..=9) {
        0..=5 => Blow::Kill(dice.millis(0..=300)),
        6..=8 => Blow::Freeze(dice.millis(1..=600)),
        _ => Blow::Disconnect,
    };
    (pause, server, blow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_follows_from_its_seed_alone() {
        let ways = [Way::Stdio, Way::Http, Way::Http];
        let shown = |seed, who, which| {
            let call = Call::planned(seed, who, which, &ways);
            (call.nonce, call.server, call.row.word, call.amount, call.timeout, call.gives_up)
        };
        let all = |seed| (0..50).flat_map(move |who| (0..20).map(move |which| shown(seed, who, which)));
        assert!(all(7).eq(all(7)));
        assert!(all(7).zip(all(8)).filter(|(one, other)| one == other).count() < 20);
        assert_eq!(blow(7, 3, 50), blow(7, 3, 50));
        assert!((0..50).any(|which| blow(7, which, 50) != blow(8, which, 50)));
    }

    #[test]
    fn every_kind_of_fault_is_planned() {
        let calls: Vec<_> = (0..5000).map(|which| Call::planned(1, 0, which, &[Way::Stdio, Way::Http])).collect();
        let words: std::collections::BTreeSet<_> = calls.iter().map(|call| call.row.word).collect();
        assert_eq!(words.len(), 32, "{words:?}");
        assert!(calls.iter().any(|call| matches!(call.gives_up, GivesUp::Drops(_))));
        assert!(calls.iter().any(|call| matches!(call.gives_up, GivesUp::Cancels(_))));
    }
}
