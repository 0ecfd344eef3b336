//! Parts of secrets beside the marks of texts that were cut.
//!
//! A text is read twice, whatever it is and however many marks it has: forwards for the beginnings of forms that a mark broke off,
//! backwards for the ends that follow one. Each reading follows an automaton of all forms, a few steps for a byte.

use super::REDACTED;
use super::forms::MIN_BYTES;

const LEFT_OUT: &str = "\n[toolcrib ";
const LEFT_OUT_END: &str = " bytes left out]\n";
const SHORTENED: &str = "…";

/// Whether a text was cut somewhere.
pub(super) fn are_in(text: &str) -> bool {
    text.contains(SHORTENED) || text.contains(LEFT_OUT)
}

/// What finds parts of forms.
pub(super) struct Cuts {
    /// Forms from their beginning.
    forwards: Trie,
    /// Forms from their end.
    backwards: Trie,
}

/// The mark of a cut: where it starts and where it ends.
struct Mark {
    start: usize,
    end: usize,
}

impl Cuts {
    pub(super) fn of(forms: &[String]) -> Self {
        Cuts {
            forwards: Trie::of(forms.iter().map(|form| form.bytes())),
            backwards: Trie::of(forms.iter().map(|form| form.bytes().rev())),
        }
    }

    /// Takes parts of secrets away that stand beside marks; nothing if there are none.
    pub(super) fn mask(&self, text: &str) -> Option<String> {
        let bytes = text.as_bytes();
        let marks = marks(text);
        let ended = self.ended_after(bytes, &marks);
        let mut out = String::new();
        // The contents of `out`, as they are or masked.
        let mut done = 0;
        let mut changed = false;
        for (mark, gone) in marks.iter().zip(ended) {
            // Inside of what went with the one before.
            if mark.start < done {
                continue;
            }
            let before = &bytes[done..mark.start];
            let state = before
                .iter()
                .fold(ROOT, |state, byte| self.forwards.next(state, *byte));
            let begun = self.forwards.part(state);
            out.push_str(&text[done..mark.start - begun]);
            if begun > 0 {
                out.push_str(REDACTED);
                changed = true;
            }
            out.push_str(&text[mark.start..mark.end]);
            if gone > 0 {
                out.push_str(REDACTED);
                changed = true;
            }
            done = mark.end + gone;
        }
        out.push_str(&text[done..]);
        changed.then_some(out)
    }

    /// How long the end of a form is that follows each mark.
    fn ended_after(&self, text: &[u8], marks: &[Mark]) -> Vec<usize> {
        let mut ended = vec![0; marks.len()];
        let (mut state, mut at) = (ROOT, text.len());
        // Their ends ascend: a mark that starts later ends later, or inside of the one before, where no one asks.
        for (mark, ended) in marks.iter().zip(&mut ended).rev() {
            while at > mark.end {
                at -= 1;
                state = self.backwards.next(state, text[at]);
            }
            if at == mark.end {
                *ended = self.backwards.part(state);
            }
        }
        ended
    }
}

/// The marks of a text, by where they start.
fn marks(text: &str) -> Vec<Mark> {
    let shortened = text.match_indices(SHORTENED).map(|(start, mark)| Mark {
        start,
        end: start + mark.len(),
    });
    let left_out = text.match_indices(LEFT_OUT).map(|(start, mark)| {
        // Only a mark of ours is followed by what a cut left.
        let near = text.floor_char_boundary(start + mark.len() + 64);
        let end = text[start..near].find(LEFT_OUT_END);
        Mark {
            start,
            end: start + end.map_or(mark.len(), |end| end + LEFT_OUT_END.len()),
        }
    });
    let mut marks: Vec<Mark> = shortened.chain(left_out).collect();
    marks.sort_by_key(|mark| mark.start);
    marks
}

/// An automaton that knows, after every byte of a text, the longest beginning of a form with which the text ends (Aho and Corasick,
/// 1975). The one that finds whole forms does not tell.
struct Trie(Vec<Node>);

/// A beginning of a form.
#[derive(Clone, Copy, Default)]
struct Node {
    /// Its last byte.
    byte: u8,
    /// How many bytes it has.
    depth: u32,
    /// The longest other beginning with which it ends.
    shorter: u32,
    /// One that has a byte more, and the next one that has the same length and beginning; the root where there is none.
    longer: u32,
    beside: u32,
}

/// The beginning that has no bytes.
const ROOT: u32 = 0;

impl Trie {
    fn of<B: Iterator<Item = u8>>(forms: impl Iterator<Item = B>) -> Self {
        let mut trie = Trie(vec![Node::default()]);
        for form in forms {
            let mut state = ROOT;
            for byte in form {
                state = match trie.longer(state, byte) {
                    Some(next) => next,
                    None => trie.add(state, byte),
                };
            }
        }
        trie.link();
        trie
    }

