//! One command of a shell text, seen as programs see it: a name, options in all their spellings, operands.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::rc::Rc;

use super::destination::{Located, Root, Where};
use super::name_glob::NameGlob;
use super::paths::{self, PathWord};
use super::values::Possible;
use crate::model::text;
use crate::shell::programs::{self, Fact};
use crate::shell::{Directory, Part, SimpleCommand, Word};

/// A command with what rules ask about it.
pub(super) struct Invocation<'s> {
    pub(super) command: &'s SimpleCommand,
    pub(super) place: &'s Where,
    /// Whether links may be looked up.
    pub(super) follows_links: bool,
    /// Whether a tool's author wrote it: see [`RuleContext::commands`](super::RuleContext::commands).
    pub(super) is_authored: bool,
    /// The program without its directory; empty when there is none, or no one can tell.
    pub(super) name: &'s str,
    pub(super) args: Vec<Arg<'s>>,
    /// What the targets of its redirections may become, by their number.
    pub(super) targets: Vec<(usize, Possible)>,
    /// The links that the text makes, and where they lead.
    pub(super) links: Rc<[(Located, Located)]>,
    paths: OnceCell<Vec<PathWord>>,
    hosts: OnceCell<Vec<String>>,
}

/// An argument.
pub(super) struct Arg<'s> {
    pub(super) word: &'s Word,
    /// The word as text; what is not fixed as it was written.
    pub(super) text: Cow<'s, str>,
    /// Whether it comes after `--`, which makes it an operand whatever it looks like.
    after_dashes: bool,
    /// What it may become, if it is not fixed.
    pub(super) possible: Possible,
}

impl Arg<'_> {
    /// Whether it is an option; `-` alone is standard input.
    pub(super) fn is_option(&self) -> bool {
        !self.after_dashes && self.text.len() > 1 && self.text.starts_with('-')
    }

    /// The options that it may become.
    pub(super) fn possible_options(&self) -> impl Iterator<Item = &str> {
        let texts = self.possible.words.iter().filter_map(Word::as_static);
        texts.filter(|text| !self.after_dashes && text.len() > 1 && text.starts_with('-'))
    }

    /// Whether it may become an option that nothing in the text names.
    pub(super) fn may_be_any_option(&self) -> bool {
        !self.after_dashes && self.possible.is_open && self.word.literal_prefix().is_empty()
    }

    /// Whether it begins with a variable that only the environment sets, so that it may become an option, too.
    pub(super) fn is_set_outside(&self) -> bool {
        let begins = matches!(self.word.parts.first(), Some(Part::Variable(_)));
        !self.after_dashes && begins && self.possible == Possible::default()
    }
}

impl<'s> Invocation<'s> {
    pub(super) fn new(
        command: &'s SimpleCommand,
        place: &'s Where,
        is_authored: bool,
        follows_links: bool,
    ) -> Self {
        let name = command.name().unwrap_or_default();
        let mut after_dashes = false;
        let args = command
            .words
            .iter()
            .skip(1)
            .filter_map(|word| {
                let text = word_text(word);
                if text == "--" && !after_dashes {
                    after_dashes = true;
                    return None;
                }
                Some(Arg {
                    word,
                    text,
                    after_dashes,
                    possible: Possible::default(),
                })
            })
            .collect();
        Invocation {
            command,
            place,
            follows_links,
            is_authored,
            name,
            args,
            targets: Vec::new(),
            links: Rc::default(),
            paths: OnceCell::new(),
            hosts: OnceCell::new(),
        }
    }

    /// Where a word of it leads.
    pub(super) fn locate(&self, word: &Word) -> Located {
        self.place.locate(word, &self.command.directory)
    }

    /// Where a word of it leads, if every `cd` before it succeeds.
    pub(super) fn guess(&self, word: &Word) -> Located {
        let directory = match self.command.directory {
            Directory::Unknown => &self.command.hoped,
            _ => &self.command.directory,
        };
        self.place.locate(word, directory)
    }

