//! The BPF assembler: a binary search over system call numbers, with argument checks at the leaves.
//!
//! A search tree instead of a list of comparisons: at load time the kernel runs every system call number through the
//! filter to learn which are always allowed, so a list costs four times as much to install. It caches only numbers
//! decided without a look at the arguments, by the few instructions used here; keep to them.
//!
//! No one writes a jump offset here. BPF jumps only forward, so the program is built from its end to its start: when
//! an instruction is written, its targets are in place and their distance is a subtraction. Targets out of a
//! conditional jump's 8-bit reach get a hop nearby.

use libc::sock_filter;

/// What the kernel does with a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// Performs it.
    Allow,
    /// Fails it with this errno.
    Errno(i32),
    /// Ends the whole process with SIGSYS.
    Kill,
}

impl Verdict {
    /// Returns the filter's return value that asks for it.
    pub(super) fn code(self) -> u32 {
        match self {
            Verdict::Allow => libc::SECCOMP_RET_ALLOW,
            Verdict::Errno(errno) => {
                libc::SECCOMP_RET_ERRNO | (errno as u32 & libc::SECCOMP_RET_DATA)
            }
            Verdict::Kill => libc::SECCOMP_RET_KILL_PROCESS,
        }
    }
}

/// A question about the low 32 bits of one argument.
///
/// Every argument in our rules is one the kernel truncates to 32 bits or fewer. Looking at the upper half would let
/// a caller dodge a rule by setting a bit there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ArgTest {
    /// Which argument, from 0.
    pub(super) arg: u32,
    /// The bits that count.
    pub(super) mask: u32,
    /// Which values of those bits are refused.
    pub(super) refuse: Refuse,
}

/// The values an [`ArgTest`] refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refuse {
    /// These.
    In(&'static [u32]),
    /// All but these.
    NotIn(&'static [u32]),
}

/// The answer to a number: the first check that refuses, else `otherwise`.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Answer {
    pub(super) checks: Vec<(ArgTest, Verdict)>,
    pub(super) otherwise: Verdict,
}

/// A run of numbers with one answer; it ends where the next span begins.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) first: u32,
    pub(super) answer: Answer,
}

/// All a program decides.
pub(super) struct Policy {
    /// The one architecture whose numbers `spans` speaks of.
    pub(super) arch: u32,
    /// What a call made through any other one gets.
    pub(super) foreign: Verdict,
    /// Ascending, not empty, the first at number 0.
    pub(super) spans: Vec<Span>,
}

impl Policy {
    /// Writes the program.
    pub(super) fn assemble(&self) -> Vec<sock_filter> {
        debug_assert!(self.spans.first().is_some_and(|span| span.first == 0));
        debug_assert!(self.spans.is_sorted_by(|a, b| a.first < b.first));
        let mut out = Assembler::default();
        let tree = out.search(&self.spans);
        let native = out.step(LOAD, OFFSET_NR, tree);
        let foreign = out.ret(self.foreign);
        let check = out.branch(JUMP_EQ, self.arch, native, foreign);
        out.step(LOAD, OFFSET_ARCH, check);
        out.reversed.reverse();
        out.reversed
    }
}

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const JUMP: u32 = libc::BPF_JMP | libc::BPF_JA;
const JUMP_EQ: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const JUMP_GE: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

// Offsets into `struct seccomp_data`.
const OFFSET_NR: u32 = 0;
const OFFSET_ARCH: u32 = 4;
/// Of the arguments, 8 bytes each; on our little-endian machines the low half comes first.
const OFFSET_ARGS: u32 = 16;

/// An instruction already written, by its distance from the end of the program.
#[derive(Clone, Copy)]
struct Label(usize);

/// The program so far, last instruction first.
#[derive(Default)]
struct Assembler {
    reversed: Vec<sock_filter>,
}

impl Assembler {
    /// Writes the search for the number in the accumulator among `spans`.
    fn search(&mut self, spans: &[Span]) -> Label {
        if let [span] = spans {
            return self.answer(&span.answer);
        }
        let (low, high) = spans.split_at(spans.len() / 2);
        let first = high[0].first;
        let high = self.search(high);
        let low = self.search(low);
        self.branch(JUMP_GE, first, high, low)
    }

    fn answer(&mut self, answer: &Answer) -> Label {
        let mut next = self.ret(answer.otherwise);
        for (test, verdict) in answer.checks.iter().rev() {
            next = self.check(test, *verdict, next);
        }
        next
    }

    fn check(&mut self, test: &ArgTest, verdict: Verdict, passed: Label) -> Label {
        let refused = self.ret(verdict);
        let (values, listed, unlisted) = match test.refuse {
            Refuse::In(values) => (values, refused, passed),
            Refuse::NotIn(values) => (values, passed, refused),
        };
        let mut next = unlisted;
        for value in values.iter().rev() {
            next = self.branch(JUMP_EQ, *value, listed, next);
        }
        if test.mask != u32::MAX {
            next = self.step(AND, test.mask, next);
        }
        self.step(LOAD, OFFSET_ARGS + 8 * test.arg, next)
    }

    fn ret(&mut self, verdict: Verdict) -> Label {
        let code = verdict.code();
        let known = self
            .reversed
            .iter()
            .rposition(|it| u32::from(it.code) == RETURN && it.k == code);
        match known {
            Some(place) => Label(place),
            None => self.push(RETURN, code, 0, 0),
        }
    }

    /// Writes an instruction that always goes on to `next`.
    fn step(&mut self, code: u32, k: u32, next: Label) -> Label {
        if self.distance(next) != 0 {
            self.hop(next);
        }
        self.push(code, k, 0, 0)
    }

    /// Writes a conditional jump.
    fn branch(&mut self, code: u32, k: u32, yes: Label, no: Label) -> Label {
        let yes = self.near(yes);
        let no = self.near(no);
        let reach =
            |distance| u8::try_from(distance).expect("`near` keeps both targets within 255");
        let (yes, no) = (reach(self.distance(yes)), reach(self.distance(no)));
        self.push(code, k, yes, no)
    }

    /// Returns `target`, or a hop to it when the next instruction could not reach it.
    fn near(&mut self, target: Label) -> Label {
        // One less than the reach: the hop for a branch's other target may come between.
        if self.distance(target) < usize::from(u8::MAX) {
            target
        } else {
            self.hop(target)
        }
    }

    /// Writes a stand-in for `target`: a copy of a return, otherwise an unconditional jump, which has 32 bits.
    fn hop(&mut self, target: Label) -> Label {
        let it = self.reversed[target.0];
        if u32::from(it.code) == RETURN {
            return self.push(RETURN, it.k, 0, 0);
        }
        let distance = self.distance(target);
        let distance = u32::try_from(distance).expect("a program is far shorter than 2^32");
        self.push(JUMP, distance, 0, 0)
    }

    /// Counts the instructions that a jump written next would skip to get to `target`.
    fn distance(&self, target: Label) -> usize {
        self.reversed.len() - 1 - target.0
    }

    fn push(&mut self, code: u32, k: u32, jt: u8, jf: u8) -> Label {
        let code = u16::try_from(code).expect("BPF opcodes have 16 bits");
        self.reversed.push(sock_filter { code, jt, jf, k });
        Label(self.reversed.len() - 1)
    }
}
