//! Which commands a grant covers: [`Argv`], a pattern on the words of one simple command.
//!
//! A text is covered only if reading it as bash leaves no doubt and finds exactly one command that stands for itself: fixed
//! words, where the text starts, without assignments, redirections, pipes or wrappers. Everything else is asked about,
//! however harmless it looks.

use serde::{Deserialize, Serialize};

use crate::model::text;
use crate::shell::programs::{self, Fact};
use crate::shell::{Directory, Script, SimpleCommand, Word, read};

/// A pattern on the words of a command.
///
/// On the wire a list of words: `*` is any one word that is not an option and names nothing outside the workspace, `**` at the
/// end any further words, whatever they are. Every other word stands for itself; one that starts with `*` or a backslash is
/// written with a backslash before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Argv {
    words: Vec<ArgvWord>,
}

/// A word of the pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgvWord {
    /// This word.
    Literal(String),
    /// Any one word that is not an option and names nothing outside the workspace.
    One,
    /// Any further words.
    Rest,
}

/// Why a list of words is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a pattern of a command: {0}")]
pub struct ArgvError(&'static str);

/// The most words of a pattern.
const MAX_WORDS: usize = 256;

impl Argv {
    /// A pattern; the error says what is wrong with it.
    pub fn new(words: Vec<ArgvWord>) -> Result<Self, ArgvError> {
        let has_wildcard = words
            .iter()
            .any(|word| !matches!(word, ArgvWord::Literal(_)));
        match words.as_slice() {
            [] => return Err(ArgvError("it has no words")),
            [ArgvWord::Literal(name), ..] if name.is_empty() => {
                return Err(ArgvError("the command has no name"));
            }
            [ArgvWord::Literal(name), ..] if runs_others(name) => {
                return Err(ArgvError(
                    "the command runs others; no grant can cover that",
                ));
            }
            [ArgvWord::Literal(name), ..] if has_wildcard && is_interpreter(name) => {
                return Err(ArgvError(
                    "the command runs what its arguments say; only fixed words can be covered",
                ));
            }
            [ArgvWord::Literal(_), ..] => {}
            [ArgvWord::One | ArgvWord::Rest, ..] => {
                return Err(ArgvError("it begins with the name of a command"));
            }
        }
        if words.len() > MAX_WORDS {
            return Err(ArgvError("it has more than 256 words"));
        }
        let rest_inside = words[..words.len() - 1].contains(&ArgvWord::Rest);
        if rest_inside {
            return Err(ArgvError("`**` is allowed only at the end"));
        }
        Ok(Argv { words })
    }

    /// Exactly these words.
    pub(super) fn exactly(words: &[&str]) -> Result<Self, ArgvError> {
        let literal = |word: &&str| ArgvWord::Literal((*word).to_owned());
        Argv::new(words.iter().map(literal).collect())
    }

    /// Its words.
    pub fn words(&self) -> &[ArgvWord] {
        &self.words
    }

    /// Whether the pattern covers a text of bash.
    pub fn covers(&self, text: &str) -> bool {
        self.covers_script(text, &read(text))
    }

    /// Whether the pattern covers a text that reads like this.
    pub fn covers_script(&self, text: &str, script: &Script) -> bool {
        simple_words(text, script).is_some_and(|words| self.covers_words(&words))
    }

    fn covers_words(&self, words: &[&str]) -> bool {
        let (fixed, has_rest) = match self.words.as_slice() {
            [fixed @ .., ArgvWord::Rest] => (fixed, true),
            fixed => (fixed, false),
        };
        let enough = if has_rest {
            words.len() >= fixed.len()
        } else {
            words.len() == fixed.len()
        };
        enough
            && fixed
                .iter()
                .zip(words)
                .all(|(pattern, word)| match pattern {
                    ArgvWord::Literal(literal) => literal == word,
                    ArgvWord::One => is_plain(word),
                    ArgvWord::Rest => false,
                })
    }

    /// A command that it covers, its words quoted.
    pub(super) fn example(&self) -> String {
        let words = self.words.iter().filter_map(|word| match word {
            ArgvWord::Literal(literal) => Some(format!("'{}'", literal.replace('\'', "'\\''"))),
            ArgvWord::One => Some("_".to_owned()),
            ArgvWord::Rest => None,
        });
        words.collect::<Vec<String>>().join(" ")
    }

    /// The pattern as a person would read it, shortened.
    pub fn in_words(&self) -> String {
        let shown: Vec<String> = self
            .words
            .iter()
            .map(|word| match word {
                ArgvWord::Literal(literal) if is_bare(literal) => literal.clone(),
                ArgvWord::Literal(literal) => format!("{literal:?}"),
                ArgvWord::One => String::from("*"),
                ArgvWord::Rest => String::from("**"),
            })
            .collect();
        text::shorten(&shown.join(" "), 200)
    }
}

/// The words of a text that is one simple command and nothing else.
pub(super) fn simple_words<'a>(text: &str, script: &'a Script) -> Option<Vec<&'a str>> {
    let Script {
        commands,
        doubts,
        fork_bomb,
        files: _,
        has_more_files: _,
        is_cut,
        lists: _,
        steps: _,
    } = script;
    let is_odd = *fork_bomb || *is_cut;
    let ([command], [], false) = (commands.as_slice(), doubts.as_slice(), is_odd) else {
        return None;
    };
    let SimpleCommand {
        words,
        assignments,
        redirects,
        via,
        directory,
        // Equal to `directory`, which is where the text starts.
        hoped: _,
        piped,
        // A redirection gives it, which the second look finds.
        input: _,
        // Code that is not among the words comes from a redirection, which the second look finds.
        code: _,
        span,
    } = command;
    let stands_alone = assignments.is_empty()
        && redirects.is_empty()
        && via.is_empty()
        && *directory == Directory::Start
        && !piped
        // Nothing before and after it, such as `!` or a comment.
        && text.get(span.clone()).map(str::trim) == Some(text.trim());
    if !stands_alone {
        return None;
    }
    let fixed = |word: &'a Word| word.as_static().filter(|_| !word.splits);
    let words: Vec<&str> = words.iter().map(fixed).collect::<Option<_>>()?;
    let name = *words.first()?;
    let is_covered = !name.is_empty() && !runs_others(name) && is_accounted_for(text, &words);
    is_covered.then_some(words)
}

