//! Questions on a terminal.

use serde_json::{Value, json};

use crate::harness::Test;
use crate::terminal::until;

/// A file that `write_file` would overwrite, about which it asks.
fn notes() -> Test {
    Test::new().file("docs/notes.md", "old\n")
}

const OVERWRITE: [&str; 4] = ["run", "write_file", "path=docs/notes.md", "content=new\n"];

fn content(test: &Test) -> String {
    std::fs::read_to_string(test.workspace().join("docs/notes.md")).unwrap()
}

fn pending(test: &Test) -> Value {
    until("a request", || {
        let list = test.run(&["approvals", "list", "--json"]).exits(0).json();
        list.get(0).cloned()
    })
}

fn last_call(test: &Test) -> Value {
    test.run(&["calls", "list", "--json", "-n", "1"]).json()[0].clone()
}

#[test]
fn a_call_that_asks_shows_what_it_would_do_and_runs_when_approved() {
    let test = notes();
    let mut terminal = test.on_terminal(&OVERWRITE);
    let question = terminal.sees("> ");
    for part in [
        "write_file needs your approval",
        "overwrite",
        "docs/notes.md",
        "-old",
        "+new",
        "y approve",
        "left)",
    ] {
        assert!(question.contains(part), "{part}: {question}");
    }
    // A slow machine shows progress before it asks, which is wiped away.
    let question = question.replace("\u{1b}[K", "");
    assert!(!question.contains('\u{1b}'), "NO_COLOR is heeded");
    assert_eq!(content(&test), "old\n", "nothing runs before the answer");
    terminal.types("y");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(content(&test), "new\n");
    let by = &last_call(&test)["approval"]["by"];
    assert!(by.as_str().unwrap().starts_with("ada at pts/"), "{by}");
}

#[test]
fn a_denial_and_its_reason_reach_the_caller() {
    let test = notes();
    let mut terminal = test.on_terminal(&OVERWRITE);
    terminal.sees("> ");
    terminal.types("n");
    terminal.sees("Why?");
    terminal.types("not on a Friday");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 5, "{shown}");
    assert!(
        shown.contains("was not approved: not on a Friday"),
        "{shown}"
    );
    assert!(shown.contains("or 1m after the denial"), "{shown}");
    // What it says is so.
    let words: Vec<&str> = OVERWRITE
        .into_iter()
        .chain(["--wait-approval", "5m"])
        .collect();
    test.run(&words).exits(5).says("denied");
    assert_eq!(content(&test), "old\n");
    let words: Vec<&str> = OVERWRITE.into_iter().chain(["--yes"]).collect();
    test.run(&words).exits(0);
    assert_eq!(content(&test), "new\n");
}

#[test]
fn the_end_of_input_denies_and_an_interrupt_cancels() {
    let test = notes();
    let mut terminal = test.on_terminal(&OVERWRITE);
    terminal.sees("> ");
    terminal.presses("\u{4}");
    assert_eq!(terminal.ends().0, 5);

    let test = notes();
    let mut terminal = test.on_terminal(&OVERWRITE);
    terminal.sees("> ");
    terminal.presses("half a line\u{3}");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 130, "{shown}");
    assert!(shown.contains("CANCELLED"), "{shown}");
    let all = test.run(&["approvals", "list", "--all", "--json"]).json();
    assert_eq!(all[0]["status"], "withdrawn", "no one is asked any more");
    assert_eq!(content(&test), "old\n");
}

#[test]
fn input_typed_before_the_question_is_not_an_answer() {
    let test = notes();
    let mut terminal = test.on_terminal(&OVERWRITE);
    terminal.presses("y\n");
    terminal.sees("left)");
    // Had it counted, this would come too late.
    terminal.types("n");
    terminal.types("");
    assert_eq!(terminal.ends().0, 5);
    assert_eq!(content(&test), "old\n");
}

#[test]
fn an_answer_from_elsewhere_ends_the_question() {
    let test = notes();
    let mut terminal = test.on_terminal(&OVERWRITE);
    terminal.sees("> ");
    let id = pending(&test)["id"].as_str().unwrap().to_owned();
    test.run(&["approvals", "approve", &id, "--reason", "fine"])
        .exits(0);
    terminal.sees("approved by");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(content(&test), "new\n");
}

