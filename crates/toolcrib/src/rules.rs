//! Rules: what is refused or asked about before anything runs.
//!
//! Rules route and explain; the sandbox is the wall. [`RuleSet`] is the simple engine: patterns
//! looked for in the text of the arguments. Engines that parse shell commands plug in behind the
//! same [`Rules`] trait.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::model::JsonObject;
use crate::model::effects::Verdict;
use crate::model::spec::ToolSpec;

/// Judges calls.
pub trait Rules: Send + Sync + 'static {
    /// Judges one call, after its arguments were validated.
    fn judge(&self, tool: &ToolSpec, args: &JsonObject, cx: &RuleContext<'_>) -> Judgement;
}

/// What rules may know of the place a call would run in.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleContext<'a> {
    /// Where the workspace is on the host, without links.
    pub workspace: Option<&'a Path>,
}

/// What the rules say about a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The severest verdict of all rules that match; allow when none does.
    pub verdict: Verdict,
    /// The rules that match, severest first.
    pub findings: Vec<Finding>,
}

/// One rule that matched.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The rule's name.
    pub rule: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Its reason.
    pub reason: String,
}

impl Judgement {
    /// No rule matches.
    pub fn allow() -> Self {
        Judgement {
            verdict: Verdict::Allow,
            findings: Vec::new(),
        }
    }

    /// The judgement that a list of findings amounts to.
    pub fn of(mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
        let verdict = findings
            .first()
            .map_or(Verdict::Allow, |finding| finding.verdict);
        Judgement { verdict, findings }
    }
}

/// A rule with patterns that must not occur in the arguments (S1's `SafetyRule`).
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    name: String,
    tools: Vec<String>,
    patterns: Vec<String>,
    verdict: Verdict,
    reason: String,
}

impl Rule {
    /// Refuses calls whose arguments contain one of the patterns.
    pub fn forbid<P: Into<String>>(
        name: impl Into<String>,
        patterns: impl IntoIterator<Item = P>,
    ) -> Self {
        Rule::with_verdict(Verdict::Deny, name, patterns)
    }

    /// Asks a person about calls whose arguments contain one of the patterns.
    pub fn ask<P: Into<String>>(
        name: impl Into<String>,
        patterns: impl IntoIterator<Item = P>,
    ) -> Self {
        Rule::with_verdict(Verdict::Ask, name, patterns)
    }

    fn with_verdict<P: Into<String>>(
        verdict: Verdict,
        name: impl Into<String>,
        patterns: impl IntoIterator<Item = P>,
    ) -> Self {
        // An empty pattern is in every text; nobody means that.
        let patterns = patterns
            .into_iter()
            .map(Into::into)
            .filter(|pattern: &String| !pattern.is_empty())
            .collect();
        Rule {
            name: name.into(),
            tools: Vec::new(),
            patterns,
            verdict,
            reason: String::new(),
        }
    }

    /// Limits the rule to some tools, by wire name; without this it is for all.
    #[must_use]
    pub fn for_tools<T: Into<String>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools = tools.into_iter().map(Into::into).collect();
        self
    }

    /// Says why.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    fn finding(&self, tool: &ToolSpec, args: &JsonObject) -> Option<Finding> {
        let concerns =
            self.tools.is_empty() || self.tools.iter().any(|name| name == tool.name.as_str());
        let pattern = concerns.then(|| {
            self.patterns.iter().find(|pattern| {
                args.iter()
                    .any(|(key, value)| key.contains(pattern.as_str()) || contains(value, pattern))
            })
        })??;
        let reason = match self.reason.as_str() {
            "" => format!("the arguments contain `{pattern}`"),
            reason => reason.to_owned(),
        };
        Some(Finding {
            rule: self.name.clone(),
            verdict: self.verdict,
            reason,
        })
    }
}

fn contains(value: &Value, pattern: &str) -> bool {
    match value {
        Value::String(text) => text.contains(pattern),
        Value::Array(items) => items.iter().any(|item| contains(item, pattern)),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, field)| key.contains(pattern) || contains(field, pattern)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A list of rules; the severest that matches wins.
///
/// ```
/// use toolcrib::rules::{Rule, RuleSet};
/// let rules = RuleSet::default().with(Rule::forbid("no_network_access", ["curl", "wget", "nc"]));
/// # let _ = rules;
/// ```
#[derive(Debug, Clone, Default)]
pub struct RuleSet(Vec<Rule>);

impl RuleSet {
    /// Adds a rule.
    pub fn add(&mut self, rule: Rule) {
        self.0.push(rule);
    }

    /// Adds a rule and returns the set.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Self {
        self.add(rule);
        self
    }
}

impl Rules for RuleSet {
    fn judge(&self, tool: &ToolSpec, args: &JsonObject, _cx: &RuleContext<'_>) -> Judgement {
        Judgement::of(
            self.0
                .iter()
                .filter_map(|rule| rule.finding(tool, args))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::names::WireName;
    use crate::schema::Schema;
    use serde_json::json;

    fn judge(rules: &RuleSet, tool: &str, args: Value) -> Judgement {
        let schema = Schema::object().build().unwrap();
        let Value::Object(args) = args else {
            panic!("an object")
        };
        rules.judge(
            &ToolSpec::new(WireName::parse(tool).unwrap(), "x", schema),
            &args,
            &RuleContext::default(),
        )
    }

    #[test]
    fn the_severest_rule_wins_and_all_are_named() {
        let rules = RuleSet::default()
            .with(Rule::ask("careful", ["curl"]))
            .with(Rule::forbid("no_network", ["curl"]).because("no network here"));
        let judgement = judge(&rules, "shell", json!({"command": "curl x"}));
        assert_eq!(judgement.verdict, Verdict::Deny);
        let names: Vec<&str> = judgement
            .findings
            .iter()
            .map(|finding| finding.rule.as_str())
            .collect();
        assert_eq!(names, ["no_network", "careful"]);
        assert_eq!(
            judge(&rules, "shell", json!({"command": "ls"})),
            Judgement::allow()
        );
    }

    #[test]
    fn a_rule_looks_into_nested_arguments_and_only_at_its_tools() {
        let rules = RuleSet::default().with(Rule::forbid("r", ["secret"]).for_tools(["a"]));
        assert_eq!(
            judge(&rules, "a", json!({"x": [{"y": "my secret"}]})).verdict,
            Verdict::Deny
        );
        assert_eq!(
            judge(&rules, "b", json!({"x": "secret"})).verdict,
            Verdict::Allow
        );
    }
}
