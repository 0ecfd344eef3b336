//! `toolcrib check`, and `toolcrib explain` for problems and fields.

use std::process::Command;

use crate::harness::{Test, golden};

const BROKEN: &str = "description: Greets\nbash: {WHO} hi   # nobody\nparamters:\n  WHO:\n    type: string\n    description: Whom\nsecuirty:\n  isolation: container\n";

const GOOD: &str = "description: Lists\ntags: [read]\nbash: ls\n";

fn tools() -> Test {
    Test::new()
        .file(".toolcrib/tools/greet.yaml", BROKEN)
        .file(".toolcrib/tools/good.yaml", GOOD)
        .file(".toolcrib/tools/old.yml", GOOD)
        .file(".toolcrib/tools/.hidden.yaml", "x")
        .file(
            ".cycod/tools/seed.yaml",
            "description: From S0\nbash: echo\n",
        )
}

#[test]
fn everything_that_is_wrong_is_said_for_people_and_for_programs() {
    let test = tools();
    let mut text = String::new();
    for words in [
        &["check"][..],
        &["check", "--plain"],
        &["check", ".toolcrib/tools/good.yaml"],
        &["check", "--json", ".cycod/tools"],
        &["check", "--json", "--strict", ".cycod/tools"],
        &["check", ".toolcrib/tools/old.yml"],
        &["check", "nothing.yaml"],
        &["check", "--fix", "-"],
    ] {
        let ran = test.run(words);
        text.push_str(&format!(
            "$ toolcrib {}\n{}{}exit {}\n\n",
            words.join(" "),
            ran.stdout,
            ran.stderr,
            ran.code
        ));
    }
    golden("check.txt", &text);
}

#[test]
fn files_in_order_exit_0_and_others_4_and_warnings_count_when_asked() {
    let test = tools();
    test.run(&["check", ".toolcrib/tools/good.yaml", "--strict"])
        .exits(0);
    test.run(&["check", ".cycod/tools"]).exits(0);
    test.run(&["check", ".cycod/tools", "--strict"]).exits(4);
    test.run(&["check", ".toolcrib/tools/greet.yaml"]).exits(4);
    test.run(&["check"]).exits(4);
    test.run(&["check", "no-such-directory"]).exits(2);
    test.run_with_input(&["check", "-"], GOOD).exits(0);
    test.run_with_input(&["check", "-"], BROKEN).exits(4);
    Test::new().run(&["check"]).exits(0);
}

#[test]
fn json_is_one_document_with_places_and_fixes() {
    let ran = tools().run(&["check", "--json"]).exits(4);
    let document = ran.json();
    assert_eq!(document["error"]["code"], "INVALID_ARGUMENTS");
    let files = document["error"]["details"]["files"].as_array().unwrap();
    let greet = files
        .iter()
        .find(|file| file["file"] == ".toolcrib/tools/greet.yaml")
        .unwrap();
    let problem = &greet["problems"][1];
    assert_eq!(
        (&problem["code"], &problem["line"], &problem["column"]),
        (&"needs-quotes".into(), &2.into(), &7.into())
    );
    assert_eq!(problem["fix"]["text"], "'{WHO} hi'");
    let document = tools()
        .run(&["check", "--json", ".toolcrib/tools/good.yaml"])
        .exits(0)
        .json();
    assert_eq!(document["value"]["files"][0]["tool"], "good");
    assert_eq!(document["value"]["errors"], 0);
}

#[test]
fn fixing_changes_files_and_says_what_it_did() {
    let test = tools();
    let path = test.workspace().join(".toolcrib/tools/greet.yaml");
    let ran = test.run(&["check", "--fix", ".toolcrib/tools"]).exits(4);
    let fixed = ran.stdout.lines().filter(|line| line.starts_with("fixed "));
    assert_eq!(fixed.count(), 3, "{ran:?}");
    let fixed = std::fs::read_to_string(&path).unwrap();
    let expected = BROKEN
        .replace("{WHO} hi ", "'{WHO} hi' ")
        .replace("paramters", "parameters")
        .replace("secuirty", "security");
    assert_eq!(fixed, expected);
    // A valid file is not written.
    let good = test.workspace().join(".toolcrib/tools/good.yaml");
    assert_eq!(std::fs::read_to_string(good).unwrap(), GOOD);
    test.run(&["check", "--fix", ".toolcrib/tools"]).exits(4);
    assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
}

#[test]
fn checking_needs_no_trust_and_runs_nothing() {
    let test = Test::new().file(
        ".toolcrib/tools/plant.yaml",
        "description: Plants\ntags: [write]\nbash: touch planted\ntests:\n  - name: t\n    cleanup: [touch planted]\n",
    );
    test.run(&["check"]).exits(0);
    assert!(!test.workspace().join("planted").exists());
}

