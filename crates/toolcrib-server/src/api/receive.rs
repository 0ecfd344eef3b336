//! The body of a request: of the right type, within its cap and its deadline.

use std::pin::pin;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt as _;
use toolcrib::ErrorCode;

use super::Api;
use super::refusal::Refusal;
use super::route::Payload;

impl Api {
    /// Reads the body that a route takes. A body of another type, or one that declares too great a length, is refused unread.
    pub(super) async fn receive<B>(
        &self,
        payload: Payload,
        headers: &HeaderMap,
        body: B,
    ) -> Result<Bytes, Refusal>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if body.is_end_stream() {
            return Ok(Bytes::new());
        }
        let (cap, content) = match payload {
            Payload::None => (0, None),
            Payload::Json | Payload::OptionalJson => {
                (self.0.max_body_bytes, Some("application/json"))
            }
            Payload::Zip(cap) => (cap, Some("application/zip")),
            Payload::Form(cap) => (cap, Some("application/x-www-form-urlencoded")),
        };
        let too_long = || match payload {
            Payload::None => Refusal::usage("this route takes no body"),
            Payload::Json | Payload::OptionalJson => Refusal::new(
                ErrorCode::PayloadTooLarge,
                format!(
                    "the body is longer than {cap} bytes; the setting `server.maxBodyBytes` says how long one may be"
                ),
            ),
            Payload::Zip(_) => Refusal::new(
                ErrorCode::PayloadTooLarge,
                format!("the archive is longer than {cap} bytes"),
            ),
            Payload::Form(_) => Refusal::new(
                ErrorCode::PayloadTooLarge,
                format!("the form is longer than {cap} bytes"),
            ),
        };
        if body.size_hint().lower() > cap {
            return Err(too_long());
        }
        if let Some(content) = content
            && body.size_hint().exact() != Some(0)
        {
            check_type(headers, content)?;
        }
        let reading = async {
            let mut body = pin!(body);
            let mut whole = Bytes::new();
            let mut more = BytesMut::new();
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| {
                    let error: Box<dyn std::error::Error + Send + Sync> = error.into();
                    Refusal::usage(format!("the body cannot be read: {error}"))
                })?;
                let Ok(bytes) = frame.into_data() else {
                    continue;
                };
                if (whole.len() + more.len() + bytes.len()) as u64 > cap {
                    return Err(too_long());
                }
                // Most bodies come in one piece, which needs no copy.
                match (whole.is_empty(), more.is_empty()) {
                    (true, true) => whole = bytes,
                    (false, _) => {
                        more.extend_from_slice(&std::mem::take(&mut whole));
                        more.extend_from_slice(&bytes);
                    }
                    (true, false) => more.extend_from_slice(&bytes),
                }
            }
            match more.is_empty() {
                true => Ok(whole),
                false => Ok(more.freeze()),
            }
        };
        match tokio::time::timeout(self.0.body_timeout, reading).await {
            Ok(read) => read,
            Err(_) => Err(Refusal::new(
                ErrorCode::RequestTimeout,
                format!(
                    "the body did not arrive within {} ms; the setting `server.bodyTimeoutMs` says how long it may take",
                    self.0.body_timeout.as_millis()
                ),
            )),
        }
    }
}

/// Refuses a body of another type, or one that is packed.
fn check_type(headers: &HeaderMap, wanted: &'static str) -> Result<(), Refusal> {
    let refused = |why: &str| {
        Err(Refusal::new(
            ErrorCode::UnsupportedMediaType,
            format!("{why}; send `Content-Type: {wanted}`"),
        ))
    };
    if let Some(coding) = headers.get(header::CONTENT_ENCODING)
        && !coding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        return refused("the body is packed (`Content-Encoding`), which this server does not take");
    }
    let mut given = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(first), None) = (given.next(), given.next()) else {
        return refused("the request has a body and not exactly one `Content-Type`");
    };
    let Ok(first) = first.to_str() else {
        return refused("the `Content-Type` is not text");
    };
    let mut parts = first.split(';').map(str::trim);
    if !parts
        .next()
        .unwrap_or_default()
        .eq_ignore_ascii_case(wanted)
    {
        return refused("this route does not take a body of this type");
    }
    // JSON is UTF-8 whatever else is said about it; another charset means that someone is mistaken.
    let is_utf8 = |part: &str| match part.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    };
    match parts.all(is_utf8) {
        true => Ok(()),
        false => refused("the body is not in UTF-8 by its `Content-Type`"),
    }
}
