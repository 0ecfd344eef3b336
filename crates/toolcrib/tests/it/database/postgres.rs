//! A real PostgreSQL server.

use std::time::{Duration, Instant};
use toolcrib::RegisterBuiltins as _;

use serde_json::{Value, json};
use toolcrib::builtin::{BuiltinOptions, DatabaseSettings};
use toolcrib::egress::{Egress, EgressOptions};
use toolcrib::secret::{Binding, SecretName, SecretStore};
use toolcrib::testing::TestCrib;
use toolcrib::{CallRequest, CancellationToken, ErrorCode, Outcome, Secret};

use super::server::{PASSWORD, Server};
use super::{message, query, rows, value, yes};
use crate::tools::{args, code};

/// A crib that knows the server's database `shop`, as this user with this password.
fn crib(
    server: &Server,
    user: &str,
    password: Option<&str>,
    more: Value,
) -> (tempfile::TempDir, TestCrib) {
    let mut table = json!({"url": format!("postgres://{user}@127.0.0.1:{}/shop", server.port)});
    for (key, value) in more.as_object().unwrap() {
        table[key] = value.clone();
    }
    crib_of(table, password, EgressOptions::default())
}

fn crib_of(
    mut table: Value,
    password: Option<&str>,
    egress: EgressOptions,
) -> (tempfile::TempDir, TestCrib) {
    let home = tempfile::tempdir().unwrap();
    let secrets = SecretStore::at(home.path());
    if let Some(password) = password {
        let name = SecretName::parse("SHOP_PASSWORD").unwrap();
        secrets
            .set(&name, &Secret::new(password), &Binding::default())
            .unwrap();
        table["secret"] = json!("SHOP_PASSWORD");
    }
    let test = TestCrib::new().with(|builder| builder.secrets(secrets.clone()));
    let options = BuiltinOptions {
        databases: DatabaseSettings::read(&json!({"shop": table})).unwrap(),
        secrets: Some(secrets),
        egress: Some(Egress::new(egress).unwrap()),
        ..BuiltinOptions::default()
    };
    test.registry().register_builtins_with(options).unwrap();
    (home, test)
}

fn reader(server: &Server) -> (tempfile::TempDir, TestCrib) {
    crib(server, "reader", Some(PASSWORD), json!({}))
}

async fn ask(test: &TestCrib, sql: &str) -> Outcome {
    query(test, json!({"database": "shop", "sql": sql})).await
}

