//! `chmod -R`, `chown -R`: fine in the workspace, ruinous elsewhere.

use super::Find;
use crate::model::effects::Verdict;
use crate::rules::destination::Root;
use crate::rules::facts::Facts;

pub(super) fn judge(facts: &Facts<'_>, find: &mut Find<'_>) {
    for command in facts.commands() {
        let changes = matches!(
            command.name,
            "chmod" | "chown" | "chgrp" | "chattr" | "setfacl"
        );
        if !changes || !command.has("-R|--recursive") {
            continue;
        }
        let mode_first = usize::from(!command.has("--reference"));
        for target in command.operands().skip(mode_first) {
            let located = command.locate(target.word);
            let target = &target.text;
            match located.root {
                Root::Workspace | Root::Temporary if located.is_known() => {}
                Root::FileSystem if super::is_scratch(&located, facts) => {}
                Root::FileSystem | Root::Home => find(
                    Verdict::Deny,
                    format!(
                        "`{target}` is outside the workspace, and everything beneath it would change"
                    ),
                    command.text(),
                ),
                Root::Workspace | Root::Temporary | Root::Unknown if command.is_authored => {}
                Root::Workspace | Root::Temporary | Root::Unknown => find(
                    Verdict::Ask,
                    format!("the path of `{target}` cannot be determined before it runs"),
                    command.text(),
                ),
            }
        }
    }
}
