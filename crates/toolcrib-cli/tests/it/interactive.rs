//! Interactive tools: what a person types at the terminal reaches the program, and the terminal is given back.

use crate::harness::Test;

const CONFIRM: &str = "
name: confirm
description: Asks before it goes on
tags: [run]
bash: |
  read -r -p 'Sure? ' answer
  read -r -s -p 'Secret? ' secret
  echo
  echo \"said $answer, ${#secret} characters\"
interactive: true
interactive-options: {timeout: 20000, default-response: nobody}
";

/// A test with a tool in the user's scope.
fn with_tool(name: &str, yaml: &str) -> Test {
    let test = Test::new();
    let tools = test.home().parent().unwrap().join(".toolcrib/tools");
    std::fs::create_dir_all(&tools).unwrap();
    std::fs::write(tools.join(format!("{name}.yaml")), yaml).unwrap();
    test
}

#[test]
fn a_person_answers_what_the_tool_asks() {
    let test = with_tool("confirm", CONFIRM);
    let mut session = test.on_terminal(&["run", "confirm"]);
    session.sees("Sure? ");
    session.types("why not");
    // Echoed by the program's terminal, not by ours.
    session.sees("why not\n");
    session.sees("Secret? ");
    session.types("12345");
    session.sees("said why not, 5 characters");
    let (code, screen) = session.ends();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("12345"), "{screen}");
}

#[test]
fn ctrl_c_cancels_and_the_terminal_is_given_back() {
    let test = with_tool("confirm", CONFIRM);
    let mut session = test.on_terminal(&["run", "confirm"]);
    session.sees("Sure? ");
    session.presses("\u{3}");
    let (code, screen) = session.ends();
    assert_eq!(code, 130, "{screen}");
}

#[test]
fn without_a_person_the_default_answer_is_typed() {
    let test = with_tool("confirm", &CONFIRM.replace("20000", "200"));
    let ran = test.run(&["run", "confirm"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("said nobody, 6 characters"),
        "{}",
        ran.stdout
    );
    let mut session = test.on_terminal(&["--no-input", "run", "confirm"]);
    session.sees("said nobody, 6 characters");
    assert_eq!(session.ends().0, 0);
}

#[test]
fn a_question_comes_before_the_keyboard_is_the_tools() {
    let untagged = CONFIRM.replace("tags: [run]\n", "");
    let test = with_tool("confirm", &untagged);
    let mut session = test.on_terminal(&["run", "confirm"]);
    session.sees("y approve");
    session.types("y");
    session.sees("Sure? ");
    session.types("yes");
    session.sees("Secret? ");
    session.types("");
    session.sees("said yes, 0 characters");
    assert_eq!(session.ends().0, 0);
}

#[test]
fn what_cleans_up_is_done_before_the_process_ends() {
    let test = with_tool(
        "slow",
        "
name: slow
description: Takes its time
tags: [write]
bash: 'touch begun; sleep 60'
resources:
  cleanup: [{final-command: 'sleep 0.3; echo done > cleaned'}]
",
    );
    let session = test.on_terminal(&["run", "slow"]);
    let begun = test.workspace().join("begun");
    crate::terminal::until("the tool begins", || begun.exists().then_some(()));
    let mut session = session;
    session.presses("\u{3}");
    let (code, screen) = session.ends();
    assert_eq!(code, 130, "{screen}");
    let cleaned = std::fs::read_to_string(test.workspace().join("cleaned")).unwrap();
    assert_eq!(cleaned, "done\n");
}
