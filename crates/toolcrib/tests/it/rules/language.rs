//! The language of rules: what conditions mean, and what is said about wrong ones.

use serde_json::{Value, json};
use toolcrib::Verdict;
use toolcrib::rules::{Rule, RuleContext, RuleSet, Rules as _, Whose};

use super::{command, judge, object, problems, rules, tool};

fn verdicts(set: &RuleSet, cases: &[(Value, Verdict)]) {
    for (args, expected) in cases {
        assert_eq!(judge(set, args.clone()).verdict, *expected, "{args}");
    }
}

const ALLOW: Verdict = Verdict::Allow;
const ASK: Verdict = Verdict::Ask;
const DENY: Verdict = Verdict::Deny;

#[test]
fn the_severest_rule_wins_and_all_are_named() {
    let set = RuleSet::empty()
        .with(Rule::ask("careful", ["curl"]))
        .with(Rule::forbid("no_network", ["curl"]).because("no network here"));
    let judgement = judge(&set, command("curl x"));
    assert_eq!(judgement.verdict, DENY);
    let names: Vec<&str> = judgement
        .findings
        .iter()
        .map(|finding| finding.rule.as_str())
        .collect();
    assert_eq!(names, ["no_network", "careful"]);
    assert_eq!(judge(&set, command("ls")).verdict, ALLOW);
}

#[test]
fn forbidden_patterns_are_commands_in_shell_text() {
    let set = RuleSet::empty().with(Rule::forbid(
        "s1",
        ["curl", "wget", "nc", "rm -rf", "git push origin"],
    ));
    verdicts(
        &set,
        &[
            (command("curl --version"), DENY),
            (command("/usr/bin/curl x"), DENY),
            (command("env curl x"), DENY),
            (command("ls | nc x 1"), DENY),
            (command("echo curl"), ALLOW),
            (command("rsync a b"), ALLOW),
            (command("cat curl.txt; ls nc"), ALLOW),
            (command("rm -r -f x"), DENY),
            (command("rm -fr x"), DENY),
            (command("rm -Rfv x"), DENY),
            (command("rm --force --recursive x"), DENY),
            (command("rm -r x"), ALLOW),
            (command("rm -f x"), ALLOW),
            (command("rm -- -rf"), ALLOW),
            (command("git push -f origin main"), DENY),
            (command("git push upstream"), ALLOW),
        ],
    );
}

#[test]
fn forbidden_patterns_that_look_like_paths_are_found_in_paths() {
    let set = RuleSet::empty().with(Rule::forbid("s1", ["/etc/passwd", ".ssh"]));
    verdicts(
        &set,
        &[
            (command("cat /etc/passwd"), DENY),
            (command("cat < /etc/passwd"), DENY),
            (command("ls ~/.ssh/x"), DENY),
            (command("echo x > .ssh/config"), DENY),
            (command("echo /etc/passwd"), ALLOW),
            (command("cat my.ssh"), ALLOW),
        ],
    );
}

#[test]
fn forbidden_patterns_are_pieces_of_text_elsewhere() {
    let set = RuleSet::empty().with(Rule::forbid("s1", ["nc", "secret"]));
    verdicts(
        &set,
        &[
            (json!({"text": "my secret"}), DENY),
            (json!({"text": [{"y": "a secret"}]}), DENY),
            (json!({"text": {"secret": 1}}), DENY),
            (json!({"text": "branch"}), DENY),
            (json!({"text": "x"}), ALLOW),
        ],
    );
    // A parameter's name is the tool's own word.
    let mut spec = tool("read_file");
    spec.input_schema = toolcrib::Schema::object()
        .optional("encoding", toolcrib::schema::Property::string("x"))
        .build()
        .unwrap()
        .into();
    let judged = |args: Value| {
        set.judge(&spec, &object(args), &RuleContext::default())
            .verdict
    };
    assert_eq!(judged(json!({"encoding": "utf-8"})), ALLOW);
    assert_eq!(judged(json!({"unknown_nc": 1})), DENY);
}

#[test]
fn a_command_is_a_name_operands_and_options() {
    let set = rules(
        r#"
        [[rules]]
        name = "short"
        command = "git push --force"
        [[rules]]
        name = "long"
        verdict = "ask"
        command = { name = ["npm", "pnpm"], args = ["run", "deploy|release*", "**"], without = ["--dry-run"] }
        [[rules]]
        name = "exact"
        command = { name = "ls", args = [] }
        [[rules]]
        name = "words"
        command = { name = "ps*", words = ["*secret*"], flags = ["-a", "--all|-e"] }
        [[rules]]
        name = "variable"
        command = { sets = ["AWS_*"] }
        "#,
    );
    verdicts(
        &set,
        &[
            (command("git push --force"), DENY),
            (command("git -C dir push origin main -f"), DENY),
            (command("git push --forc"), DENY),
            (command("git push"), ALLOW),
            (command("git commit -m push --force"), ALLOW),
            (command("npm run deploy"), ASK),
            (command("pnpm --prefix x run release:all now"), ASK),
            (command("npm run deploy --dry-run"), ALLOW),
            (command("npm run build"), ALLOW),
            (command("yarn run deploy"), ALLOW),
            (command("ls"), DENY),
            (command("ls -la"), DENY),
            (command("ls x"), ALLOW),
            (command("pstree -ae my-secret-thing"), DENY),
            (command("ps -a --all secret"), DENY),
            (command("ps -a secret"), ALLOW),
            (command("AWS_PROFILE=x aws s3 ls"), DENY),
            (command("export AWS_PROFILE=x"), DENY),
            (command("echo AWS_PROFILE=x"), ALLOW),
        ],
    );
}

