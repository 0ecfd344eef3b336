//! A set of small numbers, one bit each.

/// A set of the numbers below a length that is the same for all sets that meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// None of the numbers below `len`.
    pub(super) fn none(len: usize) -> Bits {
        Bits(vec![0; len.div_ceil(64)])
    }

    /// All of the numbers below `len`.
    pub(super) fn all(len: usize) -> Bits {
        let mut words = vec![!0; len.div_ceil(64)];
        if let Some(last) = words.last_mut()
            && !len.is_multiple_of(64)
        {
            *last = (1 << (len % 64)) - 1;
        }
        Bits(words)
    }

    #[inline]
    pub(super) fn insert(&mut self, number: u32) {
        self.0[number as usize / 64] |= 1 << (number % 64);
    }

    pub(super) fn contains(&self, number: u32) -> bool {
        self.0[number as usize / 64] & 1 << (number % 64) != 0
    }

    pub(super) fn extend(&mut self, numbers: &[u32]) {
        for number in numbers {
            self.insert(*number);
        }
    }

    pub(super) fn add(&mut self, other: &Bits) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    pub(super) fn keep(&mut self, other: &Bits) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
    }

    pub(super) fn take_out(&mut self, other: &Bits) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= !other;
        }
    }

    pub(super) fn remove(&mut self, number: u32) {
        self.0[number as usize / 64] &= !(1 << (number % 64));
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The least number that is at least `from`.
    pub(super) fn next(&self, from: u32) -> Option<u32> {
        let mut at = from as usize / 64;
        let mut word = *self.0.get(at)? & (!0 << (from % 64));
        while word == 0 {
            at += 1;
            word = *self.0.get(at)?;
        }
        Some(at as u32 * 64 + word.trailing_zeros())
    }

    /// The numbers, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        std::iter::successors(self.next(0), |last| self.next(last + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_in_order() {
        let mut bits = Bits::none(130);
        bits.extend(&[129, 0, 64, 63]);
        assert_eq!(bits.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert_eq!((bits.next(65), bits.next(130)), (Some(129), None));
        bits.take_out(&Bits::all(64));
        assert_eq!(bits.iter().collect::<Vec<_>>(), [64, 129]);
        bits.keep(&Bits::none(130));
        assert!(bits.is_empty());
        assert_eq!(Bits::all(130).iter().count(), 130);
        assert!(Bits::all(0).is_empty());
    }
}
