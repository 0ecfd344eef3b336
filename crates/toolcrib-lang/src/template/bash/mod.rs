//! Bash and sh: a placeholder becomes an expansion of a variable that fits the quotes around it.
//!
//! The text that bash reads is the same for all values. A value gets into the variable by way of the environment, or of a file when
//! it is large; our own first line ([`preamble`]) takes it out of the environment again and makes it read-only. Which places a
//! value may stand in is decided in [`check`], by the reader that judges commands (`shell`), and what that does not understand is
//! refused. [`rewrite`] makes the text.

mod channels;
mod check;
mod demands;
mod languages;
mod limits;
mod preamble;
mod rewrite;

use super::code::Prepared;
use super::scan::Scanned;
use super::value::MadeWord;
use super::{
    Invocation, NamedParameter, Names, Reference, StepField, TemplateProblem, ValueFault, Values,
    value,
};
use crate::model::budget::Budget;
use crate::shell::Dialect;
use crate::shell::cuts::Cut;
use crate::shell::quoting::Quote;
use crate::template::ParameterKind;

pub(super) use channels::holds_values;
pub(super) use limits::{MAX_ARGUMENT, faults};
pub(super) use rewrite::single;

/// Checks an argument list as if it were a text for bash: words quoted by [`single`], placeholders between them. There may be
/// more slots afterwards, of values that come by other ways.
pub(super) fn check_words(
    chunks: Vec<Chunk>,
    slots: Vec<Slot>,
    names: &Names,
    source: &str,
    budget: &mut Budget,
) -> Result<Vec<Slot>, Vec<TemplateProblem>> {
    let mut bash = Bash {
        program: "bash".to_owned(),
        options: Vec::new(),
        dialect: Dialect::Bash,
        chunks,
        slots,
        list_words: 2,
        front: 0,
    };
    let problems = channels::judge(&mut bash, names, source, budget);
    if !problems.is_empty() {
        return Err(problems);
    }
    for slot in &mut bash.slots {
        // There are no builtins here: everything is an argument of a program.
        slot.demands.most_bytes.get_or_insert(MAX_ARGUMENT);
    }
    Ok(bash.slots)
}

/// The longest text of a program: the kernel takes 131,072 bytes for one argument, and the first line is ours.
const MAX_TEXT: usize = 100 * 1024;

/// A program's text for bash or sh.
#[derive(Debug, Clone)]
pub(super) struct Bash {
    program: String,
    /// Options of the program's own.
    options: Vec<String>,
    dialect: Dialect,
    chunks: Vec<Chunk>,
    slots: Vec<Slot>,
    /// How many words stand for a list while the text is checked.
    list_words: usize,
    /// How many chunks stand for variables of the tool's environment: they are judged, and do not run.
    front: usize,
}

/// A piece of the text.
#[derive(Debug, Clone)]
pub(super) enum Chunk {
    Text(String),
    /// The index of a slot.
    Slot(usize),
}

/// A placeholder in the text.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) reference: Reference,
    pub(super) span: std::ops::Range<usize>,
    pub(super) parameter: Option<NamedParameter>,
    pub(super) trust: Trust,
    pub(super) quote: Quote,
    pub(super) form: SlotForm,
    pub(super) demands: Demands,
}

/// How far the values of a placeholder are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// Digits: they mean the same wherever they are read.
    Number,
    /// A path or name of Toolcrib's own, which is looked at where it would be read as code.
    Own,
    /// Anything.
    Text,
    /// Pasted: `escape-shell: false`.
    Raw,
}

/// What a placeholder becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotForm {
    /// One text.
    Text,
    /// Separate words, or none.
    Words,
}

/// What a value must be like where it is.
#[derive(Debug, Clone, Default)]
pub(super) struct Demands {
    /// A whole number: bash calculates with it.
    pub(super) integer: bool,
    /// A number, for something reads it as code.
    pub(super) number: bool,
    /// Made of letters, digits and `/._-` only, for something reads it as code.
    pub(super) plain: bool,
    /// No dash at the beginning, for it would be an option; unless one of these other slots is not empty.
    pub(super) no_dash: Option<Vec<usize>>,
    /// No dash where a piece of it may begin that becomes the beginning of a word.
    pub(super) no_inner_dash: Option<Cut>,
    /// Not longer than this, for a program is given it as an argument.
    pub(super) most_bytes: Option<usize>,
    /// Without signs that mean something to the programs it is given to.
    pub(super) forbidden: Vec<languages::Forbidden>,
    /// The name of a program, for it is the one word of `command {X}` (S0's first example).
    pub(super) program: bool,
    /// There, for without it another value would become the command.
    pub(super) needed: bool,
}

/// The text that bash reads, and what its variables hold.
struct Rendered {
    text: String,
    variables: Vec<preamble::Carried>,
}

impl Bash {
    /// Reads a template.
    pub(super) fn compile(
        scanned: &Scanned,
        names: &Names,
        dialect: Dialect,
        shell: &str,
        budget: &mut Budget,
    ) -> Result<Self, Vec<TemplateProblem>> {
        let mut command = shell.split_whitespace().map(str::to_owned);
        let program = command.next().unwrap_or_else(|| "bash".to_owned());
        let options: Vec<String> = command.collect();
        // Others change how the text is read.
        let harmless = |option: &String| {
            let letters = option.strip_prefix('-').unwrap_or("?");
            !letters.is_empty() && letters.chars().all(|letter| "eux".contains(letter))
                || matches!(
                    option.as_str(),
                    "-o" | "-eo" | "-euo" | "-uo" | "-euxo" | "pipefail"
                )
        };
        if !options.iter().all(harmless) {
            return Err(vec![TemplateProblem {
                span: 0..0,
                code: "template-shell",
                message: format!("options of `{program}` that may change how the text is read"),
                fix: Some("use `-e`, `-u`, `-x` and `-o pipefail` only".to_owned()),
            }]);
        }
        let (chunks, slots) = rewrite::rewrite(scanned, names, dialect)?;
        let mut bash = Bash {
            program,
            options,
            dialect,
            chunks,
            slots,
            list_words: 2,
            front: 0,
        };
        let problems = channels::judge(&mut bash, names, &scanned.source, budget);
        if problems.is_empty() {
            Ok(bash)
        } else {
            Err(problems)
        }
    }

