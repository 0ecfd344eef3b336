//! Where secrets are kept.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib::egress::{Host, Target};
use toolcrib::model::ids::BundleId;
use toolcrib::secret::{Asker, Binding, SecretError, SecretStore};
use toolcrib::{Secret, Slug};

use super::{SENTINEL, name, store};

fn target(host: &str) -> Target {
    Target {
        https: true,
        host: Host::Name(host.to_owned()),
        port: 443,
    }
}

fn reveal(store: &SecretStore, secret: &str) -> Result<Secret, SecretError> {
    let bundle = Slug::parse("local").unwrap();
    store.reveal(&name(secret), &bundle, &target("api.example.test"))
}

/// The files of secrets.
fn files(home: &TempDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.path().join("secrets")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    files
}

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_secret_is_kept_listed_revealed_and_removed() {
    let home = TempDir::new().unwrap();
    let store = store(&home);
    assert_eq!(reveal(&store, "KEY").unwrap().expose(), SENTINEL);
    let listed = store.list().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].name, name("KEY"));
    assert_eq!(listed[0].fingerprint.len(), 4);
    assert!(!format!("{listed:?} {store:?}").contains("7f3a"));
    store.remove(&name("KEY")).unwrap();
    assert_eq!(
        reveal(&store, "KEY").unwrap_err().to_string(),
        "there is no secret `KEY`; `toolcrib secret set KEY --host api.example.test` asks for its value"
    );
    assert!(matches!(
        store.remove(&name("KEY")),
        Err(SecretError::Missing { .. })
    ));
    assert!(store.list().unwrap().is_empty());
}

#[test]
fn nothing_is_made_by_looking() {
    let home = TempDir::new().unwrap();
    let store = SecretStore::at(home.path().join("secrets"));
    assert!(store.list().unwrap().is_empty() && store.masker().is_empty());
    assert!(!home.path().join("secrets").exists());
}

#[test]
fn files_are_for_their_owner_and_do_not_bear_the_name() {
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join("secrets")).unwrap();
    set_mode(&home.path().join("secrets"), 0o755);
    store(&home);
    assert_eq!(mode(&home.path().join("secrets")), 0o700);
    let files = files(&home);
    assert_eq!((files.len(), mode(&files[0])), (1, 0o600));
    assert!(
        !files[0]
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .contains("KEY")
    );
}

#[test]
fn a_file_that_others_may_read_is_not_a_secret_and_is_masked_all_the_same() {
    let home = TempDir::new().unwrap();
    let store = store(&home);
    for open in [0o644, 0o640, 0o606, 0o602] {
        set_mode(&files(&home)[0], open);
        let error = reveal(&store, "KEY").unwrap_err().to_string();
        assert!(
            error.contains(&format!("mode {open:04o}"))
                && error.contains("toolcrib secret set KEY"),
            "{error}"
        );
        assert_eq!(store.problems().unwrap()[0].why, error);
        assert_eq!(store.masker().mask(SENTINEL), "[REDACTED]");
    }
    set_mode(&files(&home)[0], 0o600);
    assert!(reveal(&store, "KEY").is_ok());
    set_mode(&home.path().join("secrets"), 0o770);
    let error = reveal(&store, "KEY").unwrap_err().to_string();
    assert!(error.contains("chmod 700"), "{error}");
    // Setting it again mends both.
    set_mode(&files(&home)[0], 0o644);
    super::store(&home);
    assert!(reveal(&store, "KEY").is_ok());
}

#[test]
fn damage_disables_one_secret_and_says_so_without_its_content() {
    let home = TempDir::new().unwrap();
    let store = store(&home);
    let key = files(&home)[0].clone();
    let other = Secret::new("another secret");
    store
        .set(&name("OTHER"), &other, &Binding::default())
        .unwrap();
    let whole = fs::read(&key).unwrap();
    for damage in [
        b"".to_vec(),
        whole[..whole.len() / 2].to_vec(),
        SENTINEL.as_bytes().to_vec(),
        br#"{"name": "KEY", "value": 5, "createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z"}"#.to_vec(),
        String::from_utf8(whole.clone()).unwrap().replace("\"KEY\"", "\"OTHER\"").into_bytes(),
        String::from_utf8(whole.clone()).unwrap().replace("\"KEY\"", "\"../x\"").into_bytes(),
        vec![b' '; 1024 * 1024],
    ] {
        fs::write(&key, &damage).unwrap();
        let error = reveal(&store, "KEY").unwrap_err();
        assert!(matches!(error, SecretError::Unusable(_)), "{error}");
        assert!(!error.to_string().contains("7f3a"), "{error}");
        assert_eq!(reveal(&store, "OTHER").unwrap().expose(), "another secret");
        assert_eq!(store.problems().unwrap().len(), 1);
        assert!(store.contains(&name("KEY")).unwrap());
    }
    fs::remove_file(&key).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &key).unwrap();
    assert!(reveal(&store, "KEY").is_err());
    super::store(&home);
    assert_eq!(reveal(&store, "KEY").unwrap().expose(), SENTINEL);
}

