//! Words within a few edits of a word: insertions, deletions, substitutions, and swaps of neighbours, with no letter edited twice (the distance of
//! optimal string alignment).
//!
//! A dictionary is gone through once, in two steps. First by [`Signature`]: an edit takes away at most one kind of letter and brings at most one, so
//! words whose sets of letters differ by more are out, by a handful of instructions each. What is left is measured, with one column of the table of
//! distances in the bits of one machine word (Hyyrö's form of Myers' algorithm). A tree of deletions would be faster still, but takes a hundred entries
//! for each word where this takes twelve bytes.

use super::words::{MAX_WORD, edits_allowed};

/// A word of a query, ready to be compared with many.
pub(super) struct Near {
    pub(super) edits: usize,
    pub(super) runes: usize,
    pub(super) signature: Signature,
    /// For each ASCII character the bits of where it stands in the word.
    ascii: [u64; 128],
    /// The same for the others.
    others: Vec<(char, u64)>,
}

impl Near {
    /// None if words must be spelt like this one to match.
    pub(super) fn of(word: &str) -> Option<Near> {
        let edits = edits_allowed(word);
        if edits == 0 {
            return None;
        }
        let mut near = Near {
            edits,
            runes: 0,
            signature: Signature::of(word),
            ascii: [0; 128],
            others: Vec::new(),
        };
        for (at, c) in word.chars().take(MAX_WORD).enumerate() {
            near.runes = at + 1;
            if c.is_ascii() {
                near.ascii[c as usize] |= 1 << at;
            } else if let Some((_, places)) = near.others.iter_mut().find(|(other, _)| *other == c)
            {
                *places |= 1 << at;
            } else {
                near.others.push((c, 1 << at));
            }
        }
        Some(near)
    }

    /// Whether a word is near enough.
    pub(super) fn matches(&self, word: &str) -> bool {
        let distance = if word.is_ascii() {
            self.distance(word.bytes().map(|byte| self.ascii[usize::from(byte)]))
        } else {
            self.distance(word.chars().map(|c| self.places(c)))
        };
        distance <= self.edits
    }

    fn places(&self, c: char) -> u64 {
        if c.is_ascii() {
            return self.ascii[c as usize];
        }
        let found = self.others.iter().find(|(other, _)| *other == c);
        found.map_or(0, |(_, places)| *places)
    }

    /// The distance to a word, which is given by where each of its characters stands in this one.
    fn distance(&self, word: impl Iterator<Item = u64>) -> usize {
        let last = 1u64 << (self.runes - 1);
        let (mut rises, mut falls) = (!0u64, 0u64);
        let (mut same, mut before) = (0u64, 0u64);
        let mut distance = self.runes;
        for here in word {
            let swapped = ((!same & here) << 1) & before;
            same = (((here & rises).wrapping_add(rises)) ^ rises) | here | falls | swapped;
            let across_rises = falls | !(same | rises);
            let across_falls = same & rises;
            if across_rises & last != 0 {
                distance += 1;
            }
            if across_falls & last != 0 {
                distance -= 1;
            }
            let across_rises = (across_rises << 1) | 1;
            rises = (across_falls << 1) | !(same | across_rises);
            falls = across_rises & same;
            before = here;
        }
        distance
    }
}

/// Which kinds of letters a word has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Signature(u64);

impl Signature {
    pub(super) fn of(word: &str) -> Signature {
        Signature(word.chars().fold(0, |bits, c| bits | 1 << kind(c)))
    }

    /// Whether words of these letters can be within `EDITS` edits of each other.
    #[inline]
    pub(super) fn may_be_near<const EDITS: usize>(self, other: Signature) -> bool {
        has_at_most::<EDITS>(self.0 & !other.0) && has_at_most::<EDITS>(other.0 & !self.0)
    }
}

#[inline]
fn has_at_most<const COUNT: usize>(mut bits: u64) -> bool {
    for _ in 0..COUNT {
        // Takes the lowest bit away.
        bits &= bits.wrapping_sub(1);
    }
    bits == 0
}

/// Letters of ASCII and digits have bits of their own, the others share 28.
fn kind(c: char) -> u32 {
    match c {
        'a'..='z' => c as u32 - 'a' as u32,
        '0'..='9' => 26 + c as u32 - '0' as u32,
        _ => 36 + c as u32 % 28,
    }
}

/// The words of a dictionary by length, with their signatures.
pub(super) struct ByLength {
    /// Where the words of each length start.
    starts: [u32; MAX_WORD + 2],
    signatures: Vec<Signature>,
    words: Vec<u32>,
}

impl ByLength {
    pub(super) fn of<'a>(words: impl Iterator<Item = &'a str> + Clone) -> ByLength {
        let length = |word: &str| word.chars().count().min(MAX_WORD);
        let mut starts = [0u32; MAX_WORD + 2];
        for word in words.clone() {
            starts[length(word) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let count = starts[MAX_WORD + 1] as usize;
        let mut next = starts;
        let mut by_length = ByLength {
            starts,
            signatures: vec![Signature(0); count],
            words: vec![0; count],
        };
        for (number, word) in (0u32..).zip(words) {
            let place = &mut next[length(word)];
            by_length.signatures[*place as usize] = Signature::of(word);
            by_length.words[*place as usize] = number;
            *place += 1;
        }
        by_length
    }

    /// Hands over the numbers of the words that may be near.
    pub(super) fn candidates(&self, near: &Near, take: impl FnMut(u32)) {
        match near.edits {
            0 => {}
            1 => self.candidates_within::<1>(near, take),
            _ => self.candidates_within::<2>(near, take),
        }
    }

    fn candidates_within<const EDITS: usize>(&self, near: &Near, mut take: impl FnMut(u32)) {
        let shortest = near.runes.saturating_sub(EDITS).min(MAX_WORD);
        let longest = (near.runes + EDITS).min(MAX_WORD);
        let range = self.starts[shortest] as usize..self.starts[longest + 1] as usize;
        let words = self.signatures[range.clone()]
            .iter()
            .zip(&self.words[range]);
        for (signature, word) in words {
            if signature.may_be_near::<EDITS>(near.signature) {
                take(*word);
            }
        }
    }

    /// How many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.words.len() * 12 + size_of::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn near_words_are_those_of_the_textbook(
            (wanted, word) in prop_oneof![
                ("[ab]{4,12}", "[abc]{0,14}"),
                ("[abcé天]{4,12}", "[abcdé天気]{0,14}"),
                ("[a-e]{40,48}", "[a-e]{40,48}"),
            ]
        ) {
            let near = Near::of(&wanted).unwrap();
            let distance = strsim::osa_distance(&wanted, &word);
            prop_assert_eq!(near.distance(word.chars().map(|c| near.places(c))), distance);
            prop_assert_eq!(near.matches(&word), distance <= near.edits);
            let by_length = ByLength::of([word.as_str()].into_iter());
            let mut found = false;
            by_length.candidates(&near, |_| found = true);
            prop_assert!(found || distance > near.edits, "no near word is passed over");
        }
    }
}
