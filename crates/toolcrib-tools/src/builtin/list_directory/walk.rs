//! Walking a directory tree in the order of the result.
//!
//! The listing is in byte order of the relative paths, and a listing that is cut keeps the first
//! paths in that order: which ones depends on the names alone, never on the order in which the
//! file system hands them out. (While the tree changes, it is what was seen on the way.)
//!
//! To have that without reading all of a large tree, the tree is walked in the order of the
//! result. The remaining entries are in one queue, and everything beyond the limit is dropped
//! from its far end, so memory is bounded by the limit and not by the tree. Directories are opened
//! from the top by their relative path, without following any link: besides the top one is open
//! at a time, however deep the tree is, and a directory exchanged for a link is not entered.

use std::collections::VecDeque;
use std::ffi::CString;

use rustix::fd::{AsFd as _, BorrowedFd};
use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;

use crate::model::error::{ErrorCode, ToolError};
use crate::workspace::{EntryKind, Metadata, RawDir, Workspace, WorkspacePath, file_id};

/// How many directories deep a listing goes.
const MAX_DEPTH: usize = 256;
/// The longest relative path of a directory that is entered: the kernel opens no longer ones.
const MAX_DIRECTORY_BYTES: usize = 4095;

/// How much of a tree is listed.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListDepth {
    /// How many levels: 1 is the directory itself.
    pub(super) depth: usize,
    pub(super) hidden: bool,
    pub(super) max_entries: usize,
}

/// What was found. Names are paths relative to the listed directory, in bytes as they are.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) entries: Vec<(Vec<u8>, Metadata)>,
    pub(super) skipped: Vec<(Vec<u8>, Errno)>,
    pub(super) truncated: bool,
}

/// Lists a directory; `is_stopped` is asked now and then.
pub(super) fn list(
    workspace: &Workspace,
    path: &WorkspacePath,
    reach: ListDepth,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Listing, ToolError> {
    let top = workspace.open_dir(path)?;
    let walk = Walk::new(workspace, top.as_fd(), reach, is_stopped);
    walk.run().map_err(|stop| match stop {
        Stop::Cancelled => ToolError::new(ErrorCode::Cancelled, "the listing was stopped"),
        Stop::Failed(errno) => path.fault("list", errno),
    })
}

struct Walk<'a> {
    workspace: &'a Workspace,
    /// The listed directory; everything is opened from here, by relative path.
    top: BorrowedFd<'a>,
    reach: ListDepth,
    /// The directory of Toolcrib's own data, which is left out: device and inode.
    own_data: Option<(u64, u64)>,
    is_stopped: &'a dyn Fn() -> bool,
    /// The remaining entries, in the order of the result.
    queue: VecDeque<Step>,
    /// How many steps in the queue are entries of the result.
    queued: usize,
    /// How many entries went into the result.
    taken: usize,
    listing: Listing,
    buffer: Vec<u8>,
}

/// One step of the walk: an entry, or everything beneath a directory. The path of the latter ends
/// in `/`, which puts it where its first child belongs: after `a` and `a.txt`, before `aa`.
struct Step {
    path: Vec<u8>,
    what: What,
}

enum What {
    Entry(Metadata),
    /// An entry that cannot be looked at.
    Unknown(Errno),
    Beneath,
}

/// Why a directory was not read to the end.
enum Stop {
    Cancelled,
    Failed(Errno),
}

impl From<Errno> for Stop {
    fn from(errno: Errno) -> Self {
        Stop::Failed(errno)
    }
}

impl<'a> Walk<'a> {
    fn new(
        workspace: &'a Workspace,
        top: BorrowedFd<'a>,
        reach: ListDepth,
        is_stopped: &'a dyn Fn() -> bool,
    ) -> Self {
        Walk {
            workspace,
            top,
            reach,
            own_data: workspace.own_data_identity(),
            is_stopped,
            queue: VecDeque::new(),
            queued: 0,
            taken: 0,
            listing: Listing::default(),
            buffer: Vec::with_capacity(64 * 1024),
        }
    }

