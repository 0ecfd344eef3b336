//! Texts with placeholders: compiled, with problems at their place in the file, and with what they name remembered.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use super::field_value::At;
use super::parameters::Read;
use crate::definition::approval::near_boolean;
use crate::definition::problem::{Findings, Severity, SpannedProblem};
use crate::definition::values;
use crate::definition::yaml::{Content, Node, Style};
use crate::definition::{JsonTemplate, Platform, Program, RequiresApproval};
use crate::model::budget::Budget;
use crate::model::text::shorten;
use crate::template::{
    Code, Condition, Form, MAX_BYTES, MAX_STEPS, NamedParameter, Names, Reference, TemplateProblem,
    Text, Variable, shell_operator,
};

/// Whether a name is that of a variable of Toolcrib's; no parameter can have it.
pub(super) fn is_variable(name: &str) -> bool {
    Variable::ALL.iter().any(|variable| variable.name() == name)
}

/// Which steps a text may refer to.
#[derive(Debug, Clone)]
pub(super) enum VisibleSteps {
    /// None; the reason is the end of a sentence.
    Nothing(&'static str),
    /// The steps that have run before this one.
    Before {
        step: String,
        steps: HashSet<String>,
    },
}

/// Compiles the templates of one file.
pub(super) struct Templates<'f, 'a> {
    names: Names,
    /// The names of the parameters: a text may name thousands.
    declared: HashSet<String>,
    reach: VisibleSteps,
    found: &'f mut Findings<'a>,
    used: BTreeSet<String>,
    /// What reading all of them may still cost.
    budget: Budget,
}

impl<'f, 'a> Templates<'f, 'a> {
    pub(super) fn new(
        parameters: &[Read],
        steps: Vec<String>,
        found: &'f mut Findings<'a>,
    ) -> Self {
        let parameters: Vec<NamedParameter> = parameters
            .iter()
            .map(|read| NamedParameter {
                name: read.parameter.name.clone(),
                kind: read.parameter.kind,
                format: read.parameter.format.clone(),
                raw: !read.parameter.escape_shell,
            })
            .collect();
        let names = parameters.iter().map(|parameter| parameter.name.clone());
        Templates {
            declared: names.collect(),
            names: Names {
                parameters,
                steps,
                ..Names::default()
            },
            reach: VisibleSteps::Nothing("it is not part of a step"),
            found,
            used: BTreeSet::new(),
            budget: Budget::new(MAX_STEPS, MAX_BYTES),
        }
    }

    pub(super) fn findings(&mut self) -> &mut Findings<'a> {
        self.found
    }

    pub(super) fn into_findings(self) -> &'f mut Findings<'a> {
        self.found
    }

    pub(super) fn push(&mut self, found: SpannedProblem) {
        self.found.push(found);
    }

    /// Changes what texts may refer to from here on; returns what they could before.
    pub(super) fn reach(&mut self, reach: VisibleSteps) -> VisibleSteps {
        std::mem::replace(&mut self.reach, reach)
    }

    /// Lets texts name these as well: arguments that no one declares.
    pub(super) fn admit(&mut self, parameters: impl IntoIterator<Item = NamedParameter>) {
        self.names.parameters.extend(parameters);
    }

    /// Says what programs find in their environment, and on their standard input, from here on.
    pub(super) fn give(&mut self, environment: &[(String, Text)], input: Option<&Text>) {
        self.names.environment = environment.to_vec();
        self.names.input = input.cloned();
    }

    /// A text in which values are data.
    pub(super) fn text(&mut self, at: At<'_, '_>) -> Option<Text> {
        self.text_in(at.node)
    }

    fn text_in(&mut self, node: &Node<'_>) -> Option<Text> {
        let source = &*node.scalar()?.text;
        match Text::compile(source, &self.names) {
            Ok(text) => {
                self.warn(node, source, text.warnings());
                self.admitted(node, text.references()).then_some(text)
            }
            Err(problems) => {
                self.report(node, source, problems);
                None
            }
        }
    }

