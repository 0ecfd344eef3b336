//! A value together with what the table of fields says about it: [`At`].

use std::ops::Range;
use std::time::Duration;

use crate::definition::fields::{Kind, Shape};
use crate::definition::values;
use crate::definition::yaml::{Entry, Key, Node, Scalar};

/// A value at a place of the format. Only fields of the table can be asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'n, 'a> {
    pub(crate) node: &'n Node<'a>,
    shape: &'static Shape,
}

impl<'n, 'a> At<'n, 'a> {
    pub(crate) fn new(node: &'n Node<'a>, shape: &'static Shape) -> Self {
        At { node, shape }
    }

    fn entry(self, name: &str) -> Option<(&'n Entry<'a>, &'static Shape)> {
        let shape = self.shape.get(name);
        debug_assert!(
            shape.is_some(),
            "the reader asks for `{name}`, which is not in the table of fields"
        );
        let entry = self
            .node
            .map()?
            .iter()
            .find(|entry| entry.key.text == name)?;
        Some((entry, shape?))
    }

    /// A field, unless it is absent or empty.
    pub(crate) fn get(self, name: &str) -> Option<At<'n, 'a>> {
        let (entry, shape) = self.entry(name)?;
        (!entry.value.is_empty()).then_some(At {
            node: &entry.value,
            shape,
        })
    }

    /// Where a field's key is; where the mapping begins if there is none.
    pub(crate) fn key_span(self, name: &str) -> Range<usize> {
        match self.entry(name) {
            Some((entry, _)) => entry.key.span.clone(),
            None => self.span(),
        }
    }

    /// Whether there is such a key, with or without a value.
    pub(crate) fn has(self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    pub(crate) fn span(self) -> Range<usize> {
        self.node.span.clone()
    }

    pub(crate) fn scalar(self) -> Option<&'n Scalar<'a>> {
        self.node.scalar()
    }

    /// A text; `None` where it is none, which has been reported.
    pub(crate) fn text(self) -> Option<&'n str> {
        self.scalar().map(|scalar| &*scalar.text)
    }

    pub(crate) fn text_of(self, name: &str) -> Option<&'n str> {
        self.get(name)?.text()
    }

    pub(crate) fn boolean(self, name: &str) -> Option<bool> {
        values::boolean(self.get(name)?.scalar()?).ok()
    }

    pub(crate) fn integer(self, name: &str) -> Option<i64> {
        let at = self.get(name)?;
        match at.shape.kind {
            Kind::Integer { least, most } => values::integer(at.scalar()?, least, most).ok(),
            _ => None,
        }
    }

    pub(crate) fn number(self, name: &str) -> Option<serde_json::Number> {
        values::number(self.get(name)?.scalar()?).ok()
    }

    pub(crate) fn time(self, name: &str) -> Option<Duration> {
        let at = self.get(name)?;
        match at.shape.kind {
            Kind::Time { least, most } => values::time(at.scalar()?, least, most).ok(),
            _ => None,
        }
    }

    pub(crate) fn size(self, name: &str) -> Option<u64> {
        let at = self.get(name)?;
        match at.shape.kind {
            Kind::Size { least, most } => values::size(at.scalar()?, least, most).ok(),
            _ => None,
        }
    }

    /// The word of a choice, if it is one of the words.
    pub(crate) fn choice(self, name: &str) -> Option<&'static str> {
        let at = self.get(name)?;
        at.chosen()
    }

    fn chosen(self) -> Option<&'static str> {
        let text = self.text()?;
        match self.shape.kind {
            Kind::Choice(words) | Kind::Choices(words) => {
                words.iter().copied().find(|word| *word == text)
            }
            _ => None,
        }
    }

    /// The words of a list of choices.
    pub(crate) fn choices(self, name: &str) -> Vec<&'static str> {
        self.get(name)
            .into_iter()
            .flat_map(At::nodes)
            .filter_map(At::chosen)
            .collect()
    }

    /// The entries of a list; of a single text, that one.
    pub(crate) fn nodes(self) -> Vec<At<'n, 'a>> {
        let shape = self.shape.entry.as_deref().unwrap_or(self.shape);
        match self.node.list() {
            Some(items) => items.iter().map(|node| At { node, shape }).collect(),
            None if self.scalar().is_some() => vec![self],
            None => Vec::new(),
        }
    }

    /// The entries of a list of fields that are alike.
    pub(crate) fn items(self) -> Vec<At<'n, 'a>> {
        let shape = self.shape;
        let items = self.node.list().unwrap_or_default().iter();
        items.map(|node| At { node, shape }).collect()
    }

    /// The whole numbers of a list that are in range.
    pub(crate) fn integers(self, name: &str) -> Vec<i64> {
        let Some(at) = self.get(name) else {
            return Vec::new();
        };
        match at.shape.kind {
            Kind::Integers { least, most } => at
                .nodes()
                .into_iter()
                .filter_map(|item| values::integer(item.scalar()?, least, most).ok())
                .collect(),
            _ => Vec::new(),
        }
    }

    /// A list of texts, or a single one.
    pub(crate) fn texts(self, name: &str) -> Vec<String> {
        self.get(name)
            .into_iter()
            .flat_map(At::nodes)
            .filter_map(At::text)
            .map(str::to_owned)
            .collect()
    }

    /// The entries of a mapping whose keys are free.
    pub(crate) fn entries(self) -> impl Iterator<Item = (&'n Key<'a>, At<'n, 'a>)> {
        let shape = self.shape.entry.as_deref().unwrap_or(self.shape);
        self.node
            .map()
            .unwrap_or_default()
            .iter()
            .map(move |entry| {
                let at = At {
                    node: &entry.value,
                    shape,
                };
                (&entry.key, at)
            })
    }
}
