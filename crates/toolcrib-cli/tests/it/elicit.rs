//! What an upstream server wants to know while it runs a tool, asked on a terminal.

use crate::harness::Test;
use crate::serving::Serving;
use crate::upstream::server;

/// A server whose `ask` may run.
fn curious() -> Test {
    let test = Test::new();
    test.run(&[
        "upstream",
        "add",
        "fake",
        "--yes",
        "--allow",
        "ask",
        "--",
        "python3",
        server(),
        "plain",
    ])
    .exits(0);
    test
}

#[test]
fn the_question_of_a_server_is_put_to_the_person_at_the_terminal() {
    let test = curious();
    // `--yes` approves calls; it answers nothing.
    for words in [&["run", "ask"][..], &["run", "ask", "--yes"]] {
        let mut terminal = test.on_terminal(words);
        terminal.sees("the MCP server fake wants to know something");
        terminal.sees("Which colour?");
        terminal.sees("y answer");
        terminal.types("y");
        terminal.sees("colour (text; required) > ");
        terminal.types("");
        terminal.sees("this one is required");
        terminal.types("blue");
        let (code, shown) = terminal.ends();
        assert_eq!(code, 0, "{shown}");
        let answer = r#"{"action": "accept", "content": {"colour": "blue"}}"#;
        assert!(shown.contains(answer), "{shown}");
    }
    test.run(&["run", "ask"])
        .exits(8)
        .says("no one can be asked here");
}

#[test]
fn the_question_of_a_server_can_be_declined_left_and_cancelled_with_the_call() {
    let test = curious();
    for (keys, code, says) in [
        ("n\n", 0, r#"{"action": "decline"}"#),
        ("\u{4}", 0, r#"{"action": "cancel"}"#),
        ("\u{3}", 130, "CANCELLED"),
    ] {
        let mut terminal = test.on_terminal(&["run", "ask"]);
        terminal.sees("Ctrl-D leave it > ");
        terminal.presses(keys);
        let (ended, shown) = terminal.ends();
        assert_eq!(ended, code, "{shown}");
        assert!(shown.contains(says), "{shown}");
    }
    let mut terminal = test.on_terminal(&["run", "ask", "--no-input"]);
    terminal.sees("no one can be asked here");
    assert_eq!(terminal.ends().0, 8);
}

#[test]
fn a_server_of_the_home_cannot_ask_and_how_to_be_asked_is_said() {
    let test = curious();
    let _serving = Serving::start(&test);
    let mut terminal = test.on_terminal(&["run", "ask"]);
    terminal.sees("`toolcrib run --no-server");
    assert_eq!(terminal.ends().0, 8);
}

#[test]
fn the_calls_of_a_models_reply_ask_the_person_too() {
    let reply =
        r#"[{"id": "a", "type": "function", "function": {"name": "ask", "arguments": "{}"}}]"#;
    let test = curious().file("reply.json", reply);
    let mut terminal = test.on_terminal(&["answer", "reply.json"]);
    terminal.sees("the MCP server fake wants to know something");
    terminal.sees("y answer");
    terminal.types("y");
    terminal.sees("colour (text; required) > ");
    terminal.types("blue");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains(r#"\"colour\": \"blue\""#), "{shown}");
}