/// The commands of a text that is nothing but simple commands in lists and pipelines, each as a text that a pattern can cover;
/// `None` for every other text. An interpreter that reads from a pipe is not one: its program comes from there.
pub(crate) fn parts(text: &str) -> Option<Vec<&str>> {
    let script = read(text);
    if script.is_cut || script.fork_bomb || !script.doubts.is_empty() {
        return None;
    }
    let (mut parts, mut end) = (Vec::new(), 0);
    for command in &script.commands {
        let between = text.get(end..command.span.start)?;
        if !between.chars().all(is_separator) {
            return None;
        }
        let part = text.get(command.span.clone())?.trim();
        let name = name_of(part)?;
        let reads_a_program = command.piped && is_interpreter(&name);
        if reads_a_program || command.directory != Directory::Start {
            return None;
        }
        parts.push(part);
        end = command.span.end;
    }
    let rest = text.get(end..)?;
    (!parts.is_empty() && rest.chars().all(is_separator)).then_some(parts)
}

/// The name of the one simple command that a text is.
fn name_of(text: &str) -> Option<String> {
    let script = read(text);
    let words = simple_words(text, &script)?;
    words.first().map(|name| (*name).to_owned())
}

/// What may be between two commands: `&&`, `||`, `|`, `;`, `&`, the end of a line.
fn is_separator(c: char) -> bool {
    matches!(c, '&' | '|' | ';' | ' ' | '\t' | '\n')
}

/// Whether a command takes something away.
pub(super) fn removes(name: &str) -> bool {
    let name = base(name);
    programs::find(name).is_some_and(|program| program.has(Fact::Removes))
        || name.starts_with("mkfs.")
}

/// Whether a command makes something else run, or changes what comes after it: never covered, whatever its words.
fn runs_others(name: &str) -> bool {
    programs::is(base(name), Fact::Runs, "others")
}

/// Whether a command runs what its arguments say: no pattern with a wildcard covers it.
pub(super) fn is_interpreter(name: &str) -> bool {
    programs::version(base(name)).is_some_and(|program| program.has(Fact::Runs))
}

fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// A second look at the text itself, which knows nothing of bash: every character that could begin another command, a
/// redirection or an expansion must be in a word. If the reader ever overlooked a command, what starts it shows here.
fn is_accounted_for(text: &str, words: &[&str]) -> bool {
    const TELLING: &[char] = &[';', '|', '&', '<', '>', '(', ')', '$', '`', '\n', '\r'];
    let text = text.trim_matches([' ', '\t', '\n']);
    TELLING.iter().all(|c| {
        let in_words: usize = words.iter().map(|word| word.matches(*c).count()).sum();
        text.matches(*c).count() == in_words
    })
}

/// Whether a word is neither an option nor a way out of the workspace.
pub(super) fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(['-', '+', '/', '~'])
        && !word.contains("://")
        && !word.split(['/', '=', ':']).any(|part| part == "..")
        && !word.contains("=/")
        && !word.contains("=~")
}

fn is_bare(word: &str) -> bool {
    !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || "-_./:=@%+,".contains(c))
}

impl TryFrom<Vec<String>> for Argv {
    type Error = ArgvError;

    fn try_from(words: Vec<String>) -> Result<Self, ArgvError> {
        let read = |word: String| match word.as_str() {
            "*" => ArgvWord::One,
            "**" => ArgvWord::Rest,
            escaped if escaped.starts_with('\\') => ArgvWord::Literal(escaped[1..].to_owned()),
            _ => ArgvWord::Literal(word),
        };
        Argv::new(words.into_iter().map(read).collect())
    }
}

impl From<Argv> for Vec<String> {
    fn from(argv: Argv) -> Self {
        let write = |word: ArgvWord| match word {
            ArgvWord::One => String::from("*"),
            ArgvWord::Rest => String::from("**"),
            ArgvWord::Literal(literal) if literal.starts_with(['*', '\\']) => {
                format!("\\{literal}")
            }
            ArgvWord::Literal(literal) => literal,
        };
        argv.words.into_iter().map(write).collect()
    }
}

#[cfg(test)]
#[path = "argv_tests.rs"]
mod tests;
