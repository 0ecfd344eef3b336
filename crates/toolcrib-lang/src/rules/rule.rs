//! [`Rule`]: a name, a condition, a verdict and a reason.

use std::fmt;

use super::Finding;
use super::command::CommandCondition;
use super::facts::Facts;
use super::glob::PathGlob;
use super::host::HostPattern;
use super::invocation::Invocation;
use super::knowledge::Knowledge;
use super::paths::{Access, PathWord};
use super::patterns::Pattern;
use super::set::Parts;
use crate::expr::{ExprError, Expression};
use crate::model::effects::Verdict;
use crate::model::text;
use crate::spec::ToolSpec;

/// The verdict on calls that meet a condition.
#[derive(Debug, Clone)]
pub struct Rule {
    pub(super) name: String,
    pub(super) tools: Vec<String>,
    pub(super) verdict: Verdict,
    pub(super) reason: String,
    pub(super) origin: RuleOrigin,
    pub(super) condition: Condition,
}

/// Where a rule comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleOrigin {
    /// The program that embeds the library.
    Program,
    /// The default set.
    Default,
    /// A file of the operator's home.
    Home(String),
    /// A file of the project.
    Project(String),
}

impl fmt::Display for RuleOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleOrigin::Program => f.write_str("program"),
            RuleOrigin::Default => f.write_str("default"),
            RuleOrigin::Home(file) | RuleOrigin::Project(file) => f.write_str(file),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Condition {
    Stated(Box<Stated>),
    Known(Knowledge),
}

/// A condition in the language of rules; all kinds that are given must hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Stated {
    pub(super) patterns: Vec<Pattern>,
    /// One of these.
    pub(super) commands: Vec<CommandCondition>,
    pub(super) paths: Option<PathCondition>,
    /// One of these.
    pub(super) hosts: Vec<HostPattern>,
    pub(super) expr: Option<Expression>,
}

#[derive(Debug, Clone)]
pub(super) struct PathCondition {
    pub(super) globs: Vec<PathGlob>,
    pub(super) except: Vec<PathGlob>,
    pub(super) access: Option<Access>,
}

impl Rule {
    /// Refuses calls in which one of the patterns occurs: as a command or path in shell text, as a piece of text elsewhere.
    pub fn forbid<P: Into<String>>(
        name: impl Into<String>,
        patterns: impl IntoIterator<Item = P>,
    ) -> Self {
        Rule::with_patterns(Verdict::Deny, name, patterns)
    }

    /// Asks a person about calls in which one of the patterns occurs.
    pub fn ask<P: Into<String>>(
        name: impl Into<String>,
        patterns: impl IntoIterator<Item = P>,
    ) -> Self {
        Rule::with_patterns(Verdict::Ask, name, patterns)
    }

    fn with_patterns<P: Into<String>>(
        verdict: Verdict,
        name: impl Into<String>,
        patterns: impl IntoIterator<Item = P>,
    ) -> Self {
        let patterns: Vec<Pattern> = patterns
            .into_iter()
            .filter_map(|pattern| Pattern::parse(&pattern.into()))
            .collect();
        Rule {
            name: name.into(),
            tools: Vec::new(),
            verdict,
            reason: String::new(),
            origin: RuleOrigin::Program,
            condition: Condition::Stated(Box::new(Stated {
                patterns,
                ..Stated::default()
            })),
        }
    }

    /// Limits the rule to some tools, by wire name or alias; without this it is for all.
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

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tools it is for; empty means all.
    pub fn tools(&self) -> &[String] {
        &self.tools
    }

    /// What it says; of rules with several verdicts the severest.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Why.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Where it comes from.
    pub fn origin(&self) -> &RuleOrigin {
        &self.origin
    }

    /// Whether it can match calls of tools whose parameters have no roles.
    pub(super) fn reads_any_argument(&self) -> bool {
        match &self.condition {
            Condition::Known(_) => false,
            Condition::Stated(stated) => {
                stated.commands.is_empty() && stated.paths.is_none() && stated.hosts.is_empty()
            }
        }
    }

    /// Whether it can match calls of tools that have no shell text and no paths, only hosts that they ask.
    pub(super) fn reads_hosts_alone(&self) -> bool {
        match &self.condition {
            Condition::Known(_) => false,
            Condition::Stated(stated) => stated.commands.is_empty() && stated.paths.is_none(),
        }
    }

    /// Whether a call with these parts can match: all kinds of conditions that are given must hold, and what is code reads commands.
    pub(super) fn can_match(&self, parts: Parts) -> bool {
        match &self.condition {
            Condition::Known(_) => parts.commands,
            Condition::Stated(stated) => {
                (stated.commands.is_empty() || parts.commands)
                    && (stated.paths.is_none() || parts.paths)
                    && (stated.hosts.is_empty() || parts.hosts)
            }
        }
    }

    pub(super) fn concerns(&self, tool: &ToolSpec) -> bool {
        self.tools.is_empty()
            || self.tools.iter().any(|name| {
                name == tool.name.as_str()
                    || tool.aliases.iter().any(|alias| alias.as_str() == name)
            })
    }

    pub(super) fn judge(&self, facts: &Facts<'_>, findings: &mut Vec<Finding>) {
        if let Err(error) = self.try_judge(facts, findings) {
            findings.push(Finding {
                rule: self.name.clone(),
                verdict: Verdict::Ask,
                reason: format!("the rule's expression could not decide: {error}"),
                about: None,
            });
        }
    }

