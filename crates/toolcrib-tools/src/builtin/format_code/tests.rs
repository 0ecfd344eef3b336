//! `format_code` with the real formatters: rustfmt, and those that `TOOLCRIB_TEST_FORMATTERS` has.

use crate::builtin::RegisterBuiltins as _;
use crate::testing::WithBuiltins as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::builtin::{BuiltinOptions, SandboxOptions, SandboxSettings};
use crate::call::request::CallRequest;
use crate::model::error::ErrorCode;
use crate::model::outcome::Outcome;
use crate::testing::TestCrib;

const UGLY: &str = "fn main(){println!(\"x\");}\n";
const NEAT: &str = "fn main() {\n    println!(\"x\");\n}\n";

fn crate_with(files: &[(&str, &str)]) -> TestCrib {
    let manifest = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let test = TestCrib::new().builtins().file("Cargo.toml", manifest);
    files
        .iter()
        .fold(test, |test, (path, content)| test.file(path, content))
}

async fn format(test: &TestCrib, arguments: Value) -> Outcome {
    let args = arguments.as_object().unwrap().clone();
    let request = CallRequest::new("format_code").args(args);
    test.registry().execute(request).await
}

fn value(outcome: &Outcome) -> &Value {
    outcome.value().unwrap_or_else(|| panic!("{outcome:?}"))
}

fn read(test: &TestCrib, path: &str) -> String {
    std::fs::read_to_string(test.path().join(path)).unwrap()
}

fn paths(value: &Value) -> Vec<&str> {
    let entries = value.as_array().unwrap().iter();
    entries
        .map(|entry| entry["path"].as_str().unwrap())
        .collect()
}

/// Says that a test cannot run here, and why: in its output, and where `test.sh` reports it at the end.
fn skipped(why: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test"));
    eprint!("SKIPPED {line}");
    if let Some(path) = std::env::var_os("TOOLCRIB_TEST_SKIPPED") {
        use std::io::Write as _;
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        file.unwrap().write_all(line.as_bytes()).unwrap();
    }
}

fn has_rustfmt() -> bool {
    let is_there = super::super::project::is_there("rustfmt");
    if !is_there {
        skipped("there is no rustfmt");
    }
    is_there
}

/// A program that `test.sh` has installed for these tests.
fn installed(program: &str) -> Option<PathBuf> {
    let place = std::env::var_os("TOOLCRIB_TEST_FORMATTERS").map(PathBuf::from);
    let found = place.map(|place| match program {
        "prettier" => place.join("node_modules"),
        program => place.join(program).join("bin").join(program),
    });
    let found = found.filter(|path| path.exists());
    if found.is_none() {
        skipped(&format!(
            "there is no {program}; TOOLCRIB_TEST_FORMATTERS names no directory with it"
        ));
    }
    found
}

/// Makes an installed formatter one of the test's workspace.
fn give(test: &TestCrib, program: &str) -> bool {
    let Some(found) = installed(program) else {
        return false;
    };
    if program == "prettier" {
        copy(
            &found.join("prettier"),
            &test.path().join("node_modules/prettier"),
        );
        let bin = test.path().join("node_modules/.bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink("../prettier/bin/prettier.cjs", bin.join("prettier")).unwrap();
    } else {
        // A script that starts it where it is installed.
        let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", found.display());
        write_program(&test.path().join(".venv/bin").join(program), &script);
    }
    true
}

fn write_program(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, script).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).unwrap();
}

/// A workspace whose programs may read what `test.sh` has installed.
fn bench() -> TestCrib {
    let place = std::env::var_os("TOOLCRIB_TEST_FORMATTERS").map(PathBuf::from);
    let test = TestCrib::new();
    let options = BuiltinOptions {
        sandbox: SandboxSettings {
            options: SandboxOptions {
                readable: place.into_iter().filter(|place| place.exists()).collect(),
                ..SandboxOptions::default()
            },
            ..SandboxSettings::default()
        },
        ..BuiltinOptions::default()
    };
    test.registry().register_builtins_with(options).unwrap();
    test
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}

