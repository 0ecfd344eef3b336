//! Runs a command behind a wall the kernel enforces, and leaves no process behind.
