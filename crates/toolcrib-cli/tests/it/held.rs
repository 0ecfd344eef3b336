//! What a command plants is held: out of the workspace, in the home, until a person decides.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::Test;
use crate::serving::{Serving, eventually};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn test() -> Test {
    Test::new().variable("PATH", PATH)
}

fn shell(test: &Test, command: &str) -> Value {
    test.run(&["--json", "run", "shell", &format!("command={command}")])
        .exits(0)
        .json()
}

fn held(test: &Test) -> Vec<Value> {
    let listed = test.run(&["held", "list", "--json"]).exits(0).json();
    listed.as_array().unwrap().clone()
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn a_planted_file_is_held_with_its_mode_and_times_and_comes_back_as_it_was() {
    let test = test();
    let outcome = shell(
        &test,
        "echo evil > .envrc; chmod 750 .envrc; touch -d 2001-02-03T04:05:06Z .envrc; echo fine > other",
    );
    let notes = outcome["metadata"]["held"].as_array().unwrap();
    assert_eq!(notes.len(), 1, "{outcome}");
    assert_eq!(notes[0]["path"], ".envrc");
    assert_eq!(notes[0]["why"], "direnv runs it in your shell");
    let place = test.workspace().join(".envrc");
    assert!(!place.exists() && test.workspace().join("other").exists());

    let id = notes[0]["id"].as_str().unwrap();
    let shown = test.run(&["held", "show", id]).exits(0);
    assert!(shown.stdout.contains("evil"), "{shown:?}");
    let shown = test.run(&["held", "show", id, "--json"]).exits(0).json();
    assert_eq!(shown["files"][0]["text"], "evil\n");

    test.run(&["held", "restore", &id[id.len() - 8..]]).exits(0);
    let metadata = place.metadata().unwrap();
    assert_eq!(text(&place), "evil\n");
    assert_eq!(metadata.permissions().mode() & 0o777, 0o750);
    let modified = metadata
        .modified()
        .unwrap()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    assert_eq!(modified.as_secs(), 981_173_106);
    assert_eq!(held(&test), [json!(null); 0]);
}

#[test]
fn run_says_what_it_held_and_how_it_comes_back() {
    let test = test();
    let ran = test
        .run(&[
            "run",
            "shell",
            "command=mkdir .husky; echo evil > .husky/pre-commit; echo done",
        ])
        .exits(0)
        .prints("done\n");
    assert!(
        ran.stderr
            .contains("held `.husky`, because git runs it as its hooks; it may be your own, if you made it while the command ran: `toolcrib held show "),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("`toolcrib held restore "),
        "{}",
        ran.stderr
    );
}

#[test]
fn run_names_what_it_could_not_hold() {
    let test = test();
    let words = ["run", "shell", "command=mkdir sub; echo x > sub/.envrc"];
    test.run(&words)
        .exits(0)
        .says("sub/.envrc` before another program runs it");
}

#[test]
fn an_unknown_id_says_where_the_ids_are() {
    let test = test();
    test.run(&["held", "show", "nosuchid"])
        .exits(3)
        .says("`toolcrib held list` shows what is held");
}

#[test]
fn nothing_is_replaced_by_what_comes_back() {
    let test = test();
    shell(&test, "echo evil > .envrc");
    fs::write(test.workspace().join(".envrc"), "mine\n").unwrap();
    let id = held(&test)[0]["id"].as_str().unwrap().to_owned();
    let refused = test.run(&["held", "restore", &id]).exits(9);
    assert!(
        refused
            .stderr
            .contains("`.envrc` is there again; move it away"),
        "{}",
        refused.stderr
    );
    assert_eq!(text(test.workspace().join(".envrc")), "mine\n");
    assert_eq!(held(&test).len(), 1);
    test.run(&["held", "drop", &id, "--yes"]).exits(0);
    assert_eq!(held(&test).len(), 0);
    test.run(&["held", "show", &id]).exits(3);
}

#[test]
fn git_works_in_an_empty_workspace_and_what_it_would_run_is_held() {
    let test = test();
    let outcome = shell(
        &test,
        "git init -q . && git config core.fsmonitor ./evil && git config user.name me && echo evil > .git/hooks/pre-commit",
    );
    assert_eq!(outcome["value"]["exitCode"], 0, "{outcome}");
    let config = test.workspace().join(".git/config");
    assert!(
        !text(&config).contains("evil") && text(&config).contains("name = me"),
        "{}",
        text(&config)
    );
    assert!(!test.workspace().join(".git/hooks/pre-commit").exists());
    // The repository is the tools' own: later calls change it, too.
    let outcome = shell(
        &test,
        "git config user.email me@here && git remote add there ../there && ls -A",
    );
    assert_eq!(outcome["value"]["stdout"], ".git\n", "{outcome}");
    assert_eq!(outcome["metadata"].get("held"), None, "{outcome}");
    for item in held(&test) {
        if item["path"] == ".git/config" {
            let refused = test
                .run(&["held", "restore", item["id"].as_str().unwrap()])
                .exits(9);
            assert!(
                refused.stderr.contains("was changed meanwhile"),
                "{}",
                refused.stderr
            );
        }
    }
}

#[test]
fn the_users_next_git_status_runs_nothing_that_a_command_planted() {
    let test = test();
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command
            .args(words)
            .current_dir(test.workspace())
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", test.home());
        command
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@b")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@b");
        command.output().unwrap()
    };
    git(&["init", "-q", "."]);
    git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    let ran = test.workspace().join("ran");
    let plant = format!(
        "echo broken > .git/HEAD; mkdir objects refs; echo 'ref: refs/heads/m' > HEAD; printf '[core]\\n\\tfsmonitor = touch {}; false\\n' > config",
        ran.display()
    );
    // In a file: as the text of a command it would ask, since it writes git's own files.
    fs::write(test.workspace().join("plant.sh"), plant).unwrap();
    shell(&test, "sh plant.sh");
    let status = git(&["status", "--short"]);
    assert!(status.status.success(), "{status:?}");
    assert!(!ran.exists());
    assert_eq!(
        text(test.workspace().join(".git/HEAD")),
        "ref: refs/heads/master\n"
    );
}

