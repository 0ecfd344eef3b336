//! [`RuleSet`]: all rules together.

use std::sync::{Arc, LazyLock, OnceLock};

use super::facts::{Facts, Texts};
use super::file;
use super::knowledge::Knowledge;
use super::rule::{Rule, RuleOrigin};
use super::{Judgement, RuleContext, Rules};
use crate::model::JsonObject;
use crate::spec::{Role, ToolSpec};

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
    /// Whether the standard set is part of it.
    standard: bool,
    /// The names of the standard rules that are switched off.
    off: Vec<String>,
    own: Vec<Arc<Rule>>,
    /// Made when it is first needed: reading the standard set takes a third of the time in which a server starts.
    all: OnceLock<All>,
}

#[derive(Debug, Clone, Default)]
struct All {
    rules: Vec<Arc<Rule>>,
    /// Those that can match a tool whose parameters have no roles: the others need not be looked at.
    for_any_argument: Vec<Arc<Rule>>,
    /// Those, and the ones that can match a tool of which no more is known than whom it asks.
    for_hosts: Vec<Arc<Rule>>,
    disabled: Vec<Arc<Rule>>,
}

impl Default for RuleSet {
    fn default() -> Self {
        RuleSet {
            standard: true,
            ..RuleSet::empty()
        }
    }
}

/// The standard set.
fn standard() -> &'static [Arc<Rule>] {
    static STANDARD: LazyLock<Vec<Arc<Rule>>> = LazyLock::new(|| {
        let known = Knowledge::ALL.iter().map(|knowledge| knowledge.rule());
        known.chain(file::default_rules()).map(Arc::new).collect()
    });
    &STANDARD
}

impl All {
    fn of(set: &RuleSet) -> Self {
        let mut all = All::default();
        let standard: &[_] = if set.standard { standard() } else { &[] };
        for rule in standard.iter().chain(&set.own).cloned() {
            if *rule.origin() == RuleOrigin::Default && set.off.iter().any(|off| off == rule.name())
            {
                all.disabled.push(rule);
                continue;
            }
            if rule.reads_any_argument() {
                all.for_any_argument.push(Arc::clone(&rule));
            }
            if rule.reads_hosts_alone() {
                all.for_hosts.push(Arc::clone(&rule));
            }
            all.rules.push(rule);
        }
        // In the order in which they were switched off.
        let place = |rule: &Arc<Rule>| set.off.iter().position(|off| off == rule.name());
        all.disabled.sort_by_key(place);
        all
    }
}

impl RuleSet {
    /// No rules at all: not even shell text that cannot be understood is asked about.
    pub fn empty() -> Self {
        RuleSet {
            standard: false,
            off: Vec::new(),
            own: Vec::new(),
            all: OnceLock::new(),
        }
    }

    fn all(&self) -> &All {
        self.all.get_or_init(|| All::of(self))
    }

    /// Adds a rule.
    pub fn add(&mut self, rule: Rule) {
        self.own.push(Arc::new(rule));
        self.all = OnceLock::new();
    }

    /// Adds a rule and returns the set.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Self {
        self.add(rule);
        self
    }

    /// The rules in force.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.all().rules.iter().map(AsRef::as_ref)
    }

    /// The rules in force that can match a call of this tool, whatever its arguments are. `runs` says what it runs besides its arguments.
    pub fn about<'a>(&'a self, tool: &'a ToolSpec, runs: Runs) -> impl Iterator<Item = &'a Rule> {
        let parts = Parts::of(tool, runs);
        self.rules()
            .filter(move |rule| rule.concerns(tool) && rule.can_match(parts))
    }

    /// Those that were added to the standard set.
    #[doc(hidden)]
    pub fn added(&self) -> impl Iterator<Item = &Rule> {
        self.own.iter().map(AsRef::as_ref)
    }

    /// The rules that were switched off.
    pub fn disabled(&self) -> impl Iterator<Item = &Rule> {
        self.all().disabled.iter().map(AsRef::as_ref)
    }

    /// The rule of this name, in force or not.
    pub fn find(&self, name: &str) -> Option<&Rule> {
        self.rules()
            .chain(self.disabled())
            .find(|rule| rule.name() == name)
    }

    /// Switches a rule of the default set off; says whether there is one of this name.
    pub fn disable(&mut self, name: &str) -> bool {
        let mut rules = self.rules();
        let found = rules.any(|rule| rule.name() == name && *rule.origin() == RuleOrigin::Default);
        drop(rules);
        if found {
            self.off.push(name.to_owned());
            self.all = OnceLock::new();
        }
        found
    }
}

/// What a tool runs besides what its arguments say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// Commands that its author wrote.
    Commands,
    /// Nothing.
    Nothing,
}

/// What calls of a tool have that rules read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    pub(super) commands: bool,
    pub(super) paths: bool,
    pub(super) hosts: bool,
}

impl Parts {
    fn of(tool: &ToolSpec, runs: Runs) -> Parts {
        let roles = || tool.roles.iter().map(|(_, role)| role);
        let commands = runs == Runs::Commands
            || roles().any(|role| matches!(role, Role::Shell | Role::Code { .. }));
        let is_path = |role: &Role| matches!(role, Role::ReadPath | Role::WritePath);
        Parts {
            commands,
            paths: commands || roles().any(is_path),
            hosts: commands || !tool.urls.is_empty() || roles().any(|role| *role == Role::Url),
        }
    }
}

impl Rules for RuleSet {
    fn judge(&self, tool: &ToolSpec, args: &JsonObject, cx: &RuleContext<'_>) -> Judgement {
        let has_no_parts = tool.roles.is_empty() && cx.commands.is_empty();
        let rules = match (has_no_parts, tool.urls.is_empty()) {
            (true, true) => &self.all().for_any_argument,
            (true, false) => &self.all().for_hosts,
            (false, _) => &self.all().rules,
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
