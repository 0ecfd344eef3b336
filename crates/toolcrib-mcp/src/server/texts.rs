//! Texts that are written once for a server and sent many times: [`Texts`].

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{Capabilities, Description};
use crate::protocol::{SERVED_VERSIONS, meta};

/// How long what a server can do stays true, in milliseconds.
const DISCOVERY_TTL: u64 = 300_000;

/// Texts that do not depend on who asks.
pub(crate) struct Texts {
    /// A member of `_meta`: key, colon, value.
    pub(crate) server_info_member: Box<[u8]>,
    /// The result of `server/discover`.
    pub(crate) discovered: Bytes,
    /// The result of `initialize` but for its beginning.
    initialized: String,
}

impl Texts {
    pub(crate) fn of(description: &Description) -> Self {
        let info = json!(description.info);
        let capabilities = capabilities(description.capabilities);
        let mut discovered = json!({
            "resultType": "complete",
            "supportedVersions": SERVED_VERSIONS,
            "capabilities": capabilities,
        });
        let mut initialized = json!({"capabilities": capabilities, "serverInfo": info});
        if let Some(instructions) = &description.instructions {
            discovered["instructions"] = json!(instructions);
            initialized["instructions"] = json!(instructions);
        }
        discovered["ttlMs"] = json!(DISCOVERY_TTL);
        discovered["cacheScope"] = json!("public");
        discovered["_meta"] = json!({meta::SERVER_INFO: info});
        Texts {
            server_info_member: format!("{}:{info}", json!(meta::SERVER_INFO))
                .into_bytes()
                .into(),
            discovered: discovered.to_string().into(),
            initialized: initialized.to_string(),
        }
    }

    /// The result of `initialize`.
    pub(crate) fn initialized(&self, version: &str) -> Bytes {
        let rest = self.initialized.strip_prefix('{').unwrap_or_default();
        format!(r#"{{"protocolVersion":"{version}",{rest}"#).into()
    }
}

fn capabilities(can: Capabilities) -> Value {
    let mut all = Map::new();
    if can.tools {
        all.insert("tools".to_owned(), changing(can.tools_changed));
    }
    if can.prompts {
        all.insert("prompts".to_owned(), changing(can.prompts_changed));
    }
    if can.resources {
        let mut resources = changing(can.resources_changed);
        if can.resources_subscribe {
            resources["subscribe"] = json!(true);
        }
        all.insert("resources".to_owned(), resources);
    }
    if can.completions {
        all.insert("completions".to_owned(), json!({}));
    }
    if can.logging {
        all.insert("logging".to_owned(), json!({}));
    }
    Value::Object(all)
}

fn changing(changes: bool) -> Value {
    if changes {
        json!({"listChanged": true})
    } else {
        json!({})
    }
}

/// A result as [`Reply::Complete`](super::Reply::Complete) wants it: an object whose `_meta`, if it has one, comes first.
pub(crate) fn result_body(result: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let text = serde_json::to_string(result)?;
    if !text.starts_with('{') {
        return Err(serde::ser::Error::custom("a result is an object"));
    }
    if text.starts_with(r#"{"_meta":"#) || !text.contains(r#""_meta":"#) {
        return Ok(text.into_bytes());
    }
    let members: Members<'_> = serde_json::from_str(&text)?;
    let Some(meta) = members.meta else {
        return Ok(text.into_bytes());
    };
    let mut body = format!(r#"{{"_meta":{}"#, meta.get()).into_bytes();
    for (name, value) in members.others {
        body.push(b',');
        serde_json::to_writer(&mut body, &name)?;
        body.push(b':');
        body.extend_from_slice(value.get().as_bytes());
    }
    body.push(b'}');
    Ok(body)
}

/// The members of an object in their order, `_meta` apart.
struct Members<'a> {
    meta: Option<&'a RawValue>,
    others: Vec<(String, &'a RawValue)>,
}

impl<'de> serde::Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Members<'de>, A::Error> {
                let mut members = Members {
                    meta: None,
                    others: Vec::new(),
                };
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    if name == "_meta" {
                        members.meta = Some(value);
                    } else {
                        members.others.push((name, value));
                    }
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}
