//! What holds of schemas, however hostile: they are used or refused, and a check says in few words what is wrong.

use super::Checker;
use crate::error::ErrorKind;
use crate::limits::Limits;
use crate::protocol::{Arguments, RawJson};

/// A message that names five problems is no longer than this.
const LONGEST_MESSAGE: usize = 20_000;

/// Any JSON compiles or says why not, and any arguments are checked against it.
pub(crate) fn checks(schema: &RawJson, arguments: &RawJson) {
    let Ok(arguments) = Arguments::from_raw(arguments.clone()) else { return };
    let checker = match Checker::compile(schema, &Limits::default()) {
        Ok(checker) => checker,
        Err(why) => return assert!(!why.is_empty() && why.len() < LONGEST_MESSAGE, "{why}"),
    };
    let verdict = checker.check(&arguments);
    assert_eq!(
        checker.check(&arguments).map_err(|error| error.to_string()),
        verdict.clone().map_err(|error| error.to_string())
    );
    if let Err(error) = verdict {
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
        assert!(!error.message().is_empty() && error.message().len() < LONGEST_MESSAGE, "{}", error.message().len());
    }
}
