//! What holds of a cassette's file, whatever is in it.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::compare::Rules;
use super::line::Line;
use super::reading::{assemble, end_of};
use crate::protocol::RawJson;

/// Any file is read, or refused with its name. Recording can go on behind what is kept of one that is read, which reads
/// the same; and each call that was recorded is found again.
pub(crate) fn files(text: &[u8]) {
    let path: Arc<Path> = Path::new("/tmp/tape.jsonl").into();
    let text = Bytes::copy_from_slice(text);
    let end = end_of(&path, &text);
    let (reels, warning) = match assemble(&path, &text) {
        Ok(read) => read,
        Err(error) => return assert!(error.message().contains("/tmp/tape.jsonl"), "{error}"),
    };
    let (kept, _) = end.expect("what can be read can be recorded behind");
    assert_eq!(warning.is_some(), kept < text.len() && !text[kept..].trim_ascii().is_empty());
    let (again, warning) = assemble(&path, &text.slice(..kept)).expect("what is kept can be read");
    assert_eq!((format!("{again:?}"), warning), (format!("{reels:?}"), None));
    for reel in reels.values().filter(|reel| reel.down.is_none()) {
        for scene in &reel.scenes {
            reel.play(&scene.call.method, scene.call.params.clone(), &Rules::default()).expect("it was recorded");
        }
        assert_eq!(reel.unplayed().count(), 0);
    }
}

/// What was read of a line is the same after it was written.
pub(crate) fn line(text: &[u8]) {
    let Some(line) = RawJson::parse(text.to_vec()).ok().and_then(|text| Line::read(&text).ok()) else { return };
    let written = line.write();
    let again = Line::read(&written).expect("what is written can be read");
    assert_eq!(again.write(), written);
}
