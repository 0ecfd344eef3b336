//! Real files in a real workspace.

use std::path::Path;

use super::*;

struct Bench {
    directory: tempfile::TempDir,
    workspace: Workspace,
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let workspace = Workspace::open(directory.path()).unwrap();
        Bench {
            directory,
            workspace,
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn place(&self, path: &str) -> Result<ProjectPath, ToolError> {
        ProjectPath::of(&self.workspace, &self.workspace.path(path).unwrap())
    }

    fn detect(&self, path: &str) -> Result<Vec<(Kind, String, String)>, ToolError> {
        let projects = detect(&self.workspace, &self.workspace.path(path).unwrap())?;
        let shown = |project: Project| {
            let root = project.root.as_str().to_owned();
            (project.kind, root, project.marker)
        };
        Ok(projects.into_iter().map(shown).collect())
    }
}

fn found(kind: Kind, root: &str, marker: &str) -> (Kind, String, String) {
    (kind, root.to_owned(), marker.to_owned())
}

#[test]
fn every_kind_is_known_by_its_files() {
    for (kind, marker, text) in [
        (Kind::Cargo, "Cargo.toml", ""),
        (Kind::Python, "pyproject.toml", ""),
        (Kind::Python, "pytest.ini", ""),
        (Kind::Python, "setup.cfg", ""),
        (Kind::Python, "tox.ini", ""),
        (Kind::Python, "conftest.py", ""),
        (Kind::Python, "test_it.py", ""),
        (Kind::Python, "tests/it_test.py", ""),
        (Kind::Npm, "package.json", "{}"),
        (Kind::Go, "go.mod", "module x"),
        (Kind::Make, "Makefile", "check:\n\ttrue\n"),
        (Kind::Make, "GNUmakefile", "test:\n\ttrue\n"),
    ] {
        let bench = Bench::new(&[(marker, text)]);
        assert_eq!(bench.detect(".").unwrap(), [found(kind, ".", marker)]);
    }
    let bench = Bench::new(&[("Makefile", "all:\n"), ("protest.py", ""), ("a.rs", "")]);
    assert_eq!(bench.detect(".").unwrap(), []);
}

#[test]
fn all_kinds_are_listed_the_nearest_first_and_then_in_their_order() {
    let bench = Bench::new(&[
        ("Makefile", "test:\n"),
        ("go.mod", ""),
        ("Cargo.toml", ""),
        ("web/package.json", "{}"),
        ("web/src/deep/a.ts", ""),
    ]);
    let expected = [
        found(Kind::Npm, "web", "package.json"),
        found(Kind::Cargo, ".", "Cargo.toml"),
        found(Kind::Go, ".", "go.mod"),
        found(Kind::Make, ".", "Makefile"),
    ];
    assert_eq!(bench.detect("web/src/deep").unwrap(), expected);
    assert_eq!(bench.detect("web/src/deep/a.ts").unwrap(), expected);
    assert_eq!(bench.detect("web/src/../src/deep/").unwrap(), expected);
    assert_eq!(bench.detect(".").unwrap(), expected[1..]);
}

#[test]
fn of_one_kind_the_nearest_counts() {
    let bench = Bench::new(&[
        ("Cargo.toml", ""),
        ("crates/a/Cargo.toml", ""),
        ("crates/a/src/lib.rs", ""),
    ]);
    assert_eq!(
        bench.detect("crates/a/src/lib.rs").unwrap(),
        [found(Kind::Cargo, "crates/a", "Cargo.toml")]
    );
}

#[test]
fn tests_alone_make_a_python_project_only_if_nothing_better_is_above() {
    let bench = Bench::new(&[("tests/test_a.py", ""), ("tests/unit/test_b.py", "")]);
    assert_eq!(
        bench.detect("tests/unit").unwrap(),
        [found(Kind::Python, "tests/unit", "test_b.py")]
    );
    std::fs::write(bench.path().join("pyproject.toml"), "").unwrap();
    assert_eq!(
        bench.detect("tests/unit").unwrap(),
        [found(Kind::Python, ".", "pyproject.toml")]
    );
}

#[test]
fn nothing_outside_the_workspace_counts() {
    let outside = Bench::new(&[("Cargo.toml", ""), ("inside/a.rs", "")]);
    let workspace = Workspace::open(&outside.path().join("inside")).unwrap();
    let top = workspace.path(".").unwrap();
    assert_eq!(detect(&workspace, &top).unwrap(), []);
    let link = outside.path().join("inside/Cargo.toml");
    std::os::unix::fs::symlink(outside.path().join("Cargo.toml"), link).unwrap();
    assert_eq!(detect(&workspace, &top).unwrap(), []);
    for path in ["..", "missing"] {
        assert!(detect(&workspace, &workspace.path(path).unwrap()).is_err());
    }
}

#[test]
fn a_directory_or_a_fifo_of_that_name_is_not_a_marker() {
    let bench = Bench::new(&[("Cargo.toml/x", ""), ("package.json/x", "")]);
    let fifo = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::RUSR;
    let path = bench.path().join("Makefile");
    rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, mode, 0).unwrap();
    assert_eq!(bench.detect(".").unwrap(), []);
}

#[test]
fn a_file_that_is_too_large_says_nothing() {
    let large = format!("test:\n{}", "#".repeat(2 << 20));
    let bench = Bench::new(&[("Makefile", &large)]);
    assert_eq!(bench.detect(".").unwrap(), []);
}

#[test]
fn a_place_is_what_links_and_dots_lead_to() {
    let bench = Bench::new(&[("a/b/c.py", "")]);
    std::os::unix::fs::symlink("a/b", bench.path().join("short")).unwrap();
    let place = |directory: &str, file: Option<&str>| ProjectPath {
        directory: directory.to_owned(),
        file: file.map(str::to_owned),
    };
    assert_eq!(
        bench.place("short/c.py").unwrap(),
        place("a/b", Some("c.py"))
    );
    assert_eq!(bench.place("short/..").unwrap(), place("a", None));
    assert_eq!(bench.place(".").unwrap(), place(".", None));
    let root = |path: &str| bench.workspace.path(path).unwrap();
    let file = bench.place("a/b/c.py").unwrap();
    assert_eq!(file.beneath(&root(".")).as_deref(), Some("a/b/c.py"));
    assert_eq!(file.beneath(&root("a")).as_deref(), Some("b/c.py"));
    assert_eq!(bench.place("a").unwrap().beneath(&root("a")), None);
    assert_eq!(bench.place(".").unwrap().beneath(&root(".")), None);
    assert_eq!(bench.place("a").unwrap().beneath(&root("a/b")), None);
}
