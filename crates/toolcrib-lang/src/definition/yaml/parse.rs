//! Events to a tree, within bounds.

use std::collections::HashSet;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use super::syntax;
use super::tree::{Content, Entry, Key, Node, Scalar, Style};
use super::{MAX_DEPTH, MAX_NODES, MAX_TEXT_BYTES};
use crate::definition::problem::{Findings, SpannedProblem};
use crate::model::budget::Budget;
use crate::model::text::shorten;

/// What came of parsing.
pub(crate) struct Parsed<'a> {
    /// What the file says, as far as it could be read; `None` for an empty file.
    pub(crate) root: Option<Node<'a>>,
    /// Whether all of it could be read.
    pub(crate) whole: bool,
}

/// Parses a text; everything that is refused goes to `found`.
pub(crate) fn parse<'a>(found: &mut Findings<'a>) -> Parsed<'a> {
    let text = found.text;
    let options = granit_parser::options! {
        disallow_directives: true,
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut builder = Builder {
        text,
        found,
        stack: Vec::new(),
        root: None,
        budget: Budget::new(MAX_NODES as u64, 0),
        documents: 0,
    };
    let mut whole = true;
    while let Some(event) = parser.next_event() {
        match event {
            Ok((Event::StreamEnd, _)) => break,
            Ok((event, span)) => {
                if !builder.take(event, &span) {
                    whole = false;
                    break;
                }
            }
            Err(error) => {
                let at = error.marker().byte_offset().unwrap_or(text.len());
                let open = builder.last_key();
                let problem = syntax::explain(text, at, error.kind(), open);
                builder.found.push(problem);
                whole = false;
                break;
            }
        }
    }
    let root = builder.finish();
    Parsed { root, whole }
}

/// A list or mapping that is not closed yet.
enum Open<'a> {
    List {
        span: Range<usize>,
        items: Vec<Node<'a>>,
        is_flow: bool,
    },
    Map {
        span: Range<usize>,
        entries: Vec<Entry<'a>>,
        keys: HashSet<String>,
        key: Option<Key<'a>>,
        is_flow: bool,
    },
}

struct Builder<'a, 'f> {
    text: &'a str,
    found: &'f mut Findings<'a>,
    stack: Vec<Open<'a>>,
    root: Option<Node<'a>>,
    /// Each value is a step.
    budget: Budget,
    documents: usize,
}

fn range(span: &Span, text: &str) -> Range<usize> {
    let range = span.byte_range().unwrap_or(0..0);
    let start = text.floor_char_boundary(range.start.min(text.len()));
    let end = text.floor_char_boundary(range.end.min(text.len()));
    start..end.max(start)
}

