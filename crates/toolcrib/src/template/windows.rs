//! PowerShell and `cmd`: values in variables of the environment, `${env:…}` and `!…!` in the text.
//!
//! PowerShell does not read a variable's value again, so any value will do in a string or as a word of its own; a string in single
//! quotes becomes one in double quotes. `cmd` replaces `!X!` after it has read the line, but programs split their own command
//! lines and `%X%` is read again, so only plain signs are let through. Nothing here runs on this system; the texts are compared
//! with golden files.

use std::ops::Range;

use super::bash::{self, Trust};
use super::code::Prepared;
use super::scan::{Piece, Scanned};
use super::value::{self, MadeWord};
use super::{Invocation, NamedParameter, Names, Reference, TemplateProblem, ValueFault, Values};
use crate::definition::ParameterKind;

/// A text for PowerShell or `cmd`.
#[derive(Debug, Clone)]
pub(super) struct Windows {
    shell: Shell,
    chunks: Vec<Chunk>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shell {
    Pwsh,
    Cmd,
}

#[derive(Debug, Clone)]
enum Chunk {
    Text(String),
    Value(Slot),
}

#[derive(Debug, Clone)]
struct Slot {
    reference: Reference,
    parameter: Option<NamedParameter>,
    trust: Trust,
    form: SlotForm,
    /// Whether a dash at its beginning would make it an option.
    starts_word: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum SlotForm {
    /// In a string.
    Text,
    /// A word of its own.
    Word,
    Raw,
}

/// Stands for a placeholder while the text is read.
const MARK: char = '\u{e000}';

/// Words of PowerShell that read texts as code, and programs that do.
const EVALUATORS: &[&str] = &[
    "invoke-expression",
    "iex",
    "scriptblock",
    "invoke-command",
    "icm",
    "start-process",
    "-command",
    "-encodedcommand",
    "add-type",
    "cmd",
    "cmd.exe",
    "powershell",
    "powershell.exe",
    "pwsh",
    "pwsh.exe",
    "expandstring",
    "invokescript",
    "newscriptblock",
    "-c",
    "-e",
];

impl Windows {
    /// Reads a template for PowerShell.
    pub(super) fn pwsh(scanned: &Scanned, names: &Names) -> Result<Self, Vec<TemplateProblem>> {
        Reader::new(scanned, names).pwsh()
    }

    /// Reads a template for `cmd`.
    pub(super) fn cmd(scanned: &Scanned, names: &Names) -> Result<Self, Vec<TemplateProblem>> {
        Reader::new(scanned, names).cmd()
    }

    pub(super) fn pastes(&self) -> bool {
        self.chunks.iter().any(|chunk| {
            matches!(
                chunk,
                Chunk::Value(Slot {
                    form: SlotForm::Raw,
                    ..
                })
            )
        })
    }