#[test]
fn what_a_later_version_wrote_besides_survives() {
    let home = TempDir::new().unwrap();
    let store = store(&home);
    let file = files(&home)[0].clone();
    let read = || serde_json::from_slice::<Value>(&fs::read(&file).unwrap()).unwrap();
    let mut content = read();
    content["rotateAfter"] = json!({"days": 90});
    fs::write(&file, content.to_string()).unwrap();
    let value = Secret::new("another value");
    store
        .set(&name("KEY"), &value, &Binding::default())
        .unwrap();
    let now = read();
    assert_eq!(now["rotateAfter"], json!({"days": 90}));
    assert_eq!(now["createdAt"], content["createdAt"]);
    assert_ne!(now["modifiedAt"], content["modifiedAt"]);
    assert_eq!(now["value"], "another value");
}

#[test]
fn values_that_cannot_be_masked_or_sent_are_refused() {
    let home = TempDir::new().unwrap();
    let store = SecretStore::at(home.path().join("secrets"));
    let set = |value: &str| store.set(&name("KEY"), &Secret::new(value), &Binding::default());
    for (value, why) in [
        ("", "fewer than 4 bytes"),
        ("abc", "masking everything"),
        ("  a  ", "fewer than 4 bytes"),
        ("with\0nul", "NUL"),
        (&"x".repeat(64 * 1024 + 1), "the limit is 65536"),
    ] {
        let error = set(value).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert!(!home.path().join("secrets").exists());
    for value in [
        "abcd",
        "s3cr3t",
        "-----BEGIN KEY-----\nabc\r\n-----END KEY-----\n",
        &"é".repeat(32 * 1024),
    ] {
        set(value).unwrap();
        assert_eq!(reveal(&store, "KEY").unwrap().expose(), value);
    }
}

#[test]
fn what_another_process_does_is_seen_at_once() {
    let home = TempDir::new().unwrap();
    let (one, other) = (store(&home), SecretStore::at(home.path().join("secrets")));
    assert_eq!(reveal(&other, "KEY").unwrap().expose(), SENTINEL);
    for round in 0..20 {
        let value = format!("value number {round}");
        let secret = Secret::new(value.as_str());
        one.set(&name("KEY"), &secret, &Binding::default()).unwrap();
        assert_eq!(reveal(&other, "KEY").unwrap().expose(), value);
        let new = name(&format!("NEW{round}"));
        one.set(
            &new,
            &Secret::new(format!("new {round:04}")),
            &Binding::default(),
        )
        .unwrap();
        assert!(reveal(&other, new.as_str()).is_ok());
    }
    one.remove(&name("KEY")).unwrap();
    assert!(reveal(&other, "KEY").is_err());
    // A tool that still has the old value does not reveal it.
    assert_eq!(other.masker().mask("value number 19"), "[REDACTED]");
}

#[test]
fn a_bundle_that_it_is_not_for_does_not_get_it() {
    let home = TempDir::new().unwrap();
    let store = SecretStore::at(home.path().join("secrets"));
    let weather = Slug::parse("weather").unwrap();
    let binding = Binding::new([], [weather.clone()]).unwrap();
    store
        .set(&name("KEY"), &Secret::new(SENTINEL), &binding)
        .unwrap();
    let to = target("api.example.test");
    assert!(store.reveal(&name("KEY"), &weather, &to).is_ok());
    let error = reveal(&store, "KEY").unwrap_err().to_string();
    assert!(
        error.contains("is for tools of `weather`, not of `local`")
            && error.contains("toolcrib secret set KEY --bundle local"),
        "{error}"
    );
}

#[test]
fn a_host_that_it_is_not_for_does_not_receive_it() {
    let home = TempDir::new().unwrap();
    let store = SecretStore::at(home.path().join("secrets"));
    let binding = Binding::new(["api.example.test", "*.other.test", "127.0.0.1:8080"], []).unwrap();
    store
        .set(&name("KEY"), &Secret::new(SENTINEL), &binding)
        .unwrap();
    let bundle = Slug::parse("local").unwrap();
    let told = |url: &str| {
        let (_, target) = Target::parse(url).unwrap();
        store.reveal(&name("KEY"), &bundle, &target)
    };
    for url in [
        "https://api.example.test/v1",
        "http://API.example.test./",
        "https://a.other.test",
        "http://127.0.0.1:8080",
    ] {
        assert_eq!(told(url).unwrap().expose(), SENTINEL, "{url}");
    }
    for url in [
        "https://example.test",
        "https://evil-api.example.test",
        "https://api.example.test.evil.test",
        "https://api.example.test:8443",
        "https://other.test",
        "http://127.0.0.1:8081",
    ] {
        let error = told(url).unwrap_err().to_string();
        assert!(
            error.contains("is for `*.other.test`, `127.0.0.1:8080`, `api.example.test`, not for")
                && error.contains("toolcrib secret set KEY --host"),
            "{error}"
        );
        assert!(!error.contains("7f3a"), "{error}");
    }
    assert_eq!(store.list().unwrap()[0].binding, binding);
    assert!(Binding::new(["https://api.example.test"], []).is_err());
}

#[test]
fn values_learned_at_run_time_are_masked_by_all_clones_and_bounded() {
    let home = TempDir::new().unwrap();
    let store = store(&home);
    let clone = store.clone();
    store.also_mask(&Secret::new("token-of-a-server"));
    store.also_mask(&Secret::new("abc"));
    let masker = clone.masker();
    assert_eq!(
        masker.mask(&format!("abc token-of-a-server {SENTINEL}")),
        "abc [REDACTED] [REDACTED]"
    );
    for number in 0..200 {
        store.also_mask(&Secret::new(format!("token-{number:05}")));
    }
    let masker = clone.masker();
    assert_eq!(masker.mask("token-of-a-server"), "token-of-a-server");
    assert_eq!(masker.mask("token-00199"), "[REDACTED]");
    assert_eq!(masker.mask(SENTINEL), "[REDACTED]");
}

#[test]
fn a_secret_of_a_bundle_is_not_for_another_that_takes_its_slug() {
    let (acme, other) = (BundleId::generate(), BundleId::generate());
    let slug = Slug::parse("acme").unwrap();
    let asker = |id: BundleId, is_imported: bool| Asker {
        bundle: slug.clone(),
        id: Some(id),
        is_imported,
    };
    let by_slug = Binding::new([], [slug.clone()]).unwrap();
    let by_id = by_slug.clone().with_ids([(slug.clone(), acme)]);
    assert!(by_id.is_for(&asker(acme, false)) && by_id.is_for(&asker(acme, true)));
    assert!(!by_id.is_for(&asker(other, false)) && !by_id.is_for(&asker(other, true)));
    // By what it is now called, it is the same bundle.
    let renamed = Asker {
        bundle: Slug::parse("acme-2").unwrap(),
        ..asker(acme, false)
    };
    assert!(by_id.is_for(&renamed) && !by_slug.is_for(&renamed));
    // Before ids were kept: the user's own bundle of that slug, and none that came from elsewhere.
    assert!(by_slug.is_for(&asker(other, false)) && !by_slug.is_for(&asker(other, true)));
    assert!(by_slug.is_for(&Asker::from(&slug)));

    let home = tempfile::tempdir().unwrap();
    let store = SecretStore::at(home.path().join("secrets"));
    store
        .set(&name("KEY"), &Secret::new(SENTINEL), &by_id)
        .unwrap();
    let again = SecretStore::at(home.path().join("secrets"));
    let to = target("api.example.test");
    assert!(again.reveal(&name("KEY"), asker(acme, true), &to).is_ok());
    let error = again.reveal(&name("KEY"), asker(other, false), &to);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("which is another one"), "{error}");
}
