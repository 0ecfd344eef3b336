//! What files mean: types by field, the order of steps, what goes together.

use std::time::Duration;

use toolcrib::definition::{Action, Body, Cleanup, JsonTemplate, Platform, StreamTo, read};
use toolcrib::serde_json::{Value, json};

use super::{loads, loads_with_warnings, refused, shown, tool, warned};

#[test]
fn types_come_from_fields_and_not_from_yaml() {
    let definition = loads(&tool(
        "name: on\nversion: 1.10\nbash: true\nenvironment:\n  variables:\n    DEBUG: 1\n    NO: no\nmetadata:\n  category: null-safety\n  tags: [yes, 1.0]\n",
    ));
    assert_eq!(definition.name.as_str(), "on");
    assert_eq!(definition.version.as_str(), "1.10");
    let Body::Command(program) = &definition.body else {
        panic!("{:?}", definition.body)
    };
    assert_eq!(program.source, "true");
    assert_eq!(definition.metadata.tags, ["yes", "1.0"]);
    let names: Vec<&str> = definition
        .environment
        .variables
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["DEBUG", "NO"]);
}

#[test]
fn a_boolean_is_true_or_false_and_other_words_get_a_hint() {
    for word in ["no", "off", "False", "N", "\"false\""] {
        let text = tool(&format!("bash: ls\nignore-errors: {word}\n"));
        let reading = read(text.as_bytes(), "tool");
        assert_eq!(refused(&text), ["wrong-type"], "{word}");
        let fix = reading.problems[0].fix.clone().unwrap();
        assert_eq!(fix.text, "false", "{word}");
    }
    // A field that there is not, rather than a value that is wrong.
    let reading = read(tool("bash: ls\nenabled: no\n").as_bytes(), "tool");
    assert!(
        shown(&reading).contains("toolcrib disable"),
        "{}",
        shown(&reading)
    );
}

#[test]
fn a_way_to_run_that_holds_nothing_is_refused() {
    for (lines, code) in [
        ("steps:\n", "missing-value"),
        ("steps: []\n", "missing-value"),
        ("commands:\n", "nothing-to-run"),
        ("commands: {}\n", "nothing-to-run"),
        ("commands:\n  platforms:\n", "nothing-to-run"),
        ("bash:\n", "missing-value"),
        ("run:\n", "missing-value"),
        ("script:\n", "missing-value"),
    ] {
        assert_eq!(refused(tool(lines)), [code], "{lines}");
    }
}

#[test]
fn the_stem_names_a_tool_that_does_not_say_its_name() {
    let reading = read(tool("bash: ls\n").as_bytes(), "find_files");
    let definition = reading.definition.unwrap();
    assert_eq!(definition.name.as_str(), "find_files");
    assert_eq!(definition.slug.as_str(), "find-files");
    assert_eq!(definition.version.as_str(), "v1");
    assert!(
        read(tool("bash: ls\n").as_bytes(), "find files")
            .definition
            .is_none()
    );
}

#[test]
fn values_of_parameters_have_the_type_of_the_parameter() {
    let definition = loads(&tool(
        "bash: echo {S} {N} {B} {A} {O}\nparameters:\n  S: {type: string, description: s, default: 5}\n  N: {type: number, description: n, default: 5}\n  B: {type: boolean, description: b, default: true}\n  A: {type: array, description: a, default: [1, x]}\n  O: {type: object, description: o, default: {k: 1}}\ntests:\n  - name: t\n    parameters:\n      S: 1.10\n      N: 2\n",
    ));
    let defaults: Vec<Value> = definition
        .parameters
        .iter()
        .filter_map(|p| p.default.clone())
        .collect();
    assert_eq!(
        defaults,
        [
            json!("5"),
            json!(5),
            json!(true),
            json!([1, "x"]),
            json!({"k": 1})
        ]
    );
    assert!(
        definition
            .parameters
            .iter()
            .all(|parameter| !parameter.required)
    );
    assert_eq!(
        definition.tests[0].parameters,
        [("S".to_owned(), json!("1.10")), ("N".to_owned(), json!(2))]
    );
    for (kind, value) in [
        ("number", "\"5\""),
        ("number", "five"),
        ("boolean", "yes"),
        ("array", "x"),
        ("object", "[]"),
        ("string", "[a]"),
    ] {
        let text = tool(&format!(
            "bash: echo {{X}}\nparameters:\n  X: {{type: {kind}, description: x, default: {value}}}\n"
        ));
        assert_eq!(refused(&text), ["wrong-type"], "{kind} {value}");
    }
}

