//! Commands on behalf of calls: behind the sandbox, streamed as they run, ended with the call.
//!
//! The one way a tool starts a program. What a command prints goes to the call's events as it comes and is kept up to the
//! call's limit, head and tail; when the call is cancelled or its time is up, every process is ended first and what was
//! printed so far is in the error's details.
//!
//! The runner keeps the sandbox of its last calls for a second and, from the second call on, one sandbox ready ahead of its
//! command: a call then costs little more than starting the program.

mod capture;
mod ending;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::model::context::CallContext;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::event::OutputStream;
use crate::model::limits::as_millis;
use crate::sandbox::{Cancel, Command, Level, Network, Policy, Prepared, Sandbox, SandboxError};
use crate::storage::DurableDir;
use crate::workspace::Workspace;
use capture::Capture;
pub(crate) use ending::{Finished, output_schema};
use ending::{finished, sandbox_use, with_details};

/// How long a sandbox is kept after its last call. While it is, the workspace holds the empty directories that keep
/// protected names from being made, so this is short.
const IDLE: Duration = Duration::from_secs(1);

/// How long a sandbox is used before the workspace is looked at anew: repositories that came meanwhile are protected then.
const MAX_AGE: Duration = Duration::from_secs(5);

/// The longest text one argument of a program can be, less its end (`MAX_ARG_STRLEN`).
pub(crate) const MAX_ARGUMENT: usize = 131_071;

/// What the operator sets about sandboxes.
#[derive(Debug, Clone, Default)]
pub struct SandboxOptions {
    /// What commands may read besides the workspace, programs and libraries (`readable`).
    pub readable: Vec<PathBuf>,
    /// Bytes of memory of all processes of a call (`sandbox.memoryMb`); 2 GB if not said.
    pub memory: Option<u64>,
    /// Processes and threads at once (`sandbox.maxProcesses`); 512 if not said.
    pub pids: Option<u32>,
    /// Another sandbox than the one that this machine has, for trying how things go where layers are missing.
    pub sandbox: Option<Sandbox>,
}

/// The wall around a command. Commands behind equal walls share what can be prepared for them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Wall {
    /// The level.
    pub(crate) level: Level,
    /// Whether the next lower level will do where this one cannot be had: only when nobody named it.
    pub(crate) may_fall_back: bool,
    /// Whether the network can be reached.
    pub(crate) network: bool,
    /// Whether it runs with fewer rights than the caller's.
    pub(crate) reduced: bool,
    /// What may be read besides the usual; host paths.
    pub(crate) read: Vec<PathBuf>,
    /// What may be written besides the workspace; host paths.
    pub(crate) write: Vec<PathBuf>,
    /// Bytes of memory of all processes, if less than the operator allows.
    pub(crate) memory: Option<u64>,
}

impl Wall {
    /// A wall of this level, with the workspace and nothing else behind it.
    pub(crate) fn of(level: Level) -> Self {
        Wall {
            level,
            may_fall_back: false,
            network: false,
            reduced: false,
            read: Vec::new(),
            write: Vec::new(),
            memory: None,
        }
    }
}

/// A command to run for a call, and how.
pub(crate) struct Run {
    /// What to start.
    pub(crate) command: Command,
    /// How long it may take, if less than the call has.
    pub(crate) timeout: Option<Duration>,
    /// How many bytes of each stream are kept, if less than the call's limit.
    pub(crate) keep: Option<u64>,
    /// Who gets the output as it comes; the call's events if nobody is named.
    pub(crate) sink: Option<Sink>,
    /// Whether it runs to its end (or its timeout) even when the call is over: what cleans up.
    pub(crate) outlives_call: bool,
    /// A terminal to run it on, with whoever answers its questions.
    pub(crate) dialogue: Option<Dialogue>,
}

/// Takes output as it comes.
pub(crate) type Sink = Box<dyn FnMut(OutputStream, &str) + Send>;

/// A terminal, and what is typed on it.
pub(crate) struct Dialogue {
    /// How long the program may be silent before the default answer is typed.
    pub(crate) timeout: Duration,
    /// The default answer, without its newline; without one, silence for `timeout` ends the run.
    pub(crate) default_response: Option<String>,
    /// What a person types, if one is there.
    pub(crate) typed: Option<tokio::sync::mpsc::Receiver<Vec<u8>>>,
}

