//! Which places a value may stand in.
//!
//! The text is read by `shell` several times: with variables of unknown content in the place of placeholders, and with fixed words
//! there. Where the reader has a doubt with the first that it does not have with the second, something would read the value as
//! code. When values can flow on (into pipes, variables, functions), a doubt of any origin counts, for what is doubtful may be the
//! value. Undetermined cases are refused.

use super::rewrite::{escaped, expanded, single};
use super::{Bash, Chunk, Slot, SlotForm, Trust};
use super::{demands, languages};
use crate::model::budget::Budget;
use crate::shell::quoting::Quote;
use crate::shell::shape::{Shape, VariablePosition, shape};
use crate::shell::{
    Dialect, Doubt, MAX_DOUBTS, Part, Script, SimpleCommand, VALUE_PREFIX, is_shell, read_with,
};
use crate::template::ParameterKind;
use crate::template::TemplateProblem;
use crate::template::scan::Piece;

/// Checks a template and finds out what its values must be like.
pub(super) fn check(bash: &mut Bash, budget: &mut Budget) -> Vec<TemplateProblem> {
    if bash.slots.iter().all(|slot| slot.trust == Trust::Raw) {
        return Vec::new();
    }
    let text = bash.analysis(|_| Fill::Value, Formats::LeftOut);
    let shape = shape(&text, VALUE_PREFIX, bash.dialect, budget);
    let mut problems = settle_forms(bash, &shape);
    if !problems.is_empty() {
        return problems;
    }
    let first = Readings::new(bash, budget);
    if let Some(problem) = too_much(bash, &first, budget) {
        return vec![problem];
    }
    name_programs(bash, &first.values.0);
    problems = names(bash, &shape);
    // A list is as long as the call makes it, and with each word more another one is the command, the code or the file.
    let lengths = match bash.slots.iter().any(Slot::is_list) {
        true => LENGTHS,
        false => &LENGTHS[..1],
    };
    for length in lengths {
        if problems.is_empty() {
            bash.list_words = *length;
            let readings = Readings::new(bash, budget);
            problems = check_reading(bash, &readings, &shape, budget);
        }
    }
    problems
}

/// How many words stand for a list, one reading each: more than any program has operands before a command or a text.
const LENGTHS: &[usize] = &[2, 1, 3, 4, 5, 6, 8];

/// Checks one reading.
fn check_reading(
    bash: &mut Bash,
    readings: &Readings,
    shape: &Shape,
    budget: &mut Budget,
) -> Vec<TemplateProblem> {
    if let Some(problem) = too_much(bash, readings, budget) {
        return vec![problem];
    }
    let mut problems = commands(bash, readings, budget);
    if problems.is_empty() {
        problems = split(bash, &readings.values.0, shape);
    }
    if problems.is_empty() {
        problems = languages::check(bash, &readings.values.0, shape);
    }
    if problems.is_empty() {
        problems = doubts(bash, readings, shape, budget);
    }
    if problems.is_empty() {
        demands::demands(bash, &readings.values.0, shape);
    }
    // Readings that these needed may have been cut short.
    if problems.is_empty() {
        problems.extend(too_much(bash, readings, budget));
    }
    problems
}

/// The replacement for a slot when the text is read.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fill {
    /// A variable of unknown content.
    Value,
    /// Several such variables: a list.
    List,
    /// A fixed word.
    Word,
    /// A number.
    Digit,
    /// Nothing, as far as that is possible.
    Nothing,
}

/// Whether the words that a parameter's `format` puts around its value are in a text for the reader.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Formats {
    /// They are: `-I {value}` makes the value what `-I` makes of it.
    Written,
    /// Each slot is its variable and nothing else, once: that is how sites are found.
    LeftOut,
}

impl Bash {
    /// The text for the reader; each slot has its own variable, by its index.
    fn analysis(&self, fill: impl Fn(usize) -> Fill, formats: Formats) -> String {
        let mut text = String::new();
        for chunk in &self.chunks {
            let index = match chunk {
                Chunk::Text(chunk) => {
                    text.push_str(chunk);
                    continue;
                }
                Chunk::Slot(index) => *index,
            };
            let slot = &self.slots[index];
            let name = variable(index);
            let words = slot.form == SlotForm::Words;
            let fill = fill(index);
            if formats == Formats::Written
                && let Some(words) = slot.formatted(&name, fill, self.list_words)
            {
                text.push_str(&words);
                continue;
            }
            match fill {
                _ if slot.trust == Trust::Raw => text.push_str("toolcrib"),
                Fill::Value => text.push_str(&expanded(slot.quote, &name)),
                Fill::List if words => {
                    let word = format!("\"${{{name}}}\"");
                    text.push_str(&vec![word; self.list_words].join(" "));
                }
                Fill::List => text.push_str(&expanded(slot.quote, &name)),
                Fill::Word => text.push_str("toolcrib"),
                Fill::Digit => text.push('7'),
                Fill::Nothing if words => {}
                Fill::Nothing => text.push_str("toolcrib"),
            }
        }
        text
    }

