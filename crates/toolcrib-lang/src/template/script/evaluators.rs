//! What in a script makes code of texts: [`evaluator`].
//!
//! Only asked of scripts that have values at hand. Names are enough: a script that needs `eval` for something else can do that
//! in its own file.

use std::ops::Range;

use super::Language;
use crate::expr::javascript::Lexed;
use crate::shell::programs::{self, Fact};
use crate::template::python;

/// Stands for a placeholder while the text is read.
pub(super) const MARK: &str = "\u{e000}";

/// Words of other languages that run the text after them.
const OTHERS: &[&str] = &[
    "system",
    "exec",
    "eval",
    "popen",
    "spawn",
    "qx",
    "shell_exec",
    "passthru",
    "proc_open",
    "instance_eval",
    "class_eval",
    "module_eval",
    "loadstring",
    "load",
    "dofile",
    "parse",
];

/// What makes code of texts in a script, placeholders in it as marks.
pub(super) fn evaluator(language: Language, text: &str) -> Option<&'static str> {
    let stretches: Vec<Range<usize>> = match language {
        Language::Python => python::read(text)
            .into_iter()
            .map(|(range, _)| range)
            .collect(),
        Language::Node => Lexed::read(text)
            .stretches
            .into_iter()
            .map(|(range, _)| range)
            .collect(),
        Language::Other => return in_another(text),
    };
    let mut code = String::new();
    let mut done = 0;
    for range in stretches {
        code.push_str(text.get(done..range.start).unwrap_or_default());
        // A fixed text is nothing here, one with a value in it is a value.
        let literal = text.get(range.clone()).unwrap_or_default();
        code.push_str(if literal.contains(MARK) { MARK } else { " " });
        done = range.end;
    }
    code.push_str(text.get(done..).unwrap_or_default());
    let words: Vec<&str> = code
        .split(|c: char| c != '_' && c != '$' && !c.is_alphanumeric())
        .collect();
    let has = |word: &str| words.contains(&word);
    let squeezed: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    // Whether something else than a fixed text is handed over.
    let calls = |start: &str| {
        squeezed
            .match_indices(start)
            .any(|(at, _)| !squeezed[at + start.len()..].starts_with([')', ',']))
    };
    let found = match language {
        Language::Python => {
            let compiles = squeezed
                .match_indices("compile(")
                .any(|(at, _)| !squeezed[..at].ends_with("re.") && !is_in_name(&squeezed[..at]));
            evaluating("python")
                .find(|word| has(word))
                .or(calls("__import__(").then_some("__import__"))
                .or(calls("import_module(").then_some("import_module"))
                .or(compiles.then_some("compile"))
        }
        _ => {
            let children = text.contains("child_process");
            let by_child = ["exec", "execSync"]
                .into_iter()
                .find(|word| children && has(word));
            let constructor = squeezed.contains(".constructor(")
                || squeezed.contains(".constructor.constructor")
                || text.contains("'constructor'")
                || text.contains("\"constructor\"");
            evaluating("node")
                .find(|word| has(word))
                .or(by_child)
                .or(calls("import(").then_some("import"))
                .or(calls("require(").then_some("require"))
                .or(constructor.then_some("constructor"))
                .or(squeezed
                    .contains(&format!("[{MARK}]("))
                    .then_some("a method that a value names"))
        }
    };
    let shell = match language {
        Language::Python => squeezed.contains("shell=") && !squeezed.contains("shell=False"),
        _ => squeezed.contains("shell:") && !squeezed.contains("shell:false"),
    };
    found
        .or(shell.then_some("shell"))
        .or(hands_to_shell(text).then_some("-c"))
}

/// Words of a language that make code of texts.
fn evaluating(language: &str) -> impl Iterator<Item = &'static str> {
    let program = programs::find(language).into_iter();
    program.flat_map(|program| program.words(Fact::Evaluators))
}

fn is_in_name(before: &str) -> bool {
    before.ends_with(|c: char| c == '_' || c.is_alphanumeric())
}

/// Whether a list of words has something behind `"-c"` or `"-e"` that is not a fixed text, and a program that would run it.
fn hands_to_shell(text: &str) -> bool {
    let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let runs = squeezed
        .split(['"', '\'', '`'])
        .filter_map(|word| programs::version(word.rsplit('/').next().unwrap_or(word)))
        .any(|program| program.has(Fact::Code));
    let options = ["-c", "-lc", "-ec", "-e", "-r"];
    let mut pieces = squeezed.split(['"', '\'', '`']).peekable();
    let mut dynamic = false;
    while let Some(piece) = pieces.next() {
        if !options.contains(&piece) {
            continue;
        }
        // What comes between this text and the next one, and the next one.
        let between = pieces.next().unwrap_or_default();
        let fixed = between == "," || between == ",r";
        let next = pieces.peek().copied().unwrap_or_default();
        dynamic |= between.starts_with(',') && (!fixed || next.contains(MARK));
    }
    runs && dynamic
}

/// In languages that are not read: words that run the text after them, unless that is a list of words or fixed.
fn in_another(text: &str) -> Option<&'static str> {
    for line in text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
    {
        let dynamic = |rest: &str| rest.contains(['$', '#', '@']) || rest.contains("ENV");
        if line
            .split('`')
            .enumerate()
            .any(|(number, part)| number % 2 == 1 && dynamic(part))
        {
            return Some("`…`");
        }
        for word in OTHERS {
            for (at, _) in line.match_indices(word) {
                let rest = &line[at + word.len()..];
                let inside = is_in_name(&line[..at])
                    || line[..at].ends_with(['$', '@', '%', '"', '\''])
                    || rest.starts_with(|c: char| c == '_' || c.is_alphanumeric());
                let handed = rest.split(';').next().unwrap_or_default().trim();
                let handed = handed.strip_prefix('(').unwrap_or(handed).trim();
                // `eval { … }` catches errors; with a comma it is a list of words.
                let list = handed.contains(',') && *word != "eval" && *word != "popen";
                let block = handed.starts_with('{');
                let fixed = (handed.starts_with(['"', '\'']) && !dynamic(handed))
                    || handed.is_empty()
                    || handed.starts_with(['=', ')', '.', ':']);
                if !inside && !list && !block && !fixed {
                    return Some(word);
                }
            }
        }
    }
    None
}
