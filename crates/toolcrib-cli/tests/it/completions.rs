//! `toolcrib completions`, what they complete, and the manual.

use crate::bundles::acme;
use crate::harness::Test;

fn complete(words: &[&str]) -> String {
    complete_in(&Test::new(), words)
}

fn complete_in(test: &Test, words: &[&str]) -> String {
    complete_from("", test, words)
}

/// The candidates in a directory of the workspace.
fn complete_from(directory: &str, test: &Test, words: &[&str]) -> String {
    let index = (words.len() - 1).to_string();
    let ran = test
        .command()
        .current_dir(test.workspace().join(directory))
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", index)
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true")
        .env("_CLAP_IFS", "\n")
        .arg("--")
        .args(words)
        .output()
        .unwrap();
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn every_shell_gets_a_script() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = Test::new().run(&["completions", shell]).exits(0);
        assert!(ran.stdout.contains("toolcrib"), "{shell}: {ran:?}");
    }
    Test::new()
        .run(&["completions", "tcsh"])
        .exits(2)
        .says("zsh");
}

#[test]
fn tools_parameters_and_values_are_completed() {
    assert!(complete(&["toolcrib", "run", "rea"]).contains("read_file"));
    assert!(complete(&["toolcrib", "run", "read_file", "st"]).contains("start_line="));
    let values = complete(&["toolcrib", "run", "read_file", "encoding="]);
    assert!(values.contains("base64"), "{values}");
    let given = complete(&["toolcrib", "run", "read_file", "path=x", ""]);
    assert!(
        !given.contains("path=") && given.contains("encoding="),
        "{given}"
    );
    assert!(complete(&["toolcrib", "explain", "TIME"]).contains("TIMEOUT"));
    let fields = complete(&["toolcrib", "explain", "impl.url"]);
    assert!(fields.contains("impl.urlTemplate"), "{fields}");
    assert!(complete(&["toolcrib", "li"]).contains("list"));
    assert!(complete(&["toolcrib", "disable", "shell", "rea"]).contains("read_file"));
}

#[test]
fn paths_are_completed_from_the_workspace_and_settings_by_their_keys() {
    let test = Test::new()
        .file(".toolcrib/keep", "")
        .file("notes.md", "")
        .file("sub/deep.md", "");
    let offers = |word: &str| complete_in(&test, &["toolcrib", "run", "read_file", word]);
    assert_eq!(offers("path=no"), "path=notes.md");
    assert_eq!(offers("path=su"), "path=sub/");
    assert_eq!(offers("path=sub/"), "path=sub/deep.md");
    assert_eq!(offers("path=./sub/de"), "path=./sub/deep.md");
    assert!(!offers("path=").contains(".toolcrib"));
    let keys = complete_in(&test, &["toolcrib", "config", "set", "allowed"]);
    assert!(keys.starts_with("allowedHosts"), "{keys}");
}

#[test]
fn paths_are_completed_from_where_one_is() {
    let test = Test::new()
        .file(
            ".toolcrib/tools/say.yaml",
            "description: d\nbash: echo {X}\ntags: [read]\nparameters: {X: {description: d}}\n",
        )
        .file("zebra.txt", "")
        .file("sub/zz.txt", "")
        .file("sub/deep/zoo.txt", "");
    test.run(&["trust", "--yes"]).exits(0);
    let offers = |directory: &str, word: &str| -> Vec<String> {
        let offered = complete_from(directory, &test, &["toolcrib", "run", "read_file", word]);
        offered.lines().map(str::to_owned).collect()
    };
    assert_eq!(offers("", "path=z"), ["path=zebra.txt"]);
    assert_eq!(offers("sub", "path=z"), ["path=zebra.txt", "path=./zz.txt"]);
    assert_eq!(offers("sub", "path=zz"), ["path=./zz.txt"]);
    assert_eq!(offers("sub", "path=./z"), ["path=./zz.txt"]);
    assert_eq!(offers("sub", "path=deep/"), ["path=./deep/zoo.txt"]);
    test.run(&["run", "read_file", "path=zz.txt"]).exits(1);
    // Other texts may name files, as the shell sees them.
    let offered = complete_from("sub", &test, &["toolcrib", "run", "say", "X=zz"]);
    assert_eq!(offered, "X=zz.txt");
}

