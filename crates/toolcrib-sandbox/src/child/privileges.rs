//! Gives up what a command must not have: capabilities, and files that no Landlock rule names. See the invariant in [`super`].

use super::{Beneath, Done, Rule, ok};
use crate::landlock::Ruleset;
use std::ffi::c_int;

/// `SECBIT_NOROOT`, `NO_SETUID_FIXUP`, `NO_CAP_AMBIENT_RAISE`, each with its lock: being uid 0 means nothing any more.
const ROOT_IS_NOBODY: c_int = 0b1100_1111;

pub(super) fn drop_capabilities() -> Done {
    let header: [u32; 2] = [0x2008_0522, 0];
    let none = [0u32; 6];
    // SAFETY: version 3 of the header goes with two triples of words.
    unsafe {
        // Without the capability to set them (an ordinary user without a namespace) there is no root to tame either.
        libc::prctl(libc::PR_SET_SECUREBITS, ROOT_IS_NOBODY, 0, 0, 0);
        let mut capability = 0;
        while libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) == 0 {
            capability += 1;
        }
        ok(libc::syscall(
            libc::SYS_capset,
            header.as_ptr(),
            none.as_ptr(),
        ))
        .map(drop)
    }
}

const RULE_PATH_BENEATH: c_int = 1;

#[repr(C, packed)]
struct PathBeneath {
    access: u64,
    fd: i32,
}

/// What may be allowed for a file; the rest has a meaning for directories only and would be refused.
const FILE_ACCESS: u64 = crate::landlock::EXECUTE
    | crate::landlock::READ_FILE
    | crate::landlock::WRITE_FILE
    | crate::landlock::TRUNCATE
    | crate::landlock::IOCTL_DEV;

/// `terminal`: descriptor of the child's, should a rule be about it.
pub(super) fn landlock(ruleset: &Ruleset, rules: &[Rule], terminal: c_int) -> Done {
    // SAFETY: the structures are what the kernel expects; an older kernel takes a shorter one only, hence the length.
    unsafe {
        let size = match ruleset {
            Ruleset {
                network: 0,
                scoped: 0,
                ..
            } => 8,
            Ruleset { scoped: 0, .. } => 16,
            Ruleset { .. } => 24,
        };
        let made = ok(libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const *ruleset,
            size,
            0,
        ))? as c_int;
        for rule in rules {
            let (fd, opened) = match &rule.beneath {
                Beneath::Open(fd) => (*fd, false),
                Beneath::Terminal => (terminal, false),
                Beneath::Path(path) => {
                    match ok(libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC)) {
                        Ok(fd) => (fd as c_int, true),
                        Err(libc::ENOENT) => continue,
                        Err(errno) => return Err(errno),
                    }
                }
            };
            let mut stat: libc::stat = std::mem::zeroed();
            ok(libc::fstat(fd, &mut stat))?;
            let directory = stat.st_mode & libc::S_IFMT == libc::S_IFDIR;
            let access =
                rule.access & ruleset.files & if directory { u64::MAX } else { FILE_ACCESS };
            let beneath = PathBeneath { access, fd };
            ok(libc::syscall(
                libc::SYS_landlock_add_rule,
                made,
                RULE_PATH_BENEATH,
                &raw const beneath,
                0,
            ))?;
            if opened {
                libc::close(fd);
            }
        }
        ok(libc::syscall(libc::SYS_landlock_restrict_self, made, 0))?;
        libc::close(made);
    }
    Ok(())
}
