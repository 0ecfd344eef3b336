//! `bodyTemplate`: what the body is, and where in it placeholders stand.

use std::ops::Range;

use super::Reader;
use super::names::Names;
use super::scan::{Piece, What, scan};
use crate::definition::At;
use crate::definition::problem::{Findings, SpannedProblem};
use crate::definition::yaml::{Content, Node};
use crate::manifest::fields::DIALECT;
use crate::manifest::json::{self, Rigour};
use crate::manifest::{BodyTemplate, JsonPart, Template};
use crate::model::text::shorten;

/// What a body is.
enum BodyKind {
    Json,
    Form,
    /// With what its `Content-Type` says, if anything.
    Text(Option<String>),
}

impl Reader<'_, '_> {
    /// Reads a `bodyTemplate`; `content_type` is the header of this name, if there is one.
    pub(super) fn body(
        &mut self,
        at: At<'_, '_>,
        content_type: Option<&Template>,
        names: Names,
    ) -> Option<BodyTemplate> {
        let text = at.text()?;
        if let Some(nul) = text.find('\0') {
            let message = "U+0000 cannot be sent here";
            self.error(
                "control-character",
                at,
                &(nul..nul + 1),
                message,
                "remove it",
            );
        }
        let pieces = scan(text);
        let kind = match content_type.map(Template::as_literal) {
            Some(Some(said)) => kind_of(said),
            Some(None) => {
                let message = "what the body is must not depend on values: `Content-Type` holds a placeholder";
                let span = at.span();
                self.found.push(
                    SpannedProblem::error("body-type", span, message)
                        .help("write `Content-Type` out, as in `application/json`"),
                );
                return None;
            }
            None if text.trim_start().starts_with(['{', '[']) => BodyKind::Json,
            None => BodyKind::Text(None),
        };
        match kind {
            BodyKind::Json => self.json_body(at, text, &pieces, names, content_type.is_some()),
            BodyKind::Form => self.filled(at, &pieces, names).map(BodyTemplate::Form),
            BodyKind::Text(said) => {
                let template = self.filled(at, &pieces, names)?;
                self.raw_values(at, &pieces, said.as_deref())?;
                Some(BodyTemplate::Text(template))
            }
        }
    }