#[test]
fn what_the_users_own_git_settings_run_is_held() {
    let test = test();
    let home = test.home().parent().unwrap().to_owned();
    fs::write(
        home.join(".gitconfig"),
        "[core]\n\thooksPath = tools/hooks\n[alias]\n\tgo = !sh scripts/go.sh\n",
    )
    .unwrap();
    shell(
        &test,
        "mkdir -p tools/hooks scripts; echo evil > tools/hooks/pre-commit; echo evil > scripts/go.sh; echo fine > scripts/other.sh; git init -q sub; mkdir -p sub/tools/hooks; echo evil > sub/tools/hooks/pre-push",
    );
    let mut paths: Vec<String> = held(&test)
        .iter()
        .map(|item| item["path"].as_str().unwrap().to_owned())
        .collect();
    paths.sort();
    assert_eq!(paths, ["scripts/go.sh", "sub/tools/hooks", "tools/hooks"]);
    assert!(test.workspace().join("scripts/other.sh").exists());
}

#[test]
fn one_question_covers_what_a_run_planted_and_its_answer_puts_it_back() {
    let test = test();
    shell(&test, "echo one > .envrc; echo two > .vimrc");
    let pending = test.run(&["approvals", "list", "--json"]).exits(0).json();
    assert_eq!(pending.as_array().unwrap().len(), 1, "{pending}");
    let question = &pending[0];
    assert_eq!(question.get("expiresAt"), None);
    assert!(
        question["effect"].as_str().unwrap().contains("`.envrc`")
            && question["effect"].as_str().unwrap().contains("`.vimrc`")
    );
    let id = question["id"].as_str().unwrap();
    test.run(&["approvals", "approve", id]).exits(0);
    assert_eq!(text(test.workspace().join(".envrc")), "one\n");
    assert_eq!(text(test.workspace().join(".vimrc")), "two\n");
    assert_eq!(
        test.run(&["approvals", "list", "--json"]).exits(0).json(),
        json!([])
    );

    // A no leaves it in the home.
    shell(&test, "echo three > .zshrc");
    let pending = test.run(&["approvals", "list", "--json"]).exits(0).json();
    test.run(&["approvals", "deny", pending[0]["id"].as_str().unwrap()])
        .exits(0);
    assert_eq!(
        test.run(&["approvals", "list", "--json"]).exits(0).json(),
        json!([])
    );
    assert_eq!(held(&test).len(), 1);
    assert!(!test.workspace().join(".zshrc").exists());
}

