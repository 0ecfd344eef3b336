//! On other systems than Linux a boot is as long as this process: approvals end with it, too soon rather than too late.

use std::sync::OnceLock;
use std::time::Instant;

/// Milliseconds since the clock was first read.
pub(super) fn since_boot() -> u64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    super::millis(BEGAN.get_or_init(Instant::now).elapsed())
}

/// A name for this process.
pub(super) fn boot_id() -> &'static str {
    static ID: OnceLock<String> = OnceLock::new();
    ID.get_or_init(|| uuid::Uuid::now_v7().to_string())
}