    /// The arguments that are not options, nor values of options that stand before a subcommand.
    pub(super) fn operands(&self) -> impl Iterator<Item = &Arg<'s>> {
        let program = programs::find(self.name);
        let mut skip = false;
        let mut operand_seen = false;
        let cargo = self.name == "cargo";
        self.args.iter().filter(move |arg| {
            if std::mem::take(&mut skip) {
                return false;
            }
            if arg.is_option() {
                skip = !operand_seen
                    && program.is_some_and(|program| program.lists(Fact::Leading, &arg.text));
                return false;
            }
            // `cargo +nightly test`
            if cargo && !operand_seen && arg.text.starts_with('+') {
                return false;
            }
            operand_seen = true;
            true
        })
    }

    /// Whether an option is given, in any of its spellings.
    pub(super) fn has_flag(&self, flag: &Flag) -> bool {
        flag.0
            .iter()
            .any(|spelling| self.has_spelling(spelling, Certainty::Perhaps))
    }

    /// Whether an option is given for sure, and not as another option's value: `git push -o --dry-run` is not a dry run.
    pub(super) fn has_certainly(&self, flag: &Flag) -> bool {
        flag.0
            .iter()
            .any(|spelling| self.has_spelling(spelling, Certainty::Certain))
    }

    /// Whether an option is given: `-r`, `--recursive`, alternatives separated by `|`.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.has_flag(&Flag::parse(flag))
    }

    fn has_spelling(&self, spelling: &str, certainty: Certainty) -> bool {
        let program = programs::find(self.name);
        let fact = |fact| program.map_or("", |program| program.get(fact));
        let (spelled, valued) = (fact(Fact::Spelled), fact(Fact::TakesValue));
        let takes_value = |option: &str| valued.split_ascii_whitespace().any(|name| name == option);
        let is_valued_letter = |letter: char| {
            certainty == Certainty::Certain && takes_value(letter.encode_utf8(&mut [0; 4]))
        };
        // `git -C sub switch x` is not `git switch -C x`.
        let subcommand = self.operands().next().map(std::ptr::from_ref);
        let is_leading = |letter: char| {
            let option = ['-', letter].iter().collect::<String>();
            program.is_some_and(|program| program.lists(Fact::Leading, &option))
        };
        let given = || {
            let mut is_value = false;
            let mut leads = true;
            self.args.iter().filter_map(move |arg| {
                leads &= subcommand != Some(std::ptr::from_ref(arg));
                if std::mem::take(&mut is_value) || !arg.is_option() {
                    return None;
                }
                let text = arg.text.as_ref();
                if text.starts_with("--") {
                    is_value = takes_value(text);
                    return Some((text, leads));
                }
                // What comes after a letter with a value is that value.
                match text.find(is_valued_letter) {
                    Some(at) => {
                        is_value = at + 1 == text.len();
                        Some((&text[..=at], leads))
                    }
                    None => Some((text, leads)),
                }
            })
        };
        let possible = || {
            let args = self.args.iter();
            args.filter(move |_| certainty == Certainty::Perhaps)
                .flat_map(Arg::possible_options)
        };
        let placed = || given().chain(possible().map(|option| (option, false)));
        let options = || placed().map(|(option, _)| option);
        if let Some(long) = spelling.strip_prefix("--") {
            return placed().any(|(option, leads)| {
                let means = |c| spelled_out(spelled, c) == Some(long) && !(leads && is_leading(c));
                is_long(option, long)
                    || (!option.starts_with("--") && option[1..].chars().any(means))
            });
        }
        if options().any(|option| option == spelling) {
            return true;
        }
        let letters = spelling.trim_start_matches('-');
        letters.chars().all(|letter| {
            let same: &[char] = match letter {
                'r' | 'R' if fact(Fact::Destroys) == "tree" => &['r', 'R'],
                letter => &[letter],
            };
            options().any(|option| {
                (!option.starts_with("--") && option[1..].contains(same))
                    || long_of(spelled, letter).is_some_and(|long| is_long(option, long))
            })
        })
    }

    /// Whether an operand means all there is where the command works: `.`, `..`, `*`, `$PWD`, the workspace by its name, `:/` and
    /// other pathspecs of git that leave nothing out.
    pub(super) fn is_everything(&self, operand: &Arg<'_>) -> bool {
        let possible = operand.possible.words.iter();
        let mut possible = possible.map(|word| (word_text(word), word));
        self.means_everything(&operand.text, operand.word)
            || possible.any(|(text, word)| self.means_everything(&text, word))
    }

    fn means_everything(&self, mut text: &str, word: &Word) -> bool {
        if self.name == "git"
            && let Some(magic) = text.strip_prefix(':')
        {
            let (magic, rest) = match magic.strip_prefix('(') {
                Some(long) => long.split_once(')').unwrap_or((long, "")),
                None => {
                    let end = magic.find(|c| !"/!^:".contains(c));
                    magic.split_at(end.unwrap_or(magic.len()))
                }
            };
            if magic.contains(['!', '^']) || magic.contains("exclude") || rest.is_empty() {
                return true;
            }
            text = rest;
        }
        for here in [
            "$PWD",
            "${PWD}",
            "$(pwd)",
            "`pwd`",
            "$(git rev-parse --show-toplevel)",
        ] {
            text = text.strip_prefix(here).unwrap_or(text);
        }
        let located = self.locate(word);
        text.chars().all(|c| "./*".contains(c))
            || located.root == Root::Workspace && located.names.is_empty()
    }

    /// The paths that its words and redirections name.
    pub(super) fn paths(&self) -> &[PathWord] {
        self.paths.get_or_init(|| paths::of(self))
    }

    /// The hosts that its words name.
    pub(super) fn hosts(&self) -> &[String] {
        self.hosts.get_or_init(|| super::host::of(self))
    }

    /// The command as text, shortened.
    pub(super) fn text(&self) -> String {
        // No more than is shown: a long command may be wrong in many ways, and each is said with it.
        const ENOUGH: usize = 1000;
        let mut shown = String::new();
        for word in &self.command.words {
            if !shown.is_empty() {
                shown.push(' ');
            }
            shown.push_str(&word_text(word));
            if shown.len() > ENOUGH {
                break;
            }
        }
        text::shorten(&shown, 200)
    }
}