    /// A part of a text that stands for itself, as what follows `filesystem:read:`.
    pub(super) fn part(&mut self, at: At<'_, '_>, part: &str) -> Option<Text> {
        match Text::compile(part, &self.names) {
            Ok(text) => {
                self.warn(at.node, part, text.warnings());
                self.admitted(at.node, text.references()).then_some(text)
            }
            Err(problems) => {
                self.report(at.node, part, problems);
                None
            }
        }
    }

    /// A program's text.
    pub(super) fn program(&mut self, at: At<'_, '_>, form: &Form) -> Option<Program> {
        let source = &*at.scalar()?.text;
        if source.trim().is_empty() {
            let found = SpannedProblem::error("missing-value", at.span(), "the command is empty");
            self.found.push(found);
            return None;
        }
        match Code::compile_within(form, source, &self.names, &mut self.budget) {
            Ok(code) => {
                if matches!(form, Form::Bash) {
                    self.warn_of_variables(at.node, source);
                }
                if matches!(form, Form::Run) {
                    self.warn_of_operators(at.node, source);
                }
                self.warn(at.node, source, code.warnings());
                if code.runs_a_value() {
                    let message = "the whole command is a value: the caller decides which program runs, so every call asks a person";
                    self.found.push(
                        SpannedProblem::warning("value-is-program", at.span(), message).help(
                            "write the program's name, or choose among fixed ones: `case {X} in a) …;; b) …;; esac`",
                        ),
                    );
                }
                if matches!(form, Form::Script(_)) {
                    self.note_variables(source);
                }
                let admitted = self.admitted(at.node, code.references());
                admitted.then(|| Program {
                    code,
                    source: source.to_owned(),
                })
            }
            Err(problems) => {
                self.report(at.node, source, problems);
                None
            }
        }
    }

    /// The text of a program for a system that this is not, so its problems do not keep the tool from loading here; `None` when a problem
    /// does.
    pub(super) fn program_elsewhere(
        &mut self,
        at: At<'_, '_>,
        form: &Form,
        platform: Platform,
    ) -> Option<Program> {
        let source = &*at.scalar()?.text;
        let Err(problems) = Code::compile_within(form, source, &self.names, &mut self.budget)
        else {
            return self.program(at, form);
        };
        if let Ok(text) = Text::compile(source, &self.names) {
            self.admitted(at.node, text.references());
        }
        for problem in problems {
            let span = place(self.found.text, at.node, source, &problem.span);
            let message = format!(
                "on {} the tool could not be loaded: {}",
                platform.name(),
                problem.message
            );
            let mut found = SpannedProblem::warning(problem.code, span, message);
            found.help = problem.fix;
            self.found.push(found);
        }
        None
    }

    /// `requires-approval`; `None` where it cannot be read.
    pub(super) fn requires_approval(&mut self, root: At<'_, '_>) -> Option<RequiresApproval> {
        let Some(at) = root.get("requires-approval") else {
            return Some(RequiresApproval::Unsaid);
        };
        let source = &*at.scalar()?.text;
        if let Some(found) = near_boolean(at) {
            self.found.push(found);
            return None;
        }
        let outside = self.reach(VisibleSteps::Nothing("approval comes before any step"));
        let read = match RequiresApproval::parse(source, &self.names) {
            Ok(read) => {
                let fits = read.condition().is_none_or(|condition| {
                    self.warn(at.node, source, condition.warnings());
                    self.admitted(at.node, condition.references())
                });
                fits.then_some(read)
            }
            Err(problems) => {
                self.report(at.node, source, problems);
                None
            }
        };
        self.reach(outside);
        read
    }

    pub(super) fn condition(&mut self, at: At<'_, '_>) -> Option<Condition> {
        let source = &*at.scalar()?.text;
        match Condition::compile(source, &self.names) {
            Ok(condition) => {
                self.warn(at.node, source, condition.warnings());
                let admitted = self.admitted(at.node, condition.references());
                admitted.then_some(condition)
            }
            Err(problems) => {
                self.report(at.node, source, problems);
                None
            }
        }
    }

