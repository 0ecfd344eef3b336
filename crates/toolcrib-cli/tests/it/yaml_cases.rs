//! Attacks by the arguments and by the files of YAML tools, at the command line: the given cases of the areas `injection` and `yaml`, and
//! others of their kinds. Real bash, real sandbox; where a value could run something, the sandbox is also taken away, so that it
//! is not what holds.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::Test;

/// A workspace, and a directory outside of it with a file that must survive.
struct Scene {
    test: Test,
    outside: tempfile::TempDir,
}

impl Scene {
    /// Not in `/tmp`, which the sandbox has its own of.
    fn new() -> Self {
        let outside = tempfile::tempdir_in("/var/tmp").unwrap();
        std::fs::write(outside.path().join("canary"), "alive").unwrap();
        let test = Test::new();
        let bin = test.workspace().join("bin");
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
        Scene {
            test: test.variable("PATH", &path),
            outside,
        }
    }

    fn out(&self) -> &str {
        self.outside.path().to_str().unwrap()
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.test.workspace().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    fn tool(&self, name: &str, yaml: &str) {
        self.file(&format!(".toolcrib/tools/{name}.yaml"), yaml);
    }

    fn trust(&self) {
        self.test.run(&["trust", "--yes", "--quiet"]).exits(0);
    }

    /// A program of this name that writes its arguments down, each followed by a NUL.
    fn recorder(&self, name: &str) {
        let path = self.file(
            &format!("bin/{name}"),
            "#!/bin/bash\nprintf '%s\\0' \"$@\" > arguments\n",
        );
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What the recorder was last given; `None` if it did not run.
    fn recorded(&self) -> Option<Vec<String>> {
        let path = self.test.workspace().join("arguments");
        let text = std::fs::read_to_string(&path).ok()?;
        std::fs::remove_file(path).unwrap();
        let mut arguments: Vec<String> = text.split('\0').map(str::to_owned).collect();
        arguments.pop();
        Some(arguments)
    }

    /// Nothing was made or removed where nothing should be.
    #[track_caller]
    fn is_unharmed(&self, after: &str) {
        let names: Vec<_> = std::fs::read_dir(self.outside.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["canary"], "{after}");
        assert!(!self.test.workspace().join("p").exists(), "{after}");
    }

    fn call(&self, args: &Value) -> Value {
        let args = args.to_string();
        let words = ["run", "t", "--yes", "--json", "--args", "-"];
        self.test.run_with_input(&words, &args).json()
    }
}

/// INJ-003, 004, 008, 010, 011 and their kind: the exact bytes as one argument, or a refusal; never a command.
#[test]
fn values_are_arguments_and_nothing_else() {
    let scene = Scene::new();
    scene.recorder("find");
    let out = scene.out().to_owned();
    let parameters = "parameters: {DIR: {type: string, description: D}, PATTERN: {type: string, description: P}}\n";
    scene.tool(
        "t",
        &format!(
            "description: Finds\ntags: [read]\nbash: \"find {{DIR}} -name \\\"{{PATTERN}}\\\"\"\n{parameters}security: {{isolation: none}}\n"
        ),
    );
    scene.trust();
    let values = [
        format!("`touch {out}/p`"),
        format!("\" -o -exec touch {out}/p {{}} + -o \""),
        "!!".to_owned(),
        format!("--fprintf={out}/p"),
        "{DIR}{{DIR}}".to_owned(),
        // Others of the kind.
        format!("$(touch {out}/p; touch p)"),
        format!("'; touch {out}/p; touch p; '"),
        format!("x\ntouch {out}/p\ntouch p\n"),
        format!("-exec touch {out}/p ;"),
        "!-1 !touch ^a^b".to_owned(),
        "{PATTERN}${PATTERN}$PATTERN{TEMP_DIR}%PATTERN%".to_owned(),
        "a b\t* ? [a-z] ~ ~root {a,b} \\ \\\\ $HOME $$ $'\\x41' #".to_owned(),
        String::new(),
        "\u{202e}é\u{1b}[31m".to_owned(),
    ];
    for value in &values {
        for args in [
            json!({"DIR": ".", "PATTERN": value}),
            json!({"DIR": value, "PATTERN": value}),
        ] {
            let outcome = scene.call(&args);
            match scene.recorded() {
                Some(arguments) => {
                    let dir = args["DIR"].as_str().unwrap();
                    assert_eq!(arguments, [dir, "-name", value], "{outcome}");
                    assert!(!value.starts_with('-'), "an option: {value}");
                }
                None => {
                    assert!(value.starts_with('-'), "{value}: {outcome}");
                    assert_eq!(outcome["error"]["code"], "INVALID_ARGUMENTS", "{outcome}");
                }
            }
            scene.is_unharmed(value);
        }
    }
}

/// The real `find`, in the sandbox, gets hostile values unchanged, also when they are glued to an option.
#[test]
fn the_real_program_gets_values_as_they_are() {
    let scene = Scene::new();
    let out = scene.out().to_owned();
    let names = ["-rf", "$(id)", "a b;c", "'q\"", "{DIR}"];
    for name in names {
        scene.file(&format!("d/{name}"), "");
    }
    scene.tool(
        "t",
        "description: Finds\ntags: [read]\nrun: grep -l --regexp= --include={NAME} -r -- {DIR}\n\
         parameters: {DIR: {description: D}, NAME: {description: N}}\n",
    );
    scene.trust();
    for name in names {
        let args = json!({"DIR": "d", "NAME": name});
        let outcome = scene.call(&args);
        // Empty files have no lines: grep looks at one file, and finds nothing in it.
        assert_eq!(outcome["error"]["details"]["stderr"], "", "{outcome}");
        assert_eq!(outcome["error"]["details"]["exitCode"], 1, "{outcome}");
    }
    let args = json!({"DIR": format!("d; touch {out}/p"), "NAME": "x"});
    assert_eq!(scene.call(&args)["error"]["details"]["exitCode"], 2);
    scene.is_unharmed("grep");
}

/// INJ-016: what decides which code is loaded cannot come from a parameter.
#[test]
fn loader_variables_cannot_come_from_a_parameter() {
    let scene = Scene::new();
    let names = [
        "LD_PRELOAD",
        "PATH",
        "BASH_ENV",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "DYLD_INSERT_LIBRARIES",
        "ENV",
        "PS4",
        "SHELLOPTS",
        "BASHOPTS",
        "IFS",
        "PROMPT_COMMAND",
        "GIT_SSH_COMMAND",
        "GIT_CONFIG_COUNT",
        "GIT_EXEC_PATH",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PYTHONSTARTUP",
        "PYTHONPATH",
        "PYTHONHOME",
        "PERL5OPT",
        "PERL5LIB",
        "RUBYOPT",
        "RUBYLIB",
        "JAVA_TOOL_OPTIONS",
    ];
    for name in names {
        scene.tool(
            &name.to_lowercase(),
            &format!(
                "description: Loads\ntags: [read]\nbash: echo\nenvironment: {{variables: {{{name}: 'a{{X}}'}}}}\nparameters: {{X: {{description: X}}}}\n"
            ),
        );
    }
    let found = scene.test.run(&["check", "--json"]).exits(4).stdout;
    for name in names {
        let refused = found.contains(&format!("`{name}` decides what programs run or load"));
        assert!(refused, "{name}: {found}");
    }
    // Nor from the caller.
    let library = format!("{}/p.so", scene.out());
    let inherits = Scene::new();
    inherits.tool(
        "t",
        "description: Inherits\ntags: [read]\nbash: 'echo ${LD_PRELOAD-none} ${BASH_ENV-none} ${TOOLCRIB_HOME-none} ${MINE-none}'\nenvironment: {inherit: true}\n",
    );
    inherits.trust();
    let test = inherits
        .test
        .variable("LD_PRELOAD", &library)
        .variable("BASH_ENV", &library)
        .variable("MINE", "mine");
    let ran = test.run(&["run", "t"]).exits(0);
    assert_eq!(ran.stdout, "none none none mine\n");
}

/// INJ-018: names that cleaning up goes by cannot be taken, and it removes the directory that was made, whatever is there by then.
#[test]
fn cleaning_up_cannot_be_led_elsewhere() {
    let scene = Scene::new();
    for name in ["TEMP_DIR", "WORKSPACE", "TOOL_NAME", "TEMP", "HOME"] {
        scene.tool(
            "t",
            &format!(
                "description: Cleans\ntags: [write]\nbash: echo\nparameters: {{{name}: {{description: D}}}}\n\
                 resources: {{cleanup: [{{final-command: 'rm -rf {{{name}}}'}}]}}\n"
            ),
        );
        scene.trust();
        let outcome = scene.call(&json!({name: scene.out()}));
        assert_eq!(outcome["error"]["code"], "TOOL_UNAVAILABLE", "{outcome}");
        let found = scene.test.run(&["check", "--json"]).exits(4).stdout;
        assert!(found.contains("reserved-name"), "{name}: {found}");
        scene.is_unharmed(name);
    }
    for isolation in ["none", "process"] {
        scene.tool(
            "t",
            &format!(
                "description: Cleans\ntags: [write]\nbash: rmdir {{TEMP_DIR}} && ln -s {} {{TEMP_DIR}} && echo led\n\
                 security: {{isolation: {isolation}}}\nfile-paths: {{temp-directory: '{{TEMP}}/x'}}\n\
                 resources: {{cleanup: [{{delete-temp-files: true}}]}}\n",
                scene.out()
            ),
        );
        scene.trust();
        let outcome = scene.call(&json!({}));
        assert_eq!(outcome["value"]["output"], "led", "{outcome}");
        scene.is_unharmed(isolation);
    }
}

/// The errors that `check` finds in each file, by the file's stem.
fn found_in(files: &[(&str, Vec<u8>)]) -> Vec<(String, Vec<String>)> {
    let scene = Scene::new();
    for (name, content) in files {
        scene.file(&format!(".toolcrib/tools/{name}.yaml"), content);
    }
    let started = Instant::now();
    let report = scene.test.run(&["check", "--json"]).exits(4).json();
    let took = started.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    let checked = report["error"]["details"]["files"].as_array().unwrap();
    let errors = |name: &str| -> Vec<String> {
        let path = format!(".toolcrib/tools/{name}.yaml");
        let file = checked.iter().find(|file| file["file"] == path.as_str());
        let problems = file.unwrap_or_else(|| panic!("{name}: {report}"))["problems"].as_array();
        problems
            .unwrap()
            .iter()
            .filter(|problem| problem["severity"] == "error")
            .map(|problem| problem["code"].as_str().unwrap().to_owned())
            .collect()
    };
    files
        .iter()
        .map(|(name, _)| ((*name).to_owned(), errors(name)))
        .collect()
}

#[track_caller]
fn all_have(files: &[(&str, Vec<u8>)], expected: &[&[&str]]) {
    for ((name, codes), expected) in found_in(files).into_iter().zip(expected) {
        let hit = codes.iter().any(|code| expected.contains(&code.as_str()));
        assert!(hit, "{name}: {codes:?}, not {expected:?}");
    }
}

const TOOL: &str = "description: A tool\ntags: [read]\nbash: echo\n";

fn with(more: &str) -> Vec<u8> {
    format!("{TOOL}{more}").into_bytes()
}

/// YML-001, 004, 005, 007, 008 and their kind.
#[test]
fn what_yaml_could_hide_is_refused() {
    let mut bomb = "a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for (name, before) in "bcdefghi".chars().zip("abcdefgh".chars()) {
        bomb.push_str(&format!(
            "{name}: &{name} [{}]\n",
            vec![format!("*{before}"); 9].join(", ")
        ));
    }
    let files = [
        ("bomb", bomb.into_bytes()),
        ("bomb-of-maps", with("metadata: &a {x: &b {y: *a}}\n")),
        ("anchor", with("metadata: &m {category: c}\n")),
        ("alias", with("metadata: *m\n")),
        ("merge", with("metadata:\n  <<: {category: c}\n")),
        ("twice", with("bash: rm -rf x\n")),
        (
            "twice-below",
            with("security: {isolation: container, isolation: none}\n"),
        ),
        ("twice-quoted", with("\"bash\": rm -rf x\n")),
        ("misspelt", with("secuirty: {isolation: container}\n")),
        ("misspelt-below", with("security: {isolaton: container}\n")),
        ("wrong-case", with("Security: {isolation: container}\n")),
        ("underscore", with("required_permissions: []\n")),
        ("norway", with("enabled: no\n")),
        ("norway-boolean", with("ignore-errors: no\n")),
        ("norway-inherit", with("environment: {inherit: on}\n")),
        ("type-tag", with("version: !!int 1\n")),
        (
            "python-tag",
            with("version: !!python/object/apply:os.system [id]\n"),
        ),
        ("two-documents", with("---\nbash: rm -rf x\n")),
        (
            "deep",
            format!("{TOOL}metadata: {}{}\n", "[".repeat(5000), "]".repeat(5000)).into_bytes(),
        ),
    ];
    let expected: &[&[&str]] = &[
        &["anchor"],
        &["anchor"],
        &["anchor"],
        &["alias"],
        &["merge-key"],
        &["duplicate-key"],
        &["duplicate-key"],
        &["duplicate-key"],
        &["unknown-key"],
        &["unknown-key"],
        &["unknown-key"],
        &["unknown-key"],
        &["unknown-key"],
        &["wrong-type"],
        &["wrong-type"],
        &["tag"],
        &["tag"],
        &["several-documents"],
        &["too-much"],
    ];
    all_have(&files, expected);
    // A version is a text, and so is a name.
    let scene = Scene::new();
    scene.tool("t", &format!("name: on\nversion: 1.10\n{TOOL}"));
    scene.trust();
    let outcome = scene.test.run(&["run", "on", "--json"]).exits(0).json();
    assert_eq!(outcome["metadata"]["version"], "1.10", "{outcome}");
}

/// YML-009: what is not a file of a sensible size is reported, never waited for, and keeps nothing else from working.
#[test]
fn input_that_is_not_a_sensible_file_is_reported_and_never_waited_for() {
    let scene = Scene::new();
    scene.tool("t", TOOL);
    scene.file(
        ".toolcrib/tools/large.yaml",
        "# ".to_owned() + &"x".repeat(10_000_000),
    );
    let sparse = scene.file(".toolcrib/tools/sparse.yaml", "");
    std::fs::File::options()
        .write(true)
        .open(sparse)
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let tools = scene.test.workspace().join(".toolcrib/tools");
    let made = std::process::Command::new("mkfifo")
        .arg(tools.join("fifo.yaml"))
        .status()
        .unwrap();
    assert!(made.success());
    std::fs::create_dir(tools.join("directory.yaml")).unwrap();
    std::fs::write(
        scene.outside.path().join("canary"),
        format!("name: led\n{TOOL}"),
    )
    .unwrap();
    std::os::unix::fs::symlink(scene.outside.path().join("canary"), tools.join("link.yaml"))
        .unwrap();
    std::os::unix::fs::symlink("/dev/zero", tools.join("device.yaml")).unwrap();
    std::os::unix::fs::symlink("loop.yaml", tools.join("loop.yaml")).unwrap();
    let started = Instant::now();
    scene.trust();
    scene.test.run(&["run", "t"]).exits(0);
    scene.test.run(&["run", "led"]).exits(3);
    let found = scene.test.run(&["check"]).exits(4);
    let took = started.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    for name in [
        "large",
        "sparse",
        "fifo",
        "directory",
        "link",
        "device",
        "loop",
    ] {
        assert!(
            found.stdout.contains(&format!("{name}.yaml")),
            "{name}: {found:?}"
        );
    }
}

/// YML-011: nothing goes round in a circle.
#[test]
fn circles_are_refused_at_load() {
    let scene = Scene::new();
    let alias = |base: &str| format!("type: alias\nbase-tool: {base}\n");
    let uses = |other: &str| {
        format!("description: Uses\ntags: [read]\nsteps: [{{name: s, use-tool: {other}}}]\n")
    };
    scene.tool("a", &alias("b"));
    scene.tool("b", &alias("a"));
    scene.tool("own", &alias("own"));
    scene.tool("self", &uses("self"));
    scene.tool("c", &uses("d"));
    scene.tool("d", &uses("e"));
    scene.tool("e", &alias("c"));
    scene.tool("wait", "description: Waits\ntags: [read]\nsteps: [{name: a, bash: echo, wait-for: [b]}, {name: b, bash: echo, wait-for: [a]}]\n");
    scene.tool(
        "wait-self",
        "description: Waits\ntags: [read]\nsteps: [{name: a, bash: echo, wait-for: [a]}]\n",
    );
    scene.trust();
    for name in ["a", "b", "own", "self", "c", "d", "e", "wait", "wait-self"] {
        let outcome = scene
            .test
            .run(&["run", name, "--yes", "--json"])
            .exits(3)
            .json();
        assert_eq!(
            outcome["error"]["code"], "TOOL_UNAVAILABLE",
            "{name}: {outcome}"
        );
    }
}

/// YML-012, 013: patterns are matched in linear time, and large ones are refused.
#[test]
fn patterns_cannot_take_forever() {
    let pattern = |pattern: &str| {
        format!(
            "description: Matches\ntags: [read]\nbash: echo {{X}}\nparameters: {{X: {{description: X, validation: {{pattern: '{pattern}'}}}}}}\n"
        )
    };
    let scene = Scene::new();
    for evil in ["^(a+)+$", "^(a|aa)+$", "^(a*)*b$", "^(.*a){20}$"] {
        scene.tool("t", &pattern(evil));
        scene.trust();
        let started = Instant::now();
        let outcome = scene.call(&json!({"X": "a".repeat(50_000) + "!"}));
        let took = started.elapsed();
        assert_eq!(
            outcome["error"]["code"], "INVALID_ARGUMENTS",
            "{evil}: {outcome}"
        );
        assert!(took < Duration::from_secs(5), "{evil}: {took:?}");
    }
    let files = [
        (
            "nested",
            pattern("((((a{100}){100}){100}){100})").into_bytes(),
        ),
        ("wide", pattern(r"(\w{500}){500}").into_bytes()),
        ("many", pattern("a{1000000}").into_bytes()),
        ("look-ahead", pattern("^(?=a)b").into_bytes()),
        ("back-reference", pattern(r"(a)\1").into_bytes()),
        ("broken", pattern("(a").into_bytes()),
    ];
    for (name, codes) in found_in(&files) {
        assert!(!codes.is_empty(), "{name} is taken");
    }
}

/// YML-014: bounds that cannot be meant are refused.
#[test]
fn bounds_that_cannot_be_meant_are_refused() {
    let step = |handling: &str| {
        format!("description: Steps\ntags: [read]\nsteps: [{{name: s, bash: echo, error-handling: {{retry: {handling}}}}}]\n").into_bytes()
    };
    let files = [
        ("minus", with("resources: {timeout: -1}\n")),
        ("zero", with("resources: {timeout: 0}\n")),
        ("huge", with("resources: {timeout: 1e18}\n")),
        ("huge-digits", with("timeout: 1000000000000000000000000\n")),
        ("no-number", with("timeout: .nan\n")),
        ("infinite", with("timeout: .inf\n")),
        ("memory", with("resources: {max-memory: 0}\n")),
        ("memory-minus", with("resources: {max-memory: -1GB}\n")),
        (
            "memory-huge",
            with("resources: {max-memory: 99999999999999TB}\n"),
        ),
        ("attempts", step("{attempts: 1000000000, delay: 0}")),
        ("attempts-float", step("{attempts: 1e9, delay: 0}")),
        ("attempts-none", step("{attempts: 0}")),
        ("delay", step("{attempts: 2, delay: -1}")),
        ("backoff", step("{attempts: 2, delay: 1, backoff: 1e300}")),
    ];
    let range: &[&str] = &["out-of-range", "wrong-type"];
    all_have(&files, &vec![range; files.len()]);
}

/// YML-015: tests of tools that no one has trusted run in a directory that is thrown away, and so does what cleans up after them.
#[test]
fn cleaning_up_after_a_test_reaches_nothing_else() {
    let scene = Scene::new();
    scene.file("mine", "alive");
    let targets = [
        scene.out().to_owned(),
        scene.test.workspace().display().to_string(),
        "..".to_owned(),
        format!("{}/*", scene.out()),
        "$HOME".to_owned(),
    ];
    for target in &targets {
        scene.tool(
            "t",
            &format!(
                "description: Cleans\ntags: [write]\nbash: echo {{X}}\nparameters: {{X: {{description: X}}}}\ntests:\n  \
                 - {{name: one, parameters: {{X: {target:?}}}, cleanup: ['rm -rf {{X}}', 'rm -rf {target}', 'cd / && rm -rf {target}; true']}}\n"
            ),
        );
        scene.test.run(&["test", "--json"]);
        scene.is_unharmed(target);
        assert!(scene.test.workspace().join("mine").exists(), "{target}");
        assert!(
            scene
                .test
                .workspace()
                .join(".toolcrib/tools/t.yaml")
                .exists(),
            "{target}"
        );
    }
}

/// YML-016: UTF-8 and nothing else, and the file is named.
#[test]
fn other_encodings_and_odd_line_ends_are_refused_by_name() {
    let wide = |bytes: fn(u16) -> [u8; 2], mark: bool| -> Vec<u8> {
        let mark = mark.then_some(0xfeff);
        mark.into_iter()
            .chain(TOOL.encode_utf16())
            .flat_map(bytes)
            .collect()
    };
    let files = [
        ("utf16-le", wide(u16::to_le_bytes, true)),
        ("utf16-be", wide(u16::to_be_bytes, true)),
        ("utf16-bare", wide(u16::to_le_bytes, false)),
        (
            "latin1",
            b"description: Caf\xe9\ntags: [read]\nbash: echo\n".to_vec(),
        ),
        (
            "overlong",
            b"description: a\xc0\xafb\ntags: [read]\nbash: echo\n".to_vec(),
        ),
        (
            "nul",
            b"description: a\0b\ntags: [read]\nbash: echo\n".to_vec(),
        ),
        (
            "nel",
            "description: a\u{85}bash: id\ntags: [read]\nbash: echo\n".into(),
        ),
        (
            "ls",
            "description: a\u{2028}bash: id\ntags: [read]\nbash: echo\n".into(),
        ),
        (
            "ps",
            "description: a\ntags: [read]\nbash: \"echo\u{2029}id\"\n".into(),
        ),
    ];
    for (name, codes) in found_in(&files) {
        assert!(!codes.is_empty(), "{name} is taken");
    }
    let scene = Scene::new();
    scene.file(
        ".toolcrib/tools/latin.yaml",
        b"description: Caf\xe9\nbash: echo\n",
    );
    scene.tool("t", &format!("\u{feff}{TOOL}"));
    let ran = scene.test.run(&["check"]).exits(4);
    assert!(ran.stdout.contains("latin.yaml"), "{ran:?}");
    scene.trust();
    scene.test.run(&["run", "t"]).exits(0);
}
