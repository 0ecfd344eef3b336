//! A page made tame: the same content as small, balanced HTML that any parser builds a small tree of.
//!
//! Bounded are the size of the result, the number of elements, how deep they are nested, how deep lists and quotes are (Markdown
//! indents every line of them), the attributes. Scripts, styles, comments, forms' controls and embedded things are left out.
//! Elements hidden by a style are known only when values are decoded, so `tame` handles them.
//!
//! Time is linear: no more elements are remembered as open than may be nested, and where they are is known by name, so that no tag looks
//! through them.

use super::deadline::Deadline;
use super::nesting::{Stack, is_block, is_void, kept, kept_after};
use super::scan::{Scanner, Tag, Token};
use super::visible::Looks;
use crate::model::budget::Budget;

/// The longest result, counting the indentation that Markdown will add.
const MAX_SIZE: u64 = 8 * 1024 * 1024;

/// The most steps that one page may take: cleaning it is about one for each of its bytes at worst.
const MAX_STEPS: u64 = 16 * 1024 * 1024;

/// What reading one page may cost.
pub(super) fn budget() -> Budget {
    Budget::new(MAX_STEPS, MAX_SIZE)
}

/// The most elements.
const MAX_ELEMENTS: usize = 60_000;

/// How deep elements are nested; what is deeper loses its tags and keeps its text.
const MAX_DEPTH: usize = 120;

/// The most character references; to a parser each is a separate piece, and dear.
const MAX_REFERENCES: usize = 200_000;

/// How deep lists and quotes are.
const MAX_INDENTED: usize = 12;

/// How wide Markdown indents at most.
const INDENT: usize = 5;

/// The longest value of an attribute.
const MAX_VALUE: usize = 4096;

/// How many pieces of a page there are between two looks at the clock.
const BETWEEN_LOOKS: usize = 1024;

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

/// Attributes that stay: links, visible text, hiding, and hints that distinguish an article from a menu.
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
    /// Whether there was no time for all of it, or would be none to build a tree of it.
    pub(super) is_too_much: bool,
}

/// An element that is open.
struct Open {
    /// The name in the page.
    name: String,
    /// The name in the result; `None` for what is left out.
    written: Option<&'static str>,
}

/// An element too deep to be remembered that is left out with all that is in it.
struct Sunk {
    name: String,
    /// How many of this name are open in it, itself included.
    depth: usize,
}

struct Cleaner<'b> {
    clean: Clean,
    /// Each piece of the page and each element that is closed is a step; what is written is paid for by its bytes.
    budget: &'b mut Budget,
    /// Never more than may be nested.
    open: Vec<Open>,
    /// Where they are, by name.
    names: Stack,
    /// How many elements are open that were too deep to be counted among the others.
    beyond: usize,
    sunk: Option<Sunk>,
    /// How many of the open ones are left out with all that is in them.
    dropped: usize,
    /// How many of the open ones indent their lines in Markdown, and how many keep line breaks.
    indenting: usize,
    keeping: usize,
    /// How many character references there are for a parser to read.
    references: usize,
    is_full: bool,
    /// Whether only the text is wanted.
    is_plain: bool,
}

/// Makes a page tame; what there is no time for is left out.
pub(super) fn clean(page: &str, deadline: Deadline, budget: &mut Budget) -> Clean {
    run(page, deadline, budget, false)
}

/// The text of a page, one line for each block, without what is hidden: for a page that is too much for anything better.
pub(super) fn plain(page: &str, budget: &mut Budget) -> Clean {
    run(page, Deadline::never(), budget, true)
}

