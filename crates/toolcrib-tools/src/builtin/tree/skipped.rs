//! What could not be searched, and why: the first of them in order of their paths.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

/// How many are reported.
const MAX: usize = 20;

/// What could not be searched. Shared by the threads of a search.
#[derive(Debug, Default)]
pub(in crate::builtin) struct Skipped(Mutex<BTreeMap<Vec<u8>, String>>);

impl Skipped {
    /// Notes why something was not searched, or not to its end. The path is relative to the workspace.
    pub(in crate::builtin) fn note(&self, path: &[u8], reason: impl Into<String>) {
        let mut noted = self.noted();
        noted.insert(path.to_vec(), reason.into());
        if noted.len() > MAX {
            noted.pop_last();
        }
    }

    /// Like [`note`](Self::note), but for an error of the system. An entry that disappeared or changed its type in the meantime is not reported.
    pub(in crate::builtin) fn note_error(&self, path: &[u8], errno: Errno) {
        let reason = match errno {
            Errno::NOENT
            | Errno::NOTDIR
            | Errno::LOOP
            | Errno::XDEV
            | Errno::NXIO
            | Errno::NODEV => {
                return;
            }
            Errno::ACCESS | Errno::PERM => "permission denied".to_owned(),
            Errno::NAMETOOLONG => "it is too deep; search it by itself".to_owned(),
            other => other.to_string(),
        };
        self.note(path, reason);
    }

    /// Everything that was noted, in order.
    pub(in crate::builtin) fn take(&self) -> BTreeMap<Vec<u8>, String> {
        std::mem::take(&mut *self.noted())
    }

    fn noted(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_are_reported_in_any_order() {
        let skipped = Skipped::default();
        for number in (0..100).rev() {
            skipped.note(format!("{number:03}").as_bytes(), "why");
        }
        skipped.note_error(b"000", Errno::NOENT);
        let told: Vec<Vec<u8>> = skipped.take().into_keys().collect();
        assert_eq!(told.len(), MAX);
        assert_eq!(
            (told[0].as_slice(), told[MAX - 1].as_slice()),
            (&b"000"[..], &b"019"[..])
        );
    }
}
