//! Values that reach a program by other ways than its text: variables of the tool's environment, and standard input.
//!
//! They are judged as if the text said where they come from: `export NAME=…` before it, `printf … |` in front of that. What runs
//! is the author's text alone. So a value in a variable may do what one in `x={P}` may do, and one that is read what one in a
//! here-document may do. A variable counts when the text names it, or looks at all of them.

use std::ops::Range;

use super::check::check;
use super::{Bash, Chunk, Demands, Slot, SlotForm, Trust, trust};
use crate::model::budget::Budget;
use crate::shell::quoting::Quote;
use crate::template::scan::Piece;
use crate::template::{Names, Reference, TemplateProblem, Text};

/// Words of texts that look at variables without naming them.
const ALL_VARIABLES: &[&str] = &[
    "env", "printenv", "declare", "typeset", "compgen", "environ",
];

/// Where a slot's value comes from that does not stand in the text.
enum Origin {
    Environment(String),
    Input,
}

/// Checks a text together with what its program is given besides. What this adds to the chunks stays at their front, and what
/// it adds to the slots at their end.
pub(super) fn judge(
    bash: &mut Bash,
    names: &Names,
    source: &str,
    budget: &mut Budget,
) -> Vec<TemplateProblem> {
    let mut origins: Vec<(Range<usize>, Origin)> = Vec::new();
    let own = std::mem::take(&mut bash.chunks);
    let words = literal_text(&own);
    let mut front = Vec::new();
    for (name, text) in &names.environment {
        if !holds_values(text, names) || !is_used(&words, name) {
            continue;
        }
        front.push(Chunk::Text(format!("export {name}=")));
        let added = quoted(text, names, bash, &mut front);
        origins.extend(added.map(|span| (span, Origin::Environment(name.clone()))));
        front.push(Chunk::Text("; ".to_owned()));
    }
    bash.front = front.len();
    let Some(input) = names
        .input
        .as_ref()
        .filter(|input| holds_values(input, names))
    else {
        bash.chunks = [front, own].concat();
        let problems = check(bash, budget);
        leave_length(bash, &origins);
        return shown(problems, &origins, source);
    };
    let mut fed = bash.clone();
    let before_input = fed.slots.len();
    fed.chunks = front.clone();
    fed.chunks.push(Chunk::Text("printf -- '%s' ''".to_owned()));
    let mut pipe = Vec::new();
    let added = quoted(input, names, &mut fed, &mut pipe);
    origins.extend(added.map(|span| (span, Origin::Input)));
    fed.chunks.extend(pipe);
    fed.chunks.push(Chunk::Text(" | { ".to_owned()));
    fed.chunks.extend(own.iter().cloned());
    fed.chunks.push(Chunk::Text("\n}".to_owned()));
    bash.chunks = [front, own].concat();
    let without = check(bash, budget);
    // Where a value is the whole command a person is asked about every call.
    if !without.is_empty() || bash.runs_a_value() {
        return shown(without, &origins, source);
    }
    let problems = check(&mut fed, budget);
    if problems.is_empty() {
        // Where nothing is asked of what is read, any bytes may be.
        if fed.slots[before_input..]
            .iter()
            .all(|slot| slot.demands.is_nothing())
        {
            fed.slots.truncate(before_input);
        }
        bash.slots = fed.slots;
        leave_length(bash, &origins);
        return problems;
    }
    let mut problems = shown(problems, &origins, source);
    for problem in &mut problems {
        problem.code = "template-input";
        problem.message = format!("what `input` holds could do harm here: {}", problem.message);
        problem.fix = Some(
            "give it to a program that takes what it reads for data (`jq`, `sort`, a script of your own), or hand the value \
             over as an argument"
                .to_owned(),
        );
    }
    problems
}

