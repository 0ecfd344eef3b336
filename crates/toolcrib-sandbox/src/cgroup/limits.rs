//! Writes a slot's limits: which file, what value, in what order.
//!
//! Only differences are written, since a pooled slot mostly has the right limits already.

use std::{io, path::Path};

use super::{Version, files};

/// Settings every slot has whatever its limits; done once, when it is made.
pub(super) fn prepare_memory(dir: &Path, version: Version) {
    // All best effort: a kernel without swap accounting has none of the swap files, and no swap to bound either.
    let settings: &[_] = match version {
        // oom_control: children inherit a switched-off OOM killer, with which a run over its limit would hang.
        Version::V1 => &[("memory.swappiness", "0"), ("memory.oom_control", "0")],
        // oom.group: half a process tree is useless, and the rest may wait forever for the dead part.
        Version::V2 => &[("memory.swap.max", "0"), ("memory.oom.group", "1")],
    };
    for (name, value) in settings {
        let _ = files::write(dir, name, value);
    }
}

/// Changes the memory limit from `old` to `new` bytes.
///
/// # Errors
/// `ResourceBusy` on v1 when the slot still holds more than `new` that cannot be reclaimed. Which of the two v1 limits
/// is after an error is unknown: discard the slot.
pub(super) fn set_memory(
    dir: &Path,
    version: Version,
    old: Option<u64>,
    new: Option<u64>,
) -> io::Result<()> {
    if old == new {
        return Ok(());
    }
    match version {
        Version::V2 => files::write(dir, "memory.max", &text(new, "max")),
        Version::V1 => {
            let value = text(new, "-1");
            let plain = || match files::write(dir, "memory.limit_in_bytes", &value) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    files::write(dir, "memory.force_empty", "0")?;
                    files::write(dir, "memory.limit_in_bytes", &value)
                }
                done => done,
            };
            // Memory plus swap bounded by the same number: no swap. Absent without swap accounting.
            let with_swap = || match files::write(dir, "memory.memsw.limit_in_bytes", &value) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                done => done,
            };
            // The kernel refuses any step at which memsw would be below the plain limit.
            if new.unwrap_or(u64::MAX) > old.unwrap_or(u64::MAX) {
                with_swap().and_then(|()| plain())
            } else {
                plain().and_then(|()| with_swap())
            }
        }
    }
}

/// Changes the limit on processes and threads; the same file in both versions.
pub(super) fn set_pids(dir: &Path, old: Option<u64>, new: Option<u64>) -> io::Result<()> {
    if old == new {
        return Ok(());
    }
    files::write(dir, "pids.max", &text(new, "max"))
}

fn text(limit: Option<u64>, unlimited: &str) -> String {
    limit.map_or_else(|| unlimited.to_owned(), |limit| limit.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree(names: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(dir.path().join(name), "untouched").unwrap();
        }
        dir
    }

    fn content(dir: &tempfile::TempDir, name: &str) -> String {
        fs::read_to_string(dir.path().join(name)).unwrap()
    }

    #[test]
    fn v2_gets_a_limit_no_swap_and_group_kill() {
        let dir = tree(&[
            "memory.max",
            "memory.swap.max",
            "memory.oom.group",
            "pids.max",
        ]);
        prepare_memory(dir.path(), Version::V2);
        set_memory(dir.path(), Version::V2, None, Some(1 << 26)).unwrap();
        set_pids(dir.path(), None, Some(32)).unwrap();
        assert_eq!(content(&dir, "memory.max"), "67108864");
        assert_eq!(content(&dir, "memory.swap.max"), "0");
        assert_eq!(content(&dir, "memory.oom.group"), "1");
        assert_eq!(content(&dir, "pids.max"), "32");
        set_memory(dir.path(), Version::V2, Some(1 << 26), None).unwrap();
        set_pids(dir.path(), Some(32), None).unwrap();
        assert_eq!(content(&dir, "memory.max"), "max");
        assert_eq!(content(&dir, "pids.max"), "max");
    }

    #[test]
    fn an_unchanged_limit_is_not_written() {
        let dir = tree(&["memory.max", "pids.max"]);
        set_memory(dir.path(), Version::V2, Some(5), Some(5)).unwrap();
        set_pids(dir.path(), None, None).unwrap();
        assert_eq!(content(&dir, "memory.max"), "untouched");
        assert_eq!(content(&dir, "pids.max"), "untouched");
    }

    #[test]
    fn v1_without_swap_accounting_has_only_the_plain_limit() {
        let dir = tree(&["memory.limit_in_bytes"]);
        prepare_memory(dir.path(), Version::V1);
        set_memory(dir.path(), Version::V1, None, Some(4096)).unwrap();
        assert_eq!(content(&dir, "memory.limit_in_bytes"), "4096");
    }

    #[test]
    fn v1_raises_swap_first_and_lowers_it_last() {
        // A missing plain limit makes set_memory stop there, which shows what came before it.
        let dir = tree(&["memory.memsw.limit_in_bytes"]);
        set_memory(dir.path(), Version::V1, None, Some(1)).unwrap_err();
        assert_eq!(content(&dir, "memory.memsw.limit_in_bytes"), "untouched");
        set_memory(dir.path(), Version::V1, Some(1), None).unwrap_err();
        assert_eq!(content(&dir, "memory.memsw.limit_in_bytes"), "-1");
    }
}
