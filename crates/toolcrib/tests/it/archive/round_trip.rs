//! From one home to another.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib::model::ids::BundleId;
use toolcrib::model::names::Slug;
use toolcrib::model::secret::Secret;
use toolcrib::secret::{Binding, SecretName, SecretStore};
use toolcrib::spec::manifest::ToolManifest;
use toolcrib::store::archive::{Archive, ArchiveError, Contents, contents, export};
use toolcrib::store::{BundleDraft, Install, Store, StoreError, StoreOptions};

use super::zips::{Entry, Zip};
use super::{BUNDLE_ID, tool};

/// A home with a store and secrets, in which it is always the same time.
struct Home {
    dir: TempDir,
    store: Store,
    secrets: SecretStore,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(
            dir.path(),
            StoreOptions {
                clock: Arc::new(|| "2026-01-02T03:04:05Z".parse().unwrap()),
                ..StoreOptions::default()
            },
        );
        let secrets = SecretStore::at(dir.path().join("secrets"));
        Home {
            dir,
            store,
            secrets,
        }
    }

    fn with_bundle(tools: &[Value]) -> Self {
        let home = Home::new();
        let draft = BundleDraft {
            slug: Slug::parse("acme").unwrap(),
            display_name: "Acme".to_owned(),
            description: "Orders".to_owned(),
            is_enabled: true,
        };
        home.store.put_bundle(id(), draft).unwrap();
        for tool in tools {
            home.put(tool);
        }
        home
    }

    fn put(&self, tool: &Value) {
        let manifest = ToolManifest::from_json(tool.to_string().as_bytes()).unwrap();
        self.store.put_tool(manifest).unwrap();
    }

    fn export(&self) -> Vec<u8> {
        export(&self.store, id(), &self.secrets).unwrap()
    }

    fn import(&self, bytes: &[u8], how: Install) -> Result<(), StoreError> {
        Archive::read(bytes).unwrap().install(&self.store, how)?;
        Ok(())
    }

    fn contents(&self) -> Contents {
        contents(&self.store, id()).unwrap()
    }

    /// Every file beneath the home but locks, with its content.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut waiting = vec![self.dir.path().to_owned()];
        while let Some(dir) = waiting.pop() {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => waiting.push(path),
                    false if path.ends_with(".lock") => {}
                    false => {
                        let name = path.strip_prefix(self.dir.path()).unwrap();
                        let name = name.display().to_string();
                        files.insert(name, std::fs::read(&path).unwrap());
                    }
                }
            }
        }
        files
    }
}

fn id() -> BundleId {
    BundleId::parse(BUNDLE_ID).unwrap()
}

fn tools() -> Vec<Value> {
    let mut future = tool("future", "v1");
    future["fromTheFuture"] = json!({"b": 1, "a": [2]});
    future["isEnabled"] = json!(false);
    let mut command = tool("greet", "v1.2.3");
    command["type"] = json!("command");
    command["impl"] = json!({"bash": "echo hello"});
    command.as_object_mut().unwrap().remove("argSchema");
    vec![
        tool("weather", "v1"),
        tool("weather", "v2"),
        tool("天気", "v1"),
        future,
        command,
    ]
}

#[test]
fn a_bundle_arrives_elsewhere_byte_for_byte_but_for_its_switch() {
    let (here, there) = (Home::with_bundle(&tools()), Home::new());
    there.import(&here.export(), Install::New).unwrap();
    let (mut ours, theirs) = (here.files(), there.files());
    let file = format!("bundles/{BUNDLE_ID}/bundle.json");
    let mut bundle: Value = serde_json::from_slice(&theirs[&file]).unwrap();
    assert_eq!(bundle["isEnabled"], json!(false));
    bundle
        .as_object_mut()
        .unwrap()
        .remove("importedAt")
        .unwrap();
    bundle["isEnabled"] = json!(true);
    let own: Value = serde_json::from_slice(&ours[&file]).unwrap();
    assert_eq!(bundle, own);
    ours.insert(file.clone(), theirs[&file].clone());
    assert_eq!(ours, theirs);
}

