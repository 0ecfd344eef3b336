//! Reads PowerShell: strings, here-strings, comments, and where commands begin.

use super::reader::{MARK, Reader};
use super::{Shell, SlotForm, Windows};
use crate::template::bash::{self, Trust};
use crate::template::{Reference, TemplateProblem};

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

impl Reader<'_> {
    pub(super) fn pwsh(mut self) -> Result<Windows, Vec<TemplateProblem>> {
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
                    let boundary = |c: char| c.is_whitespace() || "(){};|,".contains(c);
                    let assigned = before == Some('=') && self.is_assignment();
                    if (assigned || before.is_none_or(boundary)) && after.is_none_or(boundary) {
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

    /// Whether the word before is `$x=`, not an option's.
    fn is_assignment(&self) -> bool {
        let start = self.text[..self.at]
            .iter()
            .rposition(|c| c.is_whitespace() || *c == ';')
            .map_or(0, |at| at + 1);
        self.text.get(start) == Some(&'$') || self.text.get(start) == Some(&'=')
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
        let message = format!("`{{X}}` is after {what}, which are not understood");
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
                            "`{X}` is after a backtick",
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
                    // Code in the string, with its own strings.
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
                    "`{X}` is in a here-string in which nothing is replaced",
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
}

/// Quotes of typography, which PowerShell takes for straight ones.
fn is_curly_quote(c: char) -> bool {
    matches!(
        c,
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{201c}' | '\u{201d}' | '\u{201e}'
    )
}
