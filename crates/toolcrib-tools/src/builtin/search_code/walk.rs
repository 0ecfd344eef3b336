//! Going through the tree and searching its files, with several threads.
//!
//! The walk proposes names, and `Workspace` opens them: directories from the top by their path, files from their open directory, never
//! through a link. A directory exchanged for a link while the walk goes on is not entered, and nothing is read that is not beneath the
//! workspace when it is opened.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::fstat;
use rustix::io::Errno;

use super::super::tree::{self, Ignores, Level, Permission, Scope, Skipped, Verdict, as_path};
use super::lines::{Count, Lines};
use super::matches::Collector;
use super::queue::{BATCH, Files, Job, Queue, QueuedDir, Working};
use super::stop::{Stop, Stoppable};
use crate::model::text::size;
use crate::workspace::{Workspace, file_id};

/// How many directories deep a search goes.
const MAX_DEPTH: usize = 256;

/// The longest relative path of a directory that is entered: the kernel opens no longer ones.
const MAX_DIRECTORY_BYTES: usize = 4095;

/// The longest line that is searched, and the largest file whose lines are searched together: both have to be in memory.
const MAX_HELD: usize = 16 << 20;

/// How much of a file is read at once; most files are smaller.
const CHUNK: usize = 64 * 1024;

/// No machine needs more threads than this, as `rg` sees it.
const MAX_THREADS: usize = 12;

/// A search, as its threads share it.
pub(super) struct Search<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) matcher: &'a RegexMatcher,
    pub(super) multiline: bool,
    pub(super) context: usize,
    pub(super) scope: &'a Scope,
    pub(super) permission: &'a Permission,
    /// `None`: ignore files do not count.
    pub(super) ignores: Option<Ignores<'a>>,
    pub(super) found: &'a Collector,
    pub(super) skipped: &'a Skipped,
    pub(super) stop: &'a Stop,
}

/// How much was searched, and how much of it matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Files looked into.
    pub(super) searched: u64,
    /// Files with a match.
    pub(super) files: u64,
    /// Matches.
    pub(super) total: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.searched += other.searched;
        self.files += other.files;
        self.total += other.total;
    }
}

