//! A page made tame: the same content as small, balanced HTML that any parser builds a small tree of.
//!
//! What is bounded: the size of the result, the number of elements, how deep they are nested, how deep lists and quotes are (Markdown
//! indents every line of them), the attributes. Scripts, styles, comments, forms' controls and embedded things are left out.
//! What is hidden by a style is known only when values are decoded, so that is `tame`'s.

use super::nesting::{is_void, kept, kept_after};
use super::scan::{Scanner, Tag, Token};

/// The longest result, counting the indentation that Markdown will add.
const MAX_SIZE: usize = 8 * 1024 * 1024;

/// The most elements.
const MAX_ELEMENTS: usize = 60_000;

/// How deep elements are nested; what is deeper loses its tags and keeps its text.
const MAX_DEPTH: usize = 120;

/// How deep lists and quotes are.
const MAX_INDENTED: usize = 12;

/// How wide Markdown indents at most.
const INDENT: usize = 5;

/// The longest value of an attribute.
const MAX_VALUE: usize = 4096;

/// Elements that are left out with all that is in them.
const DROPPED: &[&str] = &[
    "applet", "audio", "button", "canvas", "datalist", "embed", "frame", "frameset", "iframe",
    "input", "link", "map", "math", "meta", "meter", "noembed", "noframes", "noscript", "object",
    "optgroup", "option", "param", "progress", "script", "select", "source", "style", "svg",
    "template", "textarea", "title", "track", "video",
];

/// Elements that stay what they are; others become a `span`, which means nothing.
const KEPT: &[&str] = &[
    "a",
    "abbr",
    "address",
    "article",
    "aside",
    "b",
    "blockquote",
    "body",
    "br",
    "caption",
    "cite",
    "code",
    "dd",
    "del",
    "details",
    "dfn",
    "dialog",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "i",
    "img",
    "ins",
    "kbd",
    "li",
    "main",
    "mark",
    "nav",
    "ol",
    "p",
    "picture",
    "pre",
    "q",
    "s",
    "samp",
    "section",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "time",
    "tr",
    "tt",
    "u",
    "ul",
    "var",
];

/// Attributes that stay: what leads somewhere, what is shown, what hides, and what tells an article from a menu.
const ATTRIBUTES: &[&str] = &[
    "alt", "class", "height", "hidden", "href", "id", "open", "popover", "role", "src", "start",
    "style", "value", "width",
];

/// Elements that a parser copies into every block that they are open across; without attributes there are few of each.
const FORMATTING: &[&str] = &[
    "b", "code", "em", "i", "s", "small", "strike", "strong", "tt", "u",
];

/// A page made tame.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Clean {
    /// Balanced HTML.
    pub(super) html: String,
    /// The page's title, character references and all.
    pub(super) title: String,
    /// Where relative URLs are relative to, if the page says so.
    pub(super) base: Option<String>,
    /// Whether the page was cut.
    pub(super) is_cut: bool,
    /// How many elements there are.
    pub(super) elements: usize,
}

/// An element that is open.
struct Open {
    /// The name in the page.
    name: String,
    /// The name in the result; `None` for what is left out.
    written: Option<&'static str>,
}

struct Cleaner {
    clean: Clean,
    open: Vec<Open>,
    /// How many elements are open that were too deep to be counted among the others.
    beyond: usize,
    /// How many of the open ones are left out with all that is in them.
    dropped: usize,
    /// How many of the open ones indent their lines in Markdown, and how many keep line breaks.
    indenting: usize,
    keeping: usize,
    /// How many of the open ones are paragraphs.
    paragraphs: usize,
    /// What Markdown will add.
    indentation: usize,
    is_full: bool,
}

/// Makes a page tame.
pub(super) fn clean(page: &str) -> Clean {
    let mut cleaner = Cleaner {
        clean: Clean {
            html: String::with_capacity(page.len().min(MAX_SIZE) / 2),
            title: String::new(),
            base: None,
            is_cut: false,
            elements: 0,
        },
        open: Vec::new(),
        beyond: 0,
        dropped: 0,
        indenting: 0,
        keeping: 0,
        paragraphs: 0,
        indentation: 0,
        is_full: false,
    };
    for token in Scanner::new(page) {
        match token {
            Token::Text(text) => cleaner.text(text),
            Token::Sign => cleaner.text("<"),
            Token::Start(tag) => cleaner.start(&tag),
            Token::End(name) => cleaner.end(&name),
        }
        if cleaner.is_full {
            cleaner.clean.is_cut = true;
            break;
        }
    }
    cleaner.close_to(0);
    cleaner.clean
}

/// Whether an element indents its lines in Markdown.
fn indents(written: Option<&str>) -> bool {
    matches!(written, Some("ul" | "ol" | "blockquote"))
}

/// Whether a text has tags in it that mean something in HTML; `Vec<String>` has none.
pub(in super::super) fn has_markup(text: &str) -> bool {
    let means = |name: &str| KEPT.contains(&name) || DROPPED.contains(&name);
    Scanner::new(text).any(|token| match token {
        Token::Start(tag) => means(&tag.name),
        Token::End(name) => means(&name),
        Token::Text(_) | Token::Sign => false,
    })
}

