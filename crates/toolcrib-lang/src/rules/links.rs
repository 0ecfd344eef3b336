//! Where links lead that are in the workspace: the only place where rules look at files. Also the links that a text makes itself.
//!
//! By the time a command runs a link may lead elsewhere. What must hold is the sandbox's business; a rule judges what is there.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::destination::Located;
use super::invocation::Invocation;
use super::name_glob::NameGlob;
use crate::shell::Word;

/// How many links a path may go through, as in the kernel.
const MAX_LINKS: usize = 40;
/// No longer path can be opened.
const MAX_PATH: usize = 4096;
/// The most names of a directory that are looked at.
const MAX_NAMES: usize = 10_000;

/// Where an absolute path leads that goes through a link; `None` where no link is on the way, or where they go in circles.
pub(super) fn leads(path: &Path) -> Option<PathBuf> {
    if path.as_os_str().len() > MAX_PATH {
        return None;
    }
    let steps = |path: &Path| -> Vec<OsString> {
        let names = path.components().filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        });
        names.collect()
    };
    let mut left: VecDeque<OsString> = steps(path).into();
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(name);
        let Ok(target) = std::fs::read_link(&at) else {
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            return None;
        }
        at.pop();
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        for step in steps(&target).into_iter().rev() {
            left.push_front(step);
        }
    }
    (links > 0).then_some(at)
}

/// The link that a command makes, and where it leads: `ln -s .git g`.
pub(super) fn made_by(command: &Invocation<'_>) -> Option<(Located, Located)> {
    if command.name != "ln" || !command.has("-s|--symbolic") {
        return None;
    }
    let mut operands = command.operands().map(|operand| operand.word.as_static());
    let target = operands.next()??;
    let link = operands.next();
    if operands.next().is_some() {
        return None;
    }
    let link = match link {
        Some(link) => link?,
        None => target.trim_end_matches('/').rsplit('/').next()?,
    };
    // A path that does not start at the root starts where the link is.
    let target = match link.trim_end_matches('/').rsplit_once('/') {
        Some((parent, _)) if !target.starts_with('/') => format!("{parent}/{target}"),
        _ => target.to_owned(),
    };
    Some((
        command.guess(&Word::text(link)),
        command.guess(&Word::text(target)),
    ))
}

/// The links in a directory whose names fit a pattern of a shell.
pub(super) fn fitting(directory: &Path, pattern: &NameGlob) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let entries = entries.take(MAX_NAMES).flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()))
        .filter(|entry| {
            let name = NameGlob::exactly(&entry.file_name().to_string_lossy());
            name.may_match(pattern)
        })
        .map(|entry| entry.path())
        .collect()
}