#[test]
fn the_same_bundle_gives_the_same_bytes() {
    let all = tools();
    let here = Home::with_bundle(&all);
    let first = here.export();
    assert_eq!(first, here.export());
    let reversed: Vec<Value> = all.iter().rev().cloned().collect();
    assert_eq!(first, Home::with_bundle(&reversed).export());
}

#[test]
fn what_was_imported_and_used_is_exported_without_a_trace_of_that() {
    let there = Home::new();
    there
        .import(&Home::with_bundle(&tools()).export(), Install::New)
        .unwrap();
    there.store.delete_bundle(id()).unwrap();
    let text = String::from_utf8_lossy(&there.export()).into_owned();
    for (name, content) in unzipped(&there.export()) {
        for field in ["importedAt", "softDeletedAt", "callCount", "lastCalledAt"] {
            assert!(!content.contains(field), "{field} in {name}");
        }
    }
    assert!(!text.is_empty());
}

/// What python reads of an archive; it checks the CRCs itself.
fn unzipped(bytes: &[u8]) -> BTreeMap<String, String> {
    let script = r"
import io, json, sys, zipfile
z = zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read()))
assert z.testzip() is None
json.dump({i.filename: z.read(i).decode() for i in z.infolist()}, sys.stdout)
";
    let mut child = Command::new("python3")
        .args(["-c", script])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success());
    serde_json::from_slice(&out.stdout).unwrap()
}

#[test]
fn other_programs_read_an_export() {
    let here = Home::with_bundle(&tools());
    let bytes = here.export();
    let read = unzipped(&bytes);
    assert_eq!(read.len(), 6);
    for (name, content) in &read {
        let file = match name.strip_prefix("tools/") {
            Some(tool) => tool,
            None => name,
        };
        let stored = &here.files()[&format!("bundles/{BUNDLE_ID}/{file}")];
        assert_eq!(content.as_bytes(), stored, "{name}");
    }
    let file = here.dir.path().join("out.zip");
    std::fs::write(&file, &bytes).unwrap();
    match Command::new("unzip").arg("-tq").arg(&file).output() {
        Ok(ran) => assert!(ran.status.success(), "{ran:?}"),
        Err(_) => eprintln!("SKIPPED: `unzip` is not installed"),
    }
}

const SENTINEL: &str = "SENTINEL-7f3a/with+signs";

#[test]
fn a_secret_in_a_definition_stops_the_export_by_its_name() {
    let forms = [
        format!("https://api.example.com/?key={SENTINEL}"),
        "https://api.example.com/?key=SENTINEL-7f3a%2Fwith%2Bsigns".to_owned(),
        // base64 of the sentinel
        "https://api.example.com/?key=U0VOVElORUwtN2YzYS93aXRoK3NpZ25z".to_owned(),
    ];
    for form in forms {
        let mut leaking = tool("leaky", "v1");
        leaking["impl"]["urlTemplate"] = json!(form);
        let here = Home::with_bundle(&[tool("weather", "v1"), leaking]);
        here.secrets
            .set(
                &SecretName::parse("WEATHER_KEY").unwrap(),
                &Secret::new(SENTINEL.to_owned()),
                &Binding::default(),
            )
            .unwrap();
        let error = export(&here.store, id(), &here.secrets).unwrap_err();
        assert!(matches!(error, ArchiveError::Secret { .. }), "{error}");
        let said = error.to_string();
        assert!(
            said.contains("`leaky@v1`") && said.contains("`WEATHER_KEY`"),
            "{said}"
        );
        assert!(!said.contains("SENTINEL") && !format!("{error:?}").contains("SENTINEL"));
    }
    // Its name may stand there: that is how secrets are used.
    let here = Home::with_bundle(&[tool("weather", "v1")]);
    here.secrets
        .set(
            &SecretName::parse("WEATHER_KEY").unwrap(),
            &Secret::new(SENTINEL.to_owned()),
            &Binding::default(),
        )
        .unwrap();
    let all: String = unzipped(&here.export()).into_values().collect();
    assert!(all.contains("${WEATHER_KEY}") && !all.contains("SENTINEL"));
}

