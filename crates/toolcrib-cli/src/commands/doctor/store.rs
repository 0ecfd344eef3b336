//! What `doctor` looks at in the home: the store's bundles and tools, damaged files, the bin; and `--fix`.

use jiff::{Timestamp, ToSpan as _};
use toolcrib::Crib;
use toolcrib::crib::{BundleKind, BundleView, HomeProblem};
use toolcrib::model::text::visible;
use toolcrib::registry::{Availability, Source};

use super::Finding;
use crate::commands::word;

/// More of one kind are counted, not shown.
const MAX_SHOWN: usize = 20;
/// How often `--fix` looks again: setting a file aside may bring another one to light.
const MAX_ROUNDS: usize = 5;

/// The contents of the store, and problems of it and the other files of the home.
pub(super) fn look(crib: &Crib, findings: &mut Vec<Finding>) {
    let problems = crib.home_problems();
    let bundles: Vec<BundleView> = crib
        .bundles()
        .into_iter()
        .filter(|view| view.kind == BundleKind::Store)
        .collect();
    if !bundles.is_empty() {
        let tools: usize = bundles.iter().map(|view| view.tools).sum();
        let count = |count: usize, one: &str, many: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {many}"),
        };
        let message = format!(
            "{} with {}",
            count(bundles.len(), "bundle", "bundles"),
            count(tools, "tool", "tools")
        );
        findings.push(Finding::ok("store", message));
    }
    for view in &bundles {
        findings.extend(in_the_bin(view, &bundles));
    }
    for problem in &problems {
        findings.extend(wrong(problem, crib));
    }
    // Problems of the whole store are among those already.
    let is_said = |problem: &HomeProblem| ["bundles", "bundles/.lock"].contains(&&*problem.file);
    if !problems
        .iter()
        .any(|problem| problem.is_damage() && is_said(problem))
    {
        for why in crib.store_warnings() {
            let fix = format!(
                "check owner and modes of {}; `toolcrib config show limits` prints the limits",
                crib.home().display()
            );
            findings.push(Finding::broken("store", visible(&why), fix));
        }
    }
    findings.extend(foreign(&crib.foreign_files()));
    cannot_run(crib, findings);
    behind(crib, findings);
}