/// The places that each step waits for.
fn waits(steps: &str) -> Vec<Vec<usize>> {
    let definition = loads(&tool(&format!("steps:\n{steps}")));
    let Body::Steps(steps) = definition.body else {
        panic!("no steps")
    };
    steps.into_iter().map(|step| step.wait_for).collect()
}

#[test]
fn the_order_of_steps_is_in_what_they_wait_for() {
    let step = |name: &str, more: &str| format!("  - name: {name}\n    bash: echo\n{more}");
    let parallel = "    parallel: true\n";
    assert_eq!(
        waits(&[step("a", ""), step("b", ""), step("c", "")].concat()),
        [vec![], vec![0], vec![0, 1]]
    );
    assert_eq!(
        waits(
            &[
                step("a", ""),
                step("b", parallel),
                step("c", parallel),
                step("d", "")
            ]
            .concat()
        ),
        [vec![], vec![], vec![], vec![0, 1, 2]]
    );
    assert_eq!(
        waits(&[step("a", ""), step("b", ""), step("c", parallel)].concat()),
        [vec![], vec![0], vec![0]]
    );
    // `wait-for` is all of it, forwards too, as long as nothing waits back.
    assert_eq!(
        waits(
            &[
                step("a", "    wait-for: [b]\n"),
                step("b", "    wait-for: []\n"),
                step("c", "    wait-for: [b]\n    parallel: true\n"),
            ]
            .concat()
        ),
        [vec![1], vec![], vec![1]]
    );
}

#[test]
fn steps_that_could_never_start_are_refused() {
    let steps = |lines: &[(&str, &str)]| {
        let steps: Vec<String> = lines
            .iter()
            .map(|(name, wait)| format!("  - name: {name}\n    bash: echo\n    wait-for: {wait}\n"))
            .collect();
        tool(&format!("steps:\n{}", steps.concat()))
    };
    assert_eq!(refused(steps(&[("a", "[a]")])), ["wait-circle"]);
    assert_eq!(
        refused(steps(&[("a", "[b]"), ("b", "[a]")])),
        ["wait-circle"]
    );
    assert_eq!(
        refused(steps(&[("a", "[c]"), ("b", "[a]"), ("c", "[b]")])),
        ["wait-circle"]
    );
    assert_eq!(refused(steps(&[("a", "[z]")])), ["unknown-step"]);
    // The order of the file waits too.
    let implied =
        "steps:\n  - name: a\n    bash: echo\n    wait-for: [b]\n  - name: b\n    bash: echo\n";
    assert_eq!(refused(tool(implied)), ["wait-circle"]);
}

#[test]
fn only_steps_that_have_run_can_be_referred_to() {
    let fine = "steps:\n  - name: a\n    bash: echo\n  - name: b\n    bash: echo {a.output} {a.exit-code}\n    run-condition: \"{a.exit-code} == 0\"\n";
    loads(&tool(fine));
    for steps in [
        // Itself, a later one, one that runs at the same time.
        "  - name: a\n    bash: echo {a.output}\n",
        "  - name: a\n    bash: echo {b.output}\n  - name: b\n    bash: echo\n",
        "  - name: a\n    bash: echo\n  - name: b\n    parallel: true\n    bash: echo {a.output}\n",
        "  - name: a\n    bash: echo\n  - name: b\n    wait-for: []\n    run-condition: \"{a.exit-code} == 0\"\n    bash: echo\n",
        "  - name: a\n    bash: echo\n    error-handling:\n      fallback: echo {a.stderr}\n",
    ] {
        assert_eq!(
            refused(tool(&format!("steps:\n{steps}"))),
            ["step-reference"],
            "{steps}"
        );
    }
    let cleanup = "steps:\n  - name: a\n    bash: echo\nresources:\n  cleanup:\n    - final-command: echo {a.output}\n";
    assert_eq!(refused(tool(cleanup)), ["step-reference"]);
}

#[test]
fn a_step_does_one_thing() {
    assert_eq!(
        refused(tool(
            "steps:\n  - name: a\n    bash: echo\n    use-tool: other\n"
        )),
        ["two-ways-to-run"]
    );
    assert_eq!(refused(tool("steps:\n  - name: a\n")), ["nothing-to-run"]);
    assert_eq!(refused(tool("steps: []\n")), ["missing-value"]);
    assert_eq!(
        warned(&tool(
            "steps:\n  - name: a\n    bash: echo\n    with: {X: 1}\n"
        )),
        ["without-effect"]
    );
}

