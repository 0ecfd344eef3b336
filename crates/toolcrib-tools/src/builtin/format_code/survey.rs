//! Which files a formatter's survey is about.
//!
//! What a survey prints is read for one thing: which of the names that are known it mentions. A formatter that says more, or says it
//! otherwise in its next version, costs a look at a file too many and nothing else.

use std::collections::{BTreeSet, HashSet};

/// How many words and marks of a line a name may begin and end at.
const MAX_ENDS: usize = 12;

/// Reads what a survey printed.
pub(super) struct Reader<'a> {
    /// The workspace on the host, without links and with a slash at its end.
    pub(super) host: &'a str,
    /// Where the formatter ran, relative to the workspace.
    pub(super) ran_in: &'a str,
    /// The names that count.
    pub(super) known: HashSet<&'a str>,
}

impl<'a> Reader<'a> {
    /// The names that are mentioned.
    pub(super) fn mentioned(&self, output: &str) -> BTreeSet<&'a str> {
        output
            .lines()
            .filter_map(|line| self.mentioned_in(line))
            .collect()
    }

    /// The name that a line is about: it begins at a word and ends with the line or before a colon.
    pub(super) fn mentioned_in(&self, line: &str) -> Option<&'a str> {
        let line = line.trim_end();
        let begins = std::iter::once(0).chain(line.match_indices(' ').map(|(at, _)| at + 1));
        for begin in begins.take(MAX_ENDS) {
            let rest = &line[begin..];
            let ends = std::iter::once(rest.len()).chain(rest.match_indices(':').map(|(at, _)| at));
            for end in ends.take(MAX_ENDS) {
                if let Some(name) = self.known(&rest[..end]) {
                    return Some(name);
                }
            }
        }
        None
    }

    fn known(&self, text: &str) -> Option<&'a str> {
        if let Some(name) = text.strip_prefix(self.host) {
            return self.known.get(name).copied();
        }
        let text = text.strip_prefix("./").unwrap_or(text);
        match self.ran_in {
            "." => self.known.get(text).copied(),
            ran_in => self.known.get(format!("{ran_in}/{text}").as_str()).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_what_every_formatter_prints() {
        let known = ["web/a b.ts", "web/-x.py", "web/src/main.rs"];
        let reader = Reader {
            host: "/w/",
            ran_in: "web",
            known: known.into_iter().collect(),
        };
        for (line, name) in [
            ("a b.ts", Some("web/a b.ts")),
            ("[error] a b.ts: SyntaxError: oh (1:9)", Some("web/a b.ts")),
            ("would reformat /w/web/-x.py", Some("web/-x.py")),
            ("Would reformat: -x.py", Some("web/-x.py")),
            (" --> ./-x.py:1:7", Some("web/-x.py")),
            (
                "error: cannot format /w/web/-x.py: Cannot parse: 1:6: x",
                Some("web/-x.py"),
            ),
            ("Formatting /w/web/src/main.rs", Some("web/src/main.rs")),
            ("/w/web/src/other.rs", None),
            ("/etc/passwd", None),
            ("", None),
            ("💥 : : :", None),
        ] {
            assert_eq!(reader.mentioned_in(line), name, "{line}");
        }
        assert_eq!(reader.mentioned("a b.ts\n-x.py\na b.ts\n").len(), 2);
    }
}