    fn add(&mut self, state: u32, byte: u8) -> u32 {
        let new = u32::try_from(self.0.len())
            .expect("the forms of a few hundred secrets are far below 4 GB");
        let parent = &mut self.0[state as usize];
        let (depth, beside) = (parent.depth + 1, parent.longer);
        parent.longer = new;
        self.0.push(Node {
            byte,
            depth,
            beside,
            ..Node::default()
        });
        new
    }

    /// Finds what each beginning ends with, the shorter ones first.
    fn link(&mut self) {
        let mut level = vec![ROOT];
        while !level.is_empty() {
            let mut below = Vec::new();
            for state in level {
                let mut child = self.0[state as usize].longer;
                while child != ROOT {
                    if state != ROOT {
                        let (shorter, byte) =
                            (self.0[state as usize].shorter, self.0[child as usize].byte);
                        self.0[child as usize].shorter = self.next(shorter, byte);
                    }
                    below.push(child);
                    child = self.0[child as usize].beside;
                }
            }
            level = below;
        }
    }

    fn longer(&self, state: u32, byte: u8) -> Option<u32> {
        let mut child = self.0[state as usize].longer;
        while child != ROOT {
            count();
            let node = &self.0[child as usize];
            if node.byte == byte {
                return Some(child);
            }
            child = node.beside;
        }
        None
    }

    /// The state after one more byte.
    fn next(&self, mut state: u32, byte: u8) -> u32 {
        loop {
            count();
            match self.longer(state, byte) {
                Some(next) => return next,
                None if state == ROOT => return ROOT,
                None => state = self.0[state as usize].shorter,
            }
        }
    }

    /// How long the part of a form is with which a text in this state ends: more than chance, less than the whole.
    fn part(&self, mut state: u32) -> usize {
        while state != ROOT && self.0[state as usize].longer == ROOT {
            count();
            state = self.0[state as usize].shorter;
        }
        match self.0[state as usize].depth as usize {
            depth if depth >= MIN_BYTES => depth,
            _ => 0,
        }
    }
}

#[cfg(not(test))]
fn count() {}
#[cfg(test)]
use tests::count;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::forms::forms;
    use super::*;

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn count() {
        STEPS.set(STEPS.get() + 1);
    }

    fn cuts_of(values: &[&str]) -> Cuts {
        let mut all: Vec<String> = values.iter().flat_map(|value| forms(value)).collect();
        all.sort();
        Cuts::of(&all)
    }

    #[test]
    fn the_longest_part_beside_a_mark_goes() {
        let cuts = cuts_of(&["abcabcabd", "xabca"]);
        for (text, masked) in [
            ("1 abcabcab…", Some("1 [REDACTED]…")),
            ("1 xabcabc…", Some("1 x[REDACTED]…")),
            ("1 abc…", None),
            ("…cabd 1", Some("…[REDACTED] 1")),
            ("…abca 1", Some("…[REDACTED] 1")),
            ("…abd 1", None),
            (
                "abcabc…bcabd…cabd",
                Some("[REDACTED]…[REDACTED]…[REDACTED]"),
            ),
            // A part of the one side is none of the other.
            ("cabd…bcab", None),
            (
                "abcabc\n[toolcrib 12 bytes left out]\nabcabd",
                Some("[REDACTED]\n[toolcrib 12 bytes left out]\n[REDACTED]"),
            ),
            (
                "\n[toolcrib \n[toolcrib cabd",
                Some("\n[toolcrib \n[toolcrib [REDACTED]"),
            ),
        ] {
            assert_eq!(cuts.mask(text).as_deref(), masked, "{text}");
        }
    }

    #[test]
    fn a_secret_with_a_mark_in_it_goes_as_far_as_it_is_there() {
        let cuts = cuts_of(&["12…3456…789"]);
        assert_eq!(cuts.mask("…456…789 x").as_deref(), Some("…[REDACTED] x"));
        assert_eq!(cuts.mask("x 12…345…").as_deref(), None);
    }

    #[test]
    fn work_grows_with_the_text_and_not_with_its_marks() {
        let secret = "a1b2c3d4e5f6\"'<&/+\\a1b2c3d4e5f6a1b2c3d4aaaa";
        let again = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab";
        let cuts = cuts_of(&[secret, again]);
        let begun = &secret[..secret.len() - 1];
        for piece in [
            "…",
            "……",
            "\n[toolcrib ",
            "\n[toolcrib 1 bytes left out]\n",
            &format!("{begun}…"),
            &format!("…{}", &secret[1..]),
            &format!("{begun}…{}\n[toolcrib ", &secret[1..]),
            "…\\u00…\\u0061\\u00",
            "…aaaaaaaa",
            "a",
        ] {
            let text = piece.repeat((1 << 18) / piece.len());
            STEPS.set(0);
            cuts.mask(&text);
            let steps = STEPS.get() / text.len();
            // Twice over the text; each byte goes one up, and one back at most; few bytes to choose from.
            assert!(steps < 60, "{piece:?}: {steps} for a byte");
        }
    }
}
