//! Encryption: the certificate is for the name that was asked for, and by someone who is trusted.

use super::*;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use toolcrib::testing::Reply;

/// Our own authority.
pub(super) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(
            rcgen::DnType::CommonName,
            toolcrib::CallId::generate().to_string(),
        );
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(super) fn pem(&self) -> Vec<u8> {
        self.0.pem().into_bytes()
    }

    /// A server with a certificate for these names.
    pub(super) fn server(
        &self,
        names: &[&str],
        reply: impl Fn() -> Reply + Send + Sync + 'static,
    ) -> ScriptedServer {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names)
            .unwrap()
            .signed_by(&key, &self.0)
            .unwrap();
        ScriptedServer::start_tls(certificate.der().to_vec(), key.serialize_der(), move |_| {
            reply()
        })
    }
}

fn trusting(authority: &Authority, server: &ScriptedServer) -> Egress {
    let names = NameTable::new()
        .name("api.example.test", &["93.184.216.34"])
        .name("other.test", &["93.184.216.34"]);
    Egress::new(EgressOptions {
        certificates: authority.pem(),
        resolver: Some(Arc::new(names)),
        dialler: Some(Arc::new(RecordingDialler::to(server.address()))),
        ..options(&["api.example.test", "other.test", &server.host()])
    })
    .unwrap()
}

#[tokio::test]
async fn a_certificate_for_the_name_by_a_configured_authority_is_accepted() {
    let authority = Authority::new();
    let server = authority.server(&["api.example.test", "127.0.0.1"], || {
        Reply::ok("encrypted")
    });
    let egress = trusting(&authority, &server);
    for url in [
        "https://api.example.test/",
        "https://API.example.test./",
        &server.url("/"),
    ] {
        assert_eq!(
            fetch(&egress, url).await.unwrap().body,
            "encrypted",
            "{url}"
        );
    }
    assert_eq!(
        server.received()[0].header("host"),
        Some("api.example.test")
    );
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused_and_nothing_is_sent() {
    let authority = Authority::new();
    let server = authority.server(&["api.example.test"], || Reply::ok("encrypted"));
    let egress = trusting(&authority, &server);
    for url in ["https://other.test/", &server.url("/")] {
        let mut request = get(url);
        request
            .headers
            .insert("authorization", "Bearer SENTINEL".parse().unwrap());
        let error = egress.send(request).await.unwrap_err();
        assert!(
            matches!(error, EgressError::Network { unsent: true, .. }),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .starts_with("no encrypted connection to `"),
            "{error}"
        );
    }
    assert_eq!(server.received(), []);
}

#[tokio::test]
async fn a_certificate_by_no_one_known_is_refused_with_what_to_do() {
    let (known, unknown) = (Authority::new(), Authority::new());
    let server = unknown.server(&["api.example.test"], || Reply::ok("encrypted"));
    let result = error(fetch(&trusting(&known, &server), "https://api.example.test/").await);
    assert_eq!(
        result,
        "NETWORK_ERROR: no encrypted connection to `api.example.test:443`: this machine does not trust the issuer of its certificate; add a company's own authority to `network.certificates`"
    );
    assert_eq!(server.received(), []);
}

#[tokio::test]
async fn credentials_are_not_redirected_from_https_to_http() {
    let plain = ScriptedServer::start(|_| Reply::ok("plain"));
    let location = plain.url("/");
    let authority = Authority::new();
    let server = authority.server(&["127.0.0.1"], move || Reply::redirect(302, &location));
    let egress = Egress::new(EgressOptions {
        certificates: authority.pem(),
        ..options(&[&server.host(), &plain.host()])
    })
    .unwrap();
    let mut request = get(&server.url("/"));
    assert_eq!(egress.send(request.clone()).await.unwrap().body, "plain");
    request
        .headers
        .insert("authorization", "Bearer x".parse().unwrap());
    assert!(is_refused(&egress.send(request).await));
    assert_eq!(plain.received().len(), 1);
}

#[test]
fn certificates_that_are_none_are_reported_at_once() {
    for (pem, expected) in [
        ("no certificate here", "has no certificate in it"),
        (
            "-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----\n",
            "not PEM",
        ),
        (
            "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n",
            "cannot be used",
        ),
    ] {
        let options = EgressOptions {
            certificates: pem.into(),
            ..EgressOptions::default()
        };
        let error = Egress::new(options).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
