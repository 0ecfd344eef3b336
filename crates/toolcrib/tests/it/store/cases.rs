//! The cases STO-* and UNI-* of tests/cases/store-unicode.jsonl, as far as they are the store's. The file drives: a case that
//! nobody here knows fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use toolcrib::store::{Look, Put, Store, StoreError, StoreOptions};
use toolcrib::{BundleId, ErrorCode, Slug, ToolError, ToolId, ToolManifest, Version};

use super::ground::{Ground, Home, acme, beta, binned};
use super::view::View;
use super::{bundle_id, draft, files_below, key, manifest, open, slug, tool_id};

/// A line of the file.
#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    action: String,
}

impl Case {
    /// The slug of `PUT tool slug="…" (…)`.
    fn slug(&self) -> String {
        let text = self.action.strip_prefix("PUT tool slug=").unwrap();
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        values.next().unwrap().unwrap()
    }
}

fn cases() -> Vec<Case> {
    let lines = include_str!("../../cases/store-unicode.jsonl").lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_case_is_kept() {
    let ground = Ground::new();
    for case in cases() {
        match case.id.as_str() {
            id if id.starts_with("UNI-OK-") => is_kept_as_it_is(&case.slug()),
            id if id.starts_with("UNI-BAD-") => is_refused_by_code_point(&ground, &case.slug()),
            // Looked at elsewhere: `refused`, `refused`, `races`, `follow`, and `crash` for what is left behind.
            "STO-002" | "STO-004" | "STO-006" | "STO-007" | "STO-021" => {}
            "STO-011" => {
                let longest = "\u{1d41a}".repeat(64);
                is_kept(&longest, &longest);
            }
            "STO-012" => odd_versions_stay_in_their_directory(),
            "STO-013" => ["-rf", "--help", "-", "--"]
                .into_iter()
                .for_each(is_kept_as_it_is),
            "STO-015" => nothing_changes_in_a_bundle_that_is_off_or_in_the_bin(),
            "STO-016" => the_reaper_takes_no_bundle_with_something_in_it(),
            "STO-018" => a_call_is_no_structural_change(),
            "STO-020" => a_clock_that_jumps_back_changes_nothing_that_was(),
            "UNI-X-02" => is_refused_by_code_point(&ground, "\u{1100}\u{1161}"),
            "UNI-X-03" => look_alikes_are_two_and_flagged(),
            "UNI-X-05" => all_are_kept_apart(&["i", "ı", "İ", "I", "ß", "ẞ", "ss", "SS"]),
            "UNI-X-06" => versions_are_opaque_labels(),
            "UNI-X-07" => any_description_is_kept_as_it_is(),
            // Not of the store: what a listing of a directory shows.
            "UNI-X-08" => {}
            other => panic!("nobody looks at {other}: {}", case.action),
        }
    }
}

/// Neighbours of the cases in the file, of the same kinds.
#[test]
fn neighbours_of_the_cases_are_treated_alike() {
    let ground = Ground::new();
    for kept in [
        "0", "9", "a-", "-a", "--", "Ǆ", "ǅ", "ª", "ﬁ", "ａ", "٣", "𝟘", "ゞ", "한글", "ʰ",
        "\u{1e9e}", "א", "ا",
    ] {
        is_kept_as_it_is(kept);
    }
    for bad in [
        "",
        "a.b",
        "a b",
        "a\tb",
        "a\\b",
        "a:b",
        "a*b",
        "a?b",
        "a\"b",
        "a'b",
        "a$b",
        "a#b",
        "a&b",
        "a;b",
        "a|b",
        "a<b",
        "a,b",
        "\u{ff3f}",
        "a\u{200b}b",
        "a\u{200d}b",
        "a\u{200c}b",
        "a\u{ad}b",
        "a\u{202e}b",
        "a\u{2066}b",
        "a\u{e0041}",
        "\u{2160}",
        "\u{bd}",
        "\u{2014}",
        "\u{2010}",
        "\u{2212}",
        "\u{fe63}",
        "a\u{7f}b",
        "a\u{85}b",
        "a\u{3000}b",
        "\u{e000}",
        "\u{fdd0}",
        "\u{10ffff}",
        "\u{378}",
        "e\u{301}",
        "\u{212b}",
        "\u{2126}",
        "\u{1112}\u{1161}\u{11ab}",
        "\u{ac00}\u{11a8}",
        "\u{f900}",
        "..",
        ".",
        "a/..",
        "\u{20ac}",
        "\u{1f1e9}\u{1f1ea}",
    ] {
        is_refused_by_code_point(&ground, bad);
    }
    is_refused(&ground, &"a".repeat(65), "65 characters");
    is_refused(&ground, &"\u{1d41a}".repeat(65), "65 characters");
}

fn is_kept_as_it_is(text: &str) {
    is_kept(text, "v1");
}

/// Puts a tool and finds it again, code point by code point, under a file name that says nothing.
fn is_kept(tool: &str, version: &str) {
    let home = Home::empty();
    let store = open(&home.path);
    store.put_bundle(acme(), draft("acme")).unwrap();
    let key = key(acme(), tool, version);
    let put = store.put_tool(manifest(&key, tool_id(1), "x")).unwrap();
    assert_eq!(
        (put.key.slug.as_str(), put.key.version.as_str()),
        (tool, version)
    );
    let found = open(&home.path).tool(&key).unwrap().manifest().unwrap();
    assert_eq!(
        (found.slug.as_str(), found.version.as_str()),
        (tool, version)
    );
    let files = files_below(&home.path);
    let derived = |name: &&String| {
        let digits = name.rsplit('/').next().unwrap().strip_suffix(".json");
        digits.is_some_and(|digits| {
            digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit())
        })
    };
    assert_eq!(files.len(), 3, "bundle.json, .lock and it: {files:?}");
    assert_eq!(files.iter().filter(derived).count(), 1, "{files:?}");
    // As the slug of a bundle, too.
    if version == "v1" {
        store.put_bundle(beta(), draft(tool)).unwrap();
        assert_eq!(
            open(&home.path)
                .bundle(beta())
                .unwrap()
                .bundle
                .slug
                .as_str(),
            tool
        );
    }
    store.delete_tool(&key).unwrap();
    assert!(matches!(
        open(&home.path).tool(&key),
        Err(StoreError::ToolNotFound { .. })
    ));
}