#[test]
fn the_clients_that_can_be_connected_are_completed() {
    let all = complete(&["toolcrib", "connect", ""]);
    for client in [
        "claude-desktop",
        "claude-code",
        "cursor",
        "vscode",
        "lm-studio",
        "codex",
        "gemini",
    ] {
        assert!(all.contains(client), "{client}: {all}");
    }
    assert!(complete(&["toolcrib", "upstream", "import", "cl"]).contains("claude-desktop"));
}

#[test]
fn words_that_would_pass_for_options_are_not_offered_bare() {
    let tool =
        r#"{"slug": "-rf", "type": "command", "description": "d", "impl": {"bash": "echo"}}"#;
    let test = acme().file("odd.json", tool);
    test.run(&["bundle", "add", "acme", "odd.json"]).exits(0);
    test.run(&["bundle", "new", "--", "-x"]).exits(0);
    let offered = complete_in(&test, &["toolcrib", "show", "+"]);
    assert!(
        offered.contains("+-rf") && offered.contains("+greet"),
        "{offered}"
    );
    let bundles = complete_in(&test, &["toolcrib", "bundle", "show", ""]);
    assert!(!bundles.lines().any(|line| line == "-x"), "{bundles}");
    // One in the bin has no switch, and a slug is offered once.
    test.run(&["bundle", "rm", "acme", "--yes"]).exits(0);
    assert!(!complete_in(&test, &["toolcrib", "bundle", "enable", "a"]).contains("acme"));
    test.run(&["bundle", "new", "acme"]).exits(0);
    assert_eq!(
        complete_in(&test, &["toolcrib", "bundle", "show", "ac"]),
        "acme"
    );
}

#[test]
fn stored_tools_and_their_tests_are_offered_to_test() {
    let test = acme();
    test.run(&["new", "hello", "--bundle", "acme"]).exits(0);
    assert!(complete_in(&test, &["toolcrib", "test", "acme/h"]).contains("acme/hello"));
    let tests = complete_in(&test, &["toolcrib", "test", "acme/hello:gr"]);
    assert!(tests.contains("greets-the-world"), "{tests}");
}

/// What a real bash offers at the end of a line, through the script that users source.
fn bash_offers(line: &str) -> Vec<String> {
    bash_offers_in("", line)
}