#[test]
fn tools_that_use_tools_say_which() {
    let definition = loads(&tool(
        "steps:\n  - name: a\n    use-tool: git-clone\n    with: {URL: \"{WORKSPACE}\", DEPTH: 1, TAGS: [a, b]}\n  - name: b\n    bash: echo\n",
    ));
    assert_eq!(definition.uses(), ["git-clone"]);
    let Body::Steps(steps) = &definition.body else {
        panic!("no steps")
    };
    let Action::UseTool { with, .. } = &steps[0].action else {
        panic!("no use-tool")
    };
    assert!(matches!(&with[0].1, JsonTemplate::Text(text) if text.whole().is_some()));
    assert!(matches!(&with[1].1, JsonTemplate::Plain(value) if *value == 1));
    assert!(matches!(&with[2].1, JsonTemplate::Array(items) if items.len() == 2));
    for reference in ["tool", "+tool"] {
        let text = tool(&format!("steps:\n  - name: a\n    use-tool: {reference}\n"));
        assert_eq!(refused(text), ["uses-itself"], "{reference}");
    }
}

#[test]
fn an_alias_has_what_its_base_has() {
    let alias = "type: alias\nbase-tool: git-clone\ndefault-parameters:\n  URL: https://example.com/x.git\n  DIRECTORY: ./repos/{BRANCH}\n  DEPTH: 1\n";
    let definition = loads(alias);
    assert_eq!(definition.uses(), ["git-clone"]);
    let Body::Alias { presets, .. } = &definition.body else {
        panic!("no alias")
    };
    let JsonTemplate::Text(directory) = &presets[1].1 else {
        panic!("no text")
    };
    assert_eq!(directory.references().len(), 1);
    for (more, code) in [
        ("bash: echo\n", "two-ways-to-run"),
        ("security: {isolation: none}\n", "not-in-alias"),
        ("parameters: {X: {description: x}}\n", "not-in-alias"),
        ("input: x\n", "not-in-alias"),
    ] {
        assert_eq!(refused(format!("{alias}{more}")), [code], "{more}");
    }
    assert_eq!(refused("base-tool: git-clone\n"), ["missing-field"]);
    assert_eq!(refused("type: alias\n"), ["nothing-to-run"]);
    assert_eq!(refused("type: alias\nbase-tool: tool\n"), ["uses-itself"]);
}

#[test]
fn of_several_timeouts_the_smallest_counts() {
    let timeout = |lines: &str| loads(&tool(&format!("bash: ls\n{lines}"))).timeout;
    assert_eq!(timeout(""), None);
    assert_eq!(timeout("timeout: 5000\n"), Some(Duration::from_secs(5)));
    assert_eq!(
        timeout("timeout: 2m\nresources:\n  timeout: 30s\n"),
        Some(Duration::from_secs(30))
    );
}

#[test]
fn what_cannot_be_meant_is_out_of_range() {
    for line in [
        "timeout: -1",
        "timeout: 0",
        "timeout: 1e18",
        "resources: {timeout: 0}",
        "resources: {max-memory: 1KB}",
        "interactive-options: {timeout: 0}",
    ] {
        assert_eq!(
            refused(tool(&format!("bash: ls\n{line}\n"))),
            ["out-of-range"],
            "{line}"
        );
    }
    let retry = |retry: &str| {
        refused(tool(&format!(
            "steps:\n  - name: a\n    bash: ls\n    error-handling:\n      retry: {retry}\n"
        )))
    };
    for wrong in [
        "{attempts: 0}",
        "{attempts: 1000000000, delay: 0}",
        "{attempts: 1e9}",
        "{attempts: 3, delay: -1}",
        "{attempts: 3, delay: 1h}",
        "{attempts: 3, backoff: 0}",
        "{attempts: 3, backoff: 100}",
    ] {
        assert_eq!(retry(wrong), ["out-of-range"], "{wrong}");
    }
    assert_eq!(retry("{attempts: many}"), ["wrong-type"]);
    assert_eq!(retry("{delay: 10}"), ["missing-field"]);
}

