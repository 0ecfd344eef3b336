//! The files of a patch in Codex's format, which names them by lines that begin with `***`.
//!
//! Sources: `codex-rs/apply-patch` of openai/codex. Nothing is applied here: what counts is which files would be written, and what would
//! be added to them.

/// What a patch does to a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    /// Makes it, with this content.
    Add(String, String),
    /// Changes it, adding these lines.
    Update(String, String),
    /// Removes it.
    Delete(String),
    /// Gives the file that was changed last another name.
    Move(String, String),
}

/// The changes of a patch, in order; `None` if it names no file, which is not a patch of this format.
pub(super) fn changes(patch: &str) -> Option<Vec<Change>> {
    let mut changes: Vec<Change> = Vec::new();
    let mut last = String::new();
    for line in patch.lines() {
        let trimmed = line.trim();
        let named = |mark: &str| {
            trimmed
                .strip_prefix(mark)
                .map(|path| path.trim().to_owned())
        };
        if let Some(path) = named("*** Add File:") {
            changes.push(Change::Add(path, String::new()));
        } else if let Some(path) = named("*** Update File:") {
            last.clone_from(&path);
            changes.push(Change::Update(path, String::new()));
        } else if let Some(path) = named("*** Delete File:") {
            changes.push(Change::Delete(path));
        } else if let Some(path) = named("*** Move to:") {
            // What follows is still about the file that was named before.
            let at = changes.len().saturating_sub(1);
            changes.insert(at, Change::Move(last.clone(), path));
        } else if let Some(added) = line.strip_prefix('+')
            && let Some(Change::Add(_, text) | Change::Update(_, text)) = changes.last_mut()
        {
            text.push_str(added);
            text.push('\n');
        }
    }
    (!changes.is_empty()).then_some(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_patch_is_found_with_what_is_added_to_it() {
        let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** Update File: b.rs\n*** Move to: c.rs\n@@ fn x\n-old\n+new\n*** Delete File: d\n*** End Patch\n";
        let found = changes(patch).unwrap();
        assert_eq!(
            found,
            [
                Change::Add("a.txt".to_owned(), "one\ntwo\n".to_owned()),
                Change::Move("b.rs".to_owned(), "c.rs".to_owned()),
                Change::Update("b.rs".to_owned(), "new\n".to_owned()),
                Change::Delete("d".to_owned()),
            ]
        );
        assert_eq!(changes("--- a/x\n+++ b/x\n"), None);
    }
}
