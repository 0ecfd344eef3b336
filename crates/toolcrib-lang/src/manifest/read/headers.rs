//! `headers`: names that are some, values that stay on their line.

use http::HeaderName;

use super::Reader;
use super::doubts::TextPosition;
use super::names::Names;
use super::scan::scan;
use crate::definition::At;
use crate::definition::problem::SpannedProblem;
use crate::manifest::Template;
use crate::model::text::shorten;
use crate::target::is_framing;

/// The most headers of a file: what the client sends, without those that `auth` and the client itself add.
const MAX_HEADERS: usize = 90;

impl Reader<'_, '_> {
    /// Reads `headers`, in the order of the file.
    pub(super) fn headers(
        &mut self,
        request: At<'_, '_>,
        names: Names,
    ) -> Vec<(HeaderName, Template)> {
        let mut headers: Vec<(HeaderName, Template)> = Vec::new();
        let Some(at) = request.get("headers") else {
            return headers;
        };
        let entries: Vec<_> = at.entries().collect();
        if entries.len() > MAX_HEADERS {
            let message = format!(
                "a request may have {MAX_HEADERS} headers at most, not {}",
                entries.len()
            );
            self.found
                .push(SpannedProblem::error("out-of-range", at.span(), message));
            return headers;
        }
        for (key, value) in entries {
            let Some(name) = self.header_name(&key.text, key.span.clone()) else {
                continue;
            };
            if headers.iter().any(|(known, _)| *known == name) {
                let message = format!(
                    "the header `{}` is given twice; their names do not differ by case",
                    shorten(&key.text, 60)
                );
                self.found.push(
                    SpannedProblem::error("duplicate-key", key.span.clone(), message)
                        .help("remove one of them"),
                );
                continue;
            }
            if value.node.is_empty() {
                continue;
            }
            if let Some(template) = self.template(value, names) {
                self.credential_in_header(value, &name, &template);
                if let Some(text) = value.text() {
                    self.foreign_placeholders(value, &scan(text), TextPosition::Text);
                }
                headers.push((name, template));
            }
        }
        headers
    }

    /// A header's name that may be set.
    pub(super) fn header_name(
        &mut self,
        text: &str,
        span: std::ops::Range<usize>,
    ) -> Option<HeaderName> {
        let shown = shorten(text, 60);
        let Ok(name) = HeaderName::from_bytes(text.as_bytes()) else {
            let message =
                format!("`{shown}` cannot be the name of a header: letters, digits and `-` are");
            self.found.push(
                SpannedProblem::error("bad-header", span, message)
                    .help("write it as in `X-Request-Id`"),
            );
            return None;
        };
        if is_framing(name.as_str()) {
            let message = format!(
                "the header `{shown}` cannot be set: it says whom a message is for, where it ends or what becomes of the connection"
            );
            self.found.push(
                SpannedProblem::error("bad-header", span, message)
                    .help("remove it; it is sent as the request needs it"),
            );
            return None;
        }
        Some(name)
    }
}