#[test]
fn a_path_is_read_or_written_and_may_have_exceptions() {
    let set = rules(
        r#"
        [[rules]]
        name = "generated"
        path = ["src/generated/**", "*.lock"]
        access = "write"
        except = "src/generated/README.md"
        "#,
    );
    verdicts(
        &set,
        &[
            (command("echo x > src/generated/a.rs"), DENY),
            (command("sed -i s/a/b/ src/generated/a.rs"), DENY),
            (command("cp a.rs src/generated/a.rs"), DENY),
            (command("cp src/generated/a.rs a.rs"), ALLOW),
            (command("cd src && rm generated/a.rs"), DENY),
            (command("rm sub/Cargo.lock"), DENY),
            (command("cat Cargo.lock"), ALLOW),
            (command("touch src/generated/README.md"), ALLOW),
            (json!({"to": "src/generated/a.rs"}), DENY),
            (json!({"to": "/home/ada/project/src/generated/a.rs"}), DENY),
            (json!({"path": "src/generated/a.rs"}), ALLOW),
        ],
    );
}

#[test]
fn a_host_is_found_in_urls_and_in_words() {
    let set =
        rules("[[rules]]\nname = 'hosts'\nhost = ['*.internal', '10.0.0.0/8', 'example.com']\n");
    verdicts(
        &set,
        &[
            (json!({"url": "https://a.internal/x"}), DENY),
            (json!({"url": "https://internal.example.org/"}), ALLOW),
            (command("curl -s https://a.b.internal:8080/x"), DENY),
            (command("curl 10.1.2.3"), DENY),
            (command("ssh ada@build.internal ls"), DENY),
            (command("scp x ada@build.internal:/y"), DENY),
            (command("git clone git@example.com:x/y.git"), DENY),
            (
                command("pip install --index-url=https://pypi.internal/simple x"),
                DENY,
            ),
            (command("echo https://a.internal"), ALLOW),
            (command("curl https://www.example.com"), ALLOW),
        ],
    );
}

#[test]
fn conditions_of_several_kinds_hold_of_the_same_command() {
    let set = rules("[[rules]]\nname = 'both'\ncommand = 'cp'\npath = '/srv/**'\n");
    verdicts(
        &set,
        &[
            (command("cp a /srv/x"), DENY),
            (command("cp a b; ls /srv/x"), ALLOW),
        ],
    );
}

#[test]
fn an_expression_sees_the_call_and_its_failure_asks() {
    let set = rules(
        r#"
        [[rules]]
        name = "many"
        expr = 'commands.filter(c => c[0] == "curl" && c.includes("-d")).length > 1'
        [[rules]]
        name = "big"
        verdict = "ask"
        tools = ["shell"]
        expr = 'tool == "shell" && args.text !== undefined && args.text.length > 5'
        [[rules]]
        name = "paths"
        expr = 'paths.some(p => p.startsWith("vendor/"))'
        "#,
    );
    verdicts(
        &set,
        &[
            (command("curl -d a x; /bin/curl -d b y"), DENY),
            (command("curl -d a x"), ALLOW),
            (json!({"text": "abcdefgh"}), ASK),
            (json!({"text": "abc"}), ALLOW),
            (json!({"path": "vendor/x"}), DENY),
            (command("cd vendor && cat x"), DENY),
        ],
    );
    for broken in ["args.a.b.c", "(() => { while (true) {} })()", "args.length"] {
        let set = rules(&format!("[[rules]]\nname = 'broken'\nexpr = '{broken}'\n"));
        let judgement = judge(&set, command("ls"));
        assert_eq!(judgement.verdict, ASK, "{broken}");
        assert!(judgement.findings[0].reason.contains("could not decide"));
    }
}

#[test]
fn a_rule_is_for_its_tools_by_name_or_alias() {
    for (tools, expected) in [
        ("['shell']", DENY),
        ("['other_name']", DENY),
        ("['read_file']", ALLOW),
        ("[]", DENY),
    ] {
        let set = rules(&format!(
            "[[rules]]\nname = 'r'\ntools = {tools}\ncommand = 'ls'\n"
        ));
        assert_eq!(judge(&set, command("ls")).verdict, expected, "{tools}");
    }
    let all = rules("[[rules]]\nname = 'r'\ntools = ['shell']\nverdict = 'ask'\n");
    assert_eq!(
        judge(&all, json!({})).verdict,
        ASK,
        "without a condition every call of the tool is meant"
    );
}