    /// Any value; texts in it are templates.
    pub(super) fn json(&mut self, node: &Node<'_>) -> Option<JsonTemplate> {
        Some(match &node.content {
            Content::Scalar(scalar) => match values::json_scalar(scalar) {
                serde_json::Value::String(_) => JsonTemplate::Text(self.text_in(node)?),
                plain => {
                    if let serde_json::Value::Number(number) = &plain
                        && number.to_string() != *scalar.text
                    {
                        let message = format!(
                            "`{}` without quotes is the number {number}",
                            shorten(&scalar.text, 40)
                        );
                        self.found.push(
                            SpannedProblem::warning("ambiguous-number", node.span.clone(), message)
                                .help("if the text is meant, as of a version, put it in quotes"),
                        );
                    }
                    JsonTemplate::Plain(plain)
                }
            },
            Content::List(items) => {
                let items: Vec<_> = items.iter().map(|item| self.json(item)).collect();
                JsonTemplate::Array(items.into_iter().collect::<Option<_>>()?)
            }
            Content::Map(entries) => {
                let fields: Vec<_> = entries
                    .iter()
                    .map(|entry| {
                        Some((
                            entry.key.text.clone().into_owned(),
                            self.json(&entry.value)?,
                        ))
                    })
                    .collect();
                JsonTemplate::Object(fields.into_iter().collect::<Option<_>>()?)
            }
            Content::Refused => return None,
        })
    }

    fn report(&mut self, node: &Node<'_>, source: &str, problems: Vec<TemplateProblem>) {
        let cut = self.comment_after(node);
        for problem in problems {
            if self.found.is_full(Severity::Error) {
                break;
            }
            let span = place(self.found.text, node, source, &problem.span);
            let mut found = SpannedProblem::error(problem.code, span, problem.message);
            if let Some(comment) = &cut {
                let comment = shorten(&self.found.text[comment.clone()], 40);
                found = found.help(format!(
                    "YAML takes `{comment}` for a comment; put the command in quotes, or begin it on the next line after `|`"
                ));
            } else if let Some(fix) = problem.fix {
                found = found.help(fix);
            }
            self.found.push(found);
        }
    }

    /// The comment after a plain text whose quotes do not go up: it may have been part of the command.
    fn comment_after(&self, node: &Node<'_>) -> Option<Range<usize>> {
        let scalar = node.scalar()?;
        let odd = |quote: char| scalar.text.matches(quote).count() % 2 == 1;
        if scalar.style != Style::Plain || !(odd('"') || odd('\'')) {
            return None;
        }
        let rest = self.found.text.get(node.span.end..)?;
        let line = rest.lines().next()?;
        let blank = line.len() - line.trim_start().len();
        line.trim_start().starts_with('#').then(|| {
            let start = node.span.end + blank;
            start..node.span.end + line.trim_end().len()
        })
    }

    /// Remembers what a text names; false when it names a step it cannot know.
    fn admitted(&mut self, node: &Node<'_>, references: &[Reference]) -> bool {
        let mut fine = true;
        for reference in references {
            match reference {
                Reference::Parameter(name) => {
                    self.used.insert(name.clone());
                }
                Reference::Step { step, .. } => {
                    let why = match &self.reach {
                        VisibleSteps::Nothing(why) => (*why).to_owned(),
                        VisibleSteps::Before { steps, .. } if steps.contains(step) => continue,
                        VisibleSteps::Before { step: own, .. } if own == step => {
                            "this is that very step".to_owned()
                        }
                        VisibleSteps::Before { step: own, .. } => {
                            format!(
                                "`{own}` does not wait for `{step}`, so it may not have run yet"
                            )
                        }
                    };
                    fine = false;
                    let message = format!("`{{{step}.…}}` cannot be used here: {why}");
                    let source = node.scalar().map_or("", |scalar| &*scalar.text);
                    let needle = format!("{{{step}.");
                    let at = source.find(&needle).map_or(0..0, |at| {
                        let end = source[at..].find('}').map_or(needle.len(), |end| end + 1);
                        at..at + end
                    });
                    let span = place(self.found.text, node, source, &at);
                    let problem = SpannedProblem::error("step-reference", span, message);
                    self.found.push(match &self.reach {
                        VisibleSteps::Nothing(_) => problem,
                        VisibleSteps::Before { .. } => problem.help(format!(
                            "name it in `wait-for`, or move the step after `{step}`"
                        )),
                    });
                }
                Reference::Variable(_) => {}
            }
        }
        fine
    }

