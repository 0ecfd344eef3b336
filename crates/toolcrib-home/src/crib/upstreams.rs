//! Upstream servers of a crib: looking at them, adding, accepting, removing. The command line and REST are made of these.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::Crib;
use crate::config::{Replace, remove_upstream, write_upstream};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::BundleId;
use crate::model::names::Slug;
use crate::model::sandbox_plan::SandboxPlan;
use crate::model::text;
use crate::upstream::{
    self, Fetch, Loopback, PinChange, Pinned, Probe, ServerState, Transport, Upstream,
    UpstreamSettings,
};

/// A server that could be added: what the user typed, or what another program's file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamCandidate {
    /// What it would be called.
    pub name: Slug,
    /// How it would be reached.
    pub settings: UpstreamSettings,
}

impl UpstreamCandidate {
    /// Refuses a policy for a tool that the server does not have: it would wait for one of that name to come.
    pub fn check(&self, probe: &Probe) -> Result<(), ToolError> {
        let is_there = |tool: &&String| probe.tools.iter().any(|there| there.name == **tool);
        match self.settings.tools.keys().find(|tool| !is_there(tool)) {
            None => Ok(()),
            Some(unknown) => {
                let near =
                    text::nearest(unknown, probe.tools.iter().map(|tool| tool.name.as_str()));
                let hint = match near.is_empty() {
                    true => own_tools(probe),
                    false => format!("; did you mean {}?", text::or_list(&near)),
                };
                let message = format!(
                    "the MCP server `{}` has no tool `{}`, for which there is a policy{hint}",
                    self.name,
                    text::shorten(&text::visible_line(unknown), 80)
                );
                Err(ToolError::new(ErrorCode::ToolNotFound, message))
            }
        }
    }
}

/// The tools of a server, for someone who named another.
fn own_tools(probe: &Probe) -> String {
    const SHOWN: usize = 20;
    let names = probe.tools.iter().take(SHOWN);
    let names: Vec<String> = names
        .map(|tool| format!("`{}`", text::shorten(&text::visible_line(&tool.name), 80)))
        .collect();
    match probe.tools.len() {
        0 => "; it has none".to_owned(),
        all if all > SHOWN => format!("; it has {} and {} more", names.join(", "), all - SHOWN),
        _ => format!("; it has {}", names.join(", ")),
    }
}

/// A configured server as people see it.
#[derive(Debug, Clone)]
pub struct UpstreamView {
    /// Its name.
    pub name: Slug,
    /// The configuration.
    pub settings: UpstreamSettings,
    /// What was accepted of it, if anything.
    pub pinned: Option<Pinned>,
    /// Why that cannot be read.
    pub problem: Option<String>,
    /// The differences in its last answer.
    pub changes: Vec<PinChange>,
    /// Its status in this process.
    pub standing: ServerState,
    /// The wall around its program, line by line; none for a server that is not a program.
    pub plan: Option<SandboxPlan>,
    /// The hosts that its program in this process wanted to reach and may not.
    pub refused_hosts: Vec<String>,
}

/// A configured server on one line, as JSON.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpstreamRow {
    /// Its name, which is the slug of its bundle.
    pub name: String,
    /// `stdio` or `http`.
    pub transport: &'static str,
    /// The command line or the address, without secrets.
    pub reached_by: String,
    /// The wall around its program: `none`, `process` or `container`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<&'static str>,
    /// Whether its tools are on offer.
    pub enabled: bool,
    /// `allow`, `ask` or `deny`, unless a tool has its own policy.
    pub approval: &'static str,
    /// How many of its tools were accepted.
    pub tools: usize,
    /// When something was accepted last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned_at: Option<String>,
    /// What it calls itself.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub server: Value,
    /// The version of MCP that it spoke.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Tools that are something else than what was accepted.
    pub changes: Vec<ChangeRow>,
    /// `idle`, `connecting`, `connected` or `failing`, in this process.
    pub state: &'static str,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// The differences of a tool, as JSON.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct ChangeRow {
    /// The tool, as its server names it.
    pub tool: String,
    /// `new`, `changed` or `removed`.
    pub change: &'static str,
    /// Line by line.
    pub diff: String,
}

impl ChangeRow {
    /// Of a change.
    pub fn of(change: &PinChange) -> Self {
        ChangeRow {
            tool: text::visible_line(change.tool()).into_owned(),
            change: change.kind(),
            diff: change.difference(),
        }
    }
}

