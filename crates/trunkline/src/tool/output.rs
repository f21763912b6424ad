//! What a tool function may return, and how each becomes a [`ToolResult`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Display;

use serde::Serialize;
use serde_json::Value;

use crate::protocol::{ContentBlock, RawJson, ToolResult};

/// What a tool function may return.
///
/// * text, numbers, `bool`, `serde_json::Value`, and options, lists and maps of them: the value itself;
/// * [`Json`] around anything that implements `Serialize`;
/// * `()`: `null`;
/// * [`ToolResult`], [`ContentBlock`] or a list of blocks: as they are;
/// * `Result<T, E>` of any of these: `Err` becomes an error result with the error's text (written with `{:#}`,
///   so that errors which know their causes name them).
///
/// Implement it for a type of your own to spare its users the [`Json`].
///
/// ```
/// use trunkline::{IntoToolResult, Json, ToolResult};
///
/// #[derive(serde::Serialize)]
/// struct Point {
///     x: i32,
/// }
///
/// impl IntoToolResult for Point {
///     fn into_tool_result(self) -> ToolResult {
///         Json(self).into_tool_result()
///     }
/// }
///
/// assert_eq!(Point { x: 1 }.into_tool_result().text(), r#"{"x":1}"#);
/// assert!(Err::<Point, _>("off the map").into_tool_result().is_error());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the result of a tool",
    note = "wrap a type that implements `Serialize`: `trunkline::Json(value)`",
    note = "or return text, a number, a `serde_json::Value`, a `ToolResult`, or a `Result` of one of them"
)]
pub trait IntoToolResult {
    /// Turns it into a result.
    fn into_tool_result(self) -> ToolResult;
}

/// Makes the result of a tool of anything that implements `Serialize`: the value itself in this process, structured
/// content with its JSON as text on a wire.
///
/// ```
/// use trunkline::{FunctionTool, Json};
///
/// #[derive(serde::Serialize)]
/// struct Weather {
///     celsius: f64,
/// }
///
/// let tool = FunctionTool::new("weather", "How warm it is.", || Json(Weather { celsius: 21.5 }));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Json<T>(pub T);

/// The types whose value is simply the result. A trait of this crate, so that `Result` is known not to be one.
pub trait PlainValue: Serialize {}

macro_rules! plain {
    ($($name:ty),*) => {$(impl PlainValue for $name {})*};
}

plain!(String, &'static str, Cow<'static, str>, char, bool, f32, f64, Value, serde_json::Map<String, Value>, RawJson);
plain!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, ());

impl<T: Serialize> PlainValue for Json<T> {}
impl<T: PlainValue> PlainValue for Option<T> {}
impl<T: PlainValue> PlainValue for Vec<T> {}
impl<T: PlainValue> PlainValue for BTreeSet<T> {}
impl<T: PlainValue, S> PlainValue for HashSet<T, S> {}
impl<K: Serialize, T: PlainValue> PlainValue for BTreeMap<K, T> {}
impl<K: Serialize, T: PlainValue, S> PlainValue for HashMap<K, T, S> {}

impl<T: PlainValue> IntoToolResult for T {
    fn into_tool_result(self) -> ToolResult {
        serialized(&self)
    }
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> ToolResult {
        self
    }
}

impl IntoToolResult for ContentBlock {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::from_blocks([self])
    }
}

impl IntoToolResult for Vec<ContentBlock> {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::from_blocks(self)
    }
}

impl<T: IntoToolResult, E: Display> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> ToolResult {
        self.map_or_else(|error| failed(&error), T::into_tool_result)
    }
}

/// The result of a value; an error result where it can't be written as JSON.
pub(super) fn serialized(value: &impl Serialize) -> ToolResult {
    match serde_json::to_value(value) {
        Ok(value) => ToolResult::local(value),
        Err(error) => ToolResult::error(format!("The tool's result can't be written as JSON: {error}")),
    }
}

/// The error result of a function's error.
pub(super) fn failed(error: &impl Display) -> ToolResult {
    ToolResult::error(format!("{error:#}"))
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use serde_json::json;

    use super::*;

    fn value(output: impl IntoToolResult) -> Value {
        output.into_tool_result().into_value("t").unwrap()
    }

    #[test]
    fn values_come_back_as_they_are() {
        #[derive(Serialize)]
        struct Point {
            x: i32,
        }
        assert_eq!(value("3"), json!("3"));
        assert_eq!(value(String::from("three")), json!("three"));
        assert_eq!(value(3), json!(3));
        assert_eq!(value(u64::MAX), json!(u64::MAX));
        assert_eq!(value(()), Value::Null);
        assert_eq!(value(None::<i64>), Value::Null);
        assert_eq!(value(vec![Some("a"), None]), json!(["a", null]));
        assert_eq!(value(BTreeMap::from([(1, true)])), json!({"1": true}));
        assert_eq!(value(Json(vec![Point { x: 1 }])), json!([{"x": 1}]));
        assert_eq!(value(Ok::<_, String>(Some(Json(Point { x: 1 })))), json!({"x": 1}));
    }

    #[test]
    fn results_and_blocks_stay_what_they_are() {
        let result = ToolResult::error("no").into_tool_result();
        assert!(result.is_error());
        let blocks = vec![ContentBlock::text_block("a"), ContentBlock::image(b"x", "image/png")];
        assert_eq!(blocks.into_tool_result().content().len(), 2);
    }

    #[test]
    fn an_error_says_its_causes_where_it_knows_them() {
        struct Chained;
        impl fmt::Display for Chained {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(if f.alternate() { "no user: disk full" } else { "no user" })
            }
        }
        let result = Err::<i64, _>(Chained).into_tool_result();
        assert!(result.is_error());
        assert_eq!(result.text(), "no user: disk full");
    }

    #[test]
    fn what_json_cannot_hold_is_an_error_result() {
        let result = BTreeMap::from([(vec![1], 1)]).into_tool_result();
        assert!(result.is_error());
        assert!(result.text().contains("key must be a string"), "{}", result.text());
    }
}
