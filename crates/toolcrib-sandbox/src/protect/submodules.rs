//! The submodules that an index names: `git status` in a work tree runs git in each of them, however deep it is and whatever the
//! directories on the way are called.
//!
//! Only links to commits ("gitlinks", mode 160000) are read; the format is that of git's `gitformat-index`, versions 2 to 4.

use super::{
    gitconfig::{self, Setting},
    names,
    watch::{State, git_directory, state},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read as _, Seek, SeekFrom},
    os::unix::{
        ffi::OsStrExt,
        fs::{FileExt, MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    rc::Rc,
};

/// The most submodules that are followed.
const MOST_SUBMODULES: usize = 20_000;

/// The longest index that is read.
const MOST_BYTES: u64 = 256 << 20;

/// How much of indexes is read in one look.
const MOST_BYTES_IN_ALL: u64 = 1 << 30;

/// The most extensions of an index: git writes ten kinds, each once.
const MOST_EXTENSIONS: usize = 64;

/// How long all names of links in an index may be together: in the fourth version each takes over what the one before begins with.
const MOST_NAMES: usize = 32 << 20;

/// The most bytes of one index that are read or copied; a step each.
const MOST_STEPS: u64 = 2 * MOST_BYTES;

/// The longest name in an index; paths that programs can open are shorter.
const MOST_NAME: u64 = 16 << 10;

/// What the indexes of a workspace name.
#[derive(Debug, Default)]
pub(super) struct Submodules {
    /// The indexes as they were when they were read, by the `.git` of their work tree.
    indexes: BTreeMap<PathBuf, Index>,
    /// Where the `.git` of each submodule is, or would be.
    gits: BTreeSet<PathBuf>,
}

/// An index when it was read.
#[derive(Debug, Default, PartialEq)]
struct Index {
    state: Option<State>,
    /// The larger part of one that is split in two, and its state.
    shared: Option<(PathBuf, Option<State>)>,
}

/// What an update found.
#[derive(Debug, Default)]
pub(super) struct Updated {
    /// The `.git`s of submodules that exist.
    pub(super) there: Vec<PathBuf>,
    /// Indexes that are new or changed and name more submodules than can be followed, or cannot be read to their end.
    pub(super) unclear: Vec<PathBuf>,
}

impl Submodules {
    /// Reads what has changed of the indexes of these `.git`s and of all submodules.
    pub(super) fn update(&mut self, root: &Path, mut gits: Vec<PathBuf>) -> Updated {
        gits.extend(self.gits.iter().cloned());
        let mut updated = Updated::default();
        let mut reading = Reading::default();
        while let Some(path) = gits.pop() {
            let git = git_directory(&path, root);
            // One that leads elsewhere, or that only git understands, is there as well.
            if self.gits.contains(&path) && (git.is_some() || path.symlink_metadata().is_ok()) {
                updated.there.push(path.clone());
            }
            let Some(git) = git else { continue };
            let Some(tree) = path.parent() else { continue };
            let file = git.join("index");
            let is_known = self.indexes.get(&path).is_some_and(|known| {
                let shared = known.shared.iter();
                known.state == state(&file)
                    && shared.into_iter().all(|(part, then)| state(part) == *then)
            });
            if is_known {
                continue;
            }
            let (links, index) = Index::read(&git, &file, &mut reading);
            self.indexes.insert(path.clone(), index);
            let Some(links) = links else {
                updated.unclear.push(file);
                continue;
            };
            for link in links.iter() {
                let link = tree.join(link).join(".git");
                if self.gits.len() >= MOST_SUBMODULES {
                    updated.unclear.push(file.clone());
                    break;
                }
                if self.gits.insert(link.clone()) {
                    gits.push(link);
                }
            }
        }
        updated.there.sort();
        updated.there.dedup();
        updated
    }
}

/// How many submodules an index names, if it can be read to its end, and how many steps that took: for tests of how much that may cost.
#[doc(hidden)]
pub fn submodules_of_index(index: &Path) -> (Option<usize>, u64) {
    let how = How {
        object_name: 20,
        all: false,
    };
    let mut reading = Reading::default();
    let links = reading.read(index, how);
    (links.map(|links| links.paths.len()), reading.steps)
}

/// What was read in one look: of a file with many names, once.
#[derive(Debug, Default)]
struct Reading {
    bytes: u64,
    steps: u64,
    /// By device, inode, and how it was read.
    files: BTreeMap<(u64, u64, How), Option<Rc<Links>>>,
}

/// How an index is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct How {
    /// How long the names of objects are.
    object_name: usize,
    /// Whether every entry counts as a link.
    all: bool,
}

