//! Chance by a seed: the same numbers everywhere, and one generator per request, so that a request can be made again alone.

/// SplitMix64: small, and good enough to choose by.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// The generator of one request.
    pub(super) fn of(seed: u64, request: u64) -> Self {
        let mut random = Random(seed ^ request.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        random.next();
        random
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `end`, which is not 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    /// True once in `times`.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}
