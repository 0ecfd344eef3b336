//! The call log: a directory of JSON lines, one per call, in files by UTC day.
//!
//! [`CallLog`] writes, off the hot path and from several processes at once; [`CallLogReader`]
//! reads, newest first, and creates nothing. A file that passes its size is continued in a next
//! part (`2026-11-15.jsonl`, `2026-11-15.1.jsonl`, …); when all files together pass theirs, the
//! oldest are removed whole.
//!
//! What a crash can cost is the line being written, and what the last few milliseconds brought
//! unless [`flush`](toolcrib_core::record::Recorder::flush) had returned. What a full disk can cost is records,
//! which are counted; no call ever fails because of the log.
//!
//! Writers take no lock for a line. A lock would have made appending simpler to get right (see
//! `file.rs`), but a stopped process that holds it would stop every call on the machine.

mod file;
mod line;
mod page;
mod reader;
mod writer;

pub use line::is_cut;
pub use page::{CallFilter, CallPage, CallPosition, CallStatus, NoPosition};
pub use reader::{CallLogReader, CallLogSize, LatestCalls};
pub use writer::{CallLog, CallLogHealth, CallLogOptions};
