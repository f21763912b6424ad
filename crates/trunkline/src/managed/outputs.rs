//! Holds the results of tools against their output schemas (MCP specification, Tools, Output Schema). A result that
//! doesn't fit is delivered with a mark and a warning, or, where that was asked for, is an error. Error results are
//! never checked, and nothing is ever fetched for a schema.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::protocol::{RawJson, ToolDefinition, ToolResult};
use crate::schema::Checker;

/// The output schemas of a server's tools, as listed last.
#[derive(Debug, Default)]
pub(super) struct Outputs(HashMap<Box<str>, Output>);

#[derive(Debug)]
struct Output {
    schema: RawJson,
    /// Compiled at the first result; none where the schema can't be used.
    checker: OnceLock<Option<Checker>>,
    told: AtomicBool,
}

impl Outputs {
    pub(super) fn of(tools: &[ToolDefinition]) -> Self {
        let declared = tools.iter().filter(|tool| tool.has_output_schema()).filter_map(|tool| {
            let schema = tool.output_schema()?;
            Some((tool.name().into(), Output { schema, checker: OnceLock::new(), told: AtomicBool::new(false) }))
        });
        Self(declared.collect())
    }

    /// The result, marked where it doesn't fit; `tell` hears of each tool once.
    ///
    /// # Errors
    /// Where it doesn't fit and `strict` is set; the error holds the result.
    pub(super) fn checked(
        &self,
        tool: &str,
        result: ToolResult,
        strict: bool,
        limits: &Limits,
        tell: impl Fn(String),
    ) -> Result<ToolResult> {
        let is_checked = |_: &&Output| {
            !result.is_local() && !result.is_error() && !result.is_unfinished() && result.schema_mismatch().is_none()
        };
        let Some(output) = self.0.get(tool).filter(is_checked) else { return Ok(result) };
        let checker = output.checker.get_or_init(|| {
            let unusable = |why| {
                tell(format!("tool \"{tool}\": its results aren't checked, its outputSchema is of no use: {why}"))
            };
            Checker::of_output(&output.schema, limits).map_err(unusable).ok()
        });
        let Some(checker) = checker else { return Ok(result) };
        let why = match result.structured() {
            Some(structured) => checker.problems(&structured),
            None => Some("it has no structured content".to_owned()),
        };
        let Some(why) = why else { return Ok(result) };
        if strict {
            let message = format!("The result of tool \"{tool}\" doesn't fit its outputSchema: {why}");
            let error = Error::new(ErrorKind::Protocol, message).with_answer(None, None, Some(result));
            let hint = "Without strictOutput (strict_output in code) it is delivered with a warning";
            return Err(error.with_hint(hint).with_may_have_run(true));
        }
        if !output.told.swap(true, Ordering::Relaxed) {
            tell(format!("tool \"{tool}\" gave a result that doesn't fit its outputSchema: {why}"));
        }
        Ok(result.with_mismatch(&why))
    }
}
