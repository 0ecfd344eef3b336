//! Which programs and builtins need a closer look, because they run others or change what comes after them.

use super::script::Word;
use super::walk::{Context, Input, Outcome, Walker};
use super::{build_tools, builtins, code, git, shells, tools, wrappers};

/// Reads one program's words.
pub(super) type Runner = fn(&mut Walker, &str, &[Word], &Context<'_>) -> Outcome;

/// Words of the shell whose meaning the reader relies on. A function of such a name is a doubt.
pub(super) const SHELL_WORDS: &[&str] = &[
    "cd", "pushd", "popd", "eval", ".", "source", "exec", "command", "builtin", "trap", "set",
    "shopt", "alias", "unalias", "exit", "return", "break", "continue", "export", "declare",
    "typeset", "local", "readonly", "read", "unset", "enable",
    // Those whose output is known to be a number, or a new directory.
    "wc", "date", "nproc", "seq", "id", "mktemp",
];

/// Programs that are not read as interpreters of their input here, and may make commands or arguments of it all the same.
const RUNS_INPUT: &[&str] = &[
    "xargs", "parallel", "deno", "bun", "uv", "uvx", "npx", "tsx", "ssh", "docker", "podman",
    "nerdctl", "kubectl", "nsenter", "chroot", "fish", "csh", "tcsh", "zsh", "yash", "elvish",
    "nu", "xonsh", "swift", "scala", "groovy", "jshell", "clojure",
];

pub(super) fn knows(name: &str) -> bool {
    RUNS_INPUT.contains(&name) || find(name).is_some()
}

pub(super) fn run(
    walker: &mut Walker,
    name: &str,
    words: &[Word],
    context: &Context<'_>,
) -> Outcome {
    // What these are given is what they run, or whom they do something to.
    if let (true, Input::Given(text)) = (RUNS_INPUT.contains(&name), &context.input) {
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
    builtins::find(name)
        .or_else(|| wrappers::find(name))
        .or_else(|| shells::find(name))
        .or_else(|| git::find(name))
        .or_else(|| code::find(name))
        .or_else(|| tools::find(name))
        .or_else(|| build_tools::find(name))
}
