//! What the rules say to the files that a tool comes upon.
//!
//! The pipeline judges the `path` that a call names; a search reads what lies beneath it, and a formatter writes it. A file that a rule
//! refuses or asks about is left out silently: a caller that learned that a query *would* have matched could find out what is in
//! the file, query by query.

use serde_json::Value;

use crate::call::context::CallContext;
use crate::model::JsonObject;

/// Judges files by the rules. The default lets everything pass.
#[derive(Default)]
pub(in crate::builtin) struct Permission(Option<Judge>);

struct Judge {
    cx: CallContext,
    args: JsonObject,
    /// Rules that spoke up about the call itself. It runs, so someone agreed to it in spite of them.
    settled: Vec<String>,
}

impl Permission {
    /// Judges for a call with these arguments.
    pub(in crate::builtin) fn of(cx: &CallContext, args: JsonObject) -> Self {
        let settled = cx.objections(&args);
        let cx = cx.clone();
        Permission(Some(Judge { cx, args, settled }))
    }

    /// Whether the contents of a file, whose path is relative to the workspace, may be shown.
    pub(in crate::builtin) fn covers(&self, path: &[u8]) -> bool {
        let Some(judge) = &self.0 else {
            return true;
        };
        let mut args = judge.args.clone();
        let path = String::from_utf8_lossy(path).into_owned();
        args.insert("path".to_owned(), Value::String(path));
        let mut objections = judge.cx.objections(&args).into_iter();
        objections.all(|rule| judge.settled.contains(&rule))
    }
}
