//! How definitions become tools.
