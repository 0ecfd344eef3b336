//! The names in an archive: [`EntryName`].

use unicode_normalization::UnicodeNormalization as _;

use super::error::NameFault;
use crate::model::text;

/// The name of the one entry that every archive has.
pub(in crate::store::archive) const BUNDLE: &str = "bundle.json";

/// The longest name, in bytes.
const MAX_BYTES: usize = 255;

/// A name that may be in an archive: `bundle.json` or `tools/*.json`. It never becomes the name of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store::archive) struct EntryName(String);

impl EntryName {
    /// Reads a name; without the flag for UTF-8 it has to be ASCII, since it is in a code page that no one names.
    pub(super) fn parse(bytes: &[u8], is_utf8: bool) -> Result<Self, NameFault> {
        if bytes.is_empty() {
            return Err(NameFault::Empty);
        }
        if bytes.len() > MAX_BYTES {
            return Err(NameFault::TooLong);
        }
        let name = std::str::from_utf8(bytes).map_err(|_| NameFault::NotUtf8)?;
        if !is_utf8 && !name.is_ascii() {
            return Err(NameFault::NotUtf8);
        }
        if name.contains(['\t', '\n']) || name.contains(text::is_hidden) {
            return Err(NameFault::Control);
        }
        if name.contains('\\') {
            return Err(NameFault::Backslash);
        }
        if name.starts_with('/') {
            return Err(NameFault::Absolute);
        }
        if name.contains(':') {
            return Err(NameFault::Drive);
        }
        if name.split('/').any(|part| part == "..") {
            return Err(NameFault::Parent);
        }
        if name.ends_with('/') {
            return Err(NameFault::Directory);
        }
        if name != BUNDLE && !is_tool(name) {
            return Err(NameFault::Stranger);
        }
        Ok(EntryName(name.to_owned()))
    }

    /// The name of a tool whose file in a store has this name: 32 digits and `.json`.
    pub(in crate::store::archive) fn tool(file: &str) -> Self {
        EntryName(format!("tools/{file}"))
    }

    /// `bundle.json`.
    pub(in crate::store::archive) fn bundle() -> Self {
        EntryName(BUNDLE.to_owned())
    }

    pub(in crate::store::archive) fn as_str(&self) -> &str {
        &self.0
    }

    /// What two names have in common that a file system may take for one: case and the ways to write a letter do not count.
    pub(super) fn folded(&self) -> String {
        let lower = self.0.nfkc().flat_map(char::to_lowercase);
        // Upper case and back again: `ß` and `ẞ`, final sigma.
        let upper: String = lower.flat_map(char::to_uppercase).collect();
        upper.to_lowercase().nfkc().collect()
    }
}

fn is_tool(name: &str) -> bool {
    let stem = name
        .strip_prefix("tools/")
        .and_then(|file| file.strip_suffix(".json"));
    stem.is_some_and(|stem| !stem.is_empty() && !stem.starts_with('.') && !stem.contains('/'))
}

/// A name from outside, as a message shows it.
pub(super) fn shown(bytes: &[u8]) -> String {
    text::shorten(&String::from_utf8_lossy(bytes), 100)
        .replace('\n', "\\n")
        .replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_and_its_tools_are_all_there_is() {
        for good in [
            "bundle.json",
            "tools/a.json",
            "tools/天気.json",
            "tools/a b.json",
        ] {
            assert_eq!(
                EntryName::parse(good.as_bytes(), true).unwrap().as_str(),
                good
            );
        }
        let long = format!("tools/{}.json", "x".repeat(250));
        let cases: &[(&[u8], NameFault)] = &[
            (b"", NameFault::Empty),
            (long.as_bytes(), NameFault::TooLong),
            (b"tools/\xff.json", NameFault::NotUtf8),
            (b"tools/a\0.json", NameFault::Control),
            (b"tools/a\x1b[2J.json", NameFault::Control),
            (b"tools/a\n.json", NameFault::Control),
            ("tools/\u{202e}nosj.json".as_bytes(), NameFault::Control),
            ("tools/a\u{200b}.json".as_bytes(), NameFault::Control),
            (b"tools\\a.json", NameFault::Backslash),
            (b"/tools/a.json", NameFault::Absolute),
            (b"C:/tools/a.json", NameFault::Drive),
            (b"C:tools/a.json", NameFault::Drive),
            (b"tools/a.json:stream", NameFault::Drive),
            (b"../bundle.json", NameFault::Parent),
            (b"tools/../../a.json", NameFault::Parent),
            (b"tools/..", NameFault::Parent),
            (b"tools/", NameFault::Directory),
            (b"tools/a.json/", NameFault::Directory),
            (b"BUNDLE.json", NameFault::Stranger),
            (b"Tools/a.json", NameFault::Stranger),
            (b"tools/a.JSON", NameFault::Stranger),
            (b"tools/b/a.json", NameFault::Stranger),
            (b"tools//a.json", NameFault::Stranger),
            (b"./bundle.json", NameFault::Stranger),
            (b"tools/./a.json", NameFault::Stranger),
            (b"tools/.json", NameFault::Stranger),
            (b"tools/.hidden.json", NameFault::Stranger),
            (b"tools/inner.zip", NameFault::Stranger),
            (b"secrets/KEY.json", NameFault::Stranger),
            (b"__MACOSX/._bundle.json", NameFault::Stranger),
            (b"state/flags.json", NameFault::Stranger),
        ];
        for (name, fault) in cases {
            let found = EntryName::parse(name, true).unwrap_err();
            assert_eq!(found, *fault, "{}", String::from_utf8_lossy(name));
        }
        assert_eq!(
            EntryName::parse("tools/ä.json".as_bytes(), false),
            Err(NameFault::NotUtf8)
        );
    }

    #[test]
    fn names_that_a_file_system_takes_for_one_are_one() {
        let folded = |name: &str| EntryName::parse(name.as_bytes(), true).unwrap().folded();
        for (one, other) in [
            ("tools/a.json", "tools/A.json"),
            ("tools/\u{e9}.json", "tools/e\u{301}.json"),
            ("tools/\u{212b}.json", "tools/\u{e5}.json"),
            ("tools/ﬁ.json", "tools/fi.json"),
            ("tools/straße.json", "tools/STRASSE.json"),
            ("tools/ς.json", "tools/σ.json"),
        ] {
            assert_eq!(folded(one), folded(other), "{one} {other}");
        }
        assert_ne!(folded("tools/a.json"), folded("tools/b.json"));
    }
}
