//! Builtins of bash that run text, move, or change what the rest of the text means.

use super::lex::Dialect;
use super::options::{self, Spec};
use super::runners::Runner;
use super::script::{Directory, Part, Word};
use super::walk::{Context, Input, Outcome, Walker};
use super::{declarations, shells};

pub(super) fn find(name: &str) -> Option<Runner> {
    Some(match name {
        "cd" | "chdir" | "pushd" | "popd" => change_directory,
        "eval" => eval,
        "." | "source" => source,
        "exec" => exec,
        "command" | "builtin" => command,
        "trap" => trap,
        "exit" | "return" | "break" | "continue" | "logout" => leave,
        "export" | "declare" | "typeset" | "local" | "readonly" => declarations::declare,
        "set" => set,
        "shopt" => shopt,
        "alias" => alias,
        "read" | "unset" | "getopts" | "wait" | "mapfile" | "readarray" | "printf" => {
            declarations::names
        }
        "test" | "[" => declarations::test,
        "let" => declarations::calculate,
        "compgen" | "complete" | "compopt" | "bind" | "enable" | "hash" | "fc" | "jobs"
        | "history" => rare,
        _ => return None,
    })
}

pub(super) fn is_known(name: &str) -> bool {
    find(name).is_some()
}

fn stays(walker: &Walker) -> Outcome {
    Outcome::stays(&walker.directory)
}

/// How deep a directory may be that is only hoped for: every path of every command is kept for it as well.
const MAX_HOPED: usize = 16;

fn change_directory(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    _context: &Context<'_>,
) -> Outcome {
    walker.movements += 1;
    let before = walker.directory.clone();
    let hoped = std::mem::replace(&mut walker.hoped, Directory::Unknown);
    let unknown = Outcome {
        ok: Some(Directory::Unknown),
        failed: Some(before.clone()),
    };
    if name == "popd" || walker.unsteady {
        return unknown;
    }
    let spec = Spec {
        flags: "LPe@n",
        ..Spec::default()
    };
    // One word that does not begin with a dash is not an option, whatever is in it.
    let (given, used) = match &words[1..] {
        [word] if !word.literal_prefix().starts_with('-') => (Vec::new(), 0),
        words => match options::parse(words, &spec) {
            Ok(parsed) => parsed,
            Err(_) => return unknown,
        },
    };
    // It only changes the list of directories then.
    if name == "pushd" && given.iter().any(|option| option.name == "n") {
        walker.movements -= 1;
        walker.hoped = hoped;
        return Outcome::stays(&before);
    }
    let physical = given.iter().any(|option| option.name == "P");
    let home = |walker: &mut Walker, rest: &str| {
        walker.hoped = Directory::home(rest);
        Outcome {
            ok: Some(Directory::home(rest)),
            failed: Some(before.clone()),
        }
    };
    let target = match &words[1 + used..] {
        [target] => target,
        [] if name == "cd" && !walker.facts.sets("HOME") => return home(walker, ""),
        _ => return unknown,
    };
    let path = match target.parts.as_slice() {
        [Part::Variable(name)] if name == "HOME" => return home(walker, ""),
        [Part::Variable(name), Part::Text(rest)]
            if name == "HOME" && rest.starts_with('/') && !physical =>
        {
            return home(walker, rest);
        }
        _ => target.as_static(),
    };
    let Some(path) = path else {
        return unknown;
    };
    let fixed = ["/", "./", "../"]
        .iter()
        .any(|start| path.starts_with(start))
        || matches!(path, "." | "..");
    let elsewhere = path == "-"
        || name == "pushd" && path.starts_with(['+', '-'])
        || !fixed && walker.facts.sets("CDPATH")
        || physical && path.split('/').any(|part| part == "..");
    if elsewhere {
        return unknown;
    }
    walker.note_visit(path);
    walker.hoped = match hoped.join(path) {
        Directory::Known(path) if path.matches('/').count() > MAX_HOPED => Directory::Unknown,
        directory => directory,
    };
    Outcome {
        ok: Some(before.join(path)),
        failed: if path == "/" { None } else { Some(before) },
    }
}

/// The words as one text, when they are all fixed.
pub(super) fn joined(words: &[Word]) -> Option<String> {
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        text.push_str(word.as_static()?);
    }
    Some(text)
}

