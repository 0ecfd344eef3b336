//! What of a web page a person would read, as Markdown.
//!
//! The page is made tame first (`clean`), so that everything behind works on a small tree. Then what is hidden goes, links become
//! absolute, and the article is picked out; a page without one is taken whole. The Markdown is that of `dom_query`, which the search
//! for the article rests on anyway: a second parser with a second tree, which walks by recursion, would have been `htmd`.

use std::ops::ControlFlow;

use dom_query::{Document, NodeRef};
use dom_smoothie::{Config, Readability};
use url::Url;

use super::clean::{Clean, budget, clean, decoded, plain};
use super::deadline::Deadline;
use super::visible::Looks;
use crate::model::budget::{Budget, Spent};

/// The most elements that an article is looked for in; looking weighs every one against the others around it.
const MAX_WEIGHED: usize = 12_000;

/// What an article must have of the page's text to be taken for it.
const MIN_ARTICLE: usize = 200;

/// Stands for `&` in links while Markdown is made, which would write it as `&amp;`: right for a browser, wrong for a reader who copies it.
/// It is not a character, so no page contains it.
const AMPERSAND: char = '\u{fdd0}';

/// How many elements are changed between two looks at the clock.
const BETWEEN_LOOKS: usize = 256;

/// The longest title.
const MAX_TITLE: usize = 300;

/// A page as Markdown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) markdown: String,
    /// What should be known about it.
    pub(super) note: Option<&'static str>,
}

/// Turns a page, found at a URL, into Markdown; into plain text if there is no time for more.
pub(super) fn page(html: &str, url: &Url, deadline: Deadline) -> Page {
    in_time(html, url, deadline).unwrap_or_else(|| plain_page(html))
}

/// The text of a page, which takes one pass.
fn plain_page(html: &str) -> Page {
    let found = plain(html, &mut budget());
    let text = decoded(&found.html);
    let lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    let mut markdown = lines.join("\n");
    if !markdown.is_empty() {
        markdown.push('\n');
    }
    Page {
        markdown,
        note: Some(match found.is_cut {
            true => {
                "the page is too complex to be made readable in time: this is the beginning of its plain text"
            }
            false => "the page is too complex to be made readable in time: this is its plain text",
        }),
    }
}

/// The Markdown; `None` if the time is over before it is there.
fn in_time(html: &str, url: &Url, deadline: Deadline) -> Option<Page> {
    let go_on = || (!deadline.is_over()).then_some(());
    let mut budget = budget();
    let cleaned = clean(html, deadline, &mut budget);
    if cleaned.is_too_much {
        return None;
    }
    go_on()?;
    let document = Document::from(cleaned.html.as_str());
    go_on()?;
    tame(&document, &base(&cleaned, url), deadline, &mut budget)?;
    let title = title(&cleaned);
    let whole = document.clone();
    go_on()?;
    let article = article(document, cleaned.elements, &mut budget);
    let body = match article {
        Some(article) => article,
        None => {
            go_on()?;
            whole.md(None).to_string()
        }
    };
    let mut markdown = String::new();
    let has_heading = body.trim_start().starts_with("# ");
    if !title.is_empty() && !has_heading {
        markdown.push_str(&format!("# {title}\n\n"));
    }
    markdown.push_str(&body.trim().replace(AMPERSAND, "&"));
    if !markdown.is_empty() {
        markdown.push('\n');
    }
    Some(Page {
        markdown,
        note: cleaned
            .is_cut
            .then_some("the page is very large: its end is left out"),
    })
}

