//! `toolcrib serve` with the certificate that docs/rest.md says how to make.

use std::path::Path;
use std::process::Command;

use crate::harness::Test;
use crate::serving::Serving;

#[test]
fn the_certificate_of_the_documentation_is_one_that_clients_take() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rest.md");
    let page = std::fs::read_to_string(page).unwrap();
    let words = page
        .lines()
        .find_map(|line| line.strip_prefix("$ openssl "));
    let words = words.expect("how a certificate is made").split_whitespace();
    let mut test = Test::new();
    let made = Command::new("openssl")
        .args(words)
        .current_dir(test.workspace())
        .output();
    let Ok(made) = made else {
        // A machine without it can run everything else.
        return;
    };
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success(), "{said}");
    let at = |name: &str| test.workspace().join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (at("cert.pem"), at("key.pem"));
    test = test
        .variable("TOOLCRIB_SERVER_CERTIFICATE", &certificate)
        .variable("TOOLCRIB_SERVER_KEY", &key);
    let serving = Serving::start(&test);
    // The home's own token is not sent to a server that was named, unless it is this home's.
    let test = test.variable("TOOLCRIB_TOKEN", &serving.token);
    let url = format!("https://localhost:{}", serving.address.port());
    let words = ["--server", &url, "--server-ca", &certificate, "list"];
    let listed = test.run(&words).exits(0).stdout;
    assert!(listed.contains("read_file"), "{listed}");
    let unknown = test.run(&["--server", &url, "list"]);
    assert!(
        unknown.code != 0 && unknown.stderr.contains("certificate"),
        "no one vouches for it: {unknown:?}"
    );
}
