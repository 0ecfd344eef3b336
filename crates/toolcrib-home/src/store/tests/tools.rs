//! Tools: one record of a slug and version, times, ids, what survives a rewrite.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::model::ids::ToolId;

#[test]
fn a_tool_is_written_as_s4_spells_it_with_the_times_of_the_store() {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    place.pass(7);
    let key = key(id, "weather", "v2");
    let tool = store.put_tool(manifest(&key)).unwrap();
    let text = std::fs::read_to_string(place.tool_file(&key)).unwrap();
    assert_eq!(text.as_bytes(), &*tool.bytes);
    assert!(text.ends_with("}\n"));
    let names: Vec<String> = place
        .json(&key)
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(
        names,
        [
            "schemaVersion",
            "bundleID",
            "toolID",
            "slug",
            "version",
            "displayName",
            "description",
            "type",
            "isEnabled",
            "isBuiltIn",
            "argSchema",
            "impl",
            "createdAt",
            "modifiedAt",
        ]
    );
    assert_eq!(tool.head.created_at, place.now());
    assert_eq!(tool.head.modified_at, place.now());
    assert_eq!(place.json(&key)["createdAt"], "2026-01-01T00:00:07Z");
    let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(place.tool_file(&key)), 0o600);
    assert_eq!(mode(place.bundle_dir(id)), 0o700);
    assert_eq!(
        place.store().tool(&key).unwrap().manifest().unwrap(),
        tool.manifest().unwrap()
    );
}

#[test]
fn the_same_slug_and_version_is_refused_and_nothing_changes() {
    let place = TestHome::new();
    let (store, other) = (place.store(), place.store());
    let id = put(&store, "acme");
    let key = key(id, "weather", "v2");
    // Before the first one is there, for its catalogue.
    other.changes(Look::Glance).unwrap();
    store.put_tool(manifest(&key)).unwrap();
    let before = std::fs::read(place.tool_file(&key)).unwrap();
    for store in [&store, &other, &place.store()] {
        let error = store.put_tool(manifest(&key)).unwrap_err();
        assert!(
            matches!(error, StoreError::VersionTaken { .. }),
            "{error:?}"
        );
    }
    assert_eq!(std::fs::read(place.tool_file(&key)).unwrap(), before);
    // Elsewhere it may repeat.
    let elsewhere = put(&store, "other");
    store
        .put_tool(manifest(&super::key(elsewhere, "weather", "v2")))
        .unwrap();
    assert!(store.damage().is_empty());
}

#[test]
fn names_that_no_file_could_have_round_trip() {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    let long = "\u{1d41a}".repeat(64);
    let mut keys = vec![key(id, &long, &long)];
    for version in ["...", "-", "CON", "a.", "1..0", "v2", "V2", "-rf", &long] {
        keys.push(key(id, "weather", version));
    }
    for name in [
        "-rf", "--help", "i", "\u{131}", "\u{130}", "I", "ß", "ss", "\u{1e9e}", "天気",
    ] {
        keys.push(key(id, name, "v1"));
    }
    for key in &keys {
        store.put_tool(manifest(key)).unwrap();
    }
    let fresh = place.store();
    assert_eq!(fresh.tools(id).len(), keys.len());
    assert!(fresh.damage().is_empty());
    for key in &keys {
        assert_eq!(fresh.tool(key).unwrap().key, *key);
    }
    let names = std::fs::read_dir(place.bundle_dir(id)).unwrap();
    for name in names.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        let hex = name.strip_suffix(".json").unwrap();
        let is_hex = hex.len() == 32 && hex.bytes().all(|b| b.is_ascii_hexdigit());
        assert!(name == "bundle.json" || is_hex, "{name}");
    }
}

