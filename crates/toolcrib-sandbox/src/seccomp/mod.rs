//! The seccomp filter: what a sandboxed command may not ask the kernel for.
//!
//! [`mod@rules`] is the policy, one table to read and to review; [`mod@compile`] turns it into BPF. The code that starts the child
//! installs the program: `no_new_privs` first, then `seccomp(2)`.
//!
//! The policy is a deny-list over a closed set: calls of the kernels we know are allowed unless a rule refuses them,
//! numbers we have never heard of are answered `ENOSYS`. A full allow-list lost: it breaks compilers and language
//! runtimes in ways no one can debug, and files and signals are fenced by Landlock and namespaces, not here.
//! A filter sees numbers and registers, never what a pointer points at, so calls that hide their flags behind a
//! pointer (`clone3`, io_uring) cannot be half allowed.
//!
//! Invariant: every rule has a test that fails when that rule alone is dropped (`tests/kernel.rs`, `tests/kill.rs`).

mod compile;
mod rules;
#[cfg(test)]
mod tests;

use compile::{Answer, Policy, Span, Verdict};
use rules::Rule;

/// What the filter lets out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) enum Sockets {
    /// No socket of any family.
    None,
    /// IPv4 and IPv6, TCP, UDP and ping: the sandbox has its own network namespace, or may use the whole network.
    Internet,
}

/// Whose System V IPC objects and POSIX message queues the sandbox would see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) enum Ipc {
    /// Those of the host: refused, as another program's queue or segment is as good as its memory.
    Shared,
    /// Those of the sandbox's own IPC namespace: allowed.
    Own,
}

/// Builds the BPF program for one kind of sandbox.
///
/// The answer depends on nothing but the arguments, so the caller may keep it; building takes some tens of
/// microseconds.
pub(crate) fn program(sockets: Sockets, ipc: Ipc) -> Vec<libc::sock_filter> {
    compile(
        &rules::table(sockets, ipc).collect::<Vec<_>>(),
        rules::FOREIGN_VERDICT,
    )
}

/// Names every rule, for the tests and for documentation.
///
/// A refused call goes by its own name (`ptrace`), a rule that looks at an argument by what it refuses
/// (`clone into a namespace`).
#[allow(dead_code, reason = "only tests and reference pages list the rules")]
pub(crate) fn rules() -> impl Iterator<Item = &'static str> {
    std::iter::once(rules::FOREIGN_ARCHITECTURE).chain(rules::all().map(|rule| rule.name))
}

/// Builds the program with one rule left out, to show that a test notices.
#[cfg(test)]
fn program_without(dropped: &str, sockets: Sockets, ipc: Ipc) -> Vec<libc::sock_filter> {
    let kept: Vec<Rule> = rules::table(sockets, ipc)
        .filter(|rule| rule.name != dropped)
        .collect();
    let foreign = if dropped == rules::FOREIGN_ARCHITECTURE {
        Verdict::Allow
    } else {
        rules::FOREIGN_VERDICT
    };
    compile(&kept, foreign)
}

fn compile(table: &[Rule], foreign: Verdict) -> Vec<libc::sock_filter> {
    Policy {
        arch: rules::NATIVE_ARCH,
        foreign,
        spans: spans(table),
    }
    .assemble()
}

/// Cuts the system call numbers into the longest runs that share one answer, in ascending order from 0.
fn spans(table: &[Rule]) -> Vec<Span> {
    let mut firsts: Vec<u32> = table
        .iter()
        .flat_map(|rule| [Some(rule.first), rule.last.checked_add(1)])
        .flatten()
        .chain([0])
        .collect();
    firsts.sort_unstable();
    firsts.dedup();

    let mut spans: Vec<Span> = firsts
        .into_iter()
        .map(|first| Span {
            first,
            answer: answer(first, table),
        })
        .collect();
    spans.dedup_by(|next, kept| next.answer == kept.answer);
    spans
}

/// Collects what the table says about one number: argument checks in order, up to the first unconditional rule.
fn answer(number: u32, table: &[Rule]) -> Answer {
    let mut checks = Vec::new();
    for rule in table.iter().filter(|rule| rule.covers(number)) {
        match rule.test {
            Some(test) => checks.push((test, rule.verdict)),
            None => {
                return Answer {
                    checks,
                    otherwise: rule.verdict,
                };
            }
        }
    }
    Answer {
        checks,
        otherwise: Verdict::Allow,
    }
}
