//! Every path is tried with the kernel's resolution and with the one by hand: both must give the
//! same answer.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;

use super::*;

/// `outer/out/canary` outside, `outer/ws` with a small tree and links of all kinds.
struct Tree {
    outer: tempfile::TempDir,
}

const CANARY: &str = "SECRET-CANARY";

impl Tree {
    fn new() -> Self {
        let outer = tempfile::tempdir().unwrap();
        let ws = outer.path().join("ws");
        fs::create_dir_all(ws.join("sub/deep")).unwrap();
        fs::create_dir_all(outer.path().join("out")).unwrap();
        fs::create_dir_all(outer.path().join("ws-evil")).unwrap();
        fs::write(outer.path().join("out/canary"), CANARY).unwrap();
        fs::write(outer.path().join("ws-evil/s"), CANARY).unwrap();
        fs::write(ws.join("f"), "f").unwrap();
        fs::write(ws.join("sub/f"), "sub/f").unwrap();
        fs::write(ws.join("..%2fout%2fcanary"), "percent").unwrap();
        for (target, name) in [
            ("..", "up"),
            ("../out/canary", "out-by-dots"),
            ("/proc/self/root", "magic"),
            ("sub", "inside"),
            ("sub/", "inside-slash"),
            ("sub/../f", "inside-dots"),
            ("../../f", "sub/deep/climb"),
            ("../../../out/canary", "sub/deep/climb-out"),
            ("b", "a"),
            ("a", "b"),
            ("f/", "file-slash"),
            ("missing", "dangling"),
        ] {
            symlink(target, ws.join(name)).unwrap();
        }
        symlink(ws.join("f"), ws.join("absolute-inside")).unwrap();
        symlink(outer.path().join("out"), ws.join("absolute-outside")).unwrap();
        // hop1 → f, hop2 → hop1, …: the kernel follows 40 links and no more.
        symlink("f", ws.join("hop1")).unwrap();
        for hop in 2..=41 {
            symlink(format!("hop{}", hop - 1), ws.join(format!("hop{hop}"))).unwrap();
        }
        Tree { outer }
    }

    fn root(&self) -> PathBuf {
        self.outer.path().join("ws")
    }

    /// What reading a path gives, however it is resolved.
    fn read(&self, path: &str) -> Result<String, ErrorCode> {
        let [kernel, by_hand] = self.workspaces().map(|workspace| {
            read(&workspace, path).map_err(|error| {
                let host = self.outer.path().to_str().unwrap();
                assert!(!error.message().contains(host), "{error}");
                assert!(!error.message().contains(CANARY), "{error}");
                error.code()
            })
        });
        assert_eq!(kernel, by_hand, "{path}");
        kernel
    }

    fn workspaces(&self) -> [Workspace; 2] {
        let kernel = Workspace::open(&self.root()).unwrap();
        if kernel.resolver == Resolver::ByHand {
            eprintln!("SKIPPED: no openat2 on this machine, only the resolution by hand is tested");
        }
        [
            kernel,
            Workspace::open_without_openat2(&self.root()).unwrap(),
        ]
    }
}

fn read(workspace: &Workspace, path: &str) -> Result<String, ToolError> {
    let (mut file, metadata) = workspace.open_file(&workspace.path(path)?)?;
    let mut content = String::new();
    file.read_to_string(&mut content).unwrap();
    assert_eq!(metadata.size, content.len() as u64);
    Ok(content)
}

#[test]
fn paths_that_stay_inside_are_opened() {
    let tree = Tree::new();
    for (path, content) in [
        ("f", "f"),
        ("./f", "f"),
        ("sub//f", "sub/f"),
        ("sub/./deep/../f", "sub/f"),
        ("sub/../sub/../f", "f"),
        ("inside/f", "sub/f"),
        ("inside/../f", "f"),
        ("inside-slash/f", "sub/f"),
        ("inside-dots", "f"),
        ("sub/deep/climb", "f"),
        ("hop40", "f"),
        ("..%2fout%2fcanary", "percent"),
    ] {
        assert_eq!(tree.read(path), Ok(content.to_owned()), "{path}");
    }
}