#[tokio::test]
async fn a_cargo_project_is_formatted_along_its_module_tree() {
    if !has_rustfmt() {
        return;
    }
    let test = crate_with(&[
        ("src/main.rs", &format!("mod a;\nmod b;\n{UGLY}")),
        ("src/a.rs", "pub fn f(){}\n"),
        ("src/b.rs", "pub fn g() {}\n"),
        ("tests/data/not_a_module.rs", "fn  x(){}\n"),
    ]);
    let outcome = format(&test, json!({})).await;
    let value = value(&outcome);
    assert_eq!(value["formatter"], "rustfmt");
    assert_eq!(paths(&value["changed"]), ["src/a.rs", "src/main.rs"]);
    assert_eq!(
        (&value["unchanged"], &value["truncated"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(value["errors"], json!([]));
    assert!(
        value["changed"][0]["diff"]
            .as_str()
            .unwrap()
            .contains("+pub fn f() {}")
    );
    assert_eq!(
        read(&test, "src/main.rs"),
        format!("mod a;\nmod b;\n{NEAT}")
    );
    // A file that is not a module is data.
    assert_eq!(read(&test, "tests/data/not_a_module.rs"), "fn  x(){}\n");
    assert_eq!(outcome.sandbox.as_ref().unwrap().level, "process");
    assert!(test.asked().is_empty());

    let again = format(&test, json!({})).await;
    assert_eq!(again.value().unwrap()["changed"], json!([]));
    assert_eq!(again.value().unwrap()["unchanged"], 3);
}

#[tokio::test]
async fn check_shows_what_would_change_and_writes_nothing() {
    if !has_rustfmt() {
        return;
    }
    let test = crate_with(&[("src/main.rs", UGLY)]);
    for path in ["src", "src/main.rs", "."] {
        let outcome = format(&test, json!({"path": path, "check": true})).await;
        assert_eq!(paths(&value(&outcome)["changed"]), ["src/main.rs"]);
        let text = outcome.result.as_ref().unwrap().text().into_owned();
        assert!(
            text.contains("would change") && text.contains("+    println!"),
            "{text}"
        );
        assert_eq!(read(&test, "src/main.rs"), UGLY);
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_an_error_with_its_line_and_others_are_formatted() {
    if !has_rustfmt() {
        return;
    }
    // Two crates: a module that cannot be parsed keeps rustfmt from its own one only.
    let package = |name: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
    };
    let test = TestCrib::new()
        .builtins()
        .file(
            "Cargo.toml",
            "[workspace]\nmembers = [\"bad\", \"good\"]\nresolver = \"3\"\n",
        )
        .file("bad/Cargo.toml", package("bad"))
        .file("bad/src/lib.rs", "pub fn ok() {}\npub fn g( {\n")
        .file("good/Cargo.toml", package("good"))
        .file("good/src/lib.rs", "pub fn f(){}\n");
    let outcome = format(&test, json!({})).await;
    let value = value(&outcome);
    assert_eq!(paths(&value["changed"]), ["good/src/lib.rs"], "{value}");
    assert_eq!(paths(&value["errors"]), ["bad/src/lib.rs"], "{value}");
    assert_eq!(value["errors"][0]["line"], 2);
    assert_eq!(
        read(&test, "bad/src/lib.rs"),
        "pub fn ok() {}\npub fn g( {\n"
    );
}

#[tokio::test]
async fn a_project_that_cargo_cannot_read_says_so() {
    if !has_rustfmt() {
        return;
    }
    let test = TestCrib::new()
        .builtins()
        .file("Cargo.toml", "[package\n")
        .file("src/lib.rs", UGLY);
    let outcome = format(&test, json!({})).await;
    let value = value(&outcome);
    assert_eq!(paths(&value["errors"]), ["Cargo.toml"], "{value}");
    assert_eq!(read(&test, "src/lib.rs"), UGLY);
}

#[tokio::test]
async fn names_that_look_like_options_are_names() {
    if !has_rustfmt() {
        return;
    }
    let test = TestCrib::new()
        .builtins()
        .file("--config=x.rs", UGLY)
        .file("-x.rs", UGLY)
        .file("--emit files/a b.rs", UGLY);
    let outcome = format(&test, json!({})).await;
    let changed = &value(&outcome)["changed"];
    assert_eq!(
        paths(changed),
        ["--config=x.rs", "--emit files/a b.rs", "-x.rs"]
    );
    assert_eq!(read(&test, "-x.rs"), NEAT);
    let one = format(&test, json!({"path": "-x.rs"})).await;
    assert_eq!(value(&one)["unchanged"], 1);
}

#[tokio::test]
async fn the_edition_is_that_of_the_nearest_manifest() {
    if !has_rustfmt() {
        return;
    }
    // `async` is a name in 2015, and a keyword since.
    let old = "fn async(){}\n";
    let test = TestCrib::new()
        .builtins()
        .file(
            "old/Cargo.toml",
            "[package]\nname = \"old\"\nversion = \"0.1.0\"\n",
        )
        .file("old/src/lib.rs", old)
        .file(
            "Cargo.toml",
            "[workspace]\nmembers = [\"new\"]\n[workspace.package]\nedition = \"2021\"\n",
        )
        .file(
            "new/Cargo.toml",
            "[package]\nname = \"new\"\nversion = \"0.1.0\"\nedition.workspace = true\n",
        )
        .file("new/src/lib.rs", old);
    let outcome = format(&test, json!({"path": "old/src/lib.rs"})).await;
    assert_eq!(value(&outcome)["errors"], json!([]));
    assert_eq!(read(&test, "old/src/lib.rs"), "fn async() {}\n");
    let outcome = format(&test, json!({"path": "new/src/lib.rs"})).await;
    assert_eq!(paths(&value(&outcome)["errors"]), ["new/src/lib.rs"]);
}

#[tokio::test]
async fn nothing_leads_out_of_the_workspace() {
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim.rs");
    std::fs::write(&victim, UGLY).unwrap();
    let test = crate_with(&[("src/main.rs", NEAT)]);
    std::os::unix::fs::symlink(outside.path(), test.path().join("out")).unwrap();
    std::os::unix::fs::symlink(&victim, test.path().join("src/link.rs")).unwrap();
    for path in ["..", "out", "out/victim.rs", "src/link.rs", "/srv"] {
        let outcome = format(&test, json!({"path": path})).await;
        let error = outcome
            .error()
            .unwrap_or_else(|| panic!("{path}: {outcome:?}"));
        assert_eq!(error.code(), ErrorCode::InvalidPath, "{path}: {error:?}");
    }
    // Nor along a module tree that does.
    if has_rustfmt() {
        let tree = format!(
            "#[path = \"{}\"]\nmod victim;\nmod link;\n{NEAT}",
            victim.display()
        );
        std::fs::write(test.path().join("src/main.rs"), tree).unwrap();
        let _ = format(&test, json!({})).await;
    }
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), UGLY);
}

#[tokio::test]
async fn a_missing_formatter_is_reported_with_how_to_get_it() {
    let test = TestCrib::new()
        .builtins()
        .file("package.json", "{}")
        .file("a.ts", "const x=1\n");
    if super::super::project::is_there("prettier") {
        return skipped("prettier is installed for everybody here");
    }
    for arguments in [
        json!({}),
        json!({"path": "a.ts"}),
        json!({"formatter": "prettier"}),
    ] {
        let outcome = format(&test, arguments).await;
        let error = outcome.error().unwrap();
        assert_eq!(error.code(), ErrorCode::ToolUnavailable, "{error:?}");
        assert!(
            error.message().contains("npm install --save-dev prettier"),
            "{error:?}"
        );
    }
    if has_rustfmt() {
        // What can be done is done, and the rest is said.
        let test = test
            .file(
                "tool/Cargo.toml",
                "[package]\nname = \"t\"\nversion = \"0.1.0\"\n",
            )
            .file("tool/src/main.rs", UGLY);
        let outcome = format(&test, json!({})).await;
        assert_eq!(paths(&value(&outcome)["changed"]), ["tool/src/main.rs"]);
        assert_eq!(value(&outcome)["skipped"][0]["formatter"], "prettier");
    }
}

#[tokio::test]
async fn what_no_formatter_takes_is_refused_with_words() {
    let test = TestCrib::new().builtins().file("notes.txt", "x");
    let outcome = format(&test, json!({"path": "notes.txt"})).await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::InvalidArguments);
    let outcome = format(&test, json!({})).await;
    assert!(
        outcome
            .error()
            .unwrap()
            .message()
            .contains("nothing in `.`")
    );
}

#[tokio::test]
async fn a_formatter_that_misbehaves_leaves_the_file_as_it_was() {
    let test = TestCrib::new()
        .builtins()
        .file("package.json", "{}")
        .file("a.ts", "const x=1\n");
    let program = test.path().join("node_modules/.bin/prettier");
    for (script, message) in [
        ("exit 0", "printed nothing"),
        (
            "echo 'half a fi'; echo '[error] a.ts: oh (7:1)' >&2; exit 2",
            "a.ts: oh",
        ),
        ("cat /etc/shadow >&2; exit 1", "Permission denied"),
        (
            "head -c 20000000 /dev/zero | tr '\\0' x",
            "longer than 8 MB",
        ),
    ] {
        write_program(&program, &format!("#!/bin/sh\n{script}\n"));
        let outcome = format(&test, json!({"path": "a.ts"})).await;
        let error = &value(&outcome)["errors"][0];
        assert!(
            error["message"].as_str().unwrap().contains(message),
            "{script}: {error}"
        );
        assert_eq!(read(&test, "a.ts"), "const x=1\n");
    }
    // One that is not there after all.
    std::fs::write(&program, "#!/bin/sh\nexit 127\n").unwrap();
    let outcome = format(&test, json!({"path": "a.ts"})).await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::ToolUnavailable);
}

