//! Texts in order, each with the documents that have it.

use std::collections::HashMap;
use std::ops::Range;

use super::bits::Bits;

/// Different texts in the order of their bytes, which is that of their code points. A text is known by its number in that order.
#[derive(Default)]
pub(super) struct Dictionary {
    text: String,
    /// Where each text ends.
    ends: Vec<u32>,
}

impl Dictionary {
    /// Adds a text that comes after all others.
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len() as u32);
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, number: u32) -> &str {
        let at = number as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start as usize..self.ends[at] as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        (0..self.ends.len() as u32).map(|number| self.get(number))
    }

    /// The number of a text.
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        let at = self.first_not(|other| other < text);
        ((at as usize) < self.len() && self.get(at) == text).then_some(at)
    }

    /// The numbers of all texts that start so.
    pub(super) fn starting_with(&self, start: &str) -> Range<u32> {
        let from = self.first_not(|other| other < start);
        let to = self.first_not(|other| other < start || other.starts_with(start));
        from..to
    }

    /// The first number whose text is not `before`.
    fn first_not(&self, before: impl Fn(&str) -> bool) -> u32 {
        let (mut from, mut to) = (0, self.ends.len() as u32);
        while from < to {
            let middle = from + (to - from) / 2;
            if before(self.get(middle)) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// How many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 4
    }
}

/// Gives texts numbers as they come, and puts them in order at the end.
#[derive(Default)]
pub(super) struct Interner {
    numbers: HashMap<Box<str>, u32>,
}

impl Interner {
    pub(super) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(text.into(), number);
        number
    }

    /// The dictionary, and for each number given out the one that it has there.
    pub(super) fn finish(self) -> (Dictionary, Vec<u32>) {
        let mut texts: Vec<(u64, Box<str>, u32)> = self
            .numbers
            .into_iter()
            .map(|(text, number)| (start(&text), text, number))
            .collect();
        texts.sort_unstable_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        let mut renumbered = vec![0; texts.len()];
        let mut dictionary = Dictionary::default();
        for (at, (_, text, number)) in (0u32..).zip(&texts) {
            renumbered[*number as usize] = at;
            dictionary.push(text);
        }
        dictionary.text.shrink_to_fit();
        (dictionary, renumbered)
    }
}

/// The first bytes of a text as a number of the same order, by which most comparisons are settled.
fn start(text: &str) -> u64 {
    let mut bytes = [0; 8];
    let len = text.len().min(8);
    bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
    u64::from_be_bytes(bytes)
}

/// For each text of a dictionary the documents that have it, in their order.
#[derive(Default)]
pub(super) struct Postings {
    /// Where the documents of each text end.
    ends: Vec<u32>,
    documents: Vec<u32>,
}

impl Postings {
    /// Gathers what `each` hands over twice alike: pairs of a document and a text, the documents in order.
    pub(super) fn gather(texts: usize, each: impl Fn(&mut dyn FnMut(u32, u32))) -> Postings {
        // A text that a document has more than once counts once: the last document of each is remembered.
        let mut last = vec![u32::MAX; texts];
        let mut ends = vec![0u32; texts];
        each(&mut |document, text| {
            let text = text as usize;
            if last[text] != document {
                last[text] = document;
                ends[text] += 1;
            }
        });
        let mut total = 0;
        for end in &mut ends {
            // First where they start; filling moves each to where they end.
            total += std::mem::replace(end, total);
        }
        let mut documents = vec![0; total as usize];
        last.fill(u32::MAX);
        each(&mut |document, text| {
            let text = text as usize;
            if last[text] != document {
                last[text] = document;
                documents[ends[text] as usize] = document;
                ends[text] += 1;
            }
        });
        Postings { ends, documents }
    }

    /// Adds the documents of some texts to a set.
    pub(super) fn add_to(&self, set: &mut Bits, texts: Range<u32>) {
        if !texts.is_empty() {
            set.extend(&self.documents[self.start(texts.start)..self.start(texts.end)]);
        }
    }

    fn start(&self, text: u32) -> usize {
        match text {
            0 => 0,
            text => self.ends[text as usize - 1] as usize,
        }
    }

    /// How many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        (self.ends.capacity() + self.documents.capacity()) * 4
    }
}
