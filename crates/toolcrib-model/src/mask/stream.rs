//! A text that comes in pieces: a secret that is cut in two by chance is found all the same.

use super::{Masker, REDACTED};

/// Masks a text that comes in pieces. What it shows, put together, is the mask of the whole text; what may be the beginning of a
/// secret, and no more, is held back until the next piece decides.
#[derive(Debug)]
pub struct MaskStream {
    masker: Masker,
    held: String,
}

impl MaskStream {
    /// A new stream.
    pub fn new(masker: Masker) -> Self {
        MaskStream {
            masker,
            held: String::new(),
        }
    }

    /// Looks for other secrets from here on.
    #[doc(hidden)]
    pub fn look_for(&mut self, masker: &Masker) {
        if !self.masker.is_same(masker) {
            self.masker = masker.clone();
        }
    }

    #[doc(hidden)]
    pub fn masker(&self) -> &Masker {
        &self.masker
    }

    /// Takes a piece; returns what can be shown by now.
    pub fn push(&mut self, piece: &str) -> String {
        if self.masker.is_empty() && self.held.is_empty() {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        let text = std::mem::take(&mut self.held);
        let begun = self.masker.begun(text.as_bytes());
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        loop {
            // From here on it is not known yet what the text is. A secret that starts before is one whatever follows: if a
            // longer one could start there, the text would have begun it.
            let unknown = begun
                .iter()
                .copied()
                .find(|start| *start >= done)
                .unwrap_or(text.len());
            match self.masker.first(&text, done) {
                Some((start, end)) if start < unknown => {
                    out.push_str(&text[done..start]);
                    out.push_str(REDACTED);
                    done = end;
                }
                _ => {
                    out.push_str(&text[done..unknown]);
                    text[unknown..].clone_into(&mut self.held);
                    return out;
                }
            }
        }
    }

    /// What was held back.
    pub fn finish(self) -> String {
        self.masker.mask(&self.held).into_owned()
    }

    /// What was held back, of a text that was broken off: the beginning of a secret is one that would have been printed.
    pub fn break_off(self) -> String {
        self.masker.mask_unended(&self.held).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    fn masker() -> Masker {
        static MASKER: LazyLock<Masker> = LazyLock::new(overlapping);
        MASKER.clone()
    }

    fn overlapping() -> Masker {
        // Forms that overlap: one is the beginning, the end or the middle of another.
        Masker::of(&[
            Secret::new("abcabd"),
            Secret::new("abcabdabce"),
            Secret::new("dabcex"),
            Secret::new("ééaé"),
            Secret::new("aaaa"),
        ])
    }

    #[test]
    fn nothing_is_held_back_that_begins_no_secret() {
        let mut stream = MaskStream::new(Masker::of(&[Secret::new("SENTINEL-7f3a")]));
        assert_eq!(stream.push("hello\n"), "hello\n");
        assert_eq!(stream.push("a SENT"), "a ");
        assert_eq!(stream.push("INEL-7f3a b"), "[REDACTED] b");
        assert_eq!(stream.push("SENTINEL"), "");
        assert_eq!(stream.push("!"), "SENTINEL!");
        assert_eq!(stream.push("x S"), "x ");
        assert_eq!(stream.finish(), "S");
    }

    #[test]
    fn a_text_that_is_broken_off_does_not_end_with_half_a_secret() {
        let mut stream = MaskStream::new(Masker::of(&[Secret::new("SENTINEL-7f3a")]));
        assert_eq!(stream.push("x SENTINEL-7f"), "x ");
        assert_eq!(stream.break_off(), "[REDACTED]");
    }

    proptest! {
        #[test]
        fn pieces_come_to_the_same_as_the_whole(
            text in "([abcdexé]|abcabd|abcabdabce|dabcex|aaa|YWJj|%61%62){0,40}",
            cuts in proptest::collection::vec(0..200_usize, 0..12),
        ) {
            let masker = masker();
            let mut cuts: Vec<usize> = cuts
                .into_iter()
                .map(|cut| text.floor_char_boundary(cut))
                .collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut stream = MaskStream::new(masker.clone());
            let mut shown = String::new();
            for pair in cuts.windows(2) {
                shown += &stream.push(&text[pair[0]..pair[1]]);
            }
            shown += &stream.finish();
            prop_assert_eq!(shown, masker.mask(&text).into_owned());
        }
    }
}
