//! Files and directories that someone hostile made.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use toolcrib::testing::WithBuiltins as _;

use rusqlite::Connection;
use serde_json::json;
use toolcrib::testing::TestCrib;
use toolcrib::{CallRequest, ErrorCode};

use super::{make, message, query, rows, with_database, yes};
use crate::tools::{args, code};

const COUNT: &str = "SELECT count(*) FROM t";

fn outside(sql: &str) -> tempfile::TempDir {
    let outside = tempfile::tempdir().unwrap();
    let database = Connection::open(outside.path().join("secret.db")).unwrap();
    database.execute_batch(sql).unwrap();
    outside
}

#[tokio::test]
async fn links_that_lead_out_are_not_followed_wherever_they_are() {
    let outside = outside("CREATE TABLE t(a); INSERT INTO t VALUES ('SECRET')");
    let secret = outside.path().join("secret.db");
    let test = TestCrib::new().builtins();
    symlink(&secret, test.path().join("link.db")).unwrap();
    symlink(outside.path(), test.path().join("dir")).unwrap();
    for database in [
        "link.db",
        "dir/secret.db",
        "../secret.db",
        secret.to_str().unwrap(),
    ] {
        let outcome = query(&test, json!({"database": database, "sql": COUNT})).await;
        assert_eq!(code(&outcome), ErrorCode::InvalidPath, "{database}");
    }
    // Within the workspace a link is as good as the file.
    make(&test, "app.db", "CREATE TABLE t(a)");
    symlink("app.db", test.path().join("inside.db")).unwrap();
    let outcome = query(&test, json!({"database": "inside.db", "sql": COUNT})).await;
    assert_eq!(*rows(&outcome), json!([[0]]));
}

#[tokio::test]
async fn files_beside_a_database_that_are_links_or_have_a_second_name_are_neither_read_nor_written()
{
    let outside = tempfile::tempdir().unwrap();
    let precious = outside.path().join("precious");
    for suffix in ["-wal", "-shm", "-journal"] {
        for is_hard in [false, true] {
            std::fs::write(&precious, "PRECIOUS".repeat(1000)).unwrap();
            let test = with_database("app.db", "PRAGMA journal_mode = WAL; CREATE TABLE t(a)")
                .answers([yes()]);
            let beside = test.path().join(format!("app.db{suffix}"));
            let _ = std::fs::remove_file(&beside);
            match is_hard {
                true => std::fs::hard_link(&precious, &beside).unwrap(),
                false => symlink(&precious, &beside).unwrap(),
            }
            for sql in [COUNT, "INSERT INTO t VALUES (1)"] {
                // It may fail, or do without; it must not touch what is outside.
                let _ = query(&test, json!({"database": "app.db", "sql": sql})).await;
            }
            let left = std::fs::read_to_string(&precious).unwrap();
            assert_eq!(left, "PRECIOUS".repeat(1000), "{suffix} {is_hard}");
        }
    }
    // Neither may a rollback journal that is a link.
    std::fs::write(&precious, "PRECIOUS").unwrap();
    let test = with_database("app.db", "CREATE TABLE t(a)").answers([yes()]);
    symlink(&precious, test.path().join("app.db-journal")).unwrap();
    let outcome = query(
        &test,
        json!({"database": "app.db", "sql": "INSERT INTO t VALUES (1)"}),
    )
    .await;
    assert!(outcome.error().is_some());
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "PRECIOUS");
}

#[tokio::test]
async fn a_database_with_a_second_name_is_read_and_never_written() {
    let outside = outside("CREATE TABLE t(a)");
    let test = TestCrib::new().builtins().answers([yes()]);
    std::fs::hard_link(outside.path().join("secret.db"), test.path().join("app.db")).unwrap();
    let outcome = query(&test, json!({"database": "app.db", "sql": COUNT})).await;
    assert_eq!(*rows(&outcome), json!([[0]]));
    let outcome = query(
        &test,
        json!({"database": "app.db", "sql": "INSERT INTO t VALUES (1)"}),
    )
    .await;
    assert!(message(&outcome).contains("hard link"), "{outcome:?}");
}

