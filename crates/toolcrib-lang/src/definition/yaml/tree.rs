//! The tree: [`Node`].

use std::borrow::Cow;
use std::ops::Range;

/// A value of a file.
#[derive(Debug, Clone)]
pub(crate) struct Node<'a> {
    /// Where it is, in bytes of the file; of a block list or mapping, its first line.
    pub(crate) span: Range<usize>,
    pub(crate) content: Content<'a>,
}

#[derive(Debug, Clone)]
pub(crate) enum Content<'a> {
    Scalar(Scalar<'a>),
    List(Vec<Node<'a>>),
    Map(Vec<Entry<'a>>),
    /// Something that was refused and has been reported.
    Refused,
}

#[derive(Debug, Clone)]
pub(crate) struct Scalar<'a> {
    /// The text, escapes and folding undone.
    pub(crate) text: Cow<'a, str>,
    pub(crate) style: Style,
}

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Quoted,
    /// `|` or `>`.
    Block,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    pub(crate) key: Key<'a>,
    pub(crate) value: Node<'a>,
}

#[derive(Debug, Clone)]
pub(crate) struct Key<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) span: Range<usize>,
}

impl<'a> Node<'a> {
    pub(crate) fn scalar(&self) -> Option<&Scalar<'a>> {
        match &self.content {
            Content::Scalar(scalar) => Some(scalar),
            Content::List(_) | Content::Map(_) | Content::Refused => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Node<'a>]> {
        match &self.content {
            Content::List(items) => Some(items),
            Content::Scalar(_) | Content::Map(_) | Content::Refused => None,
        }
    }

    pub(crate) fn map(&self) -> Option<&[Entry<'a>]> {
        match &self.content {
            Content::Map(entries) => Some(entries),
            Content::Scalar(_) | Content::List(_) | Content::Refused => None,
        }
    }

    /// Whether nothing was written: `key:` and a line end, `~` or `null`.
    pub(crate) fn is_empty(&self) -> bool {
        self.scalar().is_some_and(|scalar| {
            scalar.style == Style::Plain && matches!(&*scalar.text, "" | "~" | "null")
        })
    }

    /// What it is, for a message.
    pub(crate) fn in_words(&self) -> &'static str {
        match &self.content {
            _ if self.is_empty() => "nothing",
            Content::Scalar(_) => "a single value",
            Content::List(_) => "a list",
            Content::Map(_) => "a mapping",
            Content::Refused => "something refused",
        }
    }
}
