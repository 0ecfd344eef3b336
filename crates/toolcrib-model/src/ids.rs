//! Ids: of bundles, of tools, of calls.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::names::{NameError, Slug, Version};

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Uuid);

        impl $name {
            /// A new id, unique and in order of time.
            pub fn generate() -> Self {
                $name(Uuid::now_v7())
            }

            /// Parses the hyphenated form of a UUIDv7.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                match Uuid::try_parse(text) {
                    // Only the hyphenated form: one id, one spelling.
                    Ok(id) if is_version_7(id) && text.len() == 36 => Ok($name(id)),
                    _ => Err(NameError::NotUuidV7 { what: $what }),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    };
}

/// Whether it is of version 7 and of the variant that has versions at all.
fn is_version_7(id: Uuid) -> bool {
    id.get_version_num() == 7 && id.get_variant() == uuid::Variant::RFC4122
}

uuid_id! {
    /// The id of a bundle.
    BundleId, "a bundle id"
}

impl BundleId {
    /// The bundle `core`: the tools that are compiled in.
    pub const CORE: BundleId = BundleId(Uuid::from_u128(0x0193_0000_0000_7000_8000_0000_0000_0001));
    /// The bundle `local`: the tools in the files of a workspace.
    pub const LOCAL: BundleId =
        BundleId(Uuid::from_u128(0x0193_0000_0000_7000_8000_0000_0000_0002));
    /// The bundle `user`: the tools in the files of a user.
    pub const USER: BundleId = BundleId(Uuid::from_u128(0x0193_0000_0000_7000_8000_0000_0000_0003));
    /// The bundle `global`: the tools in the files of a machine.
    pub const GLOBAL: BundleId =
        BundleId(Uuid::from_u128(0x0193_0000_0000_7000_8000_0000_0000_0004));

    /// The bundles of Toolcrib's own and their slugs. These ids are published and never change.
    pub const OWN: [(BundleId, &'static str); 4] = [
        (BundleId::CORE, "core"),
        (BundleId::LOCAL, "local"),
        (BundleId::USER, "user"),
        (BundleId::GLOBAL, "global"),
    ];
}

impl BundleId {
    /// The id of the bundle of an upstream server: always the same for a name.
    #[doc(hidden)]
    pub fn of_upstream(name: &Slug) -> Self {
        use sha2::{Digest as _, Sha256};
        let digest = Sha256::digest(["upstream", name.as_str()].join("\0").as_bytes());
        let mut bytes = *BundleId::CORE.0.as_bytes();
        bytes[5] = 1;
        bytes[6] = 0x70 | digest[0] & 0xf;
        bytes[7] = digest[1];
        bytes[8] = 0x80 | digest[2] & 0x3f;
        bytes[9..].copy_from_slice(&digest[3..10]);
        BundleId(Uuid::from_bytes(bytes))
    }
}

uuid_id! {
    /// The id of one version of a tool.
    ToolId, "a tool id"
}

impl ToolId {
    /// The id of a tool that was given none: always the same for a bundle, slug and version. Its time is that of the bundle's id.
    #[doc(hidden)]
    pub fn derived(bundle: BundleId, slug: &Slug, version: &Version) -> Self {
        use sha2::{Digest as _, Sha256};
        let text = bundle.to_string();
        let parts = ["toolID", &text, slug.as_str(), version.as_str()];
        let digest = Sha256::digest(parts.join("\0").as_bytes());
        // 018faf50-b7b6-7xxx-8xxx-xxxxxxxxxxxx
        let mut bytes = *bundle.0.as_bytes();
        let digits = |high: usize| digest[high / 2] >> (4 * (1 - high % 2)) & 0xf;
        let pair = |high: usize| digits(high) << 4 | digits(high + 1);
        bytes[6] = 0x70 | digits(0);
        bytes[7] = pair(1);
        bytes[8] = 0x80 | digits(3);
        bytes[9] = pair(4);
        for (place, byte) in bytes[10..].iter_mut().enumerate() {
            *byte = pair(6 + 2 * place);
        }
        ToolId(Uuid::from_bytes(bytes))
    }

    /// Whether it could be the id of one of the built-in tools, which no other tool may have.
    #[doc(hidden)]
    pub fn is_built_in(self) -> bool {
        self.0.as_bytes()[..6] == BundleId::CORE.0.as_bytes()[..6]
    }
}

/// The id of a call: a UUIDv7 made here, or whatever visible text of up to 128 bytes the caller
/// chose. Two ids are the same when their texts are.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct CallId(Arc<str>);

/// Why a text is not a call id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a call id is 1 to {} visible ASCII characters", CallId::MAX_BYTES)]
pub struct CallIdError;

impl CallId {
    /// The longest call id a caller may choose.
    pub const MAX_BYTES: usize = 128;

    /// A new id. Given with a call, it has that call's outcome kept like any id that a caller gave:
    /// `CallRequest::keep_outcome`.
    pub fn generate() -> Self {
        let mut text = Uuid::encode_buffer();
        CallId(Arc::from(
            &*Uuid::now_v7().hyphenated().encode_lower(&mut text),
        ))
    }

    /// Parses an id: one chosen by a caller, or the text of one made here.
    pub fn parse(text: &str) -> Result<Self, CallIdError> {
        let visible = text.bytes().all(|b| b.is_ascii_graphic());
        if text.is_empty() || text.len() > Self::MAX_BYTES || !visible {
            return Err(CallIdError);
        }
        Ok(CallId(text.into()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for CallId {
    type Error = CallIdError;
    fn try_from(text: String) -> Result<Self, CallIdError> {
        CallId::parse(&text)
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_version_7_in_one_spelling() {
        let id = ToolId::generate();
        assert_eq!(ToolId::parse(&id.to_string()), Ok(id));
        assert!(ToolId::parse("018faf50-b7b6-7a01-9a05-a22a6e0af101").is_ok());
        for bad in [
            "",
            "x",
            "018faf50b7b67a019a05a22a6e0af101",
            "018faf50-b7b6-4a01-9a05-a22a6e0af101",
            "018faf50-b7b6-7a01-ca05-a22a6e0af101",
        ] {
            assert!(ToolId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_call_id_is_its_text() {
        let id = CallId::generate();
        assert_eq!(CallId::parse(&id.to_string()), Ok(id.clone()));
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(serde_json::from_str::<CallId>(&json).unwrap(), id);
        assert_ne!(CallId::generate(), id);
    }

    #[test]
    fn call_ids_are_visible_and_short() {
        assert!(CallId::parse("call-123").is_ok());
        for bad in ["", "a b", "a\n", "é", &"x".repeat(129)] {
            assert!(CallId::parse(bad).is_err(), "{bad:?}");
        }
    }
}