#[test]
fn input_that_is_not_a_file_is_reported_and_never_waited_for() {
    let test = Test::new()
        .file(".toolcrib/tools/good.yaml", GOOD)
        .file("outside.txt", GOOD);
    let tools = test.workspace().join(".toolcrib/tools");
    let made = Command::new("mkfifo").arg(tools.join("pipe.yaml")).status();
    if made.is_err() {
        crate::skipped(format_args!("the named pipe: there is no mkfifo"));
    }
    std::fs::create_dir(tools.join("directory.yaml")).unwrap();
    std::fs::write(tools.join("large.yaml"), vec![b'#'; 11 << 20]).unwrap();
    let ran = test.run(&["check", ".toolcrib/tools"]).exits(4);
    assert_eq!(
        ran.stdout.matches("error[unreadable]").count(),
        2,
        "{ran:?}"
    );
    assert!(ran.stdout.contains("error[file-too-large]"), "{ran:?}");
    test.run(&["check"]).exits(4);
}

#[test]
fn a_link_out_of_the_directory_is_neither_read_nor_replaced() {
    let outside = "description: Outside secret\ntags: [read]\nbahs: ls\n";
    let test = Test::new()
        .file("outside.yaml", outside)
        .file(".toolcrib/tools/inside.yaml", outside);
    let tools = test.workspace().join(".toolcrib/tools");
    let link = tools.join("link.yaml");
    std::os::unix::fs::symlink("../../outside.yaml", &link).unwrap();
    let within = tools.join("within.yaml");
    std::os::unix::fs::symlink("inside.yaml", &within).unwrap();
    for words in [
        &["check"][..],
        &["check", ".toolcrib/tools/link.yaml"],
        &["check", ".toolcrib/tools/link.yaml", "--fix"],
    ] {
        let ran = test.run(words).exits(4);
        assert!(
            ran.stdout.contains("error[unreadable]")
                && ran
                    .stdout
                    .contains("a link that leads out of its directory"),
            "{ran:?}"
        );
        let of_link = ran.stdout.split("error[unreadable]").nth(1).unwrap();
        let of_link = of_link.split("\n\n").next().unwrap();
        assert!(!of_link.contains("bahs"), "{ran:?}");
    }
    test.run(&["check", "--fix"]).exits(4);
    assert!(link.is_symlink() && within.is_symlink());
    let read = |path: &str| std::fs::read_to_string(test.workspace().join(path)).unwrap();
    assert_eq!(read("outside.yaml"), outside);
    assert!(read(".toolcrib/tools/inside.yaml").contains("bash: ls"));
}

#[test]
fn a_file_that_is_too_large_or_misnamed_is_said_alike_by_every_command() {
    let test = Test::new()
        .file(".toolcrib/tools/large.yaml", "#".repeat(300 << 10))
        .file(".toolcrib/tools/UP.YAML", GOOD);
    for verb in ["check", "doctor", "list"] {
        let ran = test.run(&[verb]);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            said.contains("256 KB") && !said.contains("over 1 MB"),
            "{said}"
        );
        assert!(said.contains("rename it to `UP.yaml`"), "{said}");
    }
}

