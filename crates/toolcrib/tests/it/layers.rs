//! The storeys of the house: crates depend only on those below them, and the modules of a crate form no cycle.
//!
//! Cargo refuses cycles of crates by itself; it knows neither their order nor modules. ARCHITECTURE.md draws the storeys.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The crates, lowest first. Those of one storey do not know each other.
const STOREYS: &[&[&str]] = &[
    &[
        "toolcrib-mcp",
        "toolcrib-model",
        "toolcrib-sandbox",
        "toolcrib-sqlite",
    ],
    &["toolcrib-lang"],
    &["toolcrib-core"],
    &["toolcrib-tools"],
    &["toolcrib-home"],
    &["toolcrib"],
    &["toolcrib-server"],
    &["toolcrib-cli"],
];

/// Modules that form a cycle today. The list only gets shorter.
const KNOWN_CYCLES: &[(&str, &[&str])] = &[
    // Every handler is given the state of the whole server.
    (
        "toolcrib-server",
        &["api", "auth", "mcp", "observe", "openapi", "routes"],
    ),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn storey(name: &str) -> usize {
    let found = STOREYS.iter().position(|crates| crates.contains(&name));
    found.unwrap_or_else(|| {
        panic!("the crate `{name}` has no storey; add it to ARCHITECTURE.md and to this test")
    })
}

/// The crates of ours that a manifest depends on, tests aside.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section == "[dependencies]" && line.starts_with("toolcrib") {
            let end = line.find(['.', ' ', '=']).unwrap_or(line.len());
            found.push(&line[..end]);
        }
    }
    found
}

fn upward(name: &str, manifest: &str) -> Vec<String> {
    let above = |other: &&str| storey(other) >= storey(name);
    let wrong = dependencies(manifest).into_iter().filter(above);
    wrong
        .map(|other| format!("{name} depends on {other}"))
        .collect()
}

/// The sources of a crate by their path; tests may use whatever helps them.
fn sources(directory: &Path, prefix: &str, into: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            if entry.file_name() != "tests" {
                sources(&entry.path(), &format!("{name}/"), into);
            }
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            into.insert(name, std::fs::read_to_string(entry.path()).unwrap());
        }
    }
}

/// A source without comment lines and without the tests at its end.
fn code(source: &str) -> String {
    let mut kept = String::new();
    let mut lines = source.lines().map(str::trim_start).peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        if line.starts_with("#[cfg(test)]") && next.starts_with("mod ") && !next.ends_with(';') {
            break;
        }
        if !line.starts_with("//") {
            kept.push_str(line);
            kept.push(' ');
        }
    }
    kept
}

/// The name that a path begins with.
fn first(path: &str) -> &str {
    let path = path.trim_start();
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_');
    &path[..end.unwrap_or(path.len())]
}

/// The names behind a `crate::`: one, or those in its braces.
fn names(path: &str) -> Vec<&str> {
    let Some(list) = path.strip_prefix('{') else {
        return vec![first(path)];
    };
    let mut found = vec![first(list)];
    let mut depth = 0;
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => found.push(first(&list[at + 1..])),
            _ => {}
        }
    }
    found
}

/// What the root of a crate re-exports, and from which of its modules.
fn reexports<'f>(root: &'f str, modules: &BTreeSet<&'f str>) -> BTreeMap<&'f str, &'f str> {
    let mut found = BTreeMap::new();
    for statement in root.split("use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or_default();
        let Some((module, rest)) = statement.split_once("::") else {
            continue;
        };
        if let Some(module) = modules.get(module) {
            let words = rest.split(|c: char| !c.is_alphanumeric() && c != '_');
            found.extend(
                words
                    .filter(|word| !word.is_empty())
                    .map(|word| (word, *module)),
            );
        }
    }
    found
}

/// Which top-level module imports which others.
fn imports(files: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let module_of = |path: &'_ str| path.find(['/', '.']).map_or(path.len(), |end| end);
    let modules: BTreeSet<&str> = files.keys().map(|path| &path[..module_of(path)]).collect();
    let root = ["lib.rs", "main.rs"]
        .iter()
        .find_map(|root| files.get(*root));
    let root = code(root.map_or("", String::as_str));
    let reexports = reexports(&root, &modules);
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, source) in files {
        let own = &path[..module_of(path)];
        if matches!(own, "lib" | "main") {
            continue;
        }
        let source = code(source);
        for (at, _) in source.match_indices("crate::") {
            // Neither `$crate::` nor `toolcrib::`.
            if source[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$')) {
                continue;
            }
            for name in names(&source[at + "crate::".len()..]) {
                let module = modules.get(name).or_else(|| reexports.get(name));
                if let Some(module) = module.filter(|module| **module != own) {
                    let imported = graph.entry(own.to_owned()).or_default();
                    imported.insert((*module).to_owned());
                }
            }
        }
    }
    graph
}

