//! awk: `system()` and pipes run commands, `>` and `getline <` open files. Nothing else in the language does either.

use std::collections::{HashMap, HashSet};

use super::facts::prints_number;
use super::lex::Dialect;
use super::options::{self, Spec};
use super::script::{Part, RedirectKind, Word};
use super::sed::FROM_OUTSIDE;
use super::walk::{Context, Outcome, Walker};

pub(super) fn run(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    let stays = Outcome::stays(&walker.directory);
    let spec = Spec {
        flags: "bcCgGhknNOPrsStVI",
        valued: "FvefEilW",
        optional: "doLpD",
        long_flags: "characters-as-bytes traditional copyright dump-variables debug gen-pot help lint bignum csv \
            use-lc-numeric non-decimal-data pretty-print optimize posix profile re-interval no-optimize sandbox \
            lint-old version",
        long_valued: "field-separator assign source file exec include load",
    };
    let (given, used) = match options::parse(&words[1..], &spec) {
        Ok(parsed) => parsed,
        Err(shown) => {
            walker.doubt("options of `awk` that are not understood", &shown);
            return stays;
        }
    };
    let mut programs: Vec<Word> = Vec::new();
    let mut from_file = false;
    for option in given {
        match option.name.as_str() {
            "e" | "source" => programs.extend(option.value),
            "f" | "file" | "E" | "exec" => {
                from_file = true;
                if let Some(file) = &option.value {
                    walker.note_script(file);
                }
                if option
                    .value
                    .as_ref()
                    .is_some_and(super::shells::is_unclear_input)
                {
                    walker.doubt("an `awk` program that cannot be determined", name);
                }
            }
            "l" | "load" => walker.doubt(format!("`{name}` loads a library"), name),
            "i" | "include"
                if option.value.as_ref().and_then(Word::as_static) != Some("inplace") =>
            {
                walker.doubt(format!("`{name}` includes a program"), name);
            }
            // Options by their names: `-W source=…` is a program, `-W exec` names a file with one.
            "W" => {
                let name = option.value.as_ref().map(Word::shown).unwrap_or_default();
                let plain = [
                    "version",
                    "posix",
                    "traditional",
                    "interactive",
                    "lint",
                    "usage",
                ];
                if !plain.iter().any(|plain| plain.starts_with(&name)) {
                    walker.doubt("options of `awk` that are not understood", &name);
                }
            }
            "S" | "sandbox" | "version" | "V" | "help" | "h" => return stays,
            _ => {}
        }
    }
    if programs.is_empty() && !from_file {
        programs.extend(words.get(1 + used).cloned());
    }
    let inner = context.inside(name);
    for program in programs {
        let mut text = String::new();
        for part in &program.parts {
            match part {
                Part::Text(part) | Part::Glob(part) => text.push_str(part),
                Part::Variable(_) if !program.splits => text.push(FROM_OUTSIDE),
                Part::Dynamic(source)
                    if !program.splits && walker.is_plain_value(source, context) =>
                {
                    text.push(FROM_OUTSIDE);
                }
                _ => {
                    walker.doubt(
                        "an `awk` program that cannot be determined",
                        &program.shown(),
                    );
                    return stays;
                }
            }
        }
        if !text.is_empty() && text.chars().all(|c| c == FROM_OUTSIDE) {
            walker.doubt(
                "an `awk` program that cannot be determined",
                &program.shown(),
            );
        }
        if !walker.step(text.len()) {
            return stays;
        }
        let Some(effects) = effects(&text) else {
            walker.doubt(
                "an `awk` program that runs something that cannot be determined",
                &text,
            );
            continue;
        };
        // Files first: they belong to the command that was listed last.
        for effect in &effects {
            match effect {
                Effect::Opens(kind, Some(file)) => walker.opens_file(*kind, Word::text(file)),
                Effect::Opens(RedirectKind::Read, None) => {
                    walker.opens_file(RedirectKind::Read, Word::dynamic("getline"));
                }
                Effect::Opens(RedirectKind::Write, None) => walker.doubt(
                    "an awk program writes to a file whose name is known only when it runs",
                    &text,
                ),
                Effect::Runs(_) => {}
            }
        }
        for effect in effects {
            match effect {
                Effect::Runs(Some(command)) => walker.child_text(&command, Dialect::Sh, &inner),
                Effect::Runs(None) => walker.doubt(
                    "an `awk` program that runs something that cannot be determined",
                    &text,
                ),
                Effect::Opens(..) => {}
            }
        }
    }
    stays
}

