//! The cases STO-* and UNI-* of tests/cases/store-unicode.jsonl, as far as they are the store's. The file drives: a case that
//! no one here knows fails.

use serde::Deserialize;
use serde_json::Value;
use toolcrib::store::StoreError;
use toolcrib::{Slug, ToolManifest, Version};

use super::bin::{
    a_call_is_no_structural_change, a_clock_that_jumps_back_changes_nothing_that_was,
    nothing_changes_in_a_bundle_that_is_off_or_in_the_bin,
    the_reaper_takes_no_bundle_with_something_in_it,
};
use super::ground::{Ground, Home, acme, beta};
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
            other => panic!("no one looks at {other}: {}", case.action),
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
