//! The attempts of a race's threads and their results: journals, and [`Books`] made of them, with which the final state must agree.
//!
//! Journals are written without `fsync`: a killed process's page cache stays. Of an attempt without an answer no one knows whether it
//! happened; of all others the journals say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use toolcrib::{BundleId, ToolId};

use super::bundle_id;
use super::races::{AT_FIRST, CONTESTED, reinstalled};
use super::view::View;

/// What a thread tries. Tools are in the one bundle that all share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Attempt {
    Put {
        slug: String,
        version: String,
        id: ToolId,
    },
    Delete {
        slug: String,
        version: String,
    },
    /// A tool that only this thread touches.
    Switch {
        slug: String,
        on: bool,
    },
    /// A text that no other attempt writes, in place of the one that was seen.
    Replace {
        slug: String,
        seen: String,
        digest: String,
        text: String,
    },
    /// A whole bundle, all tools of which say this text.
    Install {
        text: String,
    },
    PutBundle {
        id: BundleId,
        slug: String,
    },
    DeleteBundle {
        id: BundleId,
    },
    RestoreBundle {
        id: BundleId,
    },
    Reap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Answer {
    Done,
    Refused,
}

/// A line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Line {
    Try(Attempt),
    Told(Answer),
    /// What no race may bring about.
    Fault(String),
}

/// What every thread noted, by its name.
pub(super) fn journals(home: &Path) -> Vec<(String, Vec<Line>)> {
    let entries = std::fs::read_dir(home.with_extension("journals")).unwrap();
    let read = |entry: std::fs::DirEntry| {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        (entry.file_name().into_string().unwrap(), lines.collect())
    };
    entries.map(|entry| read(entry.unwrap())).collect()
}

