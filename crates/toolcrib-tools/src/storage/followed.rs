//! A value that is made from files, and made again when they change: [`Followed`].
//!
//! "Is it current?" is answered when it is asked, by comparing stamps. A value that was read within a tick of the file system's clock after
//! a change is never current: a second change within that tick has the same stamp.

use std::time::SystemTime;

use super::stamp::Stamp;

/// The stamps of some files at one moment; none for a file that is not there. They are taken before the files are read.
#[derive(Debug, Clone, Copy)]
pub struct Stamps<const N: usize> {
    each: [Option<Stamp>; N],
    is_settled: bool,
}

impl<const N: usize> Stamps<N> {
    /// Of stamps that were taken just now.
    pub fn new(each: [Option<Stamp>; N]) -> Self {
        Stamps::at(each, SystemTime::now())
    }

    fn at(each: [Option<Stamp>; N], now: SystemTime) -> Self {
        let is_settled = each.iter().flatten().all(|stamp| stamp.is_settled(now));
        Stamps { each, is_settled }
    }

    /// The stamp of each file.
    pub fn each(&self) -> [Option<Stamp>; N] {
        self.each
    }

    /// Whether every change to come will show.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }
}

/// What was read from files, and how they were then.
#[derive(Debug)]
pub struct Followed<T, const N: usize = 1>(Option<(Stamps<N>, T)>);

impl<T, const N: usize> Default for Followed<T, N> {
    fn default() -> Self {
        Followed(None)
    }
}

impl<T, const N: usize> Followed<T, N> {
    /// What was read, if the files cannot have changed since.
    pub fn current(&self, now: &Stamps<N>) -> Option<&T> {
        let (then, value) = self.0.as_ref()?;
        (then.is_settled && then.each == now.each).then_some(value)
    }

    /// What was read last, current or not.
    pub fn last(&self) -> Option<&T> {
        self.0.as_ref().map(|(_, value)| value)
    }

    /// How the files were when they were read last.
    pub fn stamps(&self) -> Option<&Stamps<N>> {
        self.0.as_ref().map(|(then, _)| then)
    }

    /// Whether the files are known to be others than those that were read last, or nothing was read yet.
    pub fn is_other(&self, now: &Stamps<N>) -> bool {
        self.stamps().is_none_or(|then| then.each != now.each)
    }

    /// Keeps what was read after these stamps were taken.
    pub fn set(&mut self, then: Stamps<N>, value: T) -> &T {
        &self.0.insert((then, value)).1
    }

    /// Has the files read again, whatever their stamps are.
    pub fn forget(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_read_right_after_a_change_is_read_again_however_old_the_change_becomes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "a").unwrap();
        let stamp = Stamp::at(&path);
        assert!(stamp.is_some());
        let (fresh, later) = (
            Stamps::at([stamp], SystemTime::now()),
            Stamps::at([stamp], SystemTime::now() + Duration::from_secs(3)),
        );
        let mut followed = Followed::default();
        assert!(followed.is_other(&later) && followed.current(&later).is_none());
        followed.set(
            Stamps {
                is_settled: false,
                ..fresh
            },
            1,
        );
        assert_eq!(
            (followed.current(&later), followed.last()),
            (None, Some(&1))
        );
        assert!(!followed.is_other(&later));
        followed.set(later, 2);
        assert_eq!(followed.current(&later), Some(&2));
        let gone = Stamps::new([None]);
        assert!(followed.current(&gone).is_none() && followed.is_other(&gone));
        followed.set(gone, 3);
        assert_eq!(followed.current(&gone), Some(&3));
        followed.forget();
        assert_eq!(followed.last(), None);
    }
}