impl UpstreamView {
    /// The id of the bundle that its tools are.
    pub fn bundle_id(&self) -> BundleId {
        BundleId::of_upstream(&self.name)
    }

    /// What a person should know.
    pub fn notes(&self) -> Vec<String> {
        let name = &self.name;
        let mut notes = Vec::new();
        if let Some(problem) = &self.problem {
            notes.push(format!("what was accepted of it cannot be read ({problem}); `toolcrib upstream accept {name}` asks again"));
        }
        match &self.pinned {
            None if self.problem.is_none() => notes.push(format!("nothing of it was accepted yet; `toolcrib upstream accept {name}` shows its tools and asks")),
            Some(pinned) if !pinned.identity.is_empty() && pinned.identity != self.settings.identity() => {
                notes.push(format!("it is reached in another way than when it was accepted (`{}`)", pinned.pinned_by));
            }
            _ => {}
        }
        if !self.changes.is_empty() {
            let which = match self.changes.len() {
                1 => "one of its tools is".to_owned(),
                count => format!("{count} of its tools are"),
            };
            notes.push(format!(
                "{which} not what was accepted; `toolcrib upstream accept {name}` shows the differences and asks"
            ));
        }
        if let Some(why) = upstream::missing_wall(&self.settings) {
            notes.push(format!(
                "it cannot start here, because this machine cannot enforce its wall: {why}"
            ));
        }
        if !self.refused_hosts.is_empty() {
            notes.push(format!(
                "it tried to reach {}, which `upstreams.{name}.sandbox.hosts` does not name",
                text::and_list(&self.refused_hosts)
            ));
        }
        if let ServerState::Failing { failures, last } = &self.standing {
            let times = match failures {
                1 => "it failed".to_owned(),
                times => format!("it failed {times} times in a row"),
            };
            notes.push(format!("{times}: {last}"));
        }
        notes
    }

    /// On one line.
    pub fn row(&self) -> UpstreamRow {
        let pinned = self.pinned.as_ref();
        let said = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        UpstreamRow {
            name: self.name.to_string(),
            transport: match &self.settings.transport {
                Transport::Program { .. } => "stdio",
                Transport::Http { .. } => "http",
            },
            reached_by: self.settings.line(),
            sandbox: self.settings.sandbox_level(),
            enabled: self.settings.enabled,
            approval: self.settings.approval.as_str(),
            tools: pinned.map_or(0, |pinned| pinned.tools.len()),
            pinned_at: pinned.and_then(|pinned| said(&pinned.pinned_at)),
            server: pinned.map_or(Value::Null, |pinned| pinned.server.clone()),
            protocol: pinned.and_then(|pinned| said(&pinned.protocol)),
            changes: self.changes.iter().map(ChangeRow::of).collect(),
            state: match &self.standing {
                ServerState::Idle => "idle",
                ServerState::Connecting => "connecting",
                ServerState::Connected => "connected",
                ServerState::Failing { .. } => "failing",
            },
            notes: self.notes(),
        }
    }

    /// All of it, with the tools that were accepted, as JSON. Values of variables and headers are not in it.
    pub fn shown(&self) -> Value {
        let mut shown = json!(self.row());
        let tools = self.pinned.iter().flat_map(|pinned| &pinned.tools);
        let tools: Vec<Value> = tools
            .map(|tool| {
                let definition = &tool.definition;
                json!({
                    "name": definition.name,
                    "title": definition.title(),
                    "description": definition.description(),
                    "digest": tool.digest,
                    "approval": self.settings.approval_of(&definition.name).as_str(),
                    "warnings": definition.warnings(),
                })
            })
            .collect();
        shown["accepted"] = tools.into();
        if let Some(plan) = &self.plan {
            shown["plan"] = json!(plan);
        }
        shown
    }
}

/// What a server turned out to be, as JSON.
pub fn probe_shown(name: &Slug, probe: &Probe, changes: &[PinChange]) -> Value {
    let millis = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
    let tools: Vec<Value> = probe
        .tools
        .iter()
        .map(|definition| {
            json!({
                "name": definition.name,
                "title": definition.title(),
                "description": definition.description(),
                "digest": definition.digest(),
                "warnings": definition.warnings(),
            })
        })
        .collect();
    let rejected: Vec<Value> = probe
        .rejected
        .iter()
        .map(|(tool, why)| json!({"name": tool, "reason": why}))
        .collect();
    let changes: Vec<ChangeRow> = changes.iter().map(ChangeRow::of).collect();
    let network: Vec<Value> = probe
        .network
        .iter()
        .map(|reached| json!({"host": reached.host, "allowed": reached.allowed}))
        .collect();
    json!({
        "name": name,
        "server": probe.server,
        "protocol": probe.protocol,
        "era": if probe.is_modern { "modern" } else { "legacy" },
        "instructions": probe.instructions,
        "connectMs": millis(probe.connected),
        "listMs": millis(probe.listed),
        "tools": tools,
        "rejected": rejected,
        "changes": changes,
        "stderr": probe.stderr,
        "network": network,
        "prompts": probe.material.prompts.len(),
        "resources": probe.material.resources.len() + probe.material.templates.len(),
    })
}

