//! Which elements a tag closes without saying so, as in `<li>a<li>b`.

use std::collections::HashMap;

/// Elements that have no content.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Elements that end a paragraph.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
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
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "ul",
];

const HEADINGS: &[&str] = &["h1", "h2", "h3", "h4", "h5", "h6"];

/// Elements that keep what is around them from being closed.
const WALLS: &[&str] = &["table", "td", "th", "caption"];

pub(super) fn is_void(name: &str) -> bool {
    VOID.contains(&name)
}

/// Whether an element is a separate block.
pub(super) fn is_block(name: &str) -> bool {
    BLOCKS.contains(&name)
}

/// The open elements, outermost first, by name: where each is is known, so that nothing has to look for it.
#[derive(Debug, Default)]
pub(super) struct Stack {
    places: HashMap<String, Vec<usize>>,
    len: usize,
}

impl Stack {
    pub(super) fn push(&mut self, name: &str) {
        match self.places.get_mut(name) {
            Some(places) => places.push(self.len),
            None => {
                self.places.insert(name.to_owned(), vec![self.len]);
            }
        }
        self.len += 1;
    }

    /// Takes the innermost away, which has this name.
    pub(super) fn pop(&mut self, name: &str) {
        let places = self.places.get_mut(name);
        if let Some(places) = places {
            places.pop();
            if places.is_empty() {
                self.places.remove(name);
            }
            self.len -= 1;
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Where elements of a name are, below a place.
    fn below(&self, name: &str, place: usize) -> &[usize] {
        let places = self.places.get(name).map_or(&[][..], Vec::as_slice);
        &places[..places.partition_point(|at| *at < place)]
    }
}

/// How many of the open elements stay open when an element starts.
pub(super) fn kept(starts: &str, open: &Stack) -> usize {
    let mut kept = open.len;
    let mut close = |what: &[&str], walls: &[&[&str]]| {
        let walls = walls.iter().copied().flatten();
        // The innermost wall, and the outermost within it.
        let wall = walls.filter_map(|name| open.below(name, kept).last()).max();
        let first = |name: &&str| {
            let places = open.below(name, kept);
            let within = places.partition_point(|at| wall.is_some_and(|wall| at <= wall));
            places.get(within).copied()
        };
        if let Some(place) = what.iter().filter_map(first).min() {
            kept = place;
        }
    };
    match starts {
        "li" => close(&["li"], &[WALLS, &["ul", "ol", "menu"]]),
        "dt" | "dd" => close(&["dt", "dd"], &[WALLS, &["dl"]]),
        "td" | "th" => close(&["td", "th"], &[&["table", "tr"]]),
        "tr" => close(&["tr", "caption"], &[&["table"]]),
        "thead" | "tbody" | "tfoot" => {
            close(&["thead", "tbody", "tfoot", "tr", "caption"], &[&["table"]]);
        }
        "a" => close(&["a"], &[WALLS]),
        _ => {}
    }
    if HEADINGS.contains(&starts) {
        close(HEADINGS, &[WALLS, BLOCKS_BUT_HEADINGS]);
    }
    if is_block(starts) {
        close(&["p"], &[WALLS]);
    }
    kept
}

/// A heading within one of these is another's.
const BLOCKS_BUT_HEADINGS: &[&str] = &["article", "aside", "blockquote", "div", "li", "section"];

/// How many of the open elements stay open when an element ends; `None` if it is not open.
pub(super) fn kept_after(ends: &str, open: &Stack) -> Option<usize> {
    let place = *open.below(ends, open.len).last()?;
    // An end tag in a cell is not that of something around the table.
    let is_of_table = matches!(
        ends,
        "table" | "tr" | "thead" | "tbody" | "tfoot" | "body" | "html"
    );
    let mut walls = WALLS
        .iter()
        .filter_map(|name| open.below(name, open.len).last());
    (is_of_table || walls.all(|wall| *wall <= place)).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(names: &str) -> Stack {
        let mut stack = Stack::default();
        names.split_whitespace().for_each(|name| stack.push(name));
        stack
    }

    #[test]
    fn tags_close_what_cannot_contain_them() {
        for (open, starts, expected) in [
            ("ul li", "li", 1),
            ("ul li p b", "li", 1),
            ("ul li ul", "li", 3),
            ("div p", "p", 1),
            ("p b", "div", 0),
            ("p table tr td", "p", 4),
            ("table tbody tr td", "td", 3),
            ("table tbody tr td", "tr", 2),
            ("table tbody tr td", "tbody", 1),
            ("table tr td table", "tr", 4),
            ("dl dt", "dd", 1),
            ("a b", "a", 0),
            ("h1", "h2", 0),
            ("p", "span", 1),
            ("", "p", 0),
        ] {
            let stack = stack(open);
            assert_eq!(kept(starts, &stack), expected, "{open:?} {starts}");
        }
    }

    #[test]
    fn an_end_tag_closes_what_is_open_and_nothing_else() {
        let open = stack("div table tr td p");
        let after = |ends| kept_after(ends, &open);
        assert_eq!(after("p"), Some(4));
        assert_eq!(after("td"), Some(3));
        assert_eq!(after("table"), Some(1));
        assert_eq!(after("div"), None);
        assert_eq!(after("em"), None);
    }
}
