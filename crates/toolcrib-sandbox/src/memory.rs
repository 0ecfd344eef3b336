//! Memory that the process has freed, given back to the system.

/// Gives freed memory back. The C library keeps it otherwise, for the thread that had it. Takes some milliseconds, more after much was in use.
pub fn give_back_memory() {
    // SAFETY: it takes no pointers, and locks each arena that it looks at.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}
