//! Builtins that are given names of variables or expressions: subscripts and arithmetic may run commands.

use super::facts::prints_number;
use super::lex::Dialect;
use super::options::{self, Spec};
use super::script::{Part, Word};
use super::variables;
use super::walk::{Context, Outcome, Walker};

fn stays(walker: &Walker) -> Outcome {
    Outcome::stays(&walker.directory)
}

pub(super) fn declare(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let mut calculates = false;
    for word in &words[1..] {
        let start = word.literal_prefix();
        if start.starts_with(['-', '+']) {
            calculates |= start.contains('i');
            if start.starts_with('-') && start.contains('n') && name != "export" {
                walker.doubt("a name that stands for another variable", start);
            }
            if !word.is_static() {
                walker.doubt(
                    format!("options of `{name}` that cannot be determined"),
                    &word.shown(),
                );
            }
            continue;
        }
        let Some(end) = start.find('=') else {
            if word.is_static() {
                walker.check_name(word);
            } else {
                walker.doubt(
                    format!("`{name}` sets variables whose names cannot be determined"),
                    &word.shown(),
                );
            }
            continue;
        };
        let variable = start[..end].trim_end_matches('+');
        walker.check_name(&Word::text(variable));
        let Some(mut value) = word.after(&start[..=end]) else {
            continue;
        };
        value.splits = false;
        if calculates
            && !value
                .as_static()
                .is_some_and(|text| walker.is_harmless_expression(text))
        {
            walker.doubt(
                "a variable that calculates what is put into it",
                &word.shown(),
            );
        }
        variables::check(walker, variable, &value, context);
    }
    if calculates {
        let numbers = words[1..].iter().all(|word| {
            let variable = word.literal_prefix().split('=').next().unwrap_or("");
            variable.starts_with('-')
                || walker.facts.is_numeric(variable)
                || word.is_static()
                    && !word.literal_prefix().contains('=')
                    && single(walker, variable)
        });
        if !numbers {
            walker.doubt("a variable that calculates what is put into it", name);
        }
    }
    stays(walker)
}

/// Whether only the declaration itself names a variable.
pub(super) fn single(walker: &Walker, name: &str) -> bool {
    walker.facts.sets_once(name)
}

/// Builtins that are given names of variables.
pub(super) fn names(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let spec = match name {
        "read" => Spec {
            flags: "ers",
            valued: "adinNptu",
            ..Spec::default()
        },
        "unset" => Spec {
            flags: "fvn",
            ..Spec::default()
        },
        "wait" => Spec {
            flags: "fn",
            valued: "p",
            ..Spec::default()
        },
        "printf" => Spec {
            valued: "v",
            ..Spec::default()
        },
        "mapfile" | "readarray" => Spec {
            flags: "t",
            valued: "dnOsuCc",
            ..Spec::default()
        },
        _ => Spec::default(),
    };
    // The format of `printf` may begin with anything.
    let format = words.get(1).map(Word::literal_prefix).unwrap_or("");
    if name == "printf"
        && !(format.starts_with("-v")
            || words
                .get(1)
                .is_some_and(|word| word.parts.len() > 1 || !word.is_static()))
        && format != "--"
    {
        return stays(walker);
    }
    let Ok((given, used)) = options::parse(&words[1..], &spec) else {
        // Without brackets anywhere, no name can have a subscript.
        let brackets = words[1..]
            .iter()
            .any(|word| word.shown().contains('[') || word.is_dynamic() && name != "printf");
        if brackets {
            walker.doubt(
                format!("it cannot be determined which variables `{name}` sets"),
                &words[1..]
                    .iter()
                    .map(Word::shown)
                    .collect::<Vec<_>>()
                    .join(" "),
            );
        }
        return stays(walker);
    };
    for option in given {
        let Some(value) = option.value else { continue };
        match (name, option.name.as_str()) {
            ("read", "a") | ("wait", "p") | ("printf", "v") => {
                walker.check_name(&value);
                if let Some(variable) = value.as_static() {
                    variables::check(walker, variable, &Word::dynamic("input"), context);
                }
            }
            ("mapfile" | "readarray", "C") => match value.as_static() {
                Some(text) => {
                    // An index and a line come after it.
                    let text = format!("{text} \"$_\" \"$_\"");
                    walker.text(&text, Dialect::Bash, &context.inside(name));
                }
                None => walker.doubt(
                    format!("`{name}` runs a text that cannot be determined"),
                    &value.shown(),
                ),
            },
            _ => {}
        }
    }
    let operands = &words[1 + used..];
    let named = match name {
        "printf" | "wait" => &[],
        "getopts" => operands.get(1..2).unwrap_or_default(),
        _ => operands,
    };
    for word in named {
        walker.check_name(word);
        if let Some(variable) = word.as_static() {
            variables::check(walker, variable, &Word::dynamic("input"), context);
        }
    }
    stays(walker)
}

pub(super) fn test(
    walker: &mut Walker,
    _name: &str,
    words: &[Word],
    _context: &Context<'_>,
) -> Outcome {
    for (index, word) in words.iter().enumerate().skip(1) {
        if matches!(word.as_static(), Some("-v" | "-R"))
            && let Some(operand) = words.get(index + 1)
            && operand.as_static() != Some("]")
        {
            walker.check_name(operand);
        }
        let uncertain = word.splits
            && word
                .parts
                .iter()
                .any(|part| matches!(part, Part::Dynamic(source) if !is_number(walker, source)));
        if uncertain {
            walker.doubt(
                "a test without quotes around a value that may be an operator",
                &word.shown(),
            );
        }
    }
    stays(walker)
}

/// Whether a dynamic part can only be a number.
pub(super) fn is_number(walker: &Walker, source: &str) -> bool {
    if source.starts_with("$((") || source.starts_with("${#") || prints_number(source) {
        return true;
    }
    let name = source.trim_start_matches(['$', '{']).trim_end_matches('}');
    let named = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    matches!(name, "#" | "?" | "$" | "!")
        || named && walker.facts.sets(name) && walker.facts.is_numeric(name)
        || matches!(
            name,
            "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID"
        )
}

pub(super) fn calculate(
    walker: &mut Walker,
    _name: &str,
    words: &[Word],
    _context: &Context<'_>,
) -> Outcome {
    for word in &words[1..] {
        if !word
            .as_static()
            .is_some_and(|text| walker.is_harmless_expression(text))
        {
            walker.doubt(
                "arithmetic evaluates a value that cannot be determined, and values may run commands",
                &word.shown(),
            );
        }
    }
    stays(walker)
}
