//! Which functions can be tools: [`ToolFunction`], for every number of parameters, sync and async; and how their
//! parameters are read from a call.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::output::IntoToolResult;
use super::schema;
use crate::connection::CallContext;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Arguments, ToolResult};

/// A function or closure that can be a tool, sync or async. Its parameters are one of
///
/// * none,
/// * one argument: a type that implements `serde::Deserialize` and `schemars::JsonSchema` and is a JSON object
///   (usually a struct, with a field for each argument), or [`Arguments`] for the JSON as it came,
/// * a [`CallContext`], alone or after the argument: progress, log, cancellation.
///
/// What it may return is [`IntoToolResult`]. `Marker` tells the forms apart for the compiler; nobody writes it.
///
/// ```
/// use trunkline::{FunctionTool, ToolFunction};
///
/// fn named<F: ToolFunction<M>, M>(function: F) -> FunctionTool {
///     FunctionTool::new("example", "", function)
/// }
///
/// named(|| 3);
/// named(|arguments: trunkline::Arguments| async move { arguments.iter().count() });
/// ```
#[diagnostic::on_unimplemented(
    message = "this function can't be a tool",
    label = "not a function of `()`, `(A)`, `(A, CallContext)` or `(CallContext)` that returns a result of a tool",
    note = "`A` has to implement `serde::Deserialize` and `schemars::JsonSchema`; annotate it: `|a: MyArguments| ..`",
    note = "it may return text, a number, a `serde_json::Value`, a `ToolResult`, `trunkline::Json(..)` of a type \
            that implements `Serialize`, or a `Result` of one of them; a future has to be `Send`"
)]
pub trait ToolFunction<Marker>: Send + Sync + 'static {
    #[doc(hidden)]
    fn schema() -> Result<Value, String>;
    #[doc(hidden)]
    fn into_body(self) -> Body;
}

/// One call, as the parameters of a function are read from it.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Arguments,
    pub(super) cx: &'a CallContext,
}

type Inline = dyn Fn(Call<'_>) -> Result<ToolResult> + Send + Sync;
type Awaited = dyn Fn(Call<'_>) -> Result<BoxFuture<'static, ToolResult>> + Send + Sync;

/// A tool function with its types erased. `Err` means that the arguments didn't fit and nothing ran.
#[derive(Clone)]
pub struct Body(pub(super) Kind);

#[derive(Clone)]
pub(super) enum Kind {
    Inline(Arc<Inline>),
    Awaited(Arc<Awaited>),
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Inline(_) => "Inline",
            Kind::Awaited(_) => "Awaited",
        })
    }
}

/// The marker of functions that return their result.
#[derive(Debug)]
pub struct Returns<P, O>(PhantomData<(P, O)>);

/// The marker of functions that return a future of their result.
#[derive(Debug)]
pub struct Awaits<P, F>(PhantomData<(P, F)>);

