//! The name a TLS client asks for: the first message of a tunnel, read as far as its `server_name`.
//!
//! A tunnel to one name that asks for another inside (a tenant of the same machine, say) would reach someone no one permitted. Only
//! the first message is read, and only up to its limit; what follows is no one's business here, so that a request *inside* of TLS can still name
//! another host.

/// How much may come before the name is known. Clients with keys for the time of quantum computers send 2 KB.
pub(super) const MAX_HELLO: usize = 32 * 1024;

/// What the first bytes of a tunnel are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hello {
    /// Not enough to tell.
    More,
    /// Something else than TLS.
    Other,
    /// The first message of TLS, and the name in it.
    Tls(Option<String>),
    /// It begins like TLS and cannot be understood.
    Bad,
}

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// Reads the beginning of what a client sends.
pub(super) fn read(bytes: &[u8]) -> Hello {
    match bytes {
        [] => return Hello::More,
        [HANDSHAKE, 3, ..] | [HANDSHAKE] => {}
        _ => return Hello::Other,
    }
    // A message may be cut into several records.
    let mut message = Vec::new();
    let mut rest = Reader(bytes);
    loop {
        if let Some(length) = message_length(&message) {
            let Some(length) = length else {
                return Hello::Bad;
            };
            if let Some(hello) = message.get(4..4 + length) {
                return name(hello).map_or(Hello::Bad, Hello::Tls);
            }
        }
        let Some((kind, record)) = record(&mut rest) else {
            return match bytes.len() >= MAX_HELLO {
                true => Hello::Bad,
                false => Hello::More,
            };
        };
        if kind != HANDSHAKE || record.is_empty() {
            return Hello::Bad;
        }
        message.extend_from_slice(record);
    }
}

/// How long the message is that begins so, once that is known; `Some(None)` for one that cannot be the first.
fn message_length(message: &[u8]) -> Option<Option<usize>> {
    let [kind, high, middle, low, ..] = message else {
        return None;
    };
    let length = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
    Some((*kind == CLIENT_HELLO && length <= MAX_HELLO).then_some(length))
}

fn record<'a>(bytes: &mut Reader<'a>) -> Option<(u8, &'a [u8])> {
    let kind = bytes.byte()?;
    bytes.take(2)?;
    let length = bytes.number()?;
    Some((kind, bytes.take(length.into())?))
}

/// The name in the message; `None` if it makes no sense.
#[expect(clippy::option_option, reason = "no name is not nonsense")]
fn name(hello: &[u8]) -> Option<Option<String>> {
    let mut hello = Reader(hello);
    hello.take(2 + 32)?;
    let session = hello.byte()?;
    hello.take(session.into())?;
    let ciphers = hello.number()?;
    hello.take(ciphers.into())?;
    let compressions = hello.byte()?;
    hello.take(compressions.into())?;
    if hello.0.is_empty() {
        return Some(None);
    }
    let length = hello.number()?;
    let mut extensions = Reader(hello.take(length.into())?);
    let mut found = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number()?;
        let length = extensions.number()?;
        let content = extensions.take(length.into())?;
        if kind == SERVER_NAME {
            // Twice, or two names: which one a server takes is anybody's guess.
            if found.is_some() {
                return None;
            }
            found = Some(host_name(content)?);
        }
    }
    hello.0.is_empty().then_some(found)
}

fn host_name(content: &[u8]) -> Option<String> {
    let mut content = Reader(content);
    let length = content.number()?;
    let mut list = Reader(content.take(length.into())?);
    let kind = list.byte()?;
    let length = list.number()?;
    let name = list.take(length.into())?;
    let alone = list.0.is_empty() && content.0.is_empty();
    if kind != HOST_NAME || !alone || name.is_empty() || !name.is_ascii() {
        return None;
    }
    let name = String::from_utf8(name.to_vec()).ok()?;
    Some(name.to_ascii_lowercase())
}

/// Takes bytes from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u16> {
        let bytes: [u8; 2] = self.take(2)?.try_into().ok()?;
        Some(u16::from_be_bytes(bytes))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// What a real client sends first; one that wants an address names no one.
    pub(in crate::egress::proxy) fn real(name: &str) -> Vec<u8> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let server = rustls::pki_types::ServerName::try_from(name.to_owned()).unwrap();
        let mut client = rustls::ClientConnection::new(Arc::new(config), server).unwrap();
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn the_name_of_a_real_client_is_read_however_it_arrives() {
        let bytes = real("api.example.com");
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end]), Hello::More, "{end}");
        }
        let named = Hello::Tls(Some("api.example.com".to_owned()));
        assert_eq!(read(&bytes), named);
        let mut more = bytes;
        more.extend_from_slice(b"whatever follows");
        assert_eq!(read(&more), named);
        assert_eq!(
            read(&real("127.0.0.1")),
            Hello::Tls(None),
            "an address is not a name"
        );
    }

    #[test]
    fn a_message_in_many_records_is_one_message() {
        let bytes = real("api.example.com");
        let mut cut = Vec::new();
        for part in bytes[5..].chunks(7) {
            cut.extend_from_slice(&[22, 3, 1, 0, part.len() as u8]);
            cut.extend_from_slice(part);
        }
        assert_eq!(read(&cut), Hello::Tls(Some("api.example.com".to_owned())));
    }

    #[test]
    fn what_is_not_tls_is_something_else_and_what_only_begins_so_is_bad() {
        assert_eq!(read(b""), Hello::More);
        assert_eq!(read(b"SSH-2.0-x"), Hello::Other);
        assert_eq!(read(b"GET / HTTP/1.1\r\n"), Hello::Other);
        assert_eq!(read(&[22]), Hello::More);
        assert_eq!(
            read(&[22, 3, 1, 0, 4, 2, 0, 0, 0]),
            Hello::Bad,
            "no first message"
        );
        assert_eq!(read(&[22, 3, 1, 0, 0]), Hello::Bad, "an empty record");
        assert_eq!(
            read(&[22, 3, 1, 0, 4, 1, 255, 0, 0]),
            Hello::Bad,
            "too long"
        );
        let mut endless = vec![22, 3, 1, 255, 255];
        endless.resize(MAX_HELLO, 0);
        assert_eq!(read(&endless), Hello::Bad);
        let mut twice = real("a.example");
        let at = twice
            .windows(9)
            .position(|part| part == b"a.example")
            .unwrap();
        twice[at - 3] = 7;
        assert_eq!(read(&twice), Hello::Bad, "a name of an unknown kind");
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(mut bytes in prop::collection::vec(any::<u8>(), 0..400), at in 0usize..200) {
            let _ = read(&bytes);
            if bytes.len() > 1 {
                bytes[0] = 22;
                bytes[1] = 3;
                let _ = read(&bytes);
            }
            let mut hello = real("a.example");
            let at = at % hello.len();
            hello[at] ^= bytes.first().copied().unwrap_or(1);
            let _ = read(&hello);
        }
    }
}