#[test]
fn variables_that_load_programs_are_the_authors_alone() {
    let variable = |line: &str| {
        tool(&format!(
            "bash: echo {{X}}\nparameters:\n  X: {{type: string, description: x}}\nenvironment:\n  variables:\n    {line}\n"
        ))
    };
    for name in [
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "DYLD_INSERT_LIBRARIES",
        "PATH",
        "BASH_ENV",
        "ENV",
        "PS4",
        "SHELLOPTS",
        "GIT_SSH_COMMAND",
        "GIT_DIR",
        "NODE_OPTIONS",
        "PYTHONSTARTUP",
        "PYTHONPATH",
        "PERL5OPT",
        "RUBYOPT",
        "IFS",
        "HOME",
        "EDITOR",
        "JAVA_TOOL_OPTIONS",
        "CC",
        "CXX",
        "LD",
        "KUBECONFIG",
        "ZDOTDIR",
        "R_PROFILE",
        "R_ENVIRON",
        "TERMINFO",
        "LOCPATH",
    ] {
        assert_eq!(
            refused(variable(&format!("{name}: \"{{X}}\""))),
            ["loader-variable"],
            "{name}"
        );
        assert_eq!(
            refused(variable(&format!("{name}: \"/opt/{{X}}\""))),
            ["loader-variable"],
            "{name}"
        );
    }
    loads(&variable("PATH: \"/opt/bin:/usr/bin:/bin\""));
    loads(&variable("HTTP_PROXY: \"{X}\""));
    loads(&variable("PATH: \"{WORKSPACE}/bin:/usr/bin:/bin\""));
    assert_eq!(refused(variable("TOOLCRIB_HOME: x")), ["reserved-name"]);
    assert_eq!(refused(variable("\"A B\": x")), ["bad-name"]);
}

#[test]
fn names_of_toolcribs_variables_are_taken() {
    for name in ["TEMP_DIR", "WORKSPACE", "TOOL_NAME", "HOME", "TEMP"] {
        let text = tool(&format!(
            "bash: ls\nparameters:\n  {name}: {{type: string, description: x}}\n"
        ));
        assert_eq!(refused(text), ["reserved-name"], "{name}");
    }
    for name in ["1A", "a.b", "\"a b\"", "\"\""] {
        let text = tool(&format!(
            "bash: ls\nparameters:\n  {name}: {{type: string, description: x}}\n"
        ));
        assert_eq!(refused(text), ["bad-name"], "{name}");
    }
}

#[test]
fn permissions_are_paths_and_hosts() {
    let permission = |line: &str| {
        tool(&format!(
            "bash: echo {{D}}\nparameters:\n  D: {{type: string, description: d}}\nsecurity:\n  required-permissions:\n    - \"{line}\"\n"
        ))
    };
    for fine in [
        "filesystem:read:/etc/hosts",
        "network:external:api.github.com",
        "network:external:*.github.com:443",
        "network:external:{D}",
    ] {
        loads(&permission(fine));
    }
    // Everything else is read all the same; the tool is not offered.
    let both = read(permission("filesystem:write:{D}").as_bytes(), "tool");
    let codes: Vec<&str> = both.problems.iter().map(|one| one.code).collect();
    assert_eq!(codes, ["read-tag"]);
    assert!(both.definition.is_some());
    for wrong in [
        "",
        "filesystem",
        "filesystem:read",
        "filesystem:read:",
        "filesystem:execute:/bin",
        "network:internal:x",
        "network:external:https://x",
        "network:external:a/b",
        "network:external:a b",
        "everything",
    ] {
        let codes = refused(permission(wrong));
        assert_eq!(codes, ["bad-permission"], "{wrong}");
    }
}

#[test]
fn everything_of_a_file_is_read_into_its_type() {
    let definition = loads_with_warnings(&tool(
        "bash: echo {X}\nparameters:\n  X: {type: string, description: x, format: \"-p {value}\"}\nplatforms: [linux, unix]\nresources:\n  max-memory: 512MB\n  cleanup:\n    - delete-temp-files: true\n    - final-command: \"rm -rf {TEMP_DIR}\"\ninteractive: true\ninteractive-options: {default-response: \"y\"}\nchangelog:\n  - version: 1.0\n    changes: First\n",
    ));
    assert_eq!(definition.platforms, [Platform::Linux, Platform::Unix]);
    assert_eq!(definition.resources.max_memory, Some(512 << 20));
    assert!(matches!(
        definition.resources.cleanup[..],
        [Cleanup::DeleteTempFiles(true), Cleanup::FinalCommand(_)]
    ));
    let interactive = definition.interactive.unwrap();
    assert_eq!(interactive.timeout, Duration::from_secs(30));
    assert_eq!(interactive.default_response.as_deref(), Some("y"));
    assert_eq!(definition.changelog[0].version, "1.0");
    assert_eq!(
        definition.parameters[0]
            .format
            .as_ref()
            .unwrap()
            .words
            .len(),
        2
    );
    assert_eq!(definition.digest.len(), 64);
}