impl Search<'_> {
    /// Searches a file that the call named. It is searched whatever ignore files and globs say.
    pub(super) fn file(&self, file: &File, path: &Path) -> Tally {
        let mut reader = Reader::new(self);
        let path = path.as_os_str().as_bytes();
        reader.search(file, path);
        if let Some(offset) = reader.binary {
            let reason = format!("it is binary: there is a NUL byte at {offset}");
            self.skipped.note(path, reason);
        }
        reader.tally
    }

    /// Searches everything beneath a directory that is at `place` in the workspace.
    pub(super) fn tree(&self, top: &OwnedFd, place: &Path) -> Tally {
        let mut path = place.as_os_str().as_bytes().to_vec();
        if !path.is_empty() {
            path.push(b'/');
        }
        let level = self
            .ignores
            .as_ref()
            .and_then(|ignores| ignores.above(place));
        let tree = Tree {
            search: self,
            top,
            prefix: path.len(),
            own_data: self.workspace.own_data_identity(),
            queue: Queue::default(),
        };
        let mut first = Worker::new(&tree);
        first.enter(level, 0, path);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let helpers = match tree.queue.has_work() {
            true => threads.min(MAX_THREADS) - 1,
            false => 0,
        };
        // Everybody has joined before anybody can find that no one works.
        let joined: Vec<Working<'_>> = (0..helpers).map(|_| tree.queue.join()).collect();
        let own = tree.queue.join();
        let mut tally = Tally::default();
        std::thread::scope(|scope| {
            let helpers: Vec<_> = joined
                .into_iter()
                .map(|working| scope.spawn(|| Worker::new(&tree).run(working)))
                .collect();
            tally += first.run(own);
            for helper in helpers {
                match helper.join() {
                    Ok(own) => tally += own,
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        tally
    }
}

/// A search of a tree.
struct Tree<'a> {
    search: &'a Search<'a>,
    top: &'a OwnedFd,
    /// How much of a path leads to the top.
    prefix: usize,
    /// The directory of Toolcrib's own data, which is left out: device and inode.
    own_data: Option<(u64, u64)>,
    queue: Queue,
}

/// One thread of a search.
struct Worker<'a> {
    tree: &'a Tree<'a>,
    reader: Reader<'a>,
    /// For reading directories.
    buffer: Vec<u8>,
    /// The absolute path of what is looked at; the start of it is the workspace's.
    path: Vec<u8>,
    root: usize,
}

impl<'a> Worker<'a> {
    fn new(tree: &'a Tree<'a>) -> Self {
        let mut path = tree.search.workspace.root().as_os_str().as_bytes().to_vec();
        if path != b"/" {
            path.push(b'/');
        }
        Worker {
            tree,
            reader: Reader::new(tree.search),
            buffer: Vec::with_capacity(CHUNK),
            root: path.len(),
            path,
        }
    }

    fn run(mut self, working: Working<'_>) -> Tally {
        while let Some(job) = working.next() {
            if self.tree.search.stop.is_due() {
                self.tree.queue.end();
                break;
            }
            match job {
                Job::Search(files, batch) => self.search(&files, batch),
                Job::Enter(parent, path) => {
                    self.enter(parent.level.clone(), parent.depth + 1, path);
                }
            }
        }
        self.reader.tally
    }

    /// Looks into a directory: searches some of its files, and leaves the rest and the levels below to the next worker.
    fn enter(&mut self, above: Option<Arc<Level>>, depth: usize, path: Vec<u8>) {
        let search = self.tree.search;
        let own = path.strip_suffix(b"/").unwrap_or(&path).to_vec();
        let (directory, content) = match self.read(depth, &path) {
            Ok(Some(read)) => read,
            Ok(None) => return,
            Err(errno) => return search.skipped.note_error(&own, errno),
        };
        let tree::Content {
            mut files,
            mut directories,
            marks,
            is_cut,
        } = content;
        if is_cut {
            search
                .skipped
                .note(&own, "it has too many names; the rest was not searched");
        }
        let ignores = search.ignores.as_ref();
        let level = match ignores {
            Some(ignores) => ignores.enter(above.as_ref(), directory.as_fd(), as_path(&own), marks),
            None => None,
        };
        self.path.truncate(self.root);
        self.path.extend_from_slice(&path);
        let start = self.path.len();
        let absolute = &mut self.path;
        let mut takes = |name: &[u8], is_dir: bool| {
            absolute.truncate(start);
            absolute.extend_from_slice(name);
            let path = as_path(absolute);
            search.scope.takes(path, name, is_dir, || match ignores {
                Some(ignores) => ignores.verdict(level.as_ref(), path, is_dir),
                None => Verdict::Silent,
            })
        };
        files.retain(|name| takes(name, false));
        directories.retain(|name| takes(name, true));
        let place = Arc::new(QueuedDir { path, depth, level });
        if directories.len() > 0 {
            self.tree
                .queue
                .add_directories(Arc::clone(&place), directories);
        }
        let files = Arc::new(Files {
            directory,
            place,
            names: files,
        });
        let own = files.names.len().min(BATCH);
        if files.names.len() > own {
            self.tree.queue.add_files(Arc::clone(&files), own);
        }
        self.search(&files, 0..own);
    }

    /// Opens a directory and reads it; `None` if it is Toolcrib's own.
    fn read(
        &mut self,
        depth: usize,
        path: &[u8],
    ) -> Result<Option<(OwnedFd, tree::Content)>, Errno> {
        let whole = self.tree;
        if depth > MAX_DEPTH || path.len() > MAX_DIRECTORY_BYTES {
            return Err(Errno::NAMETOOLONG);
        }
        let below = match &path[whole.prefix..] {
            b"" => b".",
            below => below,
        };
        let directory = whole
            .search
            .workspace
            .open_dir_below(whole.top.as_fd(), below)?;
        if let Some(own_data) = whole.own_data {
            let stat = fstat(&directory)?;
            if file_id(&stat) == own_data {
                return Ok(None);
            }
        }
        let is_stopped = || whole.search.stop.is_due();
        let content = tree::read(directory.as_fd(), &mut self.buffer, &is_stopped)?;
        Ok(Some((directory, content)))
    }

    fn search(&mut self, files: &Files, batch: std::ops::Range<usize>) {
        let search = self.tree.search;
        self.path.truncate(self.root);
        self.path.extend_from_slice(&files.place.path);
        let start = self.path.len();
        for index in batch {
            let Some(name) = files.names.get(index) else {
                return;
            };
            if search.stop.is_stopped() {
                return;
            }
            self.path.truncate(start);
            self.path.extend_from_slice(name);
            let path = &self.path[self.root..];
            match search
                .workspace
                .open_file_below(files.directory.as_fd(), name)
            {
                Ok(Some(file)) => {
                    let before = self.reader.tally.total;
                    self.reader.search(&file, path);
                    if let Some(offset) = self.reader.binary
                        && self.reader.tally.total > before
                    {
                        let reason =
                            format!("the rest of it is binary: there is a NUL byte at {offset}");
                        search.skipped.note(path, reason);
                    }
                }
                // It is not a file any more.
                Ok(None) => {}
                Err(errno) => search.skipped.note_error(path, errno),
            }
        }
    }
}

/// Searches files, one after the other, with buffers that stay.
struct Reader<'a> {
    search: &'a Search<'a>,
    matcher: RegexMatcher,
    keeping: Searcher,
    /// For files whose matches are only counted.
    counting: Option<Searcher>,
    chunk: Vec<u8>,
    tally: Tally,
    /// Where the last file turned out to be binary.
    binary: Option<u64>,
}

