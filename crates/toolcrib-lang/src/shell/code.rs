//! Interpreters' inline code: `python3 -c`, `perl -e`, `node -e` and their kin, and the same code on their input.
//!
//! Text in code is not dangerous by itself. What counts are the calls that start programs: a fixed text given to one is read as
//! commands, anything else is a doubt. Deleting or writing files by the language's own means is the sandbox's business.

use super::lex::Dialect;
use super::programs::{self, Fact, Program};
use super::script::{Code, Word};
use super::shells::{is_unclear_file, is_unclear_input};
use super::walk::{Context, Input, Outcome, Walker};
use super::{calls, python};

/// What a call in code starts.
#[derive(Debug, PartialEq)]
pub(super) enum Call {
    /// A text for a shell.
    Text(String),
    Words(Vec<String>),
    /// Something unknown: the name of the call.
    Unclear(String),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Language {
    Python,
    Node,
    Perl,
    Ruby,
    Php,
    Lua,
    R,
}

impl Language {
    /// The language of an interpreter.
    pub(super) fn of(program: &Program) -> Option<Language> {
        Some(match program.get(Fact::Language) {
            "python" => Language::Python,
            "node" => Language::Node,
            "perl" => Language::Perl,
            "ruby" => Language::Ruby,
            "php" => Language::Php,
            "lua" => Language::Lua,
            "r" => Language::R,
            _ => return None,
        })
    }
}

/// The names of languages that rules may use.
pub(crate) const LANGUAGES: &[&str] = &["python", "node", "perl", "ruby", "php", "lua", "r"];

pub(super) fn run(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let stays = Outcome::stays(&walker.directory);
    let program = programs::version(name);
    let Some((program, language)) =
        program.and_then(|program| Some((program, Language::of(program)?)))
    else {
        return stays;
    };
    let inner = context.inside(name);
    let codes = codes(walker, program, language, name, words, context);
    // It was listed just now.
    if let Some(command) = walker.script.commands.last_mut()
        && !codes.is_empty()
    {
        command.code = Some(Code {
            language: program.get(Fact::Language),
            texts: codes.clone(),
        });
    }
    if name == "bun" && codes.is_empty() {
        return super::text_wrappers::run_in_project(walker, name, words, context);
    }
    for code in codes {
        let Some(text) = code.as_static() else {
            if code != unread() {
                walker.doubt(
                    format!("code for `{name}` that cannot be determined"),
                    &code.shown(),
                );
            }
            continue;
        };
        if name.starts_with("ipython") && text.contains(['!', '%']) {
            walker.doubt(format!("`{name}` runs what comes after `!` or `%`"), text);
        }
        if !walker.step(text.len()) {
            break;
        }
        let calls = match language {
            Language::Python => python::calls(text),
            language => calls::calls(program, language, text),
        };
        for call in calls {
            match call {
                Call::Text(text) => walker.child_text(&text, Dialect::Sh, &inner),
                Call::Words(words) => {
                    walker.run_words(words.into_iter().map(Word::text).collect(), &inner);
                }
                Call::Unclear(what) => walker.doubt(
                    format!(
                        "`{what}` in code for `{name}` may run something that cannot be determined"
                    ),
                    text,
                ),
            }
        }
    }
    stays
}

/// Stands for code that comes from a pipe or a file; there is a doubt about it already.
fn unread() -> Word {
    Word::dynamic("<")
}

/// The code that an interpreter is given in its words or on its input.
fn codes(
    walker: &mut Walker,
    program: &Program,
    language: Language,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Vec<Word> {
    let mut codes: Vec<Word> = Vec::new();
    let mut separators: Vec<Word> = Vec::new();
    let mut at = 1;
    let mut has_script = false;
    if matches!(name, "deno" | "bun") {
        match words.get(1).and_then(Word::as_static) {
            Some("eval") => {
                codes.extend(
                    words[2..]
                        .iter()
                        .find(|word| !word.literal_prefix().starts_with('-'))
                        .cloned(),
                );
                has_script = true;
            }
            Some("-e" | "--eval" | "-p" | "--print") => {}
            // `deno run -` and `bun run -` run their input.
            _ => {
                let script = words[1..].iter().find(|word| {
                    let start = word.literal_prefix();
                    (!start.starts_with('-') || start == "-") && word.as_static() != Some("run")
                });
                if !script.is_some_and(is_unclear_input) {
                    return codes;
                }
                at = words.len();
            }
        }
    }
    while !has_script && let Some(word) = words.get(at) {
        at += 1;
        let start = word.literal_prefix();
        if !start.starts_with('-') || start == "-" && word.is_static() {
            let script =
                word.is_static() || !(is_unclear_file(word) || word.splits && word.is_dynamic());
            if !script || is_unclear_file(word) {
                walker.doubt(
                    format!("it cannot be determined what `{name}` runs"),
                    &word.shown(),
                );
                // What it may be is its input, as `/dev/stdin`.
                codes.push(match walker.input(context) {
                    Input::Text(text) => Word::clone(&text),
                    _ => unread(),
                });
            }
            has_script = start != "-" || !word.is_static();
            if has_script {
                walker.note_any(word, program.words(Fact::Mains));
            }
            break;
        }
        if !word.is_static() && word.splits {
            walker.doubt(
                format!("it cannot be determined what `{name}` runs"),
                &word.shown(),
            );
            codes.push(unread());
            return codes;
        }
        // Perl makes code of what `-F` splits lines at.
        if language == Language::Perl
            && let Some(letter) = start.find(['F', 'e', 'E', 'M', 'm', 'I', 'i'])
            && start[letter..].starts_with('F')
        {
            separators.extend(word.after(&start[..=letter]));
        }
        match option(program, language, start) {
            Opt::Flag => {}
            Opt::Value => at += 1,
            Opt::Stop => return Vec::new(),
            Opt::Script => {
                has_script = true;
                match (language, words.get(at)) {
                    (Language::Python, attached) => {
                        let module = word.after("-m").filter(|rest| !rest.parts.is_empty());
                        walker.note_module(module.as_ref().or(attached));
                    }
                    (_, Some(file)) => walker.note_script(file),
                    (_, None) => {}
                }
                // Some modules are given code.
                let module = words.get(at).and_then(Word::as_static);
                if start.ends_with("timeit") || start.ends_with('m') && module == Some("timeit") {
                    codes.extend(words[at..].iter().cloned());
                }
                let talks = ["pdb", "code", "IPython", "asyncio", "ptpython", "bpython"];
                if start.ends_with('m') && module.is_some_and(|module| talks.contains(&module))
                    || talks
                        .iter()
                        .any(|module| start.strip_prefix("-m") == Some(module))
                {
                    walker.doubt(format!("a module of `{name}` that may run anything"), start);
                }
            }
            Opt::CodeNext => {
                match words.get(at) {
                    Some(code) => codes.push(code.clone()),
                    None => walker.doubt(format!("`{name}` without its code"), start),
                }
                at += 1;
                has_script = language == Language::Python;
            }
            Opt::CodeAttached(length) => {
                codes.extend(word.after(&start[..length]));
                has_script = language == Language::Python;
            }
            Opt::Unclear => walker.doubt(
                format!("an option of `{name}` that may run something"),
                start,
            ),
        }
    }
    // `<>` opens what its words name, and `ls|` is a command to it.
    let names_command = |walker: &mut Walker, word: &Word| {
        let text = word.shown();
        text.contains('|')
            && (text.contains("ARGV")
                || !text.starts_with('-') && walker.step(codes.len()) && !codes.contains(word))
    };
    if language == Language::Perl && words[1..].iter().any(|word| names_command(walker, word)) {
        walker.doubt(
            format!("`{name}` runs names of files that have a bar in them"),
            name,
        );
    }
    if codes.is_empty() && !has_script {
        if let Input::Given(text) = &context.input {
            walker.doubt(
                format!("`{name}` runs its input, which no rule can judge"),
                &text.shown(),
            );
        }
        match walker.input(context) {
            Input::Text(text) => codes.push(Word::clone(&text)),
            Input::Given(_) | Input::Start | Input::Piped | Input::File | Input::Unknown => {
                walker.doubt(
                    format!("`{name}` runs its input, which cannot be determined"),
                    name,
                );
                codes.push(unread());
            }
        }
    }
    codes.extend(separators);
    codes
}

/// What an option means for where the code is.
#[derive(Debug, PartialEq)]
enum Opt {
    Flag,
    /// The next word is its value.
    Value,
    /// It runs nothing.
    Stop,
    /// What follows is a module or script.
    Script,
    CodeNext,
    /// Code begins after so many bytes of the word.
    CodeAttached(usize),
    Unclear,
}

fn option(program: &Program, language: Language, option: &str) -> Opt {
    if let Some(long) = option.strip_prefix("--") {
        return match long.split_once('=') {
            _ if matches!(long, "version" | "help") => Opt::Stop,
            _ if program.lists(Fact::Code, option) => Opt::CodeNext,
            _ if program.lists(Fact::Values, option) => Opt::Value,
            _ if program.lists(Fact::Stops, option) => Opt::Stop,
            Some((name, _)) if language == Language::Node => {
                let name = &option[..2 + name.len()];
                match program.lists(Fact::Code, name) {
                    true => Opt::CodeAttached(name.len() + 1),
                    false => Opt::Flag,
                }
            }
            _ if long.is_empty() || is_plain(program, long) => Opt::Flag,
            _ => Opt::Unclear,
        };
    }
    let letters = &option[1..];
    for (index, letter) in letters.char_indices() {
        let end = 1 + index + letter.len_utf8();
        let rest = &option[end..];
        let last = rest.is_empty();
        let lists = |fact: Fact| {
            let mut options = program.words(fact);
            options.any(|known| known.strip_prefix('-') == Some(&option[1 + index..end]))
        };
        match (language, letter) {
            // `-pe` is both.
            (Language::Node, 'e' | 'p') => {
                return match rest {
                    "" | "e" => Opt::CodeNext,
                    _ => Opt::Unclear,
                };
            }
            // The rest of the word belongs to these.
            (Language::Perl | Language::Ruby, 'i') => {
                return if letters.ends_with(['e', 'E']) && !last {
                    Opt::Unclear
                } else {
                    Opt::Flag
                };
            }
            (Language::Perl | Language::Ruby, '0' | 'l' | 'F' | 'D' | 'x' | 'K' | 'T' | 'W')
                if letter != 'l' || rest.starts_with(|c: char| c.is_ascii_digit()) =>
            {
                return if letters.ends_with(['e', 'E']) && !last {
                    Opt::CodeNext
                } else {
                    Opt::Flag
                };
            }
            (Language::Perl, 'M' | 'm') => {
                let plain = rest
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b":_=,-.".contains(&byte));
                return match (plain, last) {
                    (true, false) => Opt::Flag,
                    _ => Opt::Unclear,
                };
            }
            _ if lists(Fact::Code) && last => return Opt::CodeNext,
            _ if lists(Fact::Code) => return Opt::CodeAttached(end),
            _ if lists(Fact::Values) && last => return Opt::Value,
            _ if lists(Fact::Values) => return Opt::Flag,
            _ if lists(Fact::Scripts) => return Opt::Script,
            _ if lists(Fact::Stops) => return Opt::Stop,
            _ if lists(Fact::Asks) => return Opt::Unclear,
            _ => {}
        }
    }
    Opt::Flag
}

/// Whether a long option is of no concern; `max*` means all that begin with `max`.
fn is_plain(program: &Program, long: &str) -> bool {
    program
        .words(Fact::Plain)
        .any(|plain| match plain.strip_suffix('*') {
            Some(start) => long.starts_with(start),
            None => long == plain,
        })
}
