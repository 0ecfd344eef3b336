//! Options that run another program, as the table of programs lists them.

use super::lex::Dialect;
use super::options::long_option;
use super::programs::{self, Fact, Program};
use super::script::Word;
use super::shells;
use super::walk::{Context, Input, Outcome, Walker};

/// Follows what the words and the input of a program run.
pub(super) fn run(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    if let Some(program) = programs::find(name) {
        let words = &words[1..];
        follow(walker, program, name, words, &context.inside(name));
        let names_program = |word: &&Word| {
            let lower = word.shown().to_ascii_lowercase();
            program.words(Fact::Settings).any(|key| lower.contains(key))
        };
        if let Some(word) = words.iter().find(names_program) {
            doubt(walker, name, word);
        }
        check_input(walker, program, name, words, context);
    }
    Outcome::stays(&walker.directory)
}

fn doubt(walker: &mut Walker, name: &str, word: &Word) {
    walker.doubt(
        format!("an option of `{name}` that runs a program"),
        &word.shown(),
    );
}

fn doubt_commands(walker: &mut Walker, name: &str, commands: &Word) {
    walker.doubt(
        format!("commands of `{name}` that may run a program"),
        &commands.shown(),
    );
}

/// Reads a text that a program hands to a shell.
pub(super) fn read(walker: &mut Walker, text: &Word, context: &Context<'_>, name: &str) {
    shells::read_word(
        walker,
        text,
        Dialect::Sh,
        context,
        &format!("`{name}` runs a program that cannot be determined"),
    );
}

/// Follows the options of a program that run another one.
pub(super) fn follow(
    walker: &mut Walker,
    program: &Program,
    name: &str,
    words: &[Word],
    inner: &Context<'_>,
) {
    for (index, word) in words.iter().enumerate() {
        let start = word.literal_prefix();
        let is_unclear = match program.get(Fact::Unclear) {
            "any" => word.adds_words(),
            "bare" => word.adds_words() && start.is_empty(),
            _ => false,
        };
        if is_unclear {
            walker.doubt(
                format!("words of `{name}` that may be options that run a program"),
                &word.shown(),
            );
        }
        // The names of files and the like come after a program.
        for (fact, more) in [(Fact::Commands, ""), (Fact::Programs, " \"$@\"")] {
            for option in program.words(fact) {
                match value(words, index, option, program.get(Fact::Valued)) {
                    None => {}
                    Some(None) => doubt(walker, name, word),
                    Some(Some(mut text)) => {
                        text.push_text(more);
                        read(walker, &text, inner, name);
                    }
                }
            }
        }
        for option in program.words(Fact::Loads) {
            let file = words.get(index + 1);
            let file = file.filter(|_| word.as_static() == Some(option));
            let is_unclear = |file: &&Word| !file.is_static() || shells::is_unclear_file(file);
            if let Some(file) = file.filter(is_unclear) {
                doubt_commands(walker, name, file);
            }
        }
        for option in program.words(Fact::Texts) {
            let text = value(words, index, option, program.get(Fact::Valued));
            let is_unclear = |text: &Word| {
                let text = text.as_static();
                text.is_none_or(|text| has_sign(program, Fact::TextSigns, text))
            };
            if let Some(text) = text.flatten().filter(is_unclear) {
                doubt_commands(walker, name, &text);
            }
        }
        let mut asks = program.words(Fact::Asks);
        if asks.any(|beginning| start.starts_with(beginning)) {
            doubt(walker, name, word);
        }
    }
}

/// The value of an option, if the word is that option: attached to it, or the next word. `Some(None)` if there is none.
///
/// Letters may be in a cluster, unless one before them takes the rest of the word. Names after two dashes may be shortened, and `*` is for
/// all options that end like that.
pub(super) fn value(
    words: &[Word],
    index: usize,
    option: &str,
    valued: &str,
) -> Option<Option<Word>> {
    let word = &words[index];
    let next = || words.get(index + 1).cloned();
    if let Some(long) = option.strip_prefix("--") {
        let least = long.find('|').unwrap_or(2);
        let attached = long_option(word, &long.replace('|', ""), least)?;
        return Some(attached.or_else(next));
    }
    if let Some(last) = option.strip_prefix('*') {
        return word.literal_prefix().ends_with(last).then(next);
    }
    if option.len() != 2 {
        let rest = word.after(option)?;
        return Some(match rest.parts.is_empty() {
            true if option == "+" => None,
            true => next(),
            false => Some(rest.after("=").unwrap_or(rest)),
        });
    }
    let letter = option.chars().last()?;
    let attached = letter_value(word, letter, valued)?;
    let attached = attached.map(|rest| rest.after("=").unwrap_or(rest));
    Some(attached.or_else(next))
}

/// The value attached to a letter of a cluster. The letters in `valued` take the rest of the word.
pub(super) fn letter_value(word: &Word, letter: char, valued: &str) -> Option<Option<Word>> {
    let start = word.literal_prefix();
    let letters = start
        .strip_prefix('-')
        .filter(|letters| !letters.starts_with('-'))?;
    let at = letters.find(|c| c == letter || valued.contains(c))?;
    letters[at..].starts_with(letter).then(|| {
        word.after(&start[..at + 2])
            .filter(|rest| !rest.parts.is_empty())
    })
}

fn has_sign(program: &Program, fact: Fact, text: &str) -> bool {
    program.words(fact).any(|sign| text.contains(sign))
}

/// Doubts an input in which a program finds commands that start others.
fn check_input(
    walker: &mut Walker,
    program: &Program,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) {
    let input = walker.input(context);
    let is_unclear = match (program.get(Fact::Input), &input) {
        // A file is like a script that lies there; what another command writes is not.
        ("queries", input) => matches!(input, Input::Piped | Input::Unknown),
        ("commands", Input::Text(text) | Input::Given(text)) => text
            .as_static()
            .is_none_or(|text| has_sign(program, Fact::TextSigns, text)),
        ("commands", input) => *input != Input::Start,
        _ => false,
    };
    if is_unclear {
        walker.doubt(
            format!("`{name}` reads commands from its input, which may run programs"),
            name,
        );
    }
    let given = match &input {
        Input::Text(text) => Some(text.as_ref()),
        _ => None,
    };
    let mut texts = words.iter().chain(given).map(Word::shown);
    if texts.any(|text| has_sign(program, Fact::Signs, &text)) {
        let shown: Vec<String> = words.iter().map(Word::shown).collect();
        walker.doubt(
            format!("a text for `{name}` that may run a program"),
            &shown.join(" "),
        );
    }
}