#[test]
fn what_only_shows_beside_other_tools_is_an_error_with_its_place() {
    let step = |tool: &str, with: &str| {
        String::from(
            "description: Calls\ntags: [run]\nparameters:\n  P: {type: string, description: p}\nsteps:\n  - name: s\n    bash: echo {P}\n  - name: t\n    use-tool: {tool}\n    with: {with}\n"
        )
        .replace("{tool}", tool)
        .replace("{with}", with)
    };
    let alias = |base: &str, presets: &str| {
        format!("type: alias\nbase-tool: {base}\ndefault-parameters: {presets}\n")
    };
    let base = "description: Base\ntags: [read]\nbash: seq {Y} {X}\nparameters:\n  Y: {type: number, description: y, required: true}\n  X: {type: number, description: x, default: 1}\n";
    let cases = [
        ("cyc1", step("cyc2", "{}"), "tool-circle", 9, 15),
        ("cyc2", step("cyc1", "{}"), "tool-circle", 9, 15),
        ("al1", alias("al2", "{}"), "tool-circle", 2, 12),
        ("al2", alias("al1", "{}"), "tool-circle", 2, 12),
        ("nosuch1", step("nosuch", "{}"), "unknown-tool", 9, 15),
        ("nosuch2", alias("nosuch", "{}"), "unknown-tool", 2, 12),
        ("lacks", alias("base", "{ZZ: 1}"), "bad-argument", 3, 1),
        (
            "unknown",
            step("base", "{Y: 1, ZZ: 1}"),
            "bad-argument",
            10,
            5,
        ),
        (
            "unknown2",
            step("base", "{Y: 1, ZZ: '{P}'}"),
            "bad-argument",
            10,
            5,
        ),
        ("missing", step("base", "{X: 1}"), "bad-argument", 10, 5),
        ("type", step("base", "{Y: abc}"), "bad-argument", 10, 5),
        ("preset", alias("base", "{Y: abc}"), "bad-argument", 3, 1),
        (
            "code",
            step("shell", "{command: 'ls {P}'}"),
            "code-argument",
            10,
            5,
        ),
    ];
    let mut test = Test::new()
        .file(".toolcrib/tools/base.yaml", base)
        .file(
            ".toolcrib/tools/fine.yaml",
            step("base", "{Y: '{P}', x: 2}"),
        )
        .file(".toolcrib/tools/finealias.yaml", alias("base", "{X: 3}"));
    for (name, text, ..) in &cases {
        test = test.file(&format!(".toolcrib/tools/{name}.yaml"), text);
    }
    let document = test.run(&["check", "--json"]).exits(4).json();
    let files = document["error"]["details"]["files"].as_array().unwrap();
    let mut errors = 0;
    for (name, _, code, line, column) in &cases {
        let shown = format!(".toolcrib/tools/{name}.yaml");
        let file = files.iter().find(|file| file["file"] == *shown).unwrap();
        let problems = file["problems"].as_array().unwrap();
        let error: Vec<_> = problems
            .iter()
            .filter(|one| one["severity"] == "error")
            .collect();
        assert_eq!(error.len(), 1, "{name}: {file:#}");
        assert_eq!(
            (&error[0]["code"], &error[0]["line"], &error[0]["column"]),
            (&(*code).into(), &(*line).into(), &(*column).into()),
            "{name}: {file:#}"
        );
        errors += 1;
        test.run(&["check", &shown]).exits(4);
    }
    assert_eq!(
        document["error"]["details"]["errors"], errors,
        "{document:#}"
    );
}

#[test]
fn of_two_files_with_one_reference_the_other_file_is_named() {
    let test = Test::new()
        .file(".toolcrib/tools/good.yaml", GOOD)
        .file(".cycod/tools/good.yaml", GOOD);
    for verb in ["check", "list"] {
        let ran = test.run(&[verb]).exits(0);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains("`.toolcrib/tools/good.yaml`"), "{said}");
        assert!(said.contains("give one of them another `name`"), "{said}");
    }
}

#[test]
fn problems_and_fields_are_explained_and_near_misses_suggested() {
    let test = Test::new();
    let mut text = String::new();
    for topic in [
        "unknown-key",
        "security.isolation",
        "steps.retry",
        "parameters.DIRECTORY.type",
        "timeout",
        "TIMEOUT",
        "unkown-key",
        "security.isolatoin",
        "nonsense",
    ] {
        let ran = test.run(&["explain", topic]);
        text.push_str(&format!(
            "$ toolcrib explain {topic}\n{}{}exit {}\n\n",
            ran.stdout, ran.stderr, ran.code
        ));
    }
    golden("explain.txt", &text);
    let json = test
        .run(&["explain", "unknown-key", "--json"])
        .exits(0)
        .json();
    assert_eq!(json["severity"], "error");
    let json = test
        .run(&["explain", "isolation", "--json"])
        .exits(0)
        .json();
    assert_eq!(json["fields"][0]["field"], "security.isolation");
}

#[test]
fn what_is_left_out_for_a_provider_is_reported_where_it_is_said() {
    let test = Test::new().file(
        "t.yaml",
        "description: Counts\ntags: [read]\nbash: seq {COUNT}\nparameters:\n  COUNT:\n    type: number\n    description: How many\n    validation:\n      minimum: 1\n",
    );
    test.run(&["check", "t.yaml", "--for", "mcp", "--strict"])
        .exits(0);
    let ran = test
        .run(&["check", "t.yaml", "--for", "ollama", "--json"])
        .exits(0);
    let problem = ran.json()["value"]["files"][0]["problems"][0].clone();
    assert_eq!(problem["code"], "provider-loss", "{ran:?}");
    assert_eq!(
        (&problem["line"], &problem["column"]),
        (&5.into(), &3.into()),
        "{ran:?}"
    );
    test.run(&["check", "t.yaml", "--for", "ollama", "--strict"])
        .exits(4);
    test.run(&["check", "t.yaml", "--for", "nobody"]).exits(2);
}

#[test]
fn the_schema_for_editors_is_the_published_one() {
    let ran = Test::new().run(&["check", "--schema"]).exits(0);
    let published = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../schema/toolcrib-tool.schema.json"
    );
    assert_eq!(ran.stdout, std::fs::read_to_string(published).unwrap());
}
