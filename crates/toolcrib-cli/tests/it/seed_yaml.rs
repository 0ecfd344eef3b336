//! The YAML examples of S0, as they stand there (`tests/seeds/s0`): complete ones run as they are, fragments in the smallest
//! wrapper. The programs they name are stood in for by scripts of the workspace, repositories by local ones.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Ran, Test};

macro_rules! s0 {
    ($name:literal) => {
        include_str!(concat!("../seeds/s0/", $name, ".yaml"))
    };
}

/// A workspace with stand-ins for programs, found by `PATH`.
fn workspace(programs: &[(&str, &str)]) -> Test {
    let test = Test::new();
    let bin = test.workspace().join("bin");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
    let mut test = test.variable("PATH", &path);
    for (name, script) in programs {
        test = test.file(&format!("bin/{name}"), format!("#!/bin/bash\n{script}\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(bin.join(name), mode).unwrap();
    }
    test
}

trait Tools {
    fn tool(self, name: &str, yaml: impl AsRef<str>) -> Test;
    fn trusted(self) -> Test;
    fn value(&self, words: &[&str]) -> Value;
    fn refused(&self, words: &[&str]) -> Value;
}

impl Tools for Test {
    fn tool(self, name: &str, yaml: impl AsRef<str>) -> Test {
        self.file(&format!(".toolcrib/tools/{name}.yaml"), yaml.as_ref())
    }

    fn trusted(self) -> Test {
        self.run(&["check", "--strict"]);
        self.run(&["trust", "--yes"]).exits(0);
        self
    }

    /// The value of a call that goes well; untagged tools ask, so the answer is yes.
    fn value(&self, words: &[&str]) -> Value {
        let ran = call(self, words);
        let outcome = ran.exits(0).json();
        assert_eq!(outcome["ok"], true, "{outcome}");
        outcome["value"].clone()
    }

    /// The error of a call that does not.
    fn refused(&self, words: &[&str]) -> Value {
        let outcome = call(self, words).json();
        assert_eq!(outcome["ok"], false, "{outcome}");
        outcome["error"].clone()
    }
}

fn call(test: &Test, words: &[&str]) -> Ran {
    let words: Vec<&str> = ["run"]
        .into_iter()
        .chain(words.iter().copied())
        .chain(["--yes", "--json"])
        .collect();
    test.run(&words)
}

const PARAM: &str = "parameters:\n  PARAM:\n    type: string\n    description: A parameter\n";

#[test]
fn a_single_step_tool_runs_as_written() {
    let test = workspace(&[])
        .tool("simple-tool", s0!("simple-tool"))
        .trusted();
    let value = test.value(&["simple-tool", "PARAM=pwd"]);
    assert_eq!(value["exitCode"], 0);
    assert_eq!(value["output"], test.workspace().to_str().unwrap());
    // It has no security tag: it asks, and no one is there.
    test.run(&["run", "simple-tool", "PARAM=pwd"]).exits(6);
}

#[test]
fn a_multi_step_tool_runs_as_written() {
    let programs = [
        ("command1", r#"[ "$1" = bad ] && exit 3; echo "one: $1""#),
        ("command2", "echo two"),
    ];
    let test = workspace(&programs)
        .tool("multi-step-tool", s0!("multi-step-tool"))
        .trusted();
    let value = test.value(&["multi-step-tool", "PARAM=a b; c"]);
    assert_eq!(value["output"], "two");
    assert_eq!(value["steps"]["step1"]["stdout"], "one: a b; c\n");
    assert_eq!(value["steps"]["step2"]["status"], "ok");
    let error = test.refused(&["multi-step-tool", "PARAM=bad"]);
    assert_eq!(error["code"], "EXECUTION_ERROR");
    assert!(
        error["message"].as_str().unwrap().contains("step1"),
        "{error}"
    );
    assert_eq!(error["details"]["steps"]["step1"]["exitCode"], 3);
    assert_eq!(error["details"]["steps"]["step2"]["status"], "skipped");
}

#[test]
fn a_tool_with_commands_by_platform_runs_the_one_for_this() {
    let test = workspace(&[])
        .tool("find-files", s0!("find-files"))
        .file("src/a.rs", "")
        .file("src/b.txt", "")
        .trusted();
    let value = test.value(&["find-files", "DIRECTORY=src", "PATTERN=*.rs"]);
    assert_eq!(value["output"], "src/a.rs");
}

#[test]
fn parameters_are_checked_transformed_and_shown() {
    let yaml = format!(
        "name: greet\ndescription: Greets\nbash: echo {{NAME}}\ntags: [read]\n{}",
        s0!("parameters").replace(
            "type: string                # Parameter type",
            "type: string"
        )
    );
    let test = workspace(&[]).tool("greet", yaml).trusted();
    // `transform` comes before `validation`.
    assert_eq!(test.value(&["greet", "NAME=ADA"])["output"], "ada");
    let error = test.refused(&["greet", "NAME=a1"]);
    assert_eq!(error["code"], "INVALID_ARGUMENTS");
    let shown = test.run(&["show", "greet"]).exits(0);
    assert!(shown.stdout.contains("example1"), "{}", shown.stdout);
}

#[test]
fn tags_and_platforms_are_taken() {
    let yaml = format!(
        "name: tagged\ndescription: Has tags\nbash: echo fine\n{}",
        s0!("tags-and-platforms")
    );
    let test = workspace(&[]).tool("tagged", yaml).trusted();
    // `read`: no one is asked.
    test.run(&["run", "tagged"]).exits(0).prints("fine\n");
    let other =
        "name: other\ndescription: Elsewhere\nbash: echo\ntags: [read]\nplatforms: [windows]\n";
    let test = test.tool("other", other).trusted();
    test.run(&["run", "other"])
        .exits(3)
        .says("it is for Windows");
}

#[test]
fn a_failure_is_an_error_unless_it_is_ignored() {
    let yaml = |more: &str| {
        format!("name: fails\ndescription: Fails\nbash: echo out; exit 4\ntags: [read]\n{more}")
    };
    let test = workspace(&[])
        .tool("fails", yaml(s0!("ignore-errors")))
        .trusted();
    let error = test.refused(&["fails"]);
    assert_eq!(error["code"], "EXECUTION_ERROR");
    assert_eq!(error["details"]["exitCode"], 4);
    assert_eq!(error["details"]["output"], "out");
    let ignoring = s0!("ignore-errors").replace("false", "true");
    let test = test.tool("fails", yaml(&ignoring)).trusted();
    assert_eq!(test.value(&["fails"])["exitCode"], 4);
}

#[test]
fn a_step_is_tried_again_and_falls_back() {
    let yaml = format!(
        "name: stubborn\ndescription: Tries\n{}{PARAM}",
        s0!("error-handling")
            .replace("bash: command\n", "bash: attempt\n")
            .replace("delay: 1000", "delay: 1")
    );
    let programs = [
        ("attempt", "echo x >> attempts; exit 1"),
        ("alternative-command", r#"echo "instead: $1""#),
    ];
    let test = workspace(&programs).tool("stubborn", yaml).trusted();
    let value = test.value(&["stubborn", "PARAM=p q"]);
    assert_eq!(value["output"], "instead: p q");
    assert_eq!(value["steps"]["step1"]["attempts"], 3);
    let attempts = std::fs::read_to_string(test.workspace().join("attempts")).unwrap();
    assert_eq!(attempts, "x\nx\nx\n");
    // As it is, a second between attempts and all.
    let verbatim = format!(
        "name: stubborn\ndescription: Tries\n{}{PARAM}",
        s0!("error-handling")
    );
    let test = test.tool("stubborn", verbatim).trusted();
    assert_eq!(test.value(&["stubborn", "PARAM=p"])["exitCode"], 0);
}

#[test]
fn parallel_steps_run_at_once_and_others_wait_for_them() {
    let yaml = format!("name: both\ndescription: At once\n{}", s0!("parallel"));
    // Each waits for the other: one after the other, they would never end.
    let programs = [
        (
            "command1",
            "mkfifo a b 2>/dev/null; echo one > a; cat b; touch done1",
        ),
        (
            "command2",
            "until [ -p b ]; do :; done; cat a; echo two > b; touch done2",
        ),
        ("command3", "ls done1 done2"),
    ];
    let test = workspace(&programs).tool("both", yaml).trusted();
    let value = test.value(&["both"]);
    assert_eq!(value["output"], "done1\ndone2");
    assert_eq!(value["steps"]["step1"]["stdout"], "two\n");
    assert_eq!(value["steps"]["step2"]["stdout"], "one\n");
}

#[test]
fn output_is_streamed_to_the_console_as_it_comes() {
    let yaml = format!(
        "name: much\ndescription: Talks\ntags: [read]\n{}",
        s0!("output")
    );
    let test = workspace(&[("large-data-command", "seq 1 3")])
        .tool("much", yaml)
        .trusted();
    assert_eq!(test.value(&["much"])["output"], "1\n2\n3");
    let ran = test.run(&["run", "much"]).exits(0);
    assert!(
        format!("{}{}", ran.stdout, ran.stderr).contains("1\n2\n3"),
        "{ran:?}"
    );
}

#[test]
fn how_models_see_a_tool_can_be_said() {
    let head = "name: seen\ndescription: Seen\nbash: echo {NAME}\ntags: [read]\nparameters:\n  NAME:\n    type: string\n    \
                description: Whose\n    default: you\n    examples: [Ada]\n";
    let yaml = format!("{head}{}", s0!("function-calling"));
    let test = workspace(&[]).tool("seen", yaml).trusted();
    let schema = |test: &Test| {
        let ran = test
            .run(&["schema", "seen", "--provider", "openai", "--json"])
            .exits(0);
        ran.json().to_string()
    };
    let published = schema(&test);
    assert!(
        published.contains("Whose") && published.contains("\"default\":\"you\""),
        "{published}"
    );
    let without = s0!("function-calling")
        .replace("include-descriptions: true", "include-descriptions: false")
        .replace("include-defaults: true", "include-defaults: false");
    let test = test.tool("seen", format!("{head}{without}")).trusted();
    let published = schema(&test);
    assert!(
        !published.contains("Whose") && !published.contains("\"default\""),
        "{published}"
    );
}

/// A repository on this machine that git finds under another address.
fn with_repository(test: Test, address: &str) -> Test {
    let repository = test.workspace().parent().unwrap().join("repository");
    let git = |words: &[&str]| {
        let done = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@b.test", "-C"])
            .arg(&repository)
            .args(words)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    std::fs::create_dir_all(&repository).unwrap();
    git(&["init", "-q", "-b", "main"]);
    std::fs::write(repository.join("README"), "hello\n").unwrap();
    git(&["add", "README"]);
    git(&["commit", "-q", "-m", "first"]);
    let home = test.workspace().parent().unwrap().to_owned();
    let elsewhere = format!(
        "[url \"{}\"]\n\tinsteadOf = {address}\n[safe]\n\tdirectory = *\n",
        repository.display()
    );
    std::fs::write(home.join(".gitconfig"), elsewhere).unwrap();
    test.config(&format!(
        "readable = [{:?}]\n",
        repository.to_str().unwrap()
    ))
}

const GIT_CLONE: &str = "name: git-clone\ndescription: Clones a repository\nbash: git clone {URL} {DIRECTORY}\n\
                         tags: [write, run]\nparameters:\n  URL:\n    type: string\n    description: Where it is\n  \
                         DIRECTORY:\n    type: string\n    description: Where it goes\n";

#[test]
fn a_tool_uses_another_as_a_step() {
    let yaml = format!(
        "name: fetch-all\ndescription: Clones\ntags: [write]\n{}parameters:\n  REPO_URL:\n    type: string\n    description: Where\n",
        s0!("composition")
    );
    let test = with_repository(workspace(&[]), "https://example.com/repo.git");
    // The user's own: it clones into the workspace, which has to be empty.
    let tools = test.workspace().parent().unwrap().join(".toolcrib/tools");
    std::fs::create_dir_all(&tools).unwrap();
    std::fs::write(tools.join("git-clone.yaml"), GIT_CLONE).unwrap();
    std::fs::write(tools.join("fetch-all.yaml"), yaml).unwrap();
    let value = test.value(&["fetch-all", "REPO_URL=https://example.com/repo.git"]);
    assert_eq!(value["steps"]["clone-repo"]["status"], "ok", "{value}");
    assert!(test.workspace().join("README").is_file());
}

#[test]
fn an_alias_presets_parameters_and_takes_its_own() {
    let test = with_repository(workspace(&[]), "https://github.com/my-org/my-repo.git")
        .tool("git-clone", GIT_CLONE)
        .tool("clone-my-repo", s0!("alias"))
        .trusted();
    let shown = test
        .run(&["schema", "clone-my-repo", "--json"])
        .exits(0)
        .json();
    // A preset value can still be replaced.
    let properties = &shown["properties"];
    assert!(properties["BRANCH"].is_object(), "{shown}");
    assert_eq!(
        properties["URL"]["default"], "https://github.com/my-org/my-repo.git",
        "{shown}"
    );
    assert_eq!(shown["required"], json!([]), "{shown}");
    test.value(&["clone-my-repo", "BRANCH=main"]);
    assert!(test.workspace().join("repos/main/README").is_file());
}

#[test]
fn a_tools_own_tests_run_in_a_throw_away_workspace() {
    let yaml = format!("{GIT_CLONE}{}", s0!("tests"));
    let test =
        with_repository(workspace(&[]), "https://example.com/repo.git").tool("git-clone", yaml);
    // `test` works untrusted.
    test.run(&["test", "git-clone"]).exits(0).says("1 passed");
    assert!(!test.workspace().join("test-dir").exists());
}

#[test]
fn security_is_enforced_or_the_call_is_refused() {
    let yaml = format!(
        "name: walled\ndescription: Walled\nbash: echo in\ntags: [run]\nparameters:\n  DIRECTORY:\n    type: string\n    \
         description: Where\n{}",
        s0!("security")
    );
    let test = workspace(&[]).tool("walled", yaml).trusted();
    // A program reaches the one host through the guard, and no other.
    let outcome = call(&test, &["walled", "DIRECTORY=out"]).exits(0).json();
    let layers = outcome["metadata"]["sandbox"]["layers"].to_string();
    assert!(layers.contains("proxy-only"), "{outcome}");
    let without: String = s0!("security")
        .lines()
        .filter(|line| !line.contains("network:"))
        .map(|line| format!("{line}\n"))
        .collect();
    let yaml = format!(
        "name: walled\ndescription: Walled\nbash: echo in\ntags: [run]\nparameters:\n  DIRECTORY:\n    type: string\n    \
         description: Where\n{without}"
    );
    let test = test.tool("walled", yaml).trusted();
    let outcome = call(&test, &["walled", "DIRECTORY=out"]).exits(0).json();
    assert_eq!(
        outcome["metadata"]["sandbox"]["level"],
        json!("process"),
        "{outcome}"
    );
}