impl Cleaner {
    fn text(&mut self, text: &str) {
        if self.open.last().is_some_and(|open| open.name == "title")
            && self.clean.title.is_empty()
            && self.dropped == 1
        {
            self.clean.title = text[..text.floor_char_boundary(500)].to_owned();
        }
        if self.dropped > 0 {
            return;
        }
        if self.indenting > 0 && self.keeping > 0 {
            self.indentation += text.matches('\n').count() * self.indenting * INDENT;
        }
        let room = self.room();
        let kept = &text[..text.floor_char_boundary(room)];
        for c in kept.chars() {
            match c {
                '<' => self.clean.html.push_str("&lt;"),
                '>' => self.clean.html.push_str("&gt;"),
                // What is no character may stand for something behind here.
                '\0' | '\u{fdd0}' => {}
                c => self.clean.html.push(c),
            }
        }
        self.is_full |= kept.len() < text.len() || self.room() == 0;
    }

    fn room(&self) -> usize {
        MAX_SIZE.saturating_sub(self.clean.html.len() + self.indentation)
    }

    fn start(&mut self, tag: &Tag<'_>) {
        let name = tag.name.as_str();
        let open = self.open.iter().map(|open| open.name.as_str());
        let kept = kept(name, open, self.paragraphs > 0);
        self.close_to(kept);
        if name == "base" && self.clean.base.is_none() {
            let href = tag.attributes.iter().find(|(name, _)| name == "href");
            self.clean.base = href.map(|(_, value)| (*value).to_owned());
        }
        let is_void = is_void(name);
        if self.open.len() >= MAX_DEPTH && !is_void {
            if DROPPED.contains(&name) {
                self.push(name, None);
            } else {
                // Deeper still, so that its end tag ends nothing else.
                self.beyond += 1;
                // What is in it is not of one word with what is before.
                if !self.clean.html.ends_with(' ') {
                    self.text(" ");
                }
            }
            return;
        }
        if DROPPED.contains(&name) {
            if !is_void {
                self.push(name, None);
            }
            return;
        }
        let would_indent = matches!(name, "ul" | "ol" | "menu" | "blockquote");
        let written = match name {
            _ if would_indent && self.indenting >= MAX_INDENTED => "span",
            "menu" => "ul",
            "html" | "head" | "body" => "",
            name => KEPT
                .iter()
                .find(|kept| **kept == name)
                .copied()
                .unwrap_or("span"),
        };
        if self.dropped == 0 {
            self.write(written, tag);
        }
        if !is_void {
            self.push(name, Some(written));
        }
    }

    fn push(&mut self, name: &str, written: Option<&'static str>) {
        self.dropped += usize::from(written.is_none());
        self.indenting += usize::from(indents(written));
        self.keeping += usize::from(written == Some("pre"));
        self.paragraphs += usize::from(name == "p");
        self.open.push(Open {
            name: name.to_owned(),
            written,
        });
    }

    fn write(&mut self, written: &str, tag: &Tag<'_>) {
        if written.is_empty() {
            return;
        }
        self.clean.elements += 1;
        if self.clean.elements >= MAX_ELEMENTS {
            self.is_full = true;
        }
        if written == "br" {
            self.indentation += self.indenting * INDENT;
        }
        let html = &mut self.clean.html;
        html.push('<');
        html.push_str(written);
        let shown = |name: &str| ATTRIBUTES.contains(&name);
        let is_plain = FORMATTING.contains(&written);
        for (name, value) in &tag.attributes {
            // The language of code is in a class.
            let stays = match name.as_str() {
                "style" | "hidden" => true,
                "class" => !is_plain || written == "code",
                name => shown(name) && !is_plain,
            };
            if stays && value.len() <= MAX_VALUE {
                html.push(' ');
                html.push_str(name);
                html.push_str("=\"");
                html.push_str(&value.replace('"', "&quot;"));
                html.push('"');
            }
        }
        html.push('>');
        self.is_full |= self.room() == 0;
    }

    fn end(&mut self, name: &str) {
        if self.beyond > 0 && self.dropped == 0 {
            self.beyond -= 1;
            return;
        }
        // `</br>` and `</p>` of nothing are shown as if they had been opened; that changes no text.
        let names = self.open.iter().map(|open| open.name.as_str());
        if let Some(kept) = kept_after(name, names) {
            self.close_to(kept);
        }
    }

    /// Closes elements, the innermost first.
    fn close_to(&mut self, kept: usize) {
        while self.open.len() > kept {
            let Some(closed) = self.open.pop() else {
                return;
            };
            match closed.written {
                None => self.dropped -= 1,
                Some("") => {}
                Some(name) if self.dropped == 0 => {
                    self.clean.html.push_str("</");
                    self.clean.html.push_str(name);
                    self.clean.html.push('>');
                }
                Some(_) => {}
            }
        }
    }
}
