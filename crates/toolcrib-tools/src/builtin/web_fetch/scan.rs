//! HTML as a run of tags and texts.
//!
//! One pass, linear in time, borrowing from the page: no tree, no stack, no table of names. It follows the tokenizer of the HTML standard
//! as far as that decides what is text and what is not; character references stay as they are for the parser behind.
//! A parser that builds its tree from the page itself was the alternative: the standard has it copy open formatting elements into every
//! new block, and look at all attributes of a tag for each, so that a few megabytes take it gigabytes or hours.

/// A piece of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text, character references and all.
    Text(&'a str),
    /// A sign of markup that is none: a bare `<`.
    Sign,
    Start(Tag<'a>),
    /// The end of an element.
    End(String),
}

/// A start tag.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// In lower case.
    pub(super) name: String,
    /// Names in lower case, values as written; the first of a name counts.
    pub(super) attributes: Vec<(String, &'a str)>,
}

/// How many attributes of a tag are looked at.
const MAX_ATTRIBUTES: usize = 32;

/// The longest name that means anything.
const MAX_NAME: usize = 40;

/// Elements whose content is text up to their end tag.
const RAW: &[&str] = &[
    "iframe", "noembed", "noframes", "noscript", "script", "style", "textarea", "title", "xmp",
];

/// Reads a page.
pub(super) struct Scanner<'a> {
    rest: &'a str,
    /// The element whose content is not markup.
    raw: Option<String>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(page: &'a str) -> Self {
        Scanner {
            rest: page,
            raw: None,
        }
    }

    /// Takes this many bytes.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    /// Text up to where something ends, which is left; to the end of the page if nothing does.
    fn until(&mut self, end: Option<usize>) -> Option<Token<'a>> {
        let text = self.take(end.unwrap_or(self.rest.len()));
        (!text.is_empty()).then_some(Token::Text(text))
    }

    /// A comment, a doctype, a processing instruction or something like one, which is skipped.
    fn skip_declaration(&mut self) {
        let Some(comment) = self.rest.strip_prefix("<!--") else {
            let end = self.rest.find('>').map_or(self.rest.len(), |at| at + 1);
            self.take(end);
            return;
        };
        // `<!-->` and `<!--->` are whole comments.
        let empty = [">", "->"].into_iter().find(|end| comment.starts_with(end));
        let inside = match empty {
            Some(end) => end.len(),
            None => comment_end(comment.bytes()).unwrap_or(comment.len()),
        };
        self.take(4 + inside);
    }

    /// A tag, after its `<`; `None` when the page ends in it.
    fn tag(&mut self) -> Option<(Tag<'a>, bool)> {
        let ends = self.rest.starts_with("</");
        self.take(if ends { 2 } else { 1 });
        let is_end_of_name = |c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>');
        let name = self.take(self.rest.find(is_end_of_name)?);
        let mut tag = Tag {
            name: lower(name),
            attributes: Vec::new(),
        };
        loop {
            let blank = |c: char| c.is_ascii_whitespace() || c == '/';
            self.rest = self.rest.trim_start_matches(blank);
            if self.rest.starts_with('>') {
                self.take(1);
                return Some((tag, ends));
            }
            // An attribute may begin with `=`.
            let first = self.rest.chars().next()?.len_utf8();
            let after = &self.rest[first..];
            let end = after.find(|c: char| is_end_of_name(c) || c == '=')?;
            let name = self.take(first + end);
            let value = self.value()?;
            let is_new = |name: &String| tag.attributes.iter().all(|(other, _)| other != name);
            if tag.attributes.len() < MAX_ATTRIBUTES {
                let name = lower(name);
                if is_new(&name) {
                    tag.attributes.push((name, value));
                }
            }
        }
    }

    /// The value of an attribute, after its name; empty if it has none.
    fn value(&mut self) -> Option<&'a str> {
        let Some(after) = self.rest.trim_ascii_start().strip_prefix('=') else {
            return Some("");
        };
        self.rest = after.trim_ascii_start();
        let quote = self.rest.chars().next()?;
        if matches!(quote, '"' | '\'') {
            self.take(1);
            let value = self.take(self.rest.find(quote)?);
            self.take(1);
            return Some(value);
        }
        let end = self
            .rest
            .find(|c: char| c.is_ascii_whitespace() || c == '>')?;
        Some(self.take(end))
    }
}

impl<'a> Iterator for Scanner<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if let Some(name) = self.raw.take() {
            let end = end_tag(self.rest, &name);
            if let Some(text) = self.until(end) {
                return Some(text);
            }
        }
        loop {
            let mut chars = self.rest.chars();
            match (chars.next()?, chars.next(), chars.next()) {
                ('<', Some('!' | '?'), _) => self.skip_declaration(),
                ('<', Some('/'), Some(c)) if !c.is_ascii_alphabetic() => self.skip_declaration(),
                ('<', Some(c), _) if c.is_ascii_alphabetic() => break,
                ('<', Some('/'), Some(_)) => break,
                ('<', _, _) => {
                    self.take(1);
                    return Some(Token::Sign);
                }
                _ => {
                    let end = self.rest.find('<');
                    return self.until(end);
                }
            }
        }
        let Some((tag, ends)) = self.tag() else {
            // The page ends within a tag.
            self.rest = "";
            return None;
        };
        if ends {
            return Some(Token::End(tag.name));
        }
        if tag.name == "plaintext" {
            self.raw = Some(String::new());
        } else if RAW.contains(&tag.name.as_str()) {
            self.raw = Some(tag.name.clone());
        }
        Some(Token::Start(tag))
    }
}

