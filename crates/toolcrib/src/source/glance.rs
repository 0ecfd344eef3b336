//! Whether anything may have changed at all: [`Glance`], one `stat` for each path, nothing opened, nothing allocated.
//!
//! Most looks find nothing new. A glance knows what the last look found behind each path; while all of that is still there, a look would
//! find the same. It says nothing about the directories above, whose owners matter too: so it is good for [`LONGEST`] only.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;

use super::files::Stamp;

/// After how long everything is looked at again.
const LONGEST: Duration = Duration::from_secs(1);

/// What a look found behind every path that it depends on.
#[derive(Debug)]
pub(super) struct Glance {
    made: Instant,
    /// Which tools the program had.
    changes: u64,
    expected: Vec<(CString, Option<Stamp>)>,
}

impl Glance {
    /// Of a look that began then.
    pub(super) fn new(made: Instant, changes: u64) -> Self {
        Glance {
            made,
            changes,
            expected: Vec::new(),
        }
    }

    /// Adds what was found behind a path, or that nothing was; none if a change to come might not show.
    pub(super) fn expect(
        &mut self,
        path: &Path,
        stamp: Option<Stamp>,
        is_settled: bool,
    ) -> Option<()> {
        if !is_settled {
            return None;
        }
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        self.expected.push((path, stamp));
        Some(())
    }

    /// How many paths there are to look at.
    pub(super) fn len(&self) -> usize {
        self.expected.len()
    }

    /// Whether everything is as it was.
    pub(super) fn holds(&self, now: Instant, changes: u64) -> bool {
        now.saturating_duration_since(self.made) < LONGEST
            && self.changes == changes
            && self
                .expected
                .iter()
                .all(|(path, expected)| is_as(path, expected.as_ref()))
    }
}

fn is_as(path: &CString, expected: Option<&Stamp>) -> bool {
    let found = match rustix::fs::stat(path) {
        // A link that leads nowhere was found, too.
        Err(_) if expected.is_some() => rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW),
        found => found,
    };
    match (found, expected) {
        (Ok(stat), Some(expected)) => Stamp::of(&stat) == *expected,
        (Err(Errno::NOENT), None) => true,
        (Ok(_), None) | (Err(_), _) => false,
    }
}