    fn read(&self, fill: impl Fn(usize) -> Fill, budget: &mut Budget) -> (Script, Vec<Doubt>) {
        let names: Vec<String> = (0..self.slots.len()).map(variable).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = self.analysis(fill, Formats::Written);
        read_with(&text, self.dialect, &names, budget)
    }

    /// What usually stands for a slot.
    fn usual(&self, index: usize) -> Fill {
        let slot = &self.slots[index];
        match slot.trust {
            _ if slot.demands.program => Fill::Word,
            Trust::Number => Fill::Digit,
            Trust::Own | Trust::Text if slot.is_list() => Fill::List,
            Trust::Own | Trust::Text => Fill::Value,
            Trust::Raw => Fill::Word,
        }
    }
}

impl Slot {
    /// Whether it may be several words of values.
    fn is_list(&self) -> bool {
        self.form == SlotForm::Words
            && self
                .parameter
                .as_ref()
                .is_some_and(|parameter| parameter.kind == ParameterKind::Array)
    }

    /// What stands for it when its parameter has a format, whose words are the author's.
    fn formatted(&self, name: &str, fill: Fill, list_words: usize) -> Option<String> {
        let format = self.parameter.as_ref()?.format.as_ref()?;
        if self.trust == Trust::Raw || fill == Fill::Nothing {
            return None;
        }
        let (blank, value) = match (self.form, self.quote) {
            (SlotForm::Words, _) => (" ", format!("\"${{{name}}}\"")),
            (SlotForm::Text, Quote::Bare) => ("' '", format!("\"${{{name}}}\"")),
            (SlotForm::Text, Quote::Double) => (" ", format!("${{{name}}}")),
            // A text in other quotes is one word that a program is not likely to take apart.
            (SlotForm::Text, _) => return None,
        };
        let value = match fill {
            Fill::Word => "toolcrib",
            Fill::Digit => "7",
            _ => value.as_str(),
        };
        let words: Vec<String> = format
            .words
            .iter()
            .map(|word| {
                let pieces = word.pieces.iter().map(|piece| match (piece, self.quote) {
                    (Piece::Placeholder { .. }, _) => value.to_owned(),
                    (Piece::Literal(literal), Quote::Double) => escaped(literal, "\\\"$`"),
                    (Piece::Literal(literal), _) => single(literal),
                });
                pieces.collect()
            })
            .collect();
        let times = match fill {
            Fill::List => list_words,
            _ => 1,
        };
        Some(vec![words.join(blank); times].join(blank))
    }

    pub(super) fn refuse(&self, code: &'static str, message: String, fix: &str) -> TemplateProblem {
        TemplateProblem {
            span: self.span.clone(),
            code,
            message,
            fix: Some(fix.replace("{X}", &format!("{{{}}}", self.reference))),
        }
    }
}

fn variable(index: usize) -> String {
    format!("{VALUE_PREFIX}{index}")
}

/// The slots whose variables a text of the reader's mentions.
pub(super) fn mentioned(source: &str) -> impl Iterator<Item = usize> {
    source.match_indices(VALUE_PREFIX).filter_map(|(at, _)| {
        let rest = &source[at + VALUE_PREFIX.len()..];
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..end].parse().ok()
    })
}

/// Decides between text and words by where each slot is, and makes sure that bash sees each exactly once.
fn settle_forms(bash: &mut Bash, shape: &Shape) -> Vec<TemplateProblem> {
    let mut problems = Vec::new();
    for (index, slot) in bash.slots.iter_mut().enumerate() {
        if slot.trust == Trust::Raw {
            slot.form = SlotForm::Text;
            continue;
        }
        let name = variable(index);
        let sites: Vec<_> = shape
            .sites
            .iter()
            .filter(|site| site.variable == name)
            .collect();
        let [site] = sites.as_slice() else {
            problems.push(slot.refuse(
                "template-not-understood",
                format!(
                    "the text around `{{{}}}` is not understood, so no value can be put there safely",
                    slot.reference
                ),
                "put the value in a variable on its own line first: `x={X}`, then use \"$x\"",
            ));
            continue;
        };
        if !site.quoted && slot.quote != Quote::Subscript {
            problems.push(slot.refuse(
                "template-not-understood",
                format!(
                    "the quotes around `{{{}}}` are not understood",
                    slot.reference
                ),
                "write it without quotes around it: {X}",
            ));
        }
        if site.spot == VariablePosition::Command && slot.trust != Trust::Own {
            problems.push(command_problem(slot));
        }
        let one_word = site
            .command
            .as_deref()
            .is_some_and(|command| matches!(command, "[" | "test"));
        let many = matches!(
            site.spot,
            VariablePosition::Argument | VariablePosition::Element | VariablePosition::Loop
        ) && !one_word;
        if !many {
            slot.form = SlotForm::Text;
        }
    }
    problems
}

