//! A list of branches, as `git for-each-ref` prints it.
//!
//! Every field ends in NUL, so that no name or subject can be taken for another field.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

/// Full name, short name, commit, whether it is checked out, upstream, how they stand, date, subject.
pub(super) const FORMAT: &str = "--format=%(refname)%00%(refname:short)%00%(objectname)%00%(HEAD)%00%(upstream:short)%00\
    %(upstream:track,nobracket)%00%(committerdate:iso-strict)%00%(contents:subject)%00";
const FIELDS: usize = 8;

/// Reads branches; what is cut off at the end is left out.
pub(super) fn read(output: &[u8]) -> Vec<[String; FIELDS]> {
    let mut branches = Vec::new();
    let mut parts = output.split(|byte| *byte == 0);
    loop {
        let mut fields = [const { String::new() }; FIELDS];
        let mut count = 0;
        for (field, part) in fields.iter_mut().zip(parts.by_ref()) {
            *field = String::from_utf8_lossy(part).into_owned();
            count += 1;
        }
        if count < FIELDS {
            return branches;
        }
        // Every branch but the first begins with the end of the line before.
        fields[0] = fields[0].trim_start().to_owned();
        branches.push(fields);
    }
}

// A branch, as results have it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedBranch {
    name: String,
    /// Its last commit
    hash: String,
    /// True for the one that is checked out
    current: bool,
    /// When its last commit was made, ISO 8601
    date: String,
    /// The first line of its last commit
    subject: String,
    /// True for a branch of a remote
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    remote: bool,
    /// The branch it follows
    #[serde(skip_serializing_if = "String::is_empty")]
    upstream: String,
    /// Compared with that: ahead 1, behind 2, or gone
    #[serde(skip_serializing_if = "String::is_empty")]
    track: String,
}

impl From<[String; FIELDS]> for ListedBranch {
    fn from(fields: [String; FIELDS]) -> Self {
        let [full, name, hash, head, upstream, track, date, subject] = fields;
        ListedBranch {
            name,
            hash,
            current: head == "*",
            date,
            subject,
            remote: full.starts_with("refs/remotes/"),
            upstream,
            track,
        }
    }
}

/// A line for each branch.
pub(super) fn in_words(branches: &[[String; FIELDS]]) -> String {
    let mut text = String::new();
    for [_, name, hash, head, upstream, track, date, subject] in branches {
        let mark = if head == "*" { "*" } else { " " };
        let _ = write!(
            text,
            "{mark} {name} {} {date} {subject}",
            &hash[..hash.len().min(10)]
        );
        if !upstream.is_empty() {
            let _ = write!(text, " [{upstream} {track}]");
        }
        text.push('\n');
    }
    if text.is_empty() {
        text.push_str("no branches yet: the first commit makes one\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_read_up_to_where_the_output_ends() {
        let output = b"refs/heads/a\0a\0aa\0*\0\0\0date\0one\0\nrefs/remotes/o/b\0o/b\0bb\0 \0up\0ahead 1\0date\0two\0\n";
        let branches = read(output);
        assert_eq!(branches.len(), 2);
        let listed = ListedBranch::from(branches[1].clone());
        assert_eq!((listed.name.as_str(), listed.remote), ("o/b", true));
        assert_eq!(listed.track, "ahead 1");
        for end in 0..output.len() {
            assert!(read(&output[..end]).len() <= 2);
        }
    }
}
