//! Taking secrets out of texts, in every form they commonly have.

mod cuts;
mod forms;
mod stream;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde_json::{Map, Value};

pub use stream::MaskStream;

use super::secret::Secret;
use cuts::Cuts;
pub use forms::MIN_BYTES;
use forms::forms;

/// The replacement for a secret.
pub const REDACTED: &str = "[REDACTED]";

/// Where the secrets are that calls must not show.
pub trait Secrets: Send + Sync + fmt::Debug {
    /// Takes all secrets out of a text, as of now.
    fn masker(&self) -> Masker;

    /// Like [`masker`](Self::masker), but may go by a look at the secrets a moment ago: for short calls, which look when they begin.
    fn recent_masker(&self) -> Masker {
        self.masker()
    }

    /// Like [`masker`](Self::masker), but looks at the secrets only now and then: for output, which comes many times a second.
    fn output_masker(&self) -> Masker {
        self.masker()
    }
}

/// Replaces secrets by `[REDACTED]`: as they are, in base64 at any offset, percent-encoded, escaped for JSON, HTML and shells,
/// in hexadecimal. Cheap to clone; the default looks for nothing.
///
/// ```
/// use toolcrib::{Secret, secret::Masker};
/// let masker = Masker::of(&[Secret::new("hunter2!")]);
/// assert_eq!(masker.mask("key=hunter2%21"), "key=[REDACTED]");
/// ```
#[derive(Clone, Default)]
pub struct Masker(Option<Arc<Inner>>);

/// Whether texts end where they should.
#[derive(Clone, Copy)]
enum Ending {
    Said,
    Missing,
}

struct Inner {
    automaton: AhoCorasick,
    /// Sorted.
    forms: Vec<String>,
    longest: usize,
    /// Whether a form could be a number.
    numeric: bool,
    /// Made when the first text comes that was cut.
    cuts: OnceLock<Cuts>,
}

impl Masker {
    /// A masker for these secrets.
    pub fn of<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let all: BTreeSet<String> = secrets
            .into_iter()
            .flat_map(|secret| forms(secret.expose()))
            .collect();
        let forms: Vec<String> = all.into_iter().collect();
        if forms.is_empty() {
            return Masker(None);
        }
        // Measured: as fast as a table for every byte (1 MB in 2 ms, 20 secrets), built in a fraction of the time, 1 MB for a
        // private key instead of 20.
        let built = |kind| {
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .kind(Some(kind))
                .build(&forms)
        };
        let automaton = built(AhoCorasickKind::ContiguousNFA)
            .or_else(|_| built(AhoCorasickKind::NoncontiguousNFA))
            .expect("the forms of a few hundred secrets are far below what an automaton can hold");
        Masker(Some(Arc::new(Inner {
            automaton,
            longest: forms.iter().map(String::len).max().unwrap_or_default(),
            numeric: forms
                .iter()
                .any(|form| form.bytes().all(|b| b"0123456789.+-eE".contains(&b))),
            forms,
            cuts: OnceLock::new(),
        })))
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a text has a secret in it.
    pub fn finds(&self, text: &str) -> bool {
        self.first(text, 0).is_some()
    }

    /// Whether a value has a secret in a text, a number or a key.
    pub fn finds_in(&self, value: &Value) -> bool {
        let Some(inner) = &self.0 else {
            return false;
        };
        match value {
            Value::Null | Value::Bool(_) => false,
            Value::Number(number) => inner.numeric && self.finds(&number.to_string()),
            Value::String(text) => self.finds(text),
            Value::Array(items) => items.iter().any(|item| self.finds_in(item)),
            Value::Object(fields) => fields
                .iter()
                .any(|(key, field)| self.finds(key) || self.finds_in(field)),
        }
    }

