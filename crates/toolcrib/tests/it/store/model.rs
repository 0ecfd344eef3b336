//! A model in memory.
