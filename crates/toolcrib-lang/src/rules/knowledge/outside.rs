//! Writing outside the workspace. The sandbox does not let it happen; asking says so before a call fails half-way.

use super::Find;
use crate::model::effects::Verdict;
use crate::rules::destination::Root;
use crate::rules::facts::Facts;
use crate::rules::paths::Access;

pub(super) fn judge(facts: &Facts<'_>, find: &mut Find<'_>) {
    for command in facts.commands() {
        for path in command.paths() {
            let located = &path.located;
            let outside = match located.root {
                Root::FileSystem => {
                    // Devices have their own rule, and `/proc/self/fd/1` is output.
                    let first = located.names.first().map(|name| name.text.as_str());
                    let second = located.names.get(1).map(|name| name.text.as_str());
                    // Files that are moved into memory are gone with it.
                    let moves_away = command.name == "mv" && second == Some("shm");
                    !super::is_scratch(located, facts)
                        && (moves_away || !matches!(first, Some("dev" | "proc")))
                }
                Root::Home => true,
                Root::Workspace | Root::Temporary | Root::Unknown => false,
            };
            if path.access == Access::Write && outside && located.is_known() {
                let reason = format!("`{}` is outside the workspace", path.text);
                find(Verdict::Ask, reason, command.text());
            }
        }
    }
}
