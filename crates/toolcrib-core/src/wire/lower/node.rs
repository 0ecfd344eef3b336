//! A JSON Schema as a tree of [`Node`]s.
//!
//! Every node remembers where in the tool's schema it stood, so that a loss names the right place
//! even after nodes were merged. Made by [`read`](super::read::read).

use std::sync::Arc;

use serde_json::{Map, Value};

/// The deepest nesting, of JSON and of schemas, that is looked at.
pub(super) const MAX_DEPTH: usize = 128;
/// The most schemas in a tool's schema, and the most that references may be written out to.
pub(super) const MAX_NODES: usize = 50_000;

/// Says something about a schema, constrains nothing.
pub(super) const ANNOTATIONS: [&str; 7] = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// One schema: its place and its keywords, in the author's order.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// The JSON pointer of its place in the tool's schema.
    pub(super) at: Arc<str>,
    words: Vec<Entry>,
}

/// A keyword and what it holds.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) keyword: String,
    pub(super) word: Word,
    /// The place of the schema it was written in; after merging that need not be the node's.
    at: Arc<str>,
}

impl Entry {
    /// The JSON pointer of its place in the tool's schema.
    pub(super) fn place(&self) -> String {
        join(&self.at, &self.keyword)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.keyword == other.keyword && self.word == other.word
    }
}

/// What a keyword holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    /// Anything that is not a schema.
    Data(Value),
    /// A schema.
    One(Box<Node>),
    /// A list of schemas.
    Many(Vec<Node>),
    /// Schemas by name.
    Named(Vec<(String, Node)>),
}

