//! The list of tools as MCP wants it: [`Catalogue`], made once for each state of the crib.
//!
//! Tools stand by name, whatever bundle they are of: the order of one list is that of every other, and a tool that comes or goes moves
//! no one else. A tool that is off, cannot run or shares its name is not listed; a tool that MCP cannot express is left out alone, with
//! a reason. Pages are written once and kept as bytes, so that to answer is to hand them on.
//!
//! Where all of them together would cost a model more than `mcp.tokenBudget`, the list has the pinned ones and those that find and call
//! the others. All of them can still be called by name.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use toolcrib::Crib;
use toolcrib::crib::Discovery;
use toolcrib::registry::{Availability, Entry, Source};
use toolcrib::results::READ_RESULT;
use toolcrib::wire::{Dropped, Hints, McpTool, mcp_tool};
use toolcrib_mcp::protocol::Implementation;
use toolcrib_mcp::rpc::RpcError;
use toolcrib_mcp::server::{CacheScope, Caching, Capabilities, Description, Reply};

use super::{CribHost, HostOptions, cursor, icons};

/// How long a list may be taken for true: changes are looked for as often as this. It belongs to the holder of the token only.
const CACHING: Caching = Caching {
    ttl_ms: 1000,
    scope: CacheScope::Private,
};

/// Up to how many tools are made to learn whether they can run. Of more, those are listed of which nothing else is known: a call says so.
const MAX_MADE: usize = 1000;
/// Up to how many tools have pictures: they would be a third of a long list.
const MAX_PICTURES: usize = 200;
/// A page ends here, however few tools it has: clients have limits, too.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// What the server says of itself.
pub(super) fn description() -> Description {
    // Said once for the whole life of a server, while tools come and go: so nothing here depends on how many there are.
    let instructions = "Calls that need a person's approval wait for it: the person is asked through this client if it offers that, \
        otherwise with `toolcrib approvals`. A result that says a call waits names it; the same call made again picks it up. Files are \
        those of one workspace, and paths are relative to it. Where find_tools is listed there may be more tools than those listed: it finds \
        them by words, and says for each which tool calls it."
        .to_owned();
    Description {
        info: Implementation {
            name: "toolcrib".to_owned(),
            title: Some("Toolcrib".to_owned()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            description: Some("Tools with rules, approvals and a sandbox".to_owned()),
            ..Implementation::default()
        },
        capabilities: Capabilities {
            tools: true,
            tools_changed: true,
            prompts: true,
            prompts_changed: true,
            resources: true,
            resources_changed: true,
            ..Capabilities::default()
        },
        instructions: Some(instructions),
    }
}

/// Answers `tools/list`.
pub(super) fn list(host: &CribHost, cursor: Option<String>) -> Result<Reply, RpcError> {
    let catalogue = host.catalogue();
    let body = match cursor {
        None => catalogue.page_from(0),
        Some(cursor) => catalogue.page_after(&cursor::read(&cursor)?),
    };
    Ok(Reply::complete(body).cached(CACHING))
}

/// The tools of one state of the crib.
pub(super) struct Catalogue {
    /// The state it was made of, or one before.
    pub(super) state: u64,
    /// Tools that are not listed although they could be called, and why.
    pub(super) left_out: Vec<Dropped>,
    /// The most tools of a page.
    page_size: usize,
    /// By name.
    tools: Vec<Listed>,
    pages: Vec<Page>,
}

/// Where a tool is written.
struct Listed {
    name: Box<str>,
    page: usize,
    /// In the page's body.
    begin: usize,
    end: usize,
}

struct Page {
    /// The number of its first tool.
    first: usize,
    body: Bytes,
}

impl Catalogue {
    /// Writes the list of what a crib has now.
    pub(super) fn of(crib: &Crib, options: &HostOptions) -> Self {
        let settings = crib.config().mcp();
        // Before the tools are looked at, so that no change is missed.
        let state = crib.registry().state();
        let offered = offered(crib, options);
        let mut left_out = Vec::new();
        let all = Written::all(&offered, settings.token_budget, &mut left_out);
        let tools = all
            .or_else(|| switched_over(crib, &offered, &settings.pinned, &mut left_out))
            .or_else(|| Written::all(&offered, None, &mut left_out))
            .unwrap_or_default();
        left_out.sort_by(|one, other| one.tool.cmp(&other.tool));
        left_out.dedup();
        Catalogue::written(state, settings.page_size, left_out, tools)
    }

    fn written(
        state: u64,
        page_size: usize,
        left_out: Vec<Dropped>,
        mut written: Vec<Written>,
    ) -> Self {
        written.sort_by(|one, other| one.name.cmp(&other.name));
        let has_pictures = written.len() <= MAX_PICTURES;
        let (mut tools, mut pages) = (Vec::with_capacity(written.len()), Vec::new());
        let (mut first, mut body) = (0, begin());
        for (number, tool) in written.into_iter().enumerate() {
            let is_full = number - first >= page_size || body.len() >= MAX_PAGE_BYTES;
            if is_full && number > first {
                let last: &Listed = &tools[number - 1];
                let body = std::mem::replace(&mut body, begin());
                pages.push(Page {
                    first,
                    body: end(body, Some(&last.name)),
                });
                first = number;
            }
            if number > first {
                body.push(b',');
            }
            let begin = body.len();
            tool.write(&mut body, has_pictures);
            tools.push(Listed {
                name: tool.name,
                page: pages.len(),
                begin,
                end: body.len(),
            });
        }
        pages.push(Page {
            first,
            body: end(body, None),
        });
        Catalogue {
            state,
            left_out,
            page_size,
            tools,
            pages,
        }
    }

    /// Whether another one lists the same.
    pub(super) fn is_like(&self, other: &Catalogue) -> bool {
        let bodies = |catalogue: &Catalogue| -> Vec<Bytes> {
            catalogue
                .pages
                .iter()
                .map(|page| page.body.clone())
                .collect()
        };
        bodies(self) == bodies(other)
    }

    fn page_after(&self, name: &str) -> Bytes {
        let next = self.tools.partition_point(|tool| &*tool.name <= name);
        self.page_from(next)
    }

    /// The page that begins with a tool.
    fn page_from(&self, number: usize) -> Bytes {
        if let Some(page) = self.pages.iter().find(|page| page.first == number) {
            return page.body.clone();
        }
        // Tools came or went since the page before was given: put together from those that are written.
        let mut body = begin();
        let mut last = None;
        for (count, tool) in self.tools.iter().skip(number).enumerate() {
            if count >= self.page_size || body.len() >= MAX_PAGE_BYTES {
                return end(body, last);
            }
            if count > 0 {
                body.push(b',');
            }
            let Some(page) = self.pages.get(tool.page) else {
                continue;
            };
            body.extend_from_slice(&page.body[tool.begin..tool.end]);
            last = Some(&*tool.name);
        }
        end(body, None)
    }
}

fn begin() -> Vec<u8> {
    b"{\"tools\":[".to_vec()
}

fn end(mut body: Vec<u8>, last: Option<&str>) -> Bytes {
    body.push(b']');
    if let Some(last) = last {
        // Letters, digits, `-` and `_` only.
        body.extend_from_slice(b",\"nextCursor\":\"");
        body.extend_from_slice(cursor::after(last).as_bytes());
        body.push(b'"');
    }
    body.push(b'}');
    body.into()
}

/// A tool, ready for the list.
struct Written {
    name: Box<str>,
    tool: McpTool,
    entry: Arc<Entry>,
}

impl Written {
    /// Writes tools, unless they cost more than the budget. What cannot be expressed is left out.
    fn all(
        entries: &[Arc<Entry>],
        budget: Option<u64>,
        left_out: &mut Vec<Dropped>,
    ) -> Option<Vec<Written>> {
        let mut all = Vec::with_capacity(entries.len());
        let mut tokens = 0_u64;
        for entry in entries {
            if let Some(written) = Written::of(entry, None, left_out) {
                tokens = tokens.saturating_add(written.tool.tokens);
                if budget.is_some_and(|budget| tokens > budget) {
                    return None;
                }
                all.push(written);
            }
        }
        Some(all)
    }

    fn of(
        entry: &Arc<Entry>,
        description: Option<&str>,
        left_out: &mut Vec<Dropped>,
    ) -> Option<Written> {
        match mcp_tool(entry.spec(), description) {
            Ok(tool) => Some(Written {
                name: entry.spec().name.as_str().into(),
                tool,
                entry: Arc::clone(entry),
            }),
            Err(error) => {
                left_out.push(error.into());
                None
            }
        }
    }

    fn write(&self, body: &mut Vec<u8>, has_picture: bool) {
        let spec = self.entry.spec();
        let json = self.tool.json.as_slice();
        body.extend_from_slice(json.strip_suffix(b"}").unwrap_or(json));
        if has_picture {
            body.extend_from_slice(b",\"icons\":");
            body.extend_from_slice(icons::of(Hints::of(spec)).as_bytes());
        }
        body.extend_from_slice(b",\"_meta\":{\"toolcrib/bundle\":");
        quote(body, spec.bundle.as_str());
        body.extend_from_slice(b",\"toolcrib/version\":");
        quote(body, spec.version.as_str());
        body.extend_from_slice(b"}}");
    }
}

fn quote(body: &mut Vec<u8>, text: &str) {
    // Into memory: that does not fail.
    let _ = serde_json::to_writer(body, text);
}

/// The tools that can be called by their names and are of the bundles that are served.
fn offered(crib: &Crib, options: &HostOptions) -> Vec<Arc<Entry>> {
    let mut entries = crib.registry().entries();
    if !options.bundles.is_empty() {
        // The rest of a result is read with it, whatever tool the result is of.
        entries.retain(|entry| is_served(entry, options) || reads_results(entry));
    }
    let is_made = entries.len() <= MAX_MADE;
    entries.retain(|entry| {
        !entry.is_off()
            && match is_made {
                true => entry.availability() == Availability::Ready,
                false => entry.availability_at_a_glance() == Availability::Ready,
            }
    });
    entries
}

/// Whether a tool is the built-in that returns the rest of a result.
pub(super) fn reads_results(entry: &Entry) -> bool {
    entry.source() == Source::BuiltIn && entry.head().name.as_str() == READ_RESULT
}

/// Whether a tool is of the bundles that are served.
pub(super) fn is_served(entry: &Entry, options: &HostOptions) -> bool {
    let id = entry.bundle_id().map(|id| id.to_string());
    let bundle = entry.spec().bundle.as_str();
    let is_it = |named: &String| named == bundle || id.as_ref() == Some(named);
    options.bundles.is_empty() || options.bundles.iter().any(is_it)
}

/// The few tools that are listed where there are too many: the pinned ones, and those that find and call the others. `None` where the tool
/// that finds others is off: without it the others would be out of reach.
fn switched_over(
    crib: &Crib,
    offered: &[Arc<Entry>],
    pinned: &[String],
    left_out: &mut Vec<Dropped>,
) -> Option<Vec<Written>> {
    let registry = crib.registry();
    let ready = |name: &str| {
        let entry = registry.find(name).ok()?;
        (entry.availability() == Availability::Ready).then_some(entry)
    };
    let find = ready(Discovery::FIND)?;
    let mut few = Vec::new();
    let mut names = HashSet::new();
    for reference in pinned {
        let found = registry.find(reference);
        let is_offered = |entry: &Arc<Entry>| offered.iter().any(|one| Arc::ptr_eq(one, entry));
        match found {
            Ok(entry) if is_offered(&entry) => {
                if names.insert(entry.spec().name.clone()) {
                    few.extend(Written::of(&entry, None, left_out));
                }
            }
            // Off, or of a bundle that is not served: as it would be without the pin.
            Ok(_) => {}
            Err(error) => left_out.push(Dropped {
                tool: reference.clone(),
                reason: format!("`mcp.pinned` names it, and {}", error.message()),
            }),
        }
    }
    let description = Discovery::description(offered);
    few.extend(Written::of(&find, Some(&description), left_out));
    let calls = Discovery::names().filter(|name| *name != Discovery::FIND);
    for name in calls.chain([READ_RESULT]) {
        if let Some(entry) = ready(name)
            && names.insert(entry.spec().name.clone())
        {
            few.extend(Written::of(&entry, None, left_out));
        }
    }
    Some(few)
}
