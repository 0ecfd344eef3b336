//! The pages of the documentation as texts.

use std::path::{Path, PathBuf};

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let in_docs = std::fs::read_dir(root.join("docs")).unwrap();
    let is_page = |path: &PathBuf| path.extension().is_some_and(|end| end == "md");
    let mut pages: Vec<PathBuf> = in_docs
        .map(|file| file.unwrap().path())
        .filter(is_page)
        .collect();
    pages.push(root.join("README.md"));
    pages.sort();
    assert!(pages.len() > 10);
    pages
}

/// A paragraph, or an item of a list: its line, its text, and whether an item follows it.
struct Paragraph {
    line: usize,
    text: String,
    is_item: bool,
}

/// The paragraphs and items of a page, without code, tables, headings and pictures.
fn paragraphs(page: &str) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let (mut is_code, mut is_open) = (false, false);
    for (number, line) in page.lines().enumerate() {
        let text = line.trim();
        if text.starts_with("```") {
            (is_code, is_open) = (!is_code, false);
            continue;
        }
        if is_code {
            continue;
        }
        if text.is_empty()
            || text.starts_with(['#', '|'])
            || text.starts_with("![")
            || text.starts_with("<!--")
        {
            is_open = false;
            continue;
        }
        let after_number = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let is_item = text.starts_with("- ")
            || text.starts_with("* ")
            || (after_number.len() < text.len() && after_number.starts_with(". "));
        match found.last_mut() {
            Some(last) if is_open && !is_item => {
                last.text.push(' ');
                last.text.push_str(text);
            }
            _ => found.push(Paragraph {
                line: number + 1,
                text: text.to_owned(),
                is_item,
            }),
        }
        is_open = true;
    }
    found
}

/// Whether a paragraph is a sentence that ends. An item may be a part of one that goes on in the next item.
fn ends(paragraph: &Paragraph, next: Option<&Paragraph>) -> bool {
    let text = paragraph
        .text
        .trim_end_matches(['"', '\'', ')', '*', '`', '_', '”']);
    let goes_on = paragraph.is_item && next.is_some_and(|next| next.is_item);
    // Lists of links, and words of a heading's kind.
    let is_index = paragraph.text.contains(" · ");
    text.ends_with(['.', ':', '?', '!', '…']) || is_index || (goes_on && text.ends_with([',', ';']))
}

#[test]
fn sentences_in_the_documentation_end() {
    let mut open = Vec::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let paragraphs = paragraphs(&text);
        for (at, paragraph) in paragraphs.iter().enumerate() {
            if !ends(paragraph, paragraphs.get(at + 1)) {
                let name = page.file_name().unwrap().display();
                open.push(format!("{name}:{}: {}\n", paragraph.line, paragraph.text));
            }
        }
    }
    assert!(open.is_empty(), "{}", open.concat());
}

#[test]
fn a_sentence_without_an_end_is_found() {
    let found = |page: &str| {
        let all = paragraphs(page);
        let open = all.iter().enumerate();
        open.filter(|(at, one)| !ends(one, all.get(at + 1))).count()
    };
    assert_eq!(found("It is bound to:\n\n- a tool,\n- a time.\n"), 0);
    assert_eq!(found("It is bound to\n\n- a tool,\n- a time.\n"), 1);
    assert_eq!(found("- a tool,\n- a time,\n\nMore.\n"), 1);
    assert_eq!(found("Set it to\n\n```toml\na = 1\n```\n\nand run.\n"), 1);
}

#[test]
fn the_index_leads_to_every_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let index = std::fs::read_to_string(root.join("README.md")).unwrap();
    for page in pages() {
        let name = page.file_name().unwrap().to_str().unwrap();
        assert!(
            name == "README.md" || index.contains(&format!("({name})")),
            "docs/README.md does not lead to {name}"
        );
    }
}