/// The code that sets the variables knows how long they may be, to the byte.
fn leave_length(bash: &mut Bash, origins: &[(Range<usize>, Origin)]) {
    let is_variable = |slot: &Slot| {
        let mut origins = origins.iter();
        origins.any(|(span, origin)| *span == slot.span && matches!(origin, Origin::Environment(_)))
    };
    for slot in bash.slots.iter_mut().filter(|slot| is_variable(slot)) {
        slot.demands.most_bytes = None;
    }
}

/// Whether values of unknown content are in a text.
pub(in crate::template) fn holds_values(text: &Text, names: &Names) -> bool {
    text.references().iter().any(|reference| {
        let parameter = match reference {
            Reference::Parameter(name) => names.parameter(name),
            Reference::Step { .. } | Reference::Variable(_) => None,
        };
        matches!(trust(reference, parameter), Trust::Text | Trust::Raw)
    })
}

/// Whether a text names a variable, or looks at all of them.
fn is_used(text: &str, name: &str) -> bool {
    let mut words = text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
    words.any(|word| word == name || ALL_VARIABLES.contains(&word)) || text.contains("${!")
}

fn literal_text(chunks: &[Chunk]) -> String {
    let texts = chunks.iter().map(|chunk| match chunk {
        Chunk::Text(text) => text.as_str(),
        Chunk::Slot(_) => " ",
    });
    texts.collect()
}

/// Adds a text as one word, and its placeholders as slots whose spans are not places in the template.
fn quoted(
    text: &Text,
    names: &Names,
    bash: &mut Bash,
    chunks: &mut Vec<Chunk>,
) -> impl Iterator<Item = Range<usize>> + use<> {
    let first = bash.slots.len();
    for piece in &text.pieces {
        match piece {
            Piece::Literal(literal) => {
                let clean = literal.replace('\0', "");
                chunks.push(Chunk::Text(format!("'{}'", clean.replace('\'', "'\\''"))));
            }
            Piece::Placeholder { reference, .. } => {
                let parameter = match reference {
                    Reference::Parameter(name) => names.parameter(name).cloned(),
                    Reference::Step { .. } | Reference::Variable(_) => None,
                };
                // Here the value is only ever text.
                let parameter = parameter.map(|mut parameter| {
                    parameter.format = None;
                    parameter.raw = false;
                    parameter
                });
                chunks.push(Chunk::Slot(bash.slots.len()));
                let span = elsewhere(bash.slots.len());
                bash.slots.push(Slot {
                    reference: reference.clone(),
                    span,
                    trust: trust(reference, parameter.as_ref()),
                    parameter,
                    quote: Quote::Bare,
                    form: SlotForm::Text,
                    demands: Demands::default(),
                });
            }
        }
    }
    (first..bash.slots.len()).map(elsewhere)
}

/// A span that is none of a template's.
fn elsewhere(slot: usize) -> Range<usize> {
    usize::MAX - slot - 1..usize::MAX - slot
}

/// The problems with spans in the author's text.
fn shown(
    mut problems: Vec<TemplateProblem>,
    origins: &[(Range<usize>, Origin)],
    source: &str,
) -> Vec<TemplateProblem> {
    for problem in &mut problems {
        let Some((_, origin)) = origins.iter().find(|(span, _)| *span == problem.span) else {
            continue;
        };
        problem.span = 0..0;
        if let Origin::Environment(name) = origin {
            if let Some(at) = source.find(name.as_str()) {
                problem.span = at..at + name.len();
            }
            problem.message = format!(
                "the variable `{name}` comes from `environment.variables`, and {}",
                problem.message
            );
        }
    }
    problems
}

impl Demands {
    fn is_nothing(&self) -> bool {
        let Demands {
            integer,
            number,
            plain,
            no_dash,
            no_inner_dash,
            most_bytes,
            forbidden,
            program,
            needed,
        } = self;
        let flags = *integer || *number || *plain || *program || *needed;
        let dashes = no_dash.is_some() || no_inner_dash.is_some();
        !flags && !dashes && most_bytes.is_none() && forbidden.is_empty()
    }
}