/// Two schemas are equal when they say the same, wherever they stand.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl Node {
    /// A schema that says nothing yet.
    pub(super) fn empty(at: &str) -> Node {
        Node {
            at: at.into(),
            words: Vec::new(),
        }
    }

    /// A schema of one keyword.
    pub(super) fn with(at: &str, keyword: &str, word: Word) -> Node {
        let mut node = Node::empty(at);
        node.set(keyword, word);
        node
    }

    /// A schema that is just a type.
    pub(super) fn of_type(at: &str, kind: &str) -> Node {
        Node::with(at, "type", Word::Data(kind.into()))
    }

    /// Writes the schema as JSON.
    pub(super) fn write(self) -> Value {
        let fields = self.words.into_iter().map(|entry| {
            let value = match entry.word {
                Word::Data(value) => value,
                Word::One(node) => node.write(),
                Word::Many(nodes) => nodes.into_iter().map(Node::write).collect(),
                Word::Named(nodes) => {
                    let fields = nodes.into_iter().map(|(name, node)| (name, node.write()));
                    Value::Object(fields.collect::<Map<_, _>>())
                }
            };
            (entry.keyword, value)
        });
        Value::Object(fields.collect())
    }

    /// The pointer of a keyword: where it was written, or where it would be.
    pub(super) fn place(&self, keyword: &str) -> String {
        self.entry(keyword)
            .map_or_else(|| join(&self.at, keyword), Entry::place)
    }

    /// The keywords, in order.
    pub(super) fn keywords(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|entry| entry.keyword.as_str())
    }

    /// A keyword with all that belongs to it.
    pub(super) fn entry(&self, keyword: &str) -> Option<&Entry> {
        self.words.iter().find(|entry| entry.keyword == keyword)
    }

    /// What a keyword holds.
    pub(super) fn get(&self, keyword: &str) -> Option<&Word> {
        self.entry(keyword).map(|entry| &entry.word)
    }

    /// What a keyword holds, to be changed in place.
    pub(super) fn get_mut(&mut self, keyword: &str) -> Option<&mut Word> {
        let entry = self
            .words
            .iter_mut()
            .find(|entry| entry.keyword == keyword)?;
        Some(&mut entry.word)
    }

    /// Whether the keyword is there.
    pub(super) fn has(&self, keyword: &str) -> bool {
        self.get(keyword).is_some()
    }

    /// Sets a keyword where it is, or adds it at the end.
    pub(super) fn set(&mut self, keyword: &str, word: Word) {
        match self.get_mut(keyword) {
            Some(own) => *own = word,
            None => {
                let at = Arc::clone(&self.at);
                self.words.push(Entry {
                    keyword: keyword.to_owned(),
                    word,
                    at,
                });
            }
        }
    }

    /// Sets a keyword that holds data.
    pub(super) fn set_data(&mut self, keyword: &str, value: impl Into<Value>) {
        self.set(keyword, Word::Data(value.into()));
    }

    /// Puts in a keyword of another schema, replacing an existing one.
    pub(super) fn adopt(&mut self, entry: Entry) {
        match self
            .words
            .iter_mut()
            .find(|own| own.keyword == entry.keyword)
        {
            Some(own) => *own = entry,
            None => self.words.push(entry),
        }
    }

    /// Takes a keyword out.
    pub(super) fn remove(&mut self, keyword: &str) -> Option<Word> {
        let index = self
            .words
            .iter()
            .position(|entry| entry.keyword == keyword)?;
        Some(self.words.remove(index).word)
    }

    /// Takes all keywords out.
    pub(super) fn take_words(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.words)
    }

    /// The data a keyword holds.
    pub(super) fn data(&self, keyword: &str) -> Option<&Value> {
        match self.get(keyword)? {
            Word::Data(value) => Some(value),
            Word::One(_) | Word::Many(_) | Word::Named(_) => None,
        }
    }

    /// The list of schemas a keyword holds, taken out.
    pub(super) fn take_many(&mut self, keyword: &str) -> Vec<Node> {
        match self.get(keyword) {
            Some(Word::Many(_)) => match self.remove(keyword) {
                Some(Word::Many(nodes)) => nodes,
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// The named schemas a keyword holds, taken out.
    pub(super) fn take_named(&mut self, keyword: &str) -> Vec<(String, Node)> {
        match self.empty_named(keyword) {
            Some(nodes) => {
                self.remove(keyword);
                nodes
            }
            None => Vec::new(),
        }
    }

    /// The named schemas a keyword holds, taken out of it; the keyword keeps its place.
    pub(super) fn empty_named(&mut self, keyword: &str) -> Option<Vec<(String, Node)>> {
        match self.get_mut(keyword) {
            Some(Word::Named(nodes)) => Some(std::mem::take(nodes)),
            _ => None,
        }
    }

    /// The text of `$ref`.
    pub(super) fn reference(&self) -> Option<&str> {
        self.data("$ref")?.as_str()
    }

    /// The types it declares, if it does, each once.
    pub(super) fn types(&self) -> Option<Vec<String>> {
        let declared = match self.data("type")? {
            Value::String(kind) => return Some(vec![kind.clone()]),
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str),
            _ => return None,
        };
        let mut kinds: Vec<String> = Vec::new();
        for kind in declared.take(16) {
            if !kinds.iter().any(|own| own == kind) {
                kinds.push(kind.to_owned());
            }
        }
        Some(kinds)
    }

    /// Sets the types: one as a string, several as a list.
    pub(super) fn set_types(&mut self, kinds: &[String]) {
        match kinds {
            [one] => self.set_data("type", one.as_str()),
            several => self.set_data("type", several.to_vec()),
        }
    }

    /// The names in `required`.
    pub(super) fn required(&self) -> Vec<String> {
        let names = self.data("required").and_then(Value::as_array);
        names
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    }

    /// Whether it is the schema nothing fits (`false`, read as `{"not": {}}`).
    pub(super) fn is_never(&self) -> bool {
        matches!(self.get("not"), Some(Word::One(inner)) if inner.words.is_empty())
    }

    /// Whether it constrains nothing.
    pub(super) fn only_annotates(&self) -> bool {
        self.keywords()
            .all(|keyword| ANNOTATIONS.contains(&keyword))
    }

    /// Calls `visit` on this schema and every schema inside it.
    pub(super) fn each(&self, visit: &mut impl FnMut(&Node)) {
        visit(self);
        for entry in &self.words {
            match &entry.word {
                Word::Data(_) => {}
                Word::One(node) => node.each(visit),
                Word::Many(nodes) => nodes.iter().for_each(|node| node.each(visit)),
                Word::Named(nodes) => nodes.iter().for_each(|(_, node)| node.each(visit)),
            }
        }
    }

    /// Calls `visit` on this schema and every schema inside it, which it may change.
    pub(super) fn each_mut(&mut self, visit: &mut impl FnMut(&mut Node)) {
        visit(self);
        for entry in &mut self.words {
            match &mut entry.word {
                Word::Data(_) => {}
                Word::One(node) => node.each_mut(visit),
                Word::Many(nodes) => nodes.iter_mut().for_each(|node| node.each_mut(visit)),
                Word::Named(nodes) => nodes.iter_mut().for_each(|(_, node)| node.each_mut(visit)),
            }
        }
    }

    /// How many schemas it is made of.
    pub(super) fn size(&self) -> usize {
        let mut size = 0;
        self.each(&mut |_| size += 1);
        size
    }
}

/// Adds a token to a JSON pointer.
pub(super) fn join(at: &str, token: &str) -> String {
    format!("{at}/{}", token.replace('~', "~0").replace('/', "~1"))
}