/// No such slug can be made, and no file that says it; the reason names the character.
fn is_refused_by_code_point(ground: &Ground, text: &str) {
    let is_bad = |c: &char| Slug::parse(&c.to_string()).is_err();
    let points: Vec<String> = match text.chars().find(is_bad) {
        Some(c) => vec![format!("U+{:04X}", u32::from(c))],
        // Each is a letter; it is how they stand together.
        None if text.is_empty() => vec![String::from("empty")],
        None => text
            .chars()
            .map(|c| format!("U+{:04X}", u32::from(c)))
            .collect(),
    };
    let error = Slug::parse(text).unwrap_err().to_string();
    assert!(
        points.iter().any(|point| error.contains(point)),
        "{text:?}: {error}"
    );
    is_refused(
        ground,
        text,
        points.iter().find(|point| error.contains(*point)).unwrap(),
    );
}

fn is_refused(ground: &Ground, text: &str, words: &str) {
    let error = Slug::parse(text).unwrap_err().to_string();
    assert!(error.contains(words), "{text:?}: {error}");
    let mut json =
        serde_json::to_value(manifest(&key(acme(), "x", "v1"), tool_id(1), "x")).unwrap();
    json["slug"] = Value::from(text);
    let error = ToolManifest::from_json(json.to_string().as_bytes())
        .unwrap_err()
        .to_string();
    assert!(error.contains(words), "{text:?}: {error}");
    // A file that says so is out, with the same reason, and nothing else is.
    let home = ground.copy();
    std::fs::write(home.tool_file(acme(), "x", "v1"), json.to_string()).unwrap();
    let store = open(&home.path);
    assert_eq!(store.damage().len(), 1);
    assert!(
        store.damage()[0].reason.contains(words),
        "{text:?}: {:?}",
        store.damage()
    );
    assert_eq!(View::of(&store).tools.len(), 4);
}