#[test]
fn paths_that_lead_out_are_refused() {
    let tree = Tree::new();
    for path in [
        "..",
        "../out/canary",
        "../ws/f",
        "../ws-evil/s",
        "sub/../../out/canary",
        "up/out/canary",
        "up",
        "out-by-dots",
        "magic/etc/passwd",
        "absolute-outside/canary",
        // Inside in fact, but an absolute link means another place in every other mount.
        "absolute-inside",
        "sub/deep/climb-out",
        "a",
        "a/x",
        "hop41",
    ] {
        assert_eq!(tree.read(path), Err(ErrorCode::InvalidPath), "{path}");
    }
}

#[test]
fn what_is_not_there_is_not_found_whatever_it_looks_like() {
    let tree = Tree::new();
    for path in [
        "missing",
        "sub/missing/f",
        "f/x",
        "f/",
        "f/..",
        "file-slash",
        "dangling",
        "~/f",
        "~",
        "%2e%2e/out/canary",
        "%252e%252e/out",
        "..\\out\\canary",
        "$HOME",
    ] {
        assert_eq!(tree.read(path), Err(ErrorCode::FileNotFound), "{path}");
    }
}

#[test]
fn a_text_that_is_not_a_path_is_refused_before_anything_is_opened() {
    let tree = Tree::new();
    let longest = format!("{}f", "./".repeat(2047));
    assert_eq!(
        (longest.len(), tree.read(&longest)),
        (4095, Ok("f".to_owned()))
    );
    let too_long = format!("{}f", "./".repeat(2048));
    for path in [
        "",
        "a\0/../../out/canary",
        "f\0",
        &too_long,
        &"x".repeat(256),
    ] {
        assert_eq!(tree.read(path), Err(ErrorCode::InvalidPath), "{path:?}");
    }
    let workspace = &tree.workspaces()[0];
    assert!(
        workspace.path("f\0").is_err(),
        "before any call to the system"
    );
    let error = workspace.path("").unwrap_err();
    assert_eq!(
        error.message(),
        "the path is empty; use `.` for the workspace itself"
    );
}

#[test]
fn an_absolute_path_counts_only_beneath_the_root_name_by_name() {
    let tree = Tree::new();
    let root = tree.root().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    for (path, expected) in [
        (format!("{root}/sub/f"), Ok("sub/f")),
        (format!("/{root}//./sub/f"), Ok("sub/f")),
        (format!("{root}/sub/../f"), Ok("f")),
        (format!("{root}/f/"), Err(ErrorCode::FileNotFound)),
        (root.to_owned(), Err(ErrorCode::InvalidPath)),
        (format!("{root}-evil/s"), Err(ErrorCode::InvalidPath)),
        (format!("{root}/../out/canary"), Err(ErrorCode::InvalidPath)),
        (format!("{root}/up/out/canary"), Err(ErrorCode::InvalidPath)),
        ("/".to_owned(), Err(ErrorCode::InvalidPath)),
        ("/etc/passwd".to_owned(), Err(ErrorCode::InvalidPath)),
    ] {
        assert_eq!(tree.read(&path), expected.map(str::to_owned), "{path}");
    }
}

#[test]
fn a_root_that_is_a_link_is_known_by_both_names() {
    let tree = Tree::new();
    let link = tree.outer.path().join("link");
    symlink("ws", &link).unwrap();
    for open in [Workspace::open, Workspace::open_without_openat2] {
        let workspace = open(&link).unwrap();
        assert_eq!(workspace.root(), tree.root().canonicalize().unwrap());
        for name in [&link, workspace.root()] {
            let path = name.join("sub/f");
            assert_eq!(
                read(&workspace, path.to_str().unwrap()),
                Ok("sub/f".to_owned())
            );
        }
    }
}

#[test]
fn magic_links_are_refused_even_where_they_lie_inside() {
    for open in [Workspace::open, Workspace::open_without_openat2] {
        let workspace = open(Path::new("/proc/self")).unwrap();
        assert!(read_bytes(&workspace, "limits").is_ok());
        for path in [
            "root/etc/passwd",
            "cwd",
            "exe",
            "fd/0",
            "task/../root/etc/passwd",
        ] {
            let error = read_bytes(&workspace, path).unwrap_err();
            let expected = [ErrorCode::InvalidPath, ErrorCode::FileNotFound];
            assert!(expected.contains(&error.code()), "{path}: {error:?}");
        }
    }
}

