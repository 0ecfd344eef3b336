//! The questions of a server, for the dialogue on this terminal: [`ServersQuestions`].

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use toolcrib::approval::grants::Shape;
use toolcrib::approval::{ApprovalRequest, ApprovalResponse, Queued, Status};
use toolcrib::model::JsonObject;
use toolcrib::{ErrorCode, ToolError, ToolSpec};
use toolcrib_server::client::{Ask, Client, ClientError};

use crate::prompt::{Preview, Questions, Unanswered};

/// How often a question is looked at while someone thinks about it.
const EVERY: Duration = Duration::from_millis(300);

/// The questions of a server. The dialogue is on its own thread and waits there for answers of the server.
pub(crate) struct ServersQuestions {
    client: Client,
    runtime: Handle,
}

impl ServersQuestions {
    pub(crate) fn of(client: &Client, runtime: &Handle) -> Self {
        ServersQuestions {
            client: client.clone(),
            runtime: runtime.clone(),
        }
    }
}

fn path(id: &str) -> String {
    format!("/api/approvals/{}", Ask::encoded(id))
}

/// The body that answers a question.
pub(crate) fn answer_body(digest: &str, response: &ApprovalResponse) -> Value {
    let mut body = json!(response);
    body["argsDigest"] = digest.into();
    body
}

impl Questions for ServersQuestions {
    fn show(&self, id: &str) -> Result<Queued, String> {
        let shown = self.runtime.block_on(self.client.get_as(&path(id)));
        shown.map_err(|error| error.to_string())
    }

    fn pending(&self) -> usize {
        let work = self.client.get("/api/approvals?status=pending");
        let listed = self.runtime.block_on(work);
        listed
            .ok()
            .and_then(|listed| Some(listed.get("approvals")?.as_array()?.len()))
            .unwrap_or(0)
    }

    fn answer(
        &self,
        request: &ApprovalRequest,
        response: ApprovalResponse,
    ) -> Result<(), Unanswered> {
        let body = answer_body(&request.args_digest, &response);
        let path = path(&request.id);
        match self.runtime.block_on(self.client.post(&path, &body)) {
            Ok(_) => Ok(()),
            Err(ClientError::Refused { status, error }) => Err(match status {
                404 | 410 => Unanswered::Settled,
                // Decided, withdrawn or replaced; or the digest is another one, which cannot be: it came with the question.
                409 => Unanswered::Settled,
                422 => Unanswered::BadEdit(cause(*error)),
                _ => Unanswered::Failed(error.to_string()),
            }),
            Err(error) => Err(Unanswered::Failed(error.to_string())),
        }
    }

    fn simulate(&self, tool: &str, shape: &Shape) -> Result<Option<String>, String> {
        // How far it reaches does not matter to what it would have allowed.
        let body = json!({"tool": tool, "shape": shape, "scope": "project"});
        let work = self.client.post("/api/grants?simulate=true", &body);
        match self.runtime.block_on(work) {
            Ok(simulated) => {
                let words = simulated.get("words").and_then(Value::as_str);
                Ok(words.map(str::to_owned))
            }
            Err(ClientError::Refused { error, .. }) => Err(error.message().to_owned()),
            // The server judges the grant when it is answered with.
            Err(_) => Ok(None),
        }
    }

    fn preview(
        &self,
        _request: &ApprovalRequest,
        _args: &JsonObject,
    ) -> Result<Preview, ToolError> {
        // The server judges an edit when it is answered with; a bad one leaves the question open.
        Ok(Preview {
            effect: None,
            diff: None,
        })
    }

    fn spec(&self, tool: &str) -> Option<Arc<ToolSpec>> {
        let path = format!("/api/lookup?tool={}", Ask::encoded(tool));
        let document = self.runtime.block_on(self.client.get(&path)).ok()?;
        super::spec_of(&document).map(Arc::new)
    }

    fn settled<'a>(&'a self, id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            loop {
                tokio::time::sleep(EVERY).await;
                let shown: Result<Queued, ClientError> = self.client.get_as(&path(id)).await;
                match shown {
                    Ok(queued) if queued.status == Status::Pending => {}
                    Ok(_) => return,
                    Err(ClientError::Refused { status: 404, .. }) => return,
                    // An unreadable file does not end the dialogue.
                    Err(_) => {}
                }
            }
        })
    }
}

/// The error behind a refused edit.
pub(crate) fn cause(error: ToolError) -> ToolError {
    let cause = error
        .details()
        .and_then(|details| details.get("cause"))
        .and_then(|cause| serde_json::from_value::<ToolError>(cause.clone()).ok());
    cause.unwrap_or_else(|| match error.code() {
        ErrorCode::Unprocessable => ToolError::new(ErrorCode::InvalidArguments, error.message()),
        _ => error,
    })
}
