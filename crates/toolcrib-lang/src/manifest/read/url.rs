//! `urlTemplate`: where a request goes is fixed when the file is read, what it asks for is not.

use std::ops::Range;

use super::Reader;
use super::doubts::TextPosition;
use super::names::Names;
use super::scan::{Piece, What, scan};
use crate::definition::At;
use crate::definition::problem::SpannedProblem;
use crate::manifest::{Placeholder, Template, UrlTemplate};
use crate::model::text::shorten;
use crate::target::{Host, Target, is_ambiguous};

impl Reader<'_, '_> {
    /// Reads a `urlTemplate`.
    pub(super) fn url(&mut self, at: At<'_, '_>, names: Names) -> Option<UrlTemplate> {
        let text = at.text()?;
        let pieces = scan(text);
        let scheme = self.scheme(at, text, &pieces)?;
        let end = self.authority(at, text, &pieces, scheme)?;
        self.no_blanks(at, &pieces);
        self.whole_escapes(at, &pieces, end);
        let origin = text[..end].to_owned();
        let target = match Target::parse(&format!("{origin}/")) {
            Ok((_, target)) => target,
            Err(why) => {
                let message = format!("the host cannot be reached as it is written: {why}");
                let help = "write a host as in `https://api.example.com`, or `https://api.example.com:8443`";
                self.error("url-host", at, &(scheme..end), message, help);
                return None;
            }
        };
        let (path, query) = self.path_and_query(at, &pieces, end)?;
        let path = self.filled(at, &path, names);
        let query = query.map(|query| self.filled(at, &query, names));
        let (path, query) = (path?, query.map_or(Some(None), |query| query.map(Some))?);
        self.secrets_in_url(at, &pieces, end, &path, query.as_ref());
        self.credential_in_query(at, text);
        self.foreign_placeholders(at, &pieces, TextPosition::Url);
        let path = match path.parts.is_empty() {
            true => Template::literal("/"),
            false => path,
        };
        Some(UrlTemplate {
            target,
            origin,
            path,
            query,
        })
    }