impl Crib {
    /// The configured upstream servers, by name. No one is connected for it.
    pub fn upstreams(&self) -> Vec<UpstreamView> {
        self.sources.upstream().refresh(&self.registry);
        let all = self.upstream_set().all();
        all.values()
            .map(|upstream| self.upstream_view(upstream))
            .collect()
    }

    /// One of them.
    pub fn upstream(&self, name: &str) -> Result<UpstreamView, ToolError> {
        self.sources.upstream().refresh(&self.registry);
        Ok(self.upstream_view(&self.known_upstream(name)?))
    }

    /// Connects to a configured server to see what it is; with what is different from what was accepted. Every process of the home learns of the
    /// differences. A server of which nothing was accepted yet may fetch its program, as one that is added may.
    pub async fn probe_upstream(&self, name: &str) -> Result<(Probe, Vec<PinChange>), ToolError> {
        self.sources.upstream().refresh(&self.registry);
        let pinned = self
            .upstream_set()
            .pins()
            .read(self.known_upstream(name)?.name());
        let fetch = match pinned {
            Ok(None) => Fetch::Allowed,
            Ok(Some(_)) | Err(_) => Fetch::Never,
        };
        self.probe_known(name, fetch).await
    }

    /// Like [`probe_upstream`](Self::probe_upstream), with the hosts of package registries within reach of the program, so that it is fetched again.
    pub async fn update_upstream(&self, name: &str) -> Result<(Probe, Vec<PinChange>), ToolError> {
        self.sources.upstream().refresh(&self.registry);
        let upstream = self.known_upstream(name)?;
        // What runs is the program as it was.
        upstream.close().await;
        self.probe_known(name, Fetch::Allowed).await
    }

    async fn probe_known(
        &self,
        name: &str,
        fetch: Fetch,
    ) -> Result<(Probe, Vec<PinChange>), ToolError> {
        let upstream = self.known_upstream(name)?;
        let probe = self.masked(upstream.probe(fetch).await)?;
        let pins = self.upstream_set().pins();
        let pinned = pins.read(upstream.name()).unwrap_or_default();
        let changes = pinned.unwrap_or_default().compare(&probe.tools);
        if pins
            .read(upstream.name())
            .is_ok_and(|pinned| pinned.is_some())
        {
            pins.note(upstream.name(), &probe.tools)?;
            self.sources.reload(&self.registry);
        }
        Ok((probe, changes))
    }

    /// Tools of a server that are called otherwise here than there, since something else had the name: what it calls each, and its name here.
    pub fn renamed_tools(&self, name: &Slug) -> Vec<(String, String)> {
        let pinned = self.upstream_set().pins().read(name);
        let pinned = pinned.ok().flatten().unwrap_or_default();
        let entries = self.registry.entries();
        let own = upstream::names::slugs(pinned.names()).into_iter();
        let renamed = own.zip(&pinned.tools).filter_map(|((own, slug), tool)| {
            let entry = entries
                .iter()
                .find(|entry| entry.head().bundle == *name && entry.head().slug == slug)?;
            let here = &entry.head().name;
            (*here != own).then(|| (tool.definition.name.clone(), here.to_string()))
        });
        renamed.collect()
    }

    /// Connects to a server that is not configured, to see what it is. Nothing is written but what its program keeps in its own directory.
    pub async fn probe_candidate(&self, candidate: &UpstreamCandidate) -> Result<Probe, ToolError> {
        let (name, settings) = (candidate.name.clone(), candidate.settings.clone());
        let upstream = self.upstream_set().unlisted(name, settings);
        self.masked(upstream.probe(Fetch::Allowed).await)
    }

    /// Removes what an earlier server of this name, or one that was not added in the end, kept in its own directory.
    pub fn forget_candidate(&self, name: &Slug) -> Result<(), ToolError> {
        match self.upstream_set().get(name.as_str()) {
            Some(_) => Ok(()),
            None => self.remove_upstream_state(name),
        }
    }

