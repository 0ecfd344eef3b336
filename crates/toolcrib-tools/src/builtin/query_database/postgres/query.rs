//! One transaction: the statement, its values, its rows.
//!
//! The statement is prepared and bound by the extended protocol, which takes one statement and keeps values out of its text. Its rows are fetched
//! from that portal by name (`FETCH`), some at a time: as texts, which PostgreSQL has for every type there is, and no more than are wanted.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::TryStreamExt as _;
use tokio_postgres::{Client, SimpleQueryMessage, Statement, Transaction};

use super::super::answer::{Answer, Column, Overflow};
use super::super::arguments::{Mode, Params};
use super::super::{NAME, keyword};
use super::values::{self, Given};
use super::{DatabaseQuery, fault, role};
use crate::builtin::invalid;
use crate::builtin::query_database::keyword::Dialect;
use crate::call::context::CallContext;
use crate::model::error::ToolError;
use crate::model::limits::as_millis;
use crate::model::outcome::ToolOutput;

/// How many rows are fetched at a time: few at first, since no one knows how long they are.
const FIRST_ROWS: usize = 16;
const MOST_ROWS: usize = 1024;

pub(super) async fn run(
    asked: &DatabaseQuery,
    cx: &CallContext,
    client: &mut Client,
    is_kept: &AtomicBool,
) -> Result<ToolOutput, ToolError> {
    let failed = |error| fault::of(&error, asked);
    let read_only = asked.mode == Mode::Read;
    let transaction = client
        .build_transaction()
        .read_only(read_only)
        .start()
        .await
        .map_err(failed)?;
    transaction
        .batch_execute(&set_up(cx))
        .await
        .map_err(failed)?;
    role::check(transaction.client(), asked).await?;
    let answer = statement(asked, cx, &transaction).await?;
    match asked.mode {
        // Nothing was changed; what a function did to the session goes with it.
        Mode::Read => transaction.rollback().await.map_err(failed)?,
        Mode::Write => {
            if let Some(overflow) = answer.overflow() {
                return Err(too_much_returned(overflow));
            }
            is_kept.store(true, Ordering::Relaxed);
            // Should the call be over before it can say so itself.
            cx.keep_partial("committed", "unknown");
            let committed = transaction.commit().await;
            committed.map_err(|error| fault::of_commit(&error, asked))?;
            cx.keep_partial("committed", true);
        }
    }
    if answer.overflow().is_some() {
        cx.note_truncated();
    }
    Ok(answer.into_output())
}

/// The settings of the transaction: how long things may take, and how values are written as texts. They go with it, also where someone between us and the
/// server hands its connections on.
fn set_up(cx: &CallContext) -> String {
    let millis = as_millis(cx.remaining()).clamp(1, i32::MAX as u64);
    let settings = [
        format!("statement_timeout = {millis}"),
        format!("lock_timeout = {millis}"),
        format!("idle_in_transaction_session_timeout = {millis}"),
        "client_min_messages = error".to_owned(),
        "datestyle = 'ISO, YMD'".to_owned(),
        "intervalstyle = 'iso_8601'".to_owned(),
        "timezone = 'UTC'".to_owned(),
        "bytea_output = 'hex'".to_owned(),
        "extra_float_digits = 1".to_owned(),
        "standard_conforming_strings = on".to_owned(),
    ];
    let commands = settings.map(|setting| format!("SET LOCAL {setting}"));
    commands.join("; ")
}

async fn statement(
    asked: &DatabaseQuery,
    cx: &CallContext,
    transaction: &Transaction<'_>,
) -> Result<Answer, ToolError> {
    let failed = |error| fault::of(&error, asked);
    let statement = transaction.prepare(&asked.args.sql).await.map_err(failed)?;
    let given = given(asked, &statement)?;
    let mut answer = Answer::new(asked.args.max_rows(), cx.limits().max_output_bytes);
    answer.columns = statement
        .columns()
        .iter()
        .map(|column| Column {
            name: column.name().to_owned(),
            kind: Some(values::type_name(column.type_())),
        })
        .collect();
    if answer.columns.is_empty() {
        let changes = transaction
            .execute_raw(&statement, given)
            .await
            .map_err(failed)?;
        answer.changes = (asked.mode == Mode::Write).then_some(changes);
        return Ok(answer);
    }
    // Held until the rows are fetched: dropping it closes the portal.
    let _portal = transaction
        .bind_raw(&statement, given)
        .await
        .map_err(failed)?;
    let portal = portal_name(transaction, asked).await?;
    fetch(
        transaction.client(),
        &portal,
        &statement,
        &mut answer,
        asked,
    )
    .await?;
    if asked.mode == Mode::Write && answer.overflow().is_none() {
        answer.changes = changes_of_returned(&asked.args.sql, answer.row_count());
    }
    Ok(answer)
}

