//! `toolcrib init`, `new` and `edit`: files that work, and changes that do.

use crate::harness::Test;

#[test]
fn init_leaves_a_tool_that_works_and_is_tested_and_does_no_harm_twice() {
    let test = Test::new().file("a.txt", "1\n2\n").file("b/c.txt", "3\n");
    let ran = test
        .run(&["init"])
        .exits(0)
        .says("toolcrib run count-lines");
    assert_eq!(ran.stdout, "wrote .toolcrib/tools/count-lines.yaml\n");
    test.run(&["run", "count-lines", "PATTERN=*.txt"])
        .exits(0)
        .prints("3 lines in 2 files\n");
    test.run(&["test"]).exits(0).says("2 passed (");
    let file = test.workspace().join(".toolcrib/tools/count-lines.yaml");
    std::fs::write(&file, "description: mine\nbash: echo mine\ntags: [read]\n").unwrap();
    let again = test.run(&["init", "--json"]).exits(0).json();
    assert_eq!(again["value"]["created"], false);
    assert!(std::fs::read_to_string(&file).unwrap().contains("mine"));
    // What someone else put there is not trusted by it.
    test.run(&["run", "count-lines"]).exits(3);
}

#[test]
fn each_template_checks_and_passes_its_own_tests_and_can_be_called() {
    let test = Test::new();
    for (kind, call) in [
        ("shell", "WHO=Ada"),
        ("steps", "TEXT=milk"),
        ("alias", "path=."),
    ] {
        let name = format!("my_{kind}");
        let ran = test
            .run(&[
                "new",
                &name,
                "--kind",
                kind,
                "--description",
                "Does: \"what\" I # want",
            ])
            .exits(0)
            .says(&format!("toolcrib test {name}"));
        assert_eq!(ran.stdout, format!("wrote .toolcrib/tools/{name}.yaml\n"));
        test.run(&["test", &name]).exits(0);
        test.run(&["run", &name, call]).exits(0);
        let shown = test.run(&["show", &name, "--json"]).exits(0).json();
        assert_eq!(shown["description"], "Does: \"what\" I # want");
    }
    test.run(&["check", "--strict"]).exits(0);
}

#[test]
fn a_file_that_is_there_is_only_replaced_by_force() {
    let test = Test::new().file(".toolcrib/tools/x.yaml", "mine");
    test.run(&["new", "x"]).exits(1).says("--force");
    let file = test.workspace().join(".toolcrib/tools/x.yaml");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    test.run(&["new", "x", "--force"]).exits(0);
    test.run(&["test", "x"]).exits(0);
}

#[test]
fn names_that_cannot_be_are_refused() {
    let test = Test::new();
    test.run(&["new", "read_file"]).exits(9).says("built-in");
    for name in ["../x", "a b", "", "x/y"] {
        test.run(&["new", name])
            .exits(2)
            .says("not a valid tool name");
    }
    test.run(&["new", "x", "--description", "a\nb"]).exits(2);
    assert!(!test.workspace().join(".toolcrib").exists());
}

#[test]
fn a_tool_of_the_user_is_there_in_every_workspace() {
    let test = Test::new();
    let ran = test.run(&["new", "greet", "--scope", "user"]).exits(0);
    assert_eq!(ran.stdout, "wrote ~/.toolcrib/tools/greet.yaml\n");
    test.run(&["run", "greet"])
        .exits(0)
        .prints("Hello, world!\n");
    test.run(&["test", "greet"]).exits(0).says("2 passed (");
}

/// A workspace with a tool, and an editor that does this to its file.
fn editing(script: &str) -> Test {
    let test = Test::new();
    let editor = test.workspace().parent().unwrap().join("editor");
    std::fs::write(&editor, format!("#!/bin/bash\n{script}\n")).unwrap();
    let test = test.variable("VISUAL", &format!("bash {}", editor.display()));
    test.run(&["new", "x"]).exits(0);
    test
}

#[test]
fn what_checks_takes_the_place_of_the_file_and_is_trusted() {
    let test = editing("sed -i 's/Hello/Good day/' \"$1\"");
    let ran = test.run(&["edit", "x"]).exits(0).says("toolcrib test x");
    assert_eq!(ran.stdout, "saved .toolcrib/tools/x.yaml\n");
    test.run(&["run", "x"])
        .exits(0)
        .prints("Good day, world!\n");
    // A second time there is nothing left to change.
    let again = test.run(&["edit", "x", "--json"]).exits(0).json();
    assert_eq!(again["value"]["changed"], false);
}

#[test]
fn what_does_not_check_is_refused_and_kept() {
    let test = editing("sed -i 's/^bash:/bahs:/' \"$1\"");
    let file = test.workspace().join(".toolcrib/tools/x.yaml");
    let before = std::fs::read(&file).unwrap();
    let ran = test
        .run(&["edit", "x", "--json"])
        .exits(4)
        .says("did you mean `bash`");
    assert!(ran.stderr.contains('^'), "{ran:?}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    let copy = ran.json()["error"]["details"]["copy"].clone();
    let copy = std::path::PathBuf::from(copy.as_str().unwrap());
    assert!(std::fs::read_to_string(&copy).unwrap().contains("bahs:"));
    std::fs::remove_dir_all(copy.parent().unwrap()).unwrap();
}

#[test]
fn on_a_terminal_one_can_edit_on() {
    let test = editing(
        "if grep -q '^bahs:' \"$1\"; then sed -i 's/^bahs:/bash:/; s/Hello/Hi/' \"$1\"; else sed -i 's/^bash:/bahs:/' \"$1\"; fi",
    );
    let mut session = test.on_terminal(&["edit", "x"]);
    session.sees("did you mean `bash`");
    session.sees("Edit on? (y/n)");
    session.types("y");
    session.sees("saved .toolcrib/tools/x.yaml");
    assert_eq!(session.ends().0, 0);
    test.run(&["run", "x"]).exits(0).prints("Hi, world!\n");
}

#[test]
fn a_file_that_changed_meanwhile_is_not_overwritten() {
    let test = editing("echo '# more' >> \"$1\"; echo '# theirs' >> .toolcrib/tools/x.yaml");
    let ran = test.run(&["edit", "x", "--json"]).exits(9);
    let file = test.workspace().join(".toolcrib/tools/x.yaml");
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .ends_with("# theirs\n")
    );
    let copy = ran.json()["error"]["details"]["copy"].clone();
    let copy = std::path::PathBuf::from(copy.as_str().unwrap());
    std::fs::remove_dir_all(copy.parent().unwrap()).unwrap();
}

#[test]
fn what_has_no_file_or_no_editor_cannot_be_edited() {
    let test = editing("exit 3");
    test.run(&["edit", "read_file"]).exits(9).says("built in");
    test.run(&["edit", "y"]).exits(3).says("tool not found");
    test.run(&["edit", "x"])
        .exits(1)
        .says("nothing was changed");
    let test = Test::new();
    test.run(&["new", "x"]).exits(0);
    test.run(&["edit", "x"]).exits(2).says("EDITOR");
}

#[test]
fn a_file_that_cannot_be_loaded_can_be_edited() {
    let test = editing("sed -i 's/^bahs:/bash:/' \"$1\"");
    let test = test.file(
        ".toolcrib/tools/z.yaml",
        "description: Z\nbahs: echo z\ntags: [read]\n",
    );
    test.run(&["edit", "z"]).exits(0);
    test.run(&["run", "z"]).exits(0).prints("z\n");
}
