//! `toolcrib approvals`, and calls that wait for it.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::harness::Test;
use crate::terminal::until;

fn notes() -> Test {
    Test::new().file("notes.md", "old\n")
}

fn content(test: &Test) -> String {
    std::fs::read_to_string(test.workspace().join("notes.md")).unwrap()
}

/// A process that waits to overwrite the notes.
fn waiting(test: &Test, more: &[&str]) -> Child {
    test.command()
        .args(["run", "write_file", "path=notes.md", "content=new\n"])
        .args(["--wait-approval", "5m"])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn list(test: &Test, more: &[&str]) -> Value {
    let words: Vec<&str> = ["approvals", "list", "--json"]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    test.run(&words).exits(0).json()
}

/// The first request that someone waits for.
fn pending(test: &Test) -> Value {
    until("a request", || {
        let request = list(test, &[]).get(0).cloned()?;
        (request["waiting"] == true).then_some(request)
    })
}

fn id(request: &Value) -> String {
    request["id"].as_str().unwrap().to_owned()
}

fn ends(child: Child) -> (i32, String, String) {
    let output = child.wait_with_output().unwrap();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn a_call_waits_in_one_process_and_is_approved_in_another() {
    let test = notes();
    test.run(&["approvals", "list"])
        .exits(0)
        .says("no calls are waiting for approval");
    let caller = waiting(&test, &[]);
    let request = pending(&test);
    assert_eq!(
        (&request["tool"], &request["status"], &request["waiting"]),
        (&json!("write_file"), &json!("pending"), &json!(true))
    );
    assert!(request["diff"].as_str().unwrap().contains("+new"));
    let short = &id(&request)[28..];
    let table = test.run(&["approvals", "list"]).exits(0).stdout;
    assert!(
        table.contains(short) && table.contains("write_file") && table.contains("overwrite"),
        "{table}"
    );
    let row = test.run(&["approvals", "list", "--plain"]).exits(0).stdout;
    assert!(row.starts_with(&format!("{}\twrite_file\tpending\t", id(&request))));
    let shown = test.run(&["approvals", "show", short]).exits(0).stdout;
    for part in ["overwrite", "-old", "+new", "waits for an answer"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains('\u{1b}'), "no colour but on terminals");
    assert_eq!(content(&test), "old\n");
    let answer = test.run(&["approvals", "approve", short]).exits(0);
    assert!(
        answer
            .stdout
            .starts_with(&format!("approved {short}: overwrite"))
    );
    let (code, _, stderr) = ends(caller);
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stderr.contains(&format!("toolcrib approvals approve {short}")),
        "{stderr}"
    );
    assert_eq!(content(&test), "new\n");
    assert_eq!(list(&test, &["--all"])[0]["status"], "used");
    assert_eq!(list(&test, &["--status", "denied"]), json!([]));
    assert_eq!(list(&test, &[]), json!([]));
}

#[test]
fn a_denial_with_its_reason_reaches_the_caller() {
    let test = notes();
    let caller = waiting(&test, &["--json"]);
    let request = pending(&test);
    let denied = test
        .run(&[
            "approvals",
            "deny",
            &id(&request),
            "--reason",
            "not today",
            "--json",
        ])
        .exits(0)
        .json();
    assert_eq!(
        (&denied["status"], &denied["answer"]["reason"]),
        (&json!("denied"), &json!("not today"))
    );
    let (code, stdout, _) = ends(caller);
    let outcome: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        (code, &outcome["error"]["code"]),
        (5, &json!("APPROVAL_DENIED"))
    );
    let message = outcome["error"]["message"].as_str().unwrap();
    assert!(message.contains("not today"), "{message}");
    assert_eq!(content(&test), "old\n");
}

#[test]
fn no_one_answers_in_time() {
    let test = notes();
    test.run(&[
        "run",
        "write_file",
        "path=notes.md",
        "content=x",
        "--wait-approval",
        "300ms",
    ])
    .exits(6)
    .says("APPROVAL_EXPIRED");
    let request = &list(&test, &["--all"])[0];
    assert_eq!(request["status"], "expired");
    test.run(&["approvals", "approve", &id(request)])
        .exits(6)
        .says("expired");
    assert_eq!(content(&test), "old\n");
}