fn eval(walker: &mut Walker, _name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let mut words = &words[1..];
    if words.first().and_then(Word::as_static) == Some("--") {
        words = &words[1..];
    }
    walker.forget();
    match joined(words) {
        Some(text) => {
            let outcome = walker.text(&text, Dialect::Bash, &context.inside("eval"));
            let unsure = Outcome::stays(&Directory::Unknown);
            if matches!((&outcome.ok, &outcome.failed), (Some(ok), Some(failed)) if *ok == walker.directory && *failed == walker.directory)
            {
                outcome
            } else {
                unsure
            }
        }
        None => {
            walker.movements += 1;
            walker.may_survive_errors = true;
            shells::read_unclear(
                walker,
                words,
                Dialect::Bash,
                &context.inside("eval"),
                "`eval` runs a text that cannot be determined",
            );
            Outcome::stays(&Directory::Unknown)
        }
    }
}

fn source(walker: &mut Walker, _name: &str, words: &[Word], _context: &Context<'_>) -> Outcome {
    walker.forget();
    walker.movements += 1;
    walker.may_survive_errors = true;
    let file = words
        .iter()
        .skip(1)
        .find(|word| word.as_static() != Some("--"));
    if let Some(file) = file {
        walker.note_script(file);
    }
    // An unquoted variable may be nothing, and then the next word is the file.
    let moves_up = |file: &Word| file.splits && words.iter().any(Word::is_dynamic);
    let fine = file.is_some_and(|file| {
        !file.is_dynamic() && !moves_up(file) && !shells::is_unclear_file(file)
    });
    if !fine {
        let shown = file.map(Word::shown).unwrap_or_default();
        walker.doubt(
            "commands are read from something that cannot be determined",
            &shown,
        );
    }
    Outcome::stays(&Directory::Unknown)
}

fn exec(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let spec = Spec {
        flags: "cl",
        valued: "a",
        ..Spec::default()
    };
    match options::parse(&words[1..], &spec) {
        Ok((_, used)) => {
            let rest = &words[1 + used..];
            if rest.is_empty() {
                walker.other_input |= !matches!(context.input, Input::Start | Input::Given(_));
                return stays(walker);
            }
            walker.run_words(rest.to_vec(), &context.inside(name));
            Outcome::NEVER
        }
        Err(shown) => {
            walker.doubt("it cannot be determined which program `exec` runs", &shown);
            stays(walker)
        }
    }
}

fn command(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let spec = Spec {
        flags: if name == "command" { "pvV" } else { "" },
        ..Spec::default()
    };
    match options::parse(&words[1..], &spec) {
        Ok((given, used)) => {
            if given.iter().any(|option| option.name != "p") {
                return stays(walker);
            }
            let rest = &words[1 + used..];
            let inner = rest.first().and_then(Word::as_static).unwrap_or("");
            let special = matches!(
                inner,
                "cd" | "pushd" | "popd" | "eval" | "." | "source" | "command" | "builtin"
            );
            walker.run_words(rest.to_vec(), &context.inside(name));
            if special {
                walker.movements += 1;
                walker.forget();
                return Outcome::stays(&Directory::Unknown);
            }
            stays(walker)
        }
        Err(shown) => {
            walker.doubt(
                format!("it cannot be determined which command `{name}` runs"),
                &shown,
            );
            Outcome::stays(&Directory::Unknown)
        }
    }
}

fn trap(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let mut words = &words[1..];
    if words.first().and_then(Word::as_static) == Some("--") {
        words = &words[1..];
    }
    let [action, signals @ ..] = words else {
        return stays(walker);
    };
    match action.as_static() {
        Some("-p" | "-l" | "-P" | "-" | "") => {}
        Some(text) if !signals.is_empty() => {
            // It runs wherever the shell is by then, and between any two commands.
            let text = text.to_owned();
            let movements = walker.movements;
            let listed = walker.script.commands.len();
            walker.in_directory(Directory::Unknown, |walker| {
                walker.text(&text, Dialect::Bash, &context.inside(name));
            });
            let at_exit = signals
                .iter()
                .all(|signal| matches!(signal.as_static(), Some("EXIT" | "0")));
            // A function in it may be defined later.
            let may_call = !walker.facts.moving.is_empty()
                && walker.script.commands[listed..].iter().any(|command| {
                    command.name().is_none_or(|name| {
                        !walker.functions.contains_key(name) || walker.function_moves(name)
                    })
                });
            if (walker.movements > movements || may_call) && !at_exit {
                walker.unsteady = true;
                walker.directory = Directory::Unknown;
            }
        }
        Some(_) => {}
        None => walker.doubt(
            "`trap` sets a text to run that cannot be determined",
            &action.shown(),
        ),
    }
    stays(walker)
}

