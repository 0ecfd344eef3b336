//! What is said about requests and calls: the access log, metrics, traces.

/// Sees every request. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct Observer {}