#[test]
fn arguments_are_edited_with_set_and_with_json() {
    let test = notes();
    let caller = waiting(&test, &[]);
    let request = id(&pending(&test));
    test.run(&["approvals", "approve", &request, "--set", "content=edited"])
        .exits(0);
    assert_eq!(ends(caller).0, 0);
    assert_eq!(content(&test), "edited");
    let shown = test.run(&["approvals", "show", &request, "--json"]).json();
    assert_eq!(shown["answer"]["modifiedArgs"]["content"], "edited");
    assert_eq!(shown["answer"]["modifiedArgs"]["path"], "notes.md");

    let caller = waiting(&test, &[]);
    let request = id(&pending(&test));
    let args = r#"{"path": "other.md", "content": "by JSON"}"#;
    let ran = test
        .command()
        .args(["approvals", "approve", &request, "--args", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .map(|mut child| {
            use std::io::Write as _;
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(args.as_bytes()).unwrap();
            drop(stdin);
            child.wait().unwrap()
        })
        .unwrap();
    assert_eq!(ran.code(), Some(0));
    assert_eq!(ends(caller).0, 0);
    assert_eq!(content(&test), "edited");
    let other = std::fs::read_to_string(test.workspace().join("other.md")).unwrap();
    assert_eq!(other, "by JSON");
}

#[test]
fn a_bad_edit_is_refused_and_the_request_stays_open() {
    let test = notes();
    let caller = waiting(&test, &[]);
    let request = id(&pending(&test));
    let approve = |more: &[&str]| {
        let words: Vec<&str> = ["approvals", "approve", &request]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        test.run(&words)
    };
    approve(&["--set", "contnt=x"]).exits(4).says("contnt");
    approve(&["--set", "createDirs=perhaps"]).exits(4);
    approve(&["--set", "content"]).exits(2).says("`content=…`");
    approve(&["--args", "{}"]).exits(4);
    // What only the tool refuses, once it runs, is a bad edit, too.
    approve(&["--set", "path=../x"])
        .exits(4)
        .says("the request stays open");
    std::fs::create_dir_all(test.workspace().join(".git/hooks")).unwrap();
    approve(&["--set", "path=.git/hooks/pre-commit"])
        .exits(4)
        .says("PERMISSION_DENIED");
    assert_eq!(id(&pending(&test)), request);
    approve(&["--set", "content=good"]).exits(0);
    assert_eq!(ends(caller).0, 0);
    assert_eq!(content(&test), "good");
}

#[test]
fn an_edit_that_a_rule_refuses_is_refused_and_the_request_stays_open() {
    let test = Test::new();
    let caller = test
        .command()
        .args(["run", "shell", "command=$WHAT now", "--wait-approval", "5m"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let request = id(&pending(&test));
    let approve = |command: &str| test.run(&["approvals", "approve", &request, "--set", command]);
    approve("command=sudo rm -rf /")
        .exits(5)
        .says("rule `privileges`");
    assert_eq!(id(&pending(&test)), request);
    approve("command=echo fine").exits(0);
    let (code, stdout, stderr) = ends(caller);
    assert_eq!((code, stdout.as_str()), (0, "fine\n"), "{stderr}");
}

#[test]
fn no_effect_passes_for_a_row_of_the_list() {
    let test = Test::new();
    let command = format!(
        "command=git push {}deef5bd2  shell  approved",
        "y".repeat(31)
    );
    let caller = test
        .command()
        .args(["run", "shell", &command, "--wait-approval", "5m"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let request = id(&pending(&test));
    for columns in [60, 90, 120] {
        for words in [
            ["approvals", "list"].as_slice(),
            &["approvals", "show", &request],
        ] {
            let (_, shown) = test.on_terminal_of(columns, words).ends();
            let long = shown
                .lines()
                .filter(|line| line.contains("yy") && line.chars().count() >= columns.into());
            assert_eq!(long.count(), 0, "{columns}: {shown}");
            let rows = shown.lines().filter(|line| line.starts_with("deef5bd2"));
            assert_eq!(rows.count(), 0, "{columns}: {shown}");
        }
    }
    test.run(&["approvals", "deny", &request]).exits(0);
    assert_eq!(ends(caller).0, 5);
}

#[test]
fn an_edit_beside_a_text_that_is_kept_shortened_shows_no_diff_of_its_ends() {
    let test = notes().file("other.md", "theirs\n");
    let long: String = (0..20_000).map(|line| format!("line {line}\n")).collect();
    let args = json!({"path": "notes.md", "content": long}).to_string();
    let mut caller = test
        .command()
        .args(["run", "write_file", "--args", "-", "--wait-approval", "5m"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = caller.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, args.as_bytes()).unwrap();
    drop(stdin);
    let request = id(&pending(&test));
    let ran = test.run(&["approvals", "approve", &request, "--set", "path=other.md"]);
    let stdout = ran.exits(0).stdout;
    assert!(stdout.contains("kept by its ends"), "{stdout}");
    assert!(!stdout.contains("-theirs"), "{stdout}");
    assert_eq!(ends(caller).0, 0);
    let written = std::fs::read_to_string(test.workspace().join("other.md")).unwrap();
    assert_eq!(written, long);
}

#[test]
fn an_edit_is_shown_as_what_it_does_and_confirmed_where_it_would_ask_itself() {
    let test = notes().file("other.md", "theirs\n").file("third.md", "x\n");
    let caller = waiting(&test, &[]);
    let request = id(&pending(&test));
    let mut terminal =
        test.on_terminal(&["approvals", "approve", &request, "--set", "path=other.md"]);
    let shown = terminal.sees("(y/n) ");
    for part in ["overwrite the file `other.md`", "-theirs", "+new"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    terminal.types("perhaps");
    terminal.sees("type y or n");
    terminal.types("n");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 5, "{shown}");
    assert!(shown.contains("the request stays open"), "{shown}");
    assert_eq!(id(&pending(&test)), request);
    // Without a terminal it is said, and done.
    let ran = test.run(&["approvals", "approve", &request, "--set", "path=third.md"]);
    let stdout = ran.exits(0).stdout;
    for part in ["overwrite the file `third.md`", "-x", "+new"] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert!(!stdout.contains("`notes.md`"), "{stdout}");
    assert_eq!(ends(caller).0, 0);
    assert_eq!(content(&test), "old\n");
}

#[test]
fn an_edit_is_judged_in_the_workspace_of_the_call() {
    let test = notes().file("elsewhere/.git/HEAD", "");
    let caller = waiting(&test, &[]);
    let request = id(&pending(&test));
    let elsewhere = |words: &[&str]| {
        test.command()
            .current_dir(test.workspace().join("elsewhere"))
            .args(words)
            .output()
            .unwrap()
    };
    let ran = elsewhere(&["approvals", "approve", &request, "--set", "content=edited"]);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    assert_eq!(ends(caller).0, 0);
    assert_eq!(content(&test), "edited");
}

#[test]
fn the_first_answer_wins_and_the_second_hears_who_was_first() {
    let test = notes();
    let caller = waiting(&test, &[]);
    let request = id(&pending(&test));
    let answers: Vec<Child> = (0..20)
        .map(|number| {
            let verb = if number % 2 == 0 { "approve" } else { "deny" };
            test.command()
                .env("USER", format!("user{number}"))
                .args(["approvals", verb, &request])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let ended: Vec<(i32, String, String)> = answers.into_iter().map(ends).collect();
    let winners: Vec<usize> = (0..20).filter(|number| ended[*number].0 == 0).collect();
    let [winner] = winners.as_slice() else {
        panic!("{winners:?} of {ended:?}");
    };
    let who = format!("`user{winner}`");
    for (number, (code, _, stderr)) in ended.iter().enumerate().filter(|(at, _)| at != winner) {
        assert_eq!(*code, 9, "{number}: {stderr}");
        assert!(
            stderr.contains(&who) && stderr.contains("CONFLICT"),
            "{stderr}"
        );
    }
    let approved = winner % 2 == 0;
    assert_eq!(ends(caller).0, if approved { 0 } else { 5 });
    assert_eq!(content(&test), if approved { "new\n" } else { "old\n" });
}

#[test]
fn a_killed_caller_leaves_a_request_whose_answer_serves_the_same_call() {
    let test = notes();
    let mut caller = waiting(&test, &[]);
    let request = id(&pending(&test));
    caller.kill().unwrap();
    caller.wait().unwrap();
    let left = list(&test, &[])[0].clone();
    assert_eq!(
        (&left["waiting"], id(&left)),
        (&json!(false), request.clone())
    );
    let table = test.run(&["approvals", "list"]).exits(0).stdout;
    assert!(table.contains("caller gone"), "{table}");
    test.run(&["approvals", "approve", &request])
        .exits(0)
        .says("its caller is gone");
    assert_eq!(content(&test), "old\n", "nothing runs without a caller");
    // Another call is none of its business; the same one needs neither a terminal nor `--wait-approval`.
    let call = |content| test.run(&["run", "write_file", "path=notes.md", content]);
    call("content=other").exits(6).says("no terminal to ask on");
    call("content=new\n").exits(0);
    assert_eq!(content(&test), "new\n");
    // Once: the next call asks again.
    std::fs::write(test.workspace().join("notes.md"), "old\n").unwrap();
    call("content=new\n").exits(6);
    let next = waiting(&test, &[]);
    let again = id(&pending(&test));
    assert_ne!(again, request);
    test.run(&["approvals", "deny", &again]).exits(0);
    assert_eq!(ends(next).0, 5);
}

#[test]
fn ids_that_name_nothing_or_too_much_are_usage_errors() {
    let test = notes();
    test.run(&["approvals", "show", "nothing"])
        .exits(2)
        .says("USAGE: `toolcrib approvals list --all`");
    test.run(&["approvals", "approve", "ffff", "--set", "a=b"])
        .exits(2);
    let failed = test.run(&["approvals", "deny", "ffff", "--json"]).exits(2);
    assert_eq!(failed.json()["error"]["code"], "USAGE");
    test.run(&["approvals", "list", "--status", "open"])
        .exits(2)
        .says("pending");
    let both = [
        "run",
        "shell",
        "command=true",
        "--yes",
        "--wait-approval",
        "1s",
    ];
    test.run(&both).exits(2);
}

#[test]
fn part_of_an_id_means_the_request_that_waits() {
    let test = notes();
    let first = waiting(&test, &[]);
    let decided = id(&pending(&test));
    test.run(&["approvals", "deny", &decided]).exits(0);
    assert_eq!(ends(first).0, 5);
    // Another call: the same one would be denied unasked.
    let second = test
        .command()
        .args(["run", "write_file", "path=notes.md", "content=newer\n"])
        .args(["--wait-approval", "5m"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let open = id(&pending(&test));
    // Ids of one minute begin alike; even where these do not, it is this one.
    test.run(&["approvals", "approve", &open[..8]]).exits(0);
    assert_eq!(ends(second).0, 0);
}

#[test]
fn ids_are_completed_with_what_can_be_answered() {
    let test = notes();
    let caller = waiting(&test, &[]);
    let request = id(&pending(&test));
    let complete = |verb: &str| {
        let ran = test
            .command()
            .env("COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", "3")
            .env("_CLAP_COMPLETE_COMP_TYPE", "9")
            .env("_CLAP_COMPLETE_SPACE", "true")
            .env("_CLAP_IFS", "\n")
            .args(["--", "toolcrib", "approvals", verb, ""])
            .output()
            .unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    assert!(complete("approve").contains(&request[28..]));
    test.run(&["approvals", "deny", &request]).exits(0);
    assert_eq!(ends(caller).0, 5);
    assert!(!complete("approve").contains(&request[28..]));
    assert!(complete("show").contains(&request[28..]));
}

#[test]
fn a_watch_prints_each_change_as_a_line_of_json() {
    let test = notes();
    let mut watch = test
        .command()
        .args(["approvals", "watch", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let stdout = watch.stdout.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stdout));
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let caller = waiting(&test, &[]);
    let first = next();
    assert_eq!(
        (&first["status"], &first["tool"]),
        (&json!("pending"), &json!("write_file"))
    );
    test.run(&["approvals", "deny", &id(&first)]).exits(0);
    let second = next();
    assert_eq!(
        (id(&second), &second["status"]),
        (id(&first), &json!("denied"))
    );
    assert_eq!(ends(caller).0, 5);
    let pid = rustix::process::Pid::from_child(&watch);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(watch.wait().unwrap().code(), Some(130));
}

#[test]
fn a_watch_on_a_terminal_puts_one_request_after_the_other() {
    let test = notes().file("other.md", "old");
    let mut terminal = test.on_terminal(&["approvals", "watch"]);
    terminal.sees("requests are shown");
    let first = waiting(&test, &[]);
    terminal.sees(" skip");
    terminal.sees("> ");
    let second = test
        .command()
        .args([
            "run",
            "delete_file",
            "path=other.md",
            "--wait-approval",
            "5m",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the second request", || {
        (list(&test, &[]).as_array()?.len() == 2).then_some(())
    });
    terminal.types("y");
    assert_eq!(ends(first).0, 0);
    terminal.sees("delete_file needs your approval");
    terminal.sees("> ");
    terminal.types("s");
    std::fs::write(test.workspace().join("notes.md"), "old again\n").unwrap();
    let third = waiting(&test, &["--call-id", "third"]);
    terminal.sees("write_file needs your approval");
    terminal.sees("1 other request waits");
    terminal.sees("> ");
    terminal.types("n");
    terminal.types("");
    assert_eq!(ends(third).0, 5);
    // What was skipped is still open.
    let left = id(&pending(&test));
    test.run(&["approvals", "approve", &left]).exits(0);
    assert_eq!(ends(second).0, 0);
    terminal.presses("\u{3}");
    assert_eq!(terminal.ends().0, 130);
    assert_eq!(content(&test), "old again\n");
}

#[test]
fn a_watch_goes_on_when_the_workspace_of_a_request_is_gone() {
    let test = notes();
    let elsewhere = test.home().with_file_name("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("notes.md"), "old\n").unwrap();
    let caller = waiting(&test, &["--workspace", elsewhere.to_str().unwrap()]);
    pending(&test);
    std::fs::remove_dir_all(&elsewhere).unwrap();
    let mut terminal = test.on_terminal(&["approvals", "watch"]);
    terminal.sees("write_file needs your approval");
    terminal.sees("> ");
    terminal.types("n");
    terminal.types("");
    assert_eq!(ends(caller).0, 5);
    terminal.presses("\u{3}");
    assert_eq!(terminal.ends().0, 130);
}

#[test]
fn a_home_named_by_a_flag_is_part_of_the_command_to_type() {
    let test = notes();
    let home = test.home().with_file_name("my home");
    let home = home.to_str().unwrap();
    let caller = waiting(&test, &["--home", home]);
    let request = until("a request", || {
        let list = test.run(&["--home", home, "approvals", "list", "--json"]);
        list.exits(0).json().get(0).cloned()
    });
    test.run(&["--home", home, "approvals", "deny", &id(&request)])
        .exits(0);
    let (_, _, stderr) = ends(caller);
    assert!(
        stderr.contains(&format!("toolcrib --home '{home}' approvals approve ")),
        "{stderr}"
    );
}

#[test]
fn a_script_that_changed_since_the_request_is_asked_about_again() {
    let test = Test::new().file("deploy.sh", "echo first\n");
    let caller = test
        .command()
        // What comes after the script cannot be known, so a person is asked.
        .args(["run", "shell", "command=sh ./deploy.sh; eval \"$X\""])
        .args(["--wait-approval", "5m"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let first = pending(&test);
    let digest = first["bound"][0]["digest"].as_str().unwrap();
    let shown = test.run(&["approvals", "show", &id(&first)]).exits(0);
    let shown = shown.stdout.replace(['\n', ' ', '┊'], "");
    assert!(
        shown.contains(&format!("runsdeploy.sh,sha256{digest}")),
        "{shown}"
    );
    std::fs::write(test.workspace().join("deploy.sh"), "echo second\n").unwrap();
    let refused = test.run(&["approvals", "approve", &id(&first)]);
    assert_ne!(refused.code, 0);
    assert!(
        refused
            .stderr
            .contains("`deploy.sh` changed since this was asked"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("toolcrib approvals list"),
        "{}",
        refused.stderr
    );
    let second = pending(&test);
    assert_ne!(id(&second), id(&first));
    assert!(second["diff"].as_str().unwrap().contains("+echo second"));
    let shown = test.run(&["approvals", "show", &id(&first)]).exits(0);
    assert!(
        shown
            .stdout
            .contains("replaced: a file that it runs changed"),
        "{}",
        shown.stdout
    );
    test.run(&["approvals", "approve", &id(&second)]).exits(0);
    let (code, stdout, stderr) = ends(caller);
    assert_eq!((code, stdout.as_str()), (0, "second\n"), "{stderr}");
}
