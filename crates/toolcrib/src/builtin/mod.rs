//! The compiled-in tools, one file each.
