//! What a tool is called, what it is for, and where it works.

use std::time::Duration;

use super::field_value::At;
use super::{at_value, first_version};
use crate::definition::Platform;
use crate::definition::problem::{Findings, SpannedProblem};
use crate::model::names::{Version, WireName};
use crate::model::text::{nearest, shorten};

pub(super) fn name(root: At<'_, '_>, stem: &str, found: &mut Findings<'_>) -> Option<WireName> {
    let given = root.get("name").and_then(|at| Some((at, at.text()?)));
    let (text, span) = match given {
        Some((at, text)) => (text, at.span()),
        None => (stem, 0..0),
    };
    match WireName::parse(text) {
        Ok(name) => Some(name),
        Err(error) => {
            let (whose, help) = match given {
                Some(_) => ("`name`", "choose another name, as in `find-files`"),
                None => (
                    "the name of the file, which is the tool's,",
                    "rename the file, or give a `name`",
                ),
            };
            let message = format!(
                "{whose} `{}` cannot be a tool's name: {error}",
                shorten(text, 60)
            );
            found.push(SpannedProblem::error("bad-name", span, message).help(help));
            None
        }
    }
}

pub(super) fn version(root: At<'_, '_>, found: &mut Findings<'_>) -> Option<Version> {
    let Some(at) = root.get("version") else {
        return Some(first_version());
    };
    match Version::parse(at.text()?) {
        Ok(version) => Some(version),
        Err(error) => {
            let message = format!("`version` cannot be this: {error}");
            found.push(at_value(at, "bad-name", message).help("write a version as in `1.0.0`"));
            None
        }
    }
}

/// A version as numbers: `1.10` is after `1.9`.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let parts: Option<Vec<u64>> = text.split('.').map(|part| part.parse().ok()).collect();
    parts.filter(|parts| (1..=4).contains(&parts.len()))
}

pub(super) fn min_versions(root: At<'_, '_>, found: &mut Findings<'_>) {
    let own = env!("CARGO_PKG_VERSION");
    for (field, newest) in [
        ("min-toolcrib-version", own),
        ("min-cycod-version", "1.18446744073709551615"),
    ] {
        let Some(at) = root.get(field) else { continue };
        let Some(text) = at.text() else { continue };
        match (numbers(text), numbers(newest)) {
            (None, _) => {
                let message = format!(
                    "`{field}` must be a version in numbers, not `{}`",
                    shorten(text, 40)
                );
                found.push(at_value(at, "wrong-type", message).help("write it as in `1.0.0`"));
            }
            (Some(mut wanted), Some(mut has)) => {
                let length = wanted.len().max(has.len());
                wanted.resize(length, 0);
                has.resize(length, 0);
                if wanted > has {
                    let (message, help) = match field {
                        "min-toolcrib-version" => (
                            format!(
                                "the tool needs Toolcrib {} or newer; this is {own}",
                                shorten(text, 40)
                            ),
                            "install a newer Toolcrib, or lower the version if the tool does without",
                        ),
                        _ => (
                            format!(
                                "the tool needs CYCOD {}; Toolcrib knows the format of CYCOD 1.x",
                                shorten(text, 40)
                            ),
                            "lower the version if the tool does without what came later",
                        ),
                    };
                    found.push(at_value(at, "min-version", message).help(help));
                }
            }
            (Some(_), None) => {}
        }
    }
}

pub(super) fn description(root: At<'_, '_>, is_alias: bool, found: &mut Findings<'_>) -> String {
    let text = root.text_of("description").unwrap_or_default();
    // An empty value has been reported.
    if !is_alias && !root.has("description") && !found.suggests("description") {
        found.push(
            SpannedProblem::error(
                "missing-field",
                0..0,
                "the tool has no `description`, which is what a model decides by",
            )
            .help("add a line as in `description: Find files matching a pattern`"),
        );
    } else if !is_alias && root.get("description").is_some() && text.trim().is_empty() {
        let message = "`description` is blank; it is what a model decides by";
        let at = root.key_span("description");
        found.push(SpannedProblem::error("missing-value", at, message));
    }
    text.trim_end().to_owned()
}

/// The tags that say what a tool does to the machine.
const SECURITY: &[&str] = &["read", "write", "run"];

pub(super) fn tags(root: At<'_, '_>, is_alias: bool, found: &mut Findings<'_>) -> Vec<String> {
    let tags = root.texts("tags");
    if let Some(at) = root.get("tags") {
        for item in at.nodes() {
            let Some(text) = item.text() else { continue };
            let near = SECURITY
                .iter()
                .find(|tag| text != **tag && text.eq_ignore_ascii_case(tag));
            if let Some(tag) = near {
                let message = format!("the tag `{text}` is not the security tag `{tag}`");
                found.push(
                    SpannedProblem::warning("no-security-tag", item.span(), message)
                        .help(format!("write `{tag}`"))
                        .fix(item.span(), *tag),
                );
                return tags;
            }
        }
    }
    // The tool behind an alias has the risk.
    let tagged = tags.iter().any(|tag| SECURITY.contains(&tag.as_str()));
    let misspelt = root.get("tags").map(At::nodes).unwrap_or_default();
    let misspelt = misspelt.into_iter().find_map(|item| {
        let text = item.text()?;
        match nearest(text, SECURITY.iter().copied()).as_slice() {
            [tag] => Some((item.span(), text, *tag)),
            _ => None,
        }
    });
    if let Some((span, text, tag)) = misspelt.filter(|_| !tagged && !is_alias) {
        let message = format!(
            "`{}` is not one of the security tags read, write, run, so every call of the tool asks a person",
            shorten(text, 40)
        );
        found.push(
            SpannedProblem::warning("no-security-tag", span, message)
                .help(format!("did you mean `{tag}`?")),
        );
        return tags;
    }
    if !tagged && !is_alias && !found.suggests("tags") {
        let at = match root.has("tags") {
            true => root.key_span("tags"),
            false => 0..0,
        };
        found.push(
            SpannedProblem::warning(
                "no-security-tag",
                at,
                "the tool has none of the tags read, write, run, so every call of it asks a person",
            )
            .help("add what it does to files: `tags: [read]`, `[write]` or `[run]`"),
        );
    }
    tags
}

pub(super) fn platform(word: &str) -> Option<Platform> {
    Some(match word {
        "windows" => Platform::Windows,
        "linux" => Platform::Linux,
        "macos" => Platform::Macos,
        "unix" => Platform::Unix,
        _ => return None,
    })
}

pub(super) fn platforms(root: At<'_, '_>) -> Vec<Platform> {
    let words = root.choices("platforms");
    words.into_iter().filter_map(platform).collect()
}

/// The smallest of its timeouts.
pub(super) fn timeout(root: At<'_, '_>) -> Option<Duration> {
    let own = root.time("timeout");
    let resources = root.get("resources").and_then(|at| at.time("timeout"));
    own.into_iter().chain(resources).min()
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn versions_are_compared_by_numbers() {
        assert!(numbers("1.10") > numbers("1.9.9"));
        assert_eq!(numbers("v2.0"), Some(vec![2, 0]));
        assert_eq!(numbers("1.x"), None);
        assert_eq!(numbers(""), None);
    }
}
