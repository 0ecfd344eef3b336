//! What a file may say, and its author hardly means: credentials outside of `auth`, placeholders of other template languages.

use std::ops::Range;

use http::HeaderName;

use super::Reader;
use super::scan::{Piece, What};
use crate::definition::At;
use crate::definition::problem::{Severity, SpannedProblem};
use crate::manifest::Template;
use crate::model::secret::looks;
use crate::model::text::shorten;

/// Where a text is that may hold a placeholder of another language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextPosition {
    /// In the path or the query of a URL, where braces mean nothing else.
    Url,
    /// Elsewhere: only the name of an argument is doubtful.
    Text,
}

impl Reader<'_, '_> {
    /// Warns of a header whose value is a credential and is in the file.
    pub(super) fn credential_in_header(
        &mut self,
        at: At<'_, '_>,
        name: &HeaderName,
        template: &Template,
    ) {
        let Some(value) = template.as_literal().map(str::trim) else {
            return;
        };
        let mut words = value.split([' ', ',', ';', '=', '"']);
        let is_named = looks::is_name(name.as_str()) && value.len() > 3;
        if is_named || words.any(looks::is_value) {
            self.credential_in_file(at.span(), name.as_str());
        }
    }

    /// Warns of a query parameter whose value is a credential and is in the file.
    pub(super) fn credential_in_query(&mut self, at: At<'_, '_>, text: &str) {
        let Some(start) = text.find('?') else {
            return;
        };
        let mut from = start + 1;
        for pair in text[from..].split('&') {
            if let Some((name, value)) = pair.split_once('=') {
                let is_named = looks::is_name(name) && value.len() > 3;
                if !value.contains("${") && (is_named || looks::is_value(value)) {
                    let part = from + name.len() + 1..from + pair.len();
                    let span = self.spot(at, &part);
                    self.credential_in_file(span, name);
                }
            }
            from += pair.len() + 1;
        }
    }

    /// Says that a credential is in the file.
    pub(super) fn credential_in_file(&mut self, span: Range<usize>, field: &str) {
        let message = format!(
            "`{}` is readable in the file, and is not masked",
            shorten(field, 60)
        );
        self.found.push(
            SpannedProblem::warning("credential-in-file", span, message)
                .help("`toolcrib secret set NAME` keeps it; write `${NAME}` here"),
        );
    }

    /// Warns of `{name}`, `{{name}}` and `$name`, which are sent as they stand.
    pub(super) fn foreign_placeholders(
        &mut self,
        at: At<'_, '_>,
        pieces: &[Piece<'_>],
        place: TextPosition,
    ) {
        for piece in pieces {
            let What::Text(text) = piece.what else {
                continue;
            };
            // What an escape gives is meant.
            if text.len() != piece.span.len() {
                continue;
            }
            for (part, name, has_braces) in foreign(text) {
                let is_argument = self.arguments_by_name.contains_key(name);
                if !is_argument && (place == TextPosition::Text || !has_braces) {
                    continue;
                }
                if self.found.is_full(Severity::Warning) {
                    return;
                }
                let span = self.spot(
                    at,
                    &(piece.span.start + part.start..piece.span.start + part.end),
                );
                let message = format!("`{}` is sent as it is", &text[part]);
                let problem = SpannedProblem::warning("not-a-placeholder", span.clone(), message);
                self.found.push(match is_argument {
                    true => problem
                        .help(format!("did you mean `${{{name}}}`?"))
                        .fix(span, format!("${{{name}}}")),
                    false => problem.help(format!(
                        "did you mean `${{{name}}}`? Then `{name}` is a property of `argSchema`; a brace that is meant is written `%7B`"
                    )),
                });
            }
        }
    }
}

/// `{name}`, `{{name}}` and `$name` in a text: where they stand, the name, and whether there are braces.
fn foreign(text: &str) -> Vec<(Range<usize>, &str, bool)> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find(['{', '$']) {
        let start = at + found;
        let rest = &text[start..];
        let (open, close) = match rest {
            _ if rest.starts_with("{{") => (2, "}}"),
            _ if rest.starts_with('{') => (1, "}"),
            _ => (1, ""),
        };
        let inside = rest[open..].trim_start_matches(' ');
        let skipped = rest.len() - inside.len();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = inside.find(|c| !is_word(c)).unwrap_or(inside.len());
        let name = &inside[..length];
        let after = inside[length..].trim_start_matches(' ');
        let starts_well = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit());
        if starts_well && length <= 64 && (close.is_empty() || after.starts_with(close)) {
            let end = match close {
                "" => start + skipped + length,
                _ => start + (rest.len() - after.len()) + close.len(),
            };
            // A `$` before a blank and a word is a price, not a name.
            if !(close.is_empty() && skipped > 1) {
                all.push((start..end, name, !close.is_empty()));
            }
            at = end;
        } else {
            at = start + open;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_of_other_languages_are_found() {
        let found = |text: &'static str| -> Vec<(&str, &str)> {
            let all = foreign(text).into_iter();
            all.map(|(part, name, _)| (&text[part], name)).collect()
        };
        assert_eq!(
            found("/{a}/{{ b }}?q=$c&d={"),
            [("{a}", "a"), ("{{ b }}", "b"), ("$c", "c")]
        );
        assert_eq!(found("{\"a\": 1} $ 5 $5 {a b} {a,b} {{a} é{é}"), []);
    }
}