impl Run {
    /// Runs a command for as long as its call lasts, output to the call's events.
    pub(crate) fn new(command: Command) -> Self {
        Run {
            command,
            timeout: None,
            keep: None,
            sink: None,
            outlives_call: false,
            dialogue: None,
        }
    }
}

/// Runs commands for calls.
pub(crate) struct Runner {
    options: SandboxOptions,
    kept: Arc<Mutex<HashMap<Wall, Kept>>>,
}

struct Kept {
    prepared: Arc<Prepared>,
    runs: u32,
    made: Instant,
    last: Instant,
}

impl Runner {
    pub(crate) fn new(options: SandboxOptions) -> Self {
        Runner {
            options,
            kept: Arc::default(),
        }
    }

    /// Runs a command for a call, for no longer than `timeout` if that is sooner than the call's own end.
    pub(crate) async fn run(
        self: &Arc<Self>,
        cx: &CallContext,
        wall: &Wall,
        run: Run,
    ) -> Result<Finished, ToolError> {
        let Run {
            command, timeout, ..
        } = run;
        let wall = wall.clone();
        let cancel = Cancel::new().map_err(no_descriptor)?;
        let late = Arc::new(AtomicBool::new(false));
        let bridge = tokio::spawn(end_with_call(
            cx.clone(),
            timeout,
            CancelWhenDropped(cancel.clone()),
            Arc::clone(&late),
        ));
        let (runner, call) = (Arc::clone(self), cx.clone());
        let ended = cx
            .blocking_until_stopped(move || runner.run_here(&call, &wall, &command, &cancel))
            .await;
        bridge.abort();
        self.forget_when_idle();
        match ended {
            Err(error) if error.code() == ErrorCode::Cancelled && late.load(Ordering::Relaxed) => {
                let allowed = timeout.map_or(0, as_millis);
                let message = format!("`{}` did not finish within {allowed} ms", cx.spec().name);
                let details = error.details().cloned().unwrap_or_default();
                Err(with_details(
                    ToolError::new(ErrorCode::Timeout, message),
                    details,
                ))
            }
            ended => ended,
        }
    }

    /// Blocks until the last process of the command is gone.
    fn run_here(
        &self,
        cx: &CallContext,
        wall: &Wall,
        command: &Command,
        cancel: &Cancel,
    ) -> Result<Finished, ToolError> {
        let (prepared, is_repeated) = self.prepared(cx, wall)?;
        let mut capture = Capture::new(cx);
        let report = prepared
            .run(
                command,
                &mut |stream, bytes| capture.take(stream, bytes),
                cancel,
            )
            .map_err(without_host_paths)?;
        cx.note_sandbox(sandbox_use(wall, &report));
        let [stdout, stderr] = capture.finish();
        if !report.planted.is_empty() {
            // A repository it made is one that exists when the next command starts.
            let old = self.kept().remove(wall);
            drop(old);
        } else if is_repeated {
            // Best effort: the next call sets its sandbox up itself if this fails.
            let _ = prepared.keep_ready();
        }
        finished(cx, &report, stdout, stderr)
    }

