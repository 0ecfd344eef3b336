//! The whole product in one value: [`Crib`], a registry with a home on disk.

mod bundles;
mod contests;
mod discovery;
mod finder;
mod holding;
mod listing;
mod material;
mod reaping;
mod registry;
mod shown;
mod stats;
mod texts;
mod upkeep;
mod upstreams;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use toolcrib_core::approval::grants::{
    Grant, GrantRequest, PastCall, Scope, Shape, Simulation, fit, is_delete,
};
use toolcrib_core::approval::{ApprovalResponse, Approver, DenyAll};

use crate::approval::queue::OnlyGiven;
use crate::approval::{AnswerError, ApprovalQueue, ApprovedFiles, Grants, Queued};
use crate::builtin::{
    BuiltinOptions, ListOptions, ReadOptions, RegisterBuiltins as _, SandboxOptions,
    SandboxSettings,
};
use crate::config::{Config, ConfigError, NoHome, Surroundings, load_rules};
use crate::egress::Egress;
use crate::exec::command::CommandSettings;
use crate::exec::http::HttpSettings;
use crate::format::{self, FormatError, FormatWatch};
use crate::held::{HeldRun, HeldStore};
use crate::model::caller::Caller;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::secret::Secret;
use crate::notify::NotifierOptions;
use crate::pipeline;
use crate::process::{Runner, leave_out_own_data};
use crate::record::SharedRates;
use crate::record::call_log::{CallLog, CallLogHealth, CallLogOptions, CallLogReader, is_cut};
use crate::record::replay;
use crate::record::usage::{Usage, UsageLog};
use crate::registry::{Entry, RegisterError, Registry, Source};
use crate::results::{self, Results};
use crate::rules::{RuleOrigin, RuleSet};
use crate::sandbox::{Command, Level, Policy};
use crate::secret::SecretStore;
use crate::source::{
    Report, Review, SourceOptions, Sources, StoredTools, UpstreamTools, Workshop,
    is_trusted_elsewhere,
};
use crate::spec::ToolSpec;
use crate::store::{Store, StoreOptions};
use crate::tool::Tool;
use crate::upstream::{Authorizer, UpstreamOptions, Upstreams};
use crate::workspace::{Workspace, WorkspaceError};

pub use bundles::{BundleKind, BundleView};
pub use contests::{Candidate, Contest};
pub use discovery::{Discovery, Offer, OfferBounds, tools_reference};
pub use finder::{FoundTool, MeantRequest, SearchPage, SearchRequest};
pub use listing::{BundlePage, BundleQuery, DEFAULT_PAGE, MAX_PAGE, ToolPage, ToolQuery};
pub use shown::{
    Arrival, BundleRow, ChangeShown, ChangedField, CheckedText, ComparedShown, ComparedTool,
    ComparisonShown, DamagedTool, ImportShown, LimitsShown, ListQuery, ListedTool, NameContest,
    ParameterShown, Planned, ProblemRow, RanCommand, ReachShown, RuleRow, RulesTest, Runs,
    SecretNeeded, SecretRow, SecretShown, ToldSecret, ToolList, ToolRow, ToolShown, moved,
};
pub use stats::{CallStats, Durations, HourStats, Hours, LogStats, Stats, StoreStats, ToolStats};
pub use texts::{SavedTool, ToolText};
pub use upkeep::HomeProblem;
pub use upstreams::{ChangeRow, UpstreamCandidate, UpstreamRow, UpstreamView, probe_shown};

/// The directory of the home that holds the call log.
const CALLS: &str = "calls";
/// The directory of the home that holds results that models got in part.
const RESULTS: &str = "results";
/// The directory of the home that holds questions to people.
const APPROVALS: &str = "approvals";
/// The directory of the home that holds what Toolcrib remembers for itself.
const STATE: &str = "state";
/// The directory of the home that holds grants.
const GRANTS: &str = "grants";
/// The directory of the home that holds secrets.
const SECRETS: &str = "secrets";
/// The file of the home that holds the operator's token of a server on it, and the variable that gives another one.
const OPERATOR_TOKEN: &str = "token";
const TOKEN_VARIABLE: &str = "TOOLCRIB_TOKEN";

