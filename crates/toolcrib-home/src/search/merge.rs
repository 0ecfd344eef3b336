//! Making one [`Segment`] of several, without the documents that are dead, and deciding when.
//!
//! Segments are of sizes that grow by [`FAN`]: as soon as that many are of one size, they and all smaller ones become one. So there are few of them, and a
//! document is moved once for each size.

use super::bits::Bits;
use super::dictionary::Dictionary;
use super::segment::{Fields, Rows, Segment};

/// How many segments of one size become one of the next.
const FAN: usize = 4;
/// A segment of which more than half is dead is written again if it has at least as many documents as this.
const WORTH_CLEANING: usize = 1024;

/// How many documents a part of the index has, and how many of them are alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) all: usize,
    pub(super) alive: usize,
}

impl Size {
    fn step(self) -> u32 {
        self.alive.max(1).ilog(FAN)
    }
}

/// Which of the parts should become one now, by their places in `sizes`; none if all is well.
pub(super) fn due(sizes: &[Size]) -> Option<Vec<usize>> {
    let steps: Vec<u32> = sizes.iter().map(|size| size.step()).collect();
    let is_full = |step: &u32| steps.iter().filter(|other| *other == step).count() >= FAN;
    if let Some(largest) = steps.iter().copied().filter(is_full).max() {
        let chosen = (0..steps.len()).filter(|at| steps[*at] <= largest);
        return Some(chosen.collect());
    }
    let is_worn = |size: &Size| size.all >= WORTH_CLEANING && size.alive * 2 < size.all;
    sizes.iter().position(is_worn).map(|at| vec![at])
}

/// Makes one segment of what is alive in some.
pub(super) fn merge(parts: &[(&Segment, Option<&Bits>)]) -> Segment {
    let mut alive: Vec<(usize, u32)> = Vec::new();
    for (part, (segment, dead)) in parts.iter().enumerate() {
        let documents = 0..segment.len() as u32;
        let living =
            documents.filter(|document| !dead.is_some_and(|dead| dead.contains(*document)));
        alive.extend(living.map(|document| (part, document)));
    }
    // Stable, because that makes use of each part being in order.
    alive.sort_by(|one, other| {
        let place = |(part, document): (usize, u32)| parts[part].0.rows.place(document);
        place(*one).cmp(&place(*other))
    });
    let mut used: Vec<Used> = parts
        .iter()
        .map(|(segment, _)| Used {
            words: Bits::none(segment.words.len()),
            squashed: Bits::none(segment.squashed.len()),
        })
        .collect();
    for (part, document) in &alive {
        let fields = &parts[*part].0.fields;
        used[*part].words.extend(fields.all_words(*document));
        used[*part].squashed.extend(fields.squashed(*document));
    }
    let (words, new_words) = union(
        parts
            .iter()
            .zip(&used)
            .map(|((segment, _), used)| (&segment.words, &used.words)),
    );
    let (squashed, new_squashed) = union(
        parts
            .iter()
            .zip(&used)
            .map(|((segment, _), used)| (&segment.squashed, &used.squashed)),
    );
    let mut rows = Rows::default();
    let mut fields = Fields::default();
    for (part, document) in alive {
        let segment = parts[part].0;
        rows.push(&segment.rows.place(document));
        let new = |word: &u32| new_words[part][*word as usize];
        for field in segment.fields.of(document) {
            let of_field = &segment.fields.words[segment.fields.words_of(field)];
            fields.words.extend(of_field.iter().map(new));
            fields.ends.push(fields.words.len() as u32);
        }
        fields.document_ends.push(fields.ends.len() as u32);
        let names = segment.fields.squashed(document).iter();
        fields
            .squashed
            .extend(names.map(|name| new_squashed[part][*name as usize]));
        fields.squashed_ends.push(fields.squashed.len() as u32);
    }
    fields.words.shrink_to_fit();
    fields.ends.shrink_to_fit();
    Segment::assemble(rows, words, squashed, fields)
}

/// What the living documents of a part use of its dictionaries.
struct Used {
    words: Bits,
    squashed: Bits,
}

/// The texts that are used of some dictionaries as one, and for each dictionary the new numbers of its texts.
fn union<'a>(
    parts: impl Iterator<Item = (&'a Dictionary, &'a Bits)>,
) -> (Dictionary, Vec<Vec<u32>>) {
    let mut texts: Vec<(&str, usize, u32)> = Vec::new();
    let mut renumbered: Vec<Vec<u32>> = Vec::new();
    for (part, (dictionary, used)) in parts.enumerate() {
        texts.extend(
            used.iter()
                .map(|number| (dictionary.get(number), part, number)),
        );
        renumbered.push(vec![0; dictionary.len()]);
    }
    // Stable, because that makes use of each dictionary being in order.
    texts.sort_by_key(|(text, ..)| *text);
    let mut one = Dictionary::default();
    let mut last = None;
    for (text, part, number) in texts {
        if last != Some(text) {
            one.push(text);
            last = Some(text);
        }
        renumbered[part][number as usize] = one.len() as u32 - 1;
    }
    (one, renumbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(sizes: &[usize]) -> Vec<Size> {
        let size = |count: &usize| Size {
            all: *count,
            alive: *count,
        };
        sizes.iter().map(size).collect()
    }

    #[test]
    fn four_of_a_size_become_one_with_all_that_are_smaller() {
        assert_eq!(due(&full(&[])), None);
        assert_eq!(due(&full(&[100_000, 1, 1, 1])), None);
        assert_eq!(due(&full(&[100_000, 1, 1, 1, 1])), Some(vec![1, 2, 3, 4]));
        assert_eq!(
            due(&full(&[7, 1, 4, 2000, 5, 6])),
            Some(vec![0, 1, 2, 4, 5])
        );
    }

    #[test]
    fn what_is_mostly_dead_is_rewritten() {
        let worn = Size {
            all: 3000,
            alive: 1400,
        };
        let small = Size { all: 10, alive: 1 };
        assert_eq!(due(&[small, worn]), Some(vec![1]));
        assert_eq!(due(&[small]), None);
    }
}