#[tokio::test]
async fn every_type_comes_as_what_it_is() {
    let Some(server) = Server::start() else {
        return;
    };
    let (_home, test) = reader(&server);
    server.sql_in(
        "shop",
        "CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE DOMAIN small AS int CHECK (VALUE < 100); CREATE TYPE pair AS (a int, b text)",
    );
    for (sql, kind, expected) in [
        ("true", "bool", json!(true)),
        ("7::int2", "int2", json!(7)),
        ("-2147483648", "int4", json!(-2147483648_i64)),
        (
            "9007199254740991::int8",
            "int8",
            json!(9007199254740991_i64),
        ),
        ("9223372036854775807", "int8", json!("9223372036854775807")),
        ("0.1::float4", "float4", json!(0.1)),
        ("1e300::float8", "float8", json!(1e300)),
        ("'NaN'::float8", "float8", json!("NaN")),
        ("'-infinity'::float8", "float8", json!("-Infinity")),
        (
            "12345678901234567890.123456789::numeric",
            "numeric",
            json!("12345678901234567890.123456789"),
        ),
        ("'NaN'::numeric", "numeric", json!("NaN")),
        ("'12.34'::money", "money", json!("$12.34")),
        ("'it''s'::text", "text", json!("it's")),
        ("'x'::char(3)", "bpchar", json!("x  ")),
        ("'\\x00ff'::bytea", "bytea", json!({"base64": "AP8="})),
        ("date '2026-11-16'", "date", json!("2026-11-16")),
        ("time '12:30:00.5'", "time", json!("12:30:00.5")),
        (
            "timestamp '2026-11-16 12:30:00'",
            "timestamp",
            json!("2026-11-16T12:30:00"),
        ),
        (
            "timestamptz '2026-11-16 12:30:00+02'",
            "timestamptz",
            json!("2026-11-16T10:30:00Z"),
        ),
        ("interval '1 day 2 hours'", "interval", json!("P1DT2H")),
        (
            "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid",
            "uuid",
            json!("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ),
        ("'10.0.0.1/8'::inet", "inet", json!("10.0.0.1/8")),
        (
            "'08:00:2b:01:02:03'::macaddr",
            "macaddr",
            json!("08:00:2b:01:02:03"),
        ),
        (
            "'{\"a\": [1, null]}'::jsonb",
            "jsonb",
            json!({"a": [1, null]}),
        ),
        (
            "'[12345678901234567890]'::json",
            "json",
            json!("[12345678901234567890]"),
        ),
        ("ARRAY[1, NULL, 3]", "int4[]", json!([1, null, 3])),
        (
            "ARRAY[['a', 'b,\"c'], ['', 'NULL']]",
            "text[]",
            json!([["a", "b,\"c"], ["", "NULL"]]),
        ),
        ("ARRAY[12.50::numeric]", "numeric[]", json!(["12.50"])),
        ("ARRAY['{\"a\": 1}'::jsonb]", "jsonb[]", json!([{"a": 1}])),
        ("int4range(1, 5)", "int4range", json!("[1,5)")),
        ("'glad'::mood", "mood", json!("glad")),
        ("ARRAY['sad']::mood[]", "mood[]", json!(["sad"])),
        ("42::small", "small", json!(42)),
        ("ROW(1, 'x y')::pair", "pair", json!("(1,\"x y\")")),
        ("point '(1,2)'", "point", json!("(1,2)")),
        ("'a & b'::tsquery", "tsquery", json!("'a' & 'b'")),
        ("B'101'", "bit", json!("101")),
        ("'<a/>'::xml", "xml", json!("<a/>")),
        ("NULL::int", "int4", json!(null)),
    ] {
        let outcome = ask(&test, &format!("SELECT {sql} AS x")).await;
        // Some servers are built without XML.
        if kind == "xml" && outcome.error().is_some() {
            continue;
        }
        let found = value(&outcome);
        // A domain is described by the type beneath it.
        let kind = if kind == "small" { "int4" } else { kind };
        assert_eq!(
            found["columns"],
            json!([{"name": "x", "type": kind}]),
            "{sql}"
        );
        assert_eq!(found["rows"], json!([[expected]]), "{sql}");
    }
    assert!(test.asked().is_empty());
    let record = test.records().pop().unwrap();
    let exchange = serde_json::to_value(&record).unwrap();
    assert!(exchange.to_string().contains("POSTGRESQL"), "{exchange}");
    assert!(!exchange.to_string().contains(PASSWORD));
}

#[tokio::test]
async fn values_of_parameters_are_read_by_their_types() {
    let Some(server) = Server::start() else {
        return;
    };
    let (_home, test) = reader(&server);
    for (sql, params, expected) in [
        ("SELECT $1::int + $2::int", json!([1, 2]), json!([[3]])),
        (
            "SELECT $1::text",
            json!(["'; DROP TABLE x; --"]),
            json!([["'; DROP TABLE x; --"]]),
        ),
        (
            "SELECT $1::numeric",
            json!(["123456789012345678901234567890.5"]),
            json!([["123456789012345678901234567890.5"]]),
        ),
        (
            "SELECT $1::jsonb -> 'a'",
            json!([{"a": [1, 2]}]),
            json!([[[1, 2]]]),
        ),
        (
            "SELECT 2 = ANY($1::int[])",
            json!([[1, 2]]),
            json!([[true]]),
        ),
        (
            "SELECT $1::text[]",
            json!([["a,b", "c\"d", null]]),
            json!([[["a,b", "c\"d", null]]]),
        ),
        (
            "SELECT length($1::bytea)",
            json!([{"base64": "AP8="}]),
            json!([[2]]),
        ),
        (
            "SELECT $1::timestamptz",
            json!(["2026-11-16T10:30:00Z"]),
            json!([["2026-11-16T10:30:00Z"]]),
        ),
        (
            "SELECT $1::bool, $2::text IS NULL",
            json!([false, null]),
            json!([[false, true]]),
        ),
    ] {
        let outcome = query(
            &test,
            json!({"database": "shop", "sql": sql, "params": params}),
        )
        .await;
        assert_eq!(*rows(&outcome), expected, "{sql}");
    }
    for params in [json!([]), json!([1, 2]), json!({"a": 1}), json!([[1]])] {
        let outcome = query(
            &test,
            json!({"database": "shop", "sql": "SELECT $1::int", "params": params}),
        )
        .await;
        assert_eq!(code(&outcome), ErrorCode::InvalidArguments, "{params}");
    }
    let outcome = query(
        &test,
        json!({"database": "shop", "sql": "SELECT $1::int", "params": ["x"]}),
    )
    .await;
    assert_eq!(
        outcome.error().unwrap().details().unwrap()["sqlstate"],
        "22P02"
    );
}

#[tokio::test]
async fn a_call_that_reads_cannot_write_by_any_trick() {
    let Some(server) = Server::start() else {
        return;
    };
    let (_home, test) = reader(&server);
    server.sql_in(
        "shop",
        "CREATE TABLE t(a int); INSERT INTO t VALUES (1); CREATE SEQUENCE s; GRANT ALL ON t, s TO reader; ALTER TABLE t OWNER TO reader; GRANT ALL ON SCHEMA public TO reader",
    );
    server.sql_in(
        "shop",
        "CREATE FUNCTION sneaky() RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (9);RETURN 1;END $$",
    );
    server.sql_in(
        "shop",
        "CREATE FUNCTION unlock() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('transaction_read_only', 'off', true);INSERT INTO t VALUES (9);RETURN 1;END $$",
    );
    for sql in [
        "INSERT INTO t VALUES (2)",
        "UPDATE t SET a = 2",
        "DELETE FROM t",
        "TRUNCATE t",
        "WITH x AS (DELETE FROM t RETURNING a) SELECT * FROM x",
        "WITH x AS (INSERT INTO t VALUES (5) RETURNING a) SELECT * FROM x",
        "SELECT nextval('s')",
        "SELECT setval('s', 100)",
        "EXPLAIN ANALYZE DELETE FROM t",
        "SELECT a FROM t FOR UPDATE",
        "SELECT * INTO u FROM t",
        "CREATE TABLE u AS SELECT * FROM t",
        "SELECT sneaky()",
        "SELECT unlock()",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "SET TRANSACTION READ WRITE",
        "SELECT 1; DELETE FROM t",
        "COMMIT",
        ";COMMIT",
        "/* /* */ SELECT */ COMMIT",
        "ROLLBACK",
        "COPY t TO STDOUT",
        "COPY t TO PROGRAM 'cat > /tmp/x'",
        "COPY (SELECT 1) TO '/tmp/x'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT lo_export(1, '/tmp/x')",
        "SELECT lo_import('/etc/passwd')",
        "DO $$ BEGIN DELETE FROM t; END $$",
        "GRANT ALL ON t TO PUBLIC",
        "COMMENT ON TABLE t IS 'x'",
        "VACUUM t",
        "REFRESH MATERIALIZED VIEW v",
    ] {
        let outcome = query(
            &test,
            json!({"database": "shop", "sql": sql, "write": false}),
        )
        .await;
        assert!(outcome.error().is_some(), "{sql}: {outcome:?}");
    }
    assert!(test.asked().is_empty());
    assert_eq!(
        server.sql_in("shop", "SELECT count(*), sum(a) FROM t"),
        "1|1"
    );
    assert_eq!(
        server.sql_in("shop", "SELECT last_value, is_called FROM s"),
        "1|f"
    );
    let outcome = ask(&test, "SELECT nextval('s')").await;
    let error = outcome.error().unwrap();
    assert!(
        error.message().contains("call again with `write: true`"),
        "{error}"
    );
    assert_eq!(error.details().unwrap()["sqlstate"], "25006");
    // Notifications are sent when a transaction is kept, which this one is not.
    assert!(
        ask(&test, "SELECT pg_notify('x', 'y')")
            .await
            .error()
            .is_none()
    );
}

#[tokio::test]
async fn roles_that_a_transaction_does_not_hold_are_refused() {
    let Some(server) = Server::start() else {
        return;
    };
    server.sql("CREATE ROLE runs LOGIN PASSWORD 'correct horse battery' IN ROLE pg_execute_server_program; CREATE ROLE inner_role IN ROLE pg_read_server_files; CREATE ROLE indirect LOGIN NOINHERIT PASSWORD 'correct horse battery' IN ROLE inner_role; CREATE ROLE streams LOGIN REPLICATION PASSWORD 'correct horse battery'");
    for (user, what) in [
        ("postgres", "a superuser"),
        ("runs", "pg_execute_server_program"),
        ("indirect", "pg_read_server_files"),
        ("streams", "REPLICATION"),
    ] {
        let (_home, test) = crib(&server, user, Some(PASSWORD), json!({}));
        let outcome = ask(&test, "SELECT 1").await;
        assert_eq!(code(&outcome), ErrorCode::PermissionDenied, "{user}");
        assert!(message(&outcome).contains(what), "{outcome:?}");
    }
}

#[tokio::test]
async fn writing_asks_and_is_one_transaction() {
    let Some(server) = Server::start() else {
        return;
    };
    let (_home, test) = reader(&server);
    let test = test.answers((0..8).map(|_| yes()));
    server.sql_in(
        "shop",
        "CREATE TABLE t(a int UNIQUE DEFERRABLE INITIALLY DEFERRED); ALTER TABLE t OWNER TO reader",
    );
    let outcome = query(
        &test,
        json!({"database": "shop", "sql": "INSERT INTO t VALUES ($1), ($2)", "params": [1, 2]}),
    )
    .await;
    assert_eq!(value(&outcome)["changes"], 2);
    let effect = test.asked()[0].effect.clone();
    assert!(
        effect.contains("writes to `shop` on 127.0.0.1:") && effect.contains("INSERT INTO t"),
        "{effect}"
    );
    let outcome = ask(&test, "UPDATE t SET a = a + 10 RETURNING a").await;
    assert_eq!(
        (&value(&outcome)["changes"], rows(&outcome)),
        (&json!(2), &json!([[11], [12]]))
    );
    // A constraint that is looked at when the transaction ends.
    let outcome = ask(&test, "INSERT INTO t VALUES (11)").await;
    assert_eq!(
        outcome.error().unwrap().details().unwrap()["sqlstate"],
        "23505"
    );
    // More rows than fit.
    let outcome = query(
        &test,
        json!({"database": "shop", "sql": "UPDATE t SET a = 0 - a RETURNING a", "maxRows": 1}),
    )
    .await;
    assert!(
        message(&outcome).contains("nothing was changed"),
        "{outcome:?}"
    );
    let outcome = ask(
        &test,
        "DO $$ BEGIN INSERT INTO t VALUES (5); COMMIT; END $$",
    )
    .await;
    assert!(outcome.error().is_some());
    let outcome = ask(&test, "INSERT INTO t VALUES (6); INSERT INTO t VALUES (7)").await;
    assert!(message(&outcome).contains("`DO` block"), "{outcome:?}");
    assert_eq!(
        server.sql_in("shop", "SELECT string_agg(a::text, ',' ORDER BY a) FROM t"),
        "11,12"
    );
    let both = "DO $$ BEGIN INSERT INTO t VALUES (6); INSERT INTO t VALUES (7); END $$";
    assert!(ask(&test, both).await.error().is_none());
    assert_eq!(server.sql_in("shop", "SELECT count(*) FROM t"), "4");
    let asked = test.asked().len();
    for sql in [
        "COMMIT",
        ";; BEGIN",
        "/* /* */ */ COPY t FROM STDIN",
        "PREPARE TRANSACTION 'x'",
    ] {
        let outcome = query(
            &test,
            json!({"database": "shop", "sql": sql, "write": true}),
        )
        .await;
        assert_eq!(code(&outcome), ErrorCode::InvalidArguments, "{sql}");
    }
    assert_eq!(test.asked().len(), asked);
}

#[tokio::test]
async fn large_results_are_cut_where_they_are_made() {
    let Some(server) = Server::start() else {
        return;
    };
    let (_home, test) = reader(&server);
    let started = Instant::now();
    let outcome = ask(&test, "SELECT generate_series(1, 1000000000)").await;
    assert_eq!(
        (&value(&outcome)["rowCount"], &value(&outcome)["truncated"]),
        (&json!(100), &json!(true))
    );
    assert!(outcome.truncated);
    let rows = json!({"database": "shop", "sql": "SELECT repeat('x', 1000) FROM generate_series(1, 100000)", "maxRows": 10_000});
    let outcome = query(&test, rows).await;
    let count = value(&outcome)["rowCount"].as_u64().unwrap();
    assert!((900..1100).contains(&count), "{count}");
    assert!(started.elapsed() < Duration::from_secs(30));
    // One row that is larger than anything that is taken.
    let outcome = ask(&test, "SELECT repeat('x', 200 * 1024 * 1024)").await;
    assert_eq!(code(&outcome), ErrorCode::UpstreamError);
    assert!(
        message(&outcome).contains("longer than 64 MB"),
        "{outcome:?}"
    );
    let outcome = query(&test, json!({"database": "shop", "sql": "SELECT i FROM generate_series(1, 10000) i", "maxRows": 10_000})).await;
    assert_eq!(
        (&value(&outcome)["rowCount"], &value(&outcome)["truncated"]),
        (&json!(10_000), &json!(false))
    );
}

/// How many statements of `reader` the server is busy with.
fn busy(server: &Server) -> String {
    server.sql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader' AND state <> 'idle'")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_and_cancelling_stop_the_statement_at_the_server() {
    let Some(server) = Server::start() else {
        return;
    };
    let (_home, test) = reader(&server);
    let test = test.answers([yes()]);
    server.sql_in(
        "shop",
        "CREATE TABLE t(a int); ALTER TABLE t OWNER TO reader",
    );
    let mut request = CallRequest::new("query_database").args(args(
        json!({"database": "shop", "sql": "SELECT pg_sleep(60)"}),
    ));
    request.limits.timeout_ms = Some(1500);
    let outcome = test.registry().execute(request).await;
    assert_eq!(code(&outcome), ErrorCode::Timeout);
    assert_eq!(busy(&server), "0");
    let cancel = CancellationToken::new();
    let sql = "WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT pg_sleep(60) FROM x";
    let mut request = CallRequest::new("query_database")
        .args(args(json!({"database": "shop", "sql": sql, "write": true})));
    request.cancel = Some(cancel.clone());
    let running = test.registry().execute(request);
    let cancelling = async {
        while tokio::task::block_in_place(|| busy(&server)) == "0" {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(running, cancelling);
    assert_eq!(code(&outcome), ErrorCode::Cancelled);
    assert_eq!(busy(&server), "0");
    assert_eq!(server.sql_in("shop", "SELECT count(*) FROM t"), "0");
    // A caller that goes away takes its statement along.
    {
        let running = test
            .registry()
            .execute(CallRequest::new("query_database").args(args(
                json!({"database": "shop", "sql": "SELECT pg_sleep(60)"}),
            )));
        let until_busy = async {
            while tokio::task::block_in_place(|| busy(&server)) == "0" {
                tokio::task::yield_now().await;
            }
        };
        futures_util::future::select(std::pin::pin!(running), std::pin::pin!(until_busy)).await;
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    while tokio::task::block_in_place(|| busy(&server)) != "0" {
        assert!(Instant::now() < deadline, "the statement goes on");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_in_the_middle_keeps_nothing() {
    let Some(mut server) = Server::start() else {
        return;
    };
    let (_home, test) = reader(&server);
    let test = test.answers([yes()]);
    server.sql_in(
        "shop",
        "CREATE TABLE t(a int); ALTER TABLE t OWNER TO reader",
    );
    server.sql("CHECKPOINT");
    let sql = "WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT pg_sleep(60) FROM x";
    let running = query(
        &test,
        json!({"database": "shop", "sql": sql, "write": true}),
    );
    let killing = async {
        while tokio::task::block_in_place(|| busy(&server)) == "0" {
            tokio::task::yield_now().await;
        }
        // All of its processes: the one that runs the statement would go on for a while.
        server
            .sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'");
    };
    let (outcome, ()) = tokio::join!(running, killing);
    assert!(outcome.error().is_some(), "{outcome:?}");
    server.kill();
    let outcome = ask(&test, "SELECT 1").await;
    assert_eq!(code(&outcome), ErrorCode::NetworkError, "{outcome:?}");
    server.restart();
    assert_eq!(server.sql_in("shop", "SELECT count(*) FROM t"), "0");
}

#[tokio::test]
async fn a_password_is_wanted_and_not_shown() {
    let Some(server) = Server::start() else {
        return;
    };
    let (_home, test) = crib(&server, "reader", Some("wrong horse"), json!({}));
    let outcome = ask(&test, "SELECT 1").await;
    assert_eq!(code(&outcome), ErrorCode::UpstreamError);
    assert!(
        message(&outcome).contains("refused the login"),
        "{outcome:?}"
    );
    assert!(!format!("{outcome:?}").contains("wrong horse"));
    let (_home, test) = crib(&server, "reader", None, json!({}));
    let outcome = ask(&test, "SELECT 1").await;
    assert!(
        message(&outcome).contains("toolcrib secret set"),
        "{outcome:?}"
    );
    // What a database says back is masked like everything else.
    let (_home, test) = reader(&server);
    let outcome = ask(&test, &format!("SELECT '{PASSWORD}' || '!'")).await;
    assert!(!format!("{outcome:?}").contains(PASSWORD), "{outcome:?}");
    // A server without encryption is distinguished from one that does not exist.
    let (_home, test) = crib(&server, "reader", Some(PASSWORD), json!({"tls": "require"}));
    let outcome = ask(&test, "SELECT 1").await;
    assert!(
        message(&outcome).contains("tls = \"disable\""),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn an_encrypted_connection_needs_a_certificate_for_its_host() {
    let mut params = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca_key = rcgen::KeyPair::generate().unwrap();
    let ca = params.self_signed(&ca_key).unwrap();
    let issuer = rcgen::Issuer::from_params(&params, &ca_key);
    let leaf = |name: &str| {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        (
            params.signed_by(&key, &issuer).unwrap().pem(),
            key.serialize_pem(),
        )
    };
    for (name, is_good) in [("127.0.0.1", true), ("db.example.com", false)] {
        let (certificate, key) = leaf(name);
        let files = [
            ("server.crt", certificate.as_str()),
            ("server.key", key.as_str()),
        ];
        let Some(server) = Server::start_with("ssl = on", &files) else {
            return;
        };
        let table = json!({"url": format!("postgres://reader@127.0.0.1:{}/shop", server.port), "tls": "require"});
        let trusting = EgressOptions {
            certificates: ca.pem().into_bytes(),
            ..EgressOptions::default()
        };
        let (_home, test) = crib_of(table.clone(), Some(PASSWORD), trusting);
        let outcome = ask(
            &test,
            "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
        )
        .await;
        match is_good {
            true => assert_eq!(*rows(&outcome), json!([[true]]), "{outcome:?}"),
            false => assert_eq!(code(&outcome), ErrorCode::NetworkError, "{outcome:?}"),
        }
        if is_good {
            let mut request = CallRequest::new("query_database").args(args(
                json!({"database": "shop", "sql": "SELECT pg_sleep(60)"}),
            ));
            request.limits.timeout_ms = Some(1500);
            assert_eq!(
                code(&test.registry().execute(request).await),
                ErrorCode::Timeout
            );
            assert_eq!(busy(&server), "0");
            // No one vouches for it.
            let (_home, test) = crib_of(table, Some(PASSWORD), EgressOptions::default());
            let outcome = ask(&test, "SELECT 1").await;
            assert_eq!(code(&outcome), ErrorCode::NetworkError);
            assert!(
                message(&outcome).contains("network.certificates"),
                "{outcome:?}"
            );
        }
    }
}

#[tokio::test]
async fn an_error_says_where_and_what_helps() {
    let Some(server) = Server::start() else {
        return;
    };
    let (_home, test) = reader(&server);
    server.sql_in(
        "shop",
        "CREATE TABLE users(name text); GRANT ALL ON users TO reader",
    );
    let outcome = ask(&test, "SELECT nam FROM users").await;
    let details = outcome.error().unwrap().details().unwrap();
    assert_eq!(
        (&details["sqlstate"], &details["position"]),
        (&json!("42703"), &json!(8))
    );
    assert!(
        details["hint"].as_str().unwrap().contains("users.name"),
        "{details:?}"
    );
    let outcome = query(&test, json!({"database": "nope", "sql": "SELECT 1"})).await;
    assert!(message(&outcome).contains("there is `shop`"), "{outcome:?}");
    // A server that is not there.
    let table = json!({"url": "postgres://reader@127.0.0.1:1/shop"});
    let (_home, test) = crib_of(table, None, EgressOptions::default());
    assert_eq!(code(&ask(&test, "SELECT 1").await), ErrorCode::NetworkError);
}
