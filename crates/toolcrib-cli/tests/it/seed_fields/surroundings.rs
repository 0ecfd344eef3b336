//! The surroundings of a command: variables, directories, walls, bounds, terminals.

use std::path::Path;
use std::time::Instant;

use super::{fails, failure, fields, outcome, output, tool, value};

/// A tool that prints its path, with these `file-paths`.
fn with_paths(file_paths: &str, path: &str) -> String {
    let yaml = format!(
        "bash: printf '%s' {{FILE}}\nparameters: {{FILE: {{description: A path}}}}\nfile-paths: {file_paths}\n"
    );
    output(&yaml, &[&format!("FILE={path}")])
}

fields! {
    "environment.variables.*" a_command_has_its_variables {
        let yaml = "bash: printf '%s' \"$HTTP_PROXY|$DEBUG\"\nenvironment: {variables: {HTTP_PROXY: '{URL}', DEBUG: '1'}}\nparameters: {URL: {description: A text}}\n";
        assert_eq!(output(yaml, &["URL=http://h:1/$(id)"]), "http://h:1/$(id)|1");
    }
    "environment.inherit" a_command_has_the_callers_variables_if_the_file_says_so {
        let seen = |inherit: bool| {
            let test = tool(&format!("bash: echo \"${{MINE:-nothing}}\"\nenvironment: {{inherit: {inherit}}}\n")).variable("MINE", "mine");
            value(&test, &[])["output"].clone()
        };
        assert_eq!((seen(true), seen(false)), ("mine".into(), "nothing".into()));
    }
    "security.execution-privilege" more_rights_are_asked_for_and_fewer_are_given {
        let as_user = output("bash: id -u\nsecurity: {execution-privilege: same-as-user}\n", &[]);
        let reduced = tool("bash: id -u\nsecurity: {execution-privilege: reduced}\n");
        match super::call(&reduced, &[]).json() {
            ran if ran["ok"] == true => assert!(as_user != "0" || ran["value"]["output"] != "0", "{ran}"),
            refused => assert_eq!(refused["error"]["code"], "SANDBOX_UNAVAILABLE", "{refused}"),
        }
        let elevated = tool("bash: id -u\nsecurity: {execution-privilege: elevated}\n");
        let (code, _) = failure(&elevated, &[]);
        assert!(["APPROVAL_UNAVAILABLE", "TOOL_UNAVAILABLE"].contains(&code.as_str()), "{code}");
    }
    "security.isolation" the_wall_is_the_one_the_file_names {
        let test = tool("bash: echo in\nsecurity: {isolation: process}\n");
        assert_eq!(outcome(&test, &[])["metadata"]["sandbox"]["level"], "process");
        let open = tool("bash: echo out\nsecurity: {isolation: none}\n");
        fails(&open, &[], "APPROVAL_UNAVAILABLE", "isolation: none");
        assert_eq!(value(&open, &["--yes"])["output"], "out");
    }
    "security.required-permissions" a_permission_opens_what_it_names {
        let outside = tempfile::tempdir_in("/var/tmp").unwrap();
        std::fs::write(outside.path().join("file"), "seen").unwrap();
        let yaml = "bash: cat {DIRECTORY}/file\nparameters: {DIRECTORY: {description: Where}}\n";
        let argument = format!("DIRECTORY={}", outside.path().display());
        fails(&tool(yaml), &[&argument, "--yes"], "EXECUTION_ERROR", "exit code 1");
        let test = tool(&format!("{yaml}security: {{required-permissions: ['filesystem:read:{{DIRECTORY}}']}}\n"));
        fails(&test, &[&argument], "APPROVAL_UNAVAILABLE", "beyond the workspace");
        assert_eq!(value(&test, &[&argument, "--yes"])["output"], "seen");
    }
    "security.justification" a_person_reads_why {
        let test = tool("bash: echo\nsecurity: {isolation: none, justification: Required for cloning}\n");
        fails(&test, &[], "APPROVAL_UNAVAILABLE", "Required for cloning");
    }
    "file-paths.normalize" paths_lose_what_means_nothing {
        assert_eq!(with_paths("{normalize: true}", "a//./b/"), "a/b");
        assert_eq!(with_paths("{normalize: false}", "a//./b/"), "a//./b/");
    }
    "file-paths.working-directory" commands_start_where_the_file_says {
        let test = tool("bash: pwd\nfile-paths: {working-directory: '{WORKSPACE}/sub'}\n").file("sub/x", "");
        assert_eq!(value(&test, &[])["output"], test.workspace().join("sub").to_str().unwrap());
    }
    "file-paths.temp-directory" the_temporary_directory_is_where_the_file_says {
        let printed = output("bash: ls -d {TEMP_DIR}\nfile-paths: {temp-directory: '{TEMP}/cycod-tools/{TOOL_NAME}'}\n", &[]);
        assert!(printed.ends_with("/cycod-tools/t"), "{printed}");
        assert!(!Path::new(&printed).exists(), "it is the call's own");
    }
    "file-paths.cross-platform.windows-separator" the_other_systems_separator_is_the_one_named {
        assert_eq!(with_paths(r"{cross-platform: {windows-separator: '\', auto-convert: true}}", r"a\b"), "a/b");
        assert_eq!(with_paths(r"{cross-platform: {windows-separator: '/', auto-convert: true}}", r"a\b"), r"a\b");
    }
    "file-paths.cross-platform.unix-separator" this_systems_separator_is_the_one_named {
        assert_eq!(with_paths(r"{cross-platform: {unix-separator: '/', auto-convert: true}}", r"a\b"), "a/b");
        assert_eq!(with_paths(r"{cross-platform: {unix-separator: '\', auto-convert: true}}", r"a\b"), r"a\b");
    }
    "file-paths.cross-platform.auto-convert" separators_are_converted_if_the_file_says_so {
        assert_eq!(with_paths("{cross-platform: {auto-convert: true}}", r"a\b"), "a/b");
        assert_eq!(with_paths("{cross-platform: {auto-convert: false}}", r"a\b"), r"a\b");
    }
    "resources.timeout" a_call_ends_when_its_time_is_over {
        let started = Instant::now();
        fails(&tool("bash: sleep 60\nresources: {timeout: 300}\n"), &[], "TIMEOUT", "300 ms");
        assert!(started.elapsed().as_secs() < 30);
    }
    "resources.max-memory" more_memory_than_allowed_ends_the_call {
        let yaml = |limit: &str| format!("run: python3 -c \"print(len(bytearray(200000000)))\"\nresources: {{max-memory: {limit}}}\n");
        assert_eq!(output(&yaml("512MB"), &[]), "200000000");
        assert_eq!(failure(&tool(&yaml("64MB")), &[]).0, "EXECUTION_ERROR");
    }
    "resources.cleanup[].delete-temp-files" temporary_files_go_or_stay {
        let kept = |delete: bool| {
            let yaml = format!("bash: 'touch {{TEMP_DIR}}/x; echo {{TEMP_DIR}}'\nresources: {{cleanup: [{{delete-temp-files: {delete}}}]}}\n");
            let outcome = value(&tool(&yaml), &[]);
            outcome.get("cleanup").map(|left| left.to_string())
        };
        // A leftover is reported, with its place.
        assert_eq!(kept(true), None);
        assert!(kept(false).is_some());
    }
    "resources.cleanup[].final-command" a_last_command_runs_after_all {
        let test = tool("bash: exit 4\nresources: {cleanup: [{final-command: 'echo {X} > last'}]}\nparameters: {X: {description: A text}}\n");
        fails(&test, &["X=$(id)"], "EXECUTION_ERROR", "exit code 4");
        assert_eq!(std::fs::read_to_string(test.workspace().join("last")).unwrap(), "$(id)\n");
    }
    "interactive" an_interactive_command_has_a_terminal {
        assert_eq!(output("bash: test -t 0 && test -t 1 && echo terminal\ninteractive: true\n", &[]), "terminal");
        assert_eq!(output("bash: test -t 0 || echo none\ninteractive: false\n", &[]), "none");
    }
    "interactive-options.timeout" silence_lasts_so_long {
        let yaml = "bash: read -r x; echo \"got $x\"\ninteractive: true\ninteractive-options: {timeout: 700, default-response: 'n'}\n";
        let started = Instant::now();
        assert!(output(yaml, &[]).contains("got n"));
        assert!(started.elapsed().as_millis() >= 700);
    }
    "interactive-options.default-response" the_default_answer_is_typed {
        let yaml = "bash: read -r x; echo \"got $x\"\ninteractive: true\ninteractive-options: {timeout: 300, default-response: 'y'}\n";
        assert!(output(yaml, &[]).contains("got y"));
    }
    "working-directory" commands_start_in_the_working_directory {
        let test = tool("bash: pwd\nworking-directory: sub\n").file("sub/x", "");
        assert_eq!(value(&test, &[])["output"], test.workspace().join("sub").to_str().unwrap());
        let home = tool("bash: pwd\nworking-directory: ~/path\n");
        std::fs::create_dir(home.home().parent().unwrap().join("path")).unwrap();
        let (_, message) = failure(&home, &[]);
        assert!(message.contains("permission") || message.contains("outside"), "{message}");
    }
    "timeout" of_the_timeouts_the_smallest_counts {
        fails(&tool("bash: sleep 60\ntimeout: 300\nresources: {timeout: 60000}\n"), &[], "TIMEOUT", "300 ms");
    }
    "ignore-errors" a_failure_counts_as_a_success {
        assert_eq!(value(&tool("bash: exit 3\nignore-errors: true\n"), &[])["exitCode"], 3);
        fails(&tool("bash: exit 3\nignore-errors: false\n"), &[], "EXECUTION_ERROR", "exit code 3");
    }
    "input" a_command_reads_its_input {
        let yaml = "bash: cat\ninput: '{INPUT_PARAM}'\nparameters: {INPUT_PARAM: {description: A text}}\n";
        assert_eq!(output(yaml, &["INPUT_PARAM=$(id) \\ \"x"]), "$(id) \\ \"x");
    }
}