/// Foreign entries in the store's directories. It harms no one, but that a bundle with such a file is never reaped.
fn foreign(files: &[String]) -> Option<Finding> {
    let shown: Vec<String> = files
        .iter()
        .take(MAX_SHOWN)
        .map(|file| format!("`{}`", visible(file)))
        .collect();
    let more = match files.len().saturating_sub(MAX_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!("not Toolcrib's, not touched: {}{more}", shown.join(", "));
    (!files.is_empty()).then(|| Finding::ok("files", message))
}

/// A bundle in the bin, and until when it is there.
fn in_the_bin(view: &BundleView, all: &[BundleView]) -> Option<Finding> {
    let deleted = view.bundle.soft_deleted_at?;
    let slug = &view.bundle.slug;
    let message = match view.tools {
        0 => {
            let end = deleted.checked_add(48.hours()).unwrap_or(Timestamp::MAX);
            format!("`{slug}` is empty, and gone for good after {}", minute(end))
        }
        tools => format!(
            "`{slug}` has been in the bin since {} with {tools} of its tools, and stays as long as it has any",
            minute(deleted)
        ),
    };
    let mut finding = Finding::ok("bin", message);
    let others = || all.iter().filter(|other| other.bundle.slug == *slug);
    let is_taken = others().any(|other| other.bundle.soft_deleted_at.is_none());
    let id = view.bundle.bundle_id;
    finding.fix = Some(match (is_taken, others().count()) {
        (true, _) => format!(
            "another bundle has the slug `{slug}`; remove that one before `toolcrib bundle restore {id}`"
        ),
        (false, 1) => format!(
            "`toolcrib bundle restore {}` takes it out",
            word(slug.as_str())
        ),
        (false, _) => format!("`toolcrib bundle restore {id}` takes it out"),
    });
    Some(finding)
}

fn minute(time: Timestamp) -> String {
    crate::local_time::minute(time)
}

/// Problems of files of the home; the home itself and the secrets have separate checks.
fn wrong(problem: &HomeProblem, crib: &Crib) -> Option<Finding> {
    if problem.file.is_empty() {
        return None;
    }
    let whose = problem.record().and_then(|damage| {
        let bundle = crib.store().bundle(damage.bundle).ok()?;
        let bundle = &bundle.bundle.slug;
        Some(match &damage.tool {
            Some((slug, version)) => format!(" (`{bundle}/{slug}@{version}`)"),
            None => format!(" (in `{bundle}`)"),
        })
    });
    let message = format!(
        "{}{}: {}",
        problem.file,
        whose.unwrap_or_default(),
        problem.reason
    );
    Some(match problem.is_damage() {
        true => {
            let fix = format!(
                "`toolcrib doctor --fix` moves what cannot be read to {}",
                crib.home().join("damaged").display()
            );
            Finding::broken("files", message, fix)
        }
        false => Finding::warning("files", message, "`toolcrib doctor --fix` fixes it"),
    })
}

/// Tools of the store that are switched on and cannot run.
fn cannot_run(crib: &Crib, findings: &mut Vec<Finding>) {
    let mut entries = crib.registry().entries();
    let shadowed = crib.registry().shadowed();
    entries.extend(shadowed.into_iter().map(|(entry, _)| entry));
    let lacking: Vec<(String, String)> = entries
        .iter()
        .filter(|entry| entry.source() == Source::Store)
        .filter_map(|entry| match entry.availability() {
            Availability::Unavailable { reason } => Some((entry.spec().reference(), reason)),
            Availability::Ready | Availability::Disabled { .. } => None,
        })
        .collect();
    for (reference, reason) in lacking.iter().take(MAX_SHOWN) {
        let fix = format!("`toolcrib explain {reference}` says more");
        let message = format!("`{reference}` cannot run here: {reason}");
        findings.push(Finding::warning("stored", message, fix));
    }
    if let Some(more) = lacking
        .len()
        .checked_sub(MAX_SHOWN)
        .filter(|more| *more > 0)
    {
        let message = format!("{more} more cannot run here");
        let fix = "`toolcrib list --all` lists them";
        findings.push(Finding::warning("stored", message, fix));
    }
}

/// Tools of the store whose name another tool has: nothing is wrong, but no one is to be surprised.
fn behind(crib: &Crib, findings: &mut Vec<Finding>) {
    let shadowed = crib.registry().shadowed();
    let stored: Vec<_> = shadowed
        .iter()
        .filter(|(entry, _)| entry.source() == Source::Store)
        .collect();
    for (entry, by) in stored.iter().take(MAX_SHOWN) {
        let (spec, holder) = (entry.spec(), by.spec().reference());
        let name = &spec.name;
        let message = format!("`{name}` is `{holder}`, not `{}`", spec.reference());
        let fix = format!("`toolcrib explain {}` says more", spec.reference());
        findings.push(Finding::warning("names", message, fix));
    }
    if let Some(more) = stored.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
        let message = format!("{more} more stored tools have names that other tools have");
        findings.push(Finding::warning(
            "names",
            message,
            "`toolcrib list --all` lists them",
        ));
    }
}

/// Repairs what can be repaired, and reports what was done.
pub(super) fn fix(crib: &Crib, findings: &mut Vec<Finding>) {
    let mut tried: Vec<HomeProblem> = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let problems: Vec<HomeProblem> = crib
            .home_problems()
            .into_iter()
            .filter(|problem| !tried.contains(problem))
            .collect();
        if problems.is_empty() {
            break;
        }
        for problem in problems {
            let file = match problem.file.as_str() {
                "" => "Toolcrib's home directory",
                file => file,
            };
            let reason = visible(&problem.reason);
            findings.push(match crib.put_right(&problem) {
                Ok(done) => Finding::ok("fixed", format!("{file}: {reason}: {done}")),
                Err(error) => Finding::broken(
                    "fixed",
                    format!("{file}: {reason}: {error}"),
                    format!(
                        "check owner and modes of {}, and whether the disk is full",
                        crib.home().display()
                    ),
                ),
            });
            tried.push(problem);
        }
    }
}
