//! What holds of the scanner and of raw JSON, whatever the text: it agrees with an independent parser.

use serde::Deserialize as _;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{FaultKind, Items, MAX_DEPTH, Members, Walk, repair, skip, whole};
use crate::protocol::RawJson;

/// Whether serde_json takes the text. It reads on the heap here, and doesn't look into escapes nor at sizes of numbers.
fn is_json(text: &[u8]) -> bool {
    let mut reader = serde_json::Deserializer::from_slice(text);
    reader.disable_recursion_limit();
    IgnoredAny::deserialize(&mut reader).is_ok() && reader.end().is_ok() && std::str::from_utf8(text).is_ok()
}

/// How deep brackets nest outside of texts.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Exactly the texts are taken that are JSON and not too deep; a lone surrogate is told, and replacing it mends the text.
pub(crate) fn scanner(text: &[u8]) {
    let theirs = is_json(text);
    let utf8 = std::str::from_utf8(text).is_ok();
    match whole(text).map_err(|fault| fault.kind) {
        Ok(()) => {
            assert!(theirs || !utf8, "taken, but no JSON");
            assert!(depth(text) <= MAX_DEPTH + 1, "nested {} deep", depth(text));
            assert!(skip(text, 0) == text.trim_ascii_end().len() || !utf8);
        }
        Err(FaultKind::Syntax) => assert!(!theirs, "JSON, but refused"),
        Err(FaultKind::Depth) => assert!(depth(text) > MAX_DEPTH, "nested {} deep", depth(text)),
        Err(FaultKind::Surrogate) => {
            let mended = repair(text);
            assert_ne!(whole(&mended).map_err(|fault| fault.kind), Err(FaultKind::Surrogate));
            assert_eq!(is_json(&mended), theirs || (!utf8 && is_json(&mended)));
        }
    }
    let mended = repair(text);
    assert_eq!(repair(&mended), mended, "mending once is enough");
    stays_calm(text);
}

/// The walks end on text that was never validated.
fn stays_calm(text: &[u8]) {
    assert!(skip(text, 0) <= text.len().max(1));
    let members = Members::new(text).map(|member| text[member.key].len() + text[member.value].len());
    assert!(members.sum::<usize>() <= text.len());
    assert!(Items::new(text).map(|item| text[item].len()).sum::<usize>() <= text.len());
    let mut walk = Walk::new(text);
    walk.enter();
    for _ in 0..text.len() {
        if walk.key().is_none() {
            break;
        }
        walk.value();
    }
}

/// Raw JSON says of a value what serde_json says, through every accessor, and rewriting leaves alone what it doesn't replace.
pub(crate) fn raw(text: &[u8]) {
    let Ok(raw) = RawJson::parse(text.to_vec()) else { return };
    let mut reader = serde_json::Deserializer::from_slice(text);
    reader.disable_recursion_limit();
    let value = raw.to_value(); // total, even where serde_json refuses a number
    if let Ok(theirs) = Value::deserialize(&mut reader) {
        assert_eq!(value, theirs);
    }
    same(&raw, &value);
    assert_eq!(raw.replacing(&|_, _| None), raw);
    let masked = raw.replacing(&|_, _| Some("\u{1}\"".to_owned()));
    assert!(RawJson::parse(masked.as_bytes().to_vec()).is_ok(), "{masked}");
    if raw.is_object() {
        let other = raw.with_member("k\u{1}", &raw);
        assert_eq!(other.get("k\u{1}").expect("it was set").as_bytes(), text.trim_ascii());
        assert!(is_json(other.as_bytes()), "{other}");
    }
}

fn same(raw: &RawJson, value: &Value) {
    match value {
        Value::Object(members) => {
            assert!(raw.is_object());
            assert!(raw.members().all(|(key, _)| members.contains_key(&key)));
            for (key, value) in members {
                same(&raw.get(key).expect("the member is there"), value);
            }
        }
        Value::Array(items) => {
            assert!(raw.is_array());
            assert_eq!(raw.items().count(), items.len());
            raw.items().zip(items).for_each(|(raw, value)| same(&raw, value));
        }
        Value::String(text) => assert!(raw.as_text().as_ref() == Some(text) || raw.to_string().trim() == text),
        Value::Null => assert!(raw.is_null()),
        Value::Bool(_) | Value::Number(_) => assert_eq!(raw.as_text(), None),
    }
}
