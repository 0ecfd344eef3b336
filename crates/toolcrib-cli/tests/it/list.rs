//! `toolcrib list`, `show` and `explain`.

use serde_json::json;

use crate::harness::Test;

#[test]
fn beyond_the_budget_tokens_say_what_mcp_clients_are_given_instead() {
    let test = Test::new()
        .config("[mcp]\ntokenBudget = 100\npinned = [\"read_file\", \"no_such_tool\"]\n");
    test.run(&["list", "--tokens"])
        .exits(0)
        .says("more than `mcp.tokenBudget`, 100")
        .says("that is 6 tools, about ")
        .says(": call_read_tool, call_tool, call_write_tool, find_tools, read_file, read_result")
        .says("`mcp.pinned` names what is not there: tool not found: `no_such_tool`");
}

#[test]
fn a_list_is_a_table_rows_or_a_bare_array_and_creates_nothing() {
    let test = Test::new();
    let rows = test.run(&["list", "--json"]).exits(0).json();
    let names: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "apply_patch",
            "delete_file",
            "edit_file",
            "format_code",
            "git_add",
            "git_branch",
            "git_commit",
            "git_diff",
            "git_log",
            "git_push",
            "git_status",
            "glob_files",
            "install_package",
            "list_directory",
            "move_file",
            "query_database",
            "read_file",
            "read_result",
            "run_code",
            "run_tests",
            "search_code",
            "shell",
            "web_fetch",
            "write_file",
        ]
    );
    assert_eq!(rows[1]["availability"], json!({"state": "ready"}));
    let plain = test.run(&["--plain", "list"]).exits(0);
    assert!(
        plain.stdout.contains("\nlist_directory\tread\t"),
        "{plain:?}"
    );
    assert!(test.run(&["list"]).exits(0).stdout.starts_with("NAME"));
    assert!(!test.home().exists());
}

#[test]
fn a_disabled_tool_is_listed_only_when_asked_for_and_explained() {
    let test = Test::new().config("disabledTools = ['read_file']");
    let listed = test.run(&["list"]).exits(0).says("2 more tools are off");
    assert!(!listed.stdout.contains("read_file"));
    assert!(
        test.run(&["list", "--all"])
            .exits(0)
            .stdout
            .contains("disabled")
    );
    test.run(&["run", "read_file", "path=x"])
        .exits(3)
        .says("disabled");
    let explained = test
        .run(&["explain", "read_file", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&explained["offered"], &explained["state"]),
        (&json!(false), &json!("disabled"))
    );
}

#[test]
fn any_reference_switches_a_tool_off_and_a_wrong_one_is_said() {
    for name in ["list_files", "+read-file", "core/read-file@v1", "read-file"] {
        let test = Test::new().config(&format!("disabledTools = ['{name}']"));
        let listed = test.run(&["list", "--json"]).exits(0);
        assert_eq!(
            listed.json().as_array().unwrap().len(),
            23,
            "{name}: {listed:?}"
        );
    }
    let test = Test::new().config("disabledTools = ['lst_directory']");
    test.run(&["list"])
        .exits(0)
        .says("did you mean `list_directory`?");
    let findings = test.run(&["doctor", "--json"]).exits(0).json();
    assert_eq!(findings[1]["status"], "warning");
}

#[test]
fn a_list_in_the_users_own_directory_says_why_file_tools_cannot_run() {
    let test = Test::new();
    let ran = test
        .command()
        .env("HOME", test.workspace())
        .arg("list")
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&ran.stderr)
            .starts_with("21 tools cannot run here: the current directory is your home"),
        "{ran:?}"
    );
}

#[test]
fn showing_a_tool_lists_its_parameters_and_how_to_run_it() {
    let shown = Test::new().run(&["show", "list_files"]).exits(0);
    for expected in [
        "includeHidden",
        "required",
        "also      list_files",
        "toolcrib run list_directory path=.",
    ] {
        assert!(shown.stdout.contains(expected), "{expected}: {shown:?}");
    }
    let whole = Test::new()
        .run(&["show", "+readfile", "--json"])
        .exits(0)
        .json();
    assert_eq!(whole["inputSchema"]["required"], json!(["path"]));
    assert_eq!(whole["limits"]["timeoutMs"], 30000);
}

#[test]
fn every_error_code_is_explained() {
    let test = Test::new();
    for code in toolcrib::ErrorCode::ALL {
        let explained = test
            .run(&["explain", code.as_str(), "--json"])
            .exits(0)
            .json();
        assert_eq!(explained["exitCode"], u64::from(code.exit_code()));
        assert_eq!(explained["httpStatus"], u64::from(code.http_status()));
    }
    assert!(
        test.run(&["explain", "timeout"])
            .exits(0)
            .stdout
            .contains("exit code    7")
    );
}

#[test]
fn a_list_on_a_terminal_has_one_line_for_each_tool() {
    let test = Test::new();
    let many = test.run(&["list", "--json"]).exits(0).json();
    let (code, shown) = test.on_terminal_of(80, &["list"]).ends();
    assert_eq!(code, 0);
    let table: Vec<&str> = shown
        .lines()
        .take_while(|line| !line.contains("more tool"))
        .collect();
    assert_eq!(table.len(), many.as_array().unwrap().len() + 1, "{shown}");
    for line in table {
        assert!(line.chars().count() < 80, "{line}");
    }
    assert!(shown.contains('…') && !shown.contains('┊'), "{shown}");
}
