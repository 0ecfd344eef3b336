//! Interpreters' inline code: `python3 -c`, `perl -e`, `node -e` and their kin.
//!
//! Text in code is no danger by itself. What counts are the calls that start programs: a fixed text given to one is read as
//! commands, anything else is a doubt. Deleting or writing files by the language's own means is the sandbox's business.

use super::lex::Dialect;
use super::python;
use super::runners::Runner;
use super::script::Word;
use super::shells::is_unclear_file;
use super::walk::{Context, Input, Outcome, Walker};

/// What a call in code starts.
#[derive(Debug, PartialEq)]
pub(super) enum Call {
    /// A text for a shell.
    Text(String),
    Words(Vec<String>),
    /// Something that cannot be told: the name of the call.
    Unclear(String),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Language {
    Python,
    Node,
    Perl,
    Ruby,
    Php,
    Lua,
    R,
}

fn language(name: &str) -> Option<Language> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match stem {
        "python" | "pypy" | "ipython" => Language::Python,
        "node" | "nodejs" | "bun" | "deno" => Language::Node,
        "perl" => Language::Perl,
        "ruby" | "jruby" => Language::Ruby,
        "php" => Language::Php,
        "lua" | "luajit" => Language::Lua,
        "Rscript" | "R" | "littler" => Language::R,
        _ => return None,
    })
}

pub(super) fn find(name: &str) -> Option<Runner> {
    // Most names are decided by their first letter.
    if !name.starts_with(['p', 'n', 'b', 'd', 'r', 'l', 'R', 'i', 'j']) {
        return None;
    }
    language(name).map(|_| run as Runner)
}