fn command_problem(slot: &Slot) -> TemplateProblem {
    slot.refuse(
        "template-command",
        format!(
            "`{{{}}}` is a command's name, and a value must not decide which program runs",
            slot.reference
        ),
        "write the program's name, or choose among fixed ones: `case {X} in a) …;; b) …;; esac`",
    )
}

/// What the reader made of the text.
struct Readings {
    /// With values of unknown content.
    values: (Script, Vec<Doubt>),
    /// With fixed words instead.
    fixed: (Script, Vec<Doubt>),
}

impl Readings {
    fn new(bash: &Bash, budget: &mut Budget) -> Readings {
        let fixed = |index| match bash.usual(index) {
            Fill::Digit => Fill::Digit,
            _ => Fill::Word,
        };
        Readings {
            values: bash.read(|index| bash.usual(index), budget),
            fixed: bash.read(fixed, budget),
        }
    }
}

/// Lets `command {X}` pass, with nothing before, after or around it: it runs one program without arguments, and the judge of the call sees
/// which. S0's first example is one, and it is to load as it is.
fn name_programs(bash: &mut Bash, script: &Script) {
    let [outer, inner] = script.commands.as_slice() else {
        return;
    };
    let alone = outer.words.len() == 2
        && outer.assignments.is_empty()
        && outer.redirects.is_empty()
        && outer.words[0].as_static() == Some("command")
        && inner.via == ["command"];
    let Some([Part::Dynamic(source)]) = outer.words.get(1).map(|word| word.parts.as_slice()) else {
        return;
    };
    let Some(slot) = mentioned(source).next().filter(|_| alone) else {
        return;
    };
    let whole = *source == format!("${{{}}}", variable(slot));
    let Some(slot) = bash
        .slots
        .get_mut(slot)
        .filter(|slot| whole && !slot.is_list())
    else {
        return;
    };
    slot.demands.program = true;
}

/// Refuses texts that the reader did not read to the end.
fn too_much(bash: &Bash, readings: &Readings, budget: &Budget) -> Option<TemplateProblem> {
    let (script, doubts) = &readings.values;
    let cut = budget.is_spent()
        || doubts.len() >= MAX_DOUBTS
        || doubts.iter().any(|doubt| {
            doubt.reason.contains("too many") || doubt.reason.contains("more commands than")
        });
    let slot = bash.slots.first().filter(|_| cut)?;
    Some(slot.refuse(
        "template-not-understood",
        format!(
            "the text is too much to be read whole ({} commands)",
            script.commands.len()
        ),
        "put it in a separate script and run that with the value as an argument",
    ))
}

/// No value is a command, also not behind `env`, `xargs` and their kin.
fn commands(bash: &mut Bash, readings: &Readings, budget: &mut Budget) -> Vec<TemplateProblem> {
    let mut problems: Vec<TemplateProblem> = Vec::new();
    for index in named_commands(&readings.values.0) {
        let slot = &bash.slots[index];
        if slot.trust != Trust::Own {
            problems.push(command_problem(slot));
        }
    }
    if !problems.is_empty() {
        return problems;
    }
    // Without an optional value in its place another one may come to be where the command is, behind `sudo -u` or `timeout`.
    if readings
        .values
        .0
        .commands
        .iter()
        .all(|command| command.via.is_empty())
    {
        return problems;
    }
    for absent in 0..bash.slots.len() {
        if bash.slots[absent].form != SlotForm::Words {
            continue;
        }
        let fill = |index| match bash.usual(index) {
            _ if index == absent => Fill::Nothing,
            // A number may get there as well.
            Fill::List | Fill::Digit => Fill::Value,
            fill => fill,
        };
        let (script, _) = bash.read(fill, budget);
        if named_commands(&script).next().is_some() {
            bash.slots[absent].demands.needed = true;
        }
    }
    problems
}