/// How to open a crib; every part has a default.
pub struct CribOptions {
    surroundings: Surroundings,
    home: Option<PathBuf>,
    workspace: Option<PathBuf>,
    approvals: Approvals,
    session: Option<String>,
    look_every: Duration,
    egress: Option<Egress>,
    functions: HashMap<String, Arc<dyn Tool>>,
    authorizer: Option<Arc<dyn Authorizer>>,
    newer_home: NewerHome,
}

/// What to do with a home that a newer version has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NewerHome {
    /// Do not open it.
    #[default]
    Refuse,
    /// Open it to read what this version can read; opening it changes nothing. Calls and changes are the caller's to refuse, with
    /// [`format::check`].
    Read,
}

/// The approver of calls that need approval.
pub enum Approvals {
    /// This approver.
    Ask(Arc<dyn Approver>),
    /// No one can be asked, for this reason; calls run by approvals that are in the crib's own queue already.
    Given {
        /// Why no one can be asked.
        why: String,
    },
    /// An answer in the crib's own queue, from this process or another.
    Queue {
        /// How long calls wait, if not as the settings say.
        wait: Option<Duration>,
    },
}

impl Default for Approvals {
    /// No one can be asked.
    fn default() -> Self {
        Approvals::Ask(Arc::new(DenyAll::default()))
    }
}

impl Default for CribOptions {
    fn default() -> Self {
        CribOptions {
            surroundings: Surroundings::of_process(),
            home: None,
            workspace: None,
            approvals: Approvals::default(),
            session: None,
            look_every: Duration::ZERO,
            egress: None,
            functions: HashMap::new(),
            authorizer: None,
            newer_home: NewerHome::default(),
        }
    }
}

impl CribOptions {
    /// Takes settings from these surroundings instead of the process's.
    #[must_use]
    pub fn surroundings(mut self, surroundings: Surroundings) -> Self {
        self.surroundings = surroundings;
        self
    }

    /// Keeps Toolcrib's data here.
    #[must_use]
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Works on this directory tree.
    #[must_use]
    pub fn workspace(mut self, workspace: impl Into<PathBuf>) -> Self {
        self.workspace = Some(workspace.into());
        self
    }

    /// Asks this approver.
    #[must_use]
    pub fn approver(self, approver: impl Approver) -> Self {
        self.approvals(Approvals::Ask(Arc::new(approver)))
    }