fn odd_versions_stay_in_their_directory() {
    for version in [
        "...",
        "-",
        "CON",
        "a.",
        ".a",
        "NUL.json",
        "....",
        "a..b",
        "--",
        "v1.",
        "LPT1",
        "bundle.json",
        "~",
    ] {
        match Version::parse(version) {
            Ok(_) => is_kept("x", version),
            Err(error) => assert_eq!(version, "~", "{error}"),
        }
    }
    for version in [".", ".."] {
        let error = Version::parse(version).unwrap_err();
        assert!(error.to_string().contains("reserved"), "{error}");
    }
}

fn versions_are_opaque_labels() {
    for version in ["v2", "1.0.0", "1..0", &"9".repeat(64)] {
        is_kept("x", version);
    }
    for version in [".", "..", "v2_1", "v 2", "", "a/b", "a\0", &"9".repeat(65)] {
        assert!(Version::parse(version).is_err(), "{version:?}");
    }
    // Side by side, and told apart to the letter.
    let home = Home::empty();
    let store = open(&home.path);
    store.put_bundle(acme(), draft("acme")).unwrap();
    let versions = ["v1", "V1", "v1.0", "v01", "1", "１", "v1-"];
    for (version, number) in versions.iter().zip(1..) {
        store
            .put_tool(manifest(
                &key(acme(), "x", version),
                tool_id(number),
                version,
            ))
            .unwrap();
    }
    for version in versions {
        assert_eq!(
            store
                .tool(&key(acme(), "x", version))
                .unwrap()
                .head
                .description,
            version
        );
    }
    assert_eq!(View::fresh(&home.path).tools.len(), versions.len());
}

fn all_are_kept_apart(slugs: &[&str]) {
    let home = Home::empty();
    let store = open(&home.path);
    store.put_bundle(acme(), draft("acme")).unwrap();
    for (tool, number) in slugs.iter().zip(1..) {
        store
            .put_tool(manifest(&key(acme(), tool, "v1"), tool_id(number), tool))
            .unwrap();
        store
            .put_bundle(bundle_id(100 + number), draft(tool))
            .unwrap();
    }
    let store = open(&home.path);
    for tool in slugs {
        assert_eq!(
            store
                .tool(&key(acme(), tool, "v1"))
                .unwrap()
                .head
                .description,
            *tool
        );
    }
    assert_eq!(store.tools(acme()).len(), slugs.len());
    assert_eq!(store.bundles().len(), slugs.len() + 1);
}

fn look_alikes_are_two_and_flagged() {
    all_are_kept_apart(&["apple", "\u{430}pple"]);
    assert!(slug("\u{430}pple").mixes_scripts());
    assert!(!slug("apple").mixes_scripts());
}

fn any_description_is_kept_as_it_is() {
    let tags: String = ('\u{e0001}'..='\u{e007f}').collect();
    for text in [
        tags.as_str(),
        "\u{202e}gpj.exe",
        "\u{2066}a\u{2069}",
        "\x1b[2J\x1b]0;x\x07",
        "a\0b",
        "\u{fffe}",
        "\u{feff}",
        "\\u0000",
        "\r\n",
    ] {
        let home = Ground::new().copy();
        let key = key(acme(), "odd", "v1");
        open(&home.path)
            .put_tool(manifest(&key, tool_id(50), text))
            .unwrap();
        let found = open(&home.path).tool(&key).unwrap();
        assert_eq!(found.head.description, text);
        assert_eq!(found.manifest().unwrap().description, text);
    }
}

fn code(result: Result<(), StoreError>) -> ErrorCode {
    ToolError::from(result.unwrap_err()).code()
}

