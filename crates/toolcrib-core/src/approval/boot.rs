//! Which boot this is, and how long it has lasted: what the clock of approvals reads on Linux.

use std::sync::OnceLock;

use rustix::time::{ClockId, clock_gettime};

pub(super) fn since_boot() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(now.tv_nsec).unwrap_or_default();
    seconds
        .saturating_mul(1000)
        .saturating_add(nanos / 1_000_000)
}

/// The kernel's name for this boot.
pub(super) fn boot_id() -> &'static str {
    static ID: OnceLock<String> = OnceLock::new();
    ID.get_or_init(|| {
        let read = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        let id = read.map(|text| text.trim().to_owned()).unwrap_or_default();
        if id.is_empty() {
            // Where the kernel does not say, a boot is as long as this process: too much expires, never too little.
            uuid::Uuid::now_v7().to_string()
        } else {
            id
        }
    })
}