#[test]
fn a_question_that_expires_ends_by_itself() {
    let test = notes();
    let words: Vec<&str> = OVERWRITE
        .into_iter()
        .chain(["--wait-approval", "3s"])
        .collect();
    let mut terminal = test.on_terminal(&words);
    terminal.sees("> ");
    let meanwhile = terminal.sees("no one answered in time");
    assert!(
        !meanwhile.contains("write_file ·"),
        "no progress is drawn into the question: {meanwhile}"
    );
    let (code, shown) = terminal.ends();
    assert_eq!(code, 6, "{shown}");
    assert!(shown.contains("APPROVAL_EXPIRED"), "{shown}");
}

#[test]
fn arguments_are_edited_line_by_line_where_there_is_no_editor() {
    let test = notes();
    let mut terminal = test.on_terminal(&OVERWRITE);
    terminal.sees("> ");
    terminal.types("e");
    terminal.sees("change > ");
    terminal.types("contnt=x");
    terminal.sees("`contnt` is not a parameter");
    terminal.types("content=edited");
    terminal.sees("change > ");
    terminal.types("create_dirs=perhaps");
    terminal.sees("change > ");
    terminal.types("");
    terminal.sees("error:");
    terminal.sees("change > ");
    terminal.types("-createDirs");
    terminal.sees("change > ");
    terminal.types("");
    terminal.sees("Approve with these arguments?");
    terminal.types("y");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(content(&test), "edited");
    assert_eq!(last_call(&test)["approval"]["modified"], true);
}

#[test]
fn arguments_that_a_rule_refuses_do_not_count() {
    let test = notes();
    let mut terminal = test.on_terminal(&["run", "shell", "command=$WHAT now"]);
    terminal.sees("> ");
    terminal.types("e");
    terminal.sees("change > ");
    terminal.types("command=sudo rm -rf /");
    terminal.sees("change > ");
    terminal.types("");
    terminal.sees("(rule `privileges`)");
    terminal.sees("change > ");
    terminal.types("command=echo fine");
    terminal.sees("change > ");
    terminal.types("");
    terminal.sees("Approve with these arguments?");
    terminal.types("y");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    // A busy machine may have shown before how long it takes.
    assert!(shown.trim_end().ends_with("fine"), "{shown}");
}