impl<'a> Builder<'a, '_> {
    /// Takes an event; false when there is no use in going on.
    fn take(&mut self, event: Event<'a>, span: &Span) -> bool {
        let at = range(span, self.text);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.found.push(
                        SpannedProblem::error(
                            "several-documents",
                            at,
                            "the file holds more than one YAML document; a tool's file holds one",
                        )
                        .help("put each tool in its own file and remove the `---` between them"),
                    );
                    return false;
                }
            }
            Event::Scalar(text, style, _, tag) => {
                if tag.is_some() {
                    self.refuse_tag(span, &at);
                }
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Style::Quoted,
                    ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                };
                if text.len() > MAX_TEXT_BYTES {
                    let message = format!(
                        "this text has {} bytes; a value may have {MAX_TEXT_BYTES}",
                        text.len()
                    );
                    self.found.push(
                        SpannedProblem::error("too-much", self.first_line(&at), message)
                            .help("put what is long into a file that the command reads"),
                    );
                    return false;
                }
                let at = self.trimmed(at, style);
                let content = Content::Scalar(Scalar { text, style });
                return self.put(Node { span: at, content });
            }
            Event::SequenceStart(style, _, tag) => {
                if tag.is_some() {
                    self.refuse_tag(span, &at);
                }
                self.stack.push(Open::List {
                    span: at,
                    items: Vec::new(),
                    is_flow: style == StructureStyle::Flow,
                });
            }
            Event::MappingStart(style, _, tag) => {
                if tag.is_some() {
                    self.refuse_tag(span, &at);
                }
                self.stack.push(Open::Map {
                    span: at,
                    entries: Vec::new(),
                    keys: HashSet::new(),
                    key: None,
                    is_flow: style == StructureStyle::Flow,
                });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(node) = self.stack.pop().map(|open| self.close(open, Some(at.end))) {
                    return self.put(node);
                }
            }
            Event::Anchor(_, name) => {
                let message = format!(
                    "the anchor `&{}` is refused: a tool's file says each thing where it counts",
                    shorten(&name, 40)
                );
                let help = "write the value out where it is used";
                self.found
                    .push(SpannedProblem::error("anchor", at, message).help(help));
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                let message = format!(
                    "the alias `{}` is refused: a tool's file says each thing where it counts",
                    shorten(&self.text[at.clone()], 40)
                );
                self.found.push(
                    SpannedProblem::error("alias", at.clone(), message)
                        .help("write the value out; a text that begins with `*` is put in quotes"),
                );
                let content = Content::Refused;
                return self.put(Node { span: at, content });
            }
            // The rest carries nothing of the file.
            _ => {}
        }
        if self.stack.len() > MAX_DEPTH {
            self.found.push(too_deep(self.text.len()));
            return false;
        }
        true
    }

    fn refuse_tag(&mut self, span: &Span, at: &Range<usize>) {
        let at = match span.tag_span() {
            Some(tag) => range(&tag, self.text),
            None => at.clone(),
        };
        let message = format!(
            "the tag `{}` is refused: what type a value has is fixed by its field",
            shorten(&self.text[at.clone()], 40)
        );
        self.found.push(
            SpannedProblem::error("tag", at, message)
                .help("remove it; a text that begins with `!` is put in quotes"),
        );
    }

    /// Puts a finished node where it belongs.
    fn put(&mut self, node: Node<'a>) -> bool {
        if self.budget.step(1).is_err() {
            let message = format!("the file holds more than {MAX_NODES} values");
            self.found.push(SpannedProblem::error(
                "too-much",
                self.first_line(&node.span),
                message,
            ));
            return false;
        }
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map {
                entries, keys, key, ..
            }) => match key.take() {
                Some(key) => {
                    if keys.insert(key.text.clone().into_owned()) {
                        entries.push(Entry { key, value: node });
                    } else {
                        self.found.push(duplicate(&key, entries, self.text));
                    }
                }
                None => match node.content {
                    Content::Scalar(Scalar { text, style }) => {
                        let merges = text == "<<" && style == Style::Plain;
                        if merges {
                            self.found.push(
                                SpannedProblem::error(
                                    "merge-key",
                                    node.span.clone(),
                                    "the merge key `<<` is refused: a tool's file says each thing where it counts",
                                )
                                .help("write the fields out"),
                            );
                        }
                        *key = Some(Key {
                            text,
                            span: node.span,
                        });
                    }
                    Content::List(_) | Content::Map(_) | Content::Refused => {
                        self.found.push(
                            SpannedProblem::error(
                                "key-not-text",
                                node.span.clone(),
                                "a key must be a text",
                            )
                            .help("if this is a value with braces, put it in quotes"),
                        );
                        *key = Some(Key {
                            text: "".into(),
                            span: node.span,
                        });
                    }
                },
            },
        }
        true
    }

    /// The node of a list or mapping that ends at `end`, or is cut off.
    fn close(&self, open: Open<'a>, end: Option<usize>) -> Node<'a> {
        let (span, is_flow, content) = match open {
            Open::List {
                span,
                items,
                is_flow,
            } => (span, is_flow, Content::List(items)),
            Open::Map {
                span,
                entries,
                is_flow,
                ..
            } => (span, is_flow, Content::Map(entries)),
        };
        let span = match (is_flow, end) {
            (true, Some(end)) => span.start..end.max(span.start),
            (true, None) => span,
            (false, _) => self.first_line(&(span.start..self.text.len())),
        };
        Node { span, content }
    }

    /// The part of a span on its first line, without what is blank at its end.
    fn first_line(&self, span: &Range<usize>) -> Range<usize> {
        let slice = &self.text[span.clone()];
        let line = slice.lines().next().unwrap_or_default().trim_end();
        span.start..span.start + line.len()
    }

    /// A scalar's span without the line ends and blanks after it.
    fn trimmed(&self, span: Range<usize>, style: Style) -> Range<usize> {
        match style {
            Style::Plain | Style::Quoted => {
                let start = span.start;
                start..start + self.text[span].trim_end().len()
            }
            Style::Block => span,
        }
    }

    /// The key whose value is being read, where it begins.
    fn last_key(&self) -> Option<&Key<'a>> {
        self.stack.iter().rev().find_map(|open| match open {
            Open::Map { key, entries, .. } => key
                .as_ref()
                .or_else(|| entries.last().map(|entry| &entry.key)),
            Open::List { .. } => None,
        })
    }

    /// The root, with everything closed that was open. What stood last is left out: it may be what the parser stumbled over.
    fn finish(mut self) -> Option<Node<'a>> {
        let mut is_last = true;
        while let Some(mut open) = self.stack.pop() {
            if let Open::Map { entries, key, .. } = &mut open
                && is_last
                && key.is_none()
                && let Some(last) = entries.last_mut()
            {
                last.value.content = Content::Refused;
            }
            is_last = false;
            let is_flow = match &open {
                Open::List { is_flow, .. } | Open::Map { is_flow, .. } => *is_flow,
            };
            let mut node = self.close(open, None);
            if is_flow {
                node.content = Content::Refused;
            }
            match self.stack.last_mut() {
                None => self.root = Some(node),
                Some(Open::List { items, .. }) => items.push(node),
                Some(Open::Map { entries, key, .. }) => {
                    if let Some(key) = key.take() {
                        entries.push(Entry { key, value: node });
                    }
                }
            }
        }
        self.root
    }
}

pub(super) fn too_deep(at: usize) -> SpannedProblem {
    let message = format!("the file is nested more than {MAX_DEPTH} levels deep");
    SpannedProblem::error("too-much", at..at, message)
}

fn duplicate(key: &Key<'_>, entries: &[Entry<'_>], text: &str) -> SpannedProblem {
    let first = entries.iter().find(|entry| entry.key.text == key.text);
    let line = first.map_or(0, |entry| {
        text[..entry.key.span.start].matches('\n').count() + 1
    });
    let message = format!(
        "`{}` is given twice; the first is on line {line}",
        shorten(&key.text, 60)
    );
    SpannedProblem::error("duplicate-key", key.span.clone(), message).help("remove one of them")
}
