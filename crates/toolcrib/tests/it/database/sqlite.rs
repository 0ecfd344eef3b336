//! SQLite files of the workspace.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use toolcrib::testing::WithBuiltins as _;

use rusqlite::Connection;
use serde_json::json;
use toolcrib::testing::TestCrib;
use toolcrib::{CallRequest, CancellationToken, ErrorCode};

use super::{look, make, message, query, rows, value, with_database, yes};
use crate::tools::{args, code};

const USERS: &str = "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT, paid REAL, photo BLOB);
    INSERT INTO users VALUES (1, 'ann', 1.5, x'00ff'), (2, NULL, 9e999, NULL), (9007199254740993, 'b|c', -0.25, x'');";

#[tokio::test]
async fn rows_come_with_names_and_types_and_exact_values() {
    let test = with_database("app.db", USERS);
    let outcome = query(
        &test,
        json!({"database": "app.db", "sql": "SELECT *, 1 + 1 AS two FROM users ORDER BY id"}),
    )
    .await;
    assert_eq!(
        *value(&outcome),
        json!({
            "columns": [
                {"name": "id", "type": "INTEGER"},
                {"name": "name", "type": "TEXT"},
                {"name": "paid", "type": "REAL"},
                {"name": "photo", "type": "BLOB"},
                {"name": "two", "type": "integer"},
            ],
            "rowCount": 3,
            "truncated": false,
            "rows": [
                [1, "ann", 1.5, {"base64": "AP8="}, 2],
                [2, null, "Infinity", null, 2],
                ["9007199254740993", "b|c", -0.25, {"base64": ""}, 2],
            ],
        })
    );
    let text = outcome.result.as_ref().unwrap().text();
    assert!(
        text.starts_with("id | name | paid | photo | two\n1 | ann |"),
        "{text}"
    );
    assert!(text.ends_with("(3 rows)\n"), "{text}");
    assert!(test.asked().is_empty());
}

#[tokio::test]
async fn values_of_parameters_are_never_part_of_the_statement() {
    let test = with_database("app.db", USERS);
    for (sql, params) in [
        ("SELECT id FROM users WHERE name = ?", json!(["ann"])),
        (
            "SELECT id FROM users WHERE name = :name",
            json!({"name": "ann"}),
        ),
        (
            "SELECT id FROM users WHERE name = $name",
            json!({"$name": "ann"}),
        ),
        (
            "SELECT id FROM users WHERE photo = ?1",
            json!([{"base64": "AP8="}]),
        ),
        (
            "SELECT id FROM users WHERE id = ?1 AND ?2 AND ?3 IS NULL",
            json!([1, true, null]),
        ),
        (
            "SELECT id FROM users WHERE name = json_extract(?, '$.n')",
            json!([{"n": "ann"}]),
        ),
    ] {
        let outcome = query(
            &test,
            json!({"database": "app.db", "sql": sql, "params": params}),
        )
        .await;
        assert_eq!(*rows(&outcome), json!([[1]]), "{sql}");
    }
    let hostile = json!({"database": "app.db", "sql": "SELECT count(*) FROM users WHERE name = ?", "params": ["' OR 1=1; --"]});
    assert_eq!(*rows(&query(&test, hostile).await), json!([[0]]));
    for params in [
        json!([]),
        json!([1, 2]),
        json!({"x": 1}),
        json!([{"base64": "!"}]),
    ] {
        let outcome = query(
            &test,
            json!({"database": "app.db", "sql": "SELECT ?", "params": params}),
        )
        .await;
        assert_eq!(code(&outcome), ErrorCode::InvalidArguments, "{params}");
    }
}

