//! Whether anything may have changed at all: [`Glance`], one `stat` for each path, nothing opened, nothing allocated.
//!
//! Most looks find nothing new. A glance knows what the last look found behind each path; while all of that is still there, a look would
//! find the same. Where paths lead through links, someone may lead them elsewhere and back: so a glance is good for [`LONGEST`] only.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;

use crate::storage::Stamp;

/// After how long everything is looked at again.
const LONGEST: Duration = Duration::from_secs(1);

/// What a look found behind every path that it depends on.
#[derive(Debug)]
pub(super) struct Glance {
    made: Instant,
    /// Numbers that are others when something changed that is not a file of ours: the program's tools, the secrets.
    numbers: [u64; 2],
    expected: Vec<(CString, Expected)>,
}

/// What was found behind a path.
#[derive(Debug)]
enum Expected {
    Nothing,
    /// This, unchanged.
    Unchanged(Stamp),
    /// This, of which only matters who may change it.
    Rights(Stamp),
}

impl Glance {
    /// Of a look that began then.
    pub(super) fn new(made: Instant, numbers: [u64; 2]) -> Self {
        Glance {
            made,
            numbers,
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
        self.push(path, stamp.map_or(Expected::Nothing, Expected::Unchanged))
    }

    /// Adds a directory of which only its owner and its rights matter.
    pub(super) fn expect_rights(&mut self, path: &Path, stamp: Stamp) -> Option<()> {
        self.push(path, Expected::Rights(stamp))
    }

    fn push(&mut self, path: &Path, expected: Expected) -> Option<()> {
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        self.expected.push((path, expected));
        Some(())
    }

    /// How many paths there are to look at.
    pub(super) fn len(&self) -> usize {
        self.expected.len()
    }

    /// Whether everything is as it was.
    pub(super) fn holds(&self, now: Instant, numbers: impl FnOnce() -> [u64; 2]) -> bool {
        now.saturating_duration_since(self.made) < LONGEST
            && self.numbers == numbers()
            && self
                .expected
                .iter()
                .all(|(path, expected)| is_as(path, expected))
    }
}

fn is_as(path: &CString, expected: &Expected) -> bool {
    let found = match rustix::fs::stat(path) {
        // A link that leads nowhere was found, too.
        Err(_) if matches!(expected, Expected::Unchanged(_)) => {
            rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)
        }
        found => found,
    };
    match (found, expected) {
        (Err(error), Expected::Nothing) => error == Errno::NOENT,
        (Ok(stat), Expected::Unchanged(expected)) => Stamp::of(&stat) == *expected,
        (Ok(stat), Expected::Rights(expected)) => Stamp::of(&stat).has_same_rights(expected),
        (Ok(_), Expected::Nothing) | (Err(_), _) => false,
    }
}
