//! What reading something from outside may cost: [`Budget`].
//!
//! A text of a few hundred bytes can ask for more than a machine has (`v1=$v0$v0; v2=$v1$v1; …`), and it is read before a person sees
//! it. So a reader that expands, copies or repeats what it reads pays for that from one budget per text, and gives up when the budget
//! is spent: with a doubt where someone can be asked, otherwise with an error. It is in `model` because every reader of the lowest
//! layer needs it, and it knows none of them.
//!
//! One step is about the work for one byte that is parsed, 10 to 100 ns. Copying is cheaper: sixteen bytes are a step. What a reader
//! does once for each byte of a text whose length is bounded needs no budget.

/// How much a reader may still do. The default is a budget that pays for nothing.
#[derive(Debug, Default)]
pub struct Budget {
    steps: u64,
    bytes: u64,
    given: (u64, u64),
    is_spent: bool,
}

/// The budget does not suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this takes more steps or memory to read than one text may take")]
pub struct Spent;

impl Budget {
    /// A budget of this many steps, and of this many bytes that are made from what is read.
    pub const fn new(steps: u64, bytes: u64) -> Self {
        Budget {
            steps,
            bytes,
            given: (steps, bytes),
            is_spent: false,
        }
    }

    /// Pays for work. Once this fails it fails for good: what is left over does not buy a smaller step.
    pub fn step(&mut self, steps: usize) -> Result<(), Spent> {
        self.pay(steps as u64, 0)
    }

    /// Pays for bytes that are kept or copied, and for the work of doing so.
    pub fn copy(&mut self, bytes: usize) -> Result<(), Spent> {
        let bytes = bytes as u64;
        self.pay(1 + bytes / 16, bytes)
    }

    /// Pays for a look at bytes that are neither kept nor parsed: comparing or counting them.
    pub fn look(&mut self, bytes: usize) -> Result<(), Spent> {
        self.pay(1 + bytes as u64 / 16, 0)
    }

    fn pay(&mut self, steps: u64, bytes: u64) -> Result<(), Spent> {
        if self.is_spent || steps > self.steps || bytes > self.bytes {
            self.is_spent = true;
            return Err(Spent);
        }
        self.steps -= steps;
        self.bytes -= bytes;
        Ok(())
    }

    /// Whether something could not be paid for.
    pub fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// The bytes that can still be paid for.
    pub fn bytes_left(&self) -> u64 {
        self.bytes
    }

    /// The steps that were paid for.
    pub fn steps_taken(&self) -> u64 {
        self.given.0 - self.steps
    }

    /// The bytes that were paid for.
    pub fn bytes_taken(&self) -> u64 {
        self.given.1 - self.bytes
    }
}

#[cfg(feature = "testing")]
mod taken {
    use std::cell::Cell;

    thread_local! {
        static TAKEN: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    }

    impl Drop for super::Budget {
        fn drop(&mut self) {
            let (steps, bytes) = TAKEN.get();
            TAKEN.set((steps + self.steps_taken(), bytes + self.bytes_taken()));
        }
    }

    /// The steps and bytes that budgets of this thread have paid for since this was last asked.
    #[doc(hidden)]
    pub fn take() -> (u64, u64) {
        TAKEN.take()
    }
}

#[cfg(feature = "testing")]
pub use taken::take as taken_on_this_thread;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spent_budget_stays_spent() {
        let mut budget = Budget::new(10, 100);
        assert_eq!(budget.step(8), Ok(()));
        assert_eq!(budget.step(3), Err(Spent));
        assert_eq!(budget.step(1), Err(Spent));
        assert!(budget.is_spent());
        assert_eq!(budget.steps_taken(), 8);
    }

    #[test]
    fn bytes_cost_steps_too() {
        let mut budget = Budget::new(10, 1000);
        assert_eq!(budget.copy(100), Ok(()));
        assert_eq!((budget.steps_taken(), budget.bytes_taken()), (7, 100));
        assert_eq!(budget.copy(64), Err(Spent));
    }
}