fn run(walker: &mut Walker, name: &str, words: &[Word], context: &Context<'_>) -> Outcome {
    let stays = Outcome::stays(&walker.directory);
    let Some(language) = language(name) else {
        return stays;
    };
    let inner = context.inside(name);
    let mut codes: Vec<Word> = Vec::new();
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
            _ => return stays,
        }
    }
    while !has_script && let Some(word) = words.get(at) {
        at += 1;
        let start = word.literal_prefix();
        if !start.starts_with('-') || start == "-" && word.is_static() {
            let script =
                word.is_static() || !(is_unclear_file(word) || word.splits && word.is_dynamic());
            if !script || is_unclear_file(word) {
                walker.doubt(format!("what `{name}` runs cannot be told"), &word.shown());
            }
            has_script = start != "-" || !word.is_static();
            break;
        }
        if !word.is_static() && word.splits {
            walker.doubt(format!("what `{name}` runs cannot be told"), &word.shown());
            return stays;
        }
        match option(language, start) {
            Opt::Flag => {}
            Opt::Value => at += 1,
            Opt::Stop => return stays,
            Opt::Script => {
                has_script = true;
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
    if codes.is_empty() && !has_script {
        match &context.input {
            Input::Text(text) => codes.push(text.clone()),
            Input::Start | Input::Piped | Input::File | Input::Unknown => {
                walker.doubt(
                    format!("`{name}` runs its input, which cannot be told"),
                    name,
                );
            }
        }
    }
    for code in codes {
        let Some(text) = code.as_static() else {
            walker.doubt(
                format!("code for `{name}` that cannot be told"),
                &code.shown(),
            );
            continue;
        };
        let calls = match language {
            Language::Python => python::calls(text),
            language => calls(language, text),
        };
        for call in calls {
            match call {
                Call::Text(text) => walker.child_text(&text, Dialect::Sh, &inner),
                Call::Words(words) => {
                    walker.run_words(words.into_iter().map(Word::text).collect(), &inner);
                }
                Call::Unclear(what) => walker.doubt(
                    format!("`{what}` in code for `{name}` may run something that cannot be told"),
                    text,
                ),
            }
        }
    }
    stays
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

fn option(language: Language, option: &str) -> Opt {
    if let Some(long) = option.strip_prefix("--") {
        return match (language, long) {
            (_, "version" | "help") => Opt::Stop,
            (_, "") => Opt::Flag,
            (Language::Node, "eval" | "print") => Opt::CodeNext,
            (Language::Node, "require" | "import" | "loader" | "experimental-loader") => Opt::Value,
            (Language::Node, long) if long.starts_with("eval=") => {
                Opt::CodeAttached("--eval=".len())
            }
            (Language::Node, long) if long.starts_with("print=") => {
                Opt::CodeAttached("--print=".len())
            }
            (Language::Node, "test" | "watch" | "check") => Opt::Flag,
            (Language::Node, long)
                if long.starts_with("max")
                    || long.contains('=')
                    || long.starts_with("no-")
                    || long.starts_with("trace")
                    || long.starts_with("input-type") =>
            {
                Opt::Flag
            }
            (
                Language::R,
                "vanilla" | "no-save" | "slave" | "quiet" | "no-echo" | "no-restore" | "silent",
            ) => Opt::Flag,
            (Language::Php, "run") => Opt::CodeNext,
            (Language::Php, "ini" | "info" | "modules") => Opt::Stop,
            (Language::Python, "check-hash-based-pycs") => Opt::Value,
            _ => Opt::Unclear,
        };
    }
    let letters = &option[1..];
    for (index, letter) in letters.char_indices() {
        let end = 1 + index + letter.len_utf8();
        let last = end == option.len();
        let value = if last { Opt::Value } else { Opt::Flag };
        let code = if last {
            Opt::CodeNext
        } else {
            Opt::CodeAttached(end)
        };
        match (language, letter) {
            (Language::Python, 'c') => return code,
            (Language::Python, 'm') => return Opt::Script,
            (Language::Python, 'W' | 'X' | 'Q') => return value,
            (Language::Python, 'V' | 'h') => return Opt::Stop,
            (Language::Python, 'i') => return Opt::Unclear,
            (Language::Node, 'e' | 'p') => {
                // `-pe` is both.
                if letters[index + 1..].is_empty() || letters[index + 1..] == *"e" {
                    return Opt::CodeNext;
                }
                return Opt::Unclear;
            }
            (Language::Node, 'r' | 'C') => return value,
            (Language::Node, 'v' | 'h') => return Opt::Stop,
            (Language::Perl, 'e' | 'E') | (Language::Ruby, 'e') => return code,
            // The rest of the word belongs to these.
            (Language::Perl | Language::Ruby, 'i') => {
                return if letters.ends_with(['e', 'E']) && !last {
                    Opt::Unclear
                } else {
                    Opt::Flag
                };
            }
            (Language::Perl | Language::Ruby, '0' | 'l' | 'F' | 'D' | 'x' | 'K' | 'T' | 'W')
                if letter != 'l'
                    || letters[index + 1..].starts_with(|c: char| c.is_ascii_digit()) =>
            {
                return if letters.ends_with(['e', 'E']) && !last {
                    Opt::CodeNext
                } else {
                    Opt::Flag
                };
            }
            (Language::Perl, 'M' | 'm') => {
                let module = &letters[index + 1..];
                let plain = module
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b":_=,-.".contains(&byte));
                return match (plain, last) {
                    (true, false) => Opt::Flag,
                    _ => Opt::Unclear,
                };
            }
            (Language::Perl | Language::Ruby, 'I') | (Language::Ruby, 'r' | 'C' | 'E') => {
                return value;
            }
            (Language::Perl, 'v' | 'V' | 'h' | 'c') | (Language::Ruby, 'h') => return Opt::Stop,
            (Language::Perl, 'd' | 'S' | 's') => return Opt::Unclear,
            (Language::Php, 'r' | 'B' | 'R' | 'E') => return code,
            (Language::Php, 'f' | 'F' | 'S' | 't') => return Opt::Script,
            (Language::Php, 'd' | 'c' | 'z') => return Opt::Unclear,
            (Language::Php, 'v' | 'i' | 'm' | 'h') => return Opt::Stop,
            (Language::Php, 'l') => return Opt::Script,
            (Language::Lua, 'e') | (Language::R, 'e') => return code,
            (Language::Lua, 'l') => return value,
            (Language::Lua, 'v') => return Opt::Stop,
            (Language::R, 'f') => return Opt::Script,
            _ => {}
        }
    }
    Opt::Flag
}

/// Words of a language that start programs, or make code out of text.
fn risky(language: Language) -> (&'static [&'static str], &'static [&'static str]) {
    match language {
        Language::Python => (&[], &[]),
        Language::Node => (
            &[
                "exec",
                "execSync",
                "spawn",
                "spawnSync",
                "execFile",
                "execFileSync",
                "fork",
            ],
            &[
                "eval",
                "Function",
                "binding",
                "mainModule",
                "_load",
                "createRequire",
                "globalThis",
                "vm",
                "Worker",
                "cluster",
                "Bun",
                "Deno",
                "dlopen",
                "constructor",
                "_linkedBinding",
            ],
        ),
        Language::Perl => (
            &["system", "exec"],
            &[
                "qx",
                "open",
                "open2",
                "open3",
                "eval",
                "readpipe",
                "syscall",
                "fork",
                "require",
                "do",
                "glob",
                "DynaLoader",
                "XSLoader",
                "Inline",
                "pipe",
                "IPC",
                "Symbol",
            ],
        ),
        Language::Ruby => (
            &[
                "system",
                "exec",
                "spawn",
                "popen",
                "capture2",
                "capture2e",
                "capture3",
                "popen3",
            ],
            &[
                "eval",
                "instance_eval",
                "class_eval",
                "module_eval",
                "send",
                "__send__",
                "public_send",
                "method",
                "const_get",
                "PTY",
                "Fiddle",
                "syscall",
                "fork",
                "load",
                "binding",
                "open",
                "readlines",
                "IO",
                "define_method",
            ],
        ),
        Language::Php => (
            &["system", "exec", "shell_exec", "passthru", "popen"],
            &[
                "proc_open",
                "pcntl_exec",
                "eval",
                "assert",
                "call_user_func",
                "call_user_func_array",
                "create_function",
                "array_map",
                "array_walk",
                "array_filter",
                "usort",
                "include",
                "include_once",
                "require",
                "require_once",
                "dl",
                "mail",
                "ReflectionFunction",
                "FFI",
                "preg_replace_callback",
                "register_shutdown_function",
                "ob_start",
                "invoke",
                "expect_popen",
            ],
        ),
        Language::Lua => (
            &["execute", "popen"],
            &[
                "load",
                "loadstring",
                "dofile",
                "loadfile",
                "loadlib",
                "require",
                "_G",
                "_ENV",
                "debug",
            ],
        ),
        Language::R => (
            &["system", "shell"],
            &[
                "system2", "eval", "parse", "source", "pipe", "do", "get", "match", "dyn",
                "processx", "sys", "library",
            ],
        ),
    }
}