#[test]
fn streaming_goes_to_the_named_place() {
    let stream_to = |output: &str| {
        let definition = loads_with_warnings(&tool(&format!(
            "steps:\n  - name: a\n    bash: ls\n    output: {output}\n"
        )));
        let Body::Steps(mut steps) = definition.body else {
            panic!("no steps")
        };
        steps.remove(0).output.stream_to
    };
    assert_eq!(stream_to("{mode: buffer, stream-callback: console}"), None);
    assert_eq!(stream_to("{mode: stream}"), Some(StreamTo::Console));
    assert_eq!(
        stream_to("{stream-callback: function}"),
        Some(StreamTo::Function)
    );
    assert_eq!(
        stream_to("{mode: stream, stream-callback: file, file: a.log}"),
        Some(StreamTo::File(Some("a.log".into())))
    );
    let outside = tool(
        "steps:\n  - name: a\n    bash: ls\n    output: {mode: stream, stream-callback: file, file: ../a.log}\n",
    );
    assert_eq!(refused(outside), ["outside-path"]);
}

#[test]
fn problems_are_said_at_once_in_the_order_of_the_file_and_at_their_place() {
    let text = "name: a b\nbahs: ls\ntimeout: 0\nparameters:\n  TEMP: {}\ntags: read\n";
    let reading = read(text.as_bytes(), "tool");
    let places: Vec<(&str, usize, usize)> = reading
        .problems
        .iter()
        .map(|p| (p.code, p.line, p.column))
        .collect();
    assert_eq!(
        places,
        [
            ("missing-field", 1, 1),
            ("bad-name", 1, 7),
            // What it runs is misspelt, not missing.
            ("unknown-key", 2, 1),
            ("out-of-range", 3, 10),
            ("reserved-name", 5, 3),
            ("wrong-type", 6, 7),
        ],
        "{}",
        shown(&reading)
    );
}

#[test]
fn a_value_without_quotes_does_not_hide_what_comes_after() {
    let text = "description: d\ntags: [read]\nbash: {WHO} hi\ninput: @x\nparamters:\n  WHO: {type: sting, description: w}\ntimeout: 0\n";
    let reading = read(text.as_bytes(), "tool");
    let places: Vec<(&str, usize, &str)> = reading
        .problems
        .iter()
        .map(|problem| (problem.code, problem.line, &text[problem.span.clone()]))
        .collect();
    assert_eq!(
        places,
        [
            ("needs-quotes", 3, "{WHO} hi"),
            ("needs-quotes", 4, "@x"),
            ("unknown-key", 5, "paramters"),
            ("out-of-range", 7, "0"),
        ],
        "{}",
        shown(&reading)
    );
}

#[test]
fn a_place_in_a_template_is_a_place_in_the_file() {
    let text = tool(
        "bash: |\n  echo one\n  eval {X} # here\nparameters:\n  X: {type: string, description: x}\n",
    );
    let reading = read(text.as_bytes(), "tool");
    let problem = reading
        .problems
        .iter()
        .find(|p| p.code == "template-eval")
        .unwrap();
    assert_eq!(
        (problem.line, &text[problem.span.clone()]),
        (5, "{X}"),
        "{}",
        shown(&reading)
    );
    // Columns count characters, bytes count bytes, and a byte order mark is none of the text.
    let text = format!(
        "\u{feff}{}",
        tool("bash: 'echo äöü; eval {X}'\nparameters:\n  X: {type: string, description: x}\n")
    );
    let reading = read(text.as_bytes(), "tool");
    let problem = reading
        .problems
        .iter()
        .find(|p| p.code == "template-eval")
        .unwrap();
    assert_eq!(
        (problem.line, problem.column, &text[problem.span.clone()]),
        (3, 23, "{X}"),
        "{}",
        shown(&reading)
    );
}

#[test]
fn a_comment_that_was_meant_as_part_of_the_command_is_pointed_out() {
    let text = tool("bash: echo {X} \"a # b\"\nparameters:\n  X: {type: string, description: x}\n");
    let reading = read(text.as_bytes(), "tool");
    assert!(reading.definition.is_none());
    assert!(
        shown(&reading).contains("takes `# b\"` for a comment"),
        "{}",
        shown(&reading)
    );
}

#[test]
fn a_script_that_reads_an_argument_from_its_environment_uses_it() {
    let script = |body: &str| {
        tool(&format!(
            "shell: perl\nscript: |\n  {body}\nparameters:\n  TEXT: {{type: string, description: A text}}\n"
        ))
    };
    loads(&script("print $ENV{TOOLCRIB_ARG_TEXT};"));
    // Another name is a mistake.
    assert_eq!(
        warned(&script("print $ENV{TOOLCRIB_ARG_TXET};")),
        ["unknown-placeholder", "unused-parameter"]
    );
}
