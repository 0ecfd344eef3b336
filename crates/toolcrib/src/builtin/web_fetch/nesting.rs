//! Which elements a tag closes without saying so, as in `<li>a<li>b`.

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

/// Whether an element is a block of its own.
pub(super) fn is_block(name: &str) -> bool {
    BLOCKS.contains(&name)
}

/// How many of the open elements stay open when an element starts; `is_open` says whether there is one of a name among them.
///
/// A look upwards goes to a wall or through all of them, so it costs as much as elements may be nested; there is none for what is not open.
pub(super) fn kept<'a>(
    starts: &str,
    open: impl DoubleEndedIterator<Item = &'a str> + ExactSizeIterator + Clone,
    is_open: impl Fn(&str) -> bool,
) -> usize {
    let mut kept = open.len();
    let mut close = |what: &[&str], walls: &[&[&str]]| {
        if !what.iter().any(|name| is_open(name)) {
            return;
        }
        let found = open
            .clone()
            .enumerate()
            .rev()
            .skip(open.len() - kept)
            .take_while(|(_, name)| !walls.iter().any(|walls| walls.contains(name)))
            .filter(|(_, name)| what.contains(name))
            .last();
        if let Some((index, _)) = found {
            kept = index;
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
pub(super) fn kept_after<'a>(
    ends: &str,
    open: impl DoubleEndedIterator<Item = &'a str> + ExactSizeIterator,
) -> Option<usize> {
    let mut index = open.len();
    for name in open.rev() {
        index -= 1;
        if name == ends {
            return Some(index);
        }
        // An end tag in a cell is not that of something around the table.
        let is_wall = WALLS.contains(&name);
        if is_wall
            && !matches!(
                ends,
                "table" | "tr" | "thead" | "tbody" | "tfoot" | "body" | "html"
            )
        {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let open: Vec<&str> = open.split_whitespace().collect();
            assert_eq!(
                kept(starts, open.iter().copied(), |name| open.contains(&name)),
                expected,
                "{open:?} {starts}"
            );
        }
    }

    #[test]
    fn an_end_tag_closes_what_is_open_and_nothing_else() {
        let open = ["div", "table", "tr", "td", "p"];
        let after = |ends| kept_after(ends, open.iter().copied());
        assert_eq!(after("p"), Some(4));
        assert_eq!(after("td"), Some(3));
        assert_eq!(after("table"), Some(1));
        assert_eq!(after("div"), None);
        assert_eq!(after("em"), None);
    }
}
