//! Recursive removal: denied unless every target is known before it runs and strictly inside the workspace or the call's
//! temporary directory.

use super::{Find, temporary};
use crate::model::effects::Verdict;
use crate::rules::facts::Facts;
use crate::rules::invocation::{Arg, Invocation};
use crate::rules::place::{Located, Name, Root};

/// What of the workspace's root a removal asks about even though it is inside.
const PRECIOUS: [&str; 2] = [".git", ".toolcrib"];

pub(super) fn judge(facts: &Facts<'_>, find: &mut Find<'_>) {
    for command in facts.commands() {
        match command.name {
            "rm" if command.has("-r|--recursive") => rm(command, facts, find),
            "find" => find_removes(command, facts, find),
            _ => {}
        }
    }
}

fn rm(command: &Invocation<'_>, facts: &Facts<'_>, find: &mut Find<'_>) {
    let wrapper = command.command.via.last().map(String::as_str);
    if matches!(wrapper, Some("xargs" | "parallel")) {
        let reason = "its targets come from the output of another command".to_owned();
        return find(Verdict::Deny, reason, command.text());
    }
    let by_find = |arg: &&Arg<'_>| wrapper == Some("find") && arg.text.contains("{}");
    for target in command.operands().filter(|target| !by_find(target)) {
        if temporary::was_made(target.word, facts) {
            continue;
        }
        let located = facts
            .place()
            .locate(target.word, &command.command.directory);
        if let Some((verdict, why)) = verdict_on(&located, facts) {
            find(verdict, format!("`{}` {why}", target.text), command.text());
        }
    }
}

/// What is wrong with removing a path and all beneath it, if anything.
fn verdict_on(target: &Located, facts: &Facts<'_>) -> Option<(Verdict, &'static str)> {
    if !target.is_known() {
        return Some((
            Verdict::Deny,
            "is a target that cannot be told before it runs",
        ));
    }
    match target.root {
        Root::Workspace => {
            // `*` and `*/*` are the whole workspace; `*.egg-info` is not.
            let whole = |name: &Name| name.glob.as_ref().is_some_and(|glob| glob.fixed() == 0);
            if target.names.iter().all(whole) {
                return Some((Verdict::Deny, "is the whole workspace"));
            }
            let precious = |name: &Name| {
                PRECIOUS.iter().any(|precious| {
                    name.may_be(&crate::rules::name_glob::NameGlob::exactly(precious))
                })
            };
            target
                .names
                .first()
                .is_some_and(precious)
                .then_some((Verdict::Ask, "is the history or the tools of this project"))
        }
        Root::Temporary if target.names.is_empty() => {
            Some((Verdict::Deny, "is the call's temporary directory itself"))
        }
        Root::Temporary => None,
        Root::FileSystem if is_below_scratch(target, facts) => Some((
            Verdict::Ask,
            "is in a directory that other programs use too",
        )),
        Root::FileSystem | Root::Home => Some((Verdict::Deny, "is outside the workspace")),
        Root::Unknown => Some((
            Verdict::Deny,
            "is a target that cannot be told before it runs",
        )),
    }
}

/// `/tmp/x`, but neither `/tmp` nor `/tmp/*`.
fn is_below_scratch(target: &Located, facts: &Facts<'_>) -> bool {
    let of_its_own = match target.names.as_slice() {
        [var, _, name, ..] if var.text == "var" => name,
        [tmp, name, ..] if tmp.text == "tmp" => name,
        _ => return false,
    };
    of_its_own.glob.as_ref().is_none_or(|glob| glob.fixed() > 0) && super::is_scratch(target, facts)
}

/// `find … -delete` and `find … -exec rm …`: what is removed is beneath the starting points.
fn find_removes(command: &Invocation<'_>, facts: &Facts<'_>, find: &mut Find<'_>) {
    let texts = || command.args.iter().map(|arg| arg.text.as_ref());
    let executes = texts().zip(texts().skip(1)).any(|(option, program)| {
        matches!(option, "-exec" | "-execdir" | "-ok" | "-okdir")
            && matches!(
                program.rsplit('/').next(),
                Some("rm" | "unlink" | "shred" | "rmdir")
            )
    });
    if !executes && !texts().any(|text| text == "-delete") {
        return;
    }
    let starts: Vec<&Arg<'_>> = command
        .args
        .iter()
        .skip_while(|arg| matches!(arg.text.as_ref(), "-H" | "-L" | "-P"))
        .take_while(|arg| !arg.text.starts_with(['-', '(', ')', '!', '\\', ',']))
        .collect();
    let here = crate::shell::Word::text(".");
    let located: Vec<(String, Located)> = if starts.is_empty() {
        vec![(
            ".".to_owned(),
            facts.place().locate(&here, &command.command.directory),
        )]
    } else {
        starts
            .iter()
            .map(|arg| {
                (
                    arg.text.clone().into_owned(),
                    facts.place().locate(arg.word, &command.command.directory),
                )
            })
            .collect()
    };
    for (text, start) in located {
        let Some((verdict, why)) = verdict_on(&start, facts) else {
            continue;
        };
        // Beneath the root of the workspace a selection of names is what people mean; a selection of everything is not.
        let root = start.root == Root::Workspace && start.is_known();
        match (root, selection(command)) {
            (true, Selection::Names) => {}
            (true, Selection::Mixed) => find(
                Verdict::Ask,
                format!("what it selects beneath `{text}` cannot be told"),
                command.text(),
            ),
            (true, Selection::Everything) | (false, _) => {
                find(verdict, format!("`{text}` {why}"), command.text());
            }
        }
    }
}

enum Selection {
    Everything,
    /// Files of certain names only.
    Names,
    /// Tests that are joined by more than "and".
    Mixed,
}

fn selection(command: &Invocation<'_>) -> Selection {
    let mut names = false;
    let mut mixed = false;
    let mut args = command.args.iter().map(|arg| arg.text.as_ref());
    while let Some(arg) = args.next() {
        match arg {
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" => {
                let pattern =
                    crate::rules::name_glob::NameGlob::parse(args.next().unwrap_or_default());
                if pattern.fixed() > 0 {
                    names = true;
                    mixed |= PRECIOUS.iter().any(|precious| pattern.matches(precious));
                }
            }
            "-empty" => names = true,
            "-o" | "-or" | "!" | "-not" | "," => mixed = true,
            _ => {}
        }
    }
    match (names, mixed) {
        (_, true) => Selection::Mixed,
        (true, false) => Selection::Names,
        (false, false) => Selection::Everything,
    }
}
