//! Reads what lists need of a tool's file, and steps over the rest.
//!
//! Skipped parts are still checked: a file is read here if and only if [`ToolManifest`](crate::spec::manifest::ToolManifest)
//! can be read from it. Only no tree of it is built, which is what makes thousands of tools open quickly.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};

use serde_json::value::RawValue;

use super::record::ToolHead;
use crate::model::ids::{BundleId, ToolId};
use crate::model::names::{Slug, Version};
use crate::model::text;
use crate::spec::manifest::{
    MAX_UNKNOWN_FIELDS, ManifestLimits, any_value, too_many_unknown_fields,
};

/// What a file says about itself.
pub(super) struct Named {
    pub(super) bundle: BundleId,
    pub(super) slug: Slug,
    pub(super) version: Version,
    pub(super) head: ToolHead,
}

pub(super) fn read(bytes: &[u8]) -> Result<Named, serde_json::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => serde_json::from_str(text),
        // For the place and the words.
        Err(_) => match serde_json::from_slice::<crate::spec::manifest::ToolManifest>(bytes) {
            Err(error) => Err(error),
            Ok(_) => Err(serde_json::Error::custom("it is not UTF-8")),
        },
    }
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeadVisitor)
    }
}

struct HeadVisitor;

impl<'de> Visitor<'de> for HeadVisitor {
    type Value = Named;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tool definition: a JSON object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Named, M::Error> {
        macro_rules! fields {
            ($others:ident; $($local:ident $key:literal;)*) => {
                $(let mut $local = None;)*
                let mut $others: HashSet<Cow<'de, str>> = HashSet::new();
                while let Some(Text(key)) = map.next_key::<Text<'de>>()? {
                    match &*key {
                        $($key if $local.is_some() => return Err(M::Error::duplicate_field($key)),
                          $key => $local = Some(map.next_value()?),)*
                        _ if $others.contains(&key) => {
                            let key = text::shorten(&key, 64);
                            return Err(M::Error::custom(format!("duplicate field `{key}`")));
                        }
                        _ if $others.len() >= MAX_UNKNOWN_FIELDS => {
                            return Err(M::Error::custom(too_many_unknown_fields()));
                        }
                        _ => {
                            $others.insert(key);
                            let value: &RawValue = map.next_value()?;
                            if serde_json::from_str::<Skipped>(value.get()).is_err() {
                                any_value(value.get()).map_err(M::Error::custom)?;
                            }
                        }
                    }
                }
            };
        }
        fields! {
            others;
            schema_version "schemaVersion"; bundle_id "bundleID"; tool_id "toolID"; slug "slug";
            version "version"; name "name"; display_name "displayName"; description "description";
            kind "type"; is_enabled "isEnabled"; is_built_in "isBuiltIn"; arg_schema "argSchema";
            output_schema "outputSchema"; implementation "impl"; tags "tags"; limits "limits";
            created_at "createdAt"; modified_at "modifiedAt";
        }
        let _: (Option<Text<'de>>, Option<bool>) = (schema_version, is_built_in);
        let _: [Option<Skipped>; 3] = [arg_schema, output_schema, implementation];
        let _: Option<ManifestLimits> = limits;
        let missing = M::Error::missing_field;
        let bundle = bundle_id.ok_or_else(|| missing("bundleID"))?;
        let slug = slug.ok_or_else(|| missing("slug"))?;
        let version = version.ok_or_else(|| missing("version"))?;
        let tool_id = tool_id.unwrap_or_else(|| ToolId::derived(bundle, &slug, &version));
        Ok(Named {
            head: ToolHead {
                tool_id,
                name,
                display_name: display_name.unwrap_or_default(),
                description: description.unwrap_or_default(),
                kind: kind.ok_or_else(|| missing("type"))?,
                is_enabled: is_enabled.unwrap_or(true),
                tags: tags.unwrap_or_default(),
                created_at: created_at.ok_or_else(|| missing("createdAt"))?,
                modified_at: modified_at.ok_or_else(|| missing("modifiedAt"))?,
            },
            bundle,
            slug,
            version,
        })
    }
}

/// A text that is not copied where it need not be.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// Any value, checked and forgotten. Not serde's `IgnoredAny`: that lets pass what a reader of the whole value refuses, such as a depth
/// of a thousand, half a surrogate pair or the number 1e999.
struct Skipped;

impl<'de> Deserialize<'de> for Skipped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Skipped)
    }
}

impl<'de> DeserializeSeed<'de> for Skipped {
    type Value = Skipped;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Skipped, D::Error> {
        deserializer.deserialize_any(Skipped)
    }
}

impl<'de> Visitor<'de> for Skipped {
    type Value = Skipped;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }
    fn visit_bool<E>(self, _: bool) -> Result<Skipped, E> {
        Ok(Skipped)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Skipped, E> {
        Ok(Skipped)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Skipped, E> {
        Ok(Skipped)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Skipped, E> {
        Ok(Skipped)
    }
    fn visit_str<E>(self, _: &str) -> Result<Skipped, E> {
        Ok(Skipped)
    }
    fn visit_unit<E>(self) -> Result<Skipped, E> {
        Ok(Skipped)
    }
    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Skipped, S::Error> {
        while seq.next_element::<Skipped>()?.is_some() {}
        Ok(Skipped)
    }
    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Skipped, M::Error> {
        while map.next_entry::<Skipped, Skipped>()?.is_some() {}
        Ok(Skipped)
    }
}