    /// Says who decides what needs approval; the default is no one.
    #[must_use]
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = approvals;
        self
    }

    /// Says which session the calls belong to, for grants that last as long; the default is a separate session.
    #[must_use]
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.session = Some(id.into());
        self
    }

    /// Lets calls go by what is known of tools' files for so long; for servers, which get many calls. By default every call looks.
    /// Changes that this process makes itself are known at once either way.
    #[must_use]
    pub fn look_every(mut self, pause: Duration) -> Self {
        self.look_every = pause;
        self
    }

    /// Sends what leaves for other machines this way, instead of the one the settings describe.
    #[must_use]
    pub fn egress(mut self, egress: Egress) -> Self {
        self.egress = Some(egress);
        self
    }

    /// Registers a function for tools of the store that name it (S4: `"type": "go"`, `"impl": {"goFunc": "…"}`; also `rust` and
    /// `function`). Their definition is published and checked: schemas, description, limits and tags; the function runs. One that
    /// is not registered leaves such a tool unavailable, and its file as it is.
    #[must_use]
    pub fn function(mut self, name: impl Into<String>, function: Arc<dyn Tool>) -> Self {
        self.functions.insert(name.into(), function);
        self
    }

    /// Says who logs in at upstream MCP servers that want OAuth; without one they are not reached.
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = Some(authorizer);
        self
    }

    /// Says what to do with a home that a newer version has changed.
    #[must_use]
    pub fn newer_home(mut self, newer_home: NewerHome) -> Self {
        self.newer_home = newer_home;
        self
    }

    /// Opens the crib. Nothing is written until there is something to write.
    pub fn open(self) -> Result<Crib, OpenError> {
        let home = match self.home {
            Some(home) => self.surroundings.resolve(&home),
            None => self.surroundings.home()?,
        };
        let may_write = match (format::check(&home), self.newer_home) {
            (Ok(()), _) => true,
            (Err(_), NewerHome::Read) => false,
            (Err(error), NewerHome::Refuse) => return Err(error.into()),
        };
        let mut config = Config::load(&home, &self.surroundings)?;
        if let Some(workspace) = &self.workspace {
            config.set_flag("workspace", &workspace.to_string_lossy())?;
        }
        let found = self
            .surroundings
            .find_workspace(self.workspace.as_deref(), Some(&config));
        let (workspace, no_workspace) = match found {
            Ok(path) => (Some(Workspace::open(&path)?.without(&home)), None),
            Err(why) => (None, Some(why.to_string())),
        };
        if let Some(workspace) = &workspace {
            config.tighten_by_project(workspace)?;
        }
        let (rules, mut warnings) = load_rules(&home, workspace.as_ref(), &config.disabled_rules())
            .map_err(ConfigError::from)?;
        let usage = Arc::new(UsageLog::at(
            &home,
            workspace.as_ref().map(|workspace| workspace.root()),
        ));
        let options = CallLogOptions {
            max_total_bytes: config.max_log_bytes(),
            max_file_bytes: CallLogOptions::default()
                .max_file_bytes
                .min(config.max_log_bytes() / 4),
        };
        let call_log = CallLog::with_options(home.join(CALLS), options);
        let call_log = call_log.in_home(Arc::new(FormatWatch::at(&home)));
        let call_log = Arc::new(call_log.counting(Arc::clone(&usage)));
        let mut options = config.approvals();
        if let Approvals::Queue { wait: Some(wait) } = self.approvals {
            options.expires = wait;
        }
        let held = HeldStore::at(&home);
        if may_write {
            warnings.extend(held.recover());
        }
        let standing = Arc::new(held.clone());
        let approvals = ApprovalQueue::with_standing(home.join(APPROVALS), options, standing);
        let grants = Grants::at(home.join(GRANTS));
        let secrets = SecretStore::at(home.join(SECRETS)).masking_file(home.join(OPERATOR_TOKEN));
        if let Some(Some(token)) = self.surroundings.variable(TOKEN_VARIABLE) {
            secrets.always_mask(&Secret::new(token));
        }
        let approver: Arc<dyn Approver> = match self.approvals {
            Approvals::Ask(approver) => approver,
            Approvals::Given { why } => Arc::new(OnlyGiven::of(approvals.clone(), why)),
            Approvals::Queue { .. } => Arc::new(approvals.clone()),
        };
        let mut builder = Registry::builder()
            .rules(rules.clone())
            .shared_approver(approver)
            .grants(grants.clone())
            .approved_files(ApprovedFiles::at(home.join(STATE)))
            .secrets(secrets.clone())
            .recorder(Arc::clone(&call_log) as _)
            .replay(replay::in_directory(
                home.join(CALLS).join("ids"),
                config.keep_outcomes(),
            ))
            .limits(&config.limits())
            .max_concurrent(config.max_concurrent_total())
            .look_every(self.look_every);
        if let Some(session) = self.session {
            builder = builder.session(session);
        }
        let root = workspace.as_ref().map(Workspace::root);
        builder = builder.rates(SharedRates::in_directory(home.join(STATE), root));
        if let Some(workspace) = workspace {
            builder = builder.workspace(workspace);
        }
        let registry = builder.build();
        let egress = match self.egress {
            Some(egress) => egress,
            None => Egress::new(config.egress()?).map_err(|error| ConfigError::Value {
                place: "config.toml".to_owned(),
                problem: error.to_string(),
            })?,
        };
        let builtins = builtin_options(&config, no_workspace, &egress, &secrets, &held);
        let sandbox = builtins.sandbox.options.clone();
        registry.register_builtins_with(builtins)?;
        let finder = Arc::new(finder::Finder::default());
        discovery::register(&registry, &finder)?;
        let results = Results::at(home.join(RESULTS), config.results(), secrets.clone());
        results::register(&registry, &results)?;
        let max_tools = config.max_tools();
        let store = Store::at(
            &home,
            StoreOptions {
                max_tools,
                ..StoreOptions::default()
            },
        );
        let settings = Arc::new(CommandSettings {
            runner: Arc::new(Runner::new(sandbox)),
            sudo: config.sudo(),
            secrets: Some(secrets.clone()),
        });
        let http = Arc::new(HttpSettings::new(egress.clone(), Some(secrets.clone())));
        let user = self.surroundings.user_directory();
        let upstreams = Arc::new(Upstreams::new(UpstreamOptions {
            home: home.clone(),
            egress: egress.clone(),
            secrets: secrets.clone(),
            directory: user.clone().unwrap_or_else(|| PathBuf::from("/")),
            sandbox: SandboxOptions {
                readable: readable(&config),
                memory: config.sandbox_memory(),
                pids: config.sandbox_processes(),
                ..SandboxOptions::default()
            },
            authorizer: self.authorizer,
        }));
        let workshop = Workshop {
            settings: Arc::clone(&settings),
            http: Arc::clone(&http),
            secrets: secrets.clone(),
            functions: self.functions,
            upstreams: Arc::clone(&upstreams),
        };
        let disabled = config.disabled_tools();
        let reaper = Arc::new(reaping::Reaper::new(&home, &store));
        let sources = Sources::new(SourceOptions {
            home: home.clone(),
            workspace: registry.workspace().cloned(),
            user,
            upstream: Arc::new(UpstreamTools::new(Arc::clone(&upstreams), home.clone())),
            upstreams: config.upstreams().clone(),
            global: self.surroundings.resolve(&config.global_directory()),
            disabled: config.disabled_tools(),
            settings,
            http,
            stored: Arc::new(StoredTools::new(&store, workshop, disabled, max_tools)),
            secrets: secrets.clone(),
            now_and_then: {
                let reaper = Arc::clone(&reaper);
                Box::new(move || {
                    if may_write {
                        reaper.follow();
                    }
                })
            },
        });
        sources.attach(&registry);
        // After the first look of the store, which knows what is in the bin.
        if may_write {
            reaper.reap_at_times();
        }
        warnings.extend(rules_for_nothing(&registry, &rules, &home));
        warnings.extend_from_slice(config.warnings());
        warnings.extend(
            egress
                .allowed_hosts()
                .warnings()
                .into_iter()
                .map(|warning| format!("`allowedHosts`: {warning}")),
        );
        Ok(Crib {
            home,
            config,
            rules,
            registry,
            call_log,
            usage,
            results,
            approvals,
            held,
            grants,
            secrets,
            store,
            sources,
            egress,
            finder,
            order: listing::Order::default(),
            warnings,
        })
    }
}

