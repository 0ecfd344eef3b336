use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;
use crate::egress::EgressOptions;

fn mail<'a>(subject: &'a str, text: &'a str, to: &'a [String]) -> Mail<'a> {
    Mail {
        from: "crib@example.com",
        to,
        subject,
        text,
        id: "0197-1",
        date: Timestamp::UNIX_EPOCH,
    }
}

#[test]
fn nothing_in_a_text_is_a_header_or_a_command() {
    let to = ["ada@example.com".to_owned()];
    let made = message(&mail("a\r\nBcc: eve@example.com", ".\r\nQUIT\r\n", &to));
    assert_eq!(
        made,
        "From: Toolcrib <crib@example.com>\r\nTo: ada@example.com\r\nSubject: a\\u{000d}\\nBcc: eve@example.com\r\n\
         Date: Thu, 01 Jan 1970 00:00:00 +0000\r\nMessage-ID: <0197-1@example.com>\r\nMIME-Version: 1.0\r\n\
         Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\nAuto-Submitted: auto-generated\r\n\r\n\
         Lg0KUVVJVA0K"
    );
}

#[test]
fn a_subject_that_is_not_ascii_is_encoded_in_short_words() {
    let made = encoded_words(&"天気".repeat(20));
    assert!(made.lines().all(|line| line.len() <= 76), "{made}");
    assert!(made.starts_with("=?utf-8?B?5aSp5rCX"));
}

/// What a scripted server does.
#[derive(Clone, Copy, PartialEq)]
enum Serves {
    /// Encrypted from the start.
    Encrypted,
    /// After `STARTTLS`.
    StartTls,
    /// Never.
    Plain,
    /// It says something right behind its agreement to encrypt: what one on the way could put there.
    Injects,
}

/// A server on loopback that takes one message, and the lines it received, once it is over.
struct Server {
    address: std::net::SocketAddr,
    told: std::thread::JoinHandle<Vec<String>>,
    authority: Vec<u8>,
}

fn serve(serves: Serves, auth: &'static str, refuses: Option<&'static str>) -> Server {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, &authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let told = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let mut told = Vec::new();
        let encrypt = |stream: TcpStream| {
            let connection = ServerConnection::new(Arc::new(config)).unwrap();
            StreamOwned::new(connection, stream)
        };
        if serves == Serves::Encrypted {
            let mut stream = encrypt(stream);
            let _ = stream.write_all(b"220 hello\r\n");
            talk(&mut stream, auth, refuses, &mut told);
            return told;
        }
        let mut plain = stream;
        plain.write_all(b"220-hello\r\n220 there\r\n").unwrap();
        let offer = match serves {
            Serves::Plain => "250 SIZE 1000\r\n",
            _ => "250-SIZE 1000\r\n250 STARTTLS\r\n",
        };
        while let Some(line) = read_line(&mut plain) {
            told.push(format!("plain: {line}"));
            match line.as_str() {
                line if line.starts_with("EHLO") => plain.write_all(offer.as_bytes()).unwrap(),
                "STARTTLS" if serves == Serves::Injects => {
                    plain.write_all(b"220 go\r\n250 AUTH PLAIN\r\n").unwrap();
                }
                "STARTTLS" => {
                    plain.write_all(b"220 go\r\n").unwrap();
                    talk(&mut encrypt(plain), auth, refuses, &mut told);
                    break;
                }
                _ => plain.write_all(b"500 no\r\n").unwrap(),
            }
        }
        told
    });
    Server {
        address,
        told,
        authority: authority.pem().into_bytes(),
    }
}

fn talk(
    stream: &mut (impl Read + Write),
    auth: &str,
    refuses: Option<&str>,
    told: &mut Vec<String>,
) {
    let mut is_data = false;
    while let Some(line) = read_line(stream) {
        told.push(line.clone());
        if is_data {
            if line == "." {
                is_data = false;
                let _ = stream.write_all(b"250 taken\r\n");
            }
            continue;
        }
        let reply = match line.split([' ', ':']).next().unwrap_or_default() {
            word if refuses == Some(word) => "550 5.7.1 not \x1b[2Jyou\r\n".to_owned(),
            "EHLO" => format!("250-there\r\n250 AUTH {auth}\r\n"),
            "AUTH" if line == "AUTH LOGIN" => "334 VXNlcm5hbWU6\r\n".to_owned(),
            "AUTH" => "235 in\r\n".to_owned(),
            "DATA" => {
                is_data = true;
                "354 go\r\n".to_owned()
            }
            "QUIT" => "221 bye\r\n".to_owned(),
            "dXNlcg==" => "334 UGFzc3dvcmQ6\r\n".to_owned(),
            "cGFzc3dvcmQtMTIz" => "235 in\r\n".to_owned(),
            _ => "250 fine\r\n".to_owned(),
        };
        let _ = stream.write_all(reply.as_bytes());
        if line == "QUIT" {
            return;
        }
    }
}

