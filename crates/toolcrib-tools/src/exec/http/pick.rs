//! One value of a JSON text, without making the others: [`pick`].
//!
//! Most answers are read for one value in them. The whole text is still read to its end, so that invalid JSON is an error; but unwanted
//! parts become no value.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::jsonpath::JsonStep;

/// The value that a way leads to, if there is one. Of members with one name the last counts, as everywhere.
pub(super) fn pick(text: &str, way: &[JsonStep<'_>]) -> Result<Option<Value>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let found = Picked(way).deserialize(&mut reader)?;
    reader.end()?;
    Ok(found)
}

/// The rest of the path.
#[derive(Clone, Copy)]
struct Picked<'a>(&'a [JsonStep<'a>]);

impl<'de> DeserializeSeed<'de> for Picked<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            [] => serde::Deserialize::deserialize(reader).map(Some),
            _ => reader.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Picked<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        let (wanted, rest) = match self.0 {
            [JsonStep::Name(name), rest @ ..] => (Some(*name), rest),
            _ => (None, [].as_slice()),
        };
        while let Some(is_wanted) = members.next_key_seed(Key(wanted))? {
            match is_wanted {
                true => found = members.next_value_seed(Picked(rest))?,
                false => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        if let [JsonStep::Index(index), rest @ ..] = self.0 {
            for _ in 0..*index {
                if elements.next_element::<IgnoredAny>()?.is_none() {
                    return Ok(None);
                }
            }
            match elements.next_element_seed(Picked(rest))? {
                Some(element) => found = element,
                None => return Ok(None),
            }
        }
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Whether a member's name is the wanted one.
struct Key<'a>(Option<&'a str>);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(self.0 == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonpath::JsonPath;

    #[test]
    fn what_is_picked_is_what_the_query_selects() {
        let text = r#" {"a": [1, {"b": null, "c": "x\u00e9"}, [[2]]], "b": {"a": {"": 3}}, "a2": 1e3, "d": 1, "d": {"e": 2}} "#;
        let whole: Value = serde_json::from_str(text).unwrap();
        for path in [
            "$",
            "$.a",
            "$.a[0]",
            "$.a[1]",
            "$.a[1].b",
            "$.a[1].c",
            "$.a[1].d",
            "$.a[1].c.d",
            "$.a[1][0]",
            "$.a[2][0][0]",
            "$.a[3]",
            "$.a.b",
            "$.b.a['']",
            "$.b[0]",
            "$.a2",
            "$.a2.x",
            "$.d.e",
            "$.x",
        ] {
            let path = JsonPath::parse(path).unwrap();
            let picked = pick(text, &path.way().unwrap()).unwrap();
            assert_eq!(
                Vec::from_iter(&picked),
                path.query(&whole).unwrap(),
                "{path}"
            );
        }
    }

    #[test]
    fn several_values_cannot_be_a_way() {
        for path in ["$.*", "$..a", "$[-1]", "$['a','b']", "$[0:2]", "$[?@.a]"] {
            assert_eq!(JsonPath::parse(path).unwrap().way(), None, "{path}");
        }
    }

    #[test]
    fn input_that_is_not_json_is_none_wherever_the_fault_is() {
        for text in [
            "",
            "{",
            "{\"a\": 1,}",
            "{\"a\": 1} x",
            "[1 2]",
            "{\"b\": [tru], \"a\": 1}",
            "{\"a\": 1, \"b\": \"\n\"}",
        ] {
            let path = JsonPath::parse("$.a").unwrap();
            assert!(pick(text, &path.way().unwrap()).is_err(), "{text}");
        }
    }
}
