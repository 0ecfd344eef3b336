//! Secrets: where they are saved ([`SecretStore`]), where they may be sent ([`Binding`]), and how they stay out of everything else
//! ([`Masker`]).
//!
//! [`SecretStore::reveal`] is the only way to a value. Masking is for accidents: it finds a value as it is and in the forms that
//! programs commonly give it. It is not a boundary: a tool that turns a value around, or encrypts it, is not caught.

mod binding;
mod error;
#[cfg(test)]
mod event_tests;
mod excerpt;
mod file;
mod reading;
mod store;

pub use binding::{Asker, Binding};
pub use error::SecretError;
pub(crate) use excerpt::excerpt;
pub use reading::SecretProblem;
pub use store::{SecretEntry, SecretStore};

pub use crate::model::mask::{MaskStream, Masker, REDACTED};
pub use crate::model::secret::{SecretName, looks};