impl Walker {
    /// Whether a part of a word can only be a number, or nothing: `$n` after `n=$(wc -l < x)`, and `$1` where nothing sets it.
    fn is_plain_value(&self, source: &str, context: &Context<'_>) -> bool {
        let name = source.trim_start_matches("${").trim_start_matches('$');
        let name = name.strip_suffix('}').unwrap_or(name);
        let is_position = name.len() == 1 && name.starts_with(|c: char| matches!(c, '1'..='9'));
        if is_position {
            return self.depth == 1
                && context.via.is_empty()
                && !context.in_function
                && !self.facts.sets_positions();
        }
        prints_number(source)
            || name
                .bytes()
                .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
                && !self.facts.anything
                && self.facts.sets(name)
                && self.facts.is_numeric(name)
    }
}

/// Something that a program does besides reading its input and printing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Effect {
    /// Runs a command; `None` if the command is unknown.
    Runs(Option<String>),
    /// Opens a file; `None` if the file is unknown.
    Opens(RedirectKind, Option<String>),
}

#[derive(Debug, Clone, PartialEq)]
enum Token<'p> {
    Text(String),
    Regex,
    Word(&'p str),
    /// `O` is `||`, `A` is `&&`, `P` is `++` or `--`, `C` closes the condition of `if`, `while` and `for`.
    Sign(char),
}

/// Why there are no tokens.
#[derive(Debug, PartialEq)]
enum Fault {
    /// It is not a program, and would not run.
    Syntax,
    Unclear,
}

/// Whether a slash between brackets ends a pattern.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Brackets {
    HoldSlashes,
    /// Slashes do not end it, and `[:alpha:]` inside brackets is one unit.
    HoldClasses,
    Ignored,
}

/// What a program does; `None` when it is not understood.
fn effects(program: &str) -> Option<Vec<Effect>> {
    // A value from outside may be empty as well.
    let without_values: String = program.chars().filter(|c| *c != FROM_OUTSIDE).collect();
    let may_act = without_values.contains(['|', '@', '>'])
        || ["system", "getline"]
            .iter()
            .any(|word| without_values.contains(word));
    if !may_act {
        return Some(Vec::new());
    }
    let spellings = match without_values.len() == program.len() {
        true => vec![program],
        false => vec![program, without_values.as_str()],
    };
    // Programs called awk differ in where a pattern with brackets ends. A reading that is not a program is none that runs.
    let readings: &[Brackets] = match program.contains('[') {
        true => &[
            Brackets::HoldSlashes,
            Brackets::HoldClasses,
            Brackets::Ignored,
        ],
        false => &[Brackets::Ignored],
    };
    let mut found: Vec<Effect> = Vec::new();
    let mut understood = false;
    for (spelling, brackets) in spellings
        .iter()
        .flat_map(|spelling| readings.iter().map(move |brackets| (spelling, brackets)))
    {
        match tokens(spelling, *brackets) {
            Ok(tokens) => {
                understood = true;
                found.extend(effects_of(&tokens));
            }
            Err(Fault::Syntax) => {}
            Err(Fault::Unclear) => return None,
        }
    }
    let mut seen = HashSet::new();
    found.retain(|effect| seen.insert(effect.clone()));
    understood.then_some(found)
}

