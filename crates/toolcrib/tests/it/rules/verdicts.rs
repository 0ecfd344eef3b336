//! What the default set says about shell text: attacks, and everyday work that looks like them.

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib::Verdict;
use toolcrib::rules::{Judgement, RuleContext, RuleSet, Rules as _};
use toolcrib::tool::ShellText;

use super::{command, judge};

/// A line of tests/cases/shell-rules.jsonl. `verdict` is allow, ask, deny, or `refused` for either of the last two; `rule` is
/// one that must be among the findings. The texts whose `id` begins with `ODD` are run by bash, too (shell/oracle.rs); `why` says
/// why an everyday command is not allowed.
#[derive(Deserialize)]
struct Case {
    id: String,
    command: String,
    verdict: String,
    rule: Option<String>,
}

fn fault(case: &Case, judgement: &Judgement) -> Option<String> {
    let verdict = judgement.verdict;
    let right = match case.verdict.as_str() {
        "refused" => verdict != Verdict::Allow,
        expected => verdict.as_str() == expected,
    };
    let named = case.rule.as_ref().is_none_or(|rule| {
        judgement
            .findings
            .iter()
            .any(|finding| finding.rule == *rule)
    });
    (!right || !named).then(|| {
        let findings: Vec<String> = judgement
            .findings
            .iter()
            .map(|finding| {
                format!(
                    "{} {}: {}",
                    finding.verdict.as_str(),
                    finding.rule,
                    finding.reason
                )
            })
            .collect();
        format!(
            "{} {:?}: {} instead of {}; {findings:?}",
            case.id,
            case.command,
            verdict.as_str(),
            case.verdict
        )
    })
}

