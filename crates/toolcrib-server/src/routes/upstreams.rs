//! Upstream MCP servers: `/api/upstreams`. All of it is the operator's: a server is a program that runs, or a place that calls go to.

use std::collections::BTreeMap;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toolcrib::config::{Replace, set_upstream_approval};
use toolcrib::crib::{ChangeRow, UpstreamCandidate, UpstreamRow, probe_shown};
use toolcrib::model::text;
use toolcrib::upstream::{self, Probe, UpstreamSettings};
use toolcrib::{Crib, ErrorCode, ToolError};

use super::work::{refused, shown};
use crate::api::{
    Answer, Api, ApiRequest, Paging, Refusal, Route, Who, json_response, list_response, located,
    no_content, param,
};

/// A page of upstream servers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct UpstreamPage {
    /// The servers, by name.
    upstreams: Vec<UpstreamRow>,
    /// The token of the next page, if there is one.
    next_page_token: Option<String>,
}

/// A server to be added.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddUpstream {
    /// What it is to be called: ASCII letters, digits and `-`.
    name: String,
    /// The keys of `[upstreams.NAME]` in config.toml: `command` and `args`, or `url`, and more.
    settings: Map<String, Value>,
    /// Whether one of the same name is replaced.
    #[serde(default)]
    replace: bool,
    /// The digests of its tools as someone has seen them: if it has others by now, it is not added.
    #[serde(default)]
    digests: Option<BTreeMap<String, String>>,
}

/// What to accept.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AcceptUpstream {
    /// Only these tools, as the server names them.
    #[serde(default)]
    tools: Option<Vec<String>>,
    /// The digests of its tools as someone has seen them: if it has others by now, nothing is accepted.
    #[serde(default)]
    digests: Option<BTreeMap<String, String>>,
}

/// What calls of some tools need.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetApproval {
    /// The tools, as the server names them.
    tools: Vec<String>,
    /// What their calls need.
    approval: UpstreamApproval,
}

/// What calls of a tool need.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum UpstreamApproval {
    /// They run without asking.
    Allow,
    /// A person is asked before every call.
    Ask,
    /// They are refused.
    Deny,
}

/// What was written about some tools.
#[derive(Debug, Serialize, JsonSchema)]
struct ApprovalSet {
    /// The server's name.
    name: String,
    /// The tools.
    tools: Vec<String>,
    /// What their calls need from now on.
    approval: UpstreamApproval,
}

/// A server and the tools that were accepted of it.
#[derive(JsonSchema)]
#[schemars(rename = "Upstream")]
#[expect(dead_code, reason = "the shape of `UpstreamView::shown`")]
struct UpstreamShape {
    #[schemars(flatten)]
    row: UpstreamRow,
    /// The tools that were accepted.
    accepted: Vec<AcceptedTool>,
    /// The wall around its program, line by line; none for a server with an address.
    plan: Option<Value>,
}

/// A tool that was accepted.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the shape of `UpstreamView::shown`")]
struct AcceptedTool {
    #[schemars(flatten)]
    tool: UpstreamTool,
    /// What its calls need.
    approval: UpstreamApproval,
}

/// A tool as its server describes it.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the shape of `probe_shown`")]
struct UpstreamTool {
    /// Its name there.
    name: String,
    /// The name for people.
    title: Option<String>,
    /// What it does.
    description: String,
    /// A digest of what it is.
    digest: String,
    /// The warnings about it.
    warnings: Vec<String>,
}

/// A tool that cannot be used.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the shape of `probe_shown`")]
struct RejectedTool {
    /// Its name there.
    name: String,
    /// Why.
    reason: String,
}

/// What a server turned out to be.
#[derive(JsonSchema)]
#[schemars(rename = "UpstreamProbe", rename_all = "camelCase")]
#[expect(dead_code, reason = "the shape of `probe_shown`")]
struct ProbeShape {
    /// Its name here.
    name: String,
    /// What it calls itself.
    server: Value,
    /// The version of MCP that it speaks.
    protocol: String,
    /// `modern` (since 2026-07-28) or `legacy`.
    era: String,
    /// What it wants models to know.
    instructions: Option<String>,
    /// How long it took to connect.
    connect_ms: f64,
    /// How long it took to list its tools.
    list_ms: f64,
    /// Its tools.
    tools: Vec<UpstreamTool>,
    /// Tools that were left out.
    rejected: Vec<RejectedTool>,
    /// What differs from what was accepted.
    changes: Vec<ChangeRow>,
    /// The last of what its program printed on stderr.
    stderr: String,
    /// The hosts that its program wanted to reach, if it is behind a wall.
    network: Vec<ReachedHost>,
    /// How many prompts it has.
    prompts: u64,
    /// How many resources and templates of resources it has.
    resources: u64,
}

