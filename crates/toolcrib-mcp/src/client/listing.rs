//! All tools of a server, page by page. An odd entry is left out alone, with a reason.
//!
//! Definitions are kept as they came, schemas included; nothing in them is resolved or fetched.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::error::ClientError;
use super::mirror;
use super::request_table::{Ask, GivingUp, Talk, Wait, Wire, cut};
use super::server_message::{ListedTool, Listing};
use crate::weight;

/// The most pages, and how long they may be together.
const MAX_PAGES: usize = 1000;
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The most memory that the values of one definition take: a schema of 20,000 values, the most that can be used, takes less.
const MAX_DEFINITION: usize = 8 * 1024 * 1024;
/// The most tools that are left out with a reason; more are left out without.
const MAX_REJECTED: usize = 1000;
/// The longest name of a tool, and its longest description.
const MAX_NAME: usize = 256;
const MAX_DESCRIPTION: usize = 64 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    /// Each by itself, so that one that cannot be read spoils nothing but itself.
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    next_cursor: Option<String>,
}

pub(super) async fn list(talk: &Arc<Talk>) -> Result<Listing, ClientError> {
    let limit = talk.options.connect_timeout;
    let listed = tokio::time::timeout(limit, Box::pin(pages(talk)));
    listed.await.unwrap_or(Err(ClientError::TimedOut(limit)))
}

async fn pages(talk: &Arc<Talk>) -> Result<Listing, ClientError> {
    let mut taken = Taken::new(talk);
    let mut cursors = HashSet::new();
    let mut cursor: Option<String> = None;
    let mut bytes = 0;
    for _ in 0..MAX_PAGES {
        let mut params = Map::new();
        if let Some(cursor) = &cursor {
            params.insert("cursor".to_owned(), json!(cursor));
        }
        let wait = Wait::within(talk.options.connect_timeout, GivingUp::Told);
        let ask = Ask::new("tools/list", talk.with_meta(params), wait);
        let result = talk.ask(ask).await?;
        bytes += result.get().len();
        if bytes > MAX_BYTES {
            return Err(ClientError::protocol(format!(
                "its tools take more than {MAX_BYTES} bytes"
            )));
        }
        let page: Page<'_> = serde_json::from_str(result.get()).map_err(|error| {
            ClientError::protocol(format!("its list of tools has the wrong shape: {error}"))
        })?;
        for tool in page.tools {
            taken.take(tool);
        }
        match page.next_cursor {
            Some(_) if taken.is_full() => return Ok(taken.listing(talk)),
            None => return Ok(taken.listing(talk)),
            Some(next) => {
                if !cursors.insert(next.clone()) {
                    return Err(ClientError::protocol(
                        "its list of tools goes round in circles",
                    ));
                }
                cursor = Some(next);
            }
        }
    }
    Err(ClientError::protocol(format!(
        "its list of tools has more than {MAX_PAGES} pages"
    )))
}

struct Taken {
    listing: Listing,
    names: HashSet<String>,
    most: usize,
    overflowed: bool,
    /// What the values of all definitions that were read take.
    weight: usize,
    /// Whether parameters may have to travel in headers, so that what a tool says of that must be right.
    has_headers: bool,
}

impl Taken {
    fn new(talk: &Talk) -> Self {
        Taken {
            listing: Listing::default(),
            names: HashSet::new(),
            most: talk.options.max_tools,
            overflowed: false,
            weight: 0,
            has_headers: matches!(talk.wire, Wire::Http(_)) && talk.era().is_modern(),
        }
    }

    fn is_full(&self) -> bool {
        self.listing.tools.len() >= self.most
    }

    fn take(&mut self, raw: &RawValue) {
        match self.check(raw) {
            Ok(_) if self.is_full() => {
                if !self.overflowed {
                    self.overflowed = true;
                    let why = format!("the server has more than {} tools", self.most);
                    self.listing.rejected.push((String::new(), why));
                }
            }
            Ok(tool) => {
                self.names.insert(tool.name.clone());
                self.listing.tools.push(tool);
            }
            Err((name, why)) => {
                if self.listing.rejected.len() < MAX_REJECTED {
                    self.listing.rejected.push((cut(name, MAX_NAME), why));
                }
            }
        }
    }

    fn check(&mut self, raw: &RawValue) -> Result<ListedTool, (String, String)> {
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let left_out = |why: String| {
            let named = serde_json::from_str::<Named>(raw.get());
            (named.map(|named| named.name).unwrap_or_default(), why)
        };
        let weight = weight::weight(raw.get());
        if weight > MAX_DEFINITION {
            return Err(left_out(
                "its definition would take more than 8 MB of memory".to_owned(),
            ));
        }
        if self.weight + weight > weight::MAX_MESSAGE {
            return Err(left_out(
                "the definitions of the server take 64 MB of memory without it".to_owned(),
            ));
        }
        self.weight += weight;
        let definition: Map<String, Value> = serde_json::from_str(raw.get())
            .map_err(|error| left_out(format!("its definition cannot be read: {error}")))?;
        let Some(Value::String(name)) = definition.get("name") else {
            return Err((String::new(), "it has no name".to_owned()));
        };
        let name = name.clone();
        match self.problem(&name, &definition) {
            Some(why) => Err((name, why)),
            None => Ok(ListedTool { name, definition }),
        }
    }

    fn problem(&self, name: &str, definition: &Map<String, Value>) -> Option<String> {
        if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
            return Some(format!(
                "its name must have 1 to {MAX_NAME} bytes and no control characters"
            ));
        }
        if self.names.contains(name) {
            return Some("another tool has the same name".to_owned());
        }
        match definition.get("description") {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if text.len() <= MAX_DESCRIPTION => {}
            Some(Value::String(text)) => {
                return Some(format!(
                    "its description has {} bytes; {MAX_DESCRIPTION} is the most",
                    text.len()
                ));
            }
            Some(_) => return Some("its description is not a text".to_owned()),
        }
        if !definition.get("inputSchema").is_some_and(Value::is_object) {
            return Some("its `inputSchema` is not an object".to_owned());
        }
        if definition
            .get("outputSchema")
            .is_some_and(|schema| !schema.is_object() && !schema.is_null())
        {
            return Some("its `outputSchema` is not an object".to_owned());
        }
        match self.has_headers {
            true => mirror::mirrored(definition).err(),
            false => None,
        }
    }

    fn listing(self, talk: &Talk) -> Listing {
        talk.remember(&self.listing.tools);
        self.listing
    }
}
