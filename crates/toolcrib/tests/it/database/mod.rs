//! `query_database` on real databases, through the whole pipeline.

mod hostile;
mod postgres;
mod server;
mod sqlite;

use rusqlite::Connection;
use serde_json::{Value, json};
use toolcrib::approval::ApprovalResponse;
use toolcrib::testing::TestCrib;
use toolcrib::testing::WithBuiltins as _;
use toolcrib::{CallRequest, ErrorCode, Outcome};

use crate::tools::args;

/// A call of the tool.
async fn query(test: &TestCrib, arguments: Value) -> Outcome {
    test.registry()
        .execute(CallRequest::new("query_database").args(args(arguments)))
        .await
}

fn value(outcome: &Outcome) -> &Value {
    outcome.value().unwrap_or_else(|| panic!("{outcome:?}"))
}

fn rows(outcome: &Outcome) -> &Value {
    &value(outcome)["rows"]
}

fn message(outcome: &Outcome) -> String {
    outcome
        .error()
        .unwrap_or_else(|| panic!("it went well: {outcome:?}"))
        .to_string()
}

fn yes() -> ApprovalResponse {
    ApprovalResponse::approve("test")
}

/// A workspace with a database that these statements made.
fn with_database(name: &str, sql: &str) -> TestCrib {
    let test = TestCrib::new().builtins();
    make(&test, name, sql);
    test
}

fn make(test: &TestCrib, name: &str, sql: &str) {
    let database = Connection::open(test.path().join(name)).unwrap();
    database.execute_batch(sql).unwrap();
    database.close().unwrap();
}

/// The contents of a database, read without the tool.
fn look(test: &TestCrib, name: &str, sql: &str) -> i64 {
    let database = Connection::open(test.path().join(name)).unwrap();
    database.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn an_unknown_name_is_reported_with_those_that_are_known() {
    let test = TestCrib::new().builtins();
    let outcome = query(&test, json!({"database": "shop", "sql": "SELECT 1"})).await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::InvalidArguments);
    assert!(
        message(&outcome).contains("such as `./shop`"),
        "{outcome:?}"
    );
}