/// The modules that one reaches.
fn reach<'g>(graph: &'g BTreeMap<String, BTreeSet<String>>, from: &'g str) -> BTreeSet<&'g str> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        let next = graph.get(module).into_iter().flatten().map(String::as_str);
        open.extend(next.filter(|next| seen.insert(next)));
    }
    seen
}

/// The groups of modules that reach each other.
fn cycles(graph: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<BTreeSet<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|module| (module.as_str(), reach(graph, module)))
        .collect();
    let in_cycle = reached
        .iter()
        .filter(|(module, seen)| seen.contains(*module));
    let group = in_cycle.map(|(module, seen)| {
        let back = seen.iter().filter(|other| {
            reached
                .get(*other)
                .is_some_and(|seen| seen.contains(module))
        });
        back.map(|other| (*other).to_owned()).collect()
    });
    group.collect()
}

#[test]
fn crates_depend_only_on_lower_storeys() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(crates()).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let manifest = std::fs::read_to_string(entry.path().join("Cargo.toml")).unwrap();
        wrong.extend(upward(&name, &manifest));
        seen += 1;
    }
    let expected: usize = STOREYS.iter().map(|crates| crates.len()).sum();
    assert_eq!(seen, expected);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn modules_form_no_cycle_but_the_known_ones() {
    for name in STOREYS.concat() {
        let mut files = BTreeMap::new();
        sources(&crates().join(name).join("src"), "", &mut files);
        let known = KNOWN_CYCLES.iter().filter(|(of, _)| *of == name);
        let known: BTreeSet<BTreeSet<String>> = known
            .map(|(_, modules)| modules.iter().map(|module| (*module).to_owned()).collect())
            .collect();
        assert_eq!(cycles(&imports(&files)), known, "in {name}");
    }
}

#[test]
fn an_upward_dependency_and_a_cycle_are_found() {
    let manifest = "[dependencies]\ntoolcrib-model.workspace = true\ntoolcrib-home = { optional = true }\n[dev-dependencies]\ntoolcrib = 1\n";
    assert_eq!(
        upward("toolcrib-tools", manifest),
        ["toolcrib-tools depends on toolcrib-home"]
    );
    let files = |sources: &[(&str, &str)]| -> BTreeMap<String, String> {
        let sources = sources.iter();
        sources
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect()
    };
    let round = files(&[
        ("a.rs", "use crate::b::B;"),
        ("b/mod.rs", "    fn f(x: &crate::c::C) {}"),
        ("c.rs", "use crate::{a, d};"),
        ("d.rs", "#[cfg(test)]\nmod tests { use crate::a; }"),
    ]);
    let expected: BTreeSet<String> = ["a", "b", "c"].map(str::to_owned).into();
    assert_eq!(cycles(&imports(&round)), BTreeSet::from([expected]));
    let hidden = files(&[
        (
            "lib.rs",
            "mod a;\nmod b;\npub use b::{B, Other};\npub use c::C;",
        ),
        ("a.rs", "use crate::{\n    d::{self, D},\n    B,\n};"),
        ("b.rs", "use crate::{d::D, a::A};"),
        ("c.rs", "use crate::d::D;"),
        (
            "d.rs",
            "#[cfg(test)]\nuse std::fmt;\nfn f() -> crate::C { $crate::a; toolcrib::a() }",
        ),
    ]);
    let pair = |one: &str, other: &str| BTreeSet::from([one.to_owned(), other.to_owned()]);
    let expected = BTreeSet::from([pair("a", "b"), pair("c", "d")]);
    assert_eq!(cycles(&imports(&hidden)), expected);
    let straight = files(&[("a.rs", "// crate::b\nuse crate::b::B;"), ("b.rs", "")]);
    assert!(cycles(&imports(&straight)).is_empty());
}
