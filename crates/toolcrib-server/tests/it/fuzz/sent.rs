//! A request as it is sent, and as a person would send it again.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;

/// A request that can be changed in every part.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) method: String,
    /// Raw, as it is on the wire.
    pub(super) path: String,
    /// Raw, without the question mark.
    pub(super) query: Option<String>,
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) body: Option<Vec<u8>>,
}

impl Sent {
    pub(super) fn set_header(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.drop_header(name);
        self.headers.push((name.to_owned(), value.into()));
    }

    pub(super) fn drop_header(&mut self, name: &str) {
        self.headers.retain(|(known, _)| known != name);
    }

    pub(super) fn header(&self, name: &str) -> Option<&[u8]> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_slice())
    }

    fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }

    /// The request, or `None` if the HTTP library would refuse it before the server saw it.
    pub(super) fn request(&self) -> Option<Request<Full<Bytes>>> {
        let mut request = Request::new(Full::new(self.body.clone().unwrap_or_default().into()));
        *request.method_mut() = Method::from_bytes(self.method.as_bytes()).ok()?;
        *request.uri_mut() = Uri::from_maybe_shared(self.target()).ok()?;
        for (name, value) in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            request
                .headers_mut()
                .append(name, HeaderValue::from_bytes(value).ok()?);
        }
        Some(request)
    }

    /// A command line that sends it to `$URL`.
    pub(super) fn as_curl(&self) -> String {
        let mut line = format!(
            "curl --path-as-is -g -i -X {} \"$URL\"{}",
            quoted(self.method.as_bytes()),
            quoted(self.target().as_bytes())
        );
        for (name, value) in &self.headers {
            let header = [name.as_bytes(), b": ", value].concat();
            line.push_str(&format!(" -H {}", quoted(&header)));
        }
        if let Some(body) = &self.body {
            line.push_str(&format!(" --data-binary {}", quoted(body)));
        }
        line
    }
}

/// A word for bash; bytes that cannot be seen are written as such.
fn quoted(bytes: &[u8]) -> String {
    const MOST: usize = 4000;
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'\'' | b'\\');
    let (shown, left) = bytes.split_at(bytes.len().min(MOST));
    let mut word = match shown.iter().all(plain) {
        true => format!("'{}'", String::from_utf8_lossy(shown)),
        false => {
            let byte = |byte: &u8| match plain(byte) {
                true => char::from(*byte).to_string(),
                false => format!("\\x{byte:02x}"),
            };
            format!("$'{}'", shown.iter().map(byte).collect::<String>())
        }
    };
    if !left.is_empty() {
        word.push_str(&format!(" # and {} bytes more", left.len()));
    }
    word
}
