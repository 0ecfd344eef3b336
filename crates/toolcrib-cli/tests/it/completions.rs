//! `toolcrib completions`, what they complete, and the manual.

use crate::harness::Test;

fn complete(words: &[&str]) -> String {
    let test = Test::new();
    let index = (words.len() - 1).to_string();
    let ran = test
        .command()
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
    assert!(complete(&["toolcrib", "li"]).contains("list"));
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