#[test]
fn what_is_damaged_is_not_left_out_without_a_word() {
    let here = Home::with_bundle(&tools());
    let files = here.files();
    let name = files
        .keys()
        .find(|name| !name.ends_with("bundle.json"))
        .unwrap();
    std::fs::write(here.dir.path().join(name), "{").unwrap();
    let fresh = Store::at(here.dir.path(), StoreOptions::default());
    let error = export(&fresh, id(), &here.secrets).unwrap_err().to_string();
    assert!(error.contains("doctor --fix"), "{error}");
}

#[test]
fn an_archive_that_is_refused_leaves_everything_as_it_was() {
    let there = Home::with_bundle(&tools());
    let (before, archive) = (there.files(), there.export());
    assert!(matches!(
        there.import(&archive, Install::New),
        Err(StoreError::BundleTaken { .. })
    ));
    // Another bundle of the same slug.
    let mut other = super::bundle();
    other["bundleID"] = json!("018faf50-b7b6-7a01-9a05-a22a6e0af1ff");
    let other = Zip {
        entries: vec![Entry::stored("bundle.json", other.to_string())],
        ..Zip::default()
    };
    for how in [Install::New, Install::Update] {
        let error = there.import(&other.bytes(), how).unwrap_err();
        assert!(matches!(error, StoreError::SlugTaken { .. }), "{error}");
    }
    assert_eq!(before, there.files());
    let untouched = Home::new();
    assert!(Archive::read(&archive[1..]).is_err());
    assert!(untouched.files().is_empty());
}

#[test]
fn bundles_of_toolcribs_own_are_never_replaced() {
    for (own, slug) in BundleId::OWN {
        for (field, value) in [("bundleID", own.to_string()), ("slug", slug.to_owned())] {
            let mut bundle = super::bundle();
            bundle[field] = json!(value);
            let zip = Zip {
                entries: vec![Entry::stored("bundle.json", bundle.to_string())],
                ..Zip::default()
            };
            let home = Home::new();
            for how in [Install::New, Install::Update] {
                let error = home.import(&zip.bytes(), how).unwrap_err();
                assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
            }
            assert!(home.files().is_empty(), "{:?}", home.files());
        }
        let error = contents(&Home::new().store, own).unwrap_err();
        assert!(matches!(
            error,
            ArchiveError::Store(StoreError::ReadOnly { .. })
        ));
    }
}

#[test]
fn an_update_replaces_the_whole_and_switches_it_off() {
    let here = Home::with_bundle(&[tool("weather", "v1"), tool("old", "v1")]);
    let mut changed = tool("weather", "v1");
    changed["description"] = json!("Changed");
    let next = Home::with_bundle(&[changed, tool("new", "v1")]);
    here.import(&next.export(), Install::Update).unwrap();
    let now = here.contents();
    let slugs: Vec<&str> = now.tools.iter().map(|tool| tool.slug.as_str()).collect();
    assert_eq!(slugs, ["new", "weather"]);
    assert_eq!(now.tools[1].description, "Changed");
    assert!(!now.bundle.is_enabled);
}

#[test]
fn a_copy_beside_the_first_shares_nothing_with_it() {
    let here = Home::with_bundle(&tools());
    let copy = Archive::read(&here.export()).unwrap();
    let copy = copy.renamed(Slug::parse("acme-2").unwrap());
    copy.install(&here.store, Install::New).unwrap();
    assert_eq!(here.store.bundles().len(), 2);
    assert!(Path::new(here.dir.path()).exists());
}