fn read_line(stream: &mut impl Read) -> Option<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => line.push(byte[0]),
            _ => return None,
        }
    }
    Some(String::from_utf8_lossy(&line).trim_end().to_owned())
}

/// Sends a message there, and returns what the server received and how it ended.
async fn sent(
    server: Server,
    is_encrypted: bool,
    trusts: bool,
) -> (Vec<String>, Result<(), ToolError>) {
    let egress = Egress::new(EgressOptions {
        certificates: match trusts {
            true => server.authority,
            false => Vec::new(),
        },
        ..EgressOptions::default()
    });
    let (_, target) = Target::parse(&format!("https://{}", server.address)).unwrap();
    let there = MailServer {
        target,
        is_encrypted,
        login: Some(("user".to_owned(), Secret::new("password-123".to_owned()))),
    };
    let to = ["ada@example.com".to_owned(), "bob@example.com".to_owned()];
    let result = send(&egress.unwrap(), &there, &mail("hi", "hello", &to)).await;
    (server.told.join().unwrap(), result)
}

#[tokio::test]
async fn a_message_goes_over_tls_from_the_begin_or_after_starttls() {
    for (serves, auth) in [
        (Serves::Encrypted, "LOGIN PLAIN"),
        (Serves::StartTls, "LOGIN"),
    ] {
        let (told, result) =
            sent(serve(serves, auth, None), serves == Serves::Encrypted, true).await;
        result.unwrap();
        let commands: Vec<&str> = told
            .iter()
            .map(String::as_str)
            .filter(|line| !line.contains(": ") || line.starts_with("plain"))
            .collect();
        let commands = commands.join("|");
        let login = match auth {
            "LOGIN" => "AUTH LOGIN|dXNlcg==|cGFzc3dvcmQtMTIz",
            _ => "AUTH PLAIN AHVzZXIAcGFzc3dvcmQtMTIz",
        };
        let wanted = format!(
            "EHLO example.com|{login}|MAIL FROM:<crib@example.com>|RCPT TO:<ada@example.com>|RCPT TO:<bob@example.com>|DATA||aGVsbG8=|.|QUIT"
        );
        assert!(commands.ends_with(&wanted), "{commands}");
        assert_eq!(
            commands.starts_with("plain: EHLO example.com|plain: STARTTLS|EHLO"),
            serves == Serves::StartTls
        );
    }
}

#[tokio::test]
async fn nothing_is_said_in_the_clear_but_the_wish_to_encrypt() {
    let (told, result) = sent(serve(Serves::Plain, "PLAIN", None), false, true).await;
    assert!(
        result
            .unwrap_err()
            .message()
            .contains("offers no encryption")
    );
    assert_eq!(told, ["plain: EHLO example.com"]);
    let (told, result) = sent(serve(Serves::Injects, "PLAIN", None), false, true).await;
    assert!(result.is_err());
    assert_eq!(told, ["plain: EHLO example.com", "plain: STARTTLS"]);
}

#[tokio::test]
async fn a_server_with_another_certificate_gets_no_password() {
    let (told, result) = sent(serve(Serves::StartTls, "PLAIN", None), false, false).await;
    assert!(result.unwrap_err().message().contains("certificate"));
    assert!(
        told.iter().all(|line| line.starts_with("plain: ")),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_refusal_says_what_was_refused_and_cannot_paint_the_terminal() {
    for (command, what) in [
        ("MAIL", "the sender"),
        ("RCPT", "a recipient"),
        ("AUTH", "the login"),
    ] {
        let (_, result) = sent(serve(Serves::Encrypted, "PLAIN", Some(command)), true, true).await;
        let error = result.unwrap_err();
        assert_eq!(
            error.message(),
            format!("the mail server refused {what}: 550 5.7.1 not \\u{{001b}}[2Jyou")
        );
        assert!(!error.message().contains("password"));
    }
}