#[test]
fn switching_a_tool_keeps_times_order_and_unknown_fields() {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    let key = key(id, "weather", "v2");
    let mut given = manifest(&key);
    given.schema_version = "from-the-future".to_owned();
    given
        .extra
        .insert("later".to_owned(), json!({"z": 1, "a": [null]}));
    store.put_tool(given).unwrap();
    place.pass(60);
    let mut expected = place.json(&key);
    let off = store.set_tool_enabled(&key, false).unwrap();
    expected["isEnabled"] = json!(false);
    assert_eq!(place.json(&key).to_string(), expected.to_string());
    assert!(!off.head.is_enabled);
    assert_eq!(off.head.modified_at.as_second(), START);
    assert_eq!(place.store().tool(&key).unwrap().head, off.head);
}

#[test]
fn replacing_keeps_the_id_and_when_it_was_made() {
    let place = TestHome::new();
    let (store, other) = (place.store(), place.store());
    let id = put(&store, "acme");
    let key = key(id, "weather", "v2");
    let first = store.put_tool(manifest(&key)).unwrap();
    place.pass(60);
    let mut next = manifest(&key);
    next.description = "Another".to_owned();
    let second = other.replace_tool(next.clone(), &first.digest()).unwrap();
    assert_eq!(second.head.tool_id, first.head.tool_id);
    assert_eq!(second.head.created_at, first.head.created_at);
    assert_eq!(second.head.modified_at, place.now());
    // The first one is not what is there any more.
    let error = store
        .replace_tool(next.clone(), &first.digest())
        .unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error:?}");
    assert_eq!(store.tool(&key).unwrap().bytes, second.bytes);
    // Nor is it after someone used an editor.
    let text = std::fs::read_to_string(place.tool_file(&key)).unwrap();
    std::fs::write(place.tool_file(&key), text.replace("Another", "A third")).unwrap();
    let error = store
        .replace_tool(next.clone(), &second.digest())
        .unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error:?}");
    // A clock that was set back.
    place.pass(-86_400);
    let third = store.tool(&key).unwrap();
    let third = store.replace_tool(next.clone(), &third.digest()).unwrap();
    assert_eq!(third.head.modified_at, second.head.modified_at);
    // The same again, and the switch, are not structural change.
    place.pass(2 * 86_400);
    for is_enabled in [true, false] {
        let digest = store.tool(&key).unwrap().digest();
        let same = ToolManifest {
            is_enabled,
            ..next.clone()
        };
        let same = store.replace_tool(same, &digest).unwrap();
        assert_eq!(same.head.is_enabled, is_enabled);
        assert_eq!(same.head.modified_at, second.head.modified_at);
    }
    let missing = super::key(id, "nothing", "v1");
    let error = store.replace_tool(manifest(&missing), "").unwrap_err();
    assert!(
        matches!(error, StoreError::ToolNotFound { .. }),
        "{error:?}"
    );
}

#[test]
fn an_id_is_kept_if_no_one_has_it_and_is_new_otherwise() {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    let mut given = manifest(&key(id, "a", "v1"));
    given.tool_id = ToolId::generate();
    assert_eq!(
        store.put_tool(given.clone()).unwrap().head.tool_id,
        given.tool_id
    );
    given.slug = slug("b");
    let other = place.store().put_tool(given.clone()).unwrap();
    assert_ne!(other.head.tool_id, given.tool_id);
    assert!(place.store().damage().is_empty());
}

#[test]
fn what_says_that_it_is_built_in_is_refused() {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    let mut given = manifest(&key(id, "a", "v1"));
    given.is_built_in = true;
    let error = store.put_tool(given).unwrap_err();
    assert!(error.to_string().contains("isBuiltIn"), "{error}");
}

#[test]
fn there_are_no_more_tools_than_allowed() {
    let mut place = TestHome::new();
    place.max_tools = 2;
    let store = place.store();
    let (one, two) = (put(&store, "one"), put(&store, "two"));
    store.put_tool(manifest(&key(one, "a", "v1"))).unwrap();
    place
        .store()
        .put_tool(manifest(&key(two, "a", "v1")))
        .unwrap();
    let error = store.put_tool(manifest(&key(one, "a", "v2"))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there are 2 tools already, as many as `limits.maxTools` allows"
    );
    store.delete_tool(&key(two, "a", "v1")).unwrap();
    place
        .store()
        .put_tool(manifest(&key(one, "a", "v2")))
        .unwrap();
}

