//! Rules about paths hold for what a call touches, whatever its parameters call it: where links lead to, what a query writes, what a
//! formatter comes upon.

use std::os::unix::fs::symlink;
use toolcrib::RegisterBuiltins as _;

use serde_json::{Value, json};
use toolcrib::approval::AllowAll;
use toolcrib::rules::{Judgement, Rule, RuleContext, RuleSet, Rules as _, Whose};
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, ErrorCode, Outcome, Registry, Verdict};

use crate::tools::code;

/// The built-in tools on a directory where nothing may be written in `kept`, and nothing be read in `sealed`.
fn registry(root: &std::path::Path) -> Registry {
    let registry = Registry::builder()
        .workspace(Workspace::open(root).unwrap())
        .rules(sealed())
        .approver(AllowAll::by("a test"))
        .build();
    registry.register_builtins().unwrap();
    registry
}

fn tree() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in [
        ("kept/a.txt", "a\n"),
        ("sealed/s.txt", "SEALED\n"),
        (".ssh/config", "SEALED\n"),
        ("open.txt", "open\n"),
    ] {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    for (target, name) in [
        ("sealed/s.txt", "notes.txt"),
        (".ssh", "dir"),
        ("kept", "into"),
        ("open.txt", "fine.txt"),
    ] {
        symlink(target, root.path().join(name)).unwrap();
    }
    root
}

async fn call(registry: &Registry, tool: &str, arguments: Value) -> Outcome {
    let arguments = arguments.as_object().unwrap().clone();
    registry
        .execute(CallRequest::new(tool).args(arguments))
        .await
}

#[tokio::test]
async fn a_link_to_what_may_not_be_read_or_written_is_that() {
    let root = tree();
    let registry = registry(root.path());
    for (tool, arguments) in [
        ("read_file", json!({"path": "notes.txt"})),
        ("read_file", json!({"path": "dir/config"})),
        (
            "search_code",
            json!({"query": "SEALED", "path": "notes.txt"}),
        ),
        ("list_directory", json!({"path": "dir"})),
        (
            "write_file",
            json!({"path": "into/new.txt", "content": "x"}),
        ),
        ("write_file", json!({"path": "into/a.txt", "content": "x"})),
        (
            "query_database",
            json!({"database": "notes.txt", "sql": "SELECT 1"}),
        ),
    ] {
        let outcome = call(&registry, tool, arguments.clone()).await;
        assert_eq!(
            code(&outcome),
            ErrorCode::BlockedByRule,
            "{tool} {arguments}"
        );
    }
    assert!(!root.path().join("kept/new.txt").exists());
    for (tool, arguments) in [
        ("read_file", json!({"path": "fine.txt"})),
        ("read_file", json!({"path": "into/a.txt"})),
        ("write_file", json!({"path": "new.txt", "content": "x"})),
    ] {
        let outcome = call(&registry, tool, arguments.clone()).await;
        assert!(outcome.is_ok(), "{tool} {arguments}: {outcome:?}");
    }
}

/// What the rules say about shell text in a directory, with links looked up.
fn judged(root: &std::path::Path, rules: &RuleSet, text: &str) -> Judgement {
    let root = root.canonicalize().unwrap();
    let cx = RuleContext {
        workspace: Some(&root),
        follows_links: true,
        ..RuleContext::default()
    };
    let arguments = super::object(super::command(text));
    rules.judge(&super::tool("shell"), &arguments, &cx)
}

fn sealed() -> RuleSet {
    let toml = "[[rules]]\nname = \"kept\"\npath = \"kept/**\"\naccess = \"write\"\n\n[[rules]]\nname = \"sealed\"\npath = \"sealed/**\"\n";
    let rules = Rule::from_toml(toml, "rules.toml", Whose::Operator).unwrap();
    rules.into_iter().fold(RuleSet::default(), RuleSet::with)
}