/// A script in the place of an editor; each line runs for one editing.
fn editor(test: &Test, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let path = test.home().with_file_name("editor");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn arguments_are_edited_in_the_persons_editor_until_they_fit() {
    let test = notes();
    let seen = test.home().with_file_name("seen");
    let editor = editor(
        &test,
        &format!(
            r#"stat -c '%a %n' "$1" "$(dirname "$1")" >> {seen}
cat "$1" >> {seen}
if grep -q edited "$1"; then sed -i 's/"contnt"/"content"/' "$1"; else sed -i 's/"content": .*/"contnt": "edited",/' "$1"; fi"#,
            seen = seen.display()
        ),
    );
    let test = test.variable("EDITOR", &editor);
    let mut terminal = test.on_terminal(&OVERWRITE);
    terminal.sees("> ");
    terminal.types("e");
    terminal.sees("Edit on?");
    terminal.types("y");
    terminal.sees("Approve with these arguments?");
    assert_eq!(content(&test), "old\n");
    terminal.types("y");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(content(&test), "edited");
    let seen = std::fs::read_to_string(seen).unwrap();
    let mut modes = seen.lines().filter(|line| line.contains("toolcrib-edit-"));
    assert!(modes.next().unwrap().starts_with("600 "), "{seen}");
    assert!(modes.next().unwrap().starts_with("700 "), "{seen}");
    assert!(
        seen.contains("// ! ") && seen.contains("contnt"),
        "faults stand where they are edited: {seen}"
    );
    let path = seen.lines().next().unwrap().split_once(' ').unwrap().1;
    assert!(
        !std::path::Path::new(path).exists(),
        "nothing is left behind"
    );
}

#[test]
fn an_editor_is_closed_when_someone_else_answers() {
    let test = notes();
    let editor = editor(&test, "echo editor is open\nexec sleep 1000");
    let test = test.variable("VISUAL", &editor).variable("EDITOR", "false");
    let mut terminal = test.on_terminal(&OVERWRITE);
    terminal.sees("> ");
    terminal.types("e");
    terminal.sees("editor is open");
    let id = pending(&test)["id"].as_str().unwrap().to_owned();
    test.run(&["approvals", "deny", &id]).exits(0);
    terminal.sees("denied by");
    assert_eq!(terminal.ends().0, 5);
}

#[test]
fn an_interrupt_in_the_editor_is_the_editors() {
    let test = notes();
    let editor = editor(
        &test,
        "trap 'exit 0' INT\necho editor is open\nwhile :; do sleep 0.05; done",
    );
    let test = test.variable("EDITOR", &editor);
    let mut terminal = test.on_terminal(&OVERWRITE);
    terminal.sees("> ");
    terminal.types("e");
    terminal.sees("editor is open");
    terminal.presses("\u{3}");
    terminal.sees("nothing was changed");
    terminal.sees("> ");
    terminal.types("y");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(content(&test), "new\n");
}

#[test]
fn a_grant_made_at_the_prompt_serves_the_next_call_until_it_is_revoked() {
    let test = notes();
    let mut terminal = test.on_terminal(&OVERWRITE);
    terminal.sees("> ");
    terminal.types("g");
    let offers = terminal.sees("Which?");
    assert!(offers.contains("any file in `docs/`"), "{offers}");
    let number = offers
        .lines()
        .find(|line| line.contains("any file in `docs/`"))
        .and_then(|line| line.split_whitespace().next().map(str::to_owned))
        .unwrap();
    terminal.types("9");
    terminal.sees("type a number from 1 to");
    terminal.types(&number);
    terminal.sees("would have allowed 0 past calls");
    terminal.sees("In this project for 30 days, any number of calls? (y, n, or c to change)");
    terminal.types("maybe");
    terminal.sees("type y, n or c");
    terminal.types("c");
    terminal.sees("Where?");
    terminal.types("");
    terminal.sees("How long?");
    terminal.types("soon");
    terminal.sees("`soon` is not a time; write 30m, 8h or 7d");
    terminal.sees("How long?");
    terminal.types("1000d");
    terminal.sees("a year at most");
    terminal.sees("How long?");
    terminal.types("1h");
    terminal.sees("How many calls?");
    terminal.types("");
    terminal.sees("In this project for 1 hour, any number of calls? (y, n, or c to change)");
    terminal.types("y");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(content(&test), "new\n");

    let again = ["run", "write_file", "path=docs/notes.md", "content=newer"];
    test.run(&again).exits(0);
    assert_eq!(content(&test), "newer");
    let grants = test.run(&["grants", "list", "--json"]).json();
    let id = grants[0]["id"].as_str().unwrap();
    assert_eq!(
        last_call(&test)["approval"]["by"],
        json!(format!("grant {id}"))
    );
    test.run(&["run", "write_file", "path=docs/../other.md", "content=x"])
        .exits(0);
    test.run(&["run", "write_file", "path=other.md", "content=y"])
        .exits(6);
    test.run(&["grants", "revoke", id]).exits(0);
    test.run(&again).exits(6);
}

#[test]
fn a_grant_takes_two_answers() {
    let test = notes();
    let mut terminal = test.on_terminal(&OVERWRITE);
    terminal.sees("> ");
    terminal.types("g");
    terminal.sees("Which?");
    terminal.types("1");
    terminal.sees("In this project for 30 days, any number of calls?");
    terminal.types("y");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    let grants = test.run(&["grants", "list", "--json"]).json();
    assert_eq!(grants[0]["scope"], "project");
    assert!(grants[0].get("maxUses").is_none(), "{grants}");
}

#[test]
fn commands_are_granted_by_their_words() {
    let test = Test::new();
    let push = ["run", "shell", "command=git push origin main"];
    let mut terminal = test.on_terminal(&push);
    terminal.sees("> ");
    terminal.types("g");
    let offers = terminal.sees("Which?");
    assert!(offers.contains("exactly this command"), "{offers}");
    terminal.types("1");
    // Session, an hour, one call.
    terminal.sees("or c to change)");
    terminal.types("c");
    terminal.sees("Where?");
    terminal.types("s");
    terminal.sees("How long?");
    terminal.types("1h");
    terminal.sees("How many calls?");
    terminal.types("1");
    terminal.sees("In this terminal session for 1 hour, one call?");
    terminal.types("n");
    terminal.sees("no grant was made");
    terminal.sees("> ");
    terminal.presses("\u{3}");
    assert_eq!(terminal.ends().0, 130);
    test.run(&["grants", "list", "--json"])
        .exits(0)
        .prints("[]\n");
    test.run(&push).exits(6);
    let add = [
        "grants",
        "add",
        "shell",
        "command=git push origin *",
        "--yes",
    ];
    test.run(&add).exits(0);
    // It fails, since there is no repository, but it runs.
    let ran = test.run(&push);
    assert!(ran.stderr.contains("repository"), "{ran:?}");
    test.run(&["run", "shell", "command=git push -f origin main"])
        .exits(6);
}

#[test]
fn what_may_not_be_granted_says_so() {
    let test = notes();
    let mut terminal = test.on_terminal(&["run", "delete_file", "path=docs/notes.md"]);
    let question = terminal.sees("> ");
    assert!(!question.contains("don't ask again"), "{question}");
    terminal.types("g");
    terminal.sees("every time");
    terminal.types("?");
    terminal.sees("Ctrl-C cancels the call");
    terminal.types("y");
    assert_eq!(terminal.ends().0, 0);
    assert!(!test.workspace().join("docs/notes.md").exists());
}

#[test]
fn the_result_and_the_question_do_not_mix() {
    let test = notes();
    let words: Vec<&str> = OVERWRITE.into_iter().chain(["--json"]).collect();
    let mut terminal = test.on_terminal_by("exec \"$@\" </dev/null >out.json", &words);
    terminal.sees("> ");
    terminal.types("y");
    assert_eq!(terminal.ends().0, 0);
    let stdout = std::fs::read_to_string(test.workspace().join("out.json")).unwrap();
    let result: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(result["ok"], true);
}

#[test]
fn a_streamed_call_asks_too() {
    let test = Test::new();
    let words = ["run", "shell", "command=$(echo echo) hello", "--stream"];
    let mut terminal = test.on_terminal(&words);
    terminal.sees("> ");
    terminal.types("y");
    terminal.sees("approved\n");
    terminal.sees("hello\n");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("approval approved"), "said once: {shown}");
}