impl<'a> Reader<'a> {
    fn new(search: &'a Search<'a>) -> Self {
        Reader {
            search,
            // A copy has its own scratch space, so that threads do not wait for each other.
            matcher: search.matcher.clone(),
            keeping: searcher(search, true),
            counting: None,
            chunk: vec![0; CHUNK],
            tally: Tally::default(),
            binary: None,
        }
    }

    /// Searches a file; the path is relative to the workspace.
    fn search(&mut self, file: &File, path: &[u8]) {
        let search = self.search;
        self.tally.searched += 1;
        let (total, searched) = if search.found.wants(path) {
            let context = search.context as u64;
            let mut lines = Lines::new(&self.matcher, search.found.max(), context);
            let run = run(
                &mut self.keeping,
                &self.matcher,
                file,
                search.stop,
                &mut self.chunk,
                &mut lines,
            );
            self.binary = lines.binary;
            if lines.total > 0 && !search.permission.covers(path) {
                return;
            }
            search.found.keep(path, lines.found);
            (lines.total, run)
        } else {
            let searcher = self.counting.get_or_insert_with(|| searcher(search, false));
            let mut count = Count::default();
            let run = run(
                searcher,
                &self.matcher,
                file,
                search.stop,
                &mut self.chunk,
                &mut count,
            );
            self.binary = count.binary;
            if count.total > 0 && !search.permission.covers(path) {
                return;
            }
            (count.total, run)
        };
        self.tally.total += total;
        self.tally.files += u64::from(total > 0);
        if let Err(error) = searched
            && !search.stop.is_stopped()
        {
            search.skipped.note(path, self.reason(&error));
        }
    }

    fn reason(&self, error: &io::Error) -> String {
        let size = size(MAX_HELD as u64);
        match error.raw_os_error() {
            None if self.search.multiline => {
                format!("it is larger than {size}, the most that `multiline` searches")
            }
            None => format!("a line of it is longer than {size}; it was searched up to there"),
            Some(_) => error.to_string(),
        }
    }
}

fn searcher(search: &Search<'_>, keeping: bool) -> Searcher {
    let context = if keeping { search.context } else { 0 };
    SearcherBuilder::new()
        .line_number(keeping)
        .before_context(context)
        .after_context(context)
        .multi_line(search.multiline)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_HELD))
        .build()
}

/// Searches a file. A small one, as most are, is read with one call of the system and searched where it lies.
fn run<S: grep_searcher::Sink<Error = io::Error>>(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    file: &File,
    stop: &Stop,
    chunk: &mut [u8],
    sink: S,
) -> io::Result<()> {
    let mut file = Stoppable { file, stop };
    let count = loop {
        match file.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    let start = &chunk[..count];
    match count < CHUNK {
        // Less than was asked for is the end of a file.
        true => searcher.search_slice(matcher, start, sink),
        false => searcher.search_reader(matcher, start.chain(file), sink),
    }
}