/// The text of a piece of HTML in one line: a search result's title, say.
pub(in super::super) fn text_of(html: &str) -> String {
    let document = Document::from(clean(html, Deadline::never(), &mut budget()).html.as_str());
    let text = document.text();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What relative links are relative to.
fn base(cleaned: &Clean, url: &Url) -> Url {
    let named = cleaned
        .base
        .as_deref()
        .map(|base| base.replace("&amp;", "&"));
    named
        .and_then(|base| url.join(base.trim()).ok())
        .filter(|base| matches!(base.scheme(), "http" | "https"))
        .unwrap_or_else(|| url.clone())
}

fn title(cleaned: &Clean) -> String {
    let title = text_of(&cleaned.title.replace('<', "&lt;"));
    let end = title.floor_char_boundary(MAX_TITLE);
    // The title is in a line of Markdown.
    title[..end].replace(['`', '\\'], "")
}

/// Takes out what is hidden and makes links absolute; `None` if the time is over before that.
fn tame(document: &Document, base: &Url, deadline: Deadline, budget: &mut Budget) -> Option<()> {
    let marked = "[style], [hidden], [popover], [width][height], dialog";
    for (index, node) in document.select(marked).nodes().iter().enumerate() {
        if index % BETWEEN_LOOKS == 0 && deadline.is_over() {
            return None;
        }
        let attribute = |name: &str| node.attr(name);
        let (style, width, height) = (attribute("style"), attribute("width"), attribute("height"));
        let closed = node.has_name("dialog") && !node.has_attr("open");
        let looks = Looks {
            hidden: node.has_attr("hidden") || node.has_attr("popover") || closed,
            style: style.as_deref(),
            width: width.as_deref(),
            height: height.as_deref(),
        };
        if looks.is_hidden() {
            node.remove_from_parent();
        } else {
            node.remove_attr("style");
        }
    }
    for (marked, name) in [("a[href]", "href"), ("img[src]", "src")] {
        for (index, node) in document.select(marked).nodes().iter().enumerate() {
            if index % BETWEEN_LOOKS == 0 && deadline.is_over() {
                return None;
            }
            if let ControlFlow::Break(()) = absolute(node, name, base, budget) {
                return Some(());
            }
        }
    }
    Some(())
}

/// Makes one link absolute; what leads nowhere on the web is not a link any more.
fn absolute(node: &NodeRef<'_>, name: &str, base: &Url, budget: &mut Budget) -> ControlFlow<()> {
    let Some(link) = node.attr(name) else {
        return ControlFlow::Continue(());
    };
    // A place in the same page is not worth its address.
    let is_place = name == "href" && link.trim_start().starts_with('#');
    let resolved = base.join(link.trim()).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https") || (name == "href" && url.scheme() == "mailto")
    });
    match resolved {
        Some(url) if !is_place => {
            if budget.copy(url.as_str().len()).is_err() {
                return ControlFlow::Break(());
            }
            node.set_attr(
                name,
                &url.as_str()
                    .replace('&', AMPERSAND.encode_utf8(&mut [0; 4])),
            );
        }
        _ if name == "src" => node.remove_from_parent(),
        _ => node.remove_attr(name),
    }
    ControlFlow::Continue(())
}

/// The article of a page, if it has one.
fn article(document: Document, elements: usize, budget: &mut Budget) -> Option<String> {
    if elements > MAX_WEIGHED {
        return None;
    }
    pay_for_weighing(&document, budget).ok()?;
    let length = document.text().len();
    let config = Config {
        disable_json_ld: true,
        keep_classes: true,
        ..Config::default()
    };
    let mut search = Readability::with_document(document, None, Some(config)).ok()?;
    let article = search.parse().ok()?;
    let text = article.text_content.trim().len();
    // A page of links has no article, and a teaser is not one.
    if text < MIN_ARTICLE.min(length / 2) || text < length / 20 {
        return None;
    }
    let markdown = Document::from(article.content).md(None).to_string();
    (!markdown.trim().is_empty()).then_some(markdown)
}

