//! Prompts and resources of servers: [`Material`], kept beside the pins, and the names by which they are known here.
//!
//! Lists are made of what a server had last, so that no one waits for a server to see them. A prompt is called `SERVER_prompt`, a resource
//! `mcp+SERVER:` and its own URI: a name of a server has no `_`, and is a scheme of URIs, so both are read back without doubt.
//!
//! They are not tools: no rule judges them. So only resources that were listed can be read, unless calls of the server's tools run
//! without asking; and nothing is passed on of a server whose calls are denied.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolcrib_mcp::client::Material as Listed;

use super::settings::UpstreamSettings;
use crate::model::JsonObject;
use crate::model::effects::Verdict;
use crate::model::names::Slug;
use crate::secret::Masker;

/// What a server has besides tools, as it describes it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Material {
    /// Its prompts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<JsonObject>,
    /// Its resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<JsonObject>,
    /// Its templates of resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<JsonObject>,
}

impl Material {
    /// What a server listed, without secrets. What has one in its name is left out, since it could not be asked for by another.
    pub(super) fn of(listed: Listed, masker: &Masker) -> Self {
        let clean = |entries: Vec<Map<String, Value>>, key: &str| -> Vec<JsonObject> {
            let named = entries
                .into_iter()
                .filter(|entry| text_of(entry, key).is_some_and(|name| !masker.finds(name)));
            named
                .map(|mut entry| {
                    entry.remove("_meta");
                    entry.remove("icons");
                    masker.mask_object(&mut entry);
                    entry
                })
                .collect()
        };
        Material {
            prompts: clean(listed.prompts, "name"),
            resources: clean(listed.resources, "uri"),
            templates: clean(listed.templates, "uriTemplate"),
        }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        *self == Material::default()
    }

    /// The same by the names of here.
    pub(crate) fn named(mut self, server: &Slug) -> Self {
        let rename = |entries: &mut Vec<JsonObject>, key: &str, name: fn(&Slug, &str) -> String| {
            for entry in entries {
                if let Some(Value::String(own)) = entry.get_mut(key) {
                    *own = name(server, own);
                }
            }
        };
        rename(&mut self.prompts, "name", prompt_name);
        rename(&mut self.resources, "uri", resource_uri);
        rename(&mut self.templates, "uriTemplate", resource_uri);
        self
    }

    /// Whether this resource was listed.
    pub(crate) fn has_resource(&self, uri: &str) -> bool {
        let mut listed = self.resources.iter();
        listed.any(|resource| text_of(resource, "uri") == Some(uri))
    }

    /// Whether this prompt was listed.
    pub(crate) fn has_prompt(&self, name: &str) -> bool {
        let mut listed = self.prompts.iter();
        listed.any(|prompt| text_of(prompt, "name") == Some(name))
    }
}

fn text_of<'e>(entry: &'e JsonObject, key: &str) -> Option<&'e str> {
    entry.get(key).and_then(Value::as_str)
}

/// Whether anything but tools is passed on of a server.
pub(crate) fn is_passed_on(settings: &UpstreamSettings) -> bool {
    settings.enabled && settings.approval != Verdict::Deny
}

fn prompt_name(server: &Slug, own: &str) -> String {
    format!("{server}_{own}")
}

/// The URI of a resource here.
pub(crate) fn resource_uri(server: &Slug, own: &str) -> String {
    format!("mcp+{server}:{own}")
}

/// The server and the name there of a prompt.
pub(crate) fn own_prompt(name: &str) -> Option<(&str, &str)> {
    name.split_once('_')
}

/// The server and the URI there of a resource.
pub(crate) fn own_resource(uri: &str) -> Option<(&str, &str)> {
    uri.strip_prefix("mcp+")?.split_once(':')
}

/// Writes the URIs of a result as they are here.
pub(super) fn rename_contents(server: &Slug, result: &mut JsonObject) {
    let contents = result.get_mut("contents").and_then(Value::as_array_mut);
    for content in contents.into_iter().flatten() {
        if let Some(Value::String(uri)) = content.get_mut("uri") {
            *uri = resource_uri(server, uri);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_without_doubt() {
        let server = Slug::parse("my-notes").unwrap();
        let prompt = prompt_name(&server, "sum_up");
        assert_eq!(own_prompt(&prompt), Some(("my-notes", "sum_up")));
        let uri = resource_uri(&server, "file:///a_b:c");
        assert_eq!(uri, "mcp+my-notes:file:///a_b:c");
        assert_eq!(own_resource(&uri), Some(("my-notes", "file:///a_b:c")));
        assert_eq!(own_resource("file:///x"), None);
    }
}
