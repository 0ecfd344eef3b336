//! The protected names, for systems where workspaces cannot be looked into yet.

mod fold;
mod table;

pub use fold::{is_protected_name, is_repository_name};
pub use table::{NAMES as PROTECTED_NAMES, ProtectedName};
