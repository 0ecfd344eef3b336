//! Replacing texts in a text: pure, all or none.

use super::{Edit, near_lines};

/// How many line numbers are listed of a text that is there several times.
const MAX_LISTED: usize = 5;

/// An edit that cannot be made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Which edit, counted from 0.
    pub(super) index: usize,
    /// Why, as a sentence about its `old`.
    pub(super) message: String,
}

/// Makes the edits one after the other. Returns the new text, and how many places changed.
pub(super) fn apply(text: &str, edits: &[Edit]) -> Result<(String, usize), Fault> {
    let mut now = text.to_owned();
    let mut replaced = 0;
    for (index, edit) in edits.iter().enumerate() {
        let fault = |message| Fault { index, message };
        if edit.old == edit.new {
            return Err(fault(
                "is the same as `new`; leave this edit out".to_owned(),
            ));
        }
        let Some(first) = now.find(&edit.old) else {
            let after = match index {
                0 => "",
                _ => " after the edits before this one",
            };
            return Err(fault(format!(
                "is not in the file{after}: {}",
                near_lines::explain(&now, &edit.old)
            )));
        };
        if edit.all {
            replaced += now.matches(&edit.old).count();
            now = now.replace(&edit.old, &edit.new);
            continue;
        }
        let lines = places(&now, &edit.old);
        if lines.len() > 1 {
            return Err(fault(ambiguous(&lines)));
        }
        now.replace_range(first..first + edit.old.len(), &edit.new);
        replaced += 1;
    }
    Ok((now, replaced))
}

/// The lines where a text begins, also where it overlaps itself.
fn places(text: &str, old: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(found) = text[at..].find(old) {
        let start = at + found;
        line += text[at..start].matches('\n').count();
        lines.push(line);
        let step = text[start..].chars().next().map_or(1, char::len_utf8);
        line += usize::from(text[start..].starts_with('\n'));
        at = start + step;
    }
    lines
}

fn ambiguous(lines: &[usize]) -> String {
    let listed: Vec<String> = lines
        .iter()
        .take(MAX_LISTED)
        .map(usize::to_string)
        .collect();
    let more = match lines.len() - listed.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "is in the file {} times, at lines {}{more}; add lines around it until it is there once, or set `all`",
        lines.len(),
        listed.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edit(old: &str, new: &str) -> Edit {
        Edit {
            old: old.to_owned(),
            new: new.to_owned(),
            all: false,
        }
    }

    #[test]
    fn each_edit_works_on_the_result_of_those_before_it() {
        let edits = [edit("one", "two"), edit("two", "three")];
        assert_eq!(apply("one\n", &edits), Ok(("three\n".to_owned(), 2)));
    }

    #[test]
    fn a_text_that_is_there_twice_is_refused_with_its_lines() {
        let fault = apply("a\nb\na\n", &[edit("b", "c"), edit("a", "x")]).unwrap_err();
        assert_eq!(fault.index, 1);
        assert!(
            fault.message.contains("2 times, at lines 1, 3"),
            "{fault:?}"
        );
        let fault = apply("aaa", &[edit("aa", "x")]).unwrap_err();
        assert!(fault.message.contains("2 times"), "overlapping: {fault:?}");
        let fault = apply("\n\n\nx", &[edit("\n", "x")]).unwrap_err();
        assert!(fault.message.contains("at lines 1, 2, 3;"), "{fault:?}");
    }

    #[test]
    fn all_replaces_every_place() {
        let all = Edit {
            all: true,
            ..edit("a", "aa")
        };
        assert_eq!(apply("a-a\na", &[all]), Ok(("aa-aa\naa".to_owned(), 3)));
    }

    #[test]
    fn an_edit_that_changes_nothing_is_refused() {
        assert!(apply("a", &[edit("a", "a")]).is_err());
    }

    fn small() -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop::sample::select(vec!["a", "b", "é", "\n", " ", "\r\n"]),
            0..12,
        )
        .prop_map(|parts| parts.concat())
    }

    /// Makes the edits the slow way: by positions in a list of characters.
    fn model(text: &str, edits: &[Edit]) -> Option<String> {
        let mut now: Vec<char> = text.chars().collect();
        for edit in edits {
            let (old, new): (Vec<char>, Vec<char>) =
                (edit.old.chars().collect(), edit.new.chars().collect());
            let starts: Vec<usize> = (0..now.len())
                .filter(|at| now[*at..].starts_with(&old))
                .collect();
            if old == new || starts.is_empty() || (!edit.all && starts.len() > 1) {
                return None;
            }
            let mut made = Vec::new();
            let mut at = 0;
            while at < now.len() {
                if now[at..].starts_with(&old) {
                    made.extend(&new);
                    at += old.len();
                } else {
                    made.push(now[at]);
                    at += 1;
                }
            }
            now = made;
        }
        Some(now.into_iter().collect())
    }

    proptest! {
        #[test]
        fn edits_agree_with_a_model(
            text in small(),
            edits in prop::collection::vec((small(), small(), any::<bool>()), 1..4),
        ) {
            let edits: Vec<Edit> = edits
                .into_iter()
                .filter(|(old, ..)| !old.is_empty())
                .map(|(old, new, all)| Edit { old, new, all })
                .collect();
            let made = apply(&text, &edits).ok().map(|(text, _)| text);
            prop_assert_eq!(made, model(&text, &edits));
        }
    }
}