fn calls(language: Language, code: &str) -> Vec<Call> {
    let mut found = Vec::new();
    let (starting, unclear) = risky(language);
    // Without the module there is nothing to call; `/re/.exec(text)` is everywhere.
    let starts_at_all = language != Language::Node || code.contains("child_process");
    let mut from = 0;
    for (at, word) in identifiers(code) {
        if at < from {
            continue;
        }
        let rest = &code[at + word.len()..];
        let sigil = at > 0
            && matches!(code.as_bytes()[at - 1], b'$' | b'@' | b'%')
            && matches!(language, Language::Perl | Language::Php);
        if sigil {
            continue;
        }
        if starting.contains(&word) && starts_at_all {
            match arguments(language, rest) {
                Some((mut texts, used)) => {
                    from = at + word.len() + used;
                    let list = matches!(
                        word,
                        "spawn" | "spawnSync" | "execFile" | "execFileSync" | "fork"
                    ) && language == Language::Node;
                    found.push(if texts.len() == 1 && !list {
                        Call::Text(texts.remove(0))
                    } else {
                        Call::Words(texts)
                    });
                }
                None => found.push(Call::Unclear(word.to_owned())),
            }
        } else if unclear.contains(&word) {
            let harmless = match (language, word) {
                // `do { … }`, `library(dplyr)`
                (Language::Perl, "do") => rest.trim_start().starts_with('{'),
                (Language::Perl, "require") => rest
                    .trim_start()
                    .starts_with(|c: char| c.is_ascii_uppercase()),
                (Language::Perl, "open") => !code.contains('|') && !code.contains("-\""),
                (Language::Ruby, "open" | "readlines" | "IO") => !code.contains('|'),
                (Language::R, "do" | "match" | "get" | "library" | "parse" | "source" | "sys") => {
                    !rest.starts_with('(')
                }
                _ => false,
            };
            if !harmless {
                found.push(Call::Unclear(word.to_owned()));
            }
        }
    }
    let odd: &[&str] = match language {
        Language::Node => &[
            "process[", "global[", "this[", "module[", "\\x", "\\u", "import(", "require[",
        ],
        Language::Perl => &["(?{", "(??{", "&{", "&$", "->$", "|-", "-|", "CORE::", "*{"],
        Language::Ruby => &["%x", ".()", "&:"],
        Language::Php => &["${", "\\x", "$$", "]("],
        Language::Lua => &["[\"", "['", "\\x", "_ENV"],
        Language::Python | Language::R => &[],
    };
    found.extend(
        odd.iter()
            .filter(|sign| code.contains(**sign))
            .map(|sign| Call::Unclear((*sign).to_owned())),
    );
    if language == Language::Node {
        for (at, _) in code.match_indices("require") {
            let rest = code[at + "require".len()..].trim_start();
            let literal = rest
                .strip_prefix('(')
                .and_then(|inner| literal(language, inner.trim_start()))
                .is_some_and(|(_, used)| {
                    let inner = rest[1..].trim_start();
                    inner[used..].trim_start().starts_with(')')
                });
            if !literal {
                found.push(Call::Unclear("require".to_owned()));
            }
        }
    }
    if language == Language::Php && calls_variable(code) {
        found.push(Call::Unclear("$name(…)".to_owned()));
    }
    if matches!(language, Language::Perl | Language::Ruby | Language::Php) {
        let pieces: Vec<&str> = code.split('`').collect();
        for text in pieces.iter().skip(1).step_by(2) {
            let fixed = pieces.len() % 2 == 1 && !text.contains(['$', '@', '\\', '#', '{']);
            found.push(if fixed {
                Call::Text((*text).to_owned())
            } else {
                Call::Unclear("`…`".to_owned())
            });
        }
    }
    found
}