#[test]
fn fields_of_other_versions_keep_their_text_when_a_record_is_written_again() {
    const LATER: &str = r#""later": {"big": 123456789012345678901234567890, "huge": [1e400], "fine": 1.10, "again": 1.0E+2}"#;
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    let key = key(id, "one", "v1");
    store.put_tool(manifest(&key)).unwrap();
    let file = place.tool_file(&key);
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replacen('{', &format!("{{\n  {LATER},"), 1);
    std::fs::write(&file, &text).unwrap();
    let is_kept = || std::fs::read_to_string(&file).unwrap().contains(LATER);

    let off = store.set_tool_enabled(&key, false).unwrap();
    assert!(!off.head.is_enabled && is_kept());
    let expected = text.replace("\"isEnabled\": true", "\"isEnabled\": false");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), expected);
    store.set_tool_enabled(&key, true).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);

    let stored = store.tool(&key).unwrap();
    let mut changed = stored.manifest().unwrap();
    changed.description = "Another".to_owned();
    let stored = store.replace_tool(changed, &stored.digest()).unwrap();
    assert!(stored.head.description == "Another" && is_kept());
    let mut changed = stored.manifest().unwrap();
    changed.extra.insert("later".to_owned(), json!(2));
    store.replace_tool(changed, &stored.digest()).unwrap();
    assert!(!is_kept());

    let file = place.bundle_dir(id).join("bundle.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let big = r#""later": 123456789012345678901234567890"#;
    std::fs::write(&file, text.replacen('{', &format!("{{{big},"), 1)).unwrap();
    store.set_bundle_enabled(id, false).unwrap();
    store.delete_bundle(id).unwrap();
    store.restore_bundle(id).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(big), "{text}");
}

#[test]
fn a_record_that_does_not_say_whether_it_is_on_can_be_switched() {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    let key = key(id, "one", "v1");
    store.put_tool(manifest(&key)).unwrap();
    let file = place.tool_file(&key);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"isEnabled\": true,", "")).unwrap();
    assert!(!store.set_tool_enabled(&key, false).unwrap().head.is_enabled);
    assert!(store.set_tool_enabled(&key, true).unwrap().head.is_enabled);
}

#[test]
fn only_the_follower_of_a_store_is_informed() {
    let place = TestHome::new();
    let store = place.store();
    let follower = store.follower();
    put(&store, "acme");
    let error = store.changes(Look::Glance).unwrap_err();
    assert!(matches!(error, StoreError::Followed), "{error:?}");
    assert_eq!(follower.changes(Look::Glance).unwrap().bundles.len(), 1);
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    let mut deep = manifest(&key(id, "deep", "v1"));
    for _ in 0..200 {
        deep.implementation = json!([deep.implementation]);
    }
    let mut large = manifest(&key(id, "large", "v1"));
    large.description = "x".repeat(files::MAX_BYTES);
    for bad in [deep, large] {
        let error = store.put_tool(bad).unwrap_err();
        assert!(matches!(error, StoreError::Invalid(_)), "{error:?}");
    }
    assert_eq!(std::fs::read_dir(place.bundle_dir(id)).unwrap().count(), 1);
}

