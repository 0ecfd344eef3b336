//! Held files, as questions of the approvals queue: one for each run that planted something.
//!
//! These questions are not stored. They are made from the held items each time someone looks.

use std::collections::BTreeMap;

use serde_json::json;

use crate::approval::queue::{Queued, StandingQuestions, Status};
use crate::held::{HeldItem, HeldStore};
use crate::model::JsonObject;
use crate::model::digest;
use crate::model::error::ToolError;
use crate::storage::StorageError;
use toolcrib_core::approval::{ApprovalRequest, ApprovalResponse};

impl StandingQuestions for HeldStore {
    fn questions(&self) -> Result<Vec<Queued>, StorageError> {
        let mut by_run: BTreeMap<String, Vec<HeldItem>> = BTreeMap::new();
        for item in self.list()?.into_iter().filter(|item| !item.refused) {
            by_run.entry(item.question.clone()).or_default().push(item);
        }
        Ok(by_run.into_values().filter_map(question).collect())
    }

    fn answered(&self, question: &Queued, response: &ApprovalResponse) -> Result<(), ToolError> {
        let id = &question.request.id;
        if !response.approved {
            return Ok(self.refuse(id)?);
        }
        let about = self.list()?.into_iter().filter(|item| item.question == *id);
        // Each for itself: one that cannot be put back keeps the others from nothing.
        let failed: Vec<ToolError> = about
            .filter_map(|item| self.restore(&item.id).err())
            .collect();
        failed.into_iter().next().map_or(Ok(()), Err)
    }
}

/// How many paths a question names.
const NAMED: usize = 20;

fn question(items: Vec<HeldItem>) -> Option<Queued> {
    let first = items.first()?.clone();
    let rows = items
        .iter()
        .map(|item| json!({"id": item.id, "path": item.path, "why": item.why}));
    let mut args = JsonObject::new();
    args.insert("restore".to_owned(), rows.collect());
    let words: Vec<String> = items
        .iter()
        .take(NAMED)
        .map(|item| format!("`{}` ({})", item.path, item.why))
        .collect();
    let more = match items.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let request = ApprovalRequest {
        id: first.question.clone(),
        step_id: first.tool.clone(),
        call_id: first.call,
        tool: first.tool,
        called_by: None,
        args_digest: digest::of_call("held", &first.question, &args),
        call_digest: digest::of_call("held", &first.question, &args),
        args,
        reason: "a command made something that other programs run, and it is held; it may be your own, if you made it while the \
                 command ran"
            .to_owned(),
        effect: format!("puts back into the workspace: {}{more}", words.join(", ")),
        diff: None,
        expires_at: None,
        bound: Vec::new(),
        bundle: String::new(),
        slug: String::new(),
        version: String::new(),
        tool_digest: String::new(),
        caller: first.caller,
        workspace: Some(first.workspace),
        created_at: first.at,
        offers: Vec::new(),
        no_grant: Some("what commands plant is decided about each time".to_owned()),
        wait: None,
        announce: Default::default(),
    };
    Some(Queued {
        request,
        status: Status::Pending,
        waiting: false,
        remaining_ms: None,
        answer: None,
    })
}
