//! Words within a few edits of a word: insertions, deletions, substitutions, and swaps of neighbours, with no letter edited twice (the distance of
//! optimal string alignment).
//!
//! A dictionary is gone through once, in two steps. First by [`Signature`]: an edit takes away at most one kind of letter and brings at
//! most one, so words whose sets of letters differ by more are out, by a handful of instructions each. The rest is measured, with one
//! column of the table of distances in the bits of one machine word (Hyyrö's form of Myers' algorithm). A tree of deletions would be faster
//! still, but takes a hundred entries for each word where this takes forty bytes.

use super::words::{MAX_WORD, edits_allowed};

/// A word of a query, ready to be compared with many.
pub(super) struct Near {
    pub(super) edits: usize,
    pub(super) runes: usize,
    pub(super) signature: Signature,
    /// For each ASCII character the bits of where it is in the word.
    ascii: [u64; 128],
    /// For each other character the bits of where it is in the word.
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
        match word.is_ascii() {
            true => self.matches_ascii(word.as_bytes()),
            false => self.distance(word.chars().map(|c| self.places(c))) <= self.edits,
        }
    }

    fn matches_ascii(&self, word: &[u8]) -> bool {
        word.len().abs_diff(self.runes) <= self.edits
            && self.distance(word.iter().map(|byte| self.ascii[usize::from(*byte & 127)]))
                <= self.edits
    }

    fn places(&self, c: char) -> u64 {
        if c.is_ascii() {
            return self.ascii[c as usize];
        }
        let found = self.others.iter().find(|(other, _)| *other == c);
        found.map_or(0, |(_, places)| *places)
    }

    /// The distance to a word, which is given by where each of its characters is in this one.
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

/// Which letters a word has, as bits that say `at least one`, and `at least two` and `at least three` of the ordinary ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Signature {
    one: u64,
    more: u64,
}

impl Signature {
    pub(super) fn of(word: &str) -> Signature {
        let mut signature = Signature::default();
        for c in word.chars() {
            let bit = 1 << kind(c);
            let second = match c {
                'a'..='z' => c as u32 - 'a' as u32,
                '0'..='9' => 52 + c as u32 - '0' as u32,
                _ => 64,
            };
            let is_again = signature.one & bit != 0;
            signature.one |= bit;
            if is_again && second < 64 {
                let is_third = signature.more & 1 << second != 0;
                signature.more |= 1 << second;
                if is_third && second < 26 {
                    signature.more |= 1 << (26 + second);
                }
            }
        }
        signature
    }

    /// Whether words of these letters can be within `EDITS` edits of each other.
    #[inline]
    pub(super) fn may_be_near<const EDITS: usize>(self, other: Signature) -> bool {
        let (gone, come) = (self.one & !other.one, other.one & !self.one);
        // Nearly all words fail here.
        has_at_most::<EDITS>(gone) && has_at_most::<EDITS>(come) && {
            let more_gone = (self.more & !other.more).count_ones();
            let more_come = (other.more & !self.more).count_ones();
            let edits = EDITS as u32;
            gone.count_ones() + more_gone <= edits && come.count_ones() + more_come <= edits
        }
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

/// Letters of ASCII and digits have their own bits, the others share 28.
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
    words: Vec<Candidate>,
    signatures: Vec<Signature>,
}

/// A word of a dictionary, most often with its text: looking that up elsewhere takes longer than comparing it.
#[derive(Clone, Copy, Default)]
pub(super) struct Candidate {
    number: u32,
    /// The length of its text; 0 if that is too long for this place or has other characters than those of ASCII.
    len: u8,
    text: [u8; 15],
}

impl Candidate {
    fn new(number: u32, word: &str) -> Self {
        let mut candidate = Candidate {
            number,
            ..Candidate::default()
        };
        if word.is_ascii() && word.len() <= candidate.text.len() {
            candidate.len = word.len() as u8;
            candidate.text[..word.len()].copy_from_slice(word.as_bytes());
        }
        candidate
    }
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
            words: vec![Candidate::default(); count],
            signatures: vec![Signature::default(); count],
        };
        for (number, word) in (0u32..).zip(words) {
            let place = &mut next[length(word)];
            by_length.signatures[*place as usize] = Signature::of(word);
            by_length.words[*place as usize] = Candidate::new(number, word);
            *place += 1;
        }
        by_length
    }

    /// Hands over the numbers of the words that are near.
    pub(super) fn near<'a>(
        &self,
        near: &Near,
        text: impl Fn(u32) -> &'a str,
        mut take: impl FnMut(u32),
    ) {
        let check = |candidate: &Candidate| {
            let is_near = match candidate.len {
                0 => near.matches(text(candidate.number)),
                len => near.matches_ascii(&candidate.text[..usize::from(len)]),
            };
            if is_near {
                take(candidate.number);
            }
        };
        match near.edits {
            0 => {}
            1 => self.candidates::<1>(near, check),
            _ => self.candidates::<2>(near, check),
        }
    }

    fn candidates<const EDITS: usize>(&self, near: &Near, mut check: impl FnMut(&Candidate)) {
        let shortest = near.runes.saturating_sub(EDITS).min(MAX_WORD);
        let longest = (near.runes + EDITS).min(MAX_WORD);
        let range = self.starts[shortest] as usize..self.starts[longest + 1] as usize;
        let signatures = self.signatures[range.clone()].iter();
        for (signature, word) in signatures.zip(&self.words[range]) {
            if signature.may_be_near::<EDITS>(near.signature) {
                check(word);
            }
        }
    }

    /// How many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.words.len() * (size_of::<Candidate>() + size_of::<Signature>()) + size_of::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

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
            by_length.near(&near, |_| word.as_str(), |_| found = true);
            prop_assert_eq!(found, distance <= near.edits);
        }
    }
}