#[test]
fn every_case_has_its_verdict() {
    let rules = RuleSet::default();
    let cases: Vec<Case> = include_str!("../../cases/shell-rules.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(cases.len() > 400, "the cases were not found");
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| fault(case, &judge(&rules, command(&case.command))))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_removal_is_looked_up_from_where_the_call_starts() {
    let rules = RuleSet::default();
    let verdict =
        |cwd: &str, text: &str| judge(&rules, json!({"command": text, "cwd": cwd})).verdict;
    assert_eq!(verdict("a/b", "rm -rf ../x"), Verdict::Allow);
    assert_eq!(verdict("a/b", "rm -rf ../.."), Verdict::Deny);
    assert_eq!(
        verdict("a/b", "rm -rf ."),
        Verdict::Allow,
        "a directory inside is inside"
    );
    assert_eq!(verdict("/home/ada/project/a", "rm -rf x"), Verdict::Allow);
    assert_eq!(verdict("/srv", "rm -rf x"), Verdict::Deny);
    assert_eq!(verdict("..", "rm -rf x"), Verdict::Deny);
}

#[test]
fn bash_code_is_read_like_shell_text_and_other_code_is_not() {
    let rules = RuleSet::default();
    let code = |language: &str| {
        judge(
            &rules,
            json!({"language": language, "code": "sudo rm -rf /"}),
        )
    };
    assert_eq!(code("bash").verdict, Verdict::Deny);
    assert_eq!(code("python").verdict, Verdict::Allow);
}

#[test]
fn scratch_directories_are_the_calls_own_unless_the_workspace_is_there_too() {
    use toolcrib::rules::{RuleContext, Rules as _};
    let rules = RuleSet::default();
    let verdict = |workspace: &str, text: &str| {
        let cx = RuleContext {
            workspace: Some(workspace.as_ref()),
            ..RuleContext::default()
        };
        let args = super::object(command(text));
        rules.judge(&super::tool("shell"), &args, &cx).verdict
    };
    assert_eq!(
        verdict("/home/ada/project", "make > /tmp/log"),
        Verdict::Allow
    );
    assert_eq!(verdict("/tmp/ws", "make > /tmp/log"), Verdict::Ask);
    assert_eq!(verdict("/tmp/ws", "make > /tmp/ws/log"), Verdict::Allow);
    assert_eq!(verdict("/home/ada/project", "rm -rf /tmp/x"), Verdict::Ask);
    assert_eq!(verdict("/tmp/ws", "rm -rf /tmp/x"), Verdict::Deny);
    assert_eq!(
        verdict(
            "/home/ada/project",
            "d=$(mktemp -d); make -C \"$d\"; rm -rf \"$d\""
        ),
        Verdict::Allow
    );
}

#[test]
fn paths_and_urls_of_other_tools_are_judged_too() {
    let rules = RuleSet::default();
    for (args, expected) in [
        (json!({"path": "/etc/passwd"}), Verdict::Deny),
        (json!({"path": "a/../../../../etc/passwd"}), Verdict::Deny),
        (json!({"path": "~/.ssh/id_rsa"}), Verdict::Deny),
        (json!({"path": "src/main.rs"}), Verdict::Allow),
        (
            json!({"path": "README.md", "text": "cat /etc/passwd; sudo rm -rf /"}),
            Verdict::Allow,
        ),
        (json!({"to": "/dev/sda"}), Verdict::Deny),
        (json!({"to": "notes/sudo.md"}), Verdict::Allow),
        (
            json!({"url": "http://169.254.169.254/latest/"}),
            Verdict::Deny,
        ),
        (
            json!({"url": "http://[::ffff:169.254.169.254]/"}),
            Verdict::Deny,
        ),
        (
            json!({"url": "https://example.com/169.254.169.254"}),
            Verdict::Allow,
        ),
    ] {
        assert_eq!(judge(&rules, args.clone()).verdict, expected, "{args}");
    }
}

#[test]
fn a_finding_says_which_rule_why_and_about_what() {
    let judgement = judge(&RuleSet::default(), command("ls && sudo rm -rf / # now"));
    let findings = serde_json::to_value(&judgement.findings).unwrap();
    let of = |rule: &str| -> Value {
        let findings = findings.as_array().unwrap();
        findings
            .iter()
            .find(|finding| finding["rule"] == rule)
            .unwrap()
            .clone()
    };
    assert_eq!(judgement.verdict, Verdict::Deny);
    assert_eq!(of("privileges")["about"], "sudo rm -rf /");
    assert_eq!(of("recursive-removal")["about"], "rm -rf /");
    assert_eq!(
        of("recursive-removal")["reason"],
        "`/` is outside the workspace"
    );
    assert_eq!(of("recursive-removal")["verdict"], "deny");
}

#[test]
fn what_is_not_understood_is_asked_about_with_the_reason() {
    let judgement = judge(&RuleSet::default(), command("eval \"$X\""));
    assert_eq!(judgement.verdict, Verdict::Ask);
    assert_eq!(judgement.findings[0].rule, "not-understood");
    assert!(!judgement.findings[0].reason.is_empty());
    assert_eq!(
        judge(&RuleSet::empty(), command("eval \"$X\"")).verdict,
        Verdict::Allow
    );
}

#[test]
fn a_text_made_to_take_long_does_not() {
    let rules = RuleSet::default();
    let many: String = (0..15_000).map(|n| format!("rm -rf /a{n};")).collect();
    let code = format!("python3 -c '{}'", "open(".repeat(40_000));
    let word = format!("cat {}", "a/../".repeat(40_000));
    let globs = format!("cat {}", "*a".repeat(60_000));
    let flags = format!("rm {}x", "-f ".repeat(60_000));
    let targets = format!("rm -rf {}", "rm -rf $x ".repeat(6_000));
    let negations = format!("find . {}", "! ".repeat(30_000));
    let parentheses = format!("rm -rf {}", "find . \\( ".repeat(6_000));
    let functions = "f() { f; };\nf\n".repeat(5_000);
    let sed = format!("sed '{}'", "{ x;".repeat(15_000));
    for text in [
        many,
        code,
        word,
        globs,
        flags,
        targets,
        negations,
        parentheses,
        functions,
        sed,
    ] {
        let start = std::time::Instant::now();
        let judgement = judge(&rules, command(&text));
        let took = start.elapsed();
        println!(
            "{} bytes: {took:?}, {} findings",
            text.len(),
            judgement.findings.len()
        );
        assert!(took.as_secs() < 10, "{} took {took:?}", &text[..40]);
        assert!(judgement.findings.len() < 100);
    }
}

#[test]
fn an_authored_text_that_a_value_makes_too_long_asks() {
    let rules = RuleSet::default();
    let judged = |text: String| {
        let commands = [ShellText {
            text,
            directory: None,
            own: Vec::new(),
            input: None,
            path: None,
        }];
        let cx = RuleContext {
            workspace: Some(super::WORKSPACE.as_ref()),
            commands: &commands,
            ..RuleContext::default()
        };
        let args = super::object(json!({}));
        rules.judge(&super::tool("own"), &args, &cx).verdict
    };
    // The certain part is judged; a doubt about it is left to its author.
    assert_eq!(
        judged("x=a; echo \"$x\"; eval \"$y\"".to_owned()),
        Verdict::Allow
    );
    assert_eq!(
        judged("x=a; echo \"$x\"; sudo ls".to_owned()),
        Verdict::Deny
    );
    // The last command is not seen behind a value that is copied too often, or that is too long.
    let value = "a".repeat(16_000);
    let copied = format!("x='{value}'; {} sudo ls", "echo \"$x\";".repeat(500));
    assert_eq!(judged(copied), Verdict::Ask);
    let long = format!("echo '{}'; sudo ls", "a".repeat(300_000));
    assert_eq!(judged(long), Verdict::Ask);
}
