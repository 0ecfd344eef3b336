//! The build script, compiled and run with another `npm` in its place: what it asks of npm, and what is left when npm fails.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes down how it is called, and makes a page; fails to build it where there is a file `broken`.
const NPM: &str = r#"#!/bin/sh
echo "$1 NODE_ENV=${NODE_ENV-none} $*" >> "$NPM_LOG"
case $1 in
ci) mkdir -p node_modules ;;
run)
    if [ -e "$NPM_BROKEN" ]; then echo "vite: not found" >&2; exit 127; fi
    mkdir -p dist/assets && echo page > dist/index.html && echo code > dist/assets/index.js ;;
esac
"#;

struct Bench {
    place: tempfile::TempDir,
    script: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for directory in ["web/src", "crates/server", "out", "bin", "empty"] {
            std::fs::create_dir_all(at(directory)).unwrap();
        }
        for file in [
            "web/package.json",
            "web/package-lock.json",
            "web/src/main.ts",
        ] {
            std::fs::write(at(file), "{}").unwrap();
        }
        std::fs::write(at("bin/npm"), NPM).unwrap();
        std::fs::set_permissions(at("bin/npm"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let script = at("build-script");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs");
        let cargo = std::env::var_os("CARGO").map(PathBuf::from);
        let beside = cargo.map(|cargo| cargo.with_file_name("rustc"));
        let rustc = beside.filter(|rustc| rustc.is_file());
        let compiled = Command::new(rustc.unwrap_or_else(|| "rustc".into()))
            .args(["--edition", "2024", "-o"])
            .args([&script, &source])
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{compiled:?}");
        Bench { place, script }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Runs it as cargo would. Its output, and the table of files that it wrote.
    fn run(&self, path: &str) -> (String, String) {
        let ran = Command::new(&self.script)
            .env_clear()
            .env("PATH", path)
            .env("NODE_ENV", "production")
            .env("NPM_LOG", self.at("log"))
            .env("NPM_BROKEN", self.at("broken"))
            .env("OUT_DIR", self.at("out"))
            .env("CARGO_MANIFEST_DIR", self.at("crates/server"))
            .env("PROFILE", "debug")
            .env("TOOLCRIB_WEB", "on")
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        let table = std::fs::read_to_string(self.at("out/web.rs")).unwrap();
        (String::from_utf8(ran.stdout).unwrap(), table)
    }

    /// What npm was asked since the last look.
    fn asked(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.at("log")).unwrap_or_default();
        let _ = std::fs::remove_file(self.at("log"));
        log.lines().map(str::to_owned).collect()
    }
}

const CI: &str = "ci NODE_ENV=none ci --include=dev --ignore-scripts --no-audit --no-fund --silent";
const BUILD: &str = "run NODE_ENV=none run --silent build";

#[test]
fn a_page_that_could_not_be_built_is_a_warning_and_is_built_from_the_beginning_next_time() {
    let bench = Bench::new();
    let path = format!("{}:/usr/bin:/bin", bench.at("bin").display());
    std::fs::write(bench.at("broken"), "").unwrap();
    let (said, table) = bench.run(&path);
    assert!(
        said.contains("cargo::warning=no web admin in this build: `npm run` failed"),
        "{said}"
    );
    assert!(said.contains("vite: not found"), "{said}");
    assert!(!table.contains("index.html"), "{table}");
    assert_eq!(bench.asked(), [CI, BUILD]);
    // The packages may be what is wrong.
    std::fs::remove_file(bench.at("broken")).unwrap();
    let (said, table) = bench.run(&path);
    assert!(!said.contains("cargo::warning"), "{said}");
    assert!(
        table.contains("\"index.html\"") && table.contains("\"assets/index.js\""),
        "{table}"
    );
    assert_eq!(bench.asked(), [CI, BUILD]);
    // Now they are known to build it.
    bench.run(&path);
    assert_eq!(bench.asked(), [BUILD]);
}

#[test]
fn without_npm_the_build_goes_on_without_a_page() {
    let bench = Bench::new();
    let (said, table) = bench.run(&bench.at("empty").display().to_string());
    assert!(said.contains("npm cannot be run"), "{said}");
    assert!(said.contains("TOOLCRIB_WEB=off"), "{said}");
    assert!(!table.contains("index.html"), "{table}");
}