    /// Values in a body whose form no one here knows stand as they are.
    fn raw_values(
        &mut self,
        at: At<'_, '_>,
        pieces: &[Piece<'_>],
        said: Option<&str>,
    ) -> Option<()> {
        let first = pieces
            .iter()
            .find(|piece| matches!(piece.what, What::Name(_)));
        let (Some(first), Some(said)) = (first, said) else {
            return Some(());
        };
        let span = first.span.clone();
        let shown = shorten(said, 60);
        if said.starts_with("multipart/") {
            let message =
                format!("a value could end its part of a `{shown}` body and begin another");
            self.error("body-type", at, &span, message, "send `application/json` or `application/x-www-form-urlencoded`, where values are encoded");
            return None;
        }
        if said.contains("json") {
            let message = format!(
                "a value could end its text in a `{shown}` body: where values stand is known for one JSON document only"
            );
            self.error(
                "body-type",
                at,
                &span,
                message,
                "send `application/json`, where values are encoded",
            );
            return None;
        }
        if said != "text/plain" {
            let span = self.spot(at, &span);
            let message = format!(
                "values stand in a `{shown}` body as they are: one may change what the rest of it means"
            );
            self.found.push(SpannedProblem::warning("raw-body", span, message).help(
                "send JSON or a form, where values are encoded, or let `argSchema` admit harmless values only (`pattern`, `enum`)",
            ));
        }
        Some(())
    }

    /// A JSON body: with something harmless in the place of every placeholder it must be JSON, and none may stand in a key.
    fn json_body(
        &mut self,
        at: At<'_, '_>,
        text: &str,
        pieces: &[Piece<'_>],
        names: Names,
        is_said: bool,
    ) -> Option<BodyTemplate> {
        let mut sample = Sample::default();
        let mut parts: Vec<JsonPart> = Vec::new();
        let mut is_whole = true;
        for piece in pieces {
            match piece.what {
                What::Text(words) => {
                    sample.literal(words, piece.span.clone());
                    match parts.last_mut() {
                        Some(JsonPart::Literal(before)) => before.push_str(words),
                        _ => parts.push(JsonPart::Literal(words.to_owned())),
                    }
                }
                What::Name(_) | What::Unclosed => {
                    let in_text = sample.placeholder(piece.span.clone());
                    match self.placeholder(at, piece, names) {
                        Some(placeholder) if in_text => parts.push(JsonPart::InText(placeholder)),
                        Some(placeholder) => parts.push(JsonPart::Whole(placeholder)),
                        None => is_whole = false,
                    }
                }
            }
        }
        if !is_whole {
            return None;
        }
        let mut beyond = Findings::of(&sample.text, &DIALECT);
        let parsed = json::parse(&mut beyond, Rigour::Strict);
        let keys = parsed.root.as_ref().map(keys_of).unwrap_or_default();
        let wrong = beyond.into_list();
        if let Some(first) = wrong.first() {
            let part = sample.place(&first.span, text.len());
            let message = format!(
                "the body is not JSON, whatever the values are: {}",
                first.message
            );
            let help = match is_said {
                true => {
                    "inside quotes a placeholder is a text, without quotes a whole value: `{\"name\": \"${name}\", \"limit\": ${limit}}`"
                }
                false => "correct it, or say what it is with the header `Content-Type`",
            };
            self.error("body-json", at, &part, message, help);
            return None;
        }
        let is_key = |place: &usize| keys.iter().any(|key| key.contains(place));
        let in_key = sample.placeholders.iter().find(|(place, _)| is_key(place));
        if let Some((_, span)) = in_key {
            let span = span.clone();
            let message = "a placeholder cannot be a key, or part of one: the fields of the body are fixed by the file";
            self.error(
                "body-json",
                at,
                &span,
                message,
                "write the key out; a value that is a whole object can stand without quotes",
            );
            return None;
        }
        Some(BodyTemplate::Json(parts))
    }
}

/// A body with something harmless in the place of every placeholder.
#[derive(Default)]
struct Sample {
    text: String,
    in_text: bool,
    /// Whether a backslash waits for what it escapes.
    escapes: bool,
    /// Where placeholders stand in the sample, and where in the template.
    placeholders: Vec<(usize, Range<usize>)>,
    /// Where literal pieces begin in the sample, and where they stand in the template.
    pieces: Vec<(usize, Range<usize>)>,
}

impl Sample {
    fn literal(&mut self, words: &str, span: Range<usize>) {
        self.pieces.push((self.text.len(), span));
        for c in words.chars() {
            match c {
                _ if self.escapes => self.escapes = false,
                '\\' if self.in_text => self.escapes = true,
                '"' => self.in_text = !self.in_text,
                _ => {}
            }
        }
        self.text.push_str(words);
    }

    /// Whether the placeholder is inside quotes.
    fn placeholder(&mut self, span: Range<usize>) -> bool {
        self.pieces.push((self.text.len(), span.clone()));
        // Neither is part of an escape, a number or a word, whatever is beside it.
        let stand_in = match self.in_text {
            true => "x",
            false => " 0 ",
        };
        self.placeholders.push((self.text.len(), span));
        self.text.push_str(stand_in);
        self.escapes = false;
        self.in_text
    }

    /// Where a place of the sample is in the template.
    fn place(&self, span: &Range<usize>, most: usize) -> Range<usize> {
        let last = self
            .pieces
            .iter()
            .rev()
            .find(|(start, _)| *start <= span.start);
        match last {
            Some((start, own)) => {
                let begin = (own.start + (span.start - start)).min(own.end).min(most);
                let end = (begin + span.len()).clamp(begin, own.end.max(begin));
                begin..end
            }
            None => 0..0,
        }
    }
}

/// Where keys stand, in the whole tree.
fn keys_of(root: &Node<'_>) -> Vec<Range<usize>> {
    let mut keys = Vec::new();
    let mut left = vec![root];
    while let Some(node) = left.pop() {
        match &node.content {
            Content::Map(entries) => {
                for entry in entries {
                    keys.push(entry.key.span.clone());
                    left.push(&entry.value);
                }
            }
            Content::List(items) => left.extend(items),
            Content::Scalar(_) | Content::Refused => {}
        }
    }
    keys
}

/// What a `Content-Type` says.
fn kind_of(said: &str) -> BodyKind {
    let essence = said
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match essence.as_str() {
        "application/x-www-form-urlencoded" => BodyKind::Form,
        json if json.ends_with("/json") || json.ends_with("+json") => BodyKind::Json,
        _ => BodyKind::Text(Some(essence)),
    }
}