#[tokio::test]
async fn prettier_formats_what_it_does_not_ignore_and_its_settings_run_in_the_sandbox() {
    let outside = tempfile::tempdir().unwrap();
    let canary = outside.path().join("canary");
    let test = bench()
        .file("package.json", "{\n  \"type\": \"commonjs\"\n}\n")
        .file(".prettierignore", "dist\n")
        .file("dist/x.js", "const x=1\n")
        .file("web/a.ts", "const x=1\n")
        .file("web/b.ts", "const y = 1;\n\nconst x=;\n")
        .file("web/-c.json", "{\"a\":1}\n")
        .file(
            ".prettierrc.js",
            format!(
                "try {{ require('fs').writeFileSync({:?}, 'x'); }} catch (e) {{}}\nmodule.exports = {{ semi: false }};\n",
                canary
            ),
        );
    if !give(&test, "prettier") {
        return;
    }
    let outcome = format(&test, json!({})).await;
    let value = value(&outcome);
    assert_eq!(value["formatter"], "prettier");
    assert_eq!(
        paths(&value["changed"]),
        ["web/-c.json", "web/a.ts"],
        "{value}"
    );
    assert_eq!(paths(&value["errors"]), ["web/b.ts"]);
    assert_eq!(value["errors"][0]["line"], 3);
    // By its settings, which were run, and could not get out.
    assert_eq!(read(&test, "web/a.ts"), "const x = 1\n");
    assert_eq!(read(&test, "dist/x.js"), "const x=1\n");
    assert!(!canary.exists());
}

