//! A PostgreSQL server of the settings.
//!
//! ```text
//! connect  a connection by the one way out, encrypted        role    the role: none that can escape a read-only transaction
//! query    one transaction: statement, values, rows           values  PostgreSQL's texts as JSON, JSON as its texts
//! fault    what went wrong, in words and with SQLSTATE
//! ```
//!
//! A call has its own connection: nothing of one call is left for the next, neither settings nor locks nor temporary tables. It runs on its
//! own task, which cancels the statement at the server when the call is over first, and the outcome waits for that.

mod connect;
mod fault;
mod query;
mod role;
mod values;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::sync::oneshot;

use super::arguments::{Args, Mode};
use super::settings::Database;
use crate::call::context::CallContext;
use crate::egress::Egress;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::outcome::ToolOutput;
use crate::model::secret::Secret;
use connect::Session;

/// How long to wait for a commit when the call is over, so that its result is known.
const TO_COMMIT: Duration = Duration::from_millis(1200);

/// What a call asks of whom.
pub(super) struct DatabaseQuery {
    /// The name of the database in the settings.
    pub(super) name: String,
    pub(super) database: Database,
    pub(super) password: Option<Secret>,
    pub(super) egress: Egress,
    pub(super) mode: Mode,
    pub(super) args: Args,
}

pub(super) async fn call(asked: DatabaseQuery, cx: CallContext) -> Result<ToolOutput, ToolError> {
    let (mut done, answer) = oneshot::channel();
    let (ending, for_task) = (cx.ending(), cx);
    let asked = Arc::new(asked);
    tokio::spawn(async move {
        let result = session(&asked, &for_task, &mut done).await;
        drop(ending);
        // No one waits any more: the call was over before.
        let _ = done.send(result);
    });
    let lost = |_| ToolError::failed("the exchange with the database broke off");
    answer.await.map_err(lost)?
}

/// Everything from the connection to its end.
async fn session(
    asked: &Arc<DatabaseQuery>,
    cx: &CallContext,
    done: &mut oneshot::Sender<Result<ToolOutput, ToolError>>,
) -> Result<ToolOutput, ToolError> {
    // The call is over when it is cancelled, and when the caller has gone.
    let mut over = pin!(async {
        select(pin!(cx.cancelled()), pin!(done.closed())).await;
    });
    let connecting = Session::open(asked, cx);
    let mut session = match select(pin!(connecting), &mut over).await {
        Either::Left((opened, _)) => opened?,
        Either::Right(_) => return Err(stopped(asked.mode)),
    };
    let (cut, is_kept) = (session.cut(), AtomicBool::new(false));
    let result = {
        let mut work = pin!(query::run(asked, cx, &mut session.client, &is_kept));
        match select(&mut work, over).await {
            Either::Left((result, _)) => Some(result),
            Either::Right(_) if is_kept.load(Ordering::Relaxed) => {
                tokio::time::timeout(TO_COMMIT, work).await.ok()
            }
            // Nothing more is sent: a statement that begins after the server was told to stop would go on.
            Either::Right(_) => None,
        }
    };
    match result {
        Some(result) => {
            session.close().await;
            match result {
                Err(_) if cut.load(Ordering::Relaxed) => Err(fault::too_much(asked.mode)),
                result => result,
            }
        }
        None => {
            session.end(Arc::clone(asked), cx.clone()).await;
            Err(stopped(asked.mode))
        }
    }
}

fn stopped(mode: Mode) -> ToolError {
    let undone = match mode {
        Mode::Read => "",
        Mode::Write => "; nothing was changed, unless the details say `committed`",
    };
    ToolError::new(
        ErrorCode::Cancelled,
        format!("the call was cancelled{undone}"),
    )
}