    /// How long the scheme is, with its `://`.
    fn scheme(&mut self, at: At<'_, '_>, text: &str, pieces: &[Piece<'_>]) -> Option<usize> {
        if let Some(scheme) = ["https://", "http://"]
            .into_iter()
            .find(|scheme| text.starts_with(scheme))
        {
            return Some(scheme.len());
        }
        let help = "write `https://host/…`, with the host as it is";
        if let Some(Piece {
            span,
            what: What::Name(_),
        }) = pieces.first()
        {
            let span = span.clone();
            let message = "a placeholder cannot stand for the scheme or the host: where a tool sends its requests is fixed by its file";
            self.error("url-placeholder", at, &span, message, help);
            return None;
        }
        let end = text.find("://").map_or(text.len().min(40), |end| end + 3);
        let end = text.floor_char_boundary(end);
        let message = match text[..end].to_ascii_lowercase().as_str() {
            "https://" | "http://" => "the scheme is written in lower case".to_owned(),
            _ if text.trim().is_empty() => "`urlTemplate` is empty".to_owned(),
            _ => format!(
                "`urlTemplate` must start with `http://` or `https://`, not `{}`",
                shorten(&text[..end], 40)
            ),
        };
        let span = match text.is_empty() {
            true => at.span(),
            false => self.spot(at, &(0..end)),
        };
        self.found
            .push(SpannedProblem::error("url-scheme", span, message).help(help));
        None
    }

    /// Where host and port end. Nothing in them is a placeholder.
    fn authority(
        &mut self,
        at: At<'_, '_>,
        text: &str,
        pieces: &[Piece<'_>],
        start: usize,
    ) -> Option<usize> {
        for piece in pieces.iter().filter(|piece| piece.span.end > start) {
            match piece.what {
                What::Text(_) => {
                    let from = piece.span.start.max(start);
                    let found = text[from..piece.span.end].find(['/', '?', '#', '\\']);
                    let Some(found) = found else { continue };
                    let end = from + found;
                    if text[end..].starts_with('\\') {
                        let message = "a backslash is a slash to some readers of URLs and a character to others";
                        self.error(
                            "url-host",
                            at,
                            &(end..end + 1),
                            message,
                            "write `/`, or `%5C` in the path",
                        );
                        return None;
                    }
                    return Some(end);
                }
                What::Name(_) | What::Unclosed => {
                    self.placeholder_in_authority(at, text, &piece.span, start);
                    return None;
                }
            }
        }
        Some(text.len())
    }

    fn placeholder_in_authority(
        &mut self,
        at: At<'_, '_>,
        text: &str,
        span: &Range<usize>,
        start: usize,
    ) {
        let before = &text[start..span.start];
        let after = &text[span.end..];
        let rest = &after[..after.find(['/', '?', '#']).unwrap_or(after.len())];
        let what = if rest.contains('@') {
            "user or password of the URL"
        } else if before.rsplit('@').next().is_some_and(|host| {
            host.contains(':') && !host.ends_with(']') && !host.starts_with('[')
        }) || before.ends_with("]:")
        {
            "port"
        } else {
            "host"
        };
        let help = match what {
            "user or password of the URL" => {
                "write `\"auth\": {\"type\": \"basic\", \"username\": …, \"password\": …}`"
            }
            _ => {
                "write the host as it is, with a `/` before the first placeholder; one tool for each host"
            }
        };
        let message = format!(
            "a placeholder cannot stand for the {what}: where a tool sends its requests is fixed by its file"
        );
        self.error("url-placeholder", at, span, message, help);
    }

    fn no_blanks(&mut self, at: At<'_, '_>, pieces: &[Piece<'_>]) {
        for piece in pieces {
            let What::Text(text) = piece.what else {
                continue;
            };
            if let Some((offset, c)) = text.char_indices().find(|(_, c)| is_ambiguous(*c)) {
                let start = piece.span.start + offset;
                let code = match c.is_control() {
                    true => "control-character",
                    false => "url-character",
                };
                let message = format!("U+{:04X} cannot stand in a URL as it is", u32::from(c));
                let mut bytes = [0; 4];
                let encoded: String = c
                    .encode_utf8(&mut bytes)
                    .bytes()
                    .map(|byte| format!("%{byte:02X}"))
                    .collect();
                let part = start..start + c.len_utf8();
                self.error(
                    code,
                    at,
                    &part,
                    message,
                    format!("write `{encoded}`, or remove it"),
                );
                return;
            }
        }
    }

    /// Every `%` has its two digits: a value must not become the rest of an escape.
    fn whole_escapes(&mut self, at: At<'_, '_>, pieces: &[Piece<'_>], from: usize) {
        for piece in pieces {
            let What::Text(text) = piece.what else {
                continue;
            };
            let is_open = |place: &usize| {
                let digits = text.as_bytes().get(place + 1..place + 3);
                !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            };
            let percents = text.match_indices('%').map(|(place, _)| place);
            let open = percents.filter(|place| piece.span.start + place >= from);
            if let Some(open) = open.into_iter().find(is_open) {
                let start = piece.span.start + open;
                let message = "a `%` must be followed by two hexadecimal digits; the text after this one could complete it";
                self.error(
                    "url-character",
                    at,
                    &(start..start + 1),
                    message,
                    "write `%25` for a percent sign; values are encoded by themselves",
                );
                return;
            }
        }
    }

    /// The pieces of the path, and those behind the `?`.
    fn path_and_query<'t>(
        &mut self,
        at: At<'_, '_>,
        pieces: &[Piece<'t>],
        from: usize,
    ) -> Option<(Vec<Piece<'t>>, Option<Vec<Piece<'t>>>)> {
        let mut path = Vec::new();
        let mut query: Option<Vec<Piece<'t>>> = None;
        for piece in pieces.iter().filter(|piece| piece.span.end > from) {
            let What::Text(text) = piece.what else {
                query.as_mut().unwrap_or(&mut path).push(piece.clone());
                continue;
            };
            let start = piece.span.start.max(from);
            let text = &text[start - piece.span.start..];
            if let Some(fragment) = text.find('#') {
                let message = "the part after `#` is never sent";
                let part = start + fragment..piece.span.end;
                self.error(
                    "url-fragment",
                    at,
                    &part,
                    message,
                    "remove it; a `#` that belongs to the path or the query is written `%23`",
                );
                return None;
            }
            let question = match query {
                None => text.find('?'),
                Some(_) => None,
            };
            let part = |range: Range<usize>| Piece {
                span: start + range.start..start + range.end,
                what: What::Text(&text[range]),
            };
            match question {
                Some(question) => {
                    if question > 0 {
                        path.push(part(0..question));
                    }
                    let rest = question + 1..text.len();
                    query = Some(match rest.is_empty() {
                        true => Vec::new(),
                        false => vec![part(rest)],
                    });
                }
                None if !text.is_empty() => {
                    query
                        .as_mut()
                        .unwrap_or(&mut path)
                        .push(part(0..text.len()));
                }
                None => {}
            }
        }
        Some((path, query))
    }

    /// A secret in a URL is in the logs of every server on the way.
    fn secrets_in_url(
        &mut self,
        at: At<'_, '_>,
        pieces: &[Piece<'_>],
        from: usize,
        path: &Template,
        query: Option<&Template>,
    ) {
        let placeholders = path
            .placeholders()
            .chain(query.into_iter().flat_map(Template::placeholders));
        let named = pieces
            .iter()
            .filter(|piece| piece.span.start >= from && matches!(piece.what, What::Name(_)));
        for (placeholder, piece) in placeholders.zip(named) {
            if let Placeholder::Secret(name) = placeholder {
                let span = self.spot(at, &piece.span);
                let message = format!(
                    "the secret `{}` is part of the URL, which servers write to their logs",
                    name.as_str()
                );
                self.found.push(
                    SpannedProblem::warning("secret-in-url", span, message)
                        .help("send it in a header or with `auth` if the server takes it there"),
                );
                return;
            }
        }
    }

    /// A secret that travels without encryption. To this machine itself it may.
    pub(super) fn secrets_in_the_open(&mut self, url: At<'_, '_>, target: &Target, what: &str) {
        let is_loopback = matches!(target.host, Host::Address(address) if address.is_loopback());
        if !target.https && !is_loopback {
            let message =
                format!("{what} travels without encryption: anybody on the way can read it");
            let span = self.spot(url, &(0.."http://".len()));
            self.found.push(
                SpannedProblem::warning("secret-over-http", span, message)
                    .help("write `https://` if the server has it"),
            );
        }
    }
}