/// What one parameter of a tool function can be.
pub trait Parameter: Sized {
    /// The schema of the arguments it takes, where it takes any.
    fn schema() -> Result<Value, String>;
    /// Reads it from a call.
    fn read(call: Call<'_>) -> Result<Self>;
}

impl Parameter for CallContext {
    fn schema() -> Result<Value, String> {
        Ok(schema::any_object())
    }
    fn read(call: Call<'_>) -> Result<Self> {
        Ok(call.cx.clone())
    }
}

impl Parameter for Arguments {
    fn schema() -> Result<Value, String> {
        Ok(schema::any_object())
    }
    fn read(call: Call<'_>) -> Result<Self> {
        Ok(call.arguments.clone())
    }
}

impl<A: DeserializeOwned + JsonSchema> Parameter for A {
    fn schema() -> Result<Value, String> {
        schema::of_arguments::<A>()
    }
    fn read(call: Call<'_>) -> Result<Self> {
        decode(call.tool, call.arguments)
    }
}

/// Implements [`ToolFunction`] for one list of parameters, where `$schema` gives the schema of the first.
macro_rules! tool_function {
    ([$($P:ident $p:ident),*] ($($known:ty),*) $schema:expr) => {
        impl<Func, Out, $($P: Parameter),*> ToolFunction<Returns<($($P,)* $($known,)*), Out>> for Func
        where
            Func: Fn($($P,)* $($known),*) -> Out + Send + Sync + 'static,
            Out: IntoToolResult,
        {
            fn schema() -> Result<Value, String> {
                $schema
            }
            fn into_body(self) -> Body {
                Body(Kind::Inline(Arc::new(move |_call| {
                    let result = self($($P::read(_call)?,)* $(<$known>::read(_call)?),*);
                    Ok(result.into_tool_result())
                })))
            }
        }

        impl<Func, Fut, $($P: Parameter),*> ToolFunction<Awaits<($($P,)* $($known,)*), Fut>> for Func
        where
            Func: Fn($($P,)* $($known),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output: IntoToolResult> + Send + 'static,
        {
            fn schema() -> Result<Value, String> {
                $schema
            }
            fn into_body(self) -> Body {
                Body(Kind::Awaited(Arc::new(move |_call| {
                    let future = self($($P::read(_call)?,)* $(<$known>::read(_call)?),*);
                    Ok(future.map(IntoToolResult::into_tool_result).boxed())
                })))
            }
        }
    };
}

tool_function!([]() Ok(schema::any_object()));
tool_function!([A a]() A::schema());
tool_function!([A a](CallContext) A::schema());

/// Decodes arguments and names the one that doesn't fit.
fn decode<A: DeserializeOwned>(tool: &str, arguments: &Arguments) -> Result<A> {
    let mut reader = serde_json::Deserializer::from_slice(arguments.raw().as_bytes());
    reader.disable_recursion_limit(); // the scanner bounded the depth
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let source = error.into_inner();
        misfit(tool, &path, &source).with_source(source)
    })
}

fn misfit(tool: &str, path: &str, cause: &serde_json::Error) -> Error {
    let cause = cause.to_string();
    let cause = cause.rsplit_once(" at line ").map_or(&*cause, |(cause, _)| cause);
    let told = match path {
        "." => cause.replacen(" field ", " argument ", 1),
        _ => format!("argument \"{path}\": {cause}"),
    };
    let error = Error::new(ErrorKind::InvalidArguments, format!("Tool \"{tool}\": {told}")).with_context("tool", tool);
    if path == "." { error } else { error.with_context("argument", path) }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::protocol::IntoArguments;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Search {
        query: String,
        filters: Vec<Filter>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Filter {
        field: String,
        limit: u8,
    }

    #[test]
    fn a_misfit_names_the_tool_the_argument_and_what_is_wrong() {
        for (arguments, told, at) in [
            (
                json!({"query": 1}),
                r#"Tool "s": argument "query": invalid type: integer `1`, expected a string"#,
                Some("query"),
            ),
            (json!({"query": "a"}), r#"Tool "s": missing argument `filters`"#, None),
            (
                json!({"query": "a", "filters": [{"field": "x", "limit": 1}, {"field": "x", "limit": 300}]}),
                r#"Tool "s": argument "filters[1].limit": invalid value: integer `300`, expected u8"#,
                Some("filters[1].limit"),
            ),
            (
                json!({"query": "a", "filters": [{"limit": 1}]}),
                r#"Tool "s": argument "filters[0]": missing field `field`"#,
                Some("filters[0]"),
            ),
            (
                json!({"qurey": "a"}),
                r#"Tool "s": argument "qurey": unknown field `qurey`, expected `query` or `filters`"#,
                Some("qurey"),
            ),
        ] {
            let error = decode::<Search>("s", &arguments.into_arguments().unwrap()).unwrap_err();
            assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArguments, told));
            assert_eq!((error.get("tool"), error.get("argument")), (Some("s"), at));
            assert!(std::error::Error::source(&error).is_some());
        }
    }
}