/// The slots that are in the names of commands.
fn named_commands(script: &Script) -> impl Iterator<Item = usize> {
    let first_words = script
        .commands
        .iter()
        .filter_map(|command| command.words.first());
    first_words
        .flat_map(|word| &word.parts)
        .flat_map(|part| match part {
            Part::Dynamic(source) if !is_substitution(source) => {
                mentioned(source).collect::<Vec<_>>()
            }
            _ => Vec::new(),
        })
}

/// Whether it is the output of a command, whose own words are looked at on their own.
pub(super) fn is_substitution(source: &str) -> bool {
    ["$(", "`", "<(", ">("]
        .iter()
        .any(|start| source.starts_with(start))
}

/// No value is read as code.
fn doubts(
    bash: &mut Bash,
    readings: &Readings,
    shape: &Shape,
    budget: &mut Budget,
) -> Vec<TemplateProblem> {
    let texts: Vec<usize> = (0..bash.slots.len())
        .filter(|index| matches!(bash.slots[*index].trust, Trust::Text | Trust::Own))
        .collect();
    let flows = shape
        .sites
        .iter()
        .any(|site| site.flows && texts.iter().any(|index| site.variable == variable(*index)))
        || !shape.functions.is_empty() && !texts.is_empty();
    // What a shell is given, its text can use.
    let flows = flows
        || readings
            .values
            .0
            .commands
            .iter()
            .any(|command| command.name().is_some_and(is_shell) && has_values(command));
    let strict = flows || bash.dialect == Dialect::Sh && !texts.is_empty();
    let suspicious = |doubts: &[Doubt]| -> Vec<Doubt> {
        if strict {
            doubts.to_vec()
        } else {
            let mut found = beyond(doubts, &readings.fixed.1);
            // `gcc -wrapper {X}`: the doubt is about the option, and the value is what it runs.
            let about = doubts
                .iter()
                .filter(|doubt| is_about_values(doubt, &readings.values.0));
            found.extend(about.cloned());
            found
        }
    };
    let found = suspicious(&readings.values.1);
    // Numbers are fine where values are read as code, as long as they are numbers.
    let numbers_too = |index| match bash.usual(index) {
        Fill::Digit => Fill::Value,
        fill => fill,
    };
    let with_numbers = bash.read(numbers_too, budget);
    let numbers_matter = suspicious(&with_numbers.1).len() > found.len();
    for slot in &mut bash.slots {
        if slot.trust == Trust::Number && numbers_matter {
            slot.demands.number = true;
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    let mut problems: Vec<TemplateProblem> = Vec::new();
    let mut explained: Vec<Doubt> = Vec::new();
    for index in &texts {
        // No one reads more at once, and each costs a reading.
        if problems.len() >= 8 {
            break;
        }
        let fill = |other| match bash.usual(other) {
            fill if other == *index => fill,
            Fill::Digit => Fill::Digit,
            _ => Fill::Word,
        };
        let alone = bash.read(fill, budget);
        let new = beyond(&alone.1, &readings.fixed.1);
        let Some(first) = new.first() else { continue };
        explained.extend(new.iter().cloned());
        if bash.slots[*index].trust == Trust::Own {
            bash.slots[*index].demands.plain = true;
        } else {
            problems.push(doubt_problem(&bash.slots[*index], first));
        }
    }
    let rest = found
        .iter()
        .find(|doubt| !explained.contains(doubt) && !same_without_values(doubt, &explained));
    if problems.is_empty()
        && let Some(doubt) = rest
    {
        // It is unknown whose value it is about.
        let index = texts
            .iter()
            .find(|index| bash.slots[**index].trust == Trust::Text);
        match index {
            Some(index) => problems.push(doubt_problem(&bash.slots[*index], doubt)),
            None => {
                for index in texts {
                    bash.slots[index].demands.plain = true;
                }
            }
        }
    }
    problems
}

/// Whether a doubt is about a program that is given a value.
fn is_about_values(doubt: &Doubt, script: &Script) -> bool {
    let names = doubt.reason.split('`').skip(1).step_by(2);
    names.into_iter().any(|name| {
        script
            .commands
            .iter()
            .any(|command| command.name() == Some(name) && has_values(command))
    })
}

/// Whether a value is among the words of a command.
fn has_values(command: &SimpleCommand) -> bool {
    let mut parts = command.words.iter().flat_map(|word| &word.parts);
    parts.any(|part| matches!(part, Part::Dynamic(source) if mentioned(source).next().is_some()))
}

/// The doubts that are not among others, each counted.
fn beyond(doubts: &[Doubt], others: &[Doubt]) -> Vec<Doubt> {
    let mut others: Vec<&Doubt> = others.iter().collect();
    let mut left = Vec::new();
    for doubt in doubts {
        match others.iter().position(|other| *other == doubt) {
            Some(at) => {
                others.swap_remove(at);
            }
            None => left.push(doubt.clone()),
        }
    }
    left
}

/// Whether another doubt has the same reason: what is shown of the text differs with what stands for the values.
fn same_without_values(doubt: &Doubt, explained: &[Doubt]) -> bool {
    explained.iter().any(|other| other.reason == doubt.reason)
}

fn doubt_problem(slot: &Slot, doubt: &Doubt) -> TemplateProblem {
    let reason = doubt.reason.as_str();
    let (code, fix) = if reason.contains("arithmetic") || reason.contains("calculates") {
        ("template-arithmetic", "make it a parameter of type number")
    } else if reason.contains("without quotes") {
        (
            "template-unquoted",
            "put double quotes around the variable: \"$x\"",
        )
    } else if reason.contains("`eval`") {
        ("template-eval", "run the command itself, without `eval`")
    } else if reason.contains("name") && reason.contains("variable") {
        ("template-name", "write the variable's name in the template")
    } else if reason.contains("known only when it runs") || reason.contains("comes from variables")
    {
        (
            "template-command",
            "write the program's name in the template",
        )
    } else if reason.contains("options") || reason.contains("option") {
        (
            "template-option",
            "attach it to an option, or put it after `--`",
        )
    } else {
        (
            "template-code",
            "hand the value over as an argument or in the environment of the inner program: `sh -c 'echo \"$1\"' sh {X}`",
        )
    };
    TemplateProblem {
        span: slot.span.clone(),
        code,
        message: format!(
            "the value of `{{{}}}` could be read as code here: {reason}",
            slot.reference
        ),
        fix: Some(fix.replace("{X}", &format!("{{{}}}", slot.reference))),
    }
}

/// No value is taken apart at its blanks, by way of a variable without quotes.
fn split(bash: &Bash, script: &Script, shape: &Shape) -> Vec<TemplateProblem> {
    let mut found: Vec<usize> = Vec::new();
    for name in &shape.split {
        found.extend(
            shape
                .copies(name)
                .iter()
                .flat_map(|holder| mentioned(holder)),
        );
    }
    for name in &shape.split_outputs {
        found.extend(
            shape
                .sources(name)
                .iter()
                .flat_map(|holder| mentioned(holder)),
        );
    }
    // `sh -c 'rm $1' sh {X}`
    for shell in script
        .commands
        .iter()
        .filter(|command| command.name().is_some_and(is_shell) && has_values(command))
    {
        let inside = script.commands.iter().filter(|command| {
            command.span == shell.span && command.via.iter().any(|via| is_shell(via))
        });
        let positional = |part: &Part| matches!(part, Part::Dynamic(source) if source.trim_start_matches(['$', '{']).starts_with(|c: char| c.is_ascii_digit() || c == '*'));
        let splits = inside
            .flat_map(|command| &command.words)
            .any(|word| word.splits && word.parts.iter().any(positional));
        if splits {
            let words = shell.words.iter().flat_map(|word| &word.parts);
            found.extend(words.flat_map(|part| match part {
                Part::Dynamic(source) => mentioned(source).collect(),
                _ => Vec::new(),
            }));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
        .into_iter()
        .filter_map(|index| bash.slots.get(index))
        .filter(|slot| matches!(slot.trust, Trust::Text | Trust::Own))
        .map(|slot| {
            slot.refuse(
                "template-unquoted",
                format!(
                    "a variable or a command's output that holds `{{{}}}` is not quoted or goes to `xargs`, so spaces and special \
                     characters in the value split it into several words",
                    slot.reference
                ),
                "put double quotes around it: \"$x\", \"$(…)\", `printf '%s\\0' {X} | xargs -0 …`; for several words make the \
                 parameter a list",
            )
        })
        .collect()
}

/// No value names a variable.
fn names(bash: &Bash, shape: &Shape) -> Vec<TemplateProblem> {
    let mut problems = Vec::new();
    for (index, slot) in bash.slots.iter().enumerate() {
        if slot.trust != Trust::Text {
            continue;
        }
        let name = variable(index);
        let used = shape
            .names_others
            .iter()
            .any(|other| shape.sources(other).contains(&name));
        if used {
            problems.push(slot.refuse(
                "template-name",
                format!(
                    "the value of `{{{}}}` may be used as a variable's name or be expanded once more (`${{!x}}`, `${{x@P}}`, \
                     `declare -n`)",
                    slot.reference
                ),
                "use the variable itself, or `case` to choose one",
            ));
        }
    }
    problems
}
