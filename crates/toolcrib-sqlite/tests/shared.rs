//! The shared index of a write-ahead log. Alone in its process: while one is cut off, no one is answered.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use toolcrib_sqlite::{Access, Connection, Error, Options, Step};

fn open(directory: &Path, name: &str, access: Access) -> Result<Connection, Error> {
    let options = Options {
        access,
        max_length: 1 << 20,
        stop: Box::new(|| false),
        patience: Duration::from_millis(10),
    };
    let directory = OwnedFd::from(File::open(directory).unwrap());
    Connection::open(directory, name.as_ref(), options)
}

fn run(connection: &Connection, sql: &str) -> Result<(), Error> {
    let mut statement = connection.prepare(sql)?.statement.unwrap();
    while statement.step()? == Step::Row {}
    Ok(())
}

fn made() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let connection = open(directory.path(), "a.db", Access::Create).unwrap();
    connection.begin().unwrap();
    run(&connection, "CREATE TABLE t(a)").unwrap();
    run(&connection, "INSERT INTO t VALUES ('x')").unwrap();
    connection.commit().unwrap();
    directory
}

#[test]
fn an_index_that_is_cut_off_in_use_is_an_error_and_ends_no_one() {
    let directory = made();
    // Another program keeps the log open.
    let script = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\nc.execute('PRAGMA journal_mode = WAL')\n\
                  c.execute('INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i FROM n')\n\
                  print('ready', flush=True)\nsys.stdin.read()\n";
    let started = Command::new("python3")
        .args(["-c", script])
        .arg(directory.path().join("a.db"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut other) = started else {
        eprintln!("SKIPPED an_index_that_is_cut_off: there is no python3");
        return;
    };
    let mut said = String::new();
    let mut out = BufReader::new(other.stdout.take().unwrap());
    out.read_line(&mut said).unwrap();
    assert_eq!(said, "ready\n");
    let index = directory.path().join("a.db-shm");
    for access in [Access::Read, Access::Write] {
        let connection = open(directory.path(), "a.db", access).unwrap();
        connection.begin().unwrap();
        let mut statement = connection
            .prepare("SELECT a FROM t")
            .unwrap()
            .statement
            .unwrap();
        assert_eq!(statement.step().unwrap(), Step::Row);
        let kept = std::fs::read(&index).unwrap();
        File::options()
            .write(true)
            .open(&index)
            .unwrap()
            .set_len(0)
            .unwrap();
        let error = loop {
            match statement.step() {
                Ok(Step::Row) => {}
                Ok(Step::Done) => panic!("the index was not looked at"),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("truncated"), "{error}");
        drop(statement);
        assert!(connection.commit().is_err());
        assert!(open(directory.path(), "a.db", Access::Write).is_err());
        drop(connection);
        std::fs::write(&index, kept).unwrap();
        // With the last of it gone, everything is as before.
        let connection = open(directory.path(), "a.db", Access::Read).unwrap();
        run(&connection, "SELECT count(*) FROM t").unwrap();
    }
    drop(other.stdin.take());
    other.wait().unwrap();
}
