//! Rules: what is refused or asked about before anything runs.
//!
//! Rules route and explain; the sandbox is the wall. A rule says on which calls it has something to say (docs/rules.md has the
//! language) and what: allow, ask or deny. All rules that match are listed, and the severest verdict wins. Shell text is not
//! searched but read ([`crate::shell`]): `echo sudo` runs no `sudo`. What cannot be understood is asked about.
//!
//! ```text
//! facts        what a call is about, read once: invocation, paths (habits, links), place, host
//! values       what words that are not fixed may become
//! rule         one condition on it: patterns, command, glob (name_glob), knowledge
//! set          all rules, behind the trait Rules
//! file         rules as TOML, checked with their examples when they are loaded
//! ```

mod command;
mod destination;
mod examples;
mod facts;
mod file;
mod glob;
mod habits;
mod host;
mod invocation;
mod knowledge;
mod links;
mod name_glob;
mod paths;
mod patterns;
mod rule;
mod set;
mod values;

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod verdict_tests;

pub use file::{RuleProblem, RulesError, Whose};
pub use rule::{Rule, RuleOrigin};
pub use set::{RuleSet, Runs};

pub use toolcrib_model::judgement::{Finding, Judgement, RuleContext, Rules};