#[test]
fn in_shell_text_too_a_link_is_what_it_leads_to() {
    let root = tree();
    std::fs::create_dir(root.path().join("sub")).unwrap();
    for (target, name) in [
        ("/etc/passwd", "accounts"),
        ("../notes.txt", "sub/again"),
        ("/etc", "sub/etc"),
        ("gone/../sealed/new", "dangling"),
    ] {
        symlink(target, root.path().join(name)).unwrap();
    }
    for text in [
        "cat notes.txt",
        "cat < notes.txt",
        "cat ./notes.txt | wc",
        "cat dir/config",
        "cat dir/../notes.txt",
        "cd dir && cat config",
        "cat sub/again",
        "cd sub && head -1 again",
        "cat n*.txt",
        "cat sub/a*",
        "sh -c 'cat notes.txt'",
        "timeout 5 env A=b cat notes.txt",
        "cp notes.txt copy",
        "grep x notes.txt",
        "f=notes.txt; cat \"$f\"",
        "cat accounts",
        "cat sub/etc/shadow",
        "cat dangling",
        "echo x > into/a.txt",
        "awk 'BEGIN { while ((getline l < \"notes.txt\") > 0) print l }'",
        "sed -n 'r notes.txt' open.txt",
    ] {
        let verdict = judged(root.path(), &sealed(), text).verdict;
        assert_eq!(verdict, Verdict::Deny, "{text}");
    }
    for text in [
        "cat fine.txt",
        "cat open.txt",
        "cat into/a.txt",
        "cat f*.txt",
        "ls -l *.rs",
        "echo notes.txt",
        "cat missing.txt",
    ] {
        let judgement = judged(root.path(), &sealed(), text);
        assert_eq!(judgement.verdict, Verdict::Allow, "{text}: {judgement:?}");
    }
}

#[test]
fn a_rule_says_when_it_cannot_know_which_file_is_read() {
    let root = tree();
    for text in [
        "cat \"$f\"",
        "cat $(ls | head -1)",
        "for f in *; do cat \"$f\"; done",
        "find . -type f | xargs cat",
        "cat \"src/$f\"",
        "cat < \"$f\"",
    ] {
        let judgement = judged(root.path(), &sealed(), text);
        assert_eq!(judgement.verdict, Verdict::Ask, "{text}: {judgement:?}");
        let finding = &judgement.findings[0];
        assert_eq!(finding.rule, "sealed");
        assert_eq!(
            finding.reason,
            "which file this is will be known only when the command runs, so the rule cannot be applied"
        );
        let usual = judged(root.path(), &RuleSet::default(), text);
        assert_eq!(usual.verdict, Verdict::Allow, "{text}: {usual:?}");
    }
    let only_written = "[[rules]]\nname = \"kept\"\npath = \"kept/**\"\naccess = \"write\"\n";
    let rules = super::rules(only_written);
    assert_eq!(
        judged(root.path(), &rules, "cat \"$f\"").verdict,
        Verdict::Allow
    );
}

#[tokio::test]
async fn a_database_that_may_not_be_written_is_only_read() {
    let root = tree();
    let database = rusqlite::Connection::open(root.path().join("kept/x.db")).unwrap();
    database
        .execute_batch("CREATE TABLE t(a); INSERT INTO t VALUES (1);")
        .unwrap();
    let registry = registry(root.path());
    let writes = json!({"database": "kept/x.db", "sql": "INSERT INTO t VALUES (2)"});
    assert_eq!(
        code(&call(&registry, "query_database", writes).await),
        ErrorCode::BlockedByRule
    );
    let linked = json!({"database": "into/x.db", "sql": "DELETE FROM t", "write": true});
    assert_eq!(
        code(&call(&registry, "query_database", linked).await),
        ErrorCode::BlockedByRule
    );
    let reads = json!({"database": "kept/x.db", "sql": "SELECT count(*) FROM t"});
    let outcome = call(&registry, "query_database", reads).await;
    assert_eq!(outcome.value().unwrap()["rows"], json!([[1]]));
}

#[tokio::test]
async fn a_formatter_neither_shows_nor_writes_what_the_rules_keep() {
    if std::process::Command::new("rustfmt")
        .arg("--version")
        .output()
        .is_err()
    {
        crate::skipped(format_args!("there is no `rustfmt`"));
        return;
    }
    let root = tree();
    const UGLY: &str = "fn main(){}\n";
    for path in ["kept/a.rs", "sealed/b.rs", "c.rs"] {
        std::fs::write(root.path().join(path), UGLY).unwrap();
    }
    let registry = registry(root.path());
    let checked = call(&registry, "format_code", json!({"check": true})).await;
    let shown = format!("{:?}", checked.value().unwrap());
    assert!(
        shown.contains("c.rs") && !shown.contains("a.rs") && !shown.contains("b.rs"),
        "{shown}"
    );
    let written = call(&registry, "format_code", json!({})).await;
    assert!(written.is_ok(), "{written:?}");
    let read = |path: &str| std::fs::read_to_string(root.path().join(path)).unwrap();
    assert_ne!(read("c.rs"), UGLY);
    assert_eq!(
        (read("kept/a.rs"), read("sealed/b.rs")),
        (UGLY.to_owned(), UGLY.to_owned())
    );
}