#[test]
fn yes_and_grants_put_nothing_back() {
    let test = test();
    let ran = test
        .run(&[
            "--json",
            "run",
            "shell",
            "--yes",
            "command=echo evil > .envrc",
        ])
        .exits(0)
        .json();
    assert_eq!(
        ran["metadata"]["held"].as_array().unwrap().len(),
        1,
        "{ran}"
    );
    assert!(!test.workspace().join(".envrc").exists());
    assert_eq!(held(&test).len(), 1);
}

#[test]
fn a_run_that_was_killed_is_dealt_with_by_the_next_command() {
    let test = test();
    let mut child = test
        .command()
        .args(["run", "shell", "command=mkdir .idea && echo evil > .idea/x && git init -q sub && echo evil > sub/.git/hooks/pre-push && echo > ready && sleep 600"])
        // The look while it runs finds nothing of this: its home is elsewhere then.
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the command has planted", || {
        test.workspace().join("ready").exists()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let mut paths: Vec<String> = held(&test)
        .iter()
        .map(|item| item["path"].as_str().unwrap().to_owned())
        .collect();
    paths.sort();
    assert_eq!(paths, [".idea", "sub/.git/hooks/pre-push"]);
    assert!(!test.workspace().join(".idea").exists());
    assert!(test.workspace().join("sub/.git/HEAD").exists());
    assert_eq!(
        fs::read_dir(test.home().join("held/runs")).unwrap().count(),
        0
    );
}

#[test]
fn names_are_refused_where_the_setting_says_so() {
    let test = test().config("[sandbox]\nabsentNames = \"refuse\"\n");
    let outcome = shell(&test, "echo evil > .envrc; true");
    assert!(
        outcome["value"]["stderr"]
            .as_str()
            .unwrap()
            .contains("Is a directory"),
        "{outcome}"
    );
    assert_eq!(outcome["metadata"].get("held"), None, "{outcome}");
    assert_eq!(held(&test).len(), 0);
}

#[test]
fn the_sandbox_verb_holds_what_its_command_plants() {
    let test = test();
    let report = test
        .run(&[
            "sandbox",
            "--json",
            "--",
            "bash",
            "-c",
            "echo evil > .envrc; ls -A",
        ])
        .exits(0)
        .json();
    assert_eq!(report["stdout"], ".envrc\n");
    assert_eq!(report["held"][0]["path"], ".envrc", "{report}");
    assert!(!test.workspace().join(".envrc").exists());
}

#[test]
fn the_operator_alone_sees_and_decides_over_the_server() {
    let test = test();
    let server = Serving::start(&test);
    let (status, body) = server.post(
        "/api/calls",
        &json!({"name": "shell", "arguments": {"command": "echo evil > .envrc"}}),
    );
    assert_eq!(status, 200, "{body}");
    let (status, listed) = server.get("/api/held");
    assert_eq!(
        (status, listed["held"][0]["path"].clone()),
        (200, json!(".envrc")),
        "{listed}"
    );
    let id = listed["held"][0]["id"].as_str().unwrap();
    let (status, shown) = server.get(&format!("/api/held/{id}"));
    assert_eq!(
        (status, shown["files"][0]["text"].clone()),
        (200, json!("evil\n")),
        "{shown}"
    );
    let (status, questions) = server.get("/api/approvals?status=pending");
    assert_eq!(
        (
            status,
            questions["approvals"][0]["effect"]
                .as_str()
                .unwrap()
                .contains(".envrc")
        ),
        (200, true)
    );
    let (status, restored) = server.post(&format!("/api/held/{id}/restore"), &json!(null));
    assert_eq!(status, 200, "{restored}");
    assert_eq!(text(test.workspace().join(".envrc")), "evil\n");
    assert_eq!(server.get(&format!("/api/held/{id}")).0, 404);
}
