//! Imports only point down. The layers are those of ARCHITECTURE.md; the crate is one, the
//! discipline of many comes from this test.

use std::collections::BTreeMap;
use std::path::Path;

/// The layers, lowest first. Modules of one layer may use each other, except where `strangers`.
const LAYERS: &[(&[&str], Strangers)] = &[
    (
        &[
            "model",
            "tool",
            "schema",
            "workspace",
            "storage",
            "sandbox",
            "shell",
            "expr",
            "process",
            "held",
            "template",
            "definition",
            "egress",
            "secret",
            "jsonpath",
            "manifest",
            "store",
            "search",
        ],
        Strangers::No,
    ),
    (
        &["rules", "approval", "limits", "record", "wire"],
        Strangers::Yes,
    ),
    (&["registry", "pipeline"], Strangers::No),
    (&["exec", "builtin", "upstream"], Strangers::Yes),
    (&["answer", "chat"], Strangers::No),
    (&["crib", "config", "source", "trial"], Strangers::No),
    (&["testing"], Strangers::No),
];

#[derive(PartialEq)]
enum Strangers {
    /// The modules of the layer know nothing of each other.
    Yes,
    No,
}

fn level(module: &str) -> usize {
    let found = LAYERS
        .iter()
        .position(|(modules, _)| modules.contains(&module));
    found.unwrap_or_else(|| {
        panic!("module `{module}` has no layer; add it to ARCHITECTURE.md and to this test")
    })
}

/// The top-level modules that a source text imports, with the line that does.
fn imports(source: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in source.lines() {
        let code = line.trim_start();
        // Tests may use whatever helps them.
        if code.starts_with("#[cfg(test)]") {
            break;
        }
        if code.starts_with("//") {
            continue;
        }
        for (at, _) in code.match_indices("crate::") {
            let module: String = code[at + "crate::".len()..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            // `crate::Registry`, a re-export: only in docs.
            if module.starts_with(|c: char| c.is_lowercase()) {
                found.push((module, code.to_owned()));
            }
        }
    }
    found
}

fn upward_imports(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, source) in files {
        let own = path.split(['/', '.']).next().unwrap_or_default();
        if own == "lib" {
            continue;
        }
        for (module, line) in imports(source) {
            let (from, to) = (level(own), level(&module));
            let strangers = LAYERS[from].1 == Strangers::Yes;
            if to > from || (to == from && module != own && strangers) {
                wrong.push(format!("{path}: {line}"));
            }
        }
    }
    wrong
}

fn sources(directory: &Path, prefix: &str, into: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            // Tests may use whatever helps them.
            if entry.file_name() == "tests" {
                continue;
            }
            sources(&entry.path(), &format!("{name}/"), into);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            into.insert(name, std::fs::read_to_string(entry.path()).unwrap());
        }
    }
}

#[test]
fn imports_only_point_down() {
    let mut files = BTreeMap::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        "",
        &mut files,
    );
    assert!(files.len() > 30, "the sources were not found");
    let wrong = upward_imports(&files);
    assert!(
        wrong.is_empty(),
        "imports that point up or sideways:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn an_upward_or_sideways_import_is_found() {
    let check = |path: &str, source: &str| {
        upward_imports(&BTreeMap::from([(path.to_owned(), source.to_owned())]))
    };
    assert_eq!(
        check("model/call.rs", "use crate::registry::Registry;").len(),
        1
    );
    assert_eq!(
        check("rules.rs", "    fn f(x: &crate::approval::DenyAll) {}").len(),
        1
    );
    assert_eq!(
        check("builtin/read_file.rs", "use crate::exec::FnTool;").len(),
        1
    );
    assert!(
        check(
            "pipeline/mod.rs",
            "use crate::registry::Inner;\nuse crate::model::text;"
        )
        .is_empty()
    );
    assert!(
        check(
            "model/call.rs",
            "#[cfg(test)]\nmod tests { use crate::registry::Registry; }"
        )
        .is_empty()
    );
}
