//! [`RuleSet`]: all rules together.

use std::sync::{Arc, LazyLock};

use super::facts::{Facts, Texts};
use super::file;
use super::knowledge::Knowledge;
use super::rule::{Rule, RuleOrigin};
use super::{Judgement, RuleContext, Rules};
use crate::model::JsonObject;
use crate::spec::ToolSpec;

/// A list of rules; the severest that matches wins.
///
/// The default is the standard set: commands that destroy or take over a machine, files with secrets, shell text that
/// cannot be understood. [`RuleSet::empty`] has none of it.
///
/// ```
/// use toolcrib::rules::{Rule, RuleSet};
/// let rules = RuleSet::default().with(Rule::forbid("no_network_access", ["curl", "wget", "nc"]));
/// # let _ = rules;
/// ```
#[derive(Debug, Clone)]
pub struct RuleSet {
    rules: Vec<Arc<Rule>>,
    /// Those that can match a tool whose parameters have no roles: the others need not be looked at.
    for_any_argument: Vec<Arc<Rule>>,
    /// Those, and the ones that can match a tool of which no more is known than whom it asks.
    for_hosts: Vec<Arc<Rule>>,
    disabled: Vec<Arc<Rule>>,
}

impl Default for RuleSet {
    fn default() -> Self {
        static STANDARD: LazyLock<RuleSet> = LazyLock::new(|| {
            let known = Knowledge::ALL.iter().map(|knowledge| knowledge.rule());
            let mut set = RuleSet::empty();
            for rule in known.chain(file::default_rules()) {
                set.add(rule);
            }
            set
        });
        STANDARD.clone()
    }
}

impl RuleSet {
    /// No rules at all: not even shell text that cannot be understood is asked about.
    pub fn empty() -> Self {
        RuleSet {
            rules: Vec::new(),
            for_any_argument: Vec::new(),
            for_hosts: Vec::new(),
            disabled: Vec::new(),
        }
    }

    /// Adds a rule.
    pub fn add(&mut self, rule: Rule) {
        let rule = Arc::new(rule);
        if rule.reads_any_argument() {
            self.for_any_argument.push(Arc::clone(&rule));
        }
        if rule.reads_hosts_alone() {
            self.for_hosts.push(Arc::clone(&rule));
        }
        self.rules.push(rule);
    }

    /// Adds a rule and returns the set.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Self {
        self.add(rule);
        self
    }

    /// The rules in force.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().map(AsRef::as_ref)
    }

    /// The rules that were switched off.
    pub fn disabled(&self) -> impl Iterator<Item = &Rule> {
        self.disabled.iter().map(AsRef::as_ref)
    }

    /// The rule of this name, in force or not.
    pub fn find(&self, name: &str) -> Option<&Rule> {
        self.rules()
            .chain(self.disabled())
            .find(|rule| rule.name() == name)
    }

    /// Switches a rule of the default set off; says whether there is one of this name.
    pub fn disable(&mut self, name: &str) -> bool {
        let found = self
            .rules
            .iter()
            .position(|rule| rule.name() == name && *rule.origin() == RuleOrigin::Default);
        let Some(at) = found else {
            return false;
        };
        for some in [&mut self.for_any_argument, &mut self.for_hosts] {
            some.retain(|rule| !Arc::ptr_eq(rule, &self.rules[at]));
        }
        self.disabled.push(self.rules.remove(at));
        true
    }
}

impl Rules for RuleSet {
    fn judge(&self, tool: &ToolSpec, args: &JsonObject, cx: &RuleContext<'_>) -> Judgement {
        let has_no_parts = tool.roles.is_empty() && cx.commands.is_empty();
        let rules = match (has_no_parts, tool.urls.is_empty()) {
            (true, true) => &self.for_any_argument,
            (true, false) => &self.for_hosts,
            (false, _) => &self.rules,
        };
        if rules.is_empty() {
            return Judgement::allow();
        }
        let texts = Texts::read(tool, args, cx);
        let facts = Facts::of(tool, args, &texts);
        let mut findings = Vec::new();
        for rule in rules.iter().filter(|rule| rule.concerns(tool)) {
            rule.judge(&facts, &mut findings);
        }
        Judgement::of(findings)
    }
}