/// What the settings say about the built-in tools.
pub(crate) fn builtin_options(
    config: &Config,
    no_workspace: Option<String>,
    egress: &Egress,
    secrets: &SecretStore,
    held: &HeldStore,
) -> BuiltinOptions {
    BuiltinOptions {
        read: ReadOptions {
            extensions: config.read_extensions(),
        },
        list: ListOptions {
            max_entries: config.list_entries(),
        },
        sandbox: SandboxSettings {
            shell: config.shell_isolation(),
            code: config.code_isolation(),
            network: config.sandbox_network(),
            cpu: config.cpu_time(),
            options: SandboxOptions {
                readable: readable(config),
                memory: config.sandbox_memory(),
                pids: config.sandbox_processes(),
                egress: Some(egress.clone()),
                absent: config.absent_names(),
                held: Some(held.clone()),
                sandbox: None,
            },
        },
        egress: Some(egress.clone()),
        search: config.search(),
        embeddings: config.embeddings(),
        secrets: Some(secrets.clone()),
        git: config.git(),
        databases: config.databases(),
        no_workspace,
        no_network: None,
    }
}

/// The paths of the setting `readable` that are there; a configuration may be shared by machines that differ.
fn readable(config: &Config) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute());
    let place = |path: String| match path.strip_prefix("~/") {
        Some(rest) => home.as_ref().map(|home| home.join(rest)),
        None => Some(PathBuf::from(path)),
    };
    config
        .readable()
        .into_iter()
        .filter_map(place)
        .filter(|path| path.is_absolute() && path.exists())
        .collect()
}