/// The files of `/proc` have content and no size.
fn read_bytes(workspace: &Workspace, path: &str) -> Result<Vec<u8>, ToolError> {
    let (mut file, _) = workspace.open_file(&workspace.path(path)?)?;
    let mut content = Vec::new();
    file.read_to_end(&mut content).unwrap();
    Ok(content)
}

#[test]
fn only_regular_files_are_files_and_nothing_waits() {
    let tree = Tree::new();
    rustix::fs::mkfifoat(CWD, tree.root().join("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.root().join("socket")).unwrap();
    let dev = Workspace::open(Path::new("/dev")).unwrap();
    for workspace in tree.workspaces() {
        for (workspace, path, words) in [
            (&workspace, "sub", "list it with list_directory"),
            (&workspace, ".", "list it with list_directory"),
            (&workspace, "fifo", "it is a FIFO"),
            (&workspace, "socket", "it is a socket"),
            (&dev, "zero", "it is a device"),
        ] {
            let error = workspace
                .open_file(&workspace.path(path).unwrap())
                .unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidPath, "{path}");
            assert!(error.message().contains(words), "{error}");
        }
    }
}

#[test]
fn a_directory_is_opened_and_a_file_says_that_it_is_one() {
    let tree = Tree::new();
    for workspace in tree.workspaces() {
        for path in [".", "sub", "sub/", "inside", "sub/deep/..", "sub/.."] {
            assert!(
                workspace.open_dir(&workspace.path(path).unwrap()).is_ok(),
                "{path}"
            );
        }
        for (path, code, words) in [
            ("f", ErrorCode::InvalidPath, "read it with read_file"),
            (
                "inside-dots",
                ErrorCode::InvalidPath,
                "read it with read_file",
            ),
            ("f/x", ErrorCode::FileNotFound, "not a directory"),
            ("missing", ErrorCode::FileNotFound, "no such file"),
            ("..", ErrorCode::InvalidPath, "outside the workspace"),
            ("up", ErrorCode::InvalidPath, "outside the workspace"),
            ("a", ErrorCode::InvalidPath, "in a circle"),
        ] {
            let error = workspace
                .open_dir(&workspace.path(path).unwrap())
                .unwrap_err();
            assert_eq!(error.code(), code, "{path}");
            assert!(error.message().contains(words), "{error}");
        }
    }
}

#[test]
fn the_parent_of_a_name_is_found_without_looking_at_the_name() {
    let tree = Tree::new();
    for workspace in tree.workspaces() {
        for (path, expected) in [
            ("new", Ok("new")),
            ("sub/new", Ok("new")),
            ("inside/new", Ok("new")),
            ("sub/deep/", Ok("deep")),
            ("out-by-dots", Ok("out-by-dots")),
            ("a", Ok("a")),
            ("a/x", Err(ErrorCode::InvalidPath)),
            ("up/new", Err(ErrorCode::InvalidPath)),
            ("../new", Err(ErrorCode::InvalidPath)),
            ("absolute-outside/new", Err(ErrorCode::InvalidPath)),
            ("missing/new", Err(ErrorCode::FileNotFound)),
            ("f/new", Err(ErrorCode::FileNotFound)),
            (".", Err(ErrorCode::InvalidPath)),
            ("sub/..", Err(ErrorCode::InvalidPath)),
        ] {
            let found = workspace.open_parent(&workspace.path(path).unwrap());
            let name = found.map(|(_, name)| name.into_string().unwrap());
            assert_eq!(
                name.map_err(|error| error.code()),
                expected.map(str::to_owned),
                "{path}"
            );
        }
    }
}

#[test]
fn walking_by_hand_holds_no_more_than_its_share_of_descriptors() {
    let tree = Tree::new();
    let deep = "d/".repeat(300);
    fs::create_dir_all(tree.root().join(&deep)).unwrap();
    fs::write(tree.root().join(&deep).join("f"), "deep").unwrap();
    let [kernel, by_hand] = tree.workspaces();
    assert_eq!(read(&kernel, &format!("{deep}f")), Ok("deep".to_owned()));
    let error = read(&by_hand, &format!("{deep}f")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidPath);
}

#[test]
fn messages_show_what_could_deceive_and_never_where_the_workspace_is() {
    let tree = Tree::new();
    let workspace = &tree.workspaces()[0];
    let error = read(workspace, "invoice\u{202e}fdp.exe").unwrap_err();
    assert_eq!(
        error.message(),
        "cannot open `invoice\\u{202e}fdp.exe`: there is no such file or directory; list the directory to see what is there"
    );
    let absolute = tree.root().canonicalize().unwrap().join("nowhere");
    let error = read(workspace, absolute.to_str().unwrap()).unwrap_err();
    assert!(
        error.message().starts_with("cannot open `nowhere`: "),
        "{error}"
    );
    let long = format!("{}/x", "y".repeat(200));
    let error = read(workspace, &format!("{long}/{long}")).unwrap_err();
    assert!(error.message().len() < 450, "{error}");
}

#[test]
fn error_numbers_become_the_codes_of_s2() {
    let tree = Tree::new();
    let path = tree.workspaces()[0].path("f").unwrap();
    for (errno, code) in [
        (Errno::NOENT, ErrorCode::FileNotFound),
        (Errno::NOTDIR, ErrorCode::FileNotFound),
        (Errno::ACCESS, ErrorCode::PermissionDenied),
        (Errno::PERM, ErrorCode::PermissionDenied),
        (Errno::XDEV, ErrorCode::InvalidPath),
        (Errno::LOOP, ErrorCode::InvalidPath),
        (Errno::NAMETOOLONG, ErrorCode::InvalidPath),
        (Errno::INVAL, ErrorCode::InvalidPath),
        (Errno::MFILE, ErrorCode::ExecutionError),
        (Errno::IO, ErrorCode::ExecutionError),
        (Errno::STALE, ErrorCode::ExecutionError),
        (Errno::EXIST, ErrorCode::FileExists),
        (Errno::ISDIR, ErrorCode::InvalidPath),
        (Errno::NOSPC, ErrorCode::ExecutionError),
        (Errno::DQUOT, ErrorCode::ExecutionError),
        (Errno::FBIG, ErrorCode::FileTooLarge),
        (Errno::ROFS, ErrorCode::PermissionDenied),
        (Errno::NOTEMPTY, ErrorCode::ExecutionError),
        (Errno::BUSY, ErrorCode::ExecutionError),
    ] {
        assert_eq!(path.fault("open", errno).code(), code, "{errno}");
    }
}

#[test]
fn a_workspace_is_a_directory_that_exists() {
    let tree = Tree::new();
    let missing = Workspace::open(&tree.root().join("missing"));
    assert!(matches!(missing, Err(WorkspaceError::Missing { .. })));
    let file = Workspace::open(&tree.root().join("f"));
    assert!(matches!(file, Err(WorkspaceError::NotADirectory { .. })));
}

#[test]
fn years_beyond_the_calendar_are_shown_as_its_end() {
    let tree = Tree::new();
    let workspace = &tree.workspaces()[0];
    let (file, _) = workspace.open_file(&workspace.path("f").unwrap()).unwrap();
    let mut stat = fstat(&file).unwrap();
    stat.st_mtime = i64::MAX;
    assert_eq!(Metadata::of(&stat).modified, jiff::Timestamp::MAX);
    stat.st_mtime = i64::MIN;
    assert_eq!(Metadata::of(&stat).modified, jiff::Timestamp::MIN);
    stat.st_mtime = 1_717_233_430;
    stat.st_mtime_nsec = 0;
    assert_eq!(
        Metadata::of(&stat).modified.to_string(),
        "2024-06-01T09:17:10Z"
    );
}

mod by_hand_is_as_by_kernel {
    use super::*;
    use proptest::prelude::*;

    /// Paths of few names, so that they meet: what is made here is walked there.
    fn path() -> impl Strategy<Value = String> {
        let name = prop::sample::select(vec!["a", "b", "c", ".", "..", ""]);
        prop::collection::vec(name, 1..6).prop_map(|names| names.join("/"))
    }

    #[derive(Debug, Clone)]
    enum Thing {
        Directory,
        File,
        Link(String),
    }

    fn thing() -> impl Strategy<Value = Thing> {
        prop_oneof![
            3 => Just(Thing::Directory),
            1 => Just(Thing::File),
            3 => path().prop_map(Thing::Link),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn in_any_tree_any_path_gives_the_same(
            things in prop::collection::vec((path(), thing()), 1..12),
            paths in prop::collection::vec(path(), 40),
        ) {
            let outer = tempfile::tempdir().unwrap();
            let root = outer.path().join("ws");
            fs::create_dir(&root).unwrap();
            for (place, thing) in things {
                // Beneath the root by construction; where it cannot be made, it is not there.
                let place = root.join(place.replace("..", "a").trim_matches('/'));
                let _ = match thing {
                    Thing::Directory => fs::create_dir_all(place),
                    Thing::File => fs::write(place, "file"),
                    Thing::Link(target) => symlink(target, place),
                };
            }
            let kernel = Workspace::open(&root).unwrap();
            let by_hand = Workspace::open_without_openat2(&root).unwrap();
            for text in paths.iter().filter(|text| !text.is_empty() && !text.starts_with('/')) {
                let path = kernel.path(text).unwrap();
                prop_assert_eq!(kernel.metadata(&path), by_hand.metadata(&path), "{}", text);
                let opened = [&kernel, &by_hand].map(|workspace| {
                    let file = workspace.open_file(&path).map(|(file, _)| fstat(file).unwrap().st_ino);
                    let dir = workspace.open_dir(&path).map(|dir| fstat(dir).unwrap().st_ino);
                    (file, dir)
                });
                prop_assert_eq!(&opened[0], &opened[1], "{}", text);
            }
        }
    }
}

/// The kernel gives up on `..` whenever anything is renamed anywhere.
#[test]
fn what_is_renamed_elsewhere_never_keeps_a_path_from_opening() {
    use std::sync::atomic::{AtomicBool, Ordering};

    let tree = Tree::new();
    let winding = format!("{}f", "sub/../".repeat(500));
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("a"), "").unwrap();
    let done = &AtomicBool::new(false);
    let refused = std::thread::scope(|scope| {
        scope.spawn(|| {
            let (a, b) = (elsewhere.path().join("a"), elsewhere.path().join("b"));
            while !done.load(Ordering::Relaxed) {
                fs::rename(&a, &b).unwrap();
                fs::rename(&b, &a).unwrap();
            }
        });
        let mut refused = Vec::new();
        for workspace in tree.workspaces() {
            let path = workspace.path(&winding).unwrap();
            refused.extend((0..200).filter_map(|_| workspace.open_file(&path).err()));
        }
        done.store(true, Ordering::Relaxed);
        refused
    });
    assert_eq!(refused.first(), None, "{} of 400", refused.len());
}

/// PATH-008, for reading: whatever is exchanged while a path is resolved, no byte from outside
/// comes back.
#[test]
fn a_directory_swapped_for_a_link_never_leads_out() {
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicBool, Ordering};
    const READS: usize = 30_000;

    let tree = Tree::new();
    fs::create_dir(tree.root().join("d")).unwrap();
    fs::write(tree.root().join("d/canary"), "mine").unwrap();
    symlink(tree.outer.path().join("out"), tree.root().join("e")).unwrap();
    let root = &openat(
        CWD,
        tree.root(),
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .unwrap();
    let done = &AtomicBool::new(false);
    let seen: HashMap<Result<String, ErrorCode>, usize> = std::thread::scope(|scope| {
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(root, "d", root, "e", exchange).unwrap();
            }
        });
        let mut seen = HashMap::new();
        for workspace in tree.workspaces() {
            for path in ["d/canary", "sub/../d/canary", "d/../d/canary"] {
                for _ in 0..READS / 6 {
                    let result = read(&workspace, path).map_err(|error| error.code());
                    *seen.entry(result).or_default() += 1;
                }
            }
        }
        // Nothing above can fail, or the other thread would never end.
        done.store(true, Ordering::Relaxed);
        seen
    });
    let (mine, refused) = (Ok("mine".to_owned()), Err(ErrorCode::InvalidPath));
    for result in seen.keys() {
        // ExecutionError: the tree changed under every attempt.
        let given_up = Err(ErrorCode::ExecutionError);
        assert!([&mine, &refused, &given_up].contains(&result), "{seen:?}");
    }
    assert!(
        seen.contains_key(&mine) && seen.contains_key(&refused),
        "no race was run: {seen:?}"
    );
}
