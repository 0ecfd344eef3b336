//! Upstream MCP servers: other programs' tools as tools of ours.
//!
//! ```text
//! settings    what the operator configured    definition  what a server says about a tool
//! pins        what the user accepted of it     names       what its tools are called here
//! child       a server that is a program       http        one that is somewhere else
//! auth        who logs in there                connection  either of them, connected
//! sandbox     what the operator allows a program  wall    the wall that makes it so
//! breaker     when to try again                server      one server and the connection all share
//! ask         what it wants to know            result      what its answers mean
//! tool        one of its tools                     material    its prompts and resources
//! ```
//!
//! Tools are made from two files alone: the settings say how a server is reached, the pins what the user accepted of it. So
//! opening a crib and listing its tools waits for no server.
//!
//! A server is believed nothing: its tools are those that someone accepted, as they were then; its hints about what they do decide nothing;
//! and whatever it does, or does not, costs no one but its own callers.

mod auth;
mod breaker;
mod child;
mod connection;
mod definition;
mod http;
pub(crate) mod material;
pub(crate) mod names;
mod pins;
mod result;
mod sandbox;
mod server;
mod server_request;
mod settings;
mod tool;
mod wall;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;

pub use auth::{Authorizer, Consent, Loopback, OAuth};
pub use definition::Definition;
pub use material::Material;
pub use pins::{PinChange, PinStore, Pinned, PinnedTool, Unpinned};
pub use sandbox::UpstreamSandbox;
pub use server::{Probe, Reached, ServerState, Upstream};
pub use settings::{
    Auth, ConfiguredValue, Grant, OAuthSettings, SettingProblem, Transport, UpstreamSettings,
    UpstreamTable, name, read_all,
};
pub(crate) use tool::{UpstreamTool, spec};
pub(crate) use wall::{Fetch, missing as missing_wall, plan as wall_plan, remove_state};

use crate::egress::Egress;
use crate::model::names::Slug;
use crate::model::sandbox_plan::SandboxPlan;
use crate::process::SandboxOptions;
use crate::secret::SecretStore;
use connection::Parts;
use wall::WallParts;

/// What upstream servers are reached with.
pub(crate) struct UpstreamOptions {
    pub(crate) home: PathBuf,
    pub(crate) egress: Egress,
    pub(crate) secrets: SecretStore,
    /// The default working directory of programs.
    pub(crate) directory: PathBuf,
    /// What the walls around programs are made with.
    pub(crate) sandbox: SandboxOptions,
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
}

/// The configured servers of a home.
pub(crate) struct Upstreams {
    parts: Arc<Parts>,
    all: ArcSwap<BTreeMap<Slug, Arc<Upstream>>>,
}

impl Upstreams {
    pub(crate) fn new(options: UpstreamOptions) -> Self {
        Upstreams {
            parts: Arc::new(Parts {
                pins: PinStore::at(&options.home),
                authorizer: options.authorizer.unwrap_or_else(|| {
                    Arc::new(OAuth::new(&options.home, options.secrets.clone()))
                }),
                walls: Arc::new(WallParts {
                    home: options.home.clone(),
                    options: options.sandbox,
                    egress: options.egress.clone(),
                }),
                home: options.home,
                egress: options.egress,
                secrets: options.secrets,
                directory: options.directory,
                changed: AtomicBool::new(false),
            }),
            all: ArcSwap::default(),
        }
    }

    /// What was accepted of them.
    pub(crate) fn pins(&self) -> &PinStore {
        &self.parts.pins
    }

    /// The wall of a server, line by line; none if it is not a program.
    pub(crate) fn plan(&self, name: &Slug, settings: &UpstreamSettings) -> Option<SandboxPlan> {
        wall_plan(settings, &self.parts.walls, name)
    }

    /// All of them by name.
    pub(crate) fn all(&self) -> Arc<BTreeMap<Slug, Arc<Upstream>>> {
        self.all.load_full()
    }

    /// One of them.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<Upstream>> {
        self.all.load().get(name).cloned()
    }

    /// An accepted tool, to be offered by another name; the error says what is missing.
    pub(crate) fn accepted(&self, server: &str, tool: &str) -> Result<UpstreamTool, String> {
        let upstream = self
            .get(server)
            .ok_or("no such server is configured; `toolcrib upstream add` adds one")?;
        if !upstream.settings().enabled {
            return Err("that server is switched off".to_owned());
        }
        let pinned = self.pins().read(upstream.name())?;
        let pinned = pinned.ok_or_else(|| {
            format!("nothing of it was accepted; `toolcrib upstream accept {server}` asks")
        })?;
        let named = names::slugs(pinned.names()).into_iter().zip(&pinned.tools);
        let found = { named }.find(|(_, pin)| pin.definition.name == tool && pin.is_whole());
        let ((wire, slug), pin) = found.ok_or("no such tool of it was accepted")?;
        let spec = spec(&upstream, &pin.definition, wire, slug)?;
        Ok(UpstreamTool::new(spec, upstream, &pin.definition))
    }

    /// Takes other settings. A server whose settings are the same stays as it is, connected or not; calls that run keep theirs.
    pub(crate) fn set(&self, table: &UpstreamTable) {
        let before = self.all.load();
        let now = table.iter().map(|(name, settings)| {
            let kept = before
                .get(name)
                .filter(|known| known.settings() == settings);
            let upstream = match kept {
                Some(kept) => Arc::clone(kept),
                None => self.unlisted(name.clone(), settings.clone()),
            };
            (name.clone(), upstream)
        });
        self.all.store(Arc::new(now.collect()));
    }

    /// A server that is not configured, to see what it is.
    pub(crate) fn unlisted(&self, name: Slug, settings: UpstreamSettings) -> Arc<Upstream> {
        Upstream::new(name, settings, Arc::clone(&self.parts))
    }

    /// Whether pins, or what was found beside them, were written from here since this was asked last.
    pub(crate) fn take_changed(&self) -> bool {
        self.parts.changed.swap(false, Ordering::AcqRel)
    }
}