/// Says which rules are for tools that are not there: a misspelt name would be a rule that never holds. A rule of the home may be for a
/// tool of another workspace, so there only a name that is nearly that of a tool here counts as misspelt, and not if a tool of that name
/// is trusted in another workspace.
fn rules_for_nothing(registry: &Registry, rules: &RuleSet, home: &Path) -> Vec<String> {
    let workspace = registry.workspace().map(|workspace| workspace.root());
    let named = rules
        .added()
        .flat_map(|rule| rule.tools().iter().map(move |tool| (rule, tool)));
    named
        .filter_map(|(rule, tool)| Some((rule, tool, registry.find(tool).err()?)))
        .filter(|(rule, tool, error)| {
            let is_near = error
                .details()
                .is_some_and(|details| details.contains_key("near"));
            !matches!(rule.origin(), RuleOrigin::Home(_))
                || is_near && !is_trusted_elsewhere(home, tool, workspace)
        })
        .map(|(rule, _, error)| format!("rule `{}`: {error}", rule.name()))
        .collect()
}

/// Why a crib cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no home.
    #[error(transparent)]
    Home(#[from] NoHome),
    /// This version may not write the home.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The workspace cannot be opened.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// Two tools claim one name.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

/// A registry with everything around it: configuration, workspace, call log, approvals and grants.
pub struct Crib {
    home: PathBuf,
    config: Config,
    rules: RuleSet,
    registry: Registry,
    call_log: Arc<CallLog>,
    usage: Arc<UsageLog>,
    results: Results,
    approvals: ApprovalQueue,
    held: HeldStore,
    grants: Grants,
    secrets: SecretStore,
    store: Store,
    sources: Arc<Sources>,
    egress: Egress,
    finder: Arc<finder::Finder>,
    order: listing::Order,
    warnings: Vec<String>,
}

impl Crib {
    /// Opens the crib of this user, in this directory.
    pub fn open() -> Result<Self, OpenError> {
        CribOptions::default().open()
    }

    /// The tools and the way to call them.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The rules in force.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// Warnings about the settings that do not make them unusable, and about the files of tools.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.setting_warnings();
        warnings.extend(self.sources.report().warnings());
        warnings.extend(self.store_warnings());
        warnings.extend(self.sources.upstream().problems());
        warnings
    }

    /// Warnings about the settings alone.
    pub fn setting_warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        warnings.extend(self.sources.report().disables_nothing.iter().cloned());
        warnings
    }

    /// What became of the files of tools, in all scopes, as of the last time tools were looked for.
    pub fn tool_files(&self) -> Arc<Report> {
        self.sources.report()
    }

    /// Loads what has changed in the files of tools, which happens by itself whenever tools are looked for; says whether
    /// something did. Calls that run keep the tools they began with.
    pub fn reload(&self) -> bool {
        self.sources.reload(&self.registry)
    }

    /// What there is to trust among the tools of the workspace. To show a person, before [`Crib::trust`].
    pub fn review(&self) -> Review {
        self.sources.reload(&self.registry);
        self.sources.review()
    }

    /// Trusts the tools of the workspace, exactly as they were reviewed: a file that is another by now stays untrusted.
    pub fn trust(&self, review: &Review) -> Result<(), ToolError> {
        self.sources.trust(review)?;
        self.sources.reload(&self.registry);
        Ok(())
    }

    /// Trusts a file of a tool that the user has just written, with these bytes.
    pub fn pin(&self, file: &Path, bytes: &[u8]) -> Result<(), ToolError> {
        self.sources.pin(file, bytes)?;
        self.sources.reload(&self.registry);
        Ok(())
    }

    /// Forgets that a file of a tool was trusted, as for one that was just removed.
    pub fn unpin(&self, file: &Path) -> Result<(), ToolError> {
        self.sources.unpin(file)?;
        self.sources.reload(&self.registry);
        Ok(())
    }

    /// Switches tools on or off, for good and for every process of this home. What the setting `disabledTools` names stays off.
    ///
    /// A tool of the store has its switch in its own file: `bundle/slug@version` means that version, other references the one they
    /// find. Nothing is switched if a reference finds no tool; a tool that cannot be switched does not keep the others from it.
    pub fn set_enabled(&self, tools: &[&str], enabled: bool) -> Result<(), ToolError> {
        for tool in tools {
            self.registry.find(tool)?;
        }
        self.switch_each(tools, enabled).into_iter().collect()
    }

    /// Like [`set_enabled`](Self::set_enabled), but with a result for each tool, and an unknown one keeps no other from being switched.
    pub fn switch_each(&self, tools: &[&str], enabled: bool) -> Vec<Result<(), ToolError>> {
        let found = tools.iter().map(|tool| self.registry.find(tool));
        let found: Vec<Result<Arc<Entry>, ToolError>> = found.collect();
        let is_stored = |entry: &Arc<Entry>| entry.source() == Source::Store;
        let others: Vec<&ToolSpec> = found
            .iter()
            .flatten()
            .filter(|entry| !is_stored(entry))
            .map(|entry| entry.spec().as_ref())
            .collect();
        let switched_others = match others.is_empty() {
            true => Ok(()),
            false => self.sources.set_enabled(&others, enabled),
        };
        let switched = found
            .iter()
            .map(|entry| match entry {
                Err(error) => Err(error.clone()),
                Ok(entry) if is_stored(entry) => match bundles::key_of(entry) {
                    Some(key) => Ok(self.store.set_tool_enabled(&key, enabled).map(drop)?),
                    None => Ok(()),
                },
                Ok(_) => switched_others.clone(),
            })
            .collect();
        self.catch_up();
        if !others.is_empty() {
            self.sources.reload(&self.registry);
        }
        switched
    }

    /// The way out for everything that leaves for other machines.
    pub fn egress(&self) -> &Egress {
        &self.egress
    }

    /// Where Toolcrib keeps its data.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The questions that wait for a person in this home, whatever approver this crib's own calls have.
    pub fn approvals(&self) -> &ApprovalQueue {
        &self.approvals
    }

    /// What sends messages about questions that wait, by the channels `[notify.NAME]`; `zone` is that of their quiet hours.
    pub fn notifier(&self, zone: TimeZone) -> Result<NotifierOptions, ConfigError> {
        Ok(NotifierOptions {
            queue: self.approvals.clone(),
            channels: self.config.notify()?.clone(),
            url: self.config.server_url(),
            egress: self.egress.clone(),
            secrets: self.secrets.clone(),
            home: self.home.clone(),
            zone,
        })
    }

    /// The grants of this home.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The secrets of this home.
    pub fn secrets(&self) -> &SecretStore {
        &self.secrets
    }

    /// What runs planted and is held.
    pub fn held(&self) -> &HeldStore {
        &self.held
    }

    /// Answers a question of [`approvals`](Self::approvals): edited arguments and a grant are checked by this crib's tools and rules
    /// first, and the question stays open if they cannot be used.
    pub fn answer(
        &self,
        id: &str,
        digest: Option<&str>,
        mut response: ApprovalResponse,
    ) -> Result<Queued, AnswerError> {
        pipeline::mask_answer(&self.secrets.masker(), &mut response);
        // As a grant that is made by itself: what it does not name has its usual value. One that does not fit is refused below.
        if let Some(grant) = &mut response.grant
            && let Ok(queued) = self.approvals.show(id)
            && let asked = &queued.request
            && let Ok(entry) = self.registry.find(&asked.tool)
            && entry.digest() == asked.tool_digest
            && let Ok(shape) = fit(grant.shape.clone(), entry.spec())
        {
            grant.shape = shape;
        }
        self.approvals
            .answer(id, digest, response, |asked, answer| {
                self.registry.check_answer(asked, answer)
            })
    }

    /// Makes a grant for calls of a tool by `caller`, without a call to make it for.
    pub fn grant(
        &self,
        tool: &str,
        wanted: &GrantRequest,
        caller: &Caller,
        by: &str,
    ) -> Result<Grant, ToolError> {
        if wanted.scope == Scope::Call {
            let message = "a grant for one call is made when that call is asked about; choose `session`, `project` or `user`";
            return Err(ToolError::new(ErrorCode::Usage, message));
        }
        self.registry.grant(tool, wanted, caller, by)
    }

    /// Says what a shape would have allowed among the past calls of a tool in the call log.
    pub fn simulate(&self, tool: &str, shape: &Shape) -> Result<Simulation, ToolError> {
        let entry = self.registry.find(tool)?;
        let spec = entry.spec();
        let (reference, is_delete) = (spec.reference(), is_delete(spec));
        let mut found = Simulation::default();
        // One after the other, so that a log of any size takes no memory.
        CallLogReader::new(self.call_log_path()).latest(usize::MAX, |record| {
            // What a rule denied, or what had no meaning, no grant allows.
            let refused = matches!(
                record.code,
                Some(ErrorCode::BlockedByRule | ErrorCode::InvalidArguments)
            );
            let same = !refused
                && record.tool == spec.name.as_str()
                && record.bundle.as_ref() == Some(&spec.bundle)
                && record.version.as_ref() == Some(&spec.version);
            if same {
                let cut = record
                    .parameters
                    .iter()
                    .filter(|(name, value)| is_cut(name, value));
                let cut: Vec<&str> = cut.map(|(name, _)| name.as_str()).collect();
                let call = PastCall {
                    tool: &reference,
                    parameters: &record.parameters,
                    effects: spec.effects,
                    is_delete,
                    cut: &cut,
                };
                found.count(shape, self.workspace_path(), &call);
            }
            false
        })?;
        Ok(found)
    }

    /// Where the record of past calls is, for a `CallLogReader`.
    pub fn call_log_path(&self) -> PathBuf {
        self.home.join(CALLS)
    }

    /// What keeps the whole of results that models get in part.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// How recording has fared since the crib was opened.
    pub fn call_log_health(&self) -> CallLogHealth {
        self.call_log.health()
    }

    /// How often a tool was called, and when last, by every process of this home. Cheap enough for lists.
    pub fn usage(&self, entry: &Entry) -> Usage {
        self.usage.of(entry.spec(), entry.stored_id())
    }

    /// The counts of calls, for repairs.
    pub fn usage_log(&self) -> &UsageLog {
        &self.usage
    }

    /// What a sandboxed command may do when nothing else is said: write the workspace, read programs, the toolchains of the
    /// home directory and what `readable` names, reach nothing. `None` without a workspace.
    pub fn policy(&self, level: Level) -> Option<Policy> {
        let mut policy = Policy::new(level, self.workspace_path()?);
        policy.read.extend(readable(&self.config));
        // Elsewhere it is the operator who names what else may be read or written.
        if let Some(workspace) = self.registry.workspace()
            && workspace.own_data().is_some()
        {
            leave_out_own_data(&mut policy, workspace);
        }
        policy.absent = self.config.absent_names();
        policy.made = self.held.made_in(&policy.workspace);
        Some(policy)
    }

    /// Looks after what a command plants that runs behind [`policy`](Self::policy).
    pub fn look_after(&self, command: Command) -> Result<(Command, Arc<HeldRun>), WorkspaceError> {
        let root = self.workspace_path().unwrap_or(Path::new("/"));
        let run = HeldRun::before_a_call(&self.held, root)?;
        Ok((command.keeper(Arc::clone(&run) as _), run))
    }

    /// Where the workspace is, if there is one. For the operator; tools never see it.
    pub fn workspace_path(&self) -> Option<&Path> {
        self.registry.workspace().map(|workspace| workspace.root())
    }
}
