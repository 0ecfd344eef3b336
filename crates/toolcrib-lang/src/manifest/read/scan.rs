//! Cutting a text at its placeholders: [`scan`]. What a name means is for others to say.

use std::ops::Range;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece<'t> {
    /// Where it is in the text.
    pub(super) span: Range<usize>,
    pub(super) what: What<'t>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What<'t> {
    /// A text as it is. `$${` is the text `${`.
    Text(&'t str),
    /// `${name}`: what is between the braces.
    Name(&'t str),
    /// `${` without a `}`.
    Unclosed,
}

/// Cuts a text. `$${` stands for a literal `${`; a `$` before anything else is itself.
pub(super) fn scan(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut push = |span: Range<usize>, what| {
        if !span.is_empty() {
            pieces.push(Piece { span, what });
        }
    };
    let mut from = 0;
    let mut at = 0;
    while let Some(dollar) = text[at..].find('$') {
        let start = at + dollar;
        let rest = &text[start..];
        if rest.starts_with("$${") {
            push(from..start, What::Text(&text[from..start]));
            push(start..start + 3, What::Text(&text[start + 1..start + 3]));
            at = start + 3;
        } else if let Some(inside) = rest.strip_prefix("${") {
            push(from..start, What::Text(&text[from..start]));
            // A placeholder is on one line and holds no other.
            let end = inside.find(['}', '{', '\n']);
            match end.filter(|end| inside[*end..].starts_with('}')) {
                Some(end) => {
                    at = start + 2 + end + 1;
                    push(start..at, What::Name(&inside[..end]));
                }
                None => {
                    at = start + 2;
                    push(start..at, What::Unclosed);
                }
            }
        } else {
            at = start + 1;
            continue;
        }
        from = at;
    }
    push(from..text.len(), What::Text(&text[from..]));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<What<'_>> {
        let pieces = scan(text);
        let mut end = 0;
        for piece in &pieces {
            assert_eq!(piece.span.start, end, "{text}");
            end = piece.span.end;
        }
        assert_eq!(end, text.len(), "{text}");
        pieces.into_iter().map(|piece| piece.what).collect()
    }

    #[test]
    fn a_text_is_cut_at_its_placeholders_and_nowhere_else() {
        use What::{Name, Text, Unclosed};
        assert_eq!(cut("a${b}c"), [Text("a"), Name("b"), Text("c")]);
        assert_eq!(cut("${a}${b}"), [Name("a"), Name("b")]);
        assert_eq!(cut("$${a} $1 $"), [Text("${"), Text("a} $1 $")]);
        assert_eq!(cut("$$${a}"), [Text("$"), Text("${"), Text("a}")]);
        assert_eq!(cut("a${b"), [Text("a"), Unclosed, Text("b")]);
        assert_eq!(cut("${a${b}"), [Unclosed, Text("a"), Name("b")]);
        assert_eq!(cut("${}"), [Name("")]);
        assert_eq!(cut("${a\n}"), [Unclosed, Text("a\n}")]);
        assert_eq!(cut(""), []);
        assert_eq!(cut("é$é${é}"), [Text("é$é"), Name("é")]);
    }
}