    /// A text without secrets. Where the text was cut, a part of one beside the cut goes, too.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(inner) = &self.0 else {
            return Cow::Borrowed(text);
        };
        let masked = self.mask_whole(text);
        if !cuts::are_in(&masked) {
            return masked;
        }
        let cuts = inner.cuts.get_or_init(|| Cuts::of(&inner.forms));
        match cuts.mask(&masked) {
            Some(cut) => Cow::Owned(cut),
            None => masked,
        }
    }

    /// As [`mask`](Self::mask), for a text whose end is missing.
    pub(crate) fn mask_unended<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = self.mask(text);
        if let Some(inner) = &self.0 {
            let start = inner.begun_before(masked.as_bytes());
            if start < masked.len() {
                let text = masked.to_mut();
                text.truncate(start);
                text.push_str(REDACTED);
            }
        }
        masked
    }

    fn mask_whole<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut out = String::new();
        let mut done = 0;
        while let Some((start, end)) = self.first(text, done) {
            out.push_str(&text[done..start]);
            out.push_str(REDACTED);
            done = end;
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[done..]);
        Cow::Owned(out)
    }

    /// Masks a text in its place.
    #[doc(hidden)]
    pub fn mask_text(&self, text: &mut String) {
        if let Cow::Owned(masked) = self.mask(text) {
            *text = masked;
        }
    }

    /// Takes secrets out of every text of a value, keys included. A number that is one becomes a text.
    pub fn mask_value(&self, value: &mut Value) {
        self.walk(value, Ending::Said);
    }

    /// Takes secrets out of an object's keys and values.
    pub fn mask_object(&self, fields: &mut Map<String, Value>) {
        self.walk_object(fields, Ending::Said);
    }

    /// As [`mask_object`](Self::mask_object), where the end of every text may be missing: half a secret there goes, too.
    pub(crate) fn mask_unended_object(&self, fields: &mut Map<String, Value>) {
        self.walk_object(fields, Ending::Missing);
    }

    fn walk(&self, value: &mut Value, ending: Ending) {
        let Some(inner) = &self.0 else {
            return;
        };
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if inner.numeric && self.finds(&number.to_string()) {
                    *value = REDACTED.into();
                }
            }
            Value::String(text) => {
                let masked = match ending {
                    Ending::Said => self.mask(text),
                    Ending::Missing => self.mask_unended(text),
                };
                if let Cow::Owned(masked) = masked {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item, ending)),
            Value::Object(fields) => self.walk_object(fields, ending),
        }
    }

    fn walk_object(&self, fields: &mut Map<String, Value>, ending: Ending) {
        if self.is_empty() {
            return;
        }
        fields
            .values_mut()
            .for_each(|field| self.walk(field, ending));
        if !fields.keys().any(|key| self.finds(key)) {
            return;
        }
        for (key, field) in std::mem::take(fields) {
            let masked = self.mask(&key);
            let mut unique = masked.clone().into_owned();
            let mut number = 2;
            while fields.contains_key(&unique) {
                unique = format!("{masked} {number}");
                number += 1;
            }
            fields.insert(unique, field);
        }
    }

    /// The first place from `from` on where a secret is: the longest form of those that start there.
    pub(super) fn first(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        let inner = self.0.as_ref()?;
        let found = inner
            .automaton
            .find(aho_corasick::Input::new(text).range(from..))?;
        Some((found.start(), found.end()))
    }

    /// The places of a text, ascending, from which on it is the beginning of a form and no more.
    pub(super) fn begun(&self, text: &[u8]) -> Vec<usize> {
        let Some(inner) = &self.0 else {
            return Vec::new();
        };
        let first = text.len().saturating_sub(inner.longest - 1);
        (first..text.len())
            .filter(|start| inner.is_beginning(&text[*start..]))
            .collect()
    }

    pub(super) fn is_same(&self, other: &Masker) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Inner {
    /// Whether a form begins like this and goes on.
    fn is_beginning(&self, start: &[u8]) -> bool {
        // The first form after `start` in the order of bytes has it as its beginning, if any has.
        let after = self.forms.partition_point(|form| form.as_bytes() <= start);
        self.forms
            .get(after)
            .is_some_and(|form| form.as_bytes().starts_with(start))
    }

    /// Where the beginning of a form starts with which a text ends; its length where there is no useful one.
    fn begun_before(&self, text: &[u8]) -> usize {
        let first = text.len().saturating_sub(self.longest);
        let last = text.len().saturating_sub(MIN_BYTES - 1);
        (first..last)
            .find(|start| self.is_beginning(&text[*start..]))
            .unwrap_or(text.len())
    }
}

/// Says nothing about what is looked for.
impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let forms = self.0.as_ref().map_or(0, |inner| inner.forms.len());
        write!(f, "Masker({forms} forms)")
    }
}
