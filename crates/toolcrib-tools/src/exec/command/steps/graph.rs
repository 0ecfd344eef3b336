//! Which step may start when: [`Graph`].
//!
//! Plain bookkeeping, no time and no tasks. A step is handed out once, when everything it waits for is over; what is never
//! handed out is the rest that someone stopped.

use std::collections::BTreeSet;

/// The order of steps, and how far it got.
#[derive(Debug)]
pub(super) struct Graph {
    /// How many steps each one still waits for.
    open: Vec<usize>,
    /// The steps that wait for each step.
    waiters: Vec<Vec<usize>>,
    /// What may start; the first in the file comes first.
    ready: BTreeSet<usize>,
    running: usize,
    at_once: usize,
    stopped: bool,
}

impl Graph {
    /// A graph of steps by what each waits for; at most `at_once` run at a time.
    pub(super) fn new<'a>(waits: impl IntoIterator<Item = &'a [usize]>, at_once: usize) -> Self {
        let waits: Vec<BTreeSet<usize>> = waits
            .into_iter()
            .map(|waits| waits.iter().copied().collect())
            .collect();
        let mut waiters = vec![Vec::new(); waits.len()];
        for (step, waits) in waits.iter().enumerate() {
            for wait in waits {
                waiters[*wait].push(step);
            }
        }
        let open: Vec<usize> = waits.iter().map(BTreeSet::len).collect();
        let ready = open.iter().enumerate();
        Graph {
            ready: ready
                .filter(|(_, open)| **open == 0)
                .map(|(step, _)| step)
                .collect(),
            open,
            waiters,
            running: 0,
            at_once: at_once.max(1),
            stopped: false,
        }
    }

    /// The next step to start, if one may start now; it counts as running until it is [`over`](Self::over).
    pub(super) fn start(&mut self) -> Option<usize> {
        if self.stopped || self.running == self.at_once {
            return None;
        }
        let step = self.ready.pop_first()?;
        self.running += 1;
        Some(step)
    }

    /// Says that a step that was started is over.
    pub(super) fn over(&mut self, step: usize) {
        self.running -= 1;
        for waiter in std::mem::take(&mut self.waiters[step]) {
            self.open[waiter] -= 1;
            if self.open[waiter] == 0 {
                self.ready.insert(waiter);
            }
        }
    }

    /// Lets no further step start.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Steps in the order in which they start when each takes as long as the others.
    fn rounds(waits: &[&[usize]], at_once: usize) -> Vec<Vec<usize>> {
        let mut graph = Graph::new(waits.iter().copied(), at_once);
        let mut rounds = Vec::new();
        loop {
            let round: Vec<usize> = std::iter::from_fn(|| graph.start()).collect();
            if round.is_empty() {
                return rounds;
            }
            round.iter().for_each(|step| graph.over(*step));
            rounds.push(round);
        }
    }

    #[test]
    fn steps_start_as_soon_as_what_they_wait_for_is_over() {
        type Case = (&'static [&'static [usize]], &'static [&'static [usize]]);
        let cases: &[Case] = &[
            (&[], &[]),
            (&[&[], &[0], &[1]], &[&[0], &[1], &[2]]),
            (&[&[], &[], &[]], &[&[0, 1, 2]]),
            // A diamond, and one that waits for the same step twice.
            (&[&[], &[0], &[0], &[1, 2]], &[&[0], &[1, 2], &[3]]),
            (&[&[], &[0, 0]], &[&[0], &[1]]),
            // S0's schema block: the first step waits for later ones.
            (&[&[1, 2], &[], &[]], &[&[1, 2], &[0]]),
            // A short branch does not wait for a long one.
            (&[&[], &[0], &[1], &[]], &[&[0, 3], &[1], &[2]]),
        ];
        for (waits, expected) in cases {
            assert_eq!(rounds(waits, 9), *expected, "{waits:?}");
        }
    }

    #[test]
    fn no_more_run_at_once_than_may() {
        let waits: Vec<&[usize]> = vec![&[]; 5];
        assert_eq!(rounds(&waits, 2), [vec![0, 1], vec![2, 3], vec![4]]);
    }

    #[test]
    fn nothing_starts_once_it_is_stopped() {
        let mut graph = Graph::new([&[][..], &[], &[0]], 9);
        assert_eq!(graph.start(), Some(0));
        graph.stop();
        graph.over(0);
        assert_eq!(graph.start(), None);
    }

    #[test]
    fn a_circle_ends_without_having_started() {
        assert_eq!(rounds(&[&[1], &[0], &[]], 9), [vec![2]]);
    }

    /// Random graphs without circles, and the order in which running steps come to an end.
    fn graphs() -> impl Strategy<Value = (Vec<Vec<usize>>, Vec<prop::sample::Index>, usize)> {
        (1_usize..40).prop_flat_map(|count| {
            let waits: Vec<_> = (0..count)
                .map(|step| prop::collection::vec(0..step.max(1), 0..4.min(step + 1)))
                .collect();
            let order = Just((0..count).collect::<Vec<usize>>()).prop_shuffle();
            let ends = prop::collection::vec(any::<prop::sample::Index>(), count);
            (waits, order, ends, 1_usize..6).prop_map(|(waits, order, ends, at_once)| {
                // Any order in the file, not only "earlier ones first".
                let mut shuffled = vec![Vec::new(); waits.len()];
                for (step, waits) in waits.into_iter().enumerate() {
                    let waits = waits.into_iter().filter(|wait| *wait < step);
                    shuffled[order[step]] = waits.map(|wait| order[wait]).collect();
                }
                (shuffled, ends, at_once)
            })
        })
    }

    proptest! {
        #[test]
        fn every_step_starts_once_and_after_all_it_waits_for((waits, ends, at_once) in graphs()) {
            let mut graph = Graph::new(waits.iter().map(Vec::as_slice), at_once);
            let (mut running, mut over): (Vec<usize>, Vec<usize>) = Default::default();
            for end in &ends {
                while let Some(step) = graph.start() {
                    prop_assert!(waits[step].iter().all(|wait| over.contains(wait)));
                    prop_assert!(!running.contains(&step) && !over.contains(&step));
                    running.push(step);
                }
                prop_assert!(!running.is_empty() && running.len() <= at_once);
                let step = running.swap_remove(end.index(running.len()));
                graph.over(step);
                over.push(step);
            }
            prop_assert_eq!(graph.start(), None);
            prop_assert_eq!(over.len(), waits.len());
        }
    }
}
