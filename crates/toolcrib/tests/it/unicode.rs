//! The UNI-* cases: which slugs and versions there can be.

use toolcrib::{Slug, Version};

#[test]
fn slugs_of_letters_digits_and_dashes_in_any_script_are_accepted_as_they_are() {
    let longest = "\u{1d41a}".repeat(64);
    for slug in [
        "weather",
        "Weather",
        "read-file",
        "天気",
        "w\u{e9}ather",
        "\u{967}",
        "-",
        "\u{2b0}",
        "-rf",
        "--help",
        &longest,
    ] {
        assert_eq!(Slug::parse(slug).unwrap().as_str(), slug);
    }
}

#[test]
fn other_characters_are_refused_by_code_point() {
    for (slug, point) in [
        ("read_file", "U+005F"),
        ("a/b", "U+002F"),
        ("\u{1f527}", "U+1F527"),
        ("\u{b2}", "U+00B2"),
        ("\u{feff}a", "U+FEFF"),
        ("a\u{2013}b", "U+2013"),
        ("a\u{ff0d}b", "U+FF0D"),
        ("we\u{301}ather", "U+0301"),
        ("a\u{fe0f}", "U+FE0F"),
        ("\u{939}\u{93f}\u{902}\u{926}\u{940}", "U+093F"),
        ("a\u{0}b", "U+0000"),
        ("a\nb", "U+000A"),
        ("a%2fb", "U+0025"),
        ("a+b", "U+002B"),
        ("a~b", "U+007E"),
        ("a@b", "U+0040"),
        ("a b", "U+0020"),
        ("a\u{a0}b", "U+00A0"),
        ("a\u{2028}b", "U+2028"),
        ("a.b", "U+002E"),
        ("\u{200d}", "U+200D"),
        ("a\\b", "U+005C"),
        // Decomposed Hangul: letters all, and still not NFC.
        ("\u{1100}\u{1161}", "U+1161"),
    ] {
        let error = Slug::parse(slug).unwrap_err().to_string();
        assert!(error.contains(point), "{slug:?}: {error}");
    }
    assert!(Slug::parse("").is_err());
    assert!(Slug::parse(&"a".repeat(64)).is_ok());
    assert!(
        Slug::parse(&"a".repeat(65))
            .unwrap_err()
            .to_string()
            .contains("65 characters")
    );
}

#[test]
fn case_and_look_alikes_stay_distinct() {
    let all = ["i", "ı", "İ", "I", "ß", "ẞ", "ss", "apple", "\u{430}pple"];
    let distinct: std::collections::HashSet<Slug> =
        all.iter().map(|slug| Slug::parse(slug).unwrap()).collect();
    assert_eq!(distinct.len(), all.len());
    assert!(Slug::parse("\u{430}pple").unwrap().mixes_scripts());
}

#[test]
fn versions_are_opaque_labels_but_for_two() {
    for version in [
        "v2",
        "1.0.0",
        "1..0",
        "...",
        "-",
        "CON",
        "a.",
        &"9".repeat(64),
    ] {
        assert_eq!(Version::parse(version).unwrap().as_str(), version);
    }
    for version in [".", "..", "v2_1", "v 2", "", "a/b", &"9".repeat(65)] {
        assert!(Version::parse(version).is_err(), "{version}");
    }
}