    /// What a text may mean otherwise.
    fn warn(&mut self, node: &Node<'_>, source: &str, warnings: &[TemplateProblem]) {
        for warning in warnings {
            if self.found.is_full(Severity::Warning) {
                return;
            }
            let span = place(self.found.text, node, source, &warning.span);
            let mut found = SpannedProblem::warning(warning.code, span, warning.message.clone());
            found.help = warning.fix.clone();
            self.found.push(found);
        }
        for (span, name) in braced(source) {
            if self.found.is_full(Severity::Warning) {
                return;
            }
            // Capitals are how placeholders look; `{print}` is the awk of someone.
            let shouts = name.len() > 1
                && name
                    .chars()
                    .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
            // An author who misspelt `parameters` has declared it.
            if self.found.suggests("parameters") {
                return;
            }
            let warned = warnings.iter().any(|warning| warning.span == span);
            // `$ENV{TOOLCRIB_ARG_X}` is how Perl reads an argument.
            let argument = name.strip_prefix(ARGUMENT_VARIABLE).is_some_and(|name| {
                let mut known = self.names.parameters.iter();
                known.any(|parameter| parameter.name.replace('-', "_") == name)
            });
            if !shouts
                || warned
                || argument
                || self.declared.contains(name)
                || self.names.find(name).is_some()
            {
                continue;
            }
            let span = place(self.found.text, node, source, &span);
            let message = format!("`{{{name}}}` is not a parameter, so it is left as it is");
            self.found.push(
                SpannedProblem::warning("unknown-placeholder", span, message).help(format!(
                    "declare `{name}` under `parameters`, or write `{{{{{name}}}}}` to say that the braces are meant"
                )),
            );
        }
    }

    /// Warns of what only a shell reads: `run` starts one program, which gets it as an argument.
    fn warn_of_operators(&mut self, node: &Node<'_>, source: &str) {
        let Some(operator) = shell_operator(source) else {
            return;
        };
        let message = format!(
            "`run` has no shell, so `{}` is an argument of the program",
            &source[operator.clone()]
        );
        let span = place(self.found.text, node, source, &operator);
        self.found
            .push(SpannedProblem::warning("shell-in-run", span, message).help(
                "write `bash:` instead of `run:`, or put it in quotes if the program should get it",
            ));
    }

    /// Warns of `${NAME}` where the value of the parameter `NAME` is meant: to the shell that is a variable, which is empty.
    fn warn_of_variables(&mut self, node: &Node<'_>, source: &str) {
        let mut set = None;
        for (at, _) in source.match_indices("${") {
            let rest = &source[at + 2..];
            let name = &rest[..name_end(rest)];
            if !rest[name.len()..].starts_with('}') || !self.declared.contains(name) {
                continue;
            }
            if self.found.is_full(Severity::Warning) {
                return;
            }
            // A text that gives the variable a value means the variable.
            if set
                .get_or_insert_with(|| given_values(source))
                .contains(name)
            {
                continue;
            }
            self.used.insert(name.to_owned());
            let span = place(self.found.text, node, source, &(at..at + name.len() + 3));
            let message = format!(
                "`${{{name}}}` is a variable of the shell, not the parameter `{name}`, and is empty"
            );
            self.found.push(
                SpannedProblem::warning("shell-variable", span, message)
                    .help(format!("write `{{{name}}}`, without the `$`")),
            );
        }
    }

