//! From a template and values to a request: [`Draft`], the texts of it, then [`Draft::into_request`].
//!
//! The invariant: a value changes what is at its position, and nothing else. A value stays in its segment of the path, one that
//! would take its segment away (`.`, `..`, nothing) is refused, and the finished URL must have the target that the file names.

use std::fmt;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::encode::Position;
use super::values::{Fill, Filled, Unfit};
use crate::egress::{EgressError, MAX_URL, Reach, Request, Target};
use crate::manifest::{
    BodyTemplate, JsonPart, Part, Placeholder, RequestTemplate, ResponseEncoding, Template,
};
use crate::model::error::{ErrorCode, ToolError};

/// How many redirections are followed.
const MAX_REDIRECTS: u8 = 5;

/// A request as texts.
pub(super) struct Draft {
    pub(super) url: String,
    pub(super) headers: Vec<Header>,
    pub(super) body: String,
}

/// A header of a draft.
pub(super) struct Header {
    pub(super) name: HeaderName,
    pub(super) value: String,
    /// Whether it must not be sent to another origin, nor shown.
    pub(super) sensitive: bool,
}

/// Without what may be a secret: the texts themselves.
impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft")
            .field("url_bytes", &self.url.len())
            .field("headers", &self.headers)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// Without the value.
impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.value.len())
    }
}

impl Draft {
    /// Fills a template in.
    pub(super) fn of(template: &RequestTemplate, fill: &mut dyn Fill) -> Result<Self, Unfit> {
        let mut url = template.url.origin.clone();
        path(&template.url.path, fill, &mut url)?;
        if let Some(query) = &template.url.query {
            url.push('?');
            plain(query, Position::Query, fill, &mut url)?;
        }
        let mut headers = Vec::with_capacity(template.headers.len() + 2);
        for (name, value) in &template.headers {
            let mut text = String::new();
            plain(value, Position::Header, fill, &mut text)?;
            headers.push(Header {
                name: name.clone(),
                value: text,
                sensitive: value.placeholders().any(is_confidential),
            });
        }
        let mut body = String::new();
        match &template.body {
            None => {}
            Some(BodyTemplate::Json(parts)) => json(parts, fill, &mut body)?,
            Some(BodyTemplate::Form(form)) => plain(form, Position::Form, fill, &mut body)?,
            Some(BodyTemplate::Text(text)) => plain(text, Position::Text, fill, &mut body)?,
        }
        let mut draft = Draft { url, headers, body };
        if let Some(body) = &template.body {
            draft.unless_said(CONTENT_TYPE, content_type(body));
        }
        if template.encoding == ResponseEncoding::Json {
            draft.unless_said(ACCEPT, "application/json, */*;q=0.5");
        }
        Ok(draft)
    }

    fn unless_said(&mut self, name: HeaderName, value: &str) {
        if !self.headers.iter().any(|header| header.name == name) {
            self.headers.push(Header {
                name,
                value: value.to_owned(),
                sensitive: false,
            });
        }
    }

    /// How many bytes it is: URL, headers and body.
    pub(super) fn size(&self) -> u64 {
        let headers = self.headers.iter();
        let headers: usize = headers
            .map(|header| header.name.as_str().len() + header.value.len())
            .sum();
        (self.url.len() + headers + self.body.len()) as u64
    }

    /// The request; without credentials and limits.
    pub(super) fn into_request(self, template: &RequestTemplate) -> Result<Request, ToolError> {
        if self.url.len() > MAX_URL {
            return Err(ToolError::new(
                ErrorCode::InvalidArguments,
                too_long(self.url.len()),
            ));
        }
        let (url, target) = Target::parse(&self.url)?;
        if target != template.url.target {
            // Nothing that is known leads here; if something does, nothing is sent.
            return Err(ToolError::new(
                ErrorCode::HostNotAllowed,
                "the values of the call would change the host of the URL",
            ));
        }
        let mut request = Request::get(url);
        request.headers = headers(self.headers)?;
        request.method = template.method.clone();
        request.body = Bytes::from(self.body);
        request.body_is_plain = match &template.body {
            Some(body) => !body.placeholders().into_iter().any(is_confidential),
            None => true,
        };
        request.reach = Reach::Listed;
        request.timeout = template.timeout;
        // A tool that counts a redirection as success wants to see it.
        let wants = |code: &u16| matches!(code, 300..=399);
        request.max_redirects = match template.success_codes.iter().any(wants) {
            true => 0,
            false => MAX_REDIRECTS,
        };
        Ok(request)
    }
}

/// The message for a URL that is too long.
pub(super) fn too_long(bytes: usize) -> String {
    format!("makes the URL {bytes} bytes long; the limit is {MAX_URL}")
}

