//! Doubles for testing what reaches the network, and the built-ins for tests.

mod network;
mod server;

pub use toolcrib_core::testing::*;

use crate::builtin::RegisterBuiltins as _;

pub use network::{NameTable, RecordingDialler};
pub use server::{Received, Reply, ScriptedServer};

/// What `web_fetch` makes of a page.
pub fn page_as_markdown(html: &str) -> String {
    crate::builtin::page_as_markdown(html)
}

/// Whether `search_code` takes a regular expression.
pub fn searches_for(expression: &str) -> bool {
    crate::builtin::searches_for(expression)
}

/// The built-in tools in a [`TestCrib`].
pub trait WithBuiltins {
    /// Adds the built-in tools.
    ///
    /// # Panics
    ///
    /// When they are there already.
    #[must_use]
    fn builtins(self) -> Self;
}

impl WithBuiltins for TestCrib {
    fn builtins(self) -> Self {
        self.registry()
            .register_builtins()
            .expect("no built-in is registered yet");
        self
    }
}
