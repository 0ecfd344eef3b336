//! Opening and asking, without the rest of Toolcrib.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use toolcrib_sqlite::{Access, Connection, Error, Options, Param, Refused, Step, Value};

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
fn what_is_written_is_there_and_what_is_not_kept_is_not() {
    let directory = made();
    {
        let connection = open(directory.path(), "a.db", Access::Write).unwrap();
        connection.begin().unwrap();
        run(&connection, "DELETE FROM t").unwrap();
        assert_eq!(connection.total_changes(), 1);
    }
    let connection = open(directory.path(), "a.db", Access::Read).unwrap();
    let mut statement = connection
        .prepare("SELECT a, ?1 FROM t")
        .unwrap()
        .statement
        .unwrap();
    statement.bind(1, &Param::Blob(vec![0, 255])).unwrap();
    assert_eq!(statement.step().unwrap(), Step::Row);
    assert_eq!(statement.value(0).unwrap(), Value::Text(b"x"));
    assert_eq!(statement.value(1).unwrap(), Value::Blob(&[0, 255]));
    assert_eq!(statement.value(7).unwrap(), Value::Null);
    assert_eq!(statement.step().unwrap(), Step::Done);
}

#[test]
fn a_name_is_one_name_and_no_link() {
    let directory = made();
    symlink("a.db", directory.path().join("link.db")).unwrap();
    std::fs::create_dir(directory.path().join("sub")).unwrap();
    for name in [
        "",
        ".",
        "..",
        "sub/../a.db",
        "link.db",
        "sub",
        "none.db",
        "a.db\0",
    ] {
        assert!(
            open(directory.path(), name, Access::Read).is_err(),
            "{name:?}"
        );
    }
    assert!(!directory.path().join("none.db").exists());
    // The directory is the one that is open, wherever it is by now.
    let moved = directory.path().join("moved");
    let inside = tempfile::tempdir_in(directory.path()).unwrap();
    std::fs::copy(directory.path().join("a.db"), inside.path().join("a.db")).unwrap();
    let held = OwnedFd::from(File::open(inside.path()).unwrap());
    std::fs::rename(inside.path(), &moved).unwrap();
    let options = Options {
        access: Access::Write,
        max_length: 1 << 20,
        stop: Box::new(|| false),
        patience: Duration::ZERO,
    };
    let connection = Connection::open(held, "a.db".as_ref(), options).unwrap();
    connection.begin().unwrap();
    run(&connection, "INSERT INTO t VALUES ('y')").unwrap();
    // The journal lies beside it.
    assert!(moved.join("a.db-journal").exists());
    connection.commit().unwrap();
}

#[test]
fn what_is_refused_says_what_it_was() {
    let directory = made();
    let connection = open(directory.path(), "a.db", Access::Read).unwrap();
    for (sql, expected) in [
        ("DELETE FROM t", Refused::Write),
        ("ATTACH 'x' AS y", Refused::OtherFile),
        ("COMMIT", Refused::Transaction),
        (
            "PRAGMA mmap_size = 1",
            Refused::Pragma("mmap_size".to_owned()),
        ),
        (
            "SELECT load_extension('x')",
            Refused::Function("load_extension".to_owned()),
        ),
    ] {
        let error = connection.prepare(sql).err().unwrap();
        assert_eq!(error.refused, Some(expected), "{sql}");
    }
    // Nothing of it is left for the next.
    let error = connection.prepare("SELECT nope").err().unwrap();
    assert_eq!((error.refused.clone(), error.offset), (None, Some(7)));
    assert_eq!(error.name(), "SQLITE_ERROR");
}

#[test]
fn a_question_that_panics_stops_the_statement() {
    let directory = made();
    let options = Options {
        access: Access::Read,
        max_length: 1 << 20,
        stop: Box::new(|| panic!("on purpose")),
        patience: Duration::ZERO,
    };
    let held = OwnedFd::from(File::open(directory.path()).unwrap());
    let connection = Connection::open(held, "a.db".as_ref(), options).unwrap();
    let sql =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    assert!(run(&connection, sql).unwrap_err().is_stopped());
}