fn headers(drafts: Vec<Header>) -> Result<HeaderMap, ToolError> {
    let mut headers = HeaderMap::with_capacity(drafts.len());
    for header in drafts {
        let mut value = HeaderValue::from_str(&header.value).map_err(|_| {
            let message = format!("the header `{}` cannot carry its value", header.name);
            ToolError::from(EgressError::BadRequest(message))
        })?;
        value.set_sensitive(header.sensitive);
        headers.append(header.name, value);
    }
    Ok(headers)
}

/// Whether a value is no one else's business: a secret, or what a request before gave, which may be a token.
pub(super) fn is_confidential(placeholder: &Placeholder) -> bool {
    match placeholder {
        Placeholder::Secret(_) | Placeholder::Previous => true,
        Placeholder::Argument(_) | Placeholder::BuiltIn(_) => false,
    }
}

fn content_type(body: &BodyTemplate) -> &'static str {
    match body {
        BodyTemplate::Json(_) => "application/json",
        BodyTemplate::Form(_) => "application/x-www-form-urlencoded",
        BodyTemplate::Text(_) => "text/plain; charset=utf-8",
    }
}

fn plain(
    template: &Template,
    position: Position,
    fill: &mut dyn Fill,
    out: &mut String,
) -> Result<(), Unfit> {
    for part in &template.parts {
        match part {
            Part::Literal(literal) => out.push_str(literal),
            Part::Value(placeholder) => {
                fill.fill(placeholder, position, out)?;
            }
        }
    }
    Ok(())
}

fn json(parts: &[JsonPart], fill: &mut dyn Fill, out: &mut String) -> Result<(), Unfit> {
    for part in parts {
        match part {
            JsonPart::Literal(literal) => out.push_str(literal),
            JsonPart::InText(placeholder) => {
                fill.fill(placeholder, Position::JsonText, out)?;
            }
            JsonPart::Whole(placeholder) => {
                fill.fill(placeholder, Position::JsonValue, out)?;
            }
        }
    }
    Ok(())
}

/// The path, segment by segment.
fn path(template: &Template, fill: &mut dyn Fill, out: &mut String) -> Result<(), Unfit> {
    let mut segment = Segment::from(out.len());
    for part in &template.parts {
        match part {
            Part::Literal(literal) => {
                for piece in literal.split_inclusive(['/', '\\']) {
                    let ended = piece.strip_suffix(['/', '\\']);
                    out.push_str(ended.unwrap_or(piece));
                    if ended.is_some() {
                        segment.end(fill, out)?;
                        out.push('/');
                        segment = Segment::from(out.len());
                    }
                }
            }
            Part::Value(placeholder) => {
                let filled = fill.fill(placeholder, Position::Path, out)?;
                segment.is_known &= filled == Filled::Value;
                segment.value = Some(placeholder);
            }
        }
    }
    segment.end(fill, out)
}

/// A segment of the path that is being written.
struct Segment<'a> {
    start: usize,
    /// The last placeholder in it.
    value: Option<&'a Placeholder>,
    is_known: bool,
}

impl Segment<'_> {
    fn from(start: usize) -> Self {
        Segment {
            start,
            value: None,
            is_known: true,
        }
    }

    /// Refuses a segment that readers of URLs would take away, and with it perhaps its neighbour.
    fn end(&self, fill: &mut dyn Fill, out: &str) -> Result<(), Unfit> {
        let (Some(placeholder), true) = (self.value, self.is_known) else {
            return Ok(());
        };
        let text = out[self.start..].to_ascii_lowercase().replace("%2e", ".");
        let why = match text.as_str() {
            "" => "is empty, and so would be its segment of the URL's path",
            "." | ".." => {
                "makes a segment `.` or `..` of the URL's path, which would change the path"
            }
            _ => return Ok(()),
        };
        fill.unfit(Unfit::value(placeholder, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_at_a_draft_or_a_request_shows_no_values() {
        let draft = Draft {
            url: "https://api.example/SENTINEL?key=SENTINEL".to_owned(),
            headers: vec![Header {
                name: ACCEPT,
                value: "SENTINEL".to_owned(),
                sensitive: false,
            }],
            body: "SENTINEL".to_owned(),
        };
        let shown = format!("{draft:?}");
        assert!(
            shown.contains("accept") && !shown.contains("SENTINEL"),
            "{shown}"
        );
        let (url, _) = Target::parse("https://me:SENTINEL@api.example/SENTINEL?key=SENTINEL")
            .or_else(|_| Target::parse(&draft.url))
            .unwrap();
        let mut request = Request::get(url);
        request.headers = headers(draft.headers).unwrap();
        request.body = Bytes::from(draft.body);
        let shown = format!("{request:?}");
        assert!(
            shown.contains("api.example") && !shown.contains("SENTINEL"),
            "{shown}"
        );
    }
}
