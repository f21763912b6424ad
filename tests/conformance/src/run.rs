//! Plays the legs, judges what came out, and says so.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::floor::{Floor, Verdict};
use crate::legs::{LEGS, Leg};
use crate::page::{self, Played};
use crate::results::{self, Outcome};
use crate::suite::Suite;

/// What stands behind `run`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    /// This scenario alone.
    scenario: Option<String>,
    /// This leg alone.
    spec: Option<String>,
    update_floor: bool,
}

impl Options {
    pub(crate) fn parse(args: &[String]) -> Result<Self, String> {
        let (mut options, mut args) = (Self::default(), args.iter());
        while let Some(arg) = args.next() {
            let mut value = || args.next().cloned().ok_or_else(|| format!("`{arg}` needs a value"));
            match arg.as_str() {
                "--scenario" => options.scenario = Some(value()?),
                "--spec" => options.spec = Some(value()?),
                "--update-floor" => options.update_floor = true,
                _ => {
                    return Err(format!(
                        "`conformance` knows no `{arg}`; there are --scenario, --spec and --update-floor"
                    ));
                }
            }
        }
        Ok(options)
    }

    fn legs(&self) -> Result<Vec<Leg>, String> {
        let wanted = |leg: &Leg| self.spec.as_ref().is_none_or(|spec| spec == leg.name);
        let legs: Vec<_> = LEGS.into_iter().filter(wanted).collect();
        if legs.is_empty() {
            return Err(format!("--spec is one of {}", LEGS.map(|leg| leg.name).join(", ")));
        }
        Ok(legs)
    }
}

/// Plays what is wanted; a line on how it went.
pub(crate) fn run(options: &Options) -> Result<String, String> {
    let (suite, mut floor) = (Suite::new()?, Floor::read()?);
    let mut played = Vec::new();
    for leg in options.legs()? {
        let begun = Instant::now();
        let outcomes = match &options.scenario {
            None => leg_of(&suite, &floor, &leg)?,
            Some(name) if floor.scenarios(leg.name).contains(name.as_str()) => {
                results::read(&suite.play_alone(&leg, name)?)?
            }
            Some(_) => continue,
        };
        println!("  {}: {} scenarios in {:.1} s", leg.name, outcomes.len(), begun.elapsed().as_secs_f64());
        played.push(Played { leg, required: suite.required(&leg)?, outcomes });
    }
    if options.update_floor {
        played.iter().for_each(|played| floor.raise(&played.leg, &played.outcomes));
        floor.write()?;
    }
    let failed = failures(&floor, &played, options.scenario.as_deref());
    if options.scenario.is_none() && options.spec.is_none() && failed.is_empty() {
        page::write(&suite.version()?, &floor, &played)?;
    }
    if failed.is_empty() { Ok(page::summary(&floor, &played)) } else { Err(failed.join("\n")) }
}

/// Plays a leg, and what failed of it once more, alone: many clients at once on a busy machine are no fault of the client.
fn leg_of(suite: &Suite, floor: &Floor, leg: &Leg) -> Result<BTreeMap<String, Outcome>, String> {
    let mut outcomes = results::read(&suite.play(leg)?)?;
    let names: Vec<_> = outcomes.keys().cloned().collect();
    for name in names {
        if let Verdict::Failed(_) = floor.judge(leg, &name, outcomes.get(&name)) {
            println!("  {} {name} failed among others; once more, alone", leg.name);
            outcomes.extend(results::read(&suite.play_alone(leg, &name)?)?);
        }
    }
    Ok(outcomes)
}

/// A line for each scenario that isn't as it must be.
fn failures(floor: &Floor, played: &[Played], only: Option<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    if played.is_empty() {
        lines.push(format!("no leg has a scenario named {}", only.unwrap_or_default()));
    }
    for Played { leg, outcomes, .. } in played {
        let mut names: BTreeSet<_> = outcomes.keys().map(String::as_str).collect();
        if only.is_none() {
            names.extend(floor.scenarios(leg.name));
        }
        for name in names {
            match floor.judge(leg, name, outcomes.get(name)) {
                Verdict::Failed(why) => lines.push(format!("{} {name}: {why}", leg.name)),
                Verdict::Stale(why) => lines.push(format!("{} {name}: {why}", leg.name)),
                Verdict::NotYet if only.is_some() => {
                    println!("{} {name}: not yet: {:#?}", leg.name, outcomes[name]);
                }
                Verdict::Passed | Verdict::NotYet => {}
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_choose_legs_and_scenarios() {
        assert_eq!(options("").unwrap().legs().unwrap().len(), LEGS.len());
        let one = options("--spec 2025-11-25 --scenario tools_call").unwrap();
        assert_eq!((one.legs().unwrap().len(), one.scenario.as_deref()), (1, Some("tools_call")));
        assert!(options("--spec").unwrap_err().contains("`--spec` needs a value"));
        assert!(options("--all").unwrap_err().contains("`--all`"));
        assert!(options("--spec 1999-01-01").unwrap().legs().unwrap_err().contains("2025-11-25, 2026-07-28"));
    }
}