    fn remove_upstream_state(&self, name: &Slug) -> Result<(), ToolError> {
        let removed = upstream::remove_state(&self.home, name);
        removed.map(drop).map_err(|error| {
            let message =
                format!("cannot remove the files that the MCP server `{name}` keeps: {error}");
            ToolError::new(ErrorCode::StorageError, message).caused_by(error)
        })
    }

    /// Writes a server into config.toml and pins what it turned out to be, if someone looked.
    pub fn add_upstream(
        &self,
        candidate: &UpstreamCandidate,
        probe: Option<&Probe>,
        replace: Replace,
    ) -> Result<(), ToolError> {
        let name = &candidate.name;
        self.check_upstream_name(name)?;
        if let Some(probe) = probe {
            candidate.check(probe)?;
        }
        write_upstream(&self.home, name, &candidate.settings, replace)?;
        if let Some(probe) = probe {
            self.pin_upstream(name, &candidate.settings, probe, None)?;
        }
        self.sources.reload(&self.registry);
        Ok(())
    }

    /// Writes several servers into config.toml without connecting to them: nothing of theirs is accepted yet. Says which were written, and why
    /// others were not.
    pub fn add_all(
        &self,
        candidates: Vec<UpstreamCandidate>,
    ) -> Vec<(Slug, Result<(), ToolError>)> {
        let add = |candidate: UpstreamCandidate| {
            let added = self.add_upstream(&candidate, None, Replace::Never);
            (candidate.name, added)
        };
        candidates.into_iter().map(add).collect()
    }

    /// Accepts what a configured server turned out to be: all of it, or some of its tools.
    pub fn accept_upstream(
        &self,
        name: &str,
        probe: &Probe,
        only: Option<&[String]>,
    ) -> Result<(), ToolError> {
        let upstream = self.known_upstream(name)?;
        if let Some(only) = only {
            let pinned = self
                .upstream_set()
                .pins()
                .read(upstream.name())
                .ok()
                .flatten()
                .unwrap_or_default();
            let is_known = |tool: &&String| {
                probe.tools.iter().any(|there| there.name == **tool) || pinned.tool(tool).is_some()
            };
            if let Some(unknown) = only.iter().find(|tool| !is_known(tool)) {
                let near =
                    text::nearest(unknown, probe.tools.iter().map(|tool| tool.name.as_str()));
                let hint = match near.is_empty() {
                    true => String::new(),
                    false => format!("; did you mean {}?", text::or_list(&near)),
                };
                let message = format!(
                    "the MCP server `{name}` has no tool `{}`{hint}",
                    text::shorten(unknown, 80)
                );
                return Err(ToolError::new(ErrorCode::ToolNotFound, message));
            }
        }
        self.pin_upstream(upstream.name(), upstream.settings(), probe, only)?;
        self.sources.reload(&self.registry);
        Ok(())
    }