fn nothing_changes_in_a_bundle_that_is_off_or_in_the_bin() {
    let home = Ground::new().copy();
    let store = open(&home.path);
    store.set_bundle_enabled(acme(), false).unwrap();
    for (bundle, tool) in [(acme(), "x"), (binned(), "z")] {
        let before = View::of(&store);
        let old = key(bundle, tool, "v1");
        let digest = store.tool(&old).unwrap().digest();
        let id = store.tool(&old).unwrap().head.tool_id;
        for refused in [
            store
                .put_tool(manifest(&key(bundle, "new", "v1"), tool_id(70), "x"))
                .map(drop),
            store
                .put_tool(manifest(&key(bundle, tool, "v9"), tool_id(70), "x"))
                .map(drop),
            store.set_tool_enabled(&old, false).map(drop),
            store
                .replace_tool(manifest(&old, id, "x"), &digest)
                .map(drop),
        ] {
            assert_eq!(code(refused), ErrorCode::Conflict);
        }
        assert_eq!(View::of(&store), before);
        assert_eq!(View::fresh(&home.path), before);
        // To remove something is allowed, and to switch it on again, or to take it out of the bin.
        store.delete_tool(&old).unwrap();
    }
    store.set_bundle_enabled(acme(), true).unwrap();
    store.restore_bundle(binned()).unwrap();
    for bundle in [acme(), binned()] {
        store
            .put_tool(manifest(&key(bundle, "new", "v1"), ToolId::generate(), "x"))
            .unwrap();
    }
}

/// Time that a test moves.
#[derive(Clone)]
pub(super) struct Clock(Arc<AtomicI64>);

impl Clock {
    pub(super) const DAY: i64 = 24 * 3600;

    /// Starts with the year 2026.
    pub(super) fn new() -> Self {
        Clock(Arc::new(AtomicI64::new(1_767_225_600)))
    }

    pub(super) fn jump(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::Relaxed)).unwrap()
    }

    pub(super) fn options(&self) -> StoreOptions {
        let clock = self.clone();
        StoreOptions {
            clock: Arc::new(move || clock.now()),
            ..StoreOptions::default()
        }
    }
}

fn the_reaper_takes_no_bundle_with_something_in_it() {
    let home = Home::empty();
    let clock = Clock::new();
    let store = Store::at(&home.path, clock.options());
    let (full, empty) = (bundle_id(1), bundle_id(2));
    store.put_bundle(full, draft("full")).unwrap();
    store.put_bundle(empty, draft("empty")).unwrap();
    store
        .put_tool(manifest(&key(full, "x", "v1"), tool_id(1), "x"))
        .unwrap();
    store.delete_bundle(full).unwrap();
    store.delete_bundle(empty).unwrap();
    clock.jump(-3 * Clock::DAY);
    assert_eq!(store.reap().unwrap(), []);
    clock.jump(3 * Clock::DAY + 2 * Clock::DAY - 1);
    assert_eq!(store.reap().unwrap(), [], "a second before its time");
    clock.jump(Clock::DAY);
    let other = Store::at(&home.path, clock.options());
    assert_eq!(other.reap().unwrap(), [empty]);
    store.changes(Look::Glance).unwrap();
    assert!(store.bundle(full).is_ok() && store.bundle(empty).is_err());
    assert_eq!(store.tools(full).len(), 1);
    // Emptied and still in the bin, it goes; taken out, it stays.
    store.delete_tool(&key(full, "x", "v1")).unwrap();
    store.restore_bundle(full).unwrap();
    assert_eq!(store.reap().unwrap(), []);
    store.delete_bundle(full).unwrap();
    assert_eq!(store.reap().unwrap(), [], "its two days start again");
    clock.jump(2 * Clock::DAY + 1);
    assert_eq!(store.reap().unwrap(), [full]);
    assert!(!home.path.join("bundles").join(full.to_string()).exists());
}

