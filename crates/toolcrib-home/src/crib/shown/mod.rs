//! What front ends show of bundles and tools, for programs: the same fields from the command line (`--json`) and over HTTP.
//!
//! A pure translation of what the crib knows; what a reader may see, and how much of it at a time, is the front end's business.

mod arrival;
mod bundle;
mod check;
mod comparison;
mod listed;
mod planned;
mod rules;
mod secret;
mod tool;

pub use arrival::{Arrival, ImportShown};
pub use bundle::BundleRow;
pub use check::{CheckedText, ProblemRow, moved};
pub use comparison::{
    ChangedField, ComparedShown, ComparedTool, ComparisonShown, NameContest, ReachShown, Runs,
    SecretShown, ToldSecret,
};
pub use listed::{
    ChangeShown, DamagedTool, ListQuery, ListedTool, ParameterShown, ToolList, ToolShown,
};
pub use planned::{Planned, SecretNeeded};
pub use rules::{RanCommand, RuleRow, RulesTest};
pub use secret::SecretRow;
pub use tool::{LimitsShown, ToolRow};
