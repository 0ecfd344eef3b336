//! How a person or a program points at a tool: [`ToolRef`] and the grammar it accepts.

use std::fmt;
use std::str::FromStr;

use super::ids::{BundleId, ToolId};
use super::names::{NameError, Slug, Version, WireName};

/// A reference to a tool, in any of the spellings accepted everywhere.
///
/// ```
/// use toolcrib::ToolRef;
/// for text in ["read_file", "+read-file", "core/read-file", "core/read-file@v1",
///              "018faf50-b7b6-7a01-9a05-a22a6e0af101"] {
///     assert_eq!(text.parse::<ToolRef>().unwrap().to_string(), text);
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ToolRef {
    /// `read_file`: a wire name, one of its aliases, or a slug without bundle.
    Name(WireName),
    /// `+read-file`, or a bare slug that no wire name can spell.
    Slug(Slug),
    /// `bundle/slug` or `bundle/slug@version`.
    InBundle {
        /// The bundle.
        bundle: BundleRef,
        /// The tool in it.
        slug: Slug,
        /// Its version; the newest when absent.
        version: Option<Version>,
    },
    /// The id of one version of a tool.
    Id(ToolId),
}

/// A bundle, by slug or by id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum BundleRef {
    /// By slug.
    Slug(Slug),
    /// By id.
    Id(BundleId),
}

/// Why a text is not a tool reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolRefError {
    /// Nothing at all.
    #[error(
        "a tool reference is empty; write `name`, `+slug`, `bundle/slug`, `bundle/slug@version` or an id"
    )]
    Empty,
    /// More than one slash.
    #[error("a tool reference has at most one `/`: `bundle/slug` or `bundle/slug@version`")]
    TooManyParts,
    /// `name@version`, which leaves open which bundle is meant.
    #[error("a version needs its bundle: write `bundle/slug@version`")]
    VersionWithoutBundle,
    /// One of its parts is not a name.
    #[error(transparent)]
    Part(#[from] NameError),
}

impl FromStr for ToolRef {
    type Err = ToolRefError;

    fn from_str(text: &str) -> Result<Self, ToolRefError> {
        if text.is_empty() {
            return Err(ToolRefError::Empty);
        }
        if let Ok(id) = ToolId::parse(text) {
            return Ok(ToolRef::Id(id));
        }
        if let Some(slug) = text.strip_prefix('+') {
            return Ok(ToolRef::Slug(Slug::parse(slug)?));
        }
        if let Some((bundle, rest)) = text.split_once('/') {
            if rest.contains('/') {
                return Err(ToolRefError::TooManyParts);
            }
            let (slug, version) = match rest.split_once('@') {
                Some((slug, version)) => (slug, Some(Version::parse(version)?)),
                None => (rest, None),
            };
            let bundle = match BundleId::parse(bundle) {
                Ok(id) => BundleRef::Id(id),
                Err(_) => BundleRef::Slug(Slug::parse(bundle)?),
            };
            return Ok(ToolRef::InBundle {
                bundle,
                slug: Slug::parse(slug)?,
                version,
            });
        }
        if text.contains('@') {
            return Err(ToolRefError::VersionWithoutBundle);
        }
        match WireName::parse(text) {
            Ok(name) => Ok(ToolRef::Name(name)),
            // `天気` is a fine thing to type although no model can be given it.
            Err(_) => Ok(ToolRef::Slug(Slug::parse(text)?)),
        }
    }
}

impl fmt::Display for ToolRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolRef::Name(name) => name.fmt(f),
            ToolRef::Slug(slug) => write!(f, "+{slug}"),
            ToolRef::InBundle {
                bundle,
                slug,
                version,
            } => {
                match bundle {
                    BundleRef::Slug(bundle) => write!(f, "{bundle}/{slug}")?,
                    BundleRef::Id(bundle) => write!(f, "{bundle}/{slug}")?,
                }
                match version {
                    Some(version) => write!(f, "@{version}"),
                    None => Ok(()),
                }
            }
            ToolRef::Id(id) => id.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_reference_says_why() {
        let message = |text: &str| text.parse::<ToolRef>().unwrap_err().to_string();
        assert!(message("").contains("empty"));
        assert!(message("a/b/c").contains("at most one"));
        assert!(message("weather@v2").contains("needs its bundle"));
        assert!(message("core/read_file").contains("U+005F"));
        assert!(message("core/a@..").contains("reserved"));
        assert!(message("a b").contains("U+0020"));
    }

    #[test]
    fn a_dash_first_is_a_name_like_any_other() {
        assert_eq!(
            "-rf".parse::<ToolRef>().unwrap(),
            ToolRef::Name(WireName::parse("-rf").unwrap())
        );
    }
}