    pub(super) fn runs_a_value(&self) -> bool {
        self.slots.iter().any(|slot| slot.demands.program)
    }

    pub(super) fn pastes(&self) -> bool {
        self.slots.iter().any(|slot| slot.trust == Trust::Raw)
    }

    /// What to start.
    pub(super) fn prepare(&self, values: &Values) -> Prepared {
        let made: Vec<Made> = self.slots.iter().map(|slot| slot.make(values)).collect();
        let wrong = faults(&self.slots, &made);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let rendered = self.render(&made);
        let carried = preamble::carry(self.dialect, rendered.variables);
        let mut text = format!("{}{}", carried.first_line, rendered.text);
        if text.starts_with(['-', '+']) {
            // It would be taken for one more option.
            text.insert(0, ' ');
        }
        if text.len() > MAX_ARGUMENT {
            return Err(vec![ValueFault {
                reference: limits::largest(&self.slots, &made),
                message: "makes the program's text longer than the 131,072 bytes that a program can be given".to_owned(),
            }]);
        }
        Ok(Invocation {
            program: self.program.clone(),
            arguments: self
                .options
                .iter()
                .cloned()
                .chain(["-c".to_owned(), text])
                .collect(),
            environment: carried.environment,
            files: carried.files,
        })
    }

    /// The text with variables in the place of placeholders.
    fn render(&self, made: &[Made]) -> Rendered {
        let mut variables: Vec<preamble::Carried> = Vec::new();
        let mut text = String::new();
        for chunk in &self.chunks[self.front..] {
            let index = match chunk {
                Chunk::Text(chunk) => {
                    text.push_str(chunk);
                    continue;
                }
                Chunk::Slot(index) => *index,
            };
            let (slot, made) = (&self.slots[index], &made[index]);
            if slot.trust == Trust::Raw {
                text.push_str(&made.text());
                continue;
            }
            let form = slot.form;
            let found = variables.iter().position(|carried| {
                carried.form == form && self.slots[carried.slot].reference == slot.reference
            });
            let number = found.unwrap_or(variables.len());
            if found.is_none() {
                variables.push(preamble::Carried {
                    slot: index,
                    form,
                    words: match form {
                        SlotForm::Text => vec![made.text()],
                        SlotForm::Words => made.texts(),
                    },
                });
            }
            text.push_str(&rewrite::expansion(
                self.dialect,
                slot,
                &preamble::name(number),
                variables[number].words.len(),
            ));
        }
        Rendered { text, variables }
    }

    /// The text with every value quoted in its place.
    pub(super) fn judged(&self, values: &Values) -> String {
        let mut text = String::new();
        for chunk in &self.chunks {
            match chunk {
                Chunk::Text(chunk) => text.push_str(chunk),
                Chunk::Slot(index) => {
                    let slot = &self.slots[*index];
                    // What a step printed is known when it has run: until then it is what it is to bash, a variable.
                    let is_unknown = match &slot.reference {
                        Reference::Step { step, .. } => !values.steps.contains_key(step),
                        Reference::Parameter(_) | Reference::Variable(_) => false,
                    };
                    text.push_str(&match is_unknown {
                        true => {
                            let name = preamble::name(*index);
                            rewrite::expansion(self.dialect, slot, &name, 1)
                        }
                        false => rewrite::literal(slot, &slot.make(values)),
                    });
                }
            }
        }
        text
    }
}

/// The value of a slot in one call.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) words: Vec<MadeWord>,
    pub(super) is_number: bool,
    pub(super) is_integer: bool,
}

impl Made {
    pub(super) fn text(&self) -> String {
        match self.words.as_slice() {
            [word] => word.text.clone(),
            words => {
                let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
                texts.join(" ")
            }
        }
    }

    fn texts(&self) -> Vec<String> {
        self.words.iter().map(|word| word.text.clone()).collect()
    }
}

impl Slot {
    pub(super) fn make(&self, values: &Values) -> Made {
        let value = values.get(&self.reference);
        let kind = self
            .parameter
            .as_ref()
            .map_or(ParameterKind::String, |parameter| parameter.kind);
        let format = self
            .parameter
            .as_ref()
            .and_then(|parameter| parameter.format.as_ref());
        Made {
            words: value::made_words(format, kind, value.as_ref()),
            is_number: value.as_ref().is_none_or(serde_json::Value::is_number),
            is_integer: value
                .as_ref()
                .and_then(serde_json::Value::as_number)
                .is_some_and(|number| value::digits(number).parse::<i64>().is_ok()),
        }
    }
}

/// How far the values of a reference are known.
pub(super) fn trust(reference: &Reference, parameter: Option<&NamedParameter>) -> Trust {
    match (reference, parameter) {
        (_, Some(parameter)) if parameter.raw => Trust::Raw,
        (_, Some(parameter)) if parameter.kind.is_numeric() => Trust::Number,
        (
            Reference::Step {
                field: StepField::ExitCode,
                ..
            },
            _,
        ) => Trust::Number,
        (Reference::Variable(_), _) => Trust::Own,
        _ => Trust::Text,
    }
}