fn bash_offers_in(directory: &str, line: &str) -> Vec<String> {
    let tool = "description: Hello\nbash: echo hello\ntags: [read]\ntests:\n  - name: greets\n";
    let test = Test::new()
        .file("README.md", "")
        .file("sub/zz.txt", "")
        .file(".toolcrib/tools/hello.yaml", tool);
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_toolcrib"));
    // As readline does: words are split at blanks, at `=`, at `:` and at `@`.
    let script = format!(
        r#"source <(toolcrib completions bash)
COMP_LINE={line:?}; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9
COMP_LINE=${{COMP_LINE//=/ = }}
COMP_LINE=${{COMP_LINE//@/ @ }}
read -r -a COMP_WORDS <<< "${{COMP_LINE//:/ : }}"
[[ $COMP_LINE == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_toolcrib 2>/dev/null
printf '%s\n' "${{COMPREPLY[@]}}""#
    );
    let ran = std::process::Command::new("bash")
        .args(["-c", &script])
        .current_dir(test.workspace().join(directory))
        .env_clear()
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", binary.parent().unwrap().display()),
        )
        .env("HOME", test.home())
        .env("TOOLCRIB_HOME", test.home())
        .output()
        .unwrap();
    String::from_utf8(ran.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_real_bash_completes_values_after_the_equals_sign() {
    assert_eq!(
        bash_offers("toolcrib run rea"),
        ["read_file", "read_result"]
    );
    assert_eq!(bash_offers("toolcrib run read_file sta"), ["start_line="]);
    assert_eq!(
        bash_offers("toolcrib run read_file encoding="),
        ["utf-8", "base64"]
    );
    assert_eq!(
        bash_offers("toolcrib run read_file path=x encoding=b"),
        ["base64"]
    );
    assert_eq!(
        bash_offers("toolcrib run read_file path=READ"),
        ["README.md"]
    );
    assert_eq!(
        bash_offers_in("sub", "toolcrib run read_file path=z"),
        ["./zz.txt"]
    );
    assert_eq!(
        bash_offers_in("sub", "toolcrib run read_file path=no"),
        [""]
    );
}

#[test]
fn tools_with_files_and_their_tests_are_completed() {
    for verb in ["test", "watch", "edit"] {
        let offered = bash_offers(&format!("toolcrib {verb} h"));
        assert_eq!(offered, ["hello"], "{verb}");
    }
    assert_eq!(bash_offers("toolcrib test hello:g"), ["greets"]);
    assert_eq!(bash_offers("toolcrib test hello:x"), [""]);
}

#[test]
fn bundles_what_is_in_them_and_versions_are_completed() {
    let test = acme();
    let lines = |words: &[&str]| -> Vec<String> {
        let offered = complete_in(&test, &[&["toolcrib"], words].concat());
        offered.lines().map(str::to_owned).collect()
    };
    test.run(&["bundle", "new", "gone"]).exits(0);
    test.run(&["bundle", "rm", "gone", "--yes"]).exits(0);
    for verb in ["show", "enable", "disable", "diff"] {
        assert_eq!(lines(&["bundle", verb, "ac"]), ["acme"], "{verb}");
    }
    for verb in ["add", "rm", "export"] {
        assert_eq!(lines(&["bundle", verb, ""])[..1], ["acme"], "{verb}");
    }
    assert_eq!(lines(&["bundle", "restore", ""])[..1], ["gone"]);
    assert_eq!(lines(&["list", "--bundle", "ac"]), ["acme"]);
    assert_eq!(lines(&["list", "--tag", "rea"]), ["read"]);
    // One version is not worth naming; of two each is.
    assert_eq!(lines(&["rm", "ac"]), ["acme/greet"]);
    assert_eq!(lines(&["show", "ac"]), ["acme/"]);
    assert_eq!(lines(&["show", "acme/"]), ["acme/greet"]);
    assert_eq!(lines(&["show", "acme/greet@"]), ["acme/greet@v1"]);
    test.run(&["bundle", "add", "acme", "greet.yaml", "--version", "v2"])
        .exits(0);
    for verb in ["rm", "edit", "enable", "disable", "show"] {
        let offered = lines(&[verb, "acme/g"]);
        assert_eq!(offered, ["acme/greet@v2", "acme/greet@v1"], "{verb}");
    }
}

#[test]
fn a_real_bash_completes_what_is_behind_the_at_sign() {
    // Bash replaces the text from the `@` on.
    assert_eq!(bash_offers("toolcrib show core/read-file@"), ["@v1"]);
    assert_eq!(bash_offers("toolcrib show core/read-file@v"), ["@v1"]);
    assert_eq!(bash_offers("toolcrib show core/read-f"), ["core/read-file"]);
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let test = Test::new();
    test.run(&["man", "--out", "man"]).exits(0);
    for page in ["toolcrib.1", "toolcrib-run.1", "toolcrib-calls-list.1"] {
        let page = std::fs::read_to_string(test.workspace().join("man").join(page)).unwrap();
        assert!(page.contains(".TH"), "{page}");
    }
}