    fn run(mut self) -> Result<Listing, Stop> {
        // Not being able to read the top is a failure; further down it is a remark.
        let steps = self.read(self.top, b"")?;
        self.put_in_front(steps);
        while let Some(Step { path, what }) = self.queue.pop_front() {
            match what {
                What::Entry(metadata) => self.listing.entries.push((path, metadata)),
                What::Unknown(errno) => self.listing.skipped.push((path, errno)),
                // One more entry is enough to know that there are more.
                What::Beneath if self.room() == 0 && self.listing.truncated => break,
                What::Beneath => {
                    match self.enter(&path) {
                        Ok(steps) => self.put_in_front(steps),
                        Err(Stop::Cancelled) => return Err(Stop::Cancelled),
                        Err(Stop::Failed(errno)) => {
                            let name = path.strip_suffix(b"/").unwrap_or(&path).to_vec();
                            self.listing.skipped.push((name, errno));
                        }
                    }
                    continue;
                }
            }
            self.queued -= 1;
            self.taken += 1;
        }
        Ok(self.listing)
    }

    /// How many more entries fit.
    fn room(&self) -> usize {
        self.reach.max_entries - self.taken
    }

    /// Puts what is in a directory before everything else, and forgets what no longer fits.
    fn put_in_front(&mut self, steps: Vec<Step>) {
        for step in steps.into_iter().rev() {
            self.queued += usize::from(!matches!(step.what, What::Beneath));
            self.queue.push_front(step);
        }
        while self.queued > self.room() {
            let dropped = self.queue.pop_back();
            self.queued -= usize::from(!matches!(
                dropped,
                Some(Step {
                    what: What::Beneath,
                    ..
                })
            ));
            self.listing.truncated = true;
        }
    }

    fn enter(&mut self, path: &[u8]) -> Result<Vec<Step>, Stop> {
        let depth = path.iter().filter(|byte| **byte == b'/').count();
        if depth >= MAX_DEPTH || path.len() > MAX_DIRECTORY_BYTES {
            return Err(Stop::Failed(Errno::NAMETOOLONG));
        }
        let directory = self.workspace.open_dir_below(self.top, path)?;
        self.read(directory.as_fd(), path)
    }

    /// Reads a directory; `prefix` is its own path with a slash at the end.
    fn read(&mut self, directory: BorrowedFd<'_>, prefix: &[u8]) -> Result<Vec<Step>, Stop> {
        let names = self.names(directory)?;
        let mut steps = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            check_stop(index, self.is_stopped)?;
            let what = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if self.own_data == Some(file_id(&stat)) => continue,
                Ok(stat) => What::Entry(Metadata::of(&stat)),
                // Deleted since its name was read.
                Err(Errno::NOENT) => continue,
                Err(errno) => What::Unknown(errno),
            };
            let path = [prefix, name.as_bytes()].concat();
            let depth = path.iter().filter(|byte| **byte == b'/').count() + 1;
            if depth < self.reach.depth
                && matches!(
                    what,
                    What::Entry(Metadata {
                        kind: EntryKind::Directory,
                        ..
                    })
                )
            {
                steps.push(Step {
                    path: [&path, &b"/"[..]].concat(),
                    what: What::Beneath,
                });
            }
            steps.push(Step { path, what });
        }
        steps.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(steps)
    }

    /// The names in a directory that fit, in no order.
    fn names(&mut self, directory: BorrowedFd<'_>) -> Result<Vec<CString>, Stop> {
        let room = self.room();
        let mut names: Vec<CString> = Vec::new();
        let mut entries = RawDir::new(directory, self.buffer.spare_capacity_mut());
        let mut seen = 0;
        while let Some(entry) = entries.next() {
            let entry = entry?;
            check_stop(seen, self.is_stopped)?;
            seen += 1;
            let name = entry.file_name();
            let is_hidden = name.to_bytes().starts_with(b".");
            if matches!(name.to_bytes(), b"." | b"..") || (is_hidden && !self.reach.hidden) {
                continue;
            }
            names.push(name.to_owned());
            // Dropping half of them at a time costs less than keeping them in order.
            if names.len() / 2 > room {
                keep_first(&mut names, room);
                self.listing.truncated = true;
            }
        }
        if names.len() > room {
            keep_first(&mut names, room);
            self.listing.truncated = true;
        }
        Ok(names)
    }
}