#[tokio::test]
async fn a_journal_that_names_another_file_does_not_have_it_removed() {
    let outside = tempfile::tempdir().unwrap();
    // As SQLite names such files, and with what it has in them.
    let precious = outside.path().join("precious-mj0123459ab");
    let test = with_database("app.db", "CREATE TABLE t(a)").answers([yes()]);
    let place = test.path().join("app.db-journal");
    std::fs::write(&precious, format!("{}\0", place.display())).unwrap();
    // A hot journal: one page as it was, and the name of a super-journal at its end.
    let name = precious.to_str().unwrap().as_bytes().to_vec();
    let page = std::fs::read(test.path().join("app.db")).unwrap()[..4096].to_vec();
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    for word in [1_u32, 0, 2, 512, 4096] {
        journal.extend(word.to_be_bytes());
    }
    journal.resize(512, 0);
    journal.extend(1_u32.to_be_bytes());
    journal.extend(&page);
    let checksum = (0..=(4096 - 200))
        .rev()
        .step_by(200)
        .filter(|at| *at > 0)
        .fold(0_u32, |sum, at| sum.wrapping_add(u32::from(page[at])));
    journal.extend(checksum.to_be_bytes());
    let lock_page = (0x4000_0000_u32 / 4096) + 1;
    journal.extend(lock_page.to_be_bytes());
    journal.extend(&name);
    journal.extend(u32::try_from(name.len()).unwrap().to_be_bytes());
    journal.extend(
        name.iter()
            .fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(*byte)))
            .to_be_bytes(),
    );
    journal.extend([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    std::fs::write(&place, &journal).unwrap();
    let _ = query(&test, json!({"database": "app.db", "sql": COUNT})).await;
    assert!(precious.exists());
    let _ = query(
        &test,
        json!({"database": "app.db", "sql": "INSERT INTO t VALUES (1)"}),
    )
    .await;
    assert!(precious.exists());
    // SQLite itself falls for it, so the journal is one.
    std::fs::write(&place, &journal).unwrap();
    let plain = Connection::open(test.path().join("app.db")).unwrap();
    let _ = plain.query_row(COUNT, [], |row| row.get::<_, i64>(0));
    assert!(
        !precious.exists(),
        "the test is none: this journal names no other file"
    );
}

fn fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}

#[tokio::test]
async fn input_that_is_not_a_file_is_refused_and_never_waited_for() {
    let test = TestCrib::new().builtins();
    for (name, kind) in [("fifo.db", 'p'), ("socket.db", 's')] {
        let path = test.path().join(name);
        match kind {
            'p' => fifo(&path),
            _ => drop(std::os::unix::net::UnixListener::bind(&path).unwrap()),
        }
    }
    std::fs::create_dir(test.path().join("dir.db")).unwrap();
    for name in ["fifo.db", "socket.db", "dir.db"] {
        let outcome = query(&test, json!({"database": name, "sql": "SELECT 1"})).await;
        assert_eq!(
            code(&outcome),
            ErrorCode::InvalidPath,
            "{name}: {outcome:?}"
        );
    }
    // Beside a database.
    for suffix in ["-wal", "-shm", "-journal"] {
        let name = format!("beside{suffix}.db");
        make(&test, &name, "PRAGMA journal_mode = WAL; CREATE TABLE t(a)");
        let beside = test.path().join(format!("{name}{suffix}"));
        let _ = std::fs::remove_file(&beside);
        fifo(&beside);
        let started = Instant::now();
        let _ = query(&test, json!({"database": name, "sql": COUNT})).await;
        assert!(started.elapsed() < Duration::from_secs(10), "{suffix}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_is_exchanged_for_a_link_all_the_time_leads_nowhere_else() {
    let outside = outside("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2), (3)");
    std::fs::rename(
        outside.path().join("secret.db"),
        outside.path().join("app.db"),
    )
    .unwrap();
    let test = TestCrib::new().builtins();
    std::fs::create_dir(test.path().join("real")).unwrap();
    make(&test, "real/app.db", "CREATE TABLE t(a)");
    let is_over = Arc::new(AtomicBool::new(false));
    let exchanging = {
        let (root, outside, is_over) = (
            test.path().to_owned(),
            outside.path().to_owned(),
            Arc::clone(&is_over),
        );
        std::thread::spawn(move || exchange(&root, &outside, &is_over))
    };
    let (mut seen, started) = (0, Instant::now());
    while started.elapsed() < Duration::from_secs(2) || seen == 0 {
        let outcome = query(&test, json!({"database": "dir/app.db", "sql": COUNT})).await;
        if let Some(value) = outcome.value() {
            assert_eq!(value["rows"], json!([[0]]));
            seen += 1;
        }
    }
    is_over.store(true, Ordering::Relaxed);
    exchanging.join().unwrap();
}

/// Makes `dir` a directory and a link to another one by turns, until it is told to stop.
fn exchange(root: &Path, outside: &Path, is_over: &AtomicBool) {
    let dir = root.join("dir");
    while !is_over.load(Ordering::Relaxed) {
        std::fs::rename(root.join("real"), &dir).unwrap();
        std::thread::yield_now();
        std::fs::rename(&dir, root.join("real")).unwrap();
        symlink(outside, &dir).unwrap();
        std::thread::yield_now();
        std::fs::remove_file(&dir).unwrap();
    }
}

/// A program that writes to a database with a log, a row at a time, and moves the log into the database now and then.
const WRITER: &str = "import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
c.execute('PRAGMA journal_mode = WAL'); c.execute('PRAGMA synchronous = OFF'); c.execute('PRAGMA wal_autocheckpoint = 7')
c.execute('CREATE TABLE t(a, b)'); print('ready', flush=True)
for i in range(100000):
    c.execute('BEGIN'); c.execute('INSERT INTO t VALUES (?, 1)', (i,)); c.execute('INSERT INTO t VALUES (?, -1)', (i,)); c.execute('COMMIT')
    if i % 50 == 0: c.execute('PRAGMA wal_checkpoint(RESTART)')
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_see_whole_transactions_of_a_busy_writer() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};
    let test = TestCrib::new().builtins();
    let started = Command::new("python3")
        .args(["-c", WRITER])
        .arg(test.path().join("app.db"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut writer) = started else {
        crate::skipped(format_args!("there is no python3"));
        return;
    };
    let mut said = BufReader::new(writer.stdout.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "ready");
    let (mut seen, mut before, started) = (0, 0, Instant::now());
    while started.elapsed() < Duration::from_secs(3) {
        let sql = "SELECT count(*), sum(b), count(DISTINCT a) FROM t";
        let outcome = query(&test, json!({"database": "app.db", "sql": sql})).await;
        let row = &rows(&outcome)[0];
        let count = row[0].as_i64().unwrap();
        // Whole transactions of two rows, in order, none lost.
        assert_eq!((&row[2], count % 2), (&json!(count / 2), 0), "{row}");
        assert!(count == 0 || row[1] == 0, "{row}");
        assert!(count >= before, "{count} after {before}");
        before = count;
        seen += 1;
    }
    let _ = writer.kill();
    writer.wait().unwrap();
    assert!(seen > 3 && before > 20, "{seen} {before}");
}

#[tokio::test]
async fn toolcribs_own_data_and_protected_places_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let workspace = home.path().join("work");
    std::fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
    std::fs::create_dir_all(workspace.join("crib")).unwrap();
    for name in ["crib/x.db", ".git/hooks/x.db"] {
        let database = Connection::open(workspace.join(name)).unwrap();
        database.execute_batch("CREATE TABLE t(a)").unwrap();
    }
    symlink("crib/x.db", workspace.join("link.db")).unwrap();
    let crib = toolcrib::CribOptions::default()
        .surroundings(toolcrib::config::Surroundings::new(&workspace, []))
        .home(workspace.join("crib"))
        .workspace(&workspace)
        .open()
        .unwrap();
    for name in ["crib/x.db", "link.db", ".git/hooks/x.db"] {
        let request =
            CallRequest::new("query_database").args(args(json!({"database": name, "sql": COUNT})));
        let outcome = crib.registry().execute(request).await;
        assert_eq!(
            code(&outcome),
            ErrorCode::PermissionDenied,
            "{name}: {outcome:?}"
        );
    }
}