/// While one takes a bundle out of the bin, puts a tool in it and puts it back, another reaps as if days had gone by.
#[test]
fn the_reaper_never_takes_what_was_put_into_a_bundle_meanwhile() {
    let home = Home::empty();
    let clock = Clock::new();
    let store = Store::at(&home.path, clock.options());
    let ahead = clock.clone();
    let id = bundle_id(1);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reaper = scope.spawn(|| {
            let later = Store::at(&home.path, ahead.options());
            while !is_over.load(Ordering::Relaxed) {
                later.reap().unwrap();
            }
        });
        // Also when something here fails: the reaper would go on for ever.
        let over = SetWhenDropped(&is_over);
        let (mut kept, mut reaped) = (0, 0);
        for number in 1..=40 {
            store.put_bundle(id, draft("b")).unwrap();
            store.delete_bundle(id).unwrap();
            clock.jump(3 * Clock::DAY);
            let restored = store.restore_bundle(id);
            if let Err(error) = restored {
                assert!(
                    matches!(error, StoreError::BundleNotFound { .. }),
                    "{error}"
                );
                reaped += 1;
                continue;
            }
            let tool = key(id, "x", &format!("v{number}"));
            store
                .put_tool(manifest(&tool, tool_id(number), "x"))
                .unwrap();
            store.delete_bundle(id).unwrap();
            clock.jump(3 * Clock::DAY);
            std::thread::yield_now();
            assert!(
                open(&home.path).tool(&tool).is_ok(),
                "the reaper took {number}"
            );
            store.delete_tool(&tool).unwrap();
            match store.restore_bundle(id) {
                Ok(_) => kept += 1,
                Err(_) => reaped += 1,
            }
        }
        drop(over);
        reaper.join().unwrap();
        eprintln!("{kept} were kept and {reaped} reaped");
    });
    assert!(View::fresh(&home.path).damage.is_empty());
}

/// Says that it is over, however that came about.
pub(super) struct SetWhenDropped<'a>(pub(super) &'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn a_clock_that_jumps_back_changes_nothing_that_was() {
    let home = Home::empty();
    let clock = Clock::new();
    let store = Store::at(&home.path, clock.options());
    let id = bundle_id(1);
    clock.jump(-10 * 365 * Clock::DAY);
    let Put::Created(created) = store.put_bundle(id, draft("b")).unwrap() else {
        panic!("it was there");
    };
    let x = key(id, "x", "v1");
    let put = store.put_tool(manifest(&x, tool_id(1), "x")).unwrap();
    assert_eq!(
        (put.head.created_at, put.head.modified_at),
        (created.created_at, created.created_at)
    );
    clock.jump(10 * 365 * Clock::DAY);
    let replaced = store
        .replace_tool(manifest(&x, tool_id(1), "y"), &put.digest())
        .unwrap();
    assert_eq!(replaced.head.created_at, put.head.created_at);
    assert!(replaced.head.modified_at > put.head.modified_at);
    clock.jump(-20 * 365 * Clock::DAY);
    let again = store
        .replace_tool(manifest(&x, tool_id(1), "z"), &replaced.digest())
        .unwrap();
    assert_eq!(again.head.created_at, put.head.created_at);
    assert!(again.head.modified_at >= again.head.created_at);
    let mut other = draft("b");
    other.description = String::from("Another one");
    let Put::Replaced(replaced) = store.put_bundle(id, other).unwrap() else {
        panic!("it was not there");
    };
    assert_eq!(replaced.created_at, created.created_at);
    assert!(replaced.modified_at >= replaced.created_at);
    // In the bin, whatever the clock says: never reaped before its time.
    store.delete_tool(&x).unwrap();
    store.delete_bundle(id).unwrap();
    clock.jump(Clock::DAY);
    assert_eq!(store.reap().unwrap(), []);
    let ids: Vec<String> = (0..10_000)
        .map(|_| BundleId::generate().to_string())
        .collect();
    assert!(ids.is_sorted() && ids.windows(2).all(|two| two[0] != two[1]));
}

/// Switching is none either. Real calls are made in `source::stored`.
fn a_call_is_no_structural_change() {
    let home = Ground::new().copy();
    let store = open(&home.path);
    let x = key(acme(), "x", "v1");
    let before = store.tool(&x).unwrap().head.modified_at;
    let off = store.set_tool_enabled(&x, false).unwrap();
    assert_eq!((off.head.modified_at, off.head.is_enabled), (before, false));
    let bundle = store.bundle(acme()).unwrap().bundle.modified_at;
    assert_eq!(
        store.set_bundle_enabled(acme(), false).unwrap().modified_at,
        bundle
    );
}