/// What an index says of links.
#[derive(Debug, Default)]
struct Links {
    paths: Vec<PathBuf>,
    /// The name of the larger part of an index that is split in two.
    shared: Option<String>,
    /// Whether an entry of the larger part, which has its name, is made a link.
    names_are_shared: bool,
    /// How many bytes were read or copied for it.
    steps: u64,
}

impl Links {
    /// Counts work; an error if that is too much.
    fn pay(&mut self, steps: u64) -> io::Result<()> {
        self.steps += steps;
        match self.steps <= MOST_STEPS {
            true => Ok(()),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

impl Reading {
    /// The links of an index, or of the shared part of one; none if it cannot be read to its end.
    fn read(&mut self, index: &Path, how: How) -> Option<Rc<Links>> {
        let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
        let file = File::options()
            .read(true)
            .custom_flags(flags)
            .open(index)
            .ok()?;
        let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let known = (metadata.dev(), metadata.ino(), how);
        if let Some(read) = self.files.get(&known) {
            return read.clone();
        }
        self.bytes += metadata.len().min(MOST_BYTES);
        let is_within = metadata.len() <= MOST_BYTES && self.bytes <= MOST_BYTES_IN_ALL;
        let mut links = Links::default();
        let is_read = is_within && read(file, metadata.len(), how, &mut links).is_ok();
        self.steps += links.steps;
        let read = is_read.then(|| Rc::new(links));
        self.files.insert(known, read.clone());
        read
    }
}

impl Index {
    /// The submodules that an index names, relative to its work tree; none if it cannot be read to its end.
    fn read(git: &Path, file: &Path, reading: &mut Reading) -> (Option<Vec<PathBuf>>, Self) {
        // How long the names of objects are depends on the configuration. In doubt the index is read both ways: a path that was never
        // meant leads to no repository.
        let common = names::common_directory(git);
        let configuration = names::read_whole(&common.as_deref().unwrap_or(git).join("config"));
        let settings = configuration.and_then(|text| gitconfig::read(&text));
        let is_format =
            |setting: &Setting| setting.section == "extensions" && setting.key == "objectformat";
        let object_names: &[usize] = match settings {
            Some(settings) if !settings.iter().any(is_format) => &[20],
            _ => &[20, 32],
        };
        let mut index = Index {
            state: state(file),
            shared: None,
        };
        let mut links = Vec::new();
        let mut is_clear = index.state.is_none();
        for object_name in object_names.iter().copied() {
            let how = How {
                object_name,
                all: false,
            };
            let Some(found) = reading.read(file, how) else {
                continue;
            };
            links.extend_from_slice(&found.paths);
            let Some(name) = &found.shared else {
                is_clear = true;
                continue;
            };
            let shared = git.join(format!("sharedindex.{name}"));
            index.shared = Some((shared.clone(), state(&shared)));
            let all = found.names_are_shared;
            if let Some(found) = reading.read(&shared, How { object_name, all }) {
                links.extend_from_slice(&found.paths);
                is_clear = true;
            }
        }
        links.sort();
        links.dedup();
        (is_clear.then_some(links), index)
    }
}

/// Reads the links of an index of this length.
fn read(file: File, length: u64, how: How, links: &mut Links) -> io::Result<()> {
    let end_of_entries = end_of_entries(&file, how.object_name)?;
    let mut from = BufReader::with_capacity(64 << 10, file);
    let entries = read_entries(&mut from, how, links)?;
    if end_of_entries.is_some_and(|end| u64::from(end) != entries.end) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // The last bytes are a sum of all others.
    let end = length.saturating_sub(how.object_name as u64);
    links.shared = shared_part(&mut from, end, how.object_name, &entries, links)?;
    Ok(())
}

/// Where the entries of an index end by its last extension, `EOIE`, which git looks for from the end of the file.
fn end_of_entries(index: &File, object_name: usize) -> io::Result<Option<u32>> {
    let mut tail = vec![0; 12 + 2 * object_name];
    let Some(at) = index.metadata()?.len().checked_sub(tail.len() as u64) else {
        return Ok(None);
    };
    index.read_exact_at(&mut tail, at)?;
    let is_one = &tail[..4] == b"EOIE" && number(&tail[4..8]) as usize == 4 + object_name;
    Ok(is_one.then(|| number(&tail[8..12])))
}

/// Where the entries of an index are.
struct Entries {
    /// Where each begins; none if its name rests on the one before.
    begin: Vec<Option<u64>>,
    end: u64,
}

impl Entries {
    /// Whether a table of blocks (the extension `IEOT`) says what the entries themselves say: git reads large indexes by it, with several
    /// threads.
    fn are_as_in(&self, table: &[u8]) -> bool {
        let Some((_version, blocks)) = table.split_at_checked(4) else {
            return false;
        };
        let mut next = 0;
        for block in blocks.chunks(8) {
            let Some((offset, count)) = block.split_at_checked(4) else {
                return false;
            };
            let begin = self.begin.get(next).copied().flatten();
            let count = number(count) as usize;
            if count > 0 && begin != Some(number(offset).into()) {
                return false;
            }
            next += count;
        }
        next == self.begin.len()
    }
}

/// The name of the shared part, by the extension `link`; the last one counts. Git skips extensions that it does not know if their names
/// begin with a capital letter.
fn shared_part(
    from: &mut (impl BufRead + Seek),
    end: u64,
    object_name: usize,
    entries: &Entries,
    links: &mut Links,
) -> io::Result<Option<String>> {
    let mut shared = None;
    let mut at = entries.end;
    for number_of_extensions in 0.. {
        if at + 8 > end {
            break;
        }
        if number_of_extensions == MOST_EXTENSIONS {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut head = [0; 8];
        from.read_exact(&mut head)?;
        let length = number(&head[4..]);
        at += 8 + u64::from(length);
        if at > end {
            return Err(io::ErrorKind::InvalidData.into());
        }
        links.pay(head.len() as u64)?;
        match &head[..4] {
            b"link" => {
                links.pay(object_name as u64)?;
                let mut name = vec![0; object_name];
                from.read_exact(&mut name)?;
                shared = Some(name.iter().map(|byte| format!("{byte:02x}")).collect());
            }
            b"IEOT" => {
                // No block is empty.
                if length as usize > 4 + 8 * entries.begin.len() {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                links.pay(length.into())?;
                let mut table = vec![0; length as usize];
                from.read_exact(&mut table)?;
                if !entries.are_as_in(&table) {
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
            b"sdir" | [b'A'..=b'Z', ..] => {}
            // Git does not take an index with one that it does not know.
            _ => return Ok(shared),
        }
        from.seek(SeekFrom::Start(at))?;
    }
    Ok(shared)
}

fn read_entries(from: &mut impl BufRead, how: How, links: &mut Links) -> io::Result<Entries> {
    const LINK: u32 = 0o160_000;
    const EXTENDED: u32 = 0x4000;
    /// How long a name is; of longer ones the end is searched for.
    const LENGTH: u32 = 0xfff;
    let mut head = [0; 12];
    from.read_exact(&mut head)?;
    let (mark, version, count) = (&head[..4], number(&head[4..8]), number(&head[8..]));
    if mark != b"DIRC" || !(2..=4).contains(&version) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut entries = Entries {
        begin: Vec::new(),
        end: head.len() as u64,
    };
    let mut name = Vec::new();
    let mut names = 0;
    let mut entry = vec![0; 40 + how.object_name + 2];
    for _ in 0..count {
        from.read_exact(&mut entry)?;
        let mut length = entry.len();
        let flags = number(&entry[length - 2..]);
        // In every version, whatever the format says about the second.
        if flags & EXTENDED != 0 {
            from.read_exact(&mut [0; 2])?;
            length += 2;
        }
        if version == 4 {
            let (cut, bytes) = varint(from)?;
            let kept = name.len().checked_sub(cut);
            name.truncate(kept.ok_or(io::ErrorKind::InvalidData)?);
            length += bytes;
        } else {
            name.clear();
        }
        let before = name.len();
        from.take(MOST_NAME).read_until(0, &mut name)?;
        if name.pop() != Some(0) || name.len() as u64 >= MOST_NAME {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // Git takes as much as this for the name, whatever is in it.
        let expected = flags & LENGTH;
        if expected != LENGTH && name.len() != expected as usize {
            return Err(io::ErrorKind::InvalidData.into());
        }
        length += name.len() - before;
        let zeros = match version {
            4 => 1,
            // Entries end at multiples of eight bytes.
            _ => 8 - length % 8,
        };
        // One was read.
        from.read_exact(&mut [0; 8][..zeros - 1])?;
        entries.begin.push((before == 0).then_some(entries.end));
        entries.end += (length + zeros) as u64;
        links.pay((length + zeros) as u64)?;
        let is_link = number(&entry[24..28]) & 0o170_000 == LINK;
        if is_link && name.is_empty() {
            links.names_are_shared = true;
        } else if is_link || how.all {
            names += name.len();
            links.pay(name.len() as u64)?;
            if links.paths.len() > MOST_SUBMODULES || names > MOST_NAMES {
                return Err(io::ErrorKind::InvalidData.into());
            }
            // Git writes no others, and follows them: `./a`, `b/../a`, `/a`.
            let is_plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
            if !name.split(|byte| *byte == b'/').all(is_plain) {
                return Err(io::ErrorKind::InvalidData.into());
            }
            links.paths.push(OsStr::from_bytes(&name).into());
        }
    }
    Ok(entries)
}

fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// A number as the fourth version has it, and how many bytes it takes: seven bits in each byte, the most significant first, and one is
/// added for each byte that follows.
fn varint(from: &mut impl BufRead) -> io::Result<(usize, usize)> {
    let mut byte = [0];
    from.read_exact(&mut byte)?;
    let mut value = usize::from(byte[0] & 0x7f);
    let mut bytes = 1;
    while byte[0] & 0x80 != 0 {
        from.read_exact(&mut byte)?;
        bytes += 1;
        value = value
            .checked_add(1)
            .filter(|value| *value < MOST_BYTES as usize)
            .ok_or(io::ErrorKind::InvalidData)?
            << 7
            | usize::from(byte[0] & 0x7f);
    }
    Ok((value, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{os::unix::fs::PermissionsExt, process::Command};

    const HOW: How = How {
        object_name: 20,
        all: false,
    };

    fn git(directory: &Path, words: &[&str]) {
        let status = Command::new("git")
            .args([
                "-c",
                "user.name=x",
                "-c",
                "user.email=x@example.org",
                "-c",
                "core.hooksPath=/dev/null",
            ])
            .args(words)
            .current_dir(directory)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(status.status.success(), "{words:?}: {status:?}");
    }

    #[test]
    fn submodules_are_found_in_every_kind_of_index() {
        for format in ["sha1", "sha256"] {
            for version in ["2", "3", "4"] {
                for is_split in [false, true] {
                    let root = tempfile::tempdir().unwrap();
                    let root = root.path();
                    let object_format = format!("--object-format={format}");
                    git(root, &["init", "-q", &object_format]);
                    // So that there is a table of blocks.
                    git(root, &["config", "index.threads", "3"]);
                    for name in [
                        "a",
                        "node_modules/deep/module",
                        "node_modules/deep/module2",
                        "z",
                    ] {
                        let path = root.join(name);
                        fs::create_dir_all(&path).unwrap();
                        git(&path, &["init", "-q", &object_format]);
                        git(&path, &["commit", "-q", "--allow-empty", "-m", "x"]);
                    }
                    for name in ["b", "m", "node_modules/file", "zz"] {
                        fs::write(root.join(name), name).unwrap();
                    }
                    git(
                        root,
                        &["-c", "advice.addEmbeddedRepo=false", "add", "-f", "."],
                    );
                    if version == "3" {
                        // Only what needs it has it.
                        git(root, &["rm", "-q", "--cached", "zz"]);
                        git(root, &["add", "-N", "zz"]);
                    } else {
                        git(root, &["update-index", "--index-version", version]);
                    }
                    if is_split {
                        git(root, &["update-index", "--split-index"]);
                    }
                    let index = fs::read(root.join(".git/index")).unwrap();
                    if !is_split {
                        assert_eq!(number(&index[4..8]).to_string(), version);
                        let has = |name: &[u8]| index.windows(4).any(|bytes| bytes == name);
                        assert!(has(b"IEOT") && has(b"EOIE"), "{format} {version}");
                    }
                    let mut found = Submodules::default();
                    let there = found.update(root, vec![root.join(".git")]).there;
                    let names = [
                        "a",
                        "node_modules/deep/module",
                        "node_modules/deep/module2",
                        "z",
                    ];
                    let expected = names.map(|name| root.join(name).join(".git"));
                    assert_eq!(there, expected, "{format} {version} {is_split}");
                }
            }
        }
    }

    #[test]
    fn an_index_that_is_none_names_nothing() {
        for bytes in [
            &b""[..],
            b"DIRC",
            b"DIRC\0\0\0\x02\xff\xff\xff\xff",
            &[b"DIRC\0\0\0\x04\xff\xff\xff\xff".as_slice(), &[0xff; 4096]].concat(),
            &[b"DIRC\0\0\0\x02\0\0\0\x01".as_slice(), &[1; 100_000]].concat(),
        ] {
            let mut links = Links::default();
            let _ = read_entries(&mut &*bytes, HOW, &mut links);
            assert_eq!(links.paths, Vec::<PathBuf>::new());
        }
    }
    /// An entry of an index with names of 20 bytes, whose flags say this.
    fn entry(mode: u32, flags: u16, name: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 24];
        bytes.extend(mode.to_be_bytes());
        bytes.resize(60, 0);
        bytes.extend(flags.to_be_bytes());
        bytes.extend(name);
        bytes.resize(bytes.len() + 8 - bytes.len() % 8, 0);
        bytes
    }

    fn submodules(version: u8, entries: &[Vec<u8>]) -> io::Result<Vec<PathBuf>> {
        let mut index = b"DIRC\0\0\0".to_vec();
        index.extend([version, 0, 0, 0, entries.len() as u8]);
        index.extend(entries.concat());
        let mut links = Links::default();
        read_entries(&mut &*index, HOW, &mut links)?;
        Ok(links.paths)
    }

    #[test]
    fn entries_are_as_long_as_their_flags_say() {
        let link = || entry(0o160_000, 3, b"a/b");
        let found = [PathBuf::from("a/b")];
        // Two more bytes of flags, in any version.
        let extended = entry(0o100_644, 0x4001, b"\0\0x");
        for version in [2, 3] {
            let read = submodules(version, &[extended.clone(), link()]).unwrap();
            assert_eq!(read, found, "{version}");
        }
        let long = vec![b'x'; 5000];
        let read = submodules(2, &[entry(0o100_644, 0xfff, &long), link()]).unwrap();
        assert_eq!(read, found);
        // A zero in a name, which git takes for the end of it in some places and not in others.
        let name = [b"a\0".as_slice(), &link()].concat();
        let strange = entry(0o100_644, name.len() as u16, &name);
        submodules(2, &[strange, link()]).unwrap_err();
        submodules(2, &[entry(0o100_644, 1, b"longer"), link()]).unwrap_err();
        submodules(2, &[entry(0o100_644, 0xfff, &[b'x'; 20_000]), link()]).unwrap_err();
    }

    #[test]
    fn an_index_with_names_that_git_never_writes_is_not_understood() {
        for name in ["./a/b", "a/../b", "/a/b", "a//b", "a/b/", "."] {
            let strange = entry(0o160_000, name.len() as u16, name.as_bytes());
            submodules(2, &[strange]).unwrap_err();
        }
    }

    #[test]
    fn an_index_whose_shared_part_cannot_be_read_is_unclear() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        git(root, &["init", "-q"]);
        fs::write(root.join("a"), "a").unwrap();
        git(root, &["add", "a"]);
        git(root, &["update-index", "--split-index"]);
        let unclear = || {
            let git = vec![root.join(".git")];
            Submodules::default().update(root, git).unclear
        };
        assert!(unclear().is_empty());
        let directory = root.join(".git");
        let shared = names::entries(&directory);
        let mut shared = shared.filter(|path| path.display().to_string().contains("sharedindex"));
        let shared = shared.next().unwrap();
        let mut bytes = fs::read(&shared).unwrap();
        // The length of the name of its first entry.
        bytes[73] += 1;
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&shared, bytes).unwrap();
        assert_eq!(unclear(), [root.join(".git/index")]);
    }

    #[test]
    fn a_link_whose_name_is_in_the_shared_part_is_found() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        git(root, &["init", "-q"]);
        fs::write(root.join("a"), "a").unwrap();
        git(root, &["add", "a"]);
        git(
            root,
            &[
                "-c",
                "splitIndex.maxPercentChange=100",
                "update-index",
                "--split-index",
            ],
        );
        fs::remove_file(root.join("a")).unwrap();
        let module = root.join("a");
        fs::create_dir(&module).unwrap();
        git(&module, &["init", "-q"]);
        git(&module, &["commit", "-q", "--allow-empty", "-m", "x"]);
        let id = fs::read_to_string(module.join(".git/refs/heads/master"))
            .or_else(|_| fs::read_to_string(module.join(".git/refs/heads/main")))
            .unwrap();
        let link = format!("160000,{},a", id.trim());
        git(
            root,
            &[
                "-c",
                "splitIndex.maxPercentChange=100",
                "update-index",
                "--cacheinfo",
                &link,
            ],
        );
        let mut found = Submodules::default();
        let updated = found.update(root, vec![root.join(".git")]);
        assert_eq!(updated.there, [root.join("a/.git")]);
    }

    #[test]
    fn an_index_behind_many_names_is_read_once_and_all_together_have_a_bound() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let first = root.join("0");
        let index = [
            b"DIRC\0\0\0\x02\0\0\0\0AAAA".as_slice(),
            &(MOST_BYTES as u32 - 40).to_be_bytes(),
        ];
        fs::write(&first, index.concat()).unwrap();
        let sparse = |path: &Path| {
            let file = File::options().write(true).open(path).unwrap();
            file.set_len(MOST_BYTES).unwrap();
        };
        sparse(&first);
        let mut reading = Reading::default();
        for name in ["1", "2", "3", "4", "5", "6"] {
            fs::hard_link(&first, root.join(name)).unwrap();
            assert!(reading.read(&root.join(name), HOW).is_some());
        }
        assert_eq!(reading.bytes, MOST_BYTES);
        for (name, is_read) in [("a", true), ("b", true), ("c", true), ("d", false)] {
            let path = root.join(name);
            fs::write(&path, index.concat()).unwrap();
            sparse(&path);
            assert_eq!(reading.read(&path, HOW).is_some(), is_read, "{name}");
        }
        File::options()
            .write(true)
            .open(&first)
            .unwrap()
            .set_len(MOST_BYTES + 1)
            .unwrap();
        assert!(Reading::default().read(&first, HOW).is_none());
    }

    #[test]
    fn the_shared_part_is_found_behind_extensions_that_git_skips() {
        let id = [0xab; 20];
        let extension = |name: &[u8; 4], content: &[u8]| {
            let length = (content.len() as u32).to_be_bytes();
            [name.as_slice(), &length, content].concat()
        };
        let parts = [
            extension(b"A123", b"x"),
            extension(b"sdir", b""),
            extension(b"link", &[1; 24]),
            extension(b"TREE", b"xyz"),
            extension(b"link", &id),
            vec![0xff; 20],
        ];
        let none = Entries {
            begin: Vec::new(),
            end: 12,
        };
        let shared = |bytes: &[u8]| {
            let index = [&[0; 12], bytes].concat();
            let end = index.len() as u64 - 20;
            let mut from = io::Cursor::new(index);
            from.set_position(12);
            shared_part(&mut from, end, 20, &none, &mut Links::default())
        };
        assert_eq!(shared(&parts.concat()).unwrap(), Some("ab".repeat(20)));
        // An extension that is longer than the file.
        let mut cut = extension(b"AAAA", &[0; 100]);
        cut.truncate(90);
        shared(&cut).unwrap_err();
    }

    #[test]
    fn an_index_whose_tables_lead_elsewhere_is_not_understood() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("index");
        let numbers = |numbers: &[u32]| {
            let bytes = numbers.iter().flat_map(|number| number.to_be_bytes());
            bytes.collect::<Vec<u8>>()
        };
        let link = entry(0o160_000, 3, b"a/b");
        let end = 12 + 2 * link.len() as u32;
        let second = 12 + link.len() as u32;
        let is_understood = |blocks: &[u32], end: u32| {
            let parts = [
                b"DIRC".to_vec(),
                numbers(&[2, 2]),
                link.repeat(2),
                b"IEOT".to_vec(),
                numbers(&[4 + 4 * blocks.len() as u32, 1]),
                numbers(blocks),
                b"EOIE".to_vec(),
                numbers(&[24, end]),
                vec![0; 40],
            ];
            fs::write(&file, parts.concat()).unwrap();
            Reading::default().read(&file, HOW).is_some()
        };
        assert!(is_understood(&[12, 2], end));
        assert!(is_understood(&[12, 1, second, 1], end));
        assert!(!is_understood(&[12, 1, second, 1], end + 8));
        assert!(!is_understood(&[12, 1, second + 8, 1], end));
        assert!(!is_understood(&[12, 1], end));
        assert!(!is_understood(&[12, 1, second, 2], end));
    }
}
