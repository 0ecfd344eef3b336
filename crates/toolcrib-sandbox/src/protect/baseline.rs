//! The state of a workspace before a run, as a file. A later process compares with it if the run was killed together with the process
//! that watched it.
//!
//! Lines of words: what it is, the path as hexadecimal digits relative to the root, and numbers.

use super::{
    find::Finder,
    names::Pieces,
    planted::{Moment, Planted},
    repository::Repository,
    watch::{Directory, Watch},
};
use crate::policy::Policy;
use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs, io,
    os::{
        fd::OwnedFd,
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
};

/// What there is to compare with. `covered` is behind mounts.
pub(super) fn written<'a>(watch: &Watch, covered: impl Iterator<Item = &'a Path>) -> Vec<u8> {
    let mut lines = String::new();
    let mut line = |kind: &str, path: &Path, rest: &str| {
        if let Ok(path) = path.strip_prefix(&watch.root) {
            lines.push_str(&format!(
                "{kind} {}:{rest}\n",
                digits(path.as_os_str().as_bytes())
            ));
        }
    };
    for (path, (inode, seconds, nanoseconds)) in &watch.names {
        line("name", path, &format!(" {inode} {seconds} {nanoseconds}"));
    }
    covered.for_each(|path| line("covered", path, ""));
    let present = watch.leaves.iter().filter(|leaf| leaf.is_there);
    present.for_each(|leaf| line("there", &leaf.path, ""));
    for (path, directory) in watch
        .directories
        .iter()
        .filter(|(_, directory)| directory.pieces.0 != 0)
    {
        line("pieces", path, &format!(" {}", directory.pieces.0));
    }
    for (path, repository) in &watch.repositories {
        let (inode, seconds, nanoseconds) = repository.identity;
        let made = u8::from(repository.is_of_a_run);
        let head = digits(&repository.head);
        let present = repository.present();
        line(
            "repository",
            path,
            &format!(" {made} {inode} {seconds} {nanoseconds} {present} {head}:"),
        );
        for (link, target) in &repository.links {
            let target = digits(target.as_os_str().as_bytes());
            line("link", link, &format!(" {target}"));
        }
    }
    lines.into_bytes()
}

/// Compares a workspace with what was written down before a run ([`Keeper::begin`](crate::Keeper::begin)): for a run whose end
/// was not seen. The policy is the run's.
pub fn recover(policy: &Policy, baseline: &[u8]) -> io::Result<Vec<Planted>> {
    let root = policy.workspace.canonicalize()?;
    let mut watch = Watch {
        root: root.clone(),
        ..Watch::default()
    };
    let mut there = BTreeSet::new();
    for line in String::from_utf8_lossy(baseline).lines() {
        let read = read_line(line, &root, &mut watch, &mut there);
        read.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is damaged"))?;
    }
    let directory = OwnedFd::from(fs::File::open(&root)?);
    let mut finder = Finder::new(&root, &directory, &[]).afterwards();
    let mut policy = policy.clone();
    policy.protected.clear();
    // Without mounts nothing is made.
    finder.find(&policy, false)?;
    let mut found = finder.into_found();
    watch.settings = std::mem::take(&mut found.settings);
    let git = watch.repositories.keys().cloned().collect::<Vec<_>>();
    let leaves = found.into_leaves(&root);
    // The contents of a repository are judged with it.
    watch.leaves = leaves
        .filter(|leaf| {
            !git.iter().any(|git| leaf.path.starts_with(git))
                && !is_in_repository(&leaf.path, &root)
        })
        .map(|mut leaf| {
            leaf.is_there = there.contains(&leaf.path) || watch.names.contains_key(&leaf.path);
            leaf
        })
        .collect();
    // Never looked into, so that all of it is looked at.
    watch.directories.entry(root).or_default();
    Ok(watch.look(Moment::Ended).planted)
}

fn is_in_repository(path: &Path, root: &Path) -> bool {
    let above = path.ancestors().skip(1).take_while(|above| *above != root);
    above
        .into_iter()
        .any(|above| super::names::is_repository(above) || above.ends_with(".git"))
}

fn read_line(
    line: &str,
    root: &Path,
    watch: &mut Watch,
    there: &mut BTreeSet<PathBuf>,
) -> Option<()> {
    let (kind, rest) = line.split_once(' ')?;
    let (path, rest) = rest.split_once(':')?;
    let path = root.join(PathBuf::from(OsString::from_vec(bytes(path)?)));
    let mut numbers = rest.split_whitespace();
    let mut number = || numbers.next()?.parse::<i64>().ok();
    match kind {
        "name" => {
            watch
                .names
                .insert(path, (number()? as u64, number()?, number()?));
        }
        "covered" => {
            if path.parent() == Some(root) {
                watch.covered.insert(path.clone());
            }
            there.insert(path);
        }
        "there" => {
            there.insert(path);
        }
        "link" => {
            let mut repositories = watch.repositories.iter_mut();
            if let Some((_, known)) = repositories.find(|(git, _)| path.starts_with(git)) {
                let target = bytes(numbers.next().unwrap_or_default())?;
                known
                    .links
                    .insert(path, PathBuf::from(OsString::from_vec(target)));
            }
        }
        "pieces" => {
            let pieces = Pieces(u8::try_from(number()?).ok()?);
            watch.directories.insert(
                path,
                Directory {
                    changed: None,
                    pieces,
                },
            );
        }
        "repository" => {
            let is_of_a_run = number()? != 0;
            let identity = (number()? as u64, number()?, number()?);
            let mut repository =
                Repository::known(&path, is_of_a_run).unwrap_or_else(|| Repository::new(identity));
            repository.forget(u32::try_from(number()?).ok()?);
            repository.head = bytes(numbers.next()?.trim_end_matches(':'))?;
            if repository.identity == identity {
                watch.repositories.insert(path, repository);
            }
        }
        _ => return None,
    }
    Some(())
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = (0..digits.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
        .collect()
}
