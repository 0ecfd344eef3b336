//! (being written)
/// placeholder
#[derive(Debug)] pub struct Workspace;