fn run(page: &str, deadline: Deadline, budget: &mut Budget, is_plain: bool) -> Clean {
    let mut cleaner = Cleaner {
        clean: Clean {
            html: String::with_capacity(page.len() / 2),
            title: String::new(),
            base: None,
            is_cut: false,
            elements: 0,
            is_too_much: false,
        },
        budget,
        open: Vec::new(),
        names: Stack::default(),
        beyond: 0,
        sunk: None,
        dropped: 0,
        indenting: 0,
        keeping: 0,
        references: 0,
        is_full: false,
        is_plain,
    };
    for (index, token) in Scanner::new(page).enumerate() {
        let before = cleaner.clean.html.len();
        match token {
            Token::Text(text) => cleaner.text(text),
            Token::Sign => cleaner.text("<"),
            Token::Start(tag) => cleaner.start(&tag),
            Token::End(name) => cleaner.end(&name),
        }
        let written = cleaner.clean.html.len() - before;
        cleaner.is_full |= cleaner.budget.copy(written).is_err();
        let is_over = index % BETWEEN_LOOKS == 0 && deadline.is_over();
        cleaner.clean.is_too_much |= is_over || cleaner.references > MAX_REFERENCES;
        if cleaner.is_full || cleaner.clean.is_too_much {
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

impl Cleaner<'_> {
    fn text(&mut self, text: &str) {
        if self.open.last().is_some_and(|open| open.name == "title")
            && self.clean.title.is_empty()
            && self.dropped == 1
        {
            self.clean.title = text[..text.floor_char_boundary(500)].to_owned();
        }
        if self.dropped > 0 || self.sunk.is_some() {
            return;
        }
        if self.indenting > 0 && self.keeping > 0 {
            self.indent(text.matches('\n').count());
        }
        let room = usize::try_from(self.budget.bytes_left()).unwrap_or(usize::MAX);
        let kept = &text[..text.floor_char_boundary(room)];
        if !self.is_plain {
            let is_sign = |byte: &u8| matches!(byte, b'&' | b'<' | b'>');
            self.references += kept.bytes().filter(is_sign).count();
        }
        for c in kept.chars() {
            match c {
                '<' if !self.is_plain => self.clean.html.push_str("&lt;"),
                '>' if !self.is_plain => self.clean.html.push_str("&gt;"),
                // A non-character may have a meaning later on.
                '\0' | '\u{fdd0}' => {}
                c => self.clean.html.push(c),
            }
        }
        self.is_full |= kept.len() < text.len();
    }

    /// Pays for the indentation that Markdown will add to lines.
    fn indent(&mut self, lines: usize) {
        let added = lines.saturating_mul(self.indenting * INDENT);
        self.is_full |= self.budget.copy(added).is_err();
    }

    fn start(&mut self, tag: &Tag<'_>) {
        let name = tag.name.as_str();
        if let Some(sunk) = &mut self.sunk {
            sunk.depth += usize::from(sunk.name == name && !is_void(name));
            return;
        }
        self.close_to(kept(name, &self.names));
        if name == "base" && self.clean.base.is_none() {
            let href = tag.attributes.iter().find(|(name, _)| name == "href");
            self.clean.base = href.map(|(_, value)| (*value).to_owned());
        }
        let is_void = is_void(name);
        let is_dropped = DROPPED.contains(&name) || (self.is_plain && is_hidden(tag));
        if self.open.len() >= MAX_DEPTH && !is_void {
            if is_dropped {
                let name = name.to_owned();
                self.sunk = Some(Sunk { name, depth: 1 });
            } else if self.dropped == 0 {
                // Deeper still, so that its end tag ends nothing else.
                self.beyond += 1;
                // Its text does not join the word before it.
                if !self.clean.html.ends_with(' ') {
                    self.text(" ");
                }
            }
            return;
        }
        if is_dropped {
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
        self.names.push(name);
        self.open.push(Open {
            name: name.to_owned(),
            written,
        });
    }

    fn write(&mut self, written: &str, tag: &Tag<'_>) {
        if written.is_empty() {
            return;
        }
        if self.is_plain {
            let apart = if is_block(&tag.name) || matches!(written, "br" | "tr") {
                '\n'
            } else if matches!(written, "td" | "th") {
                ' '
            } else {
                return;
            };
            if !self.clean.html.ends_with([apart, '\n']) {
                self.clean.html.push(apart);
            }
            return;
        }
        self.clean.elements += 1;
        if self.clean.elements >= MAX_ELEMENTS {
            self.is_full = true;
        }
        if written == "br" {
            self.indent(1);
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
    }

    fn end(&mut self, name: &str) {
        let is_open = self.names.has(name);
        if let Some(sunk) = &mut self.sunk {
            if sunk.name == name {
                sunk.depth -= 1;
                if sunk.depth == 0 {
                    self.sunk = None;
                }
                return;
            }
            if !is_open {
                return;
            }
            // The enclosing element ends, and it ends too.
            self.sunk = None;
        }
        if self.beyond > 0 && self.dropped == 0 {
            self.beyond -= 1;
            return;
        }
        if !is_open {
            return;
        }
        // `</br>` and `</p>` of nothing are shown as if they had been opened; that changes no text.
        if let Some(kept) = kept_after(name, &self.names) {
            self.close_to(kept);
        }
    }

    /// Closes elements, the innermost first, and takes back what [`Cleaner::push`] counted.
    fn close_to(&mut self, kept: usize) {
        while self.open.len() > kept {
            let Some(closed) = self.open.pop() else {
                return;
            };
            self.is_full |= self.budget.step(1).is_err();
            self.indenting -= usize::from(indents(closed.written));
            self.keeping -= usize::from(closed.written == Some("pre"));
            self.names.pop(&closed.name);
            match closed.written {
                None => self.dropped -= 1,
                Some("") => {}
                Some(_) if self.is_plain => {
                    if is_block(&closed.name) && !self.clean.html.ends_with('\n') {
                        self.clean.html.push('\n');
                    }
                }
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

/// Whether a tag says that its element is not shown.
fn is_hidden(tag: &Tag<'_>) -> bool {
    let value = |wanted: &str| {
        let found = tag.attributes.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| decoded(value))
    };
    let (style, width, height) = (value("style"), value("width"), value("height"));
    let closed = tag.name == "dialog" && value("open").is_none();
    let looks = Looks {
        hidden: value("hidden").is_some() || value("popover").is_some() || closed,
        style: style.as_deref(),
        width: width.as_deref(),
        height: height.as_deref(),
    };
    looks.is_hidden()
}

/// The longest character reference that is looked for.
const MAX_REFERENCE: usize = 10;

/// A text with the usual character references in it replaced; a parser knows two thousand more.
pub(super) fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let near = &rest[..rest.floor_char_boundary(MAX_REFERENCE)];
        let found = near
            .find(';')
            .and_then(|end| Some((end, referred(&near[..end])?)));
        match found {
            Some((end, c)) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    out
}

fn referred(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let number = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        return char::from_u32(number.ok()?).filter(|c| *c != '\0');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(page: &str) -> Clean {
        super::clean(page, Deadline::never(), &mut budget())
    }

    #[test]
    fn twice_the_page_is_twice_the_work() {
        const COUNT: usize = 2_000;
        let families: &[(&str, &str)] = &[
            ("<svg>", "<a>"),
            ("<svg>", "</b>"),
            ("<svg>", "</svg><a>"),
            ("<math>", "<li>"),
            ("<object>", "<p>"),
            ("<button><div>", "</p>"),
            ("<a><b><i>", "<p>"),
            ("<p>", "<h1>"),
            ("<h1><div>", "<h2>"),
            ("<ul><li>", "</ol>"),
            ("<ul><li><b>", "<li>"),
            ("<a><table><b>", "</a>"),
            ("<table><tr><td>", "<td>"),
            ("<table><caption>", "<tr>"),
            ("<dl><dt>", "<dd>"),
            ("<blockquote>", "</q>"),
            ("<select><option>", "<option>"),
            ("<unknown>", "</other>"),
            ("<", "&"),
            ("<!--", "-->"),
            ("<![CDATA[", "]]>"),
            ("<pre>", "\n"),
            ("</p>", "</br>"),
        ];
        for (first, then) in families {
            for plain in [false, true] {
                let of = |count: usize| {
                    let page = first.repeat(count) + &then.repeat(2 * count);
                    let mut budget = budget();
                    match plain {
                        true => super::plain(&page, &mut budget),
                        false => super::clean(&page, Deadline::never(), &mut budget),
                    };
                    budget.steps_taken()
                };
                let (once, twice) = (of(COUNT), of(2 * COUNT));
                assert!(
                    2 * twice <= 5 * once,
                    "{first} {then}: {once}, then {twice}"
                );
            }
        }
    }

    #[test]
    fn what_is_left_out_ends_where_it_ends_however_deep_it_is() {
        let deep = "<div>".repeat(MAX_DEPTH);
        let of = |inside: &str| {
            let html = clean(&format!("{deep}{inside}")).html;
            html.replace("<div>", "").replace("</div>", "")
        };
        assert_eq!(of("a<svg>x<svg>y</svg>z</svg>b"), "ab");
        assert_eq!(of("a<svg><path/><g></g>x</svg>b</div>c"), "abc");
        assert_eq!(of("a<svg>x</div>b"), "ab");
    }

    #[test]
    fn a_list_that_has_ended_counts_for_no_other() {
        let lists = "<ul><li>a</ul><pre>b</pre>".repeat(3 * MAX_INDENTED);
        let html = clean(&lists).html;
        assert_eq!(html.matches("<ul>").count(), 3 * MAX_INDENTED);
        assert!(!html.contains("<span>"), "{html}");
        let before = "<ul><li>x</ul>".repeat(MAX_INDENTED);
        let lines = "<pre>\n</pre>".repeat(MAX_ELEMENTS / 2) + &"x\n".repeat(400_000);
        assert!(!clean(&(before + &lines)).is_cut);
    }

    #[test]
    fn there_is_no_work_after_the_deadline() {
        let page = "<p>a".repeat(10_000);
        let mut budget = budget();
        let found = super::clean(&page, Deadline::over(), &mut budget);
        assert!(found.is_too_much && found.is_cut);
        let steps = budget.steps_taken();
        assert!(steps <= 2 * BETWEEN_LOOKS as u64, "{steps}");
    }

    #[test]
    fn plain_text_is_what_is_shown() {
        let page = "<title>T</title><p>a &amp; <b>b</b><p style='display&#58;none'>no<div hidden>no<b>no</div>\
            <table><tr><td>1<td>2<tr><td>&#x33;</table>x<br>y<script>no</script>";
        let found = plain(page, &mut budget());
        assert_eq!(decoded(&found.html).trim(), "a & b\n1 2\n3\nx\ny");
        assert_eq!(found.title, "T");
        assert_eq!(decoded("&&amp;&nosuch;&#0;&lt"), "&&&nosuch;&#0;&lt");
    }
}