/// A host that a server's program wanted to reach.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the shape of `probe_shown`")]
struct ReachedHost {
    /// The host, with its port.
    host: String,
    /// Whether it was let.
    allowed: bool,
}

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    let name = || param::path("name", "The server's name.");
    vec![
        Route::new(Method::GET, "/api/upstreams", Who::Operator, list)
            .named("listUpstreams", "upstreams", "Lists the upstream MCP servers.")
            .about("Connects to no server.")
            .params(param::pages())
            .answers::<UpstreamPage>(200, "The servers, by name."),
        Route::new(Method::POST, "/api/upstreams", Who::Operator, add)
            .named("addUpstream", "upstreams", "Connects to a server, accepts its tools, and adds it.")
            .about("It is written into config.toml of the server's home (`toolcrib config path` there). A server with a `command` is a program that runs on the machine of this server, behind a wall of level `process` unless `sandbox` in its settings says otherwise. While it is added it may reach package registries.")
            .param(param::query_flag("dryRun", "Writes nothing, and says what the server is."))
            .takes::<AddUpstream>("The server.", || json!({"name": "files", "settings": {"command": "mcp-files", "args": ["/srv/notes"]}}))
            .answers::<ProbeShape>(201, "What it turned out to be: its tools, its version, how long it took.")
            .answers::<ProbeShape>(200, "The server as it would be added, with `?dryRun=true`.")
            .refuses(404, "There is a policy for a tool that it does not have.")
            .refuses(409, "There is an upstream server or a bundle of this name already, or its tools are others than those that were seen."),
        Route::new(Method::GET, "/api/upstreams/{name}", Who::Operator, show)
            .named("getUpstream", "upstreams", "Shows a server and the tools that were accepted of it.")
            .param(name())
            .answers::<UpstreamShape>(200, "The server.")
            .refuses(404, "There is no upstream server of this name."),
        Route::new(Method::PATCH, "/api/upstreams/{name}", Who::Operator, set_approval)
            .named("setUpstreamApproval", "upstreams", "Says what calls of a server's tools need: nothing, a person, or they are refused.")
            .about("It is written into config.toml of the server's home, which every process of the home follows: the next call is judged by it.")
            .param(name())
            .takes::<SetApproval>("The tools.", || json!({"tools": ["read_file"], "approval": "allow"}))
            .answers::<ApprovalSet>(200, "What was written.")
            .refuses(404, "There is no such server, or no such tool of it."),
        Route::new(Method::DELETE, "/api/upstreams/{name}", Who::Operator, remove)
            .named("removeUpstream", "upstreams", "Removes a server, and what was accepted of it.")
            .param(name())
            .answers_with(204, "Its tools are gone.", "")
            .refuses(404, "There is no upstream server of this name."),
        Route::new(Method::POST, "/api/upstreams/{name}/test", Who::Operator, test)
            .named("testUpstream", "upstreams", "Connects to a server and says what it is.")
            .about("Tools that are something else than what was accepted are off from then on, until they are accepted.")
            .param(name())
            .param(param::query_flag("update", "Lets a program behind a wall reach package registries, so that it is fetched again."))
            .answers::<ProbeShape>(200, "Its tools, its version, how long it took, and what changed.")
            .refuses(404, "There is no upstream server of this name."),
        Route::new(Method::POST, "/api/upstreams/{name}/accept", Who::Operator, accept)
            .named("acceptUpstream", "upstreams", "Accepts what a server's tools are now.")
            .param(name())
            .takes::<AcceptUpstream>("What to accept.", || json!({"tools": ["read_file"]}))
            .answers::<UpstreamShape>(200, "The server with what is accepted now.")
            .refuses(404, "There is no such server, or no such tool of it.")
            .refuses(409, "Its tools are others than those that were seen."),
    ]
}

fn list(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    super::blocking(move || {
        let paging = Paging::of(&asked.query)?;
        let rows: Vec<UpstreamRow> = api
            .crib()
            .upstreams()
            .iter()
            .map(|view| view.row())
            .collect();
        let (page, next) = paging.cut("upstreams", rows, |row| row.name.clone())?;
        Ok(list_response("upstreams", &page, next))
    })
    .boxed()
}

fn show(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    super::blocking(move || {
        let view = api.crib().upstream(asked.path.get("name"))?;
        Ok(shown(api.crib(), StatusCode::OK, &view.shown()))
    })
    .boxed()
}

