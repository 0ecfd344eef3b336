//! Rules as TOML: reading them, and saying everything that is wrong with them at once.

use std::fmt;

use toml::{Table, Value};

use super::command::{CommandCondition, Operand};
use super::examples::{self, Example};
use super::glob::PathGlob;
use super::host::HostPattern;
use super::invocation::{Flag, Words};
use super::name_glob::NameGlob;
use super::paths::Access;
use super::patterns::Pattern;
use super::rule::{Condition, PathCondition, Rule, RuleOrigin, Stated};
use crate::expr::{ExprError, Expression};
use crate::model::budget::Budget;
use crate::model::effects::Verdict;
use crate::model::text;
use crate::shell::LANGUAGES;

/// The keys of a rule.
const KEYS: &[&str] = &[
    "name",
    "tools",
    "forbidden_patterns",
    "command",
    "path",
    "access",
    "except",
    "host",
    "expr",
    "verdict",
    "reason",
    "examples",
];

/// The keys of a condition on commands.
const COMMAND_KEYS: &[&str] = &[
    "name",
    "args",
    "flags",
    "without",
    "words",
    "sets",
    "via",
    "language",
    "code",
    "everything",
    "unclear",
    "unset",
];

/// What an expression may use.
const VARIABLES: [&str; 4] = ["tool", "args", "commands", "paths"];

/// Refuses an expression that names no fact of a call, and so has the same value in every one, if that is not a boolean.
fn never_a_boolean(expression: Expression) -> Result<Expression, ExprError> {
    let source = expression.source();
    if !VARIABLES.iter().any(|variable| source.contains(variable)) {
        let nothing = serde_json::Value::Null;
        if let Err(why @ ExprError::NotBoolean(_)) = expression.holds(&VARIABLES.map(|_| &nothing))
        {
            return Err(why);
        }
    }
    Ok(expression)
}

/// More rules than this in one file are a mistake.
const MAX_RULES: usize = 1000;
/// The longest pattern. Comparing one with a text costs its length times that of the text, at worst.
const MAX_PATTERN: usize = 512;

/// The most steps that reading the examples of a file may take.
const MAX_STEPS: u64 = 8 * 1024 * 1024;

/// Whose rules a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The operator's: they may say anything.
    Operator,
    /// A project's, which may come from anybody: they may only tighten, and run no code.
    Project,
}

/// Something that is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleProblem {
    /// The file.
    pub file: String,
    /// The rule's name, or its number where it has none.
    pub rule: Option<String>,
    /// The problem, and what to write.
    pub message: String,
}

