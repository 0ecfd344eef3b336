//! One message by SMTP (RFC 5321), to a server that the operator's settings name: [`send`].
//!
//! The connection goes through [`Egress`] like any other, and is always encrypted: from the start (`smtps`), or after `STARTTLS`, which the
//! server has to offer. What came before the encryption is forgotten, so that no one on the way can put words into the server's mouth.
//! Replies are short or an error; the text is sent as base64, so that nothing in it is a command.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};

use crate::egress::{Egress, ExchangeLog, RawStream, Target};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::secret::Secret;
use crate::model::text;

/// What an exchange is called in records.
const PROTOCOL: &str = "SMTP";
/// How much a server may say altogether, in one line, and in how many lines of one reply.
const MAX_RECEIVED: u64 = 256 * 1024;
const MAX_LINE: u64 = 2000;
const MAX_LINES: usize = 100;
/// How many characters of base64 are in a line.
const WIDTH: usize = 76;

/// A server that takes messages.
#[derive(Debug, Clone)]
pub struct MailServer {
    /// Where it is.
    pub target: Target,
    /// Whether a connection is encrypted from the start; if not, after `STARTTLS`.
    pub is_encrypted: bool,
    /// The account that logs in, if any.
    pub login: Option<(String, Secret)>,
}

/// A message.
#[derive(Debug, Clone)]
pub struct Mail<'a> {
    /// The sender's address.
    pub from: &'a str,
    /// The recipients' addresses.
    pub to: &'a [String],
    /// What it is about, on one line.
    pub subject: &'a str,
    /// The text.
    pub text: &'a str,
    /// What makes it different from every other message: letters, digits and `-`.
    pub id: &'a str,
    /// When it is written.
    pub date: Timestamp,
}

/// Sends a message. It is delivered, as far as the server is concerned, or this is an error.
pub async fn send(egress: &Egress, server: &MailServer, mail: &Mail<'_>) -> Result<(), ToolError> {
    let log = ExchangeLog::default();
    let target = &server.target;
    let stream = egress
        .open_raw(target, PROTOCOL, MAX_RECEIVED, &log)
        .await?;
    if server.is_encrypted {
        let stream = egress.encrypt_raw(stream, target, b"").await?;
        let mut talk = Talk::new(stream);
        talk.expect("the greeting", 220).await?;
        return talk.deliver(server, mail).await;
    }
    let stream = upgraded(stream, mail).await?;
    let stream = egress.encrypt_raw(stream, target, b"").await?;
    Talk::new(stream).deliver(server, mail).await
}

/// Has the server agree to encryption.
async fn upgraded(stream: RawStream, mail: &Mail<'_>) -> Result<RawStream, ToolError> {
    let mut talk = Talk::new(stream);
    talk.expect("the greeting", 220).await?;
    let offers = talk.hello(mail).await?;
    if !offers
        .iter()
        .any(|offer| offer.eq_ignore_ascii_case("STARTTLS"))
    {
        return Err(failed(
            "the mail server offers no encryption (STARTTLS); use `smtps://` if it has a port for that".to_owned(),
        ));
    }
    talk.ask("STARTTLS", "STARTTLS", 220).await?;
    if !talk.stream.buffer().is_empty() {
        return Err(failed(
            "the mail server said more than it was asked before the encryption began".to_owned(),
        ));
    }
    Ok(talk.stream.into_inner())
}