#[tokio::test]
async fn python_is_formatted_by_what_its_project_names() {
    for (program, settings) in [
        ("ruff", "[tool.ruff]\nline-length = 20\n"),
        ("black", "[tool.black]\nline-length = 20\n"),
    ] {
        let test = bench()
            .file("pyproject.toml", settings)
            .file("pkg/a.py", "x=1\ny = [1111111111, 2222222222]\n")
            .file("pkg/-b.py", "def f(:\n")
            .file("pkg/c.py", "z = 1\n");
        if !give(&test, program) {
            continue;
        }
        let outcome = format(&test, json!({"path": "pkg"})).await;
        let value = value(&outcome);
        assert_eq!(value["formatter"], program);
        assert_eq!(paths(&value["changed"]), ["pkg/a.py"], "{value}");
        assert_eq!(paths(&value["errors"]), ["pkg/-b.py"], "{value}");
        assert_eq!(value["errors"][0]["line"], 1, "{value}");
        assert_eq!(value["unchanged"], 1);
        assert_eq!(
            read(&test, "pkg/a.py"),
            "x = 1\ny = [\n    1111111111,\n    2222222222,\n]\n"
        );
    }
}

#[tokio::test]
async fn go_is_formatted_by_gofmt() {
    if !super::super::project::is_there("gofmt") {
        return skipped("there is no gofmt");
    }
    let test = TestCrib::new()
        .builtins()
        .file("go.mod", "module x\n")
        .file("a.go", "package x\nfunc  f(){}\n")
        .file("b.go", "package x\nfunc (\n");
    let outcome = format(&test, json!({})).await;
    assert_eq!(paths(&value(&outcome)["changed"]), ["a.go"]);
    assert_eq!(paths(&value(&outcome)["errors"]), ["b.go"]);
}
