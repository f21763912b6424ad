//! Asks the person at the terminal whether a call may be made.

use std::sync::Arc;

use crate::person::Person;

/// What the person says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    /// Yes, and from now on.
    Always,
    No,
    /// Nobody is there.
    Absent,
}

/// Waits until nobody else asks, then asks. `settled` is looked at first: another answer may have made the question
/// needless.
pub(crate) async fn ask(person: &Arc<Person>, question: impl FnOnce() -> String, settled: impl Fn() -> bool) -> Answer {
    if !person.is_there {
        return Answer::Absent;
    }
    let mut turn = person.turn().await;
    if settled() {
        return Answer::Yes;
    }
    let question = question();
    loop {
        let Some(line) = turn.ask(&format!("{question} [y]es, [n]o, [a]lways: ")).await else { return Answer::No };
        if let Some(answer) = meaning(&line) {
            return answer;
        }
    }
}

fn meaning(line: &str) -> Option<Answer> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Some(Answer::Yes),
        "n" | "no" => Some(Answer::No),
        "a" | "always" => Some(Answer::Always),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_generously_and_never_guessed() {
        for (line, answer) in [
            ("y\n", Some(Answer::Yes)),
            (" YES ", Some(Answer::Yes)),
            ("n", Some(Answer::No)),
            ("always\r\n", Some(Answer::Always)),
            ("\n", None),
            ("yep", None),
        ] {
            assert_eq!(meaning(line), answer, "{line:?}");
        }
    }
}
