//! What holds of the tail of a standard error, whatever comes and however it is cut.

use super::{LONGEST_LINE, SHOWN, Tail, shown};

/// The lines are the same wherever the chunks are cut, hold nothing that a terminal obeys, and are kept within the bound.
pub(crate) fn tail(chunks: &[&[u8]], capacity: usize) {
    let (tail, mut told) = (Tail::new(capacity), Vec::new());
    chunks.iter().for_each(|chunk| tail.push(chunk, &mut |line| told.push(line.to_owned())));
    let all = chunks.concat();
    let (whole, partial) = all.rsplit_at_newline();
    let lines = whole.split(|byte| *byte == b'\n').map(|line| shown(&line[..line.len().min(LONGEST_LINE)]));
    let wanted: Vec<_> = lines.filter(|line| !line.trim().is_empty()).collect();
    assert_eq!(told, wanted);
    assert!(told.iter().all(|line| !line.chars().any(char::is_control)), "{told:?}");

    let evidence = tail.evidence();
    assert_eq!(evidence.stderr_bytes, all.len() as u64);
    let kept = evidence.stderr.len() - usize::from(!partial.is_empty());
    assert!(kept <= SHOWN && told.ends_with(&evidence.stderr[..kept]), "{:?} of {told:?}", evidence.stderr);
    assert!(evidence.stderr[..kept].iter().map(String::len).sum::<usize>() <= capacity);
}

trait AtNewline {
    fn rsplit_at_newline(&self) -> (&[u8], &[u8]);
}

impl AtNewline for Vec<u8> {
    fn rsplit_at_newline(&self) -> (&[u8], &[u8]) {
        match self.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => (&self[..at], &self[at + 1..]),
            None => (&[], self),
        }
    }
}
