//! What a tool is, what it runs, how it is found; aliases.

use serde_json::json;

use super::{fails, fields, outcome, output, published, tool, value, with};

/// An alias of a tool that prints its two parameters.
fn alias(more: &str) -> crate::harness::Test {
    with(&[
        (
            "other-tool",
            "description: The base\ntags: [run]\nbash: echo {PARAM1} {PARAM2}\nparameters: {PARAM1: {description: One}, PARAM2: {description: Two}}\n",
        ),
        ("t", &format!("type: alias\nbase-tool: other-tool\n{more}")),
    ])
}

fields! {
    "name" a_tool_goes_by_its_name {
        let test = with(&[("file", "name: tool-name\ndescription: Named\ntags: [run]\nbash: echo named\n")]);
        test.run(&["run", "tool-name"]).exits(0).prints("named\n");
        test.run(&["run", "file"]).exits(3);
    }
    "description" models_get_the_description {
        let definition = tool("bash: echo\n").run(&["schema", "t", "--provider", "openai"]).exits(0).json();
        assert_eq!(definition["function"]["description"], "A tool");
        let without = with(&[("t", "bash: echo\n")]);
        fails(&without, &[], "TOOL_UNAVAILABLE", "description");
    }
    "version" calls_say_the_version {
        let test = tool("version: 1.0.0\nbash: echo\n");
        assert_eq!(outcome(&test, &[])["metadata"]["version"], "1.0.0");
        test.run(&["run", "user/t@1.0.0"]).exits(0);
        test.run(&["run", "user/t@1.0"]).exits(3);
    }
    "min-cycod-version" a_tool_for_a_later_cycod_is_refused {
        value(&tool("min-cycod-version: 1.0.0\nbash: echo\n"), &[]);
        fails(&tool("min-cycod-version: 2.0.0\nbash: echo\n"), &[], "TOOL_UNAVAILABLE", "2.0");
    }
    "bash" bash_runs_a_command {
        let yaml = "bash: for i in 1 2; do echo \"$i {X}\"; done | tac\nparameters: {X: {description: A text}}\n";
        assert_eq!(output(yaml, &["X=$(id)"]), "2 $(id)\n1 $(id)");
    }
    "cmd" a_command_for_cmd_is_for_where_there_is_one {
        fails(&tool("cmd: dir {X}\nparameters: {X: {description: A text}}\n"), &["X=a"], "TOOL_UNAVAILABLE", "cmd");
    }
    "pwsh" a_command_for_powershell_is_for_where_there_is_one {
        fails(&tool("pwsh: Get-Item {X}\nparameters: {X: {description: A text}}\n"), &["X=a"], "TOOL_UNAVAILABLE", "pwsh");
    }
    "run" run_starts_a_program_without_a_shell {
        let yaml = "run: printf \"<%s>\" {X} $HOME '*' a;b\nparameters: {X: {description: A text}}\n";
        assert_eq!(output(yaml, &["X=a b"]), "<a b><$HOME><*><a;b>");
    }
    "script" a_script_has_several_lines {
        assert_eq!(output("script: |\n  x=1\n  echo $((x + 1)) ${BASH_VERSION:+bash}\n", &[]), "2 bash");
    }
    "shell" a_script_is_run_by_its_shell {
        let yaml = "shell: python\nscript: |\n  print([n * 2 for n in {X}])\nparameters: {X: {type: array, description: Numbers}}\n";
        assert_eq!(output(yaml, &["X=[1, 2]"]), "[2, 4]");
    }
    "commands.default" the_default_is_for_systems_without_a_command {
        assert_eq!(output("commands: {default: echo default, platforms: {windows: echo windows}}\n", &[]), "default");
    }
    "commands.platforms.windows" a_command_for_windows_is_for_windows {
        fails(&tool("commands: {platforms: {windows: echo windows}}\n"), &[], "TOOL_UNAVAILABLE", "no command for Linux");
    }
    "commands.platforms.unix" a_command_for_unix_is_for_this_system {
        assert_eq!(output("commands: {default: echo default, platforms: {unix: echo unix}}\n", &[]), "unix");
    }
    "metadata.category" a_category_is_a_tag_to_be_found_by {
        let shown = published(&tool("bash: echo\nmetadata: {category: development}\n"));
        assert_eq!((&shown["tags"], &shown["effects"]), (&json!(["run", "development"]), &json!(["run"])));
    }
    "metadata.subcategory" a_subcategory_is_a_tag_to_be_found_by {
        let shown = published(&tool("bash: echo\nmetadata: {subcategory: version-control}\n"));
        assert_eq!(shown["tags"], json!(["run", "version-control"]));
    }
    "metadata.tags" tags_of_the_metadata_say_nothing_about_effects {
        let shown = published(&tool("bash: echo\nmetadata: {tags: [git, write]}\n"));
        assert_eq!((&shown["tags"], &shown["effects"]), (&json!(["run", "git", "write"]), &json!(["run"])));
    }
    "metadata.search-keywords" keywords_are_there_to_be_found_by {
        let test = tool("bash: echo\nmetadata: {search-keywords: [repo, checkout]}\n");
        assert_eq!(published(&test)["keywords"], json!(["repo", "checkout"]));
        let shown = test.run(&["show", "t"]).exits(0).stdout;
        assert!(shown.contains("keywords  repo, checkout"), "{shown}");
    }
    "type" an_alias_is_another_tool {
        let shown = published(&alias("default-parameters: {PARAM1: value1}\n"));
        assert_eq!(shown["description"], "The base");
        let no_alias = with(&[("t", "type: tool\nbase-tool: read_file\n")]);
        fails(&no_alias, &[], "TOOL_UNAVAILABLE", "alias");
    }
    "base-tool" an_alias_calls_its_base {
        assert_eq!(value(&alias(""), &["PARAM1=a", "PARAM2=b"])["output"], "a b");
        let nowhere = with(&[("t", "type: alias\nbase-tool: nowhere\n")]);
        fails(&nowhere, &[], "TOOL_UNAVAILABLE", "nowhere");
    }
    "default-parameters.*" an_alias_presets_arguments {
        let test = alias("default-parameters: {PARAM1: value1, PARAM2: 'value {WHO}'}\n");
        assert_eq!(value(&test, &["WHO=ada"])["output"], "value1 value ada");
        assert_eq!(value(&test, &["PARAM1=mine", "WHO=ada"])["output"], "mine value ada");
        let published = &published(&test)["inputSchema"]["properties"];
        assert!(published["PARAM1"]["default"] == "value1" && published.get("WHO").is_some(), "{published}");
    }
    "changelog[].version" the_versions_are_shown {
        let shown = tool("bash: echo\nchangelog: [{version: 1.1.0, changes: More}, {version: 1.0.0, changes: First}]\n").run(&["show", "t"]).stdout;
        assert!(shown.contains("1.1.0  More\n  1.0.0  First"), "{shown}");
    }
    "changelog[].changes" the_changes_are_shown {
        let shown = tool("bash: echo\nchangelog: [{version: 1.0.0, changes: Initial release}]\n").run(&["show", "t"]).stdout;
        assert!(shown.contains("Initial release"), "{shown}");
    }
    "tags" tags_decide_who_is_asked {
        let tagged = |tags: &str| with(&[("t", &format!("description: Tagged\nbash: echo\ntags: {tags}\n"))]);
        assert_eq!(published(&tagged("[tag1, tag2, read]"))["effects"], json!(["read"]));
        value(&tagged("[tag1, read]"), &[]);
        fails(&tagged("[tag1, tag2]"), &[], "APPROVAL_UNAVAILABLE", "no tag");
    }
    "platforms" a_tool_for_other_systems_is_unavailable {
        value(&tool("bash: echo\nplatforms: [windows, linux, macos]\n"), &[]);
        fails(&tool("bash: echo\nplatforms: [windows, macos]\n"), &[], "TOOL_UNAVAILABLE", "Linux");
    }
}