/// The values for the parameters of a statement, as texts of their types.
fn given(asked: &DatabaseQuery, statement: &Statement) -> Result<Vec<Given>, ToolError> {
    let wanted = statement.params();
    let values: &[serde_json::Value] = match &asked.args.params {
        Some(Params::InOrder(values)) => values,
        Some(Params::ByName(_)) | None => &[],
    };
    if values.len() != wanted.len() {
        let message = format!(
            "has {} values, and the statement {} parameters",
            values.len(),
            wanted.len()
        );
        return Err(invalid(NAME, "/params", &message));
    }
    let each = values.iter().zip(wanted).enumerate();
    each.map(|(at, (value, kind))| {
        Given::of(value, kind).map_err(|message| invalid(NAME, &format!("/params/{at}"), &message))
    })
    .collect()
}

/// The name of the one portal there is: the library does not tell it.
async fn portal_name(
    transaction: &Transaction<'_>,
    asked: &DatabaseQuery,
) -> Result<String, ToolError> {
    let look = "SELECT name FROM pg_catalog.pg_cursors";
    let found = transaction
        .simple_query(look)
        .await
        .map_err(|error| fault::of(&error, asked))?;
    let mut names = found.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.try_get(0).ok().flatten(),
        _ => None,
    });
    match (names.next(), names.next()) {
        (Some(name), None) => Ok(format!("\"{}\"", name.replace('"', "\"\""))),
        _ => Err(ToolError::failed(
            "the rows of the statement cannot be distinguished from others on this server",
        )),
    }
}

/// Fetches rows until there are enough, or no more.
async fn fetch(
    client: &Client,
    portal: &str,
    statement: &Statement,
    answer: &mut Answer,
    asked: &DatabaseQuery,
) -> Result<(), ToolError> {
    let failed = |error| fault::of(&error, asked);
    let mut at_once = FIRST_ROWS;
    loop {
        // One more than is wanted says whether there are more.
        let wanted = (asked.args.max_rows() + 1 - answer.row_count()).min(at_once);
        let command = format!("FETCH FORWARD {wanted} FROM {portal}");
        let rows = client.simple_query_raw(&command).await.map_err(failed)?;
        let mut rows = std::pin::pin!(rows);
        let mut came = 0;
        while let Some(message) = rows.try_next().await.map_err(failed)? {
            let SimpleQueryMessage::Row(row) = message else {
                continue;
            };
            came += 1;
            // The rest of what was fetched is read and forgotten.
            if answer.overflow().is_some() {
                continue;
            }
            let columns = statement.columns().iter().enumerate();
            answer.push(columns.map(|(at, column)| {
                let text = row.try_get(at).map_err(failed)?;
                Ok::<_, ToolError>(values::as_json(text, column.type_()))
            }))?;
        }
        if came < wanted || answer.overflow().is_some() {
            return Ok(());
        }
        at_once = (at_once * 4).min(MOST_ROWS);
    }
}

/// How many rows a statement changed that returned them: one for each, where the statement is a plain one.
fn changes_of_returned(sql: &str, rows: usize) -> Option<u64> {
    let word = keyword::first(sql, Dialect::Postgres)?;
    let is_plain = matches!(word.as_str(), "INSERT" | "UPDATE" | "DELETE" | "MERGE");
    is_plain.then_some(rows as u64)
}

fn too_much_returned(overflow: Overflow) -> ToolError {
    let what = match overflow {
        Overflow::Rows => "more rows than `maxRows`",
        Overflow::Bytes => "more than fits into an answer",
    };
    ToolError::failed(format!(
        "the statement returns {what}; nothing was changed: raise `maxRows`, or return less"
    ))
}