    /// The sandbox for a wall, and whether it is in its second use.
    fn prepared(&self, cx: &CallContext, wall: &Wall) -> Result<(Arc<Prepared>, bool), ToolError> {
        let mut kept = self.kept();
        if let Some(kept) = kept
            .get_mut(wall)
            .filter(|kept| kept.made.elapsed() < MAX_AGE)
        {
            kept.runs = kept.runs.saturating_add(1);
            kept.last = Instant::now();
            return Ok((Arc::clone(&kept.prepared), kept.runs == 2));
        }
        drop(kept);
        let prepared = Arc::new(self.prepare(cx, wall)?);
        let new = Kept {
            prepared: Arc::clone(&prepared),
            runs: 1,
            made: Instant::now(),
            last: Instant::now(),
        };
        let old = self.kept().insert(wall.clone(), new);
        drop(old);
        Ok((prepared, false))
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<Wall, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prepare(&self, cx: &CallContext, wall: &Wall) -> Result<Prepared, ToolError> {
        let sandbox = match &self.options.sandbox {
            Some(sandbox) => sandbox.clone(),
            None => machine()?,
        };
        let workspace = cx.workspace()?;
        let mut policy = Policy::new(wall.level, workspace.root());
        keep_own_data(&mut policy, workspace);
        policy.read.extend(self.options.readable.iter().cloned());
        policy.network = if wall.network {
            Network::Full
        } else {
            Network::None
        };
        policy.limits.memory = self.options.memory.or(policy.limits.memory);
        policy.limits.pids = self.options.pids.or(policy.limits.pids);
        // The call has the time; and what is printed beyond its limit is read and let go, so that a command that talks too
        // much still comes to its end.
        policy.limits.time = None;
        policy.limits.output = u64::MAX;
        match sandbox.prepare(&policy) {
            Err(SandboxError::Unavailable { .. }) if wall.may_fall_back => {
                policy.level = Level::Process;
                sandbox.prepare(&policy)
            }
            prepared => prepared,
        }
        .map_err(without_host_paths)
    }

    /// Lets the sandboxes go that nobody has used for a while.
    fn forget_when_idle(&self) {
        let kept = Arc::downgrade(&self.kept);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            let Some(kept) = kept.upgrade() else { return };
            let mut idle = Vec::new();
            kept.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .retain(|_, kept| {
                    let keep = kept.last.elapsed() < IDLE;
                    if !keep {
                        idle.push(Arc::clone(&kept.prepared));
                    }
                    keep
                });
            // Taking mounts and processes apart blocks.
            if !idle.is_empty() {
                tokio::task::spawn_blocking(move || drop(idle));
            }
        });
    }
}

/// Keeps a command from changing Toolcrib's own data, should that lie in the workspace.
pub(crate) fn keep_own_data(policy: &mut Policy, workspace: &Workspace) {
    if let Some(own) = workspace.own_data() {
        // Made now: what covers an absent name would be in the way of the record of this very call. Should it fail, the
        // name is covered all the same.
        let _ = DurableDir::create(&own);
        policy.protected.push(own);
    }
}

/// The sandbox of this machine, found out once for the whole process.
fn machine() -> Result<Sandbox, ToolError> {
    static MACHINE: OnceLock<Sandbox> = OnceLock::new();
    if let Some(sandbox) = MACHINE.get() {
        return Ok(sandbox.clone());
    }
    // A failure may pass (too many open files), so it is not kept.
    let sandbox = Sandbox::new()?;
    Ok(MACHINE.get_or_init(|| sandbox).clone())
}

/// Ends a run when its call ends, when its time is up, and when the runtime that watches over it goes.
struct CancelWhenDropped(Cancel);

impl Drop for CancelWhenDropped {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

async fn end_with_call(
    cx: CallContext,
    timeout: Option<Duration>,
    cancel: CancelWhenDropped,
    late: Arc<AtomicBool>,
) {
    match timeout {
        None => cx.cancelled().await,
        Some(timeout) => {
            let over = tokio::time::timeout(timeout, cx.cancelled()).await.is_err();
            late.store(over, Ordering::Relaxed);
        }
    }
    drop(cancel);
}

/// Callers of tools do not learn where things are on the host.
fn without_host_paths(error: SandboxError) -> ToolError {
    match &error {
        SandboxError::Path { .. } => ToolError::new(
            ErrorCode::SandboxUnavailable,
            "the workspace, or a path of the setting `readable`, cannot be used for a sandbox; \
             `toolcrib doctor` says more",
        )
        .caused_by(error),
        SandboxError::NoProgram { name, .. } => ToolError::failed(format!(
            "the program `{name}` cannot be found in the sandbox; install it, or name its directory in the setting `readable`"
        ))
        .caused_by(error),
        _ => error.into(),
    }
}

fn no_descriptor(error: std::io::Error) -> ToolError {
    ToolError::failed("too many files are open; try again").caused_by(error)
}
