//! Secrets: where they are kept ([`SecretStore`]), whom they may be told ([`Binding`]), and how they stay out of everything else
//! ([`Masker`]).

mod mask;
mod store;

pub use mask::{MaskStream, Masker};
pub use store::{Binding, SecretEntry, SecretError, SecretName, SecretStore};
