//! Commands on behalf of calls: behind the sandbox, streamed as they run, ended with the call.
//!
//! The one way a tool starts a program. What a command prints goes to the call's events as it comes and is kept up to the
//! call's limit, head and tail; when the call is cancelled or its time is up, every process is ended first and what was
//! printed so far is in the error's details.
//!
//! The runner keeps the sandbox of its last calls for a second and, from the second call on, one sandbox ready ahead of its
//! command: a call then costs little more than starting the program.

mod capture;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::model::JsonObject;
use crate::model::context::CallContext;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::as_millis;
use crate::model::outcome::{SandboxUse, ToolOutput};
use crate::sandbox::{
    Cancel, Command, EndedBy, Level, Network, Policy, Prepared, Report, Sandbox, SandboxError,
    Status,
};
use capture::Capture;

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

/// How strong the wall around a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wall {
    /// The level.
    pub(crate) level: Level,
    /// Whether the next lower level will do where this one cannot be had: only when nobody named it.
    pub(crate) may_fall_back: bool,
    /// What can be reached.
    pub(crate) network: bool,
}

/// A command that ended by itself.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit_code: i32,
    pub(crate) duration: Duration,
}

/// Runs commands for calls.
pub(crate) struct Runner {
    options: SandboxOptions,
    kept: Arc<Mutex<HashMap<(Level, bool), Kept>>>,
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
        wall: Wall,
        command: Command,
        timeout: Option<Duration>,
    ) -> Result<Finished, ToolError> {
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
            .blocking_until_stopped(move || runner.run_here(&call, wall, &command, &cancel))
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
        wall: Wall,
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
            let old = self.kept().remove(&(wall.level, wall.network));
            drop(old);
        } else if is_repeated {
            // Best effort: the next call sets its sandbox up itself if this fails.
            let _ = prepared.keep_ready();
        }
        finished(cx, &report, stdout, stderr)
    }

    /// The sandbox for a wall, and whether it is in its second use.
    fn prepared(&self, cx: &CallContext, wall: Wall) -> Result<(Arc<Prepared>, bool), ToolError> {
        let key = (wall.level, wall.network);
        let mut kept = self.kept();
        if let Some(kept) = kept
            .get_mut(&key)
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
        let old = self.kept().insert(key, new);
        drop(old);
        Ok((prepared, false))
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<(Level, bool), Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prepare(&self, cx: &CallContext, wall: Wall) -> Result<Prepared, ToolError> {
        let sandbox = match &self.options.sandbox {
            Some(sandbox) => sandbox.clone(),
            None => machine()?,
        };
        let workspace = cx.workspace()?;
        let mut policy = Policy::new(wall.level, workspace.root());
        policy.protected.extend(workspace.own_data());
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

fn finished(
    cx: &CallContext,
    report: &Report,
    stdout: String,
    stderr: String,
) -> Result<Finished, ToolError> {
    let name = &cx.spec().name;
    let failure = match (report.ended_by, report.status) {
        (None, Status::Exited(exit_code)) => {
            return Ok(Finished {
                stdout,
                stderr,
                exit_code,
                duration: report.duration,
            });
        }
        (None, Status::Signalled(signal)) => {
            ToolError::failed(format!("the command was ended by {}", signal_name(signal)))
        }
        (Some(EndedBy::Time | EndedBy::Cancelled), _) => {
            ToolError::new(ErrorCode::Cancelled, format!("`{name}` was cancelled"))
        }
        (Some(limit), _) => ToolError::failed(match limit {
            EndedBy::Memory => "the command needed more memory than it may have, and was ended",
            EndedBy::Growth => "the command wrote more than it may, and was ended",
            EndedBy::Cpu => "the command used more CPU time than it may have, and was ended",
            _ => "the command reached a limit, and was ended",
        })
        .with_detail("limit", limit.name()),
    };
    let mut details = fields(stdout, stderr, report.exit_code(), report.duration);
    if let (None, Status::Signalled(signal)) = (report.ended_by, report.status) {
        details.insert("signal".to_owned(), signal.into());
    }
    Err(with_details(failure, details))
}

fn with_details(error: ToolError, details: JsonObject) -> ToolError {
    details
        .into_iter()
        .fold(error, |error, (key, value)| error.with_detail(key, value))
}

/// What is published of a command, whether it went well or not.
fn fields(stdout: String, stderr: String, exit_code: i32, duration: Duration) -> JsonObject {
    let mut fields = JsonObject::with_capacity(4);
    fields.insert("stdout".to_owned(), stdout.into());
    fields.insert("stderr".to_owned(), stderr.into());
    fields.insert("exitCode".to_owned(), exit_code.into());
    fields.insert("duration".to_owned(), as_millis(duration).into());
    fields
}

impl Finished {
    /// The value `{stdout, stderr, exitCode, duration}`, and a text that says what a model needs to know of it.
    pub(crate) fn into_output(self) -> ToolOutput {
        let mut text = self.stdout.clone();
        if !self.stderr.is_empty() {
            end_line(&mut text);
            text.push_str("[stderr]\n");
            text.push_str(&self.stderr);
        }
        if self.exit_code != 0 {
            end_line(&mut text);
            text.push_str(&format!("[exit code {}]\n", self.exit_code));
        }
        let value = fields(self.stdout, self.stderr, self.exit_code, self.duration);
        ToolOutput::value(value).with_text(text)
    }
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// The schema of what [`Finished::into_output`] gives.
pub(crate) fn output_schema() -> serde_json::Value {
    json!({
        "type": "object",
        "required": ["stdout", "stderr", "exitCode", "duration"],
        "properties": {
            "stdout": {"type": "string", "description": "What it printed"},
            "stderr": {"type": "string", "description": "What it printed as errors"},
            "exitCode": {"type": "integer", "description": "0 when all went well, by convention"},
            "duration": {"type": "integer", "description": "How long it ran, in milliseconds"}
        }
    })
}

fn sandbox_use(wall: Wall, report: &Report) -> SandboxUse {
    SandboxUse {
        requested: wall.level.name().to_owned(),
        level: report.level.name().to_owned(),
        layers: report
            .layers
            .iter()
            .map(|layer| layer.name().to_owned())
            .collect(),
        not_enforced: report
            .not_enforced
            .iter()
            .map(|missing| missing.layer.name().to_owned())
            .collect(),
        planted: report
            .planted
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect(),
    }
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

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    format!("signal {signal} ({name})")
}
