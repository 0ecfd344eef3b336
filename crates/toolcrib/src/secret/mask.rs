//! Taking secrets out of texts, in every form they commonly have.

use std::borrow::Cow;

use serde_json::Value;

use crate::model::secret::Secret;

/// Replaces secrets by `[REDACTED]`: as they are, in base64 at any offset, percent-encoded, escaped for JSON.
#[derive(Debug, Clone, Default)]
pub struct Masker {}

impl Masker {
    /// A masker for these secrets.
    pub fn of<'a>(_secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        unimplemented!()
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        unimplemented!()
    }

    /// A text without secrets.
    pub fn mask<'a>(&self, _text: &'a str) -> Cow<'a, str> {
        unimplemented!()
    }

    /// Takes secrets out of every text of a value, keys included.
    pub fn mask_value(&self, _value: &mut Value) {
        unimplemented!()
    }
}

/// A text that comes in pieces: a secret that is cut in two by chance is found all the same.
#[derive(Debug)]
pub struct MaskStream {}

impl MaskStream {
    /// A new stream.
    pub fn new(_masker: Masker) -> Self {
        unimplemented!()
    }

    /// Takes a piece; returns what can be shown by now.
    pub fn push(&mut self, _piece: &str) -> String {
        unimplemented!()
    }

    /// What was held back.
    pub fn finish(self) -> String {
        unimplemented!()
    }
}