/// A word as text: what is not fixed as it was written.
pub(super) fn word_text(word: &Word) -> Cow<'_, str> {
    let part = |part: &'_ Part| match part {
        Part::Text(text) | Part::Glob(text) | Part::Dynamic(text) => text.clone(),
        Part::Variable(name) => format!("${name}"),
    };
    match word.parts.as_slice() {
        [] => Cow::Borrowed(""),
        [Part::Text(text)] => Cow::Borrowed(text),
        parts => Cow::Owned(parts.iter().map(part).collect()),
    }
}

/// Whether an option is a long one, in full, shortened, or with a value.
fn is_long(option: &str, long: &str) -> bool {
    let Some(given) = option.strip_prefix("--") else {
        return false;
    };
    let given = given.split('=').next().unwrap_or_default();
    !given.is_empty() && long.starts_with(given)
}

/// The long spelling of a short option, of those in a program's fact.
fn spelled_out(spelled: &'static str, letter: char) -> Option<&'static str> {
    let mut pairs = spelled.split_ascii_whitespace();
    pairs.find_map(|pair| {
        let (letters, long) = pair.split_once('=')?;
        letters.contains(letter).then_some(long)
    })
}

/// Like [`spelled_out`], but for a short option that a rule names: it also knows the letters on which most programs agree.
fn long_of(spelled: &'static str, letter: char) -> Option<&'static str> {
    spelled_out(spelled, letter).or(match letter {
        'r' => Some("recursive"),
        'f' => Some("force"),
        _ => None,
    })
}

/// Whether letters and words that may be an option's value count as options.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Certainty {
    Perhaps,
    Certain,
}

/// An option in all the spellings that mean it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Flag(Vec<String>);

impl Flag {
    pub(super) fn parse(text: &str) -> Self {
        Flag(text.split('|').map(|one| one.trim().to_owned()).collect())
    }

    /// Its problem, if there is one.
    pub(super) fn fault(&self) -> Option<String> {
        let wrong = |one: &&String| !one.starts_with('-') || one.trim_start_matches('-').is_empty();
        let wrong = self.0.iter().find(wrong)?;
        Some(format!(
            "`{wrong}` is not an option; options start with `-`"
        ))
    }
}

/// Alternatives for one word: `push|fetch`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Words(Vec<NameGlob>);

impl Words {
    pub(super) fn parse(text: &str) -> Self {
        Words(text.split('|').map(NameGlob::parse).collect())
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.0.iter().any(|glob| glob.matches(text))
    }
}