#[test]
fn a_head_is_read_if_and_only_if_the_manifest_is() {
    let id = BundleId::generate();
    let good = serde_json::to_string_pretty(&manifest(&key(id, "weather", "v2"))).unwrap();
    let with = |field: &str| good.replacen('{', &format!("{{{field},"), 1);
    let mut texts = vec![
        good.clone(),
        String::new(),
        "null".to_owned(),
        "[]".to_owned(),
        format!("{good} x"),
        good.replace("\"weather\"", "\"read_file\""),
        good.replace("\"http\"", "\"https\""),
        good.replace("\"http\"", "null"),
        good.replace("2024-05-14T13:44:00Z", "yesterday"),
        good.replace("toolID", "toolId"),
        good.replace("\"GET\"", "1e999"),
        good.replace("\"GET\"", r#""\ud800""#),
        good.replace("\"GET\"", r#""\u00e9\n""#),
        good.replace("\"GET\"", "12345678901234567890123"),
        good.replace("\"GET\"", "-0"),
        good.replace("\"GET\"", "01"),
        good.replace(
            "\"GET\"",
            &format!("{}{}", "[".repeat(200), "]".repeat(200)),
        ),
        good.replace(
            "\"GET\"",
            &format!("{}{}", "[".repeat(100), "]".repeat(100)),
        ),
        good.replace("\"GET\"", "\"\u{1}\""),
    ];
    for field in [
        r#""name": null"#,
        r#""name": "get_weather""#,
        r#""name": "é""#,
        r#""outputSchema": null"#,
        r#""limits": null"#,
        r#""limits": {"maxCallsPerMinute": 5, "other": [1]}"#,
        r#""limits": {"maxCallsPerMinute": "x"}"#,
        r#""tags": ["a"]"#,
        r#""tags": null"#,
        r#""tags": [1]"#,
        r#""later": 1"#,
        r#""later": 1e400"#,
        r#""later": [{"a": -1e400, "b": 123456789012345678901234567890}]"#,
        r#""later": [1e400, 01]"#,
        r#""later": "\ud800""#,
        r#""later": [[[[[[[[[[1e400]]]]]]]]]]"#,
        r#""later": 1, "later": 2"#,
        r#""slug": "b""#,
        r#""impl": {}"#,
        r#""x\u0079": 1, "xy": 2"#,
        r#""isEnabled": null"#,
    ] {
        texts.push(with(field));
    }
    for count in [1000, 1001, 100_000] {
        let fields: Vec<String> = (0..count).map(|n| format!("\"x{n}\": 1")).collect();
        texts.push(with(&fields.join(",")));
    }
    for at in (0..good.len())
        .step_by(7)
        .filter(|at| good.is_char_boundary(*at))
    {
        texts.push(good[..at].to_owned());
    }
    let mut all: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    all.push([&good.as_bytes()[..40], b"\xff", &good.as_bytes()[40..]].concat());
    all.push(
        good.replace("GET", "G\u{0}T")
            .replace("\u{0}", "\\u0000")
            .into_bytes(),
    );
    let mut invalid = good.clone().into_bytes();
    let at = good.find("GET").unwrap();
    invalid[at] = 0xc3;
    all.push(invalid);
    for bytes in all {
        let whole = ToolManifest::from_json(&bytes);
        let head = head::read(&bytes);
        let shown = String::from_utf8_lossy(&bytes);
        match (whole, head) {
            (Ok(whole), Ok(named)) => {
                let head = named.head;
                assert_eq!(
                    (
                        whole.bundle_id,
                        whole.slug,
                        whole.version,
                        whole.name,
                        whole.tags
                    ),
                    (
                        named.bundle,
                        named.slug,
                        named.version,
                        head.name,
                        head.tags
                    ),
                );
                assert_eq!(
                    (
                        whole.display_name,
                        whole.description,
                        whole.kind,
                        whole.is_enabled
                    ),
                    (
                        head.display_name,
                        head.description,
                        head.kind,
                        head.is_enabled
                    ),
                );
                assert_eq!(
                    (whole.created_at, whole.modified_at),
                    (head.created_at, head.modified_at)
                );
            }
            (Err(whole), Err(head)) => assert_eq!(whole.to_string(), head.to_string(), "{shown}"),
            (whole, head) => panic!("{:?} but {:?}: {shown}", whole.err(), head.err()),
        }
    }
}