/// `$f(…)`
fn calls_variable(code: &str) -> bool {
    code.match_indices('$').any(|(at, _)| {
        let rest =
            code[at + 1..].trim_start_matches(|c: char| c == '_' || c.is_ascii_alphanumeric());
        rest.len() < code.len() - at - 1 && rest.trim_start().starts_with('(')
    })
}

fn identifiers(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let bytes = code.as_bytes();
    std::iter::from_fn(move || {
        while at < bytes.len() && !(bytes[at] == b'_' || bytes[at].is_ascii_alphabetic()) {
            at += 1;
        }
        let from = at;
        while at < bytes.len() && (bytes[at] == b'_' || bytes[at].is_ascii_alphanumeric()) {
            at += 1;
        }
        (from < at).then(|| (from, &code[from..at]))
    })
}

/// The fixed texts that a call is given, and how many bytes they take. `None` when one of them is not fixed.
fn arguments(language: Language, code: &str) -> Option<(Vec<String>, usize)> {
    let mut rest = code.trim_start_matches([' ', '\t']);
    let parenthesis = rest.starts_with('(');
    if parenthesis {
        rest = &rest[1..];
    } else if language != Language::Perl && language != Language::Ruby {
        return None;
    }
    let mut texts = Vec::new();
    let mut open = 0;
    loop {
        rest = rest.trim_start();
        if let Some(inner) = rest.strip_prefix('[') {
            open += 1;
            rest = inner;
            continue;
        }
        if texts.len() > 64 {
            return None;
        }
        if rest.starts_with(']') && open > 0 {
            open -= 1;
            rest = rest[1..].trim_start();
        } else {
            let (text, used) = match literal(language, rest) {
                Some(literal) => literal,
                // Options after the words.
                None if !texts.is_empty()
                    && language == Language::Node
                    && rest.starts_with('{')
                    && !rest.contains("shell") =>
                {
                    return Some((texts, code.len() - rest.len()));
                }
                None => return None,
            };
            texts.push(text);
            rest = rest[used..].trim_start();
        }
        while open > 0 && rest.starts_with(']') {
            open -= 1;
            rest = rest[1..].trim_start();
        }
        match rest.chars().next() {
            Some(',') => rest = &rest[1..],
            Some(')') if parenthesis && open == 0 => {
                return Some((texts, code.len() - rest.len() + 1));
            }
            None | Some(';' | '}' | '\n') if !parenthesis && open == 0 => {
                return Some((texts, code.len() - rest.len()));
            }
            _ => return None,
        }
    }
}

