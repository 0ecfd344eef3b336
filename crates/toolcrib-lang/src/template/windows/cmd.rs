//! Reads `cmd`: quotes, and where commands begin.

use super::reader::{MARK, Reader};
use super::{Shell, SlotForm, Windows};
use crate::template::TemplateProblem;

impl Reader<'_> {
    pub(super) fn cmd(mut self) -> Result<Windows, Vec<TemplateProblem>> {
        let mut in_quotes = false;
        let mut in_command = true;
        while let Some(c) = self.peek(0) {
            let before = self.at.checked_sub(1).map(|at| self.text[at]);
            match c {
                MARK if self.is_raw() => self.slot(SlotForm::Raw, false),
                MARK if matches!(before, Some('%' | '^' | '!')) || self.peek(1) == Some('%') => {
                    self.refuse(
                        "template-not-understood",
                        "`{X}` is next to `%`, `^` or `!`, which have a meaning for `cmd`",
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