fn effects_of(tokens: &[Token<'_>]) -> Vec<Effect> {
    let mut found = Vec::new();
    let ends = ends(tokens);
    let mut depth = 0_usize;
    // How deep in parentheses the statement is that prints.
    let mut prints: Option<usize> = None;
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let after = tokens.get(at + 1);
        match token {
            Token::Sign('(' | '[') => depth += 1,
            Token::Sign(')' | 'C' | ']') => depth = depth.saturating_sub(1),
            Token::Sign(';' | '{' | '}') => prints = None,
            // A statement goes on after a comma, `||` and `&&`.
            Token::Sign('\n') if !matches!(before, Some(Token::Sign(',' | 'O' | 'A'))) => {
                prints = None;
            }
            Token::Word("print" | "printf") => prints = Some(depth),
            Token::Word("system") => match tokens.get(at + 1..at + 4) {
                Some([Token::Sign('('), Token::Text(text), Token::Sign(')')]) => {
                    found.push(Effect::Runs(fixed(text)));
                }
                _ => found.push(Effect::Runs(None)),
            },
            Token::Sign('@') => found.push(Effect::Runs(None)),
            Token::Sign('|') => {
                let reads = after == Some(&Token::Word("getline"));
                let (text, next) = if reads {
                    let first = at.checked_sub(2).and_then(|at| tokens.get(at));
                    let alone = first.is_none_or(|before| {
                        matches!(
                            before,
                            Token::Sign('(' | '{' | ';' | '\n' | ',' | '!' | 'A' | 'O' | 'C')
                        )
                    });
                    (before, alone)
                } else {
                    (after, ends_expression(tokens.get(at + 2)))
                };
                found.push(Effect::Runs(match text {
                    Some(Token::Text(text)) if next => fixed(text),
                    _ => None,
                }));
            }
            Token::Sign('>')
                if prints == Some(depth)
                    && before != Some(&Token::Sign('>'))
                    && after != Some(&Token::Sign('=')) =>
            {
                let at = at + 1 + usize::from(after == Some(&Token::Sign('>')));
                found.push(Effect::Opens(RedirectKind::Write, file(tokens, at)));
            }
            Token::Word("getline") => {
                let at = after_variable(tokens, &ends, at + 1);
                if tokens.get(at) == Some(&Token::Sign('<')) {
                    found.push(Effect::Opens(RedirectKind::Read, file(tokens, at + 1)));
                }
            }
            _ => {}
        }
    }
    found
}

/// The name of a file that is a fixed text and nothing else.
fn file(tokens: &[Token<'_>], at: usize) -> Option<String> {
    match tokens.get(at) {
        Some(Token::Text(text)) if ends_expression(tokens.get(at + 1)) => fixed(text),
        _ => None,
    }
}

/// A text, unless it has signs in it that were not read.
fn fixed(text: &str) -> Option<String> {
    (!text.contains([FROM_OUTSIDE, UNREAD])).then(|| text.to_owned())
}

/// Stands for an escape in a text: it could spell anything.
const UNREAD: char = '\u{fffd}';

fn ends_expression(token: Option<&Token<'_>>) -> bool {
    token.is_none_or(|token| matches!(token, Token::Sign('}' | ';' | '\n' | ')')))
}

/// Where the tokens go on after the variable that `getline` sets, if there is one.
fn after_variable(tokens: &[Token<'_>], ends: &HashMap<usize, usize>, mut at: usize) -> usize {
    let is_field = tokens.get(at) == Some(&Token::Sign('$'));
    at += usize::from(is_field);
    let is_word = matches!(tokens.get(at), Some(Token::Word(_)));
    at += usize::from(is_word);
    let opens = match tokens.get(at) {
        Some(Token::Sign('[')) => is_word,
        Some(Token::Sign('(')) => is_field && !is_word,
        _ => false,
    };
    match ends.get(&at) {
        Some(end) if opens => end + 1,
        _ => at,
    }
}

/// Where the parentheses and brackets end, by where they begin.
fn ends(tokens: &[Token<'_>]) -> HashMap<usize, usize> {
    let mut ends = HashMap::new();
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(' | '[' | '{') => open.push(at),
            Token::Sign(')' | 'C' | ']' | '}') => {
                ends.extend(open.pop().map(|begin| (begin, at)));
            }
            _ => {}
        }
    }
    ends
}

/// The tokens of a program.
fn tokens(program: &str, brackets: Brackets) -> Result<Vec<Token<'_>>, Fault> {
    let bytes = program.as_bytes();
    let mut tokens: Vec<Token<'_>> = Vec::new();
    // The open brackets, and whether a parenthesis holds the condition of a statement.
    let mut open: Vec<(u8, bool)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        match byte {
            b' ' | b'\t' | b'\r' => at += 1,
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => at += 2,
            b'#' => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
            }
            b'"' => {
                let (text, end) = string(program, at + 1).ok_or(Fault::Syntax)?;
                tokens.push(Token::Text(text));
                at = end;
            }
            b'/' if tokens.last() == Some(&Token::Word("getline")) => return Err(Fault::Unclear),
            b'/' if starts_regex(tokens.last()) => {
                at = regex(bytes, at + 1, brackets).ok_or(Fault::Syntax)?;
                tokens.push(Token::Regex);
            }
            b'|' | b'&' | b'+' | b'-' if bytes.get(at + 1) == Some(&byte) => {
                tokens.push(Token::Sign(match byte {
                    b'|' => 'O',
                    b'&' => 'A',
                    _ => 'P',
                }));
                at += 2;
            }
            b'|' => {
                at += 1 + usize::from(bytes.get(at + 1) == Some(&b'&'));
                tokens.push(Token::Sign('|'));
            }
            b'(' | b'[' | b'{' => {
                let condition = byte == b'('
                    && matches!(tokens.last(), Some(Token::Word("if" | "while" | "for")));
                open.push((byte, condition));
                tokens.push(Token::Sign(char::from(byte)));
                at += 1;
            }
            b')' | b']' | b'}' => {
                let opened = match byte {
                    b')' => b'(',
                    b']' => b'[',
                    _ => b'{',
                };
                let (is, condition) = open.pop().ok_or(Fault::Syntax)?;
                if is != opened {
                    return Err(Fault::Syntax);
                }
                let sign = if condition { 'C' } else { char::from(byte) };
                tokens.push(Token::Sign(sign));
                at += 1;
            }
            // Numbers may have a point in them, and a value from outside is like a name.
            _ if byte == b'_'
                || byte.is_ascii_alphanumeric()
                || !byte.is_ascii()
                || byte == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) =>
            {
                let number = byte.is_ascii_digit() || byte == b'.';
                let from = at;
                while at < bytes.len()
                    && (bytes[at] == b'_'
                        || bytes[at].is_ascii_alphanumeric()
                        || !bytes[at].is_ascii()
                        || number && bytes[at] == b'.')
                {
                    at += 1;
                }
                tokens.push(Token::Word(&program[from..at]));
            }
            _ => {
                tokens.push(Token::Sign(char::from(byte)));
                at += 1;
            }
        }
    }
    match open.is_empty() {
        true => Ok(tokens),
        false => Err(Fault::Syntax),
    }
}