#[test]
fn a_question_goes_to_the_terminal_also_where_stderr_is_redirected() {
    let test = notes();
    let mut terminal = test.on_terminal_by("exec \"$@\" 2>errors", &OVERWRITE);
    terminal.sees("> ");
    terminal.types("y");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(content(&test), "new\n");
    // A caller that redirects both is a program, whatever terminal it was started from.
    let terminal = test.on_terminal_by(
        "exec \"$@\" </dev/null 2>errors",
        &["run", "delete_file", "path=docs/notes.md"],
    );
    assert_eq!(terminal.ends().0, 6);
}

#[test]
fn a_long_diff_is_cut_and_shown_on_request_page_by_page() {
    let long: String = (1..=300).map(|line| format!("line {line}\n")).collect();
    let test = notes().file("docs/notes.md", &long);
    let mut terminal = test.on_terminal(&OVERWRITE);
    let question = terminal.sees("> ");
    assert!(question.contains("more lines"), "{question}");
    assert!(!question.contains("line 100"), "{question}");
    terminal.types("d");
    for _ in 0..6 {
        terminal.sees("Enter continues, q stops -- ");
        terminal.types("");
    }
    terminal.sees("-line 300");
    terminal.sees("> ");
    terminal.types("n");
    terminal.types("");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 5);
    assert!(!shown.contains("not kept in full"), "{shown}");
}

#[test]
fn a_diff_that_is_not_kept_in_full_says_where_the_rest_is() {
    let lines =
        |word: &str| -> String { (1..=500).map(|line| format!("{word} {line}\n")).collect() };
    let test = notes().file("docs/notes.md", lines("old"));
    let content = format!("content={}", lines("new"));
    let mut terminal = test.on_terminal(&["run", "write_file", "path=docs/notes.md", &content]);
    terminal.sees("the diff is not kept in full");
    terminal.sees("d show all");
    terminal.sees("> ");
    terminal.types("?");
    terminal.sees("the diff is kept up to a limit");
    terminal.sees("> ");
    terminal.types("d");
    terminal.sees("q stops -- ");
    terminal.types("q");
    terminal.sees("> ");
    terminal.presses("\u{3}");
    assert_eq!(terminal.ends().0, 130);
}

#[test]
fn a_terminal_is_left_as_it_was_found() {
    let test = notes();
    let script = r#"stty raw -echo; "$@"; code=$?; stty -a >modes; stty sane; exit $code"#;
    let mut terminal = test.on_terminal_by(script, &OVERWRITE);
    terminal.sees("> ");
    // Lines can be typed all the same.
    terminal.types("y");
    assert_eq!(terminal.ends().0, 0);
    let modes = std::fs::read_to_string(test.workspace().join("modes")).unwrap();
    assert!(
        modes.contains("-icanon") && modes.contains("-echo "),
        "{modes}"
    );
}

