//! Files that approved commands run right now: [`InUse`].
//!
//! A sandbox shows such a command a copy of its script, mounted over the script's name. The kernel takes a mount away when another file is
//! given the name from outside of the sandbox. So as long as the command runs, tools of this process may not do that: file tools are
//! refused, and other sandboxes have the name as a protected one.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static COUNT: AtomicUsize = AtomicUsize::new(0);
static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Keeps files from being replaced until it is dropped.
#[derive(Debug)]
#[doc(hidden)]
pub struct InUse(Vec<PathBuf>);

impl InUse {
    /// Keeps these files, given by their places on the host: without links, and as they are named.
    #[doc(hidden)]
    pub fn of(files: Vec<PathBuf>) -> Self {
        all().extend(files.iter().cloned());
        COUNT.fetch_add(files.len(), Ordering::SeqCst);
        InUse(files)
    }

    /// Whether there are any. Costs nothing worth mentioning.
    #[doc(hidden)]
    pub fn is_any() -> bool {
        COUNT.load(Ordering::SeqCst) > 0
    }

    /// Those below a directory, as long as links lead nowhere else.
    #[doc(hidden)]
    pub fn below(root: &Path) -> Vec<PathBuf> {
        if !InUse::is_any() {
            return Vec::new();
        }
        let is_below = |file: &&PathBuf| {
            let above = file.parent().map(Path::canonicalize);
            above.is_some_and(|above| above.is_ok_and(|above| above.starts_with(root)))
        };
        let files = all().clone();
        files.iter().filter(is_below).cloned().collect()
    }

    /// Whether a place is one of them, or lies above one.
    pub(super) fn holds(place: &Path) -> bool {
        InUse::is_any() && all().iter().any(|file| file.starts_with(place))
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut all = all();
        for file in &self.0 {
            // Another command may run the same one.
            if let Some(at) = all.iter().position(|other| other == file) {
                all.swap_remove(at);
            }
        }
        COUNT.fetch_sub(self.0.len(), Ordering::SeqCst);
    }
}

fn all() -> MutexGuard<'static, Vec<PathBuf>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}
