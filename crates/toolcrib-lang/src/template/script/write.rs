//! From a template to a script: where each placeholder is in Python or JavaScript, and what it becomes there.

use std::ops::Range;

use super::evaluators::{MARK, evaluator};
use super::{Chunk, Language, MAX_TEXT, argument_name};
use crate::expr::javascript::{Lexed, ScriptContext};
use crate::template::bash::{self, Trust};
use crate::template::python::{self, Stretch};
use crate::template::scan::{Piece, Scanned};
use crate::template::{Names, Reference, TemplateProblem};

/// Makes chunks of a template.
pub(super) struct Writer<'s> {
    language: Language,
    names: &'s Names,
    text: String,
    source: &'s str,
    marks: Vec<(Range<usize>, &'s Reference, Range<usize>)>,
}

/// Where a placeholder is in code of either language.
enum Standing {
    Code,
    Comment,
    /// In a string literal: its range, how it opens and closes.
    Text {
        range: Range<usize>,
        open: String,
        close: String,
        raw: bool,
    },
    /// In the text of `` `…` ``.
    Interpolated,
    Refused(&'static str),
}

impl<'s> Writer<'s> {
    pub(super) fn new(language: Language, scanned: &'s Scanned, names: &'s Names) -> Writer<'s> {
        let mut text = String::new();
        let mut marks = Vec::new();
        for piece in &scanned.pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Placeholder { reference, span } => {
                    let start = text.len();
                    text.push_str(MARK);
                    marks.push((start..text.len(), reference, span.clone()));
                }
            }
        }
        Writer {
            language,
            names,
            text,
            source: &scanned.source,
            marks,
        }
    }

    pub(super) fn write(&self) -> Result<Vec<Chunk>, Vec<TemplateProblem>> {
        let mut problems = Vec::new();
        if self.text.len() > MAX_TEXT || self.text.contains('\0') {
            problems.push(TemplateProblem {
                span: 0..0,
                code: "template-too-long",
                message: "the script is longer than 100 KB, or has a null byte in it".to_owned(),
                fix: Some("put it in a file and run that".to_owned()),
            });
            return Err(problems);
        }
        // The insertions into the text, in sequence.
        let mut edits: Vec<(usize, usize, Edit)> = Vec::new();
        let mut wrapped: Vec<Range<usize>> = Vec::new();
        let mut has_text = false;
        for (range, reference, span) in &self.marks {
            let parameter = match reference {
                Reference::Parameter(name) => self.names.parameter(name),
                _ => None,
            };
            let trust = bash::trust(reference, parameter);
            if trust == Trust::Raw {
                edits.push((range.start, range.end, Edit::Raw((*reference).clone())));
                continue;
            }
            has_text |= trust == Trust::Text;
            let value = |typed| Edit::Value((*reference).clone(), typed);
            match self.standing(range) {
                Standing::Comment => {
                    edits.push((
                        range.start,
                        range.end,
                        Edit::Text(format!("{{{reference}}}")),
                    ));
                }
                Standing::Code => {
                    edits.push((range.start, range.start, Edit::Text("(".to_owned())));
                    edits.push((range.start, range.end, value(true)));
                    edits.push((range.end, range.end, Edit::Text(")".to_owned())));
                }
                Standing::Interpolated => {
                    edits.push((range.start, range.start, Edit::Text("${".to_owned())));
                    edits.push((range.start, range.end, value(false)));
                    edits.push((range.end, range.end, Edit::Text("}".to_owned())));
                }
                Standing::Text {
                    range: literal,
                    open,
                    close,
                    raw,
                } => {
                    // A quote before ours would end a literal with three of them too early.
                    let quote = close.chars().next().unwrap_or('"');
                    let before = &self.text[..range.start];
                    if close.len() == 3
                        && before.ends_with(quote)
                        && before.len() > literal.start + open.len()
                    {
                        if raw {
                            problems.push(refused(
                                reference,
                                span,
                                "a raw string with a quote before it",
                            ));
                            continue;
                        }
                        edits.push((
                            range.start - 1,
                            range.start - 1,
                            Edit::Text("\\".to_owned()),
                        ));
                    }
                    if !wrapped.contains(&literal) {
                        edits.push((literal.start, literal.start, Edit::Text("(".to_owned())));
                        edits.push((literal.end, literal.end, Edit::Text(")".to_owned())));
                        wrapped.push(literal);
                    }
                    edits.push((range.start, range.start, Edit::Text(format!("{close}+"))));
                    edits.push((range.start, range.end, value(false)));
                    edits.push((range.end, range.end, Edit::Text(format!("+{open}"))));
                }
                Standing::Refused(why) => problems.push(refused(reference, span, why)),
            }
        }
        let direct = self.marks.first().filter(|_| has_text);
        let held = match direct {
            Some((_, reference, span)) => {
                Some((format!("the value of `{{{reference}}}`"), span.clone()))
            }
            None => self.beside(),
        };
        if let Some((what, span)) = held
            && let Some(word) = evaluator(self.language, &self.text)
        {
            problems.push(TemplateProblem {
                span,
                code: "template-code",
                message: format!(
                    "`{word}` in this script runs or loads what a text says, and {what} could become part of it"
                ),
                fix: Some(
                    "start programs with a list of words, without a shell, and name what is loaded".to_owned(),
                ),
            });
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(self.chunks(edits))
    }

    fn chunks(&self, mut edits: Vec<(usize, usize, Edit)>) -> Vec<Chunk> {
        // Stable: what belongs to one placeholder stays in its order.
        edits.sort_by_key(|(start, _, _)| *start);
        let mut chunks = Vec::new();
        let mut pending = String::new();
        let mut done = 0;
        for (start, end, edit) in edits {
            if start > done {
                pending.push_str(&self.text[done..start]);
                done = start;
            }
            done = done.max(end);
            let chunk = match edit {
                Edit::Text(text) => {
                    pending.push_str(&text);
                    continue;
                }
                Edit::Value(reference, typed) => Chunk::Value { reference, typed },
                Edit::Raw(reference) => Chunk::Raw(reference),
            };
            chunks.push(Chunk::Text(std::mem::take(&mut pending)));
            chunks.push(chunk);
        }
        pending.push_str(&self.text[done..]);
        chunks.push(Chunk::Text(pending));
        chunks
    }

    fn standing(&self, range: &Range<usize>) -> Standing {
        match self.language {
            Language::Other => Standing::Refused("another language"),
            Language::Python => self.in_python(range),
            Language::Node => self.in_javascript(range),
        }
    }

    fn in_python(&self, range: &Range<usize>) -> Standing {
        let stretches = python::read(&self.text);
        let found = stretches
            .iter()
            .position(|(stretch, _)| stretch.start <= range.start && range.end <= stretch.end);
        let Some(index) = found else {
            return self.in_code(range);
        };
        let (stretch, kind) = &stretches[index];
        match kind {
            Stretch::Comment => Standing::Comment,
            Stretch::Unclear => Standing::Refused("a string that never ends"),
            Stretch::Text(literal) => {
                let prefix = literal.prefix.to_ascii_lowercase();
                if prefix.contains('f') {
                    return Standing::Refused("an f-string, whose braces are Python's");
                }
                if prefix.contains('b') {
                    return Standing::Refused("a string of bytes");
                }
                if self.is_escaped(range.start) {
                    return Standing::Refused("a string, after a backslash");
                }
                // Two literals next to each other are one to Python.
                let next_to =
                    |other: Option<&(Range<usize>, Stretch)>,
                     gap: &dyn Fn(&Range<usize>) -> Range<usize>| {
                        other.is_some_and(|(other, kind)| {
                            matches!(kind, Stretch::Text(_))
                                && self.text[gap(other)]
                                    .trim()
                                    .trim_end_matches('\\')
                                    .is_empty()
                        })
                    };
                let before = index.checked_sub(1).and_then(|index| stretches.get(index));
                if next_to(before, &|other| other.end..stretch.start)
                    || next_to(stretches.get(index + 1), &|other| stretch.end..other.start)
                {
                    return Standing::Refused("a string next to another one");
                }
                Standing::Text {
                    range: stretch.clone(),
                    open: format!("{}{}", literal.prefix, literal.quotes),
                    close: literal.quotes.clone(),
                    raw: prefix.contains('r'),
                }
            }
        }
    }

    fn in_javascript(&self, range: &Range<usize>) -> Standing {
        let lexed = Lexed::read(&self.text);
        let Some((stretch, place)) = lexed.stretch(range.clone()) else {
            return self.in_code(range);
        };
        match place {
            ScriptContext::Code => self.in_code(range),
            ScriptContext::Comment => Standing::Comment,
            ScriptContext::Regex => Standing::Refused("a regular expression"),
            ScriptContext::Unclear => Standing::Refused("something that is not understood"),
            ScriptContext::Template if self.is_escaped(range.start) => {
                Standing::Refused("a string, after a backslash")
            }
            ScriptContext::Template => Standing::Interpolated,
            ScriptContext::Quotes => {
                if self.is_escaped(range.start) {
                    return Standing::Refused("a string, after a backslash");
                }
                let before = self.text[..stretch.start].trim_end();
                let after = self.text[stretch.end..].trim_start();
                let key = after.starts_with(':') && before.ends_with(['{', ',']);
                if key || before.ends_with("from") || before.ends_with("import") {
                    return Standing::Refused("the name of a field or module");
                }
                let quote = self.text[stretch.start..=stretch.start].to_owned();
                Standing::Text {
                    range: stretch.clone(),
                    open: quote.clone(),
                    close: quote,
                    raw: false,
                }
            }
        }
    }

    /// In code a placeholder is a separate expression, not part of a name.
    fn in_code(&self, range: &Range<usize>) -> Standing {
        let is_name = |c: char| c == '_' || c == '$' || c.is_alphanumeric() || c == '\u{e000}';
        let before = self.text[..range.start].chars().next_back();
        let after = self.text[range.end..].chars().next();
        if before.is_some_and(|c| is_name(c) || c == '.' || c == '\\') || after.is_some_and(is_name)
        {
            return Standing::Refused("the middle of a name");
        }
        if self.is_name(range) {
            return Standing::Refused("the place of a name");
        }
        Standing::Code
    }

    /// Whether a name must stand there: what is assigned to, imported or declared.
    fn is_name(&self, range: &Range<usize>) -> bool {
        const BEFORE: &[&str] = &[
            "import", "from", "as", "def", "class", "del", "global", "nonlocal", "for", "let",
            "const", "var", "function",
        ];
        let before = self.text[..range.start].trim_end();
        let start = before
            .rfind(|c: char| c != '_' && c != '$' && c != '.' && !c.is_alphanumeric())
            .map_or(0, |at| {
                at + before[at..].chars().next().map_or(1, char::len_utf8)
            });
        if BEFORE.contains(&&before[start..]) {
            return true;
        }
        let after = self.text[range.end..].trim_start();
        let sign: String = after
            .chars()
            .take_while(|c| "=+-*/%&|^@:<>!?~".contains(*c))
            .collect();
        let compares = ["==", "===", "!=", "!==", "<=", ">="];
        let assigns = sign.contains('=')
            && !compares
                .iter()
                .any(|compare| sign.starts_with(compare) && !sign.starts_with("=>"));
        assigns
            || sign.starts_with("++")
            || sign.starts_with("--") && self.language == Language::Node
    }

    fn is_escaped(&self, at: usize) -> bool {
        let slashes = self.text[..at]
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\\')
            .count();
        slashes % 2 == 1
    }

    /// How the script gets at a value beside its placeholders: by a variable of the environment, or on its input.
    fn beside(&self) -> Option<(String, Range<usize>)> {
        let held = self
            .names
            .environment
            .iter()
            .filter(|(_, text)| bash::holds_values(text, self.names))
            .map(|(name, _)| name.as_str());
        let variable = ["TOOLCRIB_ARG_", "TOOLCRIB_VALUES"]
            .into_iter()
            .chain(held)
            .find_map(|name| Some((name, self.source.find(name)?)));
        if let Some((name, at)) = variable {
            return Some((format!("what `{name}` holds"), at..at + name.len()));
        }
        let input = self.names.input.as_ref()?;
        bash::holds_values(input, self.names).then(|| ("what `input` holds".to_owned(), 0..0))
    }
}

enum Edit {
    Text(String),
    Value(Reference, bool),
    Raw(Reference),
}

fn refused(reference: &Reference, span: &Range<usize>, why: &str) -> TemplateProblem {
    TemplateProblem {
        span: span.clone(),
        code: "template-language",
        message: format!("`{{{reference}}}` is in {why}, where no value can be put safely"),
        fix: Some(format!(
            "read it from the environment: `TOOLCRIB_{}` holds the value",
            argument_name(reference)
        )),
    }
}
