//! Embeds the web admin: writes `web.rs` into `OUT_DIR`, a table of the files that `npm run build` makes.
//!
//! `TOOLCRIB_WEB` says what to embed: `on` builds `web/` with npm, `off` embeds nothing, a directory is embedded as it is. Without it a
//! release build is `on` and a debug build is `off`: work on the Rust code never waits for npm. A published crate carries the files ready-made
//! in `web-assets/`. npm works on a copy in `OUT_DIR`, never in the source tree. If it fails, cargo prints a warning, and the server shows a
//! page that says how to get the web admin.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the build of the page reads.
const SOURCES: [&str; 8] = [
    "package.json",
    "package-lock.json",
    ".npmrc",
    "index.html",
    "vite.config.ts",
    "tsconfig.json",
    "src",
    "public",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=TOOLCRIB_WEB");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let ready = here.join("web-assets");
    let source = here.join("../../web");
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let chosen = std::env::var("TOOLCRIB_WEB").unwrap_or_default();
    let directory = match chosen.as_str() {
        "off" => None,
        "" | "on" if ready.is_dir() => Some(ready),
        "" if !is_release => None,
        "" | "on" => build(&source, &out.join("web")).unwrap_or_else(|why| {
            println!("cargo::warning=no web admin in this build: {why}");
            None
        }),
        directory => {
            let directory = PathBuf::from(directory);
            assert!(
                directory.join("index.html").is_file(),
                "TOOLCRIB_WEB is `{}`, which has no index.html: give `on`, `off`, or the absolute path of a directory that `npm run build` wrote",
                directory.display()
            );
            Some(directory)
        }
    };
    let mut files = Vec::new();
    if let Some(directory) = &directory {
        println!("cargo::rerun-if-changed={}", directory.display());
        list(directory, "", &mut files).expect("the built files can be listed");
    }
    files.sort();
    let mut table = String::from(
        "/// The files of the web admin, by their names below `/ui/`.\nstatic FILES: &[(&str, &[u8])] = &[\n",
    );
    for (name, path) in files {
        let _ = writeln!(table, "    ({name:?}, include_bytes!({path:?})),");
    }
    table.push_str("];\n");
    std::fs::write(out.join("web.rs"), table).expect("OUT_DIR can be written");
}

/// Every file below a directory, by its name with `/`.
fn list(directory: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.file_type()?.is_dir() {
            true => list(&entry.path(), &format!("{name}/"), files)?,
            false => files.push((name, entry.path().canonicalize()?)),
        }
    }
    Ok(())
}

/// Copies the sources and lets npm build them. The error completes "no web admin in this build: …".
fn build(source: &Path, place: &Path) -> Result<Option<PathBuf>, String> {
    if !source.join("package.json").is_file() {
        return Err("the directory `web` is not there".to_owned());
    }
    for name in SOURCES {
        // A path that is not there would make cargo run this every time.
        if source.join(name).exists() {
            println!("cargo::rerun-if-changed={}", source.join(name).display());
        }
    }
    let failed = |error: io::Error| format!("its sources cannot be copied: {error}");
    std::fs::create_dir_all(place).map_err(failed)?;
    for name in ["src", "public", "dist"] {
        let _ = std::fs::remove_dir_all(place.join(name));
    }
    let fetched = place.join("fetched.json");
    let lock = source.join("package-lock.json");
    let is_fetched = std::fs::read(&fetched).ok() == std::fs::read(&lock).ok()
        && place.join("node_modules").is_dir();
    for name in SOURCES {
        copy(&source.join(name), &place.join(name)).map_err(failed)?;
    }
    // Written again when the page is built: packages that do not build it are fetched again.
    let _ = std::fs::remove_file(&fetched);
    if !is_fetched {
        npm(
            place,
            &[
                "ci",
                // What builds the page is a dependency of development, which the caller's settings may leave out.
                "--include=dev",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                "--silent",
            ],
        )?;
    }
    npm(place, &["run", "--silent", "build"])?;
    std::fs::copy(&lock, &fetched).map_err(failed)?;
    Ok(Some(place.join("dist")))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        std::fs::create_dir_all(to)?;
        for entry in std::fs::read_dir(from)? {
            let name = entry?.file_name();
            copy(&from.join(&name), &to.join(&name))?;
        }
    } else if from.is_file() {
        std::fs::copy(from, to)?;
    }
    Ok(())
}

fn npm(place: &Path, words: &[&str]) -> Result<(), String> {
    let verb = words.first().copied().unwrap_or_default();
    let ran = Command::new("npm")
        .args(words)
        .current_dir(place)
        // The page is built the same way wherever cargo is called.
        .env_remove("NODE_ENV")
        .stdin(Stdio::null())
        .output();
    match ran {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let line = said.lines().find(|line| !line.trim().is_empty());
            Err(format!(
                "`npm {verb}` failed ({}): {}; `TOOLCRIB_WEB=off` builds without it",
                output.status,
                line.unwrap_or("it says nothing")
            ))
        }
        Err(error) => Err(format!(
            "npm cannot be run ({error}); install Node 20 or newer, or set `TOOLCRIB_WEB=off`"
        )),
    }
}