/// The text of a string from after its opening quote, and where it ends.
fn string(program: &str, start: usize) -> Option<(String, usize)> {
    let bytes = program.as_bytes();
    let mut text = String::new();
    let (mut at, mut from) = (start, start);
    loop {
        match bytes.get(at)? {
            b'"' => break,
            b'\n' => return None,
            b'\\' => {
                text.push_str(&program[from..at]);
                text.push(match bytes.get(at + 1)? {
                    b'"' => '"',
                    b'\\' => '\\',
                    b'/' => '/',
                    b'n' => '\n',
                    b't' => '\t',
                    _ => UNREAD,
                });
                at += 2;
                while !program.is_char_boundary(at) {
                    at += 1;
                }
                from = at;
            }
            _ => at += 1,
        }
    }
    text.push_str(&program[from..at]);
    Some((text, at + 1))
}

/// Where a pattern ends that begins at `at`, after its slash.
fn regex(bytes: &[u8], mut at: usize, brackets: Brackets) -> Option<usize> {
    let mut inside = false;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'\n' => return None,
            b'[' if inside
                && brackets == Brackets::HoldClasses
                && matches!(bytes.get(at + 1), Some(b':' | b'.' | b'=')) =>
            {
                let kind = bytes[at + 1];
                at += 2;
                while !(bytes.get(at)? == &kind && bytes.get(at + 1) == Some(&b']')) {
                    at += 1;
                }
                at += 2;
            }
            b'[' => {
                inside = brackets != Brackets::Ignored;
                at += 1;
                if bytes.get(at) == Some(&b'^') {
                    at += 1;
                }
                if bytes.get(at) == Some(&b']') {
                    at += 1;
                }
            }
            b']' => {
                inside = false;
                at += 1;
            }
            b'/' if !inside => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Whether a slash after this token begins a pattern rather than divides.
fn starts_regex(before: Option<&Token<'_>>) -> bool {
    match before {
        None => true,
        Some(Token::Sign(sign)) => !matches!(sign, ')' | ']' | 'P'),
        Some(Token::Word(word)) => matches!(
            *word,
            "return" | "in" | "case" | "print" | "printf" | "do" | "else" | "exit"
        ),
        Some(Token::Text(_) | Token::Regex) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Effect, RedirectKind, effects};

    fn runs(command: &str) -> Option<Vec<Effect>> {
        Some(vec![Effect::Runs(Some(command.to_owned()))])
    }

    fn opens(kind: RedirectKind, file: Option<&str>) -> Option<Vec<Effect>> {
        Some(vec![Effect::Opens(kind, file.map(str::to_owned))])
    }

    #[test]
    fn programs_that_only_read_and_print_do_nothing_else() {
        for program in [
            "{print $1}",
            "/foo|bar/ {print $1}",
            "{ print \"a|b\", $1/$2/2 || x }",
            "{ print $1 \" | \" $2 }",
            "{ print \"system(\" $1 \")\" }",
            "/system\\(/ { n++ }",
            "NR>1 {s+=$2} END {print s}",
            "{ print ($1 > 3) }",
            "{ print (a > b) ? \"x\" : \"y\" }",
            "{ if ($1 > 2) print \"big\" }",
            "/[/|]/ && NR > 1",
            "{ gsub(/[^/]*\\//, \"\"); print } NR > 2",
            "/[[:alpha:]/|]/ && NR > 1",
            "{ print $(NF-1)/2, \"/\" } NR > 1",
            "{ x = 1./2; y = n++ / 2; print \"a > b\" }",
            "{ x = $1; getline; print x, $1 }",
            "BEGIN { while (getline > 0) n++ }",
            "{ system(\"\") }",
        ] {
            let found = effects(program).unwrap_or_else(|| panic!("{program}"));
            let empty = Effect::Runs(Some(String::new()));
            assert!(found.iter().all(|effect| *effect == empty), "{program}");
        }
    }

    #[test]
    fn commands_in_programs_are_found() {
        assert_eq!(effects("BEGIN{system(\"rm -rf x\")}"), runs("rm -rf x"));
        assert_eq!(effects("{ print | \"sh\" }"), runs("sh"));
        assert_eq!(effects("BEGIN { \"date\" | getline d }"), runs("date"));
        assert_eq!(effects("BEGIN{x=1./2;system(\"zap\");y=1/2}"), runs("zap"));
        assert_eq!(effects("BEGIN{x++/2;system(\"zap\");y=1/2}"), runs("zap"));
        assert_eq!(effects("BEGIN{(1)/2;system(\"zap\");y=1/2}"), runs("zap"));
        assert_eq!(
            effects("BEGIN{if(1)/\"/;system(\"zap\");/\"/}"),
            runs("zap")
        );
        for unclear in [
            "BEGIN{system(\"rm\" x)}",
            "{ print | cmd }",
            "BEGIN { c = \"rm x\"; c | getline }",
            "BEGIN { f = \"system\"; @f(\"x\") }",
            "BEGIN { system(ENVIRON[\"x\"]) }",
            "BEGIN { system(\"\\172ap\") }",
        ] {
            assert_eq!(
                effects(unclear),
                Some(vec![Effect::Runs(None)]),
                "{unclear}"
            );
        }
    }

    #[test]
    fn files_that_programs_open_are_found() {
        let (read, write) = (RedirectKind::Read, RedirectKind::Write);
        assert_eq!(effects("{ print > \"out\" }"), opens(write, Some("out")));
        assert_eq!(
            effects("{ print $1, $2 >> \"out\" }"),
            opens(write, Some("out"))
        );
        assert_eq!(
            effects("{ printf(\"x\") > \"out\" }"),
            opens(write, Some("out"))
        );
        assert_eq!(
            effects("{ print a,\nb > \"out\" }"),
            opens(write, Some("out"))
        );
        assert_eq!(effects("{ print > $1 \".csv\" }"), opens(write, None));
        assert_eq!(effects("{ print > \"a\" x }"), opens(write, None));
        assert_eq!(
            effects("BEGIN { while ((getline l < \"in\") > 0) print l }"),
            opens(read, Some("in"))
        );
        assert_eq!(
            effects("{ getline a[$1] < \"in\" }"),
            opens(read, Some("in"))
        );
        assert_eq!(effects("{ getline < FILENAME }"), opens(read, None));
    }
}
