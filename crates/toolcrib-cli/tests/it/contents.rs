//! The pages of the documentation can be found and scanned: an index lists every page, and a page with many sections lists them under its title.

use std::path::{Path, PathBuf};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = std::fs::read_dir(docs())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".md"))
        .map(|name| {
            let text = std::fs::read_to_string(docs().join(&name)).unwrap();
            (name, text)
        })
        .collect();
    pages.sort();
    pages
}

/// The headings of sections, code blocks aside.
fn sections(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        if let Some(heading) = line.strip_prefix("## ").filter(|_| !is_code) {
            found.push(heading);
        }
    }
    found
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
        .collect::<String>();
    kept.replace(' ', "-")
}

const BEGIN: &str = "**On this page:** ";

/// A page as it should be: its sections under its title.
fn with_contents(text: &str) -> String {
    let links: Vec<String> = sections(text)
        .into_iter()
        .map(|heading| format!("[{}](#{})", heading.replace('`', ""), anchor(heading)))
        .collect();
    let (title, rest) = text.split_once("\n\n").unwrap();
    let rest = match rest.strip_prefix(BEGIN) {
        Some(old) => old.split_once("\n\n").unwrap().1,
        None => rest,
    };
    format!("{title}\n\n{BEGIN}{}\n\n{rest}", links.join(" · "))
}

/// `UPDATE_GOLDEN=1` writes them.
#[test]
fn a_page_with_many_sections_lists_them_under_its_title() {
    let generated = ["README.md", "config.md", "protected-names.md", "tools.md"];
    for (name, text) in pages() {
        if generated.contains(&name.as_str()) || sections(&text).len() < 4 {
            continue;
        }
        let lists = text.matches(BEGIN).count();
        assert!(
            lists < 2,
            "docs/{name} lists its sections {lists} times; remove all but the first list"
        );
        let right = with_contents(&text);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(docs().join(&name), right).unwrap();
        } else {
            assert!(
                text == right,
                "docs/{name} does not list its sections; UPDATE_GOLDEN=1 writes the list"
            );
        }
    }
}

#[test]
fn the_index_lists_every_page() {
    let index = std::fs::read_to_string(docs().join("README.md")).unwrap();
    for (name, _) in pages() {
        assert!(
            name == "README.md" || index.contains(&format!("({name})")),
            "docs/README.md does not list {name}"
        );
    }
}
