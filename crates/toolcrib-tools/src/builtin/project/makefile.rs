//! Which target of a makefile runs the tests. Read line by line: what includes and functions make is not seen.

use super::{join, read};
use crate::workspace::Workspace;

/// The names that make looks for, in its order.
const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// The targets that run tests, the better first.
const TARGETS: [&str; 2] = ["test", "check"];

/// The makefile of a directory and its target that runs the tests, if it has one. Blocks.
pub(in crate::builtin) fn test_target(
    workspace: &Workspace,
    directory: &str,
) -> Option<(&'static str, &'static str)> {
    NAMES.into_iter().find_map(|name| {
        let text = read(workspace, &join(directory, name))?;
        Some((name, target_in(&text)?))
    })
}

fn target_in(text: &str) -> Option<&'static str> {
    TARGETS
        .into_iter()
        .find(|target| text.lines().any(|line| has_rule(line, target)))
}

/// Whether a line begins a rule for this target: `test:`, `test check: build`, `test::`, and no `test := value`.
fn has_rule(line: &str, target: &str) -> bool {
    if line.starts_with(['\t', ' ', '#']) {
        return false;
    }
    let Some((targets, rest)) = line.split_once(':') else {
        return false;
    };
    let assigns = rest.trim_start_matches(':').starts_with('=');
    !assigns && !targets.contains('=') && targets.split_whitespace().any(|name| name == target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_rule_and_not_a_variable_or_a_phony_name() {
        for (text, target) in [
            ("test:\n\tcargo test\n", Some("test")),
            ("check: all\n\t./check\n", Some("check")),
            ("check:\n\ntest : build\n", Some("test")),
            ("all test:: x\n", Some("test")),
            (".PHONY: test\n", None),
            ("test := 1\n", None),
            ("test ::= 1\n", None),
            ("X = test: y\n", None),
            ("# test: x\n\ttest: y\n", None),
            ("tests:\n", None),
        ] {
            assert_eq!(target_in(text), target, "{text:?}");
        }
    }
}