fn add(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        let AddUpstream {
            name,
            settings,
            replace,
            digests,
        } = asked.json()?;
        let is_dry_run = asked.query.flag("dryRun")?;
        let crib = api.crib().clone();
        let wrong = |why: String| refused(&crib, ToolError::new(ErrorCode::InvalidArguments, why));
        let name = upstream::name(&name).map_err(wrong)?;
        let settings =
            UpstreamSettings::read(&settings).map_err(|fault| wrong(fault.to_string()))?;
        let settings = settings.with_usual_sandbox();
        let candidate = UpstreamCandidate {
            name: name.clone(),
            settings,
        };
        if !replace && crib.upstream(name.as_str()).is_ok() {
            let message = format!("there is an upstream server `{name}` already");
            return Err(ToolError::new(ErrorCode::Conflict, message).into());
        }
        if digests.is_none() {
            // What another server of this name left behind is not this one's. With digests someone has just looked at it.
            let (crib, name) = (crib.clone(), candidate.name.clone());
            super::blocking(move || crib.forget_candidate(&name)).await?;
        }
        let probe = crib
            .probe_candidate(&candidate)
            .await
            .map_err(|error| refused(&crib, error))?;
        candidate
            .check(&probe)
            .map_err(|error| refused(&crib, error))?;
        if is_dry_run {
            let document = probe_shown(&candidate.name, &probe, &[]);
            return Ok(shown(&crib, StatusCode::OK, &document));
        }
        if let Some(digests) = digests {
            check_seen(&crib, &probe, &digests)?;
        }
        super::blocking(move || {
            let replace = if replace {
                Replace::Allowed
            } else {
                Replace::Never
            };
            crib.add_upstream(&candidate, Some(&probe), replace)
                .map_err(|error| refused(&crib, error))?;
            let answer = shown(
                &crib,
                StatusCode::CREATED,
                &probe_shown(&candidate.name, &probe, &[]),
            );
            Ok(located(
                answer,
                &format!("/api/upstreams/{}", candidate.name),
            ))
        })
        .await
    }
    .boxed()
}

fn set_approval(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    super::blocking(move || {
        let SetApproval { tools, approval } = asked.json()?;
        let view = api.crib().upstream(asked.path.get("name"))?;
        let shown = view.shown();
        let known = |tool: &String| {
            let accepted = shown["accepted"].as_array();
            accepted.is_some_and(|all| all.iter().any(|one| one["name"] == tool.as_str()))
        };
        if let Some(unknown) = tools.iter().find(|tool| !known(tool)) {
            let unknown = text::shorten(&text::visible(unknown), 80);
            let message = format!("`{}` has no accepted tool `{unknown}`", view.name);
            return Err(ToolError::new(ErrorCode::ToolNotFound, message).into());
        }
        let word = match approval {
            UpstreamApproval::Allow => "allow",
            UpstreamApproval::Ask => "ask",
            UpstreamApproval::Deny => "deny",
        };
        set_upstream_approval(api.crib().home(), &view.name, &tools, word)?;
        // Read again now.
        api.crib().upstream(view.name.as_str())?;
        let set = ApprovalSet {
            name: view.name.to_string(),
            tools,
            approval,
        };
        Ok(json_response(StatusCode::OK, &set))
    })
    .boxed()
}

fn remove(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    super::blocking(move || {
        api.crib().remove_upstream(asked.path.get("name"))?;
        Ok(no_content())
    })
    .boxed()
}

fn test(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        let crib = api.crib().clone();
        let name = asked.path.get("name");
        let probed = match asked.query.flag("update")? {
            true => crib.update_upstream(name).await,
            false => crib.probe_upstream(name).await,
        };
        let (probe, changes) = probed.map_err(|error| refused(&crib, error))?;
        let name = crib.upstream(name)?.name;
        Ok(shown(
            &crib,
            StatusCode::OK,
            &probe_shown(&name, &probe, &changes),
        ))
    }
    .boxed()
}

fn accept(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        let AcceptUpstream { tools, digests } = asked.json()?;
        let crib = api.crib().clone();
        let name = asked.path.get("name").to_owned();
        let (probe, _) = crib
            .probe_upstream(&name)
            .await
            .map_err(|error| refused(&crib, error))?;
        if let Some(digests) = digests {
            check_seen(&crib, &probe, &digests)?;
        }
        super::blocking(move || {
            crib.accept_upstream(&name, &probe, tools.as_deref())
                .map_err(|error| refused(&crib, error))?;
            let view = crib.upstream(&name)?;
            Ok(shown(&crib, StatusCode::OK, &view.shown()))
        })
        .await
    }
    .boxed()
}

/// Refuses to accept what no one has seen.
fn check_seen(crib: &Crib, probe: &Probe, seen: &BTreeMap<String, String>) -> Result<(), Refusal> {
    let is_seen = probe.tools.len() == seen.len()
        && probe
            .tools
            .iter()
            .all(|tool| seen.get(&tool.name) == Some(&tool.digest()));
    match is_seen {
        true => Ok(()),
        false => {
            let message = "its tools are others by now than those that were seen; test it again";
            Err(refused(crib, ToolError::new(ErrorCode::Conflict, message)))
        }
    }
}