/// What all tools of a bundle say, which came together.
pub(super) fn text_of(view: &View, bundle: BundleId) -> String {
    let of_it = format!("{bundle}/");
    let tools = view
        .tools
        .iter()
        .filter(|(name, _)| name.starts_with(&of_it));
    let texts: Vec<String> = tools
        .map(|(_, tool)| tool["description"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        texts.len() == 3 && texts.iter().all(|text| *text == texts[0]),
        "a bundle that comes as a whole: {texts:?}"
    );
    texts[0].clone()
}

/// What the journals say of one tool: how often it was put and deleted, surely and perhaps.
#[derive(Debug, Default)]
struct Account {
    put: usize,
    deleted: usize,
    perhaps_put: usize,
    perhaps_deleted: usize,
    /// The ids it may have.
    ids: BTreeSet<String>,
    /// Whether it is on; `None` where no one knows.
    is_on: Option<bool>,
}

/// What the journals say of a bundle, `None` where no one knows.
#[derive(Debug)]
struct BundleAccount {
    is_there: Option<bool>,
    is_binned: Option<bool>,
}

/// One text in place of another.
#[derive(Debug)]
struct Replacement {
    slug: String,
    seen: String,
    is_sure: bool,
}

#[derive(Debug, Default)]
pub(super) struct Books {
    tools: BTreeMap<String, Account>,
    bundles: BTreeMap<String, BundleAccount>,
    /// By the new text.
    replaced: BTreeMap<String, Replacement>,
    /// The texts of bundles that were installed, perhaps.
    installed: BTreeSet<String>,
    attempts: usize,
    pub(super) unanswered: usize,
}

fn tool_name(slug: &str, version: &str) -> String {
    format!("{}/{slug}@{version}", bundle_id(1))
}

impl Books {
    pub(super) fn of(journals: &[(String, Vec<Line>)]) -> Self {
        let mut books = Books::default();
        for (name, lines) in journals {
            let mut lines = lines.iter();
            while let Some(line) = lines.next() {
                let Line::Try(attempt) = line else {
                    panic!("{name}: {line:?}");
                };
                let answer = match lines.next() {
                    Some(Line::Told(answer)) => Some(*answer),
                    None => None,
                    other => panic!("{name}: {other:?}"),
                };
                books.enter(attempt, answer);
            }
        }
        books
    }

    fn enter(&mut self, attempt: &Attempt, answer: Option<Answer>) {
        self.attempts += 1;
        self.unanswered += usize::from(answer.is_none());
        if answer == Some(Answer::Refused) {
            return;
        }
        let is_sure = answer.is_some();
        let sure = usize::from(is_sure);
        match attempt {
            Attempt::Put { slug, version, id } => {
                let account = self.tools.entry(tool_name(slug, version)).or_default();
                account.put += sure;
                account.perhaps_put += 1 - sure;
                account.ids.insert(id.to_string());
                account.is_on = Some(true);
            }
            Attempt::Delete { slug, version } => {
                let account = self.tools.entry(tool_name(slug, version)).or_default();
                account.deleted += sure;
                account.perhaps_deleted += 1 - sure;
            }
            // Only the thread that put it touches such a tool, so its journal says how it is; so with bundles.
            Attempt::Switch { slug, on } => {
                let account = self.tools.get_mut(&tool_name(slug, "v1")).unwrap();
                account.is_on = is_sure
                    .then_some(*on)
                    .or(account.is_on.filter(|was| was == on));
            }
            Attempt::Replace {
                slug, seen, text, ..
            } => {
                let replacement = Replacement {
                    slug: slug.clone(),
                    seen: seen.clone(),
                    is_sure,
                };
                let twice = self.replaced.insert(text.clone(), replacement);
                assert!(twice.is_none(), "{text} was written twice");
            }
            Attempt::Install { text } => {
                self.installed.insert(text.clone());
            }
            Attempt::PutBundle { id, .. } => {
                let account = BundleAccount {
                    is_there: is_sure.then_some(true),
                    is_binned: Some(false),
                };
                self.bundles.insert(id.to_string(), account);
            }
            Attempt::DeleteBundle { id } => {
                self.bundles.get_mut(&id.to_string()).unwrap().is_binned = is_sure.then_some(true);
            }
            Attempt::RestoreBundle { id } => {
                self.bundles.get_mut(&id.to_string()).unwrap().is_binned = is_sure.then_some(false);
            }
            Attempt::Reap => {}
        }
    }

    pub(super) fn assert_agree_with(&self, view: &View) {
        self.assert_tools_agree(view);
        self.assert_bundles_agree(view);
        for slug in CONTESTED {
            self.assert_one_of_each_won(view, slug);
        }
        let text = text_of(view, reinstalled());
        assert!(
            self.installed.contains(&text) || text == AT_FIRST,
            "no one installed `{text}`"
        );
        eprintln!(
            "{} attempts, {} without an answer; {} tools and {} bundles there; {} texts replaced",
            self.attempts,
            self.unanswered,
            view.tools.len(),
            view.bundles.len(),
            self.replaced.len(),
        );
    }

    fn assert_tools_agree(&self, view: &View) {
        for (name, account) in &self.tools {
            let found = view.tools.get(name);
            let is_there = usize::from(found.is_some());
            let least = account
                .put
                .saturating_sub(account.deleted + account.perhaps_deleted);
            let most = account.put + account.perhaps_put - account.deleted;
            assert!(
                (least..=most).contains(&is_there),
                "{name} is there {is_there} times: {account:?}"
            );
            let Some(tool) = found else { continue };
            let id = tool["toolID"].as_str().unwrap();
            assert!(account.ids.contains(id), "{name}: no one put {tool}");
            if let Some(is_on) = account.is_on {
                // One that is on says so, or nothing.
                let found = tool["isEnabled"].as_bool().unwrap_or(true);
                assert_eq!(found, is_on, "{name}: {account:?}");
            }
        }
        let others = |name: &&String| {
            let is_contested = |slug: &&str| **name == tool_name(slug, "v1");
            !name.starts_with(&reinstalled().to_string()) && !CONTESTED.iter().any(is_contested)
        };
        for name in view.tools.keys().filter(others) {
            assert!(self.tools.contains_key(name), "no one put {name}");
        }
    }

    fn assert_bundles_agree(&self, view: &View) {
        for (id, account) in &self.bundles {
            let found = view.bundles.get(id);
            let agrees = |is_there: bool| found.is_some() == is_there;
            assert!(account.is_there.is_none_or(agrees), "{id}: {account:?}");
            if let (Some(found), Some(is_binned)) = (found, account.is_binned) {
                let is_found_binned = found.get("softDeletedAt").is_some();
                assert_eq!(is_found_binned, is_binned, "{id}: {account:?}");
            }
        }
        let mut unknown: Vec<&String> = view.bundles.keys().collect();
        unknown.retain(|id| !self.bundles.contains_key(*id));
        let known = [bundle_id(1), reinstalled()].map(|id| id.to_string());
        assert_eq!(unknown, known.iter().collect::<Vec<_>>(), "no one put one");
    }

    /// From the text that is there back to the first one leads a chain in which every replacement that was acknowledged has its place:
    /// no one replaced what he had not seen, and of all who had seen the same text one won.
    fn assert_one_of_each_won(&self, view: &View, slug: &str) {
        let tool = &view.tools[&tool_name(slug, "v1")];
        let mut text = tool["description"].as_str().unwrap();
        let mut chain = BTreeSet::new();
        while text != AT_FIRST {
            let by = &self.replaced[text];
            assert!(by.slug == slug && chain.insert(text), "{text}: {by:?}");
            text = &by.seen;
        }
        let mut sure = self
            .replaced
            .iter()
            .filter(|(_, by)| by.is_sure && by.slug == slug);
        let lost = sure.find(|(text, _)| !chain.contains(text.as_str()));
        assert!(lost.is_none(), "{lost:?} was lost; there is {chain:?}");
        assert!(!chain.is_empty(), "no one replaced {slug}");
    }
}