#[tokio::test]
async fn files_that_are_not_databases_or_broken_ones_are_errors() {
    let test = with_database("good.db", "CREATE TABLE t(a, b); CREATE INDEX i ON t(a)");
    {
        let database = Connection::open(test.path().join("good.db")).unwrap();
        for number in 0..300 {
            database
                .execute("INSERT INTO t VALUES (?1, hex(randomblob(200)))", [number])
                .unwrap();
        }
    }
    let good = std::fs::read(test.path().join("good.db")).unwrap();
    let test = test
        .file("text.db", "this is not a database, just words")
        .file("empty.db", "");
    let outcome = query(&test, json!({"database": "text.db", "sql": COUNT})).await;
    assert!(
        message(&outcome).contains("is not a SQLite database"),
        "{outcome:?}"
    );
    // An empty file is an empty database.
    let outcome = query(&test, json!({"database": "empty.db", "sql": "SELECT 1"})).await;
    assert_eq!(*rows(&outcome), json!([[1]]));
    // Every byte of the header and of the first pages wrong by turns, pages that lie about their number, halves.
    let mut seed = 7_u64;
    for round in 0..400_usize {
        let mut bytes = good.clone();
        for _ in 0..=(round % 8) {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 33) as usize
                % if round % 2 == 0 {
                    120.min(bytes.len())
                } else {
                    bytes.len()
                };
            bytes[at] = (seed >> 24) as u8;
        }
        if round % 10 == 0 {
            bytes.truncate(bytes.len() / 2);
        }
        if round % 10 == 1 {
            bytes[28..32].copy_from_slice(&u32::MAX.to_be_bytes());
        }
        std::fs::write(test.path().join("broken.db"), &bytes).unwrap();
        for sql in [
            "SELECT sum(length(b)) FROM t WHERE a > 3",
            "SELECT * FROM t ORDER BY b",
            "PRAGMA integrity_check",
        ] {
            let mut request = CallRequest::new("query_database")
                .args(args(json!({"database": "broken.db", "sql": sql})));
            request.limits.timeout_ms = Some(5000);
            let outcome = test.registry().execute(request).await;
            if let Some(error) = outcome.error() {
                assert!(
                    !error.message().contains("panicked") && error.code() != ErrorCode::Timeout,
                    "{round} {error:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_schema_that_is_hostile_reaches_nothing() {
    let test = TestCrib::new().builtins().answers((0..4).map(|_| yes()));
    let path = test.path().join("app.db");
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch(
            "CREATE TABLE t(a); INSERT INTO t VALUES (1);
             CREATE VIEW loads AS SELECT load_extension('/tmp/x.so') AS a;
             CREATE VIEW names AS SELECT * FROM pragma_database_list;
             CREATE TRIGGER tr AFTER INSERT ON t BEGIN SELECT load_extension('/tmp/y.so'); END;
             CREATE VIEW v0 AS SELECT a FROM t;",
        )
        .unwrap();
    // Views in views, as deep as someone likes.
    let views =
        (1..2000).map(|depth| format!("CREATE VIEW v{depth} AS SELECT a FROM v{};", depth - 1));
    database
        .execute_batch(&format!("BEGIN; {} COMMIT", views.collect::<String>()))
        .unwrap();
    for (name, sql) in [
        ("t(oops", "CREATE TABLE t(oops"),
        ("g", "CREATE TABLE g(a, b AS (load_extension('/tmp/z.so')))"),
        (
            "recursive",
            "CREATE VIEW recursive AS SELECT * FROM recursive",
        ),
    ] {
        database
            .execute_batch("PRAGMA writable_schema = ON")
            .and_then(|()| {
                database.execute(
                    "INSERT INTO sqlite_schema VALUES (?1, ?2, ?2, 0, ?3)",
                    [
                        if sql.starts_with("CREATE VIEW") {
                            "view"
                        } else {
                            "table"
                        },
                        name,
                        sql,
                    ],
                )
            })
            .unwrap();
        if name != "t(oops" {
            continue;
        }
        database
            .execute("DELETE FROM sqlite_schema WHERE name = ?1", [name])
            .unwrap();
    }
    drop(database);
    for sql in [
        "SELECT * FROM loads",
        "SELECT * FROM names",
        "SELECT * FROM v1999",
        "SELECT * FROM recursive",
        "SELECT b FROM g",
        "INSERT INTO t VALUES (2)",
    ] {
        let outcome = query(&test, json!({"database": "app.db", "sql": sql})).await;
        assert!(outcome.error().is_some(), "{sql}: {outcome:?}");
        assert!(!message(&outcome).contains("panicked"), "{outcome:?}");
    }
}

#[tokio::test]
async fn statements_that_want_too_much_fail_in_time() {
    let test = with_database("app.db", "CREATE TABLE t(a)");
    let deep = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    let wide = format!("SELECT {}", vec!["1"; 5000].join(","));
    let nested = format!("SELECT {}1{}", "(SELECT ".repeat(500), ")".repeat(500));
    let compound = vec!["SELECT 1"; 1000].join(" UNION ALL ");
    let like = format!(
        "SELECT printf('%.*c', 900000, 'a') LIKE '{}b'",
        "%a".repeat(400)
    );
    for sql in [
        deep.as_str(),
        wide.as_str(),
        nested.as_str(),
        compound.as_str(),
        "SELECT zeroblob(100000000)",
        "SELECT hex(zeroblob(1000000))",
        "SELECT printf('%.*c', 100000000, 'x')",
        "WITH RECURSIVE n(i, x) AS (SELECT 1, randomblob(900000) UNION ALL SELECT i + 1, randomblob(900000) FROM n WHERE i < 100000) SELECT i FROM n ORDER BY x LIMIT 1",
        like.as_str(),
    ] {
        let started = Instant::now();
        let mut request = CallRequest::new("query_database")
            .args(args(json!({"database": "app.db", "sql": sql})));
        request.limits.timeout_ms = Some(20_000);
        let outcome = test.registry().execute(request).await;
        let took = started.elapsed();
        assert!(
            took < Duration::from_secs(25),
            "{took:?} {}",
            &sql[..60.min(sql.len())]
        );
        eprintln!(
            "{took:?} {} {:?}",
            &sql[..60.min(sql.len())],
            outcome.error().map(|error| error.message())
        );
        if let Some(error) = outcome.error() {
            assert!(!error.message().contains("panicked"), "{error:?}");
        }
    }
}