/// Where a comment has ended, with `-->` or `--!>`. Nothing behind that is looked at: a page can be all comments.
fn comment_end(bytes: impl Iterator<Item = u8>) -> Option<usize> {
    let (mut dashes, mut is_loud) = (0, false);
    for (index, byte) in bytes.enumerate() {
        match byte {
            b'-' if is_loud => (dashes, is_loud) = (1, false),
            b'-' => dashes += 1,
            b'>' if dashes >= 2 => return Some(index + 1),
            b'!' if dashes >= 2 && !is_loud => is_loud = true,
            _ => (dashes, is_loud) = (0, false),
        }
    }
    None
}

/// Where the end tag of an element begins.
fn end_tag(text: &str, name: &str) -> Option<usize> {
    if name.is_empty() {
        return None;
    }
    let mut from = 0;
    loop {
        let at = from + text[from..].find("</")?;
        let after = &text.as_bytes()[at + 2..];
        let is_it = after.len() > name.len()
            && after[..name.len()].eq_ignore_ascii_case(name.as_bytes())
            && (after[name.len()].is_ascii_whitespace()
                || matches!(after[name.len()], b'/' | b'>'));
        if is_it {
            return Some(at);
        }
        from = at + 2;
    }
}

/// A name in lower case; one that is too long to mean anything is cut.
fn lower(name: &str) -> String {
    name[..name.floor_char_boundary(MAX_NAME)].to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens in one line.
    fn tokens(page: &str) -> String {
        let words = Scanner::new(page).map(|token| match token {
            Token::Text(text) => format!("{text:?}"),
            Token::Sign => "sign".to_owned(),
            Token::End(name) => format!("/{name}"),
            Token::Start(tag) => {
                let all = tag.attributes.iter();
                let all: String = all
                    .map(|(name, value)| format!(" {name}={value}"))
                    .collect();
                format!("<{}{all}>", tag.name)
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tags_and_texts_are_distinguished_as_browsers_do() {
        for (page, expected) in [
            ("a<B>c</b >d", r#""a" <b> "c" /b "d""#),
            (
                "<a href=x/y class='q>r' hidden ID = \"z\">",
                "<a href=x/y class=q>r hidden= id=z>",
            ),
            ("<br/><img src=a/ alt=>", "<br> <img src=a/ alt=>"),
            ("<a x=1 X=2>", "<a x=1>"),
            ("1 < 2 <3 <", r#""1 " sign " 2 " sign "3 " sign"#),
            (
                "a<!-- <b> -- -->c<!-->d<!--->e<!doctype html>f<?php x ?>g",
                r#""a" "c" "d" "e" "f" "g""#,
            ),
            ("a<!-- b --!>c<!-- never <b>", r#""a" "c""#),
            ("</3>x</>y", r#""x" "y""#),
            (
                "<script>if (a</b) '</scripty>'</SCRIPT >x",
                r#"<script> "if (a</b) '</scripty>'" /script "x""#,
            ),
            ("<style></style>x", "<style> /style \"x\""),
            ("<title>a<b></title>", r#"<title> "a<b>" /title"#),
            (
                "<plaintext><b></plaintext>",
                r#"<plaintext> "<b></plaintext>""#,
            ),
            ("x<a href=\"", "\"x\""),
            ("x<a", "\"x\""),
            ("<a =b=c>", "<a =b=c>"),
            ("ü<é>", r#""ü" sign "é>""#),
            ("", ""),
        ] {
            assert_eq!(tokens(page), expected, "{page}");
        }
    }

    #[test]
    fn a_comment_is_read_to_its_end_and_no_further() {
        for (text, end) in [
            ("-->", 3),
            ("--->", 4),
            (" a --!>", 7),
            ("--!-->", 6),
            ("--!!> -->", 9),
            (" > -> - -> -->", 14),
        ] {
            let page = text.to_owned() + &"<!-- -->".repeat(100);
            let mut read = 0;
            let found = comment_end(page.bytes().inspect(|_| read += 1));
            assert_eq!((found, read), (Some(end), end), "{text}");
        }
        assert_eq!(comment_end("-- >--!".bytes()), None);
    }

    #[test]
    fn hostile_pages_are_read_to_their_end() {
        const SIZE: usize = 150_000;
        for piece in [
            "<",
            "<!--",
            "</",
            "<a ",
            "<a b=",
            "<script>",
            "<a b='",
            "a=b ",
            "<!",
            "<?",
            "</script",
            "<title></titl",
        ] {
            let page = piece.repeat(SIZE / piece.len());
            for prefix in ["", "<a ", "<script>"] {
                let page = format!("{prefix}{page}");
                assert!(Scanner::new(&page).count() <= page.len());
            }
        }
    }
}