fn leave(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let number = |word: &Word| {
        word.as_static()
            .is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let plain = match &words[1..] {
        [] => true,
        [status] => match name {
            "exit" | "return" => {
                // `exit $?`
                number(status)
                    || matches!(status.parts.as_slice(), [Part::Dynamic(source)] if source == "$?")
            }
            _ => number(status) && status.as_static() != Some("0"),
        },
        _ => false,
    };
    // Outside of functions and loops bash complains and goes on.
    let works = match name {
        "exit" => true,
        "return" => context.in_function,
        "break" | "continue" => context.in_loop,
        _ => false,
    };
    if plain && works {
        Outcome::NEVER
    } else {
        stays(walker)
    }
}

/// `set -e`, `set +e`
fn errexit(walker: &mut Walker, on: bool, context: &Context<'_>) {
    walker.ends_on_error = on && (context.straight || walker.ends_on_error);
    walker.may_survive_errors |= !on && !context.straight;
}

fn set(walker: &mut Walker, _name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        let Some(text) = word.as_static() else {
            walker.doubt("shell options that cannot be determined", &word.shown());
            walker.note_list("@", words[at - 1..].to_vec());
            break;
        };
        if matches!(text, "--" | "-") {
            walker.note_list("@", words[at..].to_vec());
            break;
        }
        if !text.starts_with(['-', '+']) {
            walker.note_list("@", words[at - 1..].to_vec());
            break;
        }
        let on = text.starts_with('-');
        for letter in text[1..].chars() {
            match letter {
                'e' => errexit(walker, on, context),
                'a' | 'u' | 'f' | 'x' | 'v' | 'h' | 'm' | 'b' | 'C' | 'E' | 'T' | 'n' => {}
                'B' if on => {}
                'o' => {
                    let option = words.get(at).and_then(Word::as_static);
                    at += 1;
                    match option {
                        None => {}
                        Some("errexit") => errexit(walker, on, context),
                        Some(
                            "nounset"
                            | "pipefail"
                            | "xtrace"
                            | "noglob"
                            | "noclobber"
                            | "allexport"
                            | "monitor"
                            | "verbose"
                            | "errtrace"
                            | "functrace"
                            | "notify"
                            | "noexec"
                            | "emacs"
                            | "vi"
                            | "ignoreeof"
                            | "interactive-comments"
                            | "nolog",
                        ) => {}
                        Some(option) => walker.doubt(
                            "an option of the shell that changes how the text is read",
                            option,
                        ),
                    }
                }
                _ => walker.doubt(
                    "an option of the shell that changes how the text is read",
                    text,
                ),
            }
        }
    }
    stays(walker)
}

fn shopt(walker: &mut Walker, _name: &str, words: &[Word], _context: &Context<'_>) -> Outcome {
    for word in &words[1..] {
        let harmless = matches!(
            word.as_static(),
            Some(
                "-s" | "-u"
                    | "-q"
                    | "-p"
                    | "nullglob"
                    | "globstar"
                    | "dotglob"
                    | "nocaseglob"
                    | "failglob"
                    | "inherit_errexit"
                    | "nocasematch"
                    | "checkwinsize"
                    | "histappend"
                    | "huponexit"
                    | "cmdhist"
                    | "checkhash"
                    | "xpg_echo"
            )
        );
        if !harmless {
            walker.doubt(
                "an option of the shell that changes how the text is read",
                &word.shown(),
            );
        }
    }
    stays(walker)
}

fn alias(walker: &mut Walker, _name: &str, words: &[Word], _context: &Context<'_>) -> Outcome {
    let defines = words[1..]
        .iter()
        .any(|word| !word.is_static() || word.literal_prefix().contains('='));
    if defines {
        walker.doubt(
            "an alias changes what later words mean",
            &words[1..]
                .iter()
                .map(Word::shown)
                .collect::<Vec<_>>()
                .join(" "),
        );
    }
    stays(walker)
}

fn rare(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let runs = match name {
        "jobs" => {
            if let Some(at) = words.iter().position(|word| word.as_static() == Some("-x")) {
                walker.run_words(words[at + 1..].to_vec(), &context.inside(name));
            }
            false
        }
        "hash" | "enable" => words[1..].iter().any(|word| {
            !word.is_static()
                || word.literal_prefix().starts_with('-') && word.as_static() != Some("-r")
        }),
        "compgen" => {
            !matches!(
                words.get(1).and_then(Word::as_static),
                Some("-c" | "-b" | "-a" | "-k" | "-v" | "-A")
            ) || words.len() > 3
        }
        "history" => false,
        _ => words.len() > 1,
    };
    if runs {
        walker.doubt(
            format!("`{name}` may run or change commands"),
            &words[1..]
                .iter()
                .map(Word::shown)
                .collect::<Vec<_>>()
                .join(" "),
        );
    }
    stays(walker)
}
