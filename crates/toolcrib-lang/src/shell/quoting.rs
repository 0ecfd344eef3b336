//! How each stretch of a text is quoted, for those who put something in its place: [`places`].
//!
//! The parser notes it while it reads, so there is one idea of bash's quotes and not two. What the parser does not read as text
//! (names, operators, what comes after an error) is noted nowhere.

use std::ops::Range;

use super::lex::{Dialect, Parser, Pending};

/// How a stretch of text is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quote {
    /// Part of a word, not quoted.
    Bare,
    /// `'…'`
    Single,
    /// `"…"`
    Double,
    /// `$'…'`
    Ansi,
    /// A here-document in which variables are expanded.
    Document,
    /// A here-document in which nothing is; the index into [`Places::documents`].
    QuotedDocument(usize),
    /// Between the braces of `${x:-…}`, not quoted.
    Braces,
    /// Between the braces of `${x:-…}`, inside double quotes.
    QuotedBraces,
    /// A subscript, not quoted.
    Subscript,
    /// `$((…))`, `((…))`
    Arithmetic,
    /// `# …`
    Comment,
}

/// What a stretch of text is part of, besides its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Region {
    /// The words of `${x:-…}` and its kin.
    Default,
    /// The words of other expansions: patterns, slices, indirection.
    Edit,
    /// A subscript.
    Subscript,
    /// An arithmetic expression.
    Arithmetic,
    /// Backticks.
    Backticks,
}

/// A here-document.
#[derive(Debug, Clone)]
pub(crate) struct DocumentPlace {
    /// Its delimiter as written after the operator.
    pub(crate) delimiter: Range<usize>,
    /// Its lines.
    pub(crate) body: Range<usize>,
}

/// Where everything is in a text.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) quotes: Vec<(Range<usize>, Quote)>,
    pub(crate) regions: Vec<(Range<usize>, Region)>,
    pub(crate) documents: Vec<DocumentPlace>,
    /// The delimiters of the here-documents in the order of [`super::syntax::Parsed::documents`].
    pub(super) delimiters: Vec<Range<usize>>,
}

impl Places {
    /// How a stretch is quoted; `None` when it is not text of one kind.
    pub(crate) fn quote(&self, range: &Range<usize>) -> Option<Quote> {
        let mut found = self
            .quotes
            .iter()
            .filter(|(stretch, _)| stretch.start <= range.start && range.end <= stretch.end);
        let first = found.next()?;
        found.next().is_none().then_some(first.1)
    }

    /// What a stretch is part of.
    pub(crate) fn regions(&self, range: &Range<usize>) -> impl Iterator<Item = Region> {
        self.regions
            .iter()
            .filter(|(stretch, _)| stretch.start <= range.start && range.end <= stretch.end)
            .map(|(_, region)| *region)
    }

    fn absorb(&mut self, inner: Places, offset: usize) {
        let shift = |range: Range<usize>| range.start + offset..range.end + offset;
        let documents = self.documents.len();
        for (range, quote) in inner.quotes {
            let quote = match quote {
                Quote::QuotedDocument(index) => Quote::QuotedDocument(index + documents),
                quote => quote,
            };
            self.quotes.push((shift(range), quote));
        }
        for (range, region) in inner.regions {
            self.regions.push((shift(range), region));
        }
        for document in inner.documents {
            self.documents.push(DocumentPlace {
                delimiter: shift(document.delimiter),
                body: shift(document.body),
            });
        }
    }
}

impl Parser<'_> {
    /// Notes what is where in backticks, unless backslashes make the text another one.
    pub(super) fn note_backticks(&mut self, start: usize, quoted: bool) {
        let inner = start + 1..self.at - 1;
        if self.places.is_none()
            || self.text[inner.clone()].contains('\\')
            || quoted && self.text[inner.clone()].contains(['"', '\''])
        {
            return;
        }
        let mut parser = Parser::new(&self.text[inner.clone()], self.dialect, self.depth);
        parser.places = Some(Places::default());
        let places = parser.note_all();
        if let Some(own) = &mut self.places {
            own.absorb(places, inner.start);
        }
    }

    /// Notes what is where in a here-document.
    pub(super) fn note_document(&mut self, body: Range<usize>, pending: &Pending) {
        let (text, dialect, depth) = (self.text, self.dialect, self.depth);
        let Some(places) = &mut self.places else {
            return;
        };
        let Some(delimiter) = places.delimiters.get(pending.index).cloned() else {
            return;
        };
        places.documents.push(DocumentPlace {
            delimiter,
            body: body.clone(),
        });
        if pending.quoted {
            let quote = Quote::QuotedDocument(places.documents.len() - 1);
            places.quotes.push((body, quote));
            return;
        }
        let mut parser = Parser::new(&text[body.clone()], dialect, depth);
        parser.places = Some(Places::default());
        // What it noted before an error counts.
        let _ = parser.quoted_text(None, &mut Vec::new());
        if let Some(inner) = parser.places.take() {
            places.absorb(inner, body.start);
        }
    }

    fn note_all(mut self) -> Places {
        let mut list = Vec::new();
        // What it noted before an error counts.
        let _ = self.items(&mut list);
        self.places.take().unwrap_or_default()
    }
}

/// How each stretch of a text is quoted.
pub(crate) fn places(text: &str, dialect: Dialect) -> Places {
    let mut parser = Parser::new(text, dialect, 0);
    parser.places = Some(Places::default());
    parser.note_all()
}
