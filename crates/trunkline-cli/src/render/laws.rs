//! What holds of everything that is shown, whatever a server sent.

use trunkline::RawJson;

use super::{escape, json};

/// Nothing that is shown moves the cursor, hides or reorders text; text that needs no care stays as it is; and JSON stays
/// the same value.
pub(crate) fn shown(text: &str) {
    let (many, line) = (escape::text(text), escape::line(text));
    assert!(many.chars().all(|c| matches!(c, '\n' | '\t') || is_harmless(c)), "{many:?}");
    assert!(line.chars().all(is_harmless) && !line.contains(['\n', '\r', '\t']), "{line:?}");
    if escape::hidden(text).is_empty() && !text.contains('\r') {
        assert_eq!(many, text);
    }
    let Ok(raw) = RawJson::parse(text.to_owned()) else { return };
    let (pretty, escaped) = (json::pretty(&raw), escape::json(&json::pretty(&raw)));
    for written in [pretty, escaped.clone()] {
        let again = RawJson::parse(written).expect("what is shown of JSON is JSON");
        assert_eq!(again.to_value(), raw.to_value());
    }
    assert!(escaped.chars().all(is_harmless), "{escaped:?}");
}

fn is_harmless(c: char) -> bool {
    escape::hidden(&c.to_string()).is_empty()
}
