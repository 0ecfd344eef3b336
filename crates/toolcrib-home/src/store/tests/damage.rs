//! A file that cannot be used costs its own record and nothing else.

use std::os::unix::fs::symlink;

use super::*;

/// A store of one bundle with the tools `a@v1` and `b@v1`.
fn two_tools() -> (TestHome, Store, BundleId, ToolKey, ToolKey) {
    let place = TestHome::new();
    let store = place.store();
    let id = put(&store, "acme");
    let (a, b) = (key(id, "a", "v1"), key(id, "b", "v1"));
    store.put_tool(manifest(&a)).unwrap();
    store.put_tool(manifest(&b)).unwrap();
    store.changes(Look::Thorough).unwrap();
    (place, store, id, a, b)
}

/// The one reason there is.
fn reason(store: &Store) -> String {
    match &store.damage()[..] {
        [damage] => damage.reason.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_kind_of_damage_has_its_reason_and_is_set_aside() {
    type Harm = fn(&std::path::Path);
    let harms: [(Harm, &str); 8] = [
        (
            |file| std::fs::write(file, "{\n\"slug\": \"a\",\n  oops}").unwrap(),
            "line 3, column 3: key must be a string",
        ),
        (
            |file| std::fs::write(file, "").unwrap(),
            "line 1, column 0: EOF while parsing a value",
        ),
        (
            |file| std::fs::write(file, "[]").unwrap(),
            "line 1, column 0: invalid type: sequence, expected a tool definition: a JSON object",
        ),
        (
            |file| std::fs::write(file, vec![b' '; files::MAX_BYTES + 1]).unwrap(),
            "it is over 4 MB",
        ),
        (
            |file| std::fs::write(file, vec![0; 4096]).unwrap(),
            "line 1, column 1: expected value",
        ),
        (
            |file| {
                std::fs::remove_file(file).unwrap();
                symlink("/dev/zero", file).unwrap();
            },
            "it is a link, and links are not followed here",
        ),
        (
            |file| {
                std::fs::remove_file(file).unwrap();
                std::fs::create_dir(file).unwrap();
            },
            "it is a directory",
        ),
        (
            |file| {
                std::fs::remove_file(file).unwrap();
                let mode = rustix::fs::Mode::RUSR;
                rustix::fs::mknodat(rustix::fs::CWD, file, rustix::fs::FileType::Fifo, mode, 0)
                    .unwrap();
            },
            "it is a pipe",
        ),
    ];
    for (harm, expected) in harms {
        let (place, store, id, a, b) = two_tools();
        harm(&place.tool_file(&a));
        let changes = store.changes(Look::Thorough).unwrap();
        assert!(changes.damage, "{expected}");
        assert!(
            matches!(&changes.tools[..], [(k, None)] if *k == a),
            "{expected}"
        );
        assert_eq!(reason(&store), expected);
        assert_eq!(store.tools(id).len(), 1);
        assert!(place.store().tool(&b).is_ok());
        for refused in [
            store.tool(&a).map(drop),
            store.put_tool(manifest(&a)).map(drop),
            store.set_tool_enabled(&a, true).map(drop),
            store.delete_tool(&a),
            place.store().put_tool(manifest(&a)).map(drop),
        ] {
            assert!(
                matches!(refused, Err(StoreError::Damaged { .. })),
                "{expected}"
            );
        }
        assert!(
            store.changes(Look::Thorough).unwrap().is_empty(),
            "{expected}"
        );
        let aside = store.set_aside(&store.damage()[0]).unwrap();
        assert!(aside.symlink_metadata().is_ok());
        let name = aside.file_name().unwrap().to_str().unwrap();
        assert!(
            name.starts_with("20260101T000000Z-") && name.ends_with(".json"),
            "{name}"
        );
        assert!(store.damage().is_empty() && place.store().damage().is_empty());
        store.put_tool(manifest(&a)).unwrap();
    }
}

#[test]
fn a_copy_is_distinguished_from_what_it_was_copied_from() {
    let (place, store, id, a, b) = two_tools();
    let other = put(&store, "other");
    // Under another name.
    std::fs::copy(place.tool_file(&a), place.bundle_dir(id).join("copy.json")).unwrap();
    store.changes(Look::Thorough).unwrap();
    assert_eq!(
        reason(&store),
        "its name is not that of `a@v1`; it was copied or renamed"
    );
    assert_eq!(store.damage()[0].tool, Some((slug("a"), Version::v1())));
    assert_eq!(store.damage()[0].file, format!("bundles/{id}/copy.json"));
    std::fs::remove_file(place.bundle_dir(id).join("copy.json")).unwrap();
    // In another bundle.
    let there = key(other, "a", "v1");
    std::fs::copy(place.tool_file(&a), place.tool_file(&there)).unwrap();
    store.changes(Look::Thorough).unwrap();
    assert!(reason(&store).starts_with(&format!("it says that it is in the bundle {id};")));
    // With the other bundle's id and the id of the tool it was.
    let text = std::fs::read_to_string(place.tool_file(&a)).unwrap();
    std::fs::write(
        place.tool_file(&there),
        text.replace(&id.to_string(), &other.to_string()),
    )
    .unwrap();
    let changes = store.changes(Look::Thorough).unwrap();
    assert!(changes.damage);
    assert!(
        reason(&store).starts_with("`acme/a@v1` has the same toolID"),
        "{}",
        reason(&store)
    );
    assert!(place.store().tool(&a).is_ok() && store.tool(&b).is_ok());
    assert_eq!(store.bundle(other).unwrap().tools, 0);
    let twin = store.damage().remove(0);
    // When the first one goes, the copy may have the id.
    store.delete_tool(&a).unwrap();
    assert!(store.damage().is_empty());
    assert_eq!(store.bundle(other).unwrap().tools, 1);
    let changes = store.changes(Look::Glance).unwrap();
    assert_eq!(changes.tools.len(), 2);
    assert!(changes.damage);
    let error = store.set_aside(&twin).unwrap_err();
    assert!(error.to_string().ends_with("is fine now"), "{error}");
}

#[test]
fn a_bundle_without_its_file_keeps_its_tools_but_is_not_there() {
    let (place, store, id, a, _) = two_tools();
    let file = place.bundle_dir(id).join("bundle.json");
    std::fs::write(&file, "{").unwrap();
    let changes = store.changes(Look::Thorough).unwrap();
    assert!(matches!(&changes.bundles[..], [(k, None)] if *k == id));
    assert!(changes.tools.is_empty() && changes.damage);
    assert!(matches!(store.bundle(id), Err(StoreError::Damaged { .. })));
    assert!(
        store
            .bundle_damage(id)
            .unwrap()
            .starts_with("line 1, column 1")
    );
    assert!(store.tool(&a).is_ok());
    for refused in [
        store.put_bundle(id, draft("acme")).map(drop),
        store.put_tool(manifest(&key(id, "c", "v1"))).map(drop),
        store.delete_bundle(id).map(drop),
        store
            .install(install::bundle(id, "acme"), Vec::new(), Install::Update)
            .map(drop),
    ] {
        assert!(matches!(refused, Err(StoreError::Damaged { .. })));
    }
    store.set_aside(&store.damage()[0]).unwrap();
    assert!(reason(&store).starts_with("it is missing"));
    assert!(matches!(
        store.set_aside(&store.damage()[0]),
        Err(StoreError::Invalid(_))
    ));
    store.changes(Look::Glance).unwrap();
    store.put_bundle(id, draft("acme")).unwrap();
    let changes = store.changes(Look::Glance).unwrap();
    assert!(matches!(&changes.bundles[..], [(_, Some(view))] if view.tools == 2));
    assert!(store.damage().is_empty());
}

#[test]
fn what_is_not_the_stores_is_left_alone() {
    let (place, store, id, _, _) = two_tools();
    let here = place.home.path().join("bundles");
    std::fs::write(place.bundle_dir(id).join("notes.txt"), "mine").unwrap();
    std::fs::write(place.bundle_dir(id).join(".a.json"), "an editor's").unwrap();
    std::fs::create_dir(place.bundle_dir(id).join("pictures")).unwrap();
    std::fs::create_dir(here.join("not-an-id")).unwrap();
    std::fs::create_dir(here.join(id.to_string().to_uppercase())).unwrap();
    std::fs::create_dir(here.join("018faf50-b7b6-4a01-9a05-a22a6e0af101")).unwrap();
    std::fs::create_dir(here.join(BundleId::generate().to_string())).unwrap();
    std::fs::write(here.join("x.json"), "").unwrap();
    assert!(store.changes(Look::Thorough).unwrap().is_empty());
    assert!(place.store().damage().is_empty());
    assert_eq!(place.store().bundles().len(), 1);
    place.store().reap().unwrap();
    assert!(place.bundle_dir(id).join("notes.txt").exists());
}

#[test]
fn a_bundle_that_is_a_link_is_not_followed() {
    let (place, store, id, a, _) = two_tools();
    let aside = place.home.path().join("elsewhere");
    std::fs::rename(place.bundle_dir(id), &aside).unwrap();
    symlink(&aside, place.bundle_dir(id)).unwrap();
    store.changes(Look::Thorough).unwrap();
    assert_eq!(
        reason(&store),
        "it is a link, and links are not followed here"
    );
    assert!(store.tools(id).is_empty());
    for refused in [
        store.put_tool(manifest(&a)).map(drop),
        store.put_bundle(id, draft("acme")).map(drop),
        store.delete_bundle(id).map(drop),
    ] {
        assert!(
            matches!(refused, Err(StoreError::Damaged { .. })),
            "{refused:?}"
        );
    }
    store.set_aside(&store.damage()[0]).unwrap();
    assert!(store.damage().is_empty() && aside.join("bundle.json").exists());
    assert!(matches!(
        store.bundle(id),
        Err(StoreError::BundleNotFound { .. })
    ));
}

#[test]
fn of_two_bundles_with_one_slug_the_older_one_has_it() {
    let (place, store, id, _, _) = two_tools();
    place.pass(1);
    let other = put(&store, "other");
    let file = place.bundle_dir(other).join("bundle.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"other\"", "\"acme\"")).unwrap();
    store.changes(Look::Thorough).unwrap();
    assert!(reason(&store).starts_with("another bundle is named `acme`, too"));
    assert!(store.bundle(id).is_ok());
    assert!(matches!(
        store.bundle(other),
        Err(StoreError::Damaged { .. })
    ));
    store.delete_bundle(id).unwrap();
    assert!(store.damage().is_empty() && store.bundle(other).is_ok());
    // Nor may anybody take a name of Toolcrib's own.
    std::fs::write(&file, text.replace("\"other\"", "\"core\"")).unwrap();
    store.changes(Look::Thorough).unwrap();
    assert!(reason(&store).contains("Toolcrib's own"));
}

#[test]
fn a_directory_that_could_not_be_opened_is_opened_again_at_the_next_glance() {
    let (_place, store, id, _, _) = two_tools();
    let stamp = store.known().shelf(id).unwrap().stamp;
    assert!(!matches!(stamp, shelf::StampTrust::No));
    let flaw = files::Flaw::new("the disk reports an input/output error");
    store.known_mut().set_directory(id, Err(flaw));
    assert_eq!(
        store.known().shelf(id).unwrap().stamp,
        shelf::StampTrust::No
    );
}

#[test]
fn a_tool_written_by_hand_without_an_id_has_always_the_same() {
    let (place, store, id, _, _) = two_tools();
    let key = key(id, "by-hand", "v1");
    let mut json = serde_json::to_value(manifest(&key)).unwrap();
    json.as_object_mut().unwrap().remove("toolID");
    std::fs::write(place.tool_file(&key), json.to_string()).unwrap();
    store.changes(Look::Thorough).unwrap();
    let tool = store.tool(&key).unwrap();
    let again = place.store().tool(&key).unwrap();
    assert_eq!(tool.head.tool_id, again.head.tool_id);
    assert_eq!(tool.manifest().unwrap().tool_id, tool.head.tool_id);
    // It stays when it is switched.
    let off = store.set_tool_enabled(&key, false).unwrap();
    assert_eq!(off.head.tool_id, tool.head.tool_id);
    assert_eq!(place.json(&key).get("toolID"), None);
}

#[test]
fn a_damage_that_names_another_place_is_refused() {
    let (place, store, id, _, _) = two_tools();
    std::fs::write(place.home.path().join("secret"), "x").unwrap();
    for file in [
        "../secret".to_owned(),
        "bundles/../secret".to_owned(),
        format!("bundles/{id}/../../secret"),
        format!("bundles/{id}/.lock"),
        "bundles/.lock".to_owned(),
        String::new(),
    ] {
        let damage = Damage {
            file,
            bundle: id,
            tool: None,
            bundle_slug: None,
            reason: String::new(),
        };
        assert!(matches!(
            store.set_aside(&damage),
            Err(StoreError::Invalid(_))
        ));
    }
}