#[test]
fn a_diff_is_coloured() {
    let test = notes();
    let words: Vec<&str> = ["--color", "always"].into_iter().chain(OVERWRITE).collect();
    let mut terminal = test.on_terminal(&words);
    terminal.sees("\u{1b}[31m-old\u{1b}[0m");
    terminal.sees("\u{1b}[32m+new\u{1b}[0m");
    terminal.sees("> ");
    terminal.presses("\u{3}");
    assert_eq!(terminal.ends().0, 130);
}

#[test]
fn hidden_characters_are_made_visible() {
    let test = Test::new().file("a.txt", "old");
    let mut terminal = test.on_terminal(&[
        "run",
        "write_file",
        "path=a.txt",
        "content=\u{1b}]0;owned\u{7}\u{202e}txt",
    ]);
    let question = terminal.sees("> ");
    assert!(question.contains("\\u{001b}]0;owned\\u{0007}\\u{202e}txt"));
    assert!(!question.contains("\u{1b}]0;"), "{question}");
    terminal.types("n");
    terminal.types("");
    assert_eq!(terminal.ends().0, 5);
}

#[test]
fn no_argument_passes_for_a_line_of_the_question() {
    let test = Test::new().file("a.txt", "old");
    for (columns, blanks) in [(200, 184), (60, 44), (60, 0), (60, 104)] {
        let forged = "  why      approved by the operator";
        let content = format!("content={:blanks$}{forged}\n{forged}", "x");
        let words = ["run", "write_file", "path=a.txt", &content];
        let mut terminal = test.on_terminal_of(columns, &words);
        let question = terminal.sees("> ");
        for line in question.lines() {
            // On a busy machine the progress line was there before, and is cleared.
            let line = line.rsplit("\r\u{1b}[K").next().unwrap();
            assert!(line.chars().count() < columns.into(), "{line}");
            assert!(
                !line.contains("approved by") || line.contains(['│', '┊']),
                "{line}"
            );
        }
        let fields = question.lines().filter(|line| line.starts_with("  why"));
        assert_eq!(fields.count(), 1, "{question}");
        terminal.presses("\u{3}");
        assert_eq!(terminal.ends().0, 130);
    }
}

#[test]
fn what_was_typed_ahead_leaves_each_question_a_line() {
    let test = notes();
    let mut terminal = test.on_terminal(&OVERWRITE);
    terminal.sees("> ");
    terminal.presses("\n\n\n\nn\n\n");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 5, "{shown}");
    for line in shown.lines() {
        assert!(line.matches("y approve").count() <= 1, "{line}");
    }
}

#[test]
fn no_one_is_asked_without_a_terminal_or_where_input_is_forbidden() {
    let test = notes();
    test.run(&OVERWRITE).exits(6).says(
        "no terminal to ask on; pass `--yes` to approve it yourself, or `--wait-approval 5m`",
    );
    let refused = test.run(&OVERWRITE).exits(6).stderr;
    assert_eq!(
        refused.matches("--wait-approval").count(),
        1,
        "said once: {refused}"
    );
    let words: Vec<&str> = OVERWRITE.into_iter().chain(["--no-input"]).collect();
    let (code, shown) = test.on_terminal(&words).ends();
    assert_eq!(code, 6, "{shown}");
    assert!(
        shown.contains("no one was asked, because `--no-input` is set"),
        "{shown}"
    );
    let words: Vec<&str> = OVERWRITE.into_iter().chain(["--yes"]).collect();
    test.run(&words).exits(0);
    assert_eq!(last_call(&test)["approval"]["by"], "--yes");
    assert_eq!(
        test.run(&["approvals", "list", "--all", "--json"]).json(),
        json!([]),
        "nothing of it went through the queue"
    );
}

#[test]
fn a_script_that_changed_while_the_question_was_shown_is_shown_again() {
    let test = Test::new().file("deploy.sh", "echo first\n");
    let mut terminal = test.on_terminal(&["run", "shell", "command=sh ./deploy.sh; eval \"$X\""]);
    let question = terminal.sees("> ");
    assert!(question.contains("deploy.sh, sha256"), "{question}");
    std::fs::write(test.workspace().join("deploy.sh"), "echo second\n").unwrap();
    terminal.types("y");
    terminal.sees("replaced: a file that it runs changed");
    let question = terminal.sees("> ");
    assert!(question.contains("+echo second"), "{question}");
    terminal.types("y");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("second"), "{shown}");
}