    /// Judges, and leaves to the caller what an expression without a value means.
    pub(super) fn try_judge(
        &self,
        facts: &Facts<'_>,
        findings: &mut Vec<Finding>,
    ) -> Result<(), ExprError> {
        match &self.condition {
            Condition::Known(knowledge) => knowledge.judge(facts, findings),
            Condition::Stated(stated) => {
                let found = stated.find(facts, self.trusts_authors())?;
                if let (None, Some(path)) = (&found, self.uncertain(stated, facts)) {
                    findings.push(Finding {
                        rule: self.name.clone(),
                        verdict: Verdict::Ask,
                        reason: "which file this is will be known only when the command runs, so the rule cannot be applied"
                            .to_owned(),
                        about: Some(text::shorten(path, 200)),
                    });
                }
                findings.extend(found.map(|found| self.finding(found)));
            }
        }
        Ok(())
    }

    /// A path of a command that is known only when it runs, if this rule refuses to have files read. The default set leaves that to
    /// the sandbox: it keeps those files out of reach.
    fn uncertain<'f>(&self, stated: &Stated, facts: &'f Facts<'_>) -> Option<&'f str> {
        let paths = stated.paths.as_ref()?;
        if self.verdict != Verdict::Deny
            || self.origin == RuleOrigin::Default
            || paths.access == Some(Access::Write)
            || !stated.patterns.is_empty()
            || !stated.hosts.is_empty()
            || stated.expr.is_some()
        {
            return None;
        }
        let commands = facts.commands().filter(|command| {
            let concerned = |condition: &CommandCondition| condition.matches(command);
            !command.is_authored
                && (stated.commands.is_empty() || stated.commands.iter().any(concerned))
        });
        let mut named = commands.flat_map(Invocation::paths);
        named
            .find(|path| path.access == Access::Read && !path.located.is_known())
            .map(|path| path.text.as_str())
    }

    /// Whether it has nothing to say about text that a tool's author wrote: code on a command line is asked about because its writer may
    /// mean anything by it. No value can be part of such code; templates see to that.
    fn trusts_authors(&self) -> bool {
        self.origin == RuleOrigin::Default && self.name == "inline-code"
    }

    fn finding(&self, found: Matched) -> Finding {
        let reason = match (self.reason.as_str(), found.pattern, &found.about) {
            ("", Some(pattern), _) => format!("the arguments contain `{pattern}`"),
            ("", None, Some(about)) => format!("the rule is about `{about}`"),
            ("", None, None) => "the rule is about such calls".to_owned(),
            (reason, _, _) => reason.to_owned(),
        };
        Finding {
            rule: self.name.clone(),
            verdict: self.verdict,
            reason,
            about: found.about.map(|about| text::shorten(&about, 200)),
        }
    }
}

/// What a condition holds of.
#[derive(Default)]
struct Matched {
    about: Option<String>,
    pattern: Option<String>,
}

impl Stated {
    /// Whether the condition holds, and what it holds of.
    fn find(&self, facts: &Facts<'_>, trusts_authors: bool) -> Result<Option<Matched>, ExprError> {
        let mut found = Matched::default();
        if !self.patterns.is_empty() {
            let occurs =
                |pattern: &Pattern| Some((pattern.find(facts)?, pattern.as_str().to_owned()));
            match self.patterns.iter().find_map(occurs) {
                Some((about, pattern)) => {
                    found.about = Some(about);
                    found.pattern = Some(pattern);
                }
                None => return Ok(None),
            }
        }
        if !self.commands.is_empty() {
            // Conditions on paths and hosts then apply to this command.
            let command = facts.commands().find(|command| {
                !(trusts_authors && command.is_authored)
                    && self
                        .commands
                        .iter()
                        .any(|condition| condition.matches(command))
                    && self
                        .paths
                        .as_ref()
                        .is_none_or(|paths| paths.find(command.paths(), facts).is_some())
                    && (self.hosts.is_empty() || self.host(command.hosts()).is_some())
            });
            match command {
                Some(command) => found.about = Some(command.text()),
                None => return Ok(None),
            }
        } else {
            if let Some(paths) = &self.paths {
                let path = paths.find(facts.path_parameters(), facts).or_else(|| {
                    facts
                        .commands()
                        .find_map(|command| paths.find(command.paths(), facts))
                });
                match path {
                    Some(path) => found.about = Some(path.text.clone()),
                    None => return Ok(None),
                }
            }
            if !self.hosts.is_empty() {
                let host = self.host(facts.host_parameters()).or_else(|| {
                    facts
                        .commands()
                        .map(Invocation::hosts)
                        .find_map(|hosts| self.host(hosts))
                });
                match host {
                    Some(host) => found.about = Some(host.to_owned()),
                    None => return Ok(None),
                }
            }
        }
        match &self.expr {
            Some(expr) if !expr.holds(&facts.bound())? => Ok(None),
            _ => Ok(Some(found)),
        }
    }

    fn host<'h>(&self, hosts: &'h [String]) -> Option<&'h str> {
        let fits = |host: &&String| self.hosts.iter().any(|pattern| pattern.matches(host));
        hosts.iter().find(fits).map(String::as_str)
    }
}

impl PathCondition {
    fn find<'p>(&self, paths: &'p [PathWord], facts: &Facts<'_>) -> Option<&'p PathWord> {
        let workspace = facts.place().workspace();
        let among = |globs: &[PathGlob], path: &PathWord| {
            globs
                .iter()
                .any(|glob| glob.matches(&path.located, workspace))
        };
        paths.iter().find(|path| {
            self.access.is_none_or(|access| access == path.access)
                && among(&self.globs, path)
                && !among(&self.except, path)
        })
    }
}