/// A fixed text in quotes, and how many bytes it takes.
fn literal(language: Language, code: &str) -> Option<(String, usize)> {
    let quote = code.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let end = code[1..].find(quote)? + 1;
    let text = &code[1..end];
    let interpolates = quote == '"'
        && matches!(language, Language::Perl | Language::Php | Language::Ruby)
        && text.contains(['$', '@', '#']);
    (!text.contains('\\') && !interpolates).then(|| (text.to_owned(), end + 1))
}

#[cfg(test)]
mod tests {
    use super::{Call, Language, calls};

    #[test]
    fn fixed_texts_are_read_and_others_are_unclear() {
        assert_eq!(
            calls(Language::Perl, "system(\"rm -rf x\")"),
            vec![Call::Text("rm -rf x".into())]
        );
        assert_eq!(
            calls(Language::Perl, "system 'rm', '-rf', 'x';"),
            vec![Call::Words(vec!["rm".into(), "-rf".into(), "x".into()])]
        );
        assert_eq!(calls(Language::Perl, "s/foo/bar/g; print $exec"), vec![]);
        assert_eq!(
            calls(Language::Perl, "system($x)"),
            vec![Call::Unclear("system".into())]
        );
        assert_eq!(calls(Language::Node, "console.log(/a/.exec('b'))"), vec![]);
        assert_eq!(
            calls(
                Language::Node,
                "require('child_process').execSync('rm -rf x')"
            ),
            vec![Call::Text("rm -rf x".into())]
        );
        assert_eq!(
            calls(
                Language::Node,
                "require('child_process').spawn('rm', ['-rf', 'x'])"
            ),
            vec![Call::Words(vec!["rm".into(), "-rf".into(), "x".into()])]
        );
        assert_eq!(
            calls(Language::Node, "require('child_'+'process')"),
            vec![Call::Unclear("require".into())]
        );
        assert_eq!(
            calls(Language::Ruby, "puts `ls`"),
            vec![Call::Text("ls".into())]
        );
        assert_eq!(
            calls(Language::Php, "echo shell_exec('rm x');"),
            vec![Call::Text("rm x".into())]
        );
        assert_eq!(calls(Language::Php, "$f='system'; $f('rm');").len(), 2);
    }
}
