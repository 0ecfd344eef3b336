//! Recursive removal: denied unless every target is known before it runs and strictly inside the workspace or the call's
//! temporary directory.

use super::Find;
use super::selection::{FindRemoval, Selection};
use crate::model::effects::Verdict;
use crate::rules::destination::{Located, Name, Root};
use crate::rules::facts::Facts;
use crate::rules::invocation::{Arg, Flag, Invocation};
use crate::shell::programs::{self, Fact};

/// What of the workspace's root a removal asks about even though it is inside.
pub(super) const PRECIOUS: [&str; 3] = [".git", ".toolcrib", ".cycod"];

pub(super) fn judge(facts: &Facts<'_>, find: &mut Find<'_>) {
    let recursive = Flag::parse("-r|--recursive");
    for command in facts.commands() {
        match command.name {
            "find" | "gfind" => find_removes(command, facts, find),
            name if !programs::is(name, Fact::Destroys, "tree") => {}
            _ if command.has_certainly(&recursive) => rm(command, facts, find),
            _ => perhaps_recursive(command, facts, find),
        }
    }
}

fn rm(command: &Invocation<'_>, facts: &Facts<'_>, find: &mut Find<'_>) {
    let wrapper = command.command.via.last().map(String::as_str);
    if matches!(wrapper, Some("xargs" | "parallel")) {
        let reason = "its targets come from the output of another command".to_owned();
        return find(Verdict::Deny, reason, command.text());
    }
    // What `find` found is judged with `find`, unless the path goes on to somewhere else.
    let by_find = |arg: &&Arg<'_>| {
        wrapper == Some("find") && arg.text.starts_with("{}") && !arg.text.contains("..")
    };
    for target in command.operands().filter(|target| !by_find(target)) {
        let located = command.locate(target.word);
        if let Some((verdict, why)) = verdict_on(&located, command, facts) {
            find(verdict, format!("`{}` {why}", target.text), command.text());
        }
    }
}

/// `rm $x .`, `set -- -rf src; rm "$@"`: words that are not known may be `-r`, and targets with it.
fn perhaps_recursive(command: &Invocation<'_>, facts: &Facts<'_>, find: &mut Find<'_>) {
    if command.is_authored {
        return;
    }
    let unclear = |arg: &&Arg<'_>| {
        arg.word.literal_prefix().is_empty()
            && !arg.word.is_static()
            && (arg.word.splits || arg.word.is_dynamic())
    };
    let recursive = |arg: &&Arg<'_>| arg.possible_options().any(is_recursive);
    if let Some(arg) = command.args.iter().find(recursive) {
        let unknown = |target: &&Arg<'_>| unclear(target) && !std::ptr::eq(*target, arg);
        if arg.word.splits || command.operands().any(|target| unknown(&target)) {
            let reason = format!(
                "`{}` may be `-r`, with targets that are not known before it runs",
                arg.text
            );
            return find(Verdict::Ask, reason, command.text());
        }
    }
    let any = |arg: &&Arg<'_>| arg.word.splits && arg.may_be_any_option();
    if let Some(arg) = command.args.iter().find(any) {
        let reason = format!(
            "`{}` may become options and targets, which are not known before it runs; write `--` before it",
            arg.text
        );
        return find(Verdict::Ask, reason, command.text());
    }
    if !command.args.iter().any(|arg| unclear(&arg)) {
        return;
    }
    for target in command.operands().filter(|arg| !unclear(arg)) {
        let located = command.locate(target.word);
        if let Some((_, why)) = verdict_on(&located, command, facts) {
            let reason = format!("`{}` {why}, should another word be `-r`", target.text);
            find(Verdict::Ask, reason, command.text());
        }
    }
}

/// Whether an option makes a removal recursive.
fn is_recursive(option: &str) -> bool {
    match option.strip_prefix("--") {
        Some(long) => !long.is_empty() && "recursive".starts_with(long),
        None => option.contains(['r', 'R']),
    }
}

/// The problem with removing a path and everything beneath it, if there is one.
fn verdict_on(
    target: &Located,
    command: &Invocation<'_>,
    facts: &Facts<'_>,
) -> Option<(Verdict, &'static str)> {
    if !target.is_known() {
        return Some((
            Verdict::Deny,
            "is a target that cannot be determined before it runs",
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
            if target.names.first().is_some_and(precious) {
                return Some((Verdict::Ask, "is the history or the tools of this project"));
            }
            let history = crate::rules::name_glob::NameGlob::exactly(".git");
            target
                .names
                .iter()
                .any(|name| name.may_be(&history))
                .then_some((Verdict::Ask, "is the history of a repository"))
        }
        // A tool may tidy up whole directories that are made for its call and nothing else.
        Root::Temporary if target.names.is_empty() && !command.is_authored => {
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
            "is a target that cannot be determined before it runs",
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

/// Whether a program after `-exec` removes what it is given.
pub(super) fn removes(program: &str) -> bool {
    programs::is(program, Fact::Removes, "names")
}

/// `find … -delete` and `find … -exec rm …`: what is removed is beneath the starting points.
fn find_removes(command: &Invocation<'_>, facts: &Facts<'_>, find: &mut Find<'_>) {
    let removal = FindRemoval::of(command, removes);
    let Some(selection) = removal.selection else {
        return;
    };
    if removal.starts_from_file {
        let reason = "where it starts is said by a file".to_owned();
        return find(Verdict::Deny, reason, command.text());
    }
    let here = crate::shell::Word::text(".");
    let locate = |word: &crate::shell::Word| command.locate(word);
    let starts: Vec<(&str, Located)> = if removal.starts.is_empty() {
        vec![(".", locate(&here))]
    } else {
        let starts = removal.starts.iter();
        starts
            .map(|arg| (arg.text.as_ref(), locate(arg.word)))
            .collect()
    };
    for (text, start) in starts {
        let Some((verdict, why)) = verdict_on(&start, command, facts) else {
            continue;
        };
        // Beneath the root of the workspace a selection of names is what people mean; a selection of everything is not. By
        // another name than `.` the root itself may be among what is selected.
        let root = start.root == Root::Workspace && start.is_known();
        let by_dot = text.trim_end_matches('/') == ".";
        match (root, selection) {
            (true, Selection::Names) if by_dot => {}
            (true, Selection::Names | Selection::Mixed) => find(
                Verdict::Ask,
                format!("it cannot be determined what it selects beneath `{text}`"),
                command.text(),
            ),
            (true, Selection::Everything) | (false, _) => {
                find(verdict, format!("`{text}` {why}"), command.text());
            }
        }
    }
}
