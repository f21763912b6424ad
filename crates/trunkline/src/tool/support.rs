//! What the code written by `#[tool]` uses. Not for people: it changes without notice.

use std::cell::Cell;
use std::fmt::{self, Display};

use serde::Serialize;
use serde_json::Value;

use super::output::{IntoToolResult, failed, serialized};
use crate::protocol::ToolResult;

pub use {schemars, serde};

/// What a function returned, on its way to a [`ToolResult`]: `(&&&Output::new(value)).tool_result()`.
///
/// The compiler tries the longest reference first, so of [`AsResult`], [`AsFallible`] and [`AsSerialize`] the first
/// that fits is called. That is how `#[tool]` needs no [`Json`](super::Json) around a type that implements
/// `Serialize`, and how a `Result` of one is still no plain value.
pub struct Output<T>(Cell<Option<T>>);

impl<T> Output<T> {
    /// Wraps what the function returned.
    pub fn new(value: T) -> Self {
        Self(Cell::new(Some(value)))
    }

    fn take(&self) -> T {
        self.0.take().expect("a function's result is taken once")
    }
}

impl<T> fmt::Debug for Output<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Output")
    }
}

/// First: what is a result of a tool anyway.
pub trait AsResult {
    /// Makes the result.
    fn tool_result(&self) -> ToolResult;
}

impl<T: IntoToolResult> AsResult for &&Output<T> {
    fn tool_result(&self) -> ToolResult {
        self.take().into_tool_result()
    }
}

/// Second: a `Result` of a type that implements `Serialize`.
pub trait AsFallible {
    /// Makes the result.
    fn tool_result(&self) -> ToolResult;
}

impl<T: Serialize, E: Display> AsFallible for &Output<Result<T, E>> {
    fn tool_result(&self) -> ToolResult {
        self.take().map_or_else(|error| failed(&error), |value| serialized(&value))
    }
}

/// Last: a type that implements `Serialize`.
pub trait AsSerialize {
    /// Makes the result.
    fn tool_result(&self) -> ToolResult;
}

impl<T: Serialize> AsSerialize for Output<T> {
    fn tool_result(&self) -> ToolResult {
        serialized(&self.take())
    }
}

/// The annotations of a tool, from hints by their names in the protocol.
pub fn hints(hints: &[(&str, bool)]) -> Value {
    hints.iter().map(|(hint, value)| ((*hint).to_owned(), Value::Bool(*value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Point {
        x: i32,
    }

    #[test]
    #[allow(clippy::needless_borrow)] // the references are the point
    fn each_output_takes_its_own_way() {
        let point = || Point { x: 1 };
        for (result, text) in [
            ((&&&Output::new("a")).tool_result(), "a"),
            ((&&&Output::new(Ok::<_, String>("a"))).tool_result(), "a"),
            ((&&&Output::new(point())).tool_result(), r#"{"x":1}"#),
            ((&&&Output::new(Ok::<_, String>(point()))).tool_result(), r#"{"x":1}"#),
            ((&&&Output::new(vec![point()])).tool_result(), r#"[{"x":1}]"#),
            ((&&&Output::new((1, 2))).tool_result(), "[1,2]"),
        ] {
            assert_eq!((result.text(), result.is_error()), (text.to_owned(), false));
        }
        let failures = [
            (&&&Output::new(Err::<Point, _>("no"))).tool_result(),
            (&&&Output::new(Err::<i32, _>(std::fmt::Error))).tool_result(),
            (&&&Output::new(ToolResult::error("no"))).tool_result(),
        ];
        assert!(failures.iter().all(ToolResult::is_error));
    }
}