/// A conversation.
struct Talk<S> {
    stream: BufReader<S>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Talk<S> {
    fn new(stream: S) -> Self {
        Talk {
            stream: BufReader::new(stream),
        }
    }

    async fn deliver(mut self, server: &MailServer, mail: &Mail<'_>) -> Result<(), ToolError> {
        let offers = self.hello(mail).await?;
        if let Some((user, password)) = &server.login {
            self.log_in(&offers, user, password).await?;
        }
        self.ask(&format!("MAIL FROM:<{}>", mail.from), "the sender", 250)
            .await?;
        for to in mail.to {
            self.ask(&format!("RCPT TO:<{to}>"), "a recipient", 250)
                .await?;
        }
        self.ask("DATA", "DATA", 354).await?;
        self.ask(&format!("{}\r\n.", message(mail)), "the message", 250)
            .await?;
        // It is delivered; a server that does not say goodbye changes nothing.
        let _ = self.ask("QUIT", "QUIT", 221).await;
        Ok(())
    }

    /// Introduces itself; what the server offers.
    async fn hello(&mut self, mail: &Mail<'_>) -> Result<Vec<String>, ToolError> {
        let name = domain_of(mail.from);
        self.ask(&format!("EHLO {name}"), "EHLO", 250).await
    }

    async fn log_in(
        &mut self,
        offers: &[String],
        user: &str,
        password: &Secret,
    ) -> Result<(), ToolError> {
        let ways = offers.iter().find_map(|offer| {
            let (word, rest) = offer.split_once([' ', '='])?;
            word.eq_ignore_ascii_case("AUTH").then_some(rest)
        });
        let has = |way: &str| {
            let mut ways = ways.unwrap_or_default().split(' ');
            ways.any(|one| one.eq_ignore_ascii_case(way))
        };
        if has("PLAIN") {
            let both = format!("\0{user}\0{}", password.expose());
            let line = format!("AUTH PLAIN {}", STANDARD.encode(both));
            self.ask(&line, "the login", 235).await?;
        } else if has("LOGIN") {
            self.ask("AUTH LOGIN", "the login", 334).await?;
            self.ask(&STANDARD.encode(user), "the login", 334).await?;
            self.ask(&STANDARD.encode(password.expose()), "the login", 235)
                .await?;
        } else {
            return Err(failed(
                "the mail server takes no login by password (PLAIN or LOGIN)".to_owned(),
            ));
        }
        Ok(())
    }

    async fn ask(&mut self, line: &str, what: &str, wanted: u16) -> Result<Vec<String>, ToolError> {
        let bytes = format!("{line}\r\n");
        let written = async {
            self.stream.get_mut().write_all(bytes.as_bytes()).await?;
            self.stream.get_mut().flush().await
        };
        written.await.map_err(broken)?;
        self.expect(what, wanted).await
    }

    /// Reads a reply; its lines without the code.
    async fn expect(&mut self, what: &str, wanted: u16) -> Result<Vec<String>, ToolError> {
        let mut lines = Vec::new();
        loop {
            let mut line = Vec::new();
            let mut reading = (&mut self.stream).take(MAX_LINE);
            reading.read_until(b'\n', &mut line).await.map_err(broken)?;
            if !line.ends_with(b"\n") || lines.len() >= MAX_LINES {
                return Err(failed(
                    "the mail server does not answer in SMTP, or broke off".to_owned(),
                ));
            }
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            let code = line.get(..3).and_then(|code| code.parse::<u16>().ok());
            let (Some(code), more) = (code, line.as_bytes().get(3)) else {
                return Err(failed("the mail server does not answer in SMTP".to_owned()));
            };
            lines.push(line.get(4..).unwrap_or_default().to_owned());
            if more == Some(&b'-') {
                continue;
            }
            if code != wanted {
                let said = text::shorten(&text::visible_line(&lines.join(" ")), 300);
                return Err(failed(format!(
                    "the mail server refused {what}: {code} {said}"
                )));
            }
            return Ok(lines);
        }
    }
}

fn failed(message: String) -> ToolError {
    ToolError::new(ErrorCode::NetworkError, message)
}

fn broken(error: std::io::Error) -> ToolError {
    failed(format!("the mail server broke off: {error}")).caused_by(error)
}

fn domain_of(address: &str) -> &str {
    address
        .rsplit_once('@')
        .map_or("localhost", |(_, domain)| domain)
}

/// The message as it is sent, without the line that ends it.
fn message(mail: &Mail<'_>) -> String {
    let date = mail.date.strftime("%a, %d %b %Y %H:%M:%S +0000");
    let subject = text::visible_line(mail.subject);
    let subject = match subject.is_ascii() {
        true => subject.into_owned(),
        false => encoded_words(&subject),
    };
    let mut body = String::new();
    let text = mail.text.replace("\r\n", "\n").replace('\n', "\r\n");
    let encoded = STANDARD.encode(text);
    for line in encoded.as_bytes().chunks(WIDTH) {
        body.push_str("\r\n");
        body.extend(line.iter().map(|byte| char::from(*byte)));
    }
    format!(
        "From: Toolcrib <{from}>\r\nTo: {to}\r\nSubject: {subject}\r\nDate: {date}\r\nMessage-ID: <{id}@{domain}>\r\n\
         MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\
         Auto-Submitted: auto-generated\r\n{body}",
        from = mail.from,
        to = mail.to.join(", "),
        id = mail.id,
        domain = domain_of(mail.from),
    )
}

/// A header's text that is not ASCII (RFC 2047): words of at most 75 characters.
fn encoded_words(text: &str) -> String {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        if word.len() + c.len_utf8() > 42 {
            words.push(std::mem::take(&mut word));
        }
        word.push(c);
    }
    words.push(word);
    let words = words
        .iter()
        .map(|word| format!("=?utf-8?B?{}?=", STANDARD.encode(word)));
    words.collect::<Vec<_>>().join("\r\n ")
}

#[cfg(test)]
mod tests;
