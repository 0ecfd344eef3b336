//! A value that cannot be printed, logged or serialized by accident; its name; and what looks like one.

pub mod looks;
mod name;

pub use name::SecretName;

use std::fmt;

/// A secret. There is no `Display`, no `Serialize`, no `Deref`; `Debug` shows a mask; reading it
/// takes a call to [`expose`](Secret::expose), which a reviewer can search for.
///
/// ```
/// let secret = toolcrib::Secret::new("hunter2");
/// assert_eq!(format!("{secret:?}"), "Secret(***)");
/// assert_eq!(secret.expose(), "hunter2");
/// ```
///
/// It cannot be serialized:
///
/// ```compile_fail
/// serde_json::to_string(&toolcrib::Secret::new("hunter2")).unwrap();
/// ```
///
/// nor displayed:
///
/// ```compile_fail
/// println!("{}", toolcrib::Secret::new("hunter2"));
/// ```
#[derive(Clone)]
pub struct Secret(String);

/// The replacement for a secret wherever one would be shown.
pub const MASK: &str = "***";

impl Secret {
    /// Wraps a secret value.
    pub fn new(value: impl Into<String>) -> Self {
        Secret(value.into())
    }

    /// The value itself, for the one place that must send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({MASK})")
    }
}

/// Compares without telling by its duration where two secrets differ.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.0.as_bytes(), other.0.as_bytes());
        a.len() == b.len()
            && a.iter()
                .zip(b)
                .fold(0, |difference, (x, y)| difference | (x ^ y))
                == 0
    }
}

impl Eq for Secret {}

impl Drop for Secret {
    fn drop(&mut self) {
        // Best effort: without `unsafe` the optimiser may drop this, and moves leave copies behind.
        // It shortens how long a secret sits in freed memory; it is not a boundary.
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        std::hint::black_box(&bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_only_the_mask_even_inside_other_types() {
        let shown = format!(
            "{:?} {:#?}",
            Some(Secret::new("SENTINEL-7f3a")),
            vec![Secret::new("SENTINEL-7f3a")]
        );
        assert!(!shown.contains("SENTINEL"), "{shown}");
    }

    #[test]
    fn equality_is_by_value() {
        assert_eq!(Secret::new("a"), Secret::new("a"));
        assert_ne!(Secret::new("a"), Secret::new("b"));
        assert_ne!(Secret::new("a"), Secret::new("ab"));
    }
}