    /// Remembers the arguments that a script reads from its environment.
    fn note_variables(&mut self, source: &str) {
        let read: HashSet<&str> = source
            .match_indices(ARGUMENT_VARIABLE)
            .map(|(at, start)| &source[at + start.len()..])
            .map(|rest| {
                let end = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric());
                &rest[..end.unwrap_or(rest.len())]
            })
            .collect();
        if read.is_empty() {
            return;
        }
        for parameter in &self.names.parameters {
            if read.contains(parameter.name.replace('-', "_").as_str()) {
                self.used.insert(parameter.name.clone());
            }
        }
    }

    /// Warns of parameters that nothing uses.
    pub(super) fn unused_parameters(
        &mut self,
        root: At<'_, '_>,
        parameters: &[Read],
        is_alias: bool,
    ) {
        // Where a text could not be read no one knows what it uses.
        if self.found.errors() > 0 || is_alias {
            return;
        }
        let Some(at) = root.get("parameters") else {
            return;
        };
        for (key, _) in at.entries() {
            let name = &*key.text;
            let known = parameters.iter().any(|read| read.parameter.name == name);
            if known && !self.used.contains(name) {
                let message = format!("the parameter `{}` is used nowhere", shorten(name, 60));
                self.found.push(
                    SpannedProblem::warning("unused-parameter", key.span.clone(), message).help(
                        format!("write `{{{name}}}` where its value belongs, or remove it"),
                    ),
                );
            }
        }
    }
}

/// What the variables begin with in which scripts find their arguments.
const ARGUMENT_VARIABLE: &str = "TOOLCRIB_ARG_";

/// Where a name ends that a text begins with.
fn name_end(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))
        .unwrap_or(text.len())
}

/// The names that a text for a shell gives values: `X=…`, `read X`, `for X in …`.
fn given_values(source: &str) -> HashSet<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let assigned = source.match_indices('=').map(|(at, _)| {
        let before = &source[..at];
        &before[before.trim_end_matches(is_name).len()..]
    });
    let starts = ["read ", "read -r ", "for "].into_iter();
    let named = starts.flat_map(|start| {
        let ends = source
            .match_indices(start)
            .map(move |(at, _)| at + start.len());
        ends.map(|at| &source[at..at + name_end(&source[at..])])
    });
    assigned.chain(named).collect()
}

/// Names between single braces, as `{NAME}` or `{step.field}`, with their places.
pub(super) fn braced(source: &str) -> Vec<(Range<usize>, &str)> {
    let mut names = Vec::new();
    let bytes = source.as_bytes();
    for (at, _) in source.match_indices('{') {
        let before = at.checked_sub(1).map(|before| bytes[before]);
        // `${X}` is the shell's; `{{X}}` is text.
        if matches!(before, Some(b'$' | b'{')) {
            continue;
        }
        let rest = &source[at + 1..];
        let end = name_end(rest);
        let name = &rest[..end];
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if starts && rest[end..].starts_with('}') && !rest[end..].starts_with("}}") {
            names.push((at..at + end + 2, name));
        }
    }
    names
}

/// Where a part of a value's text is in the file. Escapes and folding are undone in the text, so the part is looked for: the
/// n-th of its kind in the one is the n-th in the other.
fn place(file: &str, node: &Node<'_>, source: &str, part: &Range<usize>) -> Range<usize> {
    let Some(needle) = source.get(part.clone()).filter(|needle| !needle.is_empty()) else {
        return first_line(file, &node.span);
    };
    let written = &file[node.span.clone()];
    // A part of several lines is shown by its first.
    let needle = needle.lines().next().unwrap_or_default().trim_end();
    if needle.is_empty() {
        return first_line(file, &node.span);
    }
    let nth = source[..part.start].matches(needle).count();
    match written.match_indices(needle).nth(nth) {
        Some((at, _)) => node.span.start + at..node.span.start + at + needle.len(),
        None => first_line(file, &node.span),
    }
}

fn first_line(file: &str, span: &Range<usize>) -> Range<usize> {
    let line = file[span.clone()].lines().next().unwrap_or_default();
    span.start..span.start + line.trim_end().len()
}