impl fmt::Display for RuleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file)?;
        if let Some(rule) = &self.rule {
            write!(f, "rule {rule}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// Why rules cannot be used: everything that is wrong with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesError {
    /// The problems, in the order of the files.
    pub problems: Vec<RuleProblem>,
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [one] => one.fmt(f),
            many => {
                write!(f, "the rules have {} problems:", many.len())?;
                many.iter()
                    .try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

impl std::error::Error for RulesError {}

impl Rule {
    /// Reads the `[[rules]]` of a TOML text, and checks each with its examples. `file` is how problems call it. Other keys are
    /// problems.
    pub fn from_toml(toml: &str, file: &str, whose: Whose) -> Result<Vec<Rule>, RulesError> {
        let mut reader = Reader::new(file, whose);
        let table = reader.table(toml);
        for key in table.keys().filter(|key| *key != "rules") {
            let key = text::shorten(key, 80);
            reader.problem(format!("unknown key `{key}`; write rules as `[[rules]]`"));
        }
        let rules = reader.rules(table.get("rules"), Examples::Checked);
        reader.done(rules)
    }

    /// Reads the `[[rules]]` of a file of settings, where other keys are someone else's business.
    #[doc(hidden)]
    pub fn from_settings(table: &Table, file: &str, whose: Whose) -> Result<Vec<Rule>, RulesError> {
        let mut reader = Reader::new(file, whose);
        let rules = reader.rules(table.get("rules"), Examples::Checked);
        reader.done(rules)
    }
}

/// The rules of the default set. Their examples are checked by a test, not each time a program starts.
pub(super) fn default_rules() -> Vec<Rule> {
    let mut reader = Reader::new("default.toml", Whose::Operator);
    let table = reader.table(DEFAULT);
    let mut rules = reader.rules(table.get("rules"), Examples::Unchecked);
    for rule in &mut rules {
        rule.origin = RuleOrigin::Default;
    }
    rules
}

/// The text of the default set.
pub(super) const DEFAULT: &str = include_str!("default.toml");

#[derive(Clone, Copy, PartialEq)]
enum Examples {
    Checked,
    Unchecked,
}

struct Reader {
    file: String,
    whose: Whose,
    rule: Option<String>,
    problems: Vec<RuleProblem>,
    budget: Budget,
}

impl Reader {
    fn new(file: &str, whose: Whose) -> Self {
        Reader {
            file: file.to_owned(),
            whose,
            rule: None,
            problems: Vec::new(),
            budget: Budget::new(MAX_STEPS, 0),
        }
    }

    fn problem(&mut self, message: impl Into<String>) {
        self.problems.push(RuleProblem {
            file: self.file.clone(),
            rule: self.rule.clone(),
            message: message.into(),
        });
    }

    fn done(self, rules: Vec<Rule>) -> Result<Vec<Rule>, RulesError> {
        if self.problems.is_empty() {
            Ok(rules)
        } else {
            Err(RulesError {
                problems: self.problems,
            })
        }
    }

    fn table(&mut self, toml: &str) -> Table {
        toml.parse().unwrap_or_else(|error: toml::de::Error| {
            self.problem(format!("it is not TOML: {}", error.to_string().trim_end()));
            Table::new()
        })
    }

    fn rules(&mut self, value: Option<&Value>, examples: Examples) -> Vec<Rule> {
        let tables = match value {
            None => return Vec::new(),
            Some(Value::Array(items)) if items.len() <= MAX_RULES => items,
            Some(Value::Array(_)) => {
                self.problem(format!("there are more than {MAX_RULES} rules"));
                return Vec::new();
            }
            Some(_) => {
                self.problem("`rules` must be a list of tables; write each as `[[rules]]`");
                return Vec::new();
            }
        };
        let mut rules: Vec<Rule> = Vec::new();
        for (index, item) in tables.iter().enumerate() {
            self.rule = Some(format!("number {}", index + 1));
            let Value::Table(table) = item else {
                self.problem("must be a table; write it as `[[rules]]`");
                continue;
            };
            if let Some(rule) = self.rule(table, examples) {
                if rules.iter().any(|other| other.name == rule.name) {
                    self.problem("another rule of this file has the same name; names are unique");
                }
                rules.push(rule);
            }
        }
        self.rule = None;
        rules
    }

    /// Reads a rule; `None` when so much is wrong that its examples need not be tried.
    fn rule(&mut self, table: &Table, examples: Examples) -> Option<Rule> {
        let before = self.problems.len();
        let name = self.name(table);
        self.unknown_keys(table, KEYS, "a rule");
        let tools = self.texts(table, "tools");
        let verdict = self.verdict(table);
        let reason = self.text(table, "reason").unwrap_or_default();
        let stated = self.condition(table);
        let shown = self.examples(table, &stated);
        let empty = ["forbidden_patterns", "command", "path", "host", "expr"]
            .iter()
            .all(|key| !table.contains_key(*key));
        if empty && tools.is_empty() {
            self.problem(
                "has no condition; give one of `forbidden_patterns`, `command`, `path`, `host`, `expr`, or name `tools`",
            );
        }
        if self.problems.len() > before {
            return None;
        }
        let rule = Rule {
            name,
            tools,
            verdict,
            reason,
            origin: match self.whose {
                Whose::Operator => RuleOrigin::Home(self.file.clone()),
                Whose::Project => RuleOrigin::Project(self.file.clone()),
            },
            condition: Condition::Stated(Box::new(stated)),
        };
        if examples == Examples::Checked {
            for problem in examples::check(&rule, &shown, &mut self.budget) {
                self.problem(problem);
            }
        }
        Some(rule)
    }

    fn name(&mut self, table: &Table) -> String {
        let good = |name: &str| {
            (1..=64).contains(&name.len())
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
        };
        match table.get("name") {
            Some(Value::String(name)) => {
                self.rule = Some(format!("`{}`", text::shorten(name, 80)));
                if !good(name) {
                    self.problem("a name has 1 to 64 letters, digits, `-` or `_`");
                }
                name.clone()
            }
            Some(_) => {
                self.problem("`name` must be a text");
                String::new()
            }
            None => {
                self.problem("has no `name`");
                String::new()
            }
        }
    }

    fn unknown_keys(&mut self, table: &Table, known: &[&str], what: &str) {
        for key in table.keys().filter(|key| !known.contains(&key.as_str())) {
            let hint = match text::nearest(key, known.iter().copied()).as_slice() {
                [] => format!("{what} has {}", text::or_list(known)),
                near => format!("did you mean {}?", text::or_list(near)),
            };
            self.problem(format!("unknown key `{}`; {hint}", text::shorten(key, 80)));
        }
    }

    fn verdict(&mut self, table: &Table) -> Verdict {
        let verdict = match table.get("verdict").map(Value::as_str) {
            None => Verdict::Deny,
            Some(Some("allow")) => Verdict::Allow,
            Some(Some("ask")) => Verdict::Ask,
            Some(Some("deny")) => Verdict::Deny,
            Some(_) => {
                self.problem("`verdict` must be `allow`, `ask` or `deny`");
                Verdict::Deny
            }
        };
        if verdict == Verdict::Allow && self.whose == Whose::Project {
            self.problem("a project's rules may ask or deny, not allow");
        }
        verdict
    }

    fn condition(&mut self, table: &Table) -> Stated {
        let mut stated = Stated::default();
        for pattern in self.texts(table, "forbidden_patterns") {
            match Pattern::parse(&pattern) {
                Some(pattern) => stated.patterns.push(pattern),
                None => self
                    .problem("`forbidden_patterns` has an empty pattern, which is in every text"),
            }
        }
        if let Some(value) = table.get("command") {
            stated.commands = self.commands(value);
        }
        for key in ["access", "except"] {
            if table.contains_key(key) && !table.contains_key("path") {
                self.problem(format!("`{key}` belongs to `path`, which is not given"));
            }
        }
        if table.contains_key("path") {
            stated.paths = Some(PathCondition {
                globs: self.globs(table, "path"),
                except: self.globs(table, "except"),
                access: self.access(table),
            });
        }
        for host in self.texts(table, "host") {
            match HostPattern::parse(&host) {
                Ok(pattern) => stated.hosts.push(pattern),
                Err(problem) => self.problem(format!("`host`: {problem}")),
            }
        }
        if let Some(source) = self.text(table, "expr") {
            if self.whose == Whose::Project {
                self.problem("a project's rules may not have an `expr`; use another condition");
            } else {
                match Expression::condition(&source, &VARIABLES).and_then(never_a_boolean) {
                    Ok(expr) => stated.expr = Some(expr),
                    Err(problem) => self.problem(format!("`expr`: {problem}")),
                }
            }
        }
        stated
    }

    fn globs(&mut self, table: &Table, key: &str) -> Vec<PathGlob> {
        let mut globs = Vec::new();
        for pattern in self.texts(table, key) {
            match PathGlob::parse(&pattern) {
                Ok(parsed) => globs.extend(parsed),
                Err(problem) => self.problem(format!("`{key}`: `{pattern}`: {problem}")),
            }
        }
        globs
    }

    fn access(&mut self, table: &Table) -> Option<Access> {
        match table.get("access").map(Value::as_str) {
            None => None,
            Some(Some("read")) => Some(Access::Read),
            Some(Some("write")) => Some(Access::Write),
            Some(_) => {
                self.problem("`access` must be `read` or `write`; without it both count");
                None
            }
        }
    }

    fn commands(&mut self, value: &Value) -> Vec<CommandCondition> {
        match value {
            Value::Array(items) if !items.is_empty() => {
                items.iter().filter_map(|item| self.command(item)).collect()
            }
            one => self.command(one).into_iter().collect(),
        }
    }

    fn command(&mut self, value: &Value) -> Option<CommandCondition> {
        let table = match value {
            Value::String(text) => {
                return CommandCondition::parse(text)
                    .map_err(|problem| self.problem(format!("`command`: {problem}")))
                    .ok();
            }
            Value::Table(table) => table,
            _ => {
                self.problem(
                    "`command` must be a text as \"git push --force\", a table, or a list of these",
                );
                return None;
            }
        };
        self.unknown_keys(table, COMMAND_KEYS, "`command`");
        if !["name", "sets", "via", "language", "code"]
            .iter()
            .any(|key| table.contains_key(*key))
        {
            self.problem("`command` names no program; give `name`");
        }
        let languages = self.texts(table, "language");
        for language in &languages {
            if !LANGUAGES.contains(&language.as_str()) {
                self.problem(format!(
                    "`language`: unknown language `{}`; write {}",
                    text::shorten(language, 80),
                    text::or_list(LANGUAGES)
                ));
            }
        }
        let mut flag = |key: &str| match table.get(key) {
            None => false,
            Some(Value::Boolean(given)) => *given,
            Some(_) => {
                self.problem(format!("`{key}` must be `true` or `false`"));
                false
            }
        };
        let everything = flag("everything");
        let unclear = flag("unclear");
        let unset = flag("unset");
        let words = |texts: Vec<String>| texts.iter().map(|text| Words::parse(text)).collect();
        let args = self.texts(table, "args");
        let condition = CommandCondition {
            names: words(self.texts(table, "name")),
            args: table
                .contains_key("args")
                .then(|| args.iter().map(|text| Operand::parse(text)).collect()),
            flags: self.flags(table, "flags"),
            without: self.flags(table, "without"),
            words: self.patterns(table, "words"),
            sets: words(self.texts(table, "sets")),
            via: words(self.texts(table, "via")),
            languages,
            code: self.patterns(table, "code"),
            everything,
            unclear,
            unset,
        };
        Some(condition)
    }

    fn patterns(&mut self, table: &Table, key: &str) -> Vec<NameGlob> {
        let texts = self.texts(table, key);
        texts.iter().map(|text| NameGlob::parse(text)).collect()
    }

    fn flags(&mut self, table: &Table, key: &str) -> Vec<Flag> {
        let flags: Vec<Flag> = self
            .texts(table, key)
            .iter()
            .map(|text| Flag::parse(text))
            .collect();
        for problem in flags.iter().filter_map(Flag::fault) {
            self.problem(format!("`{key}`: {problem}"));
        }
        flags
    }

    fn examples(&mut self, table: &Table, stated: &Stated) -> Vec<Example> {
        let groups = match table.get("examples") {
            None => return Vec::new(),
            Some(Value::Table(groups)) => groups,
            Some(_) => {
                self.problem("`examples` must be a table: { match = […], pass = […] }");
                return Vec::new();
            }
        };
        self.unknown_keys(groups, &["match", "pass"], "`examples`");
        let mut found = Vec::new();
        for (key, matches) in [("match", true), ("pass", false)] {
            let items = match groups.get(key) {
                None => continue,
                Some(Value::Array(items)) => items,
                Some(_) => {
                    self.problem(format!("`examples.{key}` must be a list"));
                    continue;
                }
            };
            for item in items {
                match Example::parse(item, matches, stated) {
                    Ok(example) => found.push(example),
                    Err(problem) => self.problem(format!("`examples.{key}`: {problem}")),
                }
            }
        }
        found
    }

    fn text(&mut self, table: &Table, key: &str) -> Option<String> {
        match table.get(key)? {
            Value::String(text) => Some(text.clone()),
            _ => {
                self.problem(format!("`{key}` must be a text"));
                None
            }
        }
    }

    /// A text or a list of texts, none of them empty.
    fn texts(&mut self, table: &Table, key: &str) -> Vec<String> {
        let texts: Option<Vec<String>> = match table.get(key) {
            None => return Vec::new(),
            Some(Value::String(text)) => Some(vec![text.clone()]),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect(),
            Some(_) => None,
        };
        match texts {
            Some(texts) if texts.is_empty() && key != "tools" && key != "args" => {
                self.problem(format!("`{key}` is an empty list"));
                texts
            }
            Some(texts) if texts.iter().any(|text| text.len() > MAX_PATTERN) => {
                self.problem(format!(
                    "`{key}` has a text of more than {MAX_PATTERN} bytes"
                ));
                Vec::new()
            }
            Some(texts) => texts,
            None => {
                self.problem(format!("`{key}` must be a text or a list of texts"));
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::knowledge::Knowledge;
    use super::*;

    #[test]
    fn the_default_set_is_in_order_and_so_are_its_examples() {
        let rules = Rule::from_toml(DEFAULT, "default.toml", Whose::Operator)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(rules.len(), default_rules().len());
        let known = Knowledge::ALL.map(Knowledge::rule);
        let mut names: Vec<&str> = rules.iter().chain(&known).map(Rule::name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "names are unique");
        assert!(
            rules.iter().all(|rule| !rule.reason.is_empty()),
            "every default says why"
        );
    }
}