#[test]
fn all_that_is_wrong_is_said_at_once_with_file_rule_and_fix() {
    let found = problems(
        r#"
        rule = 1
        [[rules]]
        name = "a"
        comand = "ls"
        [[rules]]
        command = "ls"
        [[rules]]
        name = "bad name"
        verdict = "maybe"
        path = ["a/../b", "**"]
        access = "execute"
        [[rules]]
        name = "c"
        command = { nam = "x", flags = ["r"] }
        host = "https://x"
        expr = "1 +"
        [[rules]]
        name = "d"
        except = "x"
        forbidden_patterns = [""]
        [[rules]]
        name = "e"
        command = "ls"
        [[rules]]
        name = "e"
        command = "ls"
        examples = { match = ["cat x", 1], pas = [] }
        [[rules]]
        name = "f"
        [[rules]]
        name = "g"
        command = "ls"
        examples = { match = ["cat x"], pass = ["ls y", { command = "cat" }] }
        "#,
        Whose::Operator,
    );
    for expected in [
        "test.toml: unknown key `rule`; write rules as `[[rules]]`",
        "test.toml: rule `a`: unknown key `comand`; did you mean `command`?",
        "test.toml: rule `a`: has no condition",
        "test.toml: rule number 2: has no `name`",
        "test.toml: rule `bad name`: a name has",
        "test.toml: rule `bad name`: `verdict` must be",
        "test.toml: rule `bad name`: `path`: `a/../b`: ",
        "test.toml: rule `bad name`: `path`: `**`: it fits every path",
        "test.toml: rule `bad name`: `access` must be",
        "test.toml: rule `c`: unknown key `nam`; did you mean `name`?",
        "test.toml: rule `c`: `command` names no program",
        "test.toml: rule `c`: `flags`: `r` is not an option",
        "test.toml: rule `c`: `host`: `https://x` is not a host",
        "test.toml: rule `c`: `expr`: it is not a JavaScript expression",
        "test.toml: rule `d`: `except` belongs to `path`",
        "test.toml: rule `d`: `forbidden_patterns` has an empty pattern",
        "test.toml: rule `e`: unknown key `pas`; did you mean `pass`?",
        "test.toml: rule `e`: `examples.match`: an example is a text or a table",
        "test.toml: rule `f`: has no condition",
        "test.toml: rule `g`: the example `cat x` must match, and does not",
        "test.toml: rule `g`: the example `ls y` must pass, but `ls y` matches",
    ] {
        assert!(
            found.iter().any(|problem| problem.starts_with(expected)),
            "{expected} is not in {found:#?}"
        );
    }
    let twice = problems(
        "[[rules]]\nname='e'\ncommand='ls'\n[[rules]]\nname='e'\ncommand='cat'\n",
        Whose::Operator,
    );
    assert_eq!(twice.len(), 1, "{twice:?}");
    assert!(problems("[[rules", Whose::Operator)[0].contains("it is not TOML"));
}

#[test]
fn a_projects_rules_may_tighten_and_run_no_code() {
    let ask = "[[rules]]\nname = 'r'\nverdict = 'ask'\ncommand = 'ls'\n";
    assert!(problems(ask, Whose::Project).is_empty());
    let allow = "[[rules]]\nname = 'r'\nverdict = 'allow'\ncommand = 'ls'\n";
    assert!(problems(allow, Whose::Operator).is_empty());
    assert!(problems(allow, Whose::Project)[0].contains("not allow"));
    let code = "[[rules]]\nname = 'r'\nexpr = 'true'\n";
    assert!(problems(code, Whose::Project)[0].contains("`expr`"));
}

#[test]
fn a_rule_that_allows_is_named_and_lifts_nothing() {
    let set = rules(
        "[[rules]]\nname = 'fine'\nverdict = 'allow'\ncommand = 'ls'\n[[rules]]\nname = 'no'\ncommand = 'ls'\n",
    );
    let judgement = judge(&set, command("ls"));
    assert_eq!(judgement.verdict, DENY);
    assert_eq!(judgement.findings.len(), 2);
}

#[test]
fn examples_are_shell_text_paths_urls_or_whole_calls() {
    let toml = r#"
        [[rules]]
        name = "p"
        path = "/srv/**"
        examples.match = ["/srv/x", "cat /srv/x", { write = "/srv/x" }]
        examples.pass = ["/home/x", "echo /srv/x", { tool = "shell", args = { command = "ls" } }]
        [[rules]]
        name = "h"
        host = "a.test"
        examples.match = ["a.test", "https://a.test/x", "curl a.test"]
        examples.pass = ["b.test", { url = "http://b.test" }]
        [[rules]]
        name = "t"
        tools = ["deploy"]
        forbidden_patterns = ["prod"]
        examples.match = [{ tool = "deploy", args = { where = "prod" } }]
        examples.pass = [{ tool = "other", args = { where = "prod" } }, { tool = "deploy", args = { where = "test" } }]
    "#;
    assert_eq!(problems(toml, Whose::Operator), Vec::<String>::new());
}