/// Pays for looking for an article in a document. Each element is weighed by itself, so a text counts once for each element that it
/// is in. On the way texts are written as HTML, for which the parser's library looks at the rest of a text for each sign in it that
/// must be escaped.
fn pay_for_weighing(document: &Document, budget: &mut Budget) -> Result<(), Spent> {
    let root = document.root();
    for node in root.descendants_it().filter(NodeRef::is_text) {
        let text = node.text();
        let signs = text
            .bytes()
            .filter(|byte| matches!(byte, b'&' | b'<' | b'>' | 0xc2));
        let escaped = signs.count().saturating_mul(text.len());
        let weight = text.len().saturating_mul(node.ancestors_it(None).count());
        budget.step(1 + escaped / 16 + weight / 4 * 3)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn md(html: &str) -> String {
        let url = "https://example.com/docs/page?x=1".parse().unwrap();
        page(html, &url, Deadline::never()).markdown
    }

    #[test]
    fn a_page_that_there_is_no_time_for_is_plain_text() {
        let url = "https://example.com/".parse().unwrap();
        let found = page(
            "<h1>A  &lt;B</h1><p>c<ul><li>d<li hidden>e</ul>",
            &url,
            Deadline::over(),
        );
        assert_eq!(found.markdown, "A <B\nc\nd\n");
        assert_eq!(
            found.note.unwrap(),
            "the page is too complex to be made readable in time: this is its plain text"
        );
    }

    #[test]
    fn a_page_of_signs_is_plain_text() {
        for piece in ["&amp;", "<", "a>b"] {
            let url = "https://example.com/".parse().unwrap();
            let found = page(&piece.repeat(300_000), &url, Deadline::never());
            assert!(
                found
                    .note
                    .is_some_and(|note| note.ends_with("its plain text"))
            );
            assert!(found.markdown.len() >= 300_000, "{piece}");
        }
    }

    #[test]
    fn the_thirteenth_list_is_a_list() {
        let found = md(&"<ul><li>a</ul><p>b".repeat(20));
        assert_eq!(found.matches("- a\n").count(), 20, "{found}");
    }

    #[test]
    fn a_page_becomes_what_a_person_would_read() {
        let html = "<!doctype html><head><title>Notes &amp; <more></title><style>p{}</style>\
            <script>alert('<p>no</p>')</script></head><body><!-- secret -->\
            <h2>Install</h2><p>Run <code>cargo add x</code>, then <em>build</em>.\
            <ul><li>one<li><a href=\"../b?c=1&amp;d=2\">two</a></ul>\
            <pre><code class=\"language-rust\">fn main() {}\n</code></pre>\
            <table><tr><th>a<th>b<tr><td>1<td>2</table><img src=/i.png alt=Logo>";
        assert_eq!(
            md(html),
            "# Notes & <more>\n\n## Install\n\nRun `cargo add x`, then *build*.\n\n- one\n- [two](https://example.com/b?c=1&d=2)\n\n\
             ```rust\nfn main() {}\n```\n\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n![Logo](https://example.com/i.png)\n"
        );
    }

    #[test]
    fn what_is_hidden_does_not_come_through() {
        let html = "<p>seen</p><p hidden>x1</p><div style='display:none'>x2<p>x3</div>\
            <span style=\"font-size&#58;0\">x4</span><p style='position:absolute;left:-9999px'>x5<p>also seen\
            <noscript>x6</noscript><template>x7</template><svg><text>x8</text></svg><select><option>x9</select>\
            <textarea>x10</textarea><iframe>x11</iframe><dialog>x12</dialog><!-- x13 --><button>x14</button>\
            <div aria-label=x15 title=x16>end</div><div hidden><div>x17</div>x18</div><style>x19</style><title>x20</title>\
            <object>x21</object><a style='opacity:0' href='/x22'>x23</a><b hidden>x24</b>";
        let markdown = md(html);
        let body = markdown.split_once("\n\n").unwrap().1;
        for number in 1..=24 {
            assert!(!body.contains(&format!("x{number}")), "x{number} in {body}");
        }
        for seen in ["seen", "also seen", "end"] {
            assert!(body.contains(seen), "{body}");
        }
    }

    #[test]
    fn links_lead_to_the_web_or_are_none() {
        let html = "<base href='https://other.test/a/'><a href='b'>1</a> <a href='javascript:alert(1)'>2</a> \
            <a href='#here'>3</a> <a href='data:text/html,x'>4</a> <a href='mailto:a@b.test'>5</a> \
            <a href='//cdn.test/x'>6</a> <img src='data:image/png;base64,AAAA' alt=pixel> <a href='file:///etc/passwd'>7</a>";
        assert_eq!(
            md(html),
            "[1](https://other.test/a/b) 2 3 4 [5](mailto:a@b.test) [6](https://cdn.test/x) 7\n"
        );
    }

    #[test]
    fn an_article_is_picked_out_of_what_is_around_it() {
        let text = "The quick brown fox jumps over the lazy dog, again and again, until the evening comes. ".repeat(8);
        let links = "<li><a href='/x'>Somewhere else</a></li>".repeat(20);
        let html = format!(
            "<title>Foxes</title><nav><ul>{links}</ul></nav><div class=sidebar>{links}</div>\
             <article><h1>On foxes</h1><p>{text}</p><p>{text}</p></article><footer>Imprint {links}</footer>"
        );
        let markdown = md(&html);
        assert!(markdown.contains("quick brown fox"), "{markdown}");
        assert!(!markdown.contains("Somewhere else"), "{markdown}");
        assert!(markdown.starts_with("# "), "{markdown}");
    }

    #[test]
    fn a_page_without_an_article_is_taken_whole() {
        let links: String = (0..30)
            .map(|n| format!("<li><a href='/{n}'>Entry {n}</a>"))
            .collect();
        let markdown = md(&format!("<title>Index</title><ul>{links}</ul>"));
        assert!(
            markdown.starts_with("# Index\n\n- [Entry 0](https://example.com/0)\n"),
            "{markdown}"
        );
        assert!(
            markdown.ends_with("- [Entry 29](https://example.com/29)\n"),
            "{markdown}"
        );
        assert_eq!(md(""), "");
        assert_eq!(md("just text"), "just text\n");
    }

    #[test]
    fn the_text_of_a_piece_is_one_line() {
        assert_eq!(
            text_of("<strong>Rust</strong>\n &amp; <b>friends"),
            "Rust & friends"
        );
        assert_eq!(text_of("a < b"), "a < b");
        assert_eq!(text_of("x<script>y</script>"), "x");
    }

    #[test]
    fn a_hundred_thousand_open_elements_are_not_a_deep_tree() {
        let html =
            "<div>".repeat(100_000) + "<p>bottom</p>" + &"</div>".repeat(100_000) + "<p>after";
        assert_eq!(md(&html), "bottom\n\nafter\n");
    }

    /// Each of these took a parser that builds a tree of the page itself, or a writer behind it, time or memory without bounds.
    #[test]
    fn hostile_pages_stay_small() {
        const SIZE: usize = 6_000;
        let fill = |piece: &str| piece.repeat(SIZE / piece.len());
        let numbered = |piece: fn(usize) -> String| (0..SIZE / 20).map(piece).collect::<String>();
        let pages = [
            ("lists", fill("<ul><li>a")),
            ("quotes", fill("<blockquote>a<br>")),
            ("signs", fill("<")),
            ("references", fill("&")),
            (
                "formatting",
                numbered(|n| format!("<font color=c{n}><b id=i{n}>")) + &fill("<p>x"),
            ),
            ("blocks", "<b>".repeat(1000) + &fill("<p>x")),
            ("unclosed", fill("<a href=x><b><i>y")),
            (
                "attributes",
                format!("<a {}>x", numbered(|n| format!("a{n} "))),
            ),
            ("tables", fill("<table><tr><td>x")),
            ("cells", format!("<table>{}", fill("<tr><td>x<td>y"))),
            (
                "lines",
                format!("{}<pre>{}", "<ul><li>".repeat(40), fill("\n")),
            ),
            (
                "breaks",
                format!("{}{}", "<ul><li>".repeat(40), fill("<br>")),
            ),
            (
                "divs",
                fill("<div>Some words, and more of them,<br><br>to be weighed.</div>"),
            ),
            ("comments", fill("<!--")),
            (
                "links",
                format!(
                    "<base href='/{}'>{}",
                    "b".repeat(4000),
                    fill("<a href=x>y</a>")
                ),
            ),
        ];
        for (name, html) in pages {
            let found = md(&html);
            let most = match name {
                // What every line of a list in a list in a list … has in front.
                "lists" | "lines" | "breaks" => 100 * SIZE,
                // As many links, but not for ever: there is a limit on all of them.
                "links" => 8 * 1024 * 1024 + 10 * SIZE,
                _ => 6 * SIZE,
            };
            assert!(found.len() <= most, "{name}: {} bytes", found.len());
        }
    }

    #[test]
    fn pages_that_are_slow_to_weigh_are_taken_whole() {
        let is_heavy = |html: &str| pay_for_weighing(&Document::from(html), &mut budget()).is_err();
        assert!(is_heavy(&"&".repeat(20_000)));
        assert!(is_heavy(&("<i>".repeat(100) + &"x".repeat(300_000))));
        assert!(!is_heavy(
            &"<p>Fish &amp; chips, and more</p>".repeat(5_000)
        ));
    }
}