#[tokio::test]
async fn a_call_that_reads_cannot_write_by_any_trick() {
    let test = with_database(
        "app.db",
        "CREATE TABLE t(a); INSERT INTO t VALUES (1); CREATE VIEW v AS SELECT a FROM t;
         CREATE TRIGGER tr INSTEAD OF INSERT ON v BEGIN INSERT INTO t VALUES (new.a); END;
         CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('word');",
    );
    let before = std::fs::read(test.path().join("app.db")).unwrap();
    for sql in [
        "INSERT INTO t VALUES (2)",
        "WITH x AS (SELECT 2) INSERT INTO t SELECT * FROM x",
        "WITH x AS (SELECT 1) DELETE FROM t",
        "WITH x AS (SELECT 1) UPDATE t SET a = 3 RETURNING a",
        "INSERT INTO v VALUES (7)",
        "INSERT INTO f(f) VALUES ('optimize')",
        "CREATE TABLE u(a)",
        "CREATE TEMP TABLE u(a)",
        "DROP TABLE t",
        "ALTER TABLE t ADD COLUMN b",
        "REINDEX",
        "ANALYZE",
        "VACUUM",
        "VACUUM INTO 'copy.db'",
        "ATTACH 'other.db' AS other",
        "ATTACH '/etc/passwd' AS other",
        "PRAGMA user_version = 5",
        "PRAGMA journal_mode = WAL",
        "PRAGMA query_only = OFF",
        "PRAGMA writable_schema = ON",
        "PRAGMA wal_checkpoint",
        "PRAGMA temp_store_directory = '/tmp'",
        "PRAGMA mmap_size = 1000000",
        "PRAGMA database_list",
        "SELECT * FROM pragma_journal_mode('wal')",
        "BEGIN IMMEDIATE",
        "COMMIT",
        "SAVEPOINT a",
        "SELECT load_extension('/tmp/x.so')",
        "SELECT writefile('x', 'y')",
        "SELECT fts3_tokenizer('simple', x'00')",
        "SELECT 1; DELETE FROM t",
        "EXPLAIN INSERT INTO t VALUES (1)",
    ] {
        let outcome = query(
            &test,
            json!({"database": "app.db", "sql": sql, "write": false}),
        )
        .await;
        assert!(outcome.error().is_some(), "{sql}: {outcome:?}");
    }
    assert!(test.asked().is_empty());
    assert_eq!(std::fs::read(test.path().join("app.db")).unwrap(), before);
    let left: Vec<_> = std::fs::read_dir(test.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[tokio::test]
async fn a_statement_that_looks_like_reading_and_writes_says_how_to_write() {
    let test = with_database("app.db", "CREATE TABLE t(a)");
    let sql = "WITH x AS (SELECT 2) INSERT INTO t SELECT * FROM x";
    let outcome = query(&test, json!({"database": "app.db", "sql": sql})).await;
    assert!(
        message(&outcome).contains("call again with `write: true`"),
        "{outcome:?}"
    );
    assert!(test.asked().is_empty());
}

#[tokio::test]
async fn a_statement_that_only_describes_a_database_is_allowed() {
    let test = with_database(
        "app.db",
        "CREATE TABLE t(a INTEGER, b TEXT); CREATE INDEX i ON t(a); PRAGMA user_version = 7;
         CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('some words');",
    );
    for (sql, expected) in [
        ("PRAGMA user_version", json!([[7]])),
        (
            "SELECT name FROM pragma_table_info('t')",
            json!([["a"], ["b"]]),
        ),
        ("PRAGMA quick_check", json!([["ok"]])),
        (
            "SELECT x FROM f WHERE f MATCH 'words'",
            json!([["some words"]]),
        ),
        (
            "EXPLAIN QUERY PLAN SELECT * FROM t WHERE a = 1",
            json!(null),
        ),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
            json!([[1], [2], [3]]),
        ),
        ("VALUES (1, 'x'), (2, 'y')", json!([[1, "x"], [2, "y"]])),
        (
            "-- a comment\n/* and */ SELECT 1; -- and one more\n;",
            json!([[1]]),
        ),
    ] {
        let outcome = query(&test, json!({"database": "app.db", "sql": sql})).await;
        let found = rows(&outcome);
        assert!(expected.is_null() || *found == expected, "{sql}: {found}");
    }
}

#[tokio::test]
async fn writing_asks_and_is_one_transaction() {
    let test = with_database(
        "app.db",
        "CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES (1)",
    )
    .answers([yes(), yes(), yes()]);
    let write =
        json!({"database": "app.db", "sql": "INSERT INTO t VALUES (?), (?)", "params": [2, 3]});
    let outcome = query(&test, write).await;
    assert_eq!(value(&outcome)["changes"], 2);
    let asked = test.asked();
    let effect = &asked[0].effect;
    assert!(
        effect.contains("writes to `app.db`, in one transaction")
            && effect.contains("INSERT INTO t"),
        "{effect}"
    );
    // The second statement fails, so the first is undone.
    let both = json!({"database": "app.db", "sql": "DELETE FROM t WHERE a = 1; INSERT INTO t VALUES (2)", "write": true});
    let outcome = query(&test, both).await;
    assert!(message(&outcome).contains("UNIQUE"), "{outcome:?}");
    assert_eq!(
        outcome.error().unwrap().details().unwrap()["sqliteCode"],
        "SQLITE_CONSTRAINT"
    );
    assert_eq!(look(&test, "app.db", "SELECT count(*) FROM t"), 3);
    // More rows than fit are as good as an error.
    let returning =
        json!({"database": "app.db", "sql": "UPDATE t SET a = a + 10 RETURNING a", "maxRows": 2});
    let outcome = query(&test, returning).await;
    assert!(
        message(&outcome).contains("nothing was changed"),
        "{outcome:?}"
    );
    assert_eq!(look(&test, "app.db", "SELECT max(a) FROM t"), 3);
}

#[tokio::test]
async fn writing_cannot_end_its_transaction_or_open_another_file() {
    let test = with_database("app.db", "CREATE TABLE t(a)").answers((0..6).map(|_| yes()));
    for sql in [
        "INSERT INTO t VALUES (1); COMMIT; DROP TABLE t",
        "INSERT INTO t VALUES (1); ATTACH 'other.db' AS o; CREATE TABLE o.x(a)",
        "INSERT INTO t VALUES (1); VACUUM INTO 'copy.db'",
        "INSERT INTO t VALUES (1); PRAGMA journal_mode = WAL",
        "INSERT INTO t VALUES (1); PRAGMA writable_schema = ON",
        "INSERT INTO t VALUES (1); SAVEPOINT x",
    ] {
        let outcome = query(
            &test,
            json!({"database": "app.db", "sql": sql, "write": true}),
        )
        .await;
        assert!(outcome.error().is_some(), "{sql}");
        assert_eq!(look(&test, "app.db", "SELECT count(*) FROM t"), 0, "{sql}");
    }
    for sql in ["COMMIT", "/* x */ ATTACH 'x' AS y", "VACUUM"] {
        let outcome = query(
            &test,
            json!({"database": "app.db", "sql": sql, "write": true}),
        )
        .await;
        assert_eq!(code(&outcome), ErrorCode::InvalidArguments, "{sql}");
    }
    assert_eq!(test.asked().len(), 6);
    let left: Vec<_> = std::fs::read_dir(test.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[tokio::test]
async fn a_file_is_made_only_on_purpose_and_not_left_behind_empty() {
    let test = TestCrib::new().builtins().answers([yes(), yes()]);
    let sql = "CREATE TABLE t(a)";
    let outcome = query(
        &test,
        json!({"database": "new.db", "sql": sql, "write": true}),
    )
    .await;
    assert_eq!(code(&outcome), ErrorCode::FileNotFound);
    assert!(test.asked().is_empty());
    let failing =
        json!({"database": "new.db", "sql": "SELECT nope()", "write": true, "create": true});
    assert!(query(&test, failing).await.error().is_some());
    assert!(!test.path().join("new.db").exists());
    let outcome = query(
        &test,
        json!({"database": "new.db", "sql": sql, "write": true, "create": true}),
    )
    .await;
    assert_eq!(value(&outcome)["changes"], 0);
    assert_eq!(
        look(&test, "new.db", "SELECT count(*) FROM sqlite_schema"),
        1
    );
    assert!(test.asked()[1].effect.contains("make the database"));
}

#[tokio::test]
async fn a_file_that_was_exchanged_since_a_person_agreed_is_left_alone() {
    let test = with_database("app.db", "CREATE TABLE t(a)");
    make(&test, "other.db", "CREATE TABLE t(a)");
    let (from, to) = (test.path().join("other.db"), test.path().join("app.db"));
    let exchanging = std::sync::Arc::new(Exchanging { from, to });
    let request = CallRequest::new("query_database").args(args(
        json!({"database": "app.db", "sql": "INSERT INTO t VALUES (1)"}),
    ));
    let outcome = test.registry().execute(request.approver(exchanging)).await;
    assert_eq!(code(&outcome), ErrorCode::Conflict, "{outcome:?}");
    assert_eq!(look(&test, "app.db", "SELECT count(*) FROM t"), 0);
}

/// Agrees, and puts another file in the place of the one it was asked about.
struct Exchanging {
    from: std::path::PathBuf,
    to: std::path::PathBuf,
}

impl toolcrib::approval::Approver for Exchanging {
    fn decide(
        &self,
        _: toolcrib::approval::ApprovalRequest,
    ) -> toolcrib::BoxFuture<
        '_,
        Result<toolcrib::approval::ApprovalResponse, toolcrib::approval::NoAnswer>,
    > {
        std::fs::rename(&self.from, &self.to).unwrap();
        Box::pin(async { Ok(yes()) })
    }
}

#[tokio::test]
async fn large_results_are_cut_and_say_so() {
    let test = with_database(
        "app.db",
        "CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i, hex(zeroblob(500)) AS x FROM n",
    );
    let outcome = query(
        &test,
        json!({"database": "app.db", "sql": "SELECT i FROM t"}),
    )
    .await;
    assert_eq!(value(&outcome)["rowCount"], 100);
    assert_eq!(value(&outcome)["truncated"], true);
    assert!(outcome.truncated);
    let outcome = query(
        &test,
        json!({"database": "app.db", "sql": "SELECT * FROM t", "maxRows": 10_000}),
    )
    .await;
    let count = value(&outcome)["rowCount"].as_u64().unwrap();
    assert!((900..1100).contains(&count), "{count}");
    assert_eq!(value(&outcome)["truncated"], true);
    let text = outcome.result.as_ref().unwrap().text();
    assert!(
        text.len() < 80_000 && text.contains("are not shown here"),
        "{}",
        text.len()
    );
    let outcome = query(
        &test,
        json!({"database": "app.db", "sql": "SELECT 1", "maxRows": 10_001}),
    )
    .await;
    assert_eq!(code(&outcome), ErrorCode::InvalidArguments);
}

const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

#[tokio::test]
async fn an_endless_statement_is_stopped_by_time_and_by_cancelling() {
    let test = with_database("app.db", "CREATE TABLE t(a)").answers([yes()]);
    let started = Instant::now();
    let mut request = CallRequest::new("query_database")
        .args(args(json!({"database": "app.db", "sql": ENDLESS})));
    request.limits.timeout_ms = Some(300);
    let outcome = test.registry().execute(request).await;
    assert_eq!(code(&outcome), ErrorCode::Timeout);
    assert!(started.elapsed() < Duration::from_secs(5));
    let cancel = CancellationToken::new();
    let write = format!("INSERT INTO t VALUES (1); {ENDLESS}");
    let mut request = CallRequest::new("query_database").args(args(
        json!({"database": "app.db", "sql": write, "write": true}),
    ));
    request.cancel = Some(cancel.clone());
    let running = test.registry().execute(request);
    let cancelling = async {
        // As soon as the transaction holds its lock.
        let path = test.path().join("app.db");
        loop {
            let other = Connection::open(&path).unwrap();
            other.busy_timeout(Duration::ZERO).unwrap();
            if other.execute_batch("BEGIN IMMEDIATE").is_err() {
                break;
            }
            drop(other);
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(running, cancelling);
    assert_eq!(code(&outcome), ErrorCode::Cancelled);
    assert_eq!(look(&test, "app.db", "SELECT count(*) FROM t"), 0);
}

#[tokio::test]
async fn a_lock_of_another_program_is_waited_for_and_named() {
    let test = with_database("app.db", "CREATE TABLE t(a)").answers([yes(), yes()]);
    let script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN IMMEDIATE'); print('held', flush=True); sys.stdin.readline(); c.execute('COMMIT'); print('gone', flush=True); sys.stdin.readline()";
    let started = Command::new("python3")
        .args(["-c", script])
        .arg(test.path().join("app.db"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut holder) = started else {
        crate::skipped(format_args!("there is no python3"));
        return;
    };
    use std::io::{BufRead as _, BufReader, Write as _};
    let mut said = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "held");
    let write = json!({"database": "app.db", "sql": "INSERT INTO t VALUES (1)"});
    let mut request = CallRequest::new("query_database").args(args(write.clone()));
    request.limits.timeout_ms = Some(800);
    let outcome = test.registry().execute(request).await;
    assert!(
        message(&outcome).contains("is locked by another program"),
        "{outcome:?}"
    );
    let read = query(
        &test,
        json!({"database": "app.db", "sql": "SELECT count(*) FROM t"}),
    )
    .await;
    assert_eq!(*rows(&read), json!([[0]]));
    let mut input = holder.stdin.take().unwrap();
    input.write_all(b"\n").unwrap();
    assert_eq!(said.next().unwrap().unwrap(), "gone");
    assert_eq!(value(&query(&test, write).await)["changes"], 1);
    drop(input);
    holder.wait().unwrap();
}

#[tokio::test]
async fn calls_at_once_on_one_file_all_get_their_turn() {
    let answers = (0..16).map(|_| yes());
    let test = with_database("app.db", "CREATE TABLE t(a)").answers(answers);
    let writes = (0..16).map(|number| {
        query(
            &test,
            json!({"database": "app.db", "sql": "INSERT INTO t VALUES (?)", "params": [number]}),
        )
    });
    for outcome in futures_util::future::join_all(writes).await {
        assert_eq!(value(&outcome)["changes"], 1);
    }
    assert_eq!(look(&test, "app.db", "SELECT count(DISTINCT a) FROM t"), 16);
}

#[tokio::test]
async fn a_database_with_a_log_is_read_with_what_is_in_the_log() {
    let test =
        with_database("app.db", "PRAGMA journal_mode = WAL; CREATE TABLE t(a);").answers([yes()]);
    let count = json!({"database": "app.db", "sql": "SELECT count(*) FROM t"});
    // Closed: there is no log beside it.
    assert_eq!(*rows(&query(&test, count.clone()).await), json!([[0]]));
    // Open elsewhere, with rows that are only in the log.
    let writer = Connection::open(test.path().join("app.db")).unwrap();
    writer
        .execute_batch("PRAGMA wal_autocheckpoint = 0; INSERT INTO t VALUES (1)")
        .unwrap();
    assert_eq!(*rows(&query(&test, count.clone()).await), json!([[1]]));
    let write = json!({"database": "app.db", "sql": "INSERT INTO t VALUES (2)"});
    assert_eq!(value(&query(&test, write).await)["changes"], 1);
    let seen: i64 = writer
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap();
    assert_eq!(seen, 2);
    // A writer that died leaves its log and no index of it; what is in the log counts.
    for suffix in ["", "-wal"] {
        let (from, to) = (format!("app.db{suffix}"), format!("dead.db{suffix}"));
        std::fs::copy(test.path().join(from), test.path().join(to)).unwrap();
    }
    let dead = query(
        &test,
        json!({"database": "dead.db", "sql": "SELECT count(*) FROM t"}),
    )
    .await;
    assert_eq!(*rows(&dead), json!([[2]]));
}

#[tokio::test]
async fn an_error_says_where_in_the_statement() {
    let test = with_database("app.db", "CREATE TABLE t(a)");
    let outcome = query(
        &test,
        json!({"database": "app.db", "sql": "SELECT ä, nope FROM t"}),
    )
    .await;
    let error = outcome.error().unwrap();
    assert!(error.message().contains("no such column"), "{error}");
    let details = error.details().unwrap();
    assert_eq!(
        (&details["position"], &details["sqliteCode"]),
        (&json!(8), &json!("SQLITE_ERROR"))
    );
}
