//! What holds of names, whatever labels and tools there are.

use std::collections::{BTreeSet, HashMap};

use super::{NameRule, Namer, check_label, label_from_command, label_from_url, legal, told_apart, unique_label};

fn is_legal(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Exposed names are legal for every provider, each means one tool of one server, and they don't depend on who else is up.
pub(crate) fn exposed(labels: &BTreeSet<String>, tools: &BTreeSet<String>) {
    let namer = Namer::new(labels);
    let backwards = Namer::new(labels.iter().rev().chain(labels));
    let mut seen = HashMap::new();
    for label in labels {
        for tool in tools {
            let name = namer.exposed(label, tool);
            assert!(is_legal(&name), "{name}");
            assert_eq!(backwards.exposed(label, tool), name);
            assert!(namer.may_be_of(label, &name), "{name} of {label}");
            if let Some(other) = seen.insert(name.clone(), (label, tool)) {
                panic!("{name} means {other:?} and {:?}", (label, tool));
            }
        }
    }
    for tool in tools {
        let name = legal(tool, "l", tool);
        assert!(is_legal(&name) && (name == *tool || !is_legal(tool)), "{name}");
        let apart = told_apart(&name, "l", tool, |other| other == name);
        assert!(is_legal(&apart) && apart != name, "{apart}");
        for rule in [
            NameRule { also: "-", longest: 128, letter_first: false },
            NameRule { also: "-.", longest: 64, letter_first: true },
        ] {
            let instead = rule.instead(tool, |other| other == name);
            assert!(rule.takes(&instead) && instead != name, "{instead:?} for {tool:?}");
        }
    }
}

/// Whatever a label is made of, it is a legal one.
pub(crate) fn labels(text: &str) {
    for label in [label_from_command(text), label_from_url(text)] {
        check_label(&label).unwrap();
        check_label(&unique_label(&label, |other| other == label)).unwrap();
    }
    if let Err(error) = check_label(text) {
        assert!(!error.message().chars().any(char::is_control), "{error:?}");
    }
}