fn keep_first(names: &mut Vec<CString>, count: usize) {
    names.select_nth_unstable(count);
    names.truncate(count);
}

/// Asks, once in a while, whether to go on.
fn check_stop(index: usize, is_stopped: &dyn Fn() -> bool) -> Result<(), Stop> {
    if index.is_multiple_of(256) && is_stopped() {
        Err(Stop::Cancelled)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    const ALL: ListDepth = ListDepth {
        depth: usize::MAX,
        hidden: true,
        max_entries: usize::MAX,
    };

    fn listing(root: &Path, reach: ListDepth) -> Listing {
        let workspace = Workspace::open(root).unwrap();
        list(&workspace, &workspace.path(".").unwrap(), reach, &|| false).unwrap()
    }

    fn names(listing: &Listing) -> Vec<String> {
        listing
            .entries
            .iter()
            .map(|(name, _)| String::from_utf8_lossy(name).into_owned())
            .collect()
    }

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        root
    }

    const FILES: &[&str] = &[
        "a-x",
        "a.txt",
        "a/b",
        "a/c/d",
        "a/c.rs",
        "a/é",
        "aa",
        "b/.git/config",
        ".env",
        "z",
    ];

    #[test]
    fn paths_are_in_byte_order_wherever_the_slash_falls() {
        let found = names(&listing(tree(FILES).path(), ALL));
        let expected = [
            ".env",
            "a",
            "a-x",
            "a.txt",
            "a/b",
            "a/c",
            "a/c.rs",
            "a/c/d",
            "a/é",
            "aa",
            "b",
            "b/.git",
            "b/.git/config",
            "z",
        ];
        assert_eq!(found, expected);
        assert!(found.is_sorted());
    }

    #[test]
    fn hidden_names_are_left_out_and_not_entered() {
        let found = names(&listing(
            tree(FILES).path(),
            ListDepth {
                hidden: false,
                ..ALL
            },
        ));
        assert_eq!(
            found,
            [
                "a", "a-x", "a.txt", "a/b", "a/c", "a/c.rs", "a/c/d", "a/é", "aa", "b", "z"
            ]
        );
    }

    #[test]
    fn without_recursion_only_the_directory_itself_is_read() {
        let found = names(&listing(tree(FILES).path(), ListDepth { depth: 1, ..ALL }));
        assert_eq!(found, [".env", "a", "a-x", "a.txt", "aa", "b", "z"]);
    }

    #[test]
    fn a_cut_listing_is_the_start_of_the_whole_one() {
        let root = tree(FILES);
        let whole = names(&listing(root.path(), ALL));
        for max_entries in 0..=whole.len() + 1 {
            let cut = listing(root.path(), ListDepth { max_entries, ..ALL });
            assert_eq!(
                names(&cut),
                whole[..max_entries.min(whole.len())],
                "{max_entries}"
            );
            assert_eq!(cut.truncated, max_entries < whole.len(), "{max_entries}");
        }
    }

    #[test]
    fn a_large_directory_keeps_its_first_names_in_whatever_order_it_hands_them_out() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..300 {
            fs::write(root.path().join(format!("{number:04}")), "").unwrap();
        }
        let cut = listing(
            root.path(),
            ListDepth {
                max_entries: 10,
                ..ALL
            },
        );
        let expected: Vec<String> = (0..10).map(|number| format!("{number:04}")).collect();
        assert_eq!((names(&cut), cut.truncated), (expected, true));
    }

    #[test]
    fn what_waits_is_bounded_by_the_limit_and_not_by_the_tree() {
        let root = tempfile::tempdir().unwrap();
        let mut directory = root.path().to_owned();
        for _ in 0..20 {
            for number in 0..50 {
                fs::write(directory.join(format!("z{number}")), "").unwrap();
            }
            directory.push("a");
            fs::create_dir(&directory).unwrap();
        }
        let workspace = Workspace::open(root.path()).unwrap();
        let top = workspace.open_dir(&workspace.path(".").unwrap()).unwrap();
        let mut walk = Walk::new(
            &workspace,
            top.as_fd(),
            ListDepth {
                max_entries: 30,
                ..ALL
            },
            &|| false,
        );
        let mut path = Vec::new();
        for _ in 0..20 {
            let steps = if path.is_empty() {
                walk.read(top.as_fd(), b"")
            } else {
                walk.enter(&path)
            };
            let steps = steps.unwrap_or_else(|_| panic!("readable"));
            walk.put_in_front(steps);
            path.extend(b"a/");
            assert!(walk.queue.len() <= 60, "{}", walk.queue.len());
        }
    }

    #[test]
    fn entries_carry_kind_and_size_and_links_are_not_followed() {
        let root = tree(&["dir/file"]);
        std::os::unix::fs::symlink("dir", root.path().join("link")).unwrap();
        std::os::unix::fs::symlink(".", root.path().join("loop")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
        let found: Vec<_> = listing(root.path(), ALL)
            .entries
            .into_iter()
            .map(|(name, metadata)| (String::from_utf8(name).unwrap(), metadata.kind))
            .collect();
        let expected = [
            ("dir", EntryKind::Directory),
            ("dir/file", EntryKind::File),
            ("link", EntryKind::Symlink),
            ("loop", EntryKind::Symlink),
            ("socket", EntryKind::Other),
        ];
        assert_eq!(found, expected.map(|(name, kind)| (name.to_owned(), kind)));
    }

    #[test]
    fn a_deep_tree_is_listed_to_its_limit_and_says_where_it_ends() {
        let root = tempfile::tempdir().unwrap();
        let mut path = String::from("d");
        for _ in 0..MAX_DEPTH + 10 {
            path.push_str("/d");
        }
        fs::create_dir_all(root.path().join(&path)).unwrap();
        for workspace in [
            Workspace::open(root.path()),
            Workspace::open_without_openat2(root.path()),
        ] {
            let workspace = workspace.unwrap();
            let listing = list(&workspace, &workspace.path(".").unwrap(), ALL, &|| false).unwrap();
            assert_eq!(listing.entries.len(), MAX_DEPTH);
            assert_eq!(
                listing.skipped,
                [(
                    path.as_bytes()[..2 * MAX_DEPTH - 1].to_vec(),
                    Errno::NAMETOOLONG
                )]
            );
        }
    }

    #[test]
    fn a_directory_that_became_a_link_is_not_entered() {
        let root = tree(&["dir/file", "elsewhere/secret"]);
        for workspace in [
            Workspace::open(root.path()),
            Workspace::open_without_openat2(root.path()),
        ] {
            let workspace = workspace.unwrap();
            let top = workspace.open_dir(&workspace.path(".").unwrap()).unwrap();
            let mut walk = Walk::new(&workspace, top.as_fd(), ALL, &|| false);
            assert!(walk.enter(b"dir/").is_ok());
            fs::rename(root.path().join("dir"), root.path().join("was")).unwrap();
            std::os::unix::fs::symlink("elsewhere", root.path().join("dir")).unwrap();
            assert!(matches!(
                walk.enter(b"dir/"),
                Err(Stop::Failed(Errno::LOOP))
            ));
            fs::remove_file(root.path().join("dir")).unwrap();
            fs::rename(root.path().join("was"), root.path().join("dir")).unwrap();
        }
    }

    #[test]
    fn a_cancelled_listing_stops() {
        let root = tree(FILES);
        let workspace = Workspace::open(root.path()).unwrap();
        let error = list(&workspace, &workspace.path(".").unwrap(), ALL, &|| true).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Cancelled);
    }
}