    /// Logs in at a configured server: a person opens the page that `show` shows, and comes back to an address of this machine. Says who let
    /// us in. Every process of the home has the login from then on.
    pub async fn log_in_upstream(
        &self,
        name: &str,
        patience: Duration,
        show: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<String, ToolError> {
        self.sources.upstream().refresh(&self.registry);
        let upstream = self.known_upstream(name)?;
        self.log_in(&upstream, patience, show).await
    }

    /// Logs in at a server that is not configured yet.
    pub async fn log_in_candidate(
        &self,
        candidate: &UpstreamCandidate,
        patience: Duration,
        show: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<String, ToolError> {
        let (name, settings) = (candidate.name.clone(), candidate.settings.clone());
        let upstream = self.upstream_set().unlisted(name, settings);
        self.log_in(&upstream, patience, show).await
    }

    async fn log_in(
        &self,
        upstream: &Upstream,
        patience: Duration,
        show: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<String, ToolError> {
        let (oauth, url) = upstream.logins()?;
        let configured = upstream.settings().oauth.redirect_port;
        let wish = match configured {
            Some(port) => Some(port),
            None => oauth.last_port(upstream.name(), &url).await,
        };
        let loopback = Loopback::open(wish, configured.is_some(), patience, show).await;
        let loopback = loopback.map_err(|error| {
            let at = wish.map_or_else(String::new, |port| format!(" (port {port})"));
            let message = format!("no browser can be sent back to this machine{at}: {error}");
            ToolError::new(ErrorCode::UpstreamError, message)
        })?;
        let logged_in = upstream.log_in(Arc::new(loopback)).await;
        logged_in.map_err(|error| error.masked(&self.secrets.masker()))
    }

    /// Forgets the login at a server; whether there was one. The server is not informed.
    pub fn log_out_upstream(&self, name: &str) -> Result<bool, ToolError> {
        self.sources.upstream().refresh(&self.registry);
        let (oauth, _) = self.known_upstream(name)?.logins()?;
        oauth.log_out(self.known_upstream(name)?.name())
    }

    /// Removes a server from config.toml, what was accepted of it, and the files that it keeps for itself behind its wall.
    pub fn remove_upstream(&self, name: &str) -> Result<(), ToolError> {
        let upstream = self.known_upstream(name)?;
        if let Ok((oauth, _)) = upstream.logins() {
            oauth.log_out(upstream.name())?;
        }
        remove_upstream(&self.home, upstream.name())?;
        self.upstream_set().pins().remove(upstream.name())?;
        self.sources.reload(&self.registry);
        self.remove_upstream_state(upstream.name())
    }

    fn pin_upstream(
        &self,
        name: &Slug,
        settings: &UpstreamSettings,
        probe: &Probe,
        only: Option<&[String]>,
    ) -> Result<(), ToolError> {
        self.upstream_set().pins().change(name, |pinned| {
            pinned.accept(&probe.tools, only);
            pinned.server = probe.server.clone();
            pinned.protocol.clone_from(&probe.protocol);
            pinned.material = probe.material.clone();
            pinned.pinned_at = jiff::Timestamp::now().to_string();
            pinned.pinned_by = settings.line();
            pinned.identity = settings.identity();
        })?;
        Ok(())
    }

    /// A name that a bundle of the store has would leave its tools without their own reference.
    fn check_upstream_name(&self, name: &Slug) -> Result<(), ToolError> {
        let problem = |message: String| ToolError::new(ErrorCode::Conflict, message);
        upstream::name(name.as_str()).map_err(|why| ToolError::new(ErrorCode::Usage, why))?;
        // Another server of the name is the settings' business.
        let is_taken = self
            .bundles()
            .iter()
            .any(|view| view.kind != super::BundleKind::Upstream && view.bundle.slug == *name);
        match is_taken {
            true => Err(problem(format!(
                "there is a bundle `{name}`; choose another name"
            ))),
            false => Ok(()),
        }
    }

    fn upstream_set(&self) -> &upstream::Upstreams {
        self.sources.upstream().upstreams()
    }

    fn known_upstream(&self, name: &str) -> Result<Arc<Upstream>, ToolError> {
        self.upstream_set().get(name).ok_or_else(|| {
            let all = self.upstream_set().all();
            let near = text::nearest(name, all.keys().map(Slug::as_str));
            let hint = match (near.is_empty(), all.is_empty()) {
                (false, _) => format!("; did you mean {}?", text::or_list(&near)),
                (true, false) => "; `toolcrib upstream list` lists them".to_owned(),
                (true, true) => "; `toolcrib upstream add` adds one".to_owned(),
            };
            let shown = text::shorten(name, 80);
            ToolError::new(
                ErrorCode::BundleNotFound,
                format!("there is no upstream server `{shown}`{hint}"),
            )
        })
    }

    fn upstream_view(&self, upstream: &Arc<Upstream>) -> UpstreamView {
        let read = self.upstream_set().pins().read(upstream.name());
        let (pinned, problem) = match read {
            Ok(pinned) => (pinned, None),
            Err(problem) => (None, Some(problem)),
        };
        UpstreamView {
            plan: self
                .upstream_set()
                .plan(upstream.name(), upstream.settings()),
            refused_hosts: upstream.refused_hosts(),
            name: upstream.name().clone(),
            settings: upstream.settings().clone(),
            changes: pinned.as_ref().map(Pinned::changes).unwrap_or_default(),
            pinned,
            problem,
            standing: match upstream.standing() {
                ServerState::Failing { failures, last } => ServerState::Failing {
                    failures,
                    last: self.secrets.masker().mask(&last).into_owned(),
                },
                standing => standing,
            },
        }
    }

    /// Without secrets, which a server may say or print.
    fn masked(&self, probe: Result<Probe, ToolError>) -> Result<Probe, ToolError> {
        let masker = self.secrets.masker();
        match probe {
            Ok(mut probe) => {
                masker.mask_text(&mut probe.stderr);
                Ok(probe)
            }
            Err(error) => Err(error.masked(&masker)),
        }
    }
}
