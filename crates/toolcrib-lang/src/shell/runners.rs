//! Which programs and builtins need a closer look, because they run others or change what comes after them.

use super::programs::{self, Fact, Program};
use super::script::Word;
use super::walk::{Context, Input, Outcome, Walker};
use super::wrappers;
use super::{
    awk, build_tools, builtins, code, git, running_options, sed, shells, text_wrappers, tools,
};

/// Reads one program's words.
pub(super) type Runner = fn(&mut Walker, &str, &[Word], &Context<'_>) -> Outcome;

pub(super) fn knows(name: &str) -> bool {
    runs_input(name) || find(name).is_some()
}

/// Whether a program may make commands or arguments of its input.
fn runs_input(name: &str) -> bool {
    programs::is(name, Fact::Input, "arguments")
}

pub(super) fn run(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    // What these are given is what they run, or whom they do something to.
    if let (true, Input::Given(text)) = (runs_input(name), &context.input) {
        walker.doubt(
            format!("`{name}` takes from its input what it does"),
            &text.shown(),
        );
    }
    match find(name) {
        Some(runner) => runner(walker, name, words, context),
        None => Outcome::stays(&walker.directory),
    }
}

fn find(name: &str) -> Option<Runner> {
    if is_of_git(name) {
        return Some(git::dashed);
    }
    builtins::find(name).or_else(|| {
        let versions = |program: &&Program| program.has(Fact::Language);
        let program = programs::find(name).or_else(|| programs::version(name).filter(versions))?;
        reader(program.get(Fact::Reader))
    })
}

/// Whether a program is one of git's own, under the name that it has in git's directory.
fn is_of_git(name: &str) -> bool {
    let verb = name.strip_prefix("git-").unwrap_or_default();
    !verb.is_empty() && !matches!(verb, "shell" | "gui" | "filter-repo")
}

/// What reads the words of a program, by its name in the table of programs.
pub(super) fn reader(name: &str) -> Option<Runner> {
    Some(match name {
        "wrapper" => wrappers::wrapped,
        "unclear" => wrappers::unclear,
        "inline" => wrappers::interpreter,
        "xargs" => wrappers::xargs,
        "applet" => wrappers::applet,
        "flock" => text_wrappers::flock,
        "watch" => text_wrappers::watch,
        "ssh" => text_wrappers::ssh,
        "su" => text_wrappers::su,
        "script" => text_wrappers::script,
        "project" => text_wrappers::run_in_project,
        "npm" => text_wrappers::npm,
        "texts" => text_wrappers::texts,
        "shell" => shells::run,
        "code" => code::run,
        "git" => git::run,
        "options" => running_options::run,
        "find" => tools::find_files,
        "fd" => tools::fd,
        "tar" => tools::tar,
        "link" => tools::link,
        "ip" => tools::ip,
        "sed" => sed::run,
        "awk" => awk::run,
        "make" => build_tools::make,
        "cargo" => build_tools::cargo,
        "cmake" => build_tools::cmake,
        _ => return None,
    })
}
