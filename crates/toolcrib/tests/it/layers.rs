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
    // Arguments name the functions that complete them, and those read the arguments.
    ("toolcrib-cli", &["args", "complete", "output", "prompt"]),
    ("toolcrib-sandbox", &["child", "landlock"]),
    // Every handler is given the state of the whole server.
    (
        "toolcrib-server",
        &["api", "auth", "mcp", "observe", "openapi", "routes"],
    ),
    (
        "toolcrib-sqlite",
        &["connection", "judge", "statement", "vfs"],
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

/// Which top-level module imports which others.
fn imports(files: &BTreeMap<String, String>) -> BTreeMap<&str, BTreeSet<&str>> {
    let module_of = |path: &'_ str| path.find(['/', '.']).map_or(path.len(), |end| end);
    let modules: BTreeSet<&str> = files.keys().map(|path| &path[..module_of(path)]).collect();
    let mut graph: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, source) in files {
        let own = &path[..module_of(path)];
        if matches!(own, "lib" | "main") {
            continue;
        }
        for line in source.lines().map(str::trim_start) {
            if line.starts_with("#[cfg(test)]") {
                break;
            }
            if line.starts_with("//") {
                continue;
            }
            for (at, _) in line.match_indices("crate::") {
                let rest = line[at + "crate::".len()..].trim_start_matches('{');
                let end = rest
                    .find(|c: char| !c.is_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                if let Some(module) = modules.get(&rest[..end])
                    && *module != own
                {
                    graph.entry(own).or_default().insert(module);
                }
            }
        }
    }
    graph
}

/// The modules that one reaches.
fn reach<'g>(graph: &BTreeMap<&'g str, BTreeSet<&'g str>>, from: &'g str) -> BTreeSet<&'g str> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        let next = graph.get(module).into_iter().flatten();
        open.extend(next.filter(|next| seen.insert(next)));
    }
    seen
}

/// The groups of modules that reach each other.
fn cycles(graph: &BTreeMap<&str, BTreeSet<&str>>) -> BTreeSet<BTreeSet<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|module| (*module, reach(graph, module)))
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
    let straight = files(&[("a.rs", "// crate::b\nuse crate::b::B;"), ("b.rs", "")]);
    assert!(cycles(&imports(&straight)).is_empty());
}