    /// What to start.
    pub(super) fn prepare(&self, values: &Values) -> Prepared {
        let mut text = String::new();
        let mut environment: Vec<(String, String)> = Vec::new();
        let mut known: Vec<(Reference, SlotForm)> = Vec::new();
        let mut faults: Vec<ValueFault> = Vec::new();
        for chunk in &self.chunks {
            let slot = match chunk {
                Chunk::Text(chunk) => {
                    text.push_str(chunk);
                    continue;
                }
                Chunk::Value(slot) => slot,
            };
            let words = slot.words(values);
            if let Some(message) = self.fault(slot, &words, values) {
                if faults.iter().all(|fault| fault.reference != slot.reference) {
                    faults.push(ValueFault {
                        reference: slot.reference.clone(),
                        message,
                    });
                }
                continue;
            }
            let joined = words
                .iter()
                .map(|word| word.text.as_str())
                .collect::<Vec<_>>()
                .join(" ");
            if slot.form == SlotForm::Raw {
                text.push_str(&joined);
                continue;
            }
            let many = slot.form == SlotForm::Word && (slot.is_list() || words.is_empty());
            let key = (slot.reference.clone(), slot.form);
            let number = known.iter().position(|other| *other == key);
            let number = number.unwrap_or_else(|| {
                known.push(key);
                let number = known.len() - 1;
                let value = if many && self.shell == Shell::Pwsh {
                    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
                    serde_json::Value::from(words).to_string()
                } else {
                    joined.clone()
                };
                environment.push((format!("TOOLCRIB_VALUE_{number}"), value));
                number
            });
            let name = format!("TOOLCRIB_VALUE_{number}");
            match (self.shell, slot.form) {
                (Shell::Pwsh, SlotForm::Word) if many => {
                    text.push_str(&format!("@(ConvertFrom-Json -InputObject ${{env:{name}}})"));
                }
                (Shell::Pwsh, _) => text.push_str(&format!("${{env:{name}}}")),
                (Shell::Cmd, SlotForm::Word) if words.is_empty() => {}
                (Shell::Cmd, SlotForm::Word) => text.push_str(&format!("\"!{name}!\"")),
                (Shell::Cmd, _) => text.push_str(&format!("!{name}!")),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let (program, options): (&str, &[&str]) = match self.shell {
            Shell::Pwsh => ("pwsh", &["-NoProfile", "-NonInteractive", "-Command"]),
            Shell::Cmd => ("cmd", &["/d", "/v:on", "/s", "/c"]),
        };
        let mut arguments: Vec<String> =
            options.iter().map(|option| (*option).to_owned()).collect();
        arguments.push(text);
        Ok(Invocation {
            program: program.to_owned(),
            arguments,
            environment,
            files: Vec::new(),
        })
    }

    fn fault(&self, slot: &Slot, words: &[MadeWord], values: &Values) -> Option<String> {
        if words.iter().any(|word| word.text.contains('\0')) {
            return Some("contains a null byte, which no program can be given".to_owned());
        }
        let longest: usize = words.iter().map(|word| word.text.len() + 1).sum();
        // The whole environment of a process has 32,767 characters there.
        if longest > 16 * 1024 {
            return Some(format!(
                "is {longest} bytes long, and a variable can carry 16 KB there"
            ));
        }
        if slot.form == SlotForm::Raw {
            return None;
        }
        let is_number = values
            .get(&slot.reference)
            .is_some_and(|value| value.is_number());
        let dashed = words
            .iter()
            .take(if slot.form == SlotForm::Word {
                usize::MAX
            } else {
                1
            })
            .any(|word| !word.glued && word.text.starts_with(['-', '/']) && !is_number);
        let is_option = dashed
            && slot.starts_word
            && (self.shell == Shell::Cmd || words.iter().any(|word| word.text.starts_with('-')));
        if is_option {
            return Some("starts with a dash or slash and would be taken for an option".to_owned());
        }
        if self.shell == Shell::Cmd {
            let plain = |c: char| c.is_alphanumeric() || " _-./\\:,=+@#~*?[](){}".contains(c);
            let unsafe_word = words
                .iter()
                .any(|word| !word.text.chars().all(plain) || word.text.ends_with('\\'));
            if unsafe_word {
                return Some(
                    "has signs in it that `cmd` would not pass on as they are; letters, digits, blanks and \
                     `_-./\\:,=+@#~*?[](){}` are fine, except a backslash at the end"
                        .to_owned(),
                );
            }
            if slot.is_list() && slot.form == SlotForm::Word && words.len() > 1 {
                return Some("is a list, which `cmd` has no way to take".to_owned());
            }
        }
        None
    }
}

impl Slot {
    fn words(&self, values: &Values) -> Vec<MadeWord> {
        let kind = self
            .parameter
            .as_ref()
            .map_or(ParameterKind::String, |parameter| parameter.kind);
        let format = self
            .parameter
            .as_ref()
            .and_then(|parameter| parameter.format.as_ref());
        value::made_words(format, kind, values.get(&self.reference).as_ref())
    }

    fn is_list(&self) -> bool {
        self.parameter.as_ref().is_some_and(|parameter| {
            parameter.kind == ParameterKind::Array
                || parameter
                    .format
                    .as_ref()
                    .is_some_and(|format| format.words.len() != 1)
        })
    }
}

struct Reader<'s> {
    text: Vec<char>,
    names: &'s Names,
    marks: Vec<(&'s Reference, Range<usize>)>,
    at: usize,
    /// The index of the next mark.
    next: usize,
    chunks: Vec<Chunk>,
    problems: Vec<TemplateProblem>,
    /// Whether a literal `--` stands before on the line.
    ended: bool,
}

impl<'s> Reader<'s> {
    fn new(scanned: &'s Scanned, names: &'s Names) -> Reader<'s> {
        let mut text = Vec::new();
        let mut marks = Vec::new();
        for piece in &scanned.pieces {
            match piece {
                Piece::Literal(literal) => text.extend(literal.chars().filter(|c| *c != MARK)),
                Piece::Placeholder { reference, span } => {
                    text.push(MARK);
                    marks.push((reference, span.clone()));
                }
            }
        }
        Reader {
            text,
            names,
            marks,
            at: 0,
            next: 0,
            chunks: Vec::new(),
            problems: Vec::new(),
            ended: false,
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn push(&mut self, c: char) {
        if let Some(Chunk::Text(text)) = self.chunks.last_mut() {
            text.push(c);
        } else {
            self.chunks.push(Chunk::Text(c.to_string()));
        }
    }

    fn push_text(&mut self, text: &str) {
        text.chars().for_each(|c| self.push(c));
    }

    /// Takes the mark that stands here.
    fn slot(&mut self, form: SlotForm, starts_word: bool) {
        self.at += 1;
        let Some((reference, _)) = self.marks.get(self.next) else {
            return;
        };
        self.next += 1;
        let parameter = match reference {
            Reference::Parameter(name) => self.names.parameter(name).cloned(),
            _ => None,
        };
        let trust = bash::trust(reference, parameter.as_ref());
        let form = if trust == Trust::Raw {
            SlotForm::Raw
        } else {
            form
        };
        self.chunks.push(Chunk::Value(Slot {
            reference: (*reference).clone(),
            parameter,
            trust,
            form,
            starts_word: starts_word && !self.ended,
        }));
    }

    fn refuse(&mut self, code: &'static str, message: &str, fix: &str) {
        if let Some((reference, span)) = self.marks.get(self.next) {
            let name = format!("{{{reference}}}");
            self.problems.push(TemplateProblem {
                span: span.clone(),
                code,
                message: message.replace("{X}", &name),
                fix: Some(fix.replace("{X}", &name)),
            });
        }
        self.at += 1;
        self.next += 1;
    }

    fn is_raw(&self) -> bool {
        self.marks.get(self.next).is_some_and(|(reference, _)| {
            let parameter = match reference {
                Reference::Parameter(name) => self.names.parameter(name),
                _ => None,
            };
            bash::trust(reference, parameter) == Trust::Raw
        })
    }

    fn finish(self, shell: Shell) -> Result<Windows, Vec<TemplateProblem>> {
        if self.problems.is_empty() {
            Ok(Windows {
                shell,
                chunks: self.chunks,
            })
        } else {
            Err(self.problems)
        }
    }

    fn pwsh(mut self) -> Result<Windows, Vec<TemplateProblem>> {
        self.check_evaluators();
        // Whether a command or expression begins here.
        let mut statement = true;
        while let Some(c) = self.peek(0) {
            match c {
                MARK if self.is_raw() => self.slot(SlotForm::Raw, false),
                MARK if statement => self.refuse(
                    "template-command",
                    "`{X}` begins a statement, and a value must not decide what runs",
                    "write the command's name before it",
                ),
                MARK => {
                    let before = self.at.checked_sub(1).map(|at| self.text[at]);
                    let after = self.peek(1);
                    let boundary = |c: char| c.is_whitespace() || "(){};|,=".contains(c);
                    if before.is_none_or(boundary) && after.is_none_or(boundary) {
                        self.slot(SlotForm::Word, true);
                    } else {
                        self.refuse(
                            "template-not-understood",
                            "`{X}` is part of a word without quotes",
                            "put the whole word in double quotes: `\"--name={X}\"`",
                        );
                    }
                }
                '`' => {
                    self.push(c);
                    self.at += 1;
                    if let Some(next) = self.peek(0).filter(|next| *next != MARK) {
                        self.push(next);
                        self.at += 1;
                    }
                    statement = false;
                }
                '#' if self.at == 0
                    || self.text[self.at - 1].is_whitespace()
                    || self.text[self.at - 1] == ';' =>
                {
                    self.comment(|reader| reader.peek(0) == Some('\n'), 0);
                }
                '<' if self.peek(1) == Some('#') => {
                    self.comment(
                        |reader| reader.peek(0) == Some('#') && reader.peek(1) == Some('>'),
                        2,
                    );
                }
                '@' if matches!(self.peek(1), Some('\'' | '"')) => {
                    self.here_string();
                    statement = false;
                }
                '\'' | '"' => {
                    self.string(c);
                    statement = false;
                }
                _ if is_curly_quote(c) => {
                    // They quote, too, and mixing them with straight ones is a riddle.
                    self.refuse_rest("curly quotes");
                }
                _ => {
                    self.push(c);
                    self.at += 1;
                    statement = match c {
                        '\n' | ';' | '|' | '&' | '(' | '{' => true,
                        c if c.is_whitespace() => statement,
                        _ => false,
                    };
                    if c == '\n' || c == ';' || c == '|' {
                        self.ended = false;
                    } else if c == '-'
                        && self.at >= 2
                        && self.text[self.at - 2] == '-'
                        && self.peek(0).is_some_and(char::is_whitespace)
                    {
                        self.ended = true;
                    }
                }
            }
        }
        self.finish(Shell::Pwsh)
    }

    /// Refuses values where something reads texts as code.
    fn check_evaluators(&mut self) {
        let all: String = self.text.iter().collect::<String>().to_lowercase();
        let word = all
            .split(|c: char| c.is_whitespace() || "(){};|,[]'\"".contains(c))
            .find(|word| EVALUATORS.contains(word));
        let Some(word) = word else { return };
        let text = self.marks.iter().find(|(reference, _)| {
            let parameter = match reference {
                Reference::Parameter(name) => self.names.parameter(name),
                _ => None,
            };
            bash::trust(reference, parameter) == Trust::Text
        });
        if let Some((reference, span)) = text {
            self.problems.push(TemplateProblem {
                span: span.clone(),
                code: "template-code",
                message: format!(
                    "`{word}` reads texts as code, and the value of `{{{reference}}}` could become part of one"
                ),
                fix: Some("run the command itself".to_owned()),
            });
        }
    }

    fn refuse_rest(&mut self, what: &str) {
        let message = format!("`{{X}}` stands after {what}, which are not understood");
        while self.next < self.marks.len() {
            self.refuse("template-not-understood", &message, "use straight quotes");
        }
        self.at = self.text.len();
    }

    fn comment(&mut self, ends: impl Fn(&Self) -> bool, length: usize) {
        while self.peek(0).is_some() && !ends(self) {
            self.literal();
        }
        for _ in 0..length {
            self.literal();
        }
    }

    /// Takes one sign over as it is, a placeholder as its text.
    fn literal(&mut self) {
        let Some(c) = self.peek(0) else { return };
        self.at += 1;
        if c != MARK {
            self.push(c);
            return;
        }
        if let Some((reference, _)) = self.marks.get(self.next) {
            let text = format!("{{{reference}}}");
            self.next += 1;
            self.push_text(&text);
        }
    }

    /// `'…'` or `"…"`; one in single quotes with a placeholder in it becomes one in double quotes.
    fn string(&mut self, quote: char) {
        let open = self.at;
        let end = self.string_end(quote);
        let Some(end) = end else {
            return self.refuse_rest("a quote that is never closed, or quotes in `$(…)`");
        };
        let has_mark = self.text[open..end].contains(&MARK);
        let glued = open > 0 && {
            let before = self.text[open - 1];
            !(before.is_whitespace() || "(){};|,=&".contains(before))
        };
        let rewrites = quote == '\'' && has_mark;
        self.push(if rewrites { '"' } else { quote });
        self.at += 1;
        while self.at < end - 1 {
            let c = self.text[self.at];
            match c {
                MARK => {
                    let starts_word = self.at == open + 1 && !glued;
                    self.slot(SlotForm::Text, starts_word);
                }
                '\'' if rewrites => {
                    // Two of them are one.
                    self.push('\'');
                    self.at += 2;
                }
                '`' | '$' | '"' if rewrites => {
                    self.push('`');
                    self.push(c);
                    self.at += 1;
                }
                c if rewrites && is_curly_quote(c) => {
                    self.push('`');
                    self.push(c);
                    self.at += 1;
                }
                '`' if quote == '"' => {
                    self.push(c);
                    self.at += 1;
                    if let Some(next) = self.peek(0).filter(|next| *next != MARK) {
                        self.push(next);
                        self.at += 1;
                    } else if self.peek(0) == Some(MARK) {
                        self.refuse(
                            "template-not-understood",
                            "`{X}` stands after a backtick",
                            "take the backtick away",
                        );
                    }
                }
                c => {
                    self.push(c);
                    self.at += 1;
                }
            }
        }
        self.push(if rewrites { '"' } else { quote });
        self.at = end;
    }

    /// Where a string ends that begins here, past its quote; `None` when that is not certain.
    fn string_end(&self, quote: char) -> Option<usize> {
        let mut at = self.at + 1;
        while let Some(c) = self.text.get(at) {
            match *c {
                '`' if quote == '"' => at += 2,
                '$' if quote == '"' && self.text.get(at + 1) == Some(&'(') => {
                    // Code in the string, with strings of its own.
                    let close = self.text[at..].iter().position(|c| *c == ')')? + at;
                    let inner = &self.text[at + 2..close];
                    let odd = |c: &char| matches!(*c, '"' | '\'' | '`' | '(' | MARK);
                    if inner.iter().any(odd) {
                        return None;
                    }
                    at = close + 1;
                }
                c if c == quote => {
                    if self.text.get(at + 1) == Some(&quote) {
                        at += 2;
                    } else {
                        return Some(at + 1);
                    }
                }
                // They end a string, too.
                c if is_curly_quote(c) && quote == '"' => return None,
                _ => at += 1,
            }
        }
        None
    }

    /// `@'…'@` and `@"…"@`: only the second takes placeholders.
    fn here_string(&mut self) {
        let quote = self.text[self.at + 1];
        let close: Vec<char> = vec!['\n', quote, '@'];
        let start = self.at;
        let found = self.text[start..]
            .windows(3)
            .position(|window| window == close.as_slice());
        let Some(length) = found else {
            return self.refuse_rest("a here-string that never ends");
        };
        let end = start + length + 3;
        while self.at < end {
            match self.text[self.at] {
                MARK if quote == '\'' => self.refuse(
                    "template-not-understood",
                    "`{X}` stands in a here-string in which nothing is replaced",
                    "use `@\"` and `\"@`",
                ),
                MARK => self.slot(SlotForm::Text, false),
                c => {
                    self.push(c);
                    self.at += 1;
                }
            }
        }
    }

    fn cmd(mut self) -> Result<Windows, Vec<TemplateProblem>> {
        let mut in_quotes = false;
        let mut in_command = true;
        while let Some(c) = self.peek(0) {
            let before = self.at.checked_sub(1).map(|at| self.text[at]);
            match c {
                MARK if self.is_raw() => self.slot(SlotForm::Raw, false),
                MARK if matches!(before, Some('%' | '^' | '!')) || self.peek(1) == Some('%') => {
                    self.refuse(
                        "template-not-understood",
                        "`{X}` stands next to `%`, `^` or `!`, which mean something to `cmd`",
                        "put a blank between them, or the value in double quotes",
                    );
                }
                MARK if in_command && !in_quotes => self.refuse(
                    "template-command",
                    "`{X}` is a command's name, and a value must not decide which program runs",
                    "write the program's name",
                ),
                MARK if in_quotes => {
                    let starts = before == Some('"');
                    self.slot(SlotForm::Text, starts);
                }
                MARK => {
                    let starts = before.is_none_or(char::is_whitespace);
                    self.slot(SlotForm::Word, starts);
                }
                '"' => {
                    in_quotes = !in_quotes;
                    self.push(c);
                    self.at += 1;
                }
                // Variables are expanded late here, and then this would begin one.
                '!' => {
                    self.push_text("^!");
                    self.at += 1;
                }
                _ => {
                    self.push(c);
                    self.at += 1;
                    if !in_quotes {
                        in_command = match c {
                            '\n' | '&' | '|' | '(' => true,
                            c if c.is_whitespace() => {
                                in_command
                                    && self.text[..self.at]
                                        .iter()
                                        .rev()
                                        .find(|c| !c.is_whitespace())
                                        .is_none_or(|c| "&|(\n".contains(*c))
                            }
                            _ => in_command,
                        };
                    }
                }
            }
        }
        self.finish(Shell::Cmd)
    }
}

/// Quotes of typography, which PowerShell takes for straight ones.
fn is_curly_quote(c: char) -> bool {
    matches!(
        c,
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{201c}' | '\u{201d}' | '\u{201e}'
    )
}
