//! The account of calls on disk: the log, the outcomes of calls with an id of their caller's own, and how often tools are used.

pub mod call_log;
mod rates;
pub mod replay;
pub mod usage;

pub(crate) use rates::SharedRates;
