//! Runs commands for calls, and keeps the sandboxes of the last ones.
//!
//! The runner keeps the sandbox of its last calls for a second and, from the second call on, one sandbox ready ahead of its
//! command: a call then costs little more than starting the program. Commands that start at once behind one wall wait for
//! the one that makes it ready. A sandbox is planned again after a few seconds, and after a run that made a protected name, so
//! that new repositories are protected. Sandboxes are kept by their whole `Wall`.

use std::collections::HashMap;
use std::future::pending;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures_util::future::select;
use tokio::sync::oneshot;

use super::capture::Capture;
use super::dialogue::Talk;
use super::egress_proxy::WayOut;
use super::ending::{Finished, NoNetwork, finished, sandbox_use, with_details};
use super::preview::{LookBounds, Looked};
use super::{Run, SandboxOptions, Wall};
use crate::call::context::CallContext;
use crate::egress::Egress;
use crate::held::HeldRun;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::as_millis;
use crate::model::text;
use crate::sandbox::{
    self, Cancel, Command, Layer, Level, Limits, Prepared, Replaced, Sandbox, Support,
};
use crate::workspace::{InUse, Runnable, Workspace};

/// How long a sandbox is kept after its last call. Where absent names are refused, the workspace holds empty directories in their place
/// meanwhile, so this is short.
const IDLE: Duration = Duration::from_secs(1);

/// How long a sandbox is used before the workspace is examined again: repositories that were created in the meantime are protected then.
const MAX_AGE: Duration = Duration::from_secs(5);

/// How many sandboxes are kept; of more, the one that was used least lately is let go.
const MAX_KEPT: usize = 8;

/// Runs commands for calls.
#[doc(hidden)]
pub struct Runner {
    options: SandboxOptions,
    kept: Arc<Mutex<HashMap<Key, PooledSandbox>>>,
}

/// What a sandbox is prepared for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    wall: Wall,
    terminal: bool,
}

/// The sandbox, once a caller has made it ready: others wait here meanwhile.
type PreparedSlot = Mutex<Option<Arc<Prepared>>>;

struct PooledSandbox {
    place: Arc<PreparedSlot>,
    runs: u32,
    made: Instant,
    last: Instant,
}

impl Runner {
    #[doc(hidden)]
    pub fn new(options: SandboxOptions) -> Self {
        Runner {
            options,
            kept: Arc::default(),
        }
    }

    /// Runs a command for a call.
    pub(crate) async fn run(
        self: &Arc<Self>,
        cx: &CallContext,
        wall: &Wall,
        run: Run,
    ) -> Result<Finished, ToolError> {
        let Run {
            command,
            timeout,
            keep,
            sink,
            bytes,
            outlives_call,
            dialogue,
        } = run;
        let (command, talk) = match dialogue {
            Some(dialogue) => dialogue
                .begin(command)
                .map(|(command, talk)| (command, Some(talk)))
                .map_err(no_descriptor)?,
            None => (command, None),
        };
        let (command, way_out) =
            WayOut::open(wall, self.options.egress.as_ref(), cx.exchanges(), command)?;
        let closing = way_out.as_ref().map(WayOut::closing);
        let cancel = Cancel::new().map_err(no_descriptor)?;
        let late = Arc::new(AtomicBool::new(false));
        let (running, over) = oneshot::channel::<()>();
        let end = end_in_time(
            (!outlives_call).then(|| cx.clone()),
            timeout,
            over,
            CancelWhenDropped(cancel.clone()),
            Arc::clone(&late),
        );
        let kept = Arc::downgrade(&self.kept);
        // On its own, since the call may let go of us before the command has ended.
        tokio::spawn(async move {
            end.await;
            forget_when_idle(kept).await;
        });
        let (runner, call, wall) = (Arc::clone(self), cx.clone(), wall.clone());
        let work = move || {
            let _running = running;
            let _closing = closing;
            let capture = Capture::new(&call, keep, sink, bytes);
            runner.run_here(&call, wall, command, capture, talk.as_ref(), &cancel)
        };
        let ended = if outlives_call {
            cx.blocking(work).await
        } else {
            cx.blocking_until_stopped(work).await
        };
        if let Some(way_out) = way_out {
            way_out.end().await;
        }
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

    /// Runs a command before there is a call, to find out what the call would do. Blocks: for tools whose spec says
    /// [`looks_first`](crate::spec::ToolSpec::looks_first). Nothing of it is on record, so it must change nothing.
    pub(crate) fn look(
        &self,
        workspace: &Workspace,
        wall: &Wall,
        command: &Command,
        bounds: LookBounds,
    ) -> Result<Looked, ToolError> {
        let key = Key {
            wall: wall.clone(),
            terminal: false,
        };
        let (prepared, _) = self.prepared(workspace, &key)?;
        let held = self.options.held.as_ref();
        let held = held.map(|store| HeldRun::before_a_call(store, workspace.root()));
        let held = held
            .transpose()
            .map_err(|error| ToolError::failed(error.to_string()))?;
        let command = match &held {
            Some(held) => &command.clone().keeper(Arc::clone(held) as _),
            None => command,
        };
        let cancel = Cancel::new().map_err(no_descriptor)?;
        let mut looked = Looked::default();
        let deadline = Instant::now() + bounds.time;
        let report = std::thread::scope(|scope| {
            let (over, waiting) = mpsc::channel::<()>();
            let end = cancel.clone();
            scope.spawn(move || {
                let left = deadline.saturating_duration_since(Instant::now());
                if waiting.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                    end.cancel();
                }
            });
            let take = &mut |stream, bytes: &[u8]| looked.take(stream, bytes, bounds.keep);
            let report = prepared.run(command, take, &cancel);
            drop(over);
            report
        });
        let report = report.map_err(|error| wall.refused(error))?;
        if let Some(held) = held {
            held.end(&report.made);
        }
        Ok(looked.end(&report))
    }

    /// What the sandbox of its commands can enforce here.
    pub(crate) fn support(&self) -> Result<Support, ToolError> {
        Ok(self.sandbox()?.support().clone())
    }

    /// Whether commands at this level can be shown files as copies, which nothing can change.
    pub(crate) fn can_replace_files(&self, level: Level) -> bool {
        let has_mounts = |support: Support| support.check(Layer::MountNamespace).is_ok();
        level > Level::None && self.support().is_ok_and(has_mounts)
    }

    /// The way out of programs that may reach hosts, if there is one.
    pub(crate) fn egress(&self) -> Option<&Egress> {
        self.options.egress.as_ref()
    }

    /// How much memory all processes of a command may have, in bytes.
    pub(crate) fn memory(&self, wall: &Wall) -> Option<u64> {
        let allowed = self.options.memory.or(Limits::default().memory);
        [allowed, wall.memory].into_iter().flatten().min()
    }

    /// Blocks until the last process of the command is gone.
    fn run_here(
        &self,
        cx: &CallContext,
        wall: Wall,
        mut command: Command,
        mut capture: Capture<'_>,
        talk: Option<&Talk>,
        cancel: &Cancel,
    ) -> Result<Finished, ToolError> {
        let key = Key {
            wall,
            terminal: talk.is_some(),
        };
        let wall = &key.wall;
        let workspace = cx.workspace()?;
        let mut in_use = None;
        let (prepared, is_repeated) = match cx.pinned() {
            [] => self.prepared(workspace, &key)?,
            pinned => {
                let copies = pinned.iter().filter(|file| file.content.is_some());
                let places = copies.flat_map(|file| {
                    let named = workspace.root().join(&file.path);
                    let linked = (file.host.as_ref() != Some(&named)).then_some(named);
                    file.host.clone().into_iter().chain(linked)
                });
                in_use = Some(InUse::of(places.collect()));
                (self.prepared_with(workspace, &key, pinned)?, false)
            }
        };
        let held = self.options.held.as_ref();
        let held = held.map(|store| HeldRun::new(store, workspace, cx));
        if let Some(held) = &held {
            command = command.keeper(Arc::clone(held) as _);
        }
        let report = prepared
            .run(
                &command,
                &mut |stream, bytes| capture.take(stream, bytes),
                cancel,
            )
            .map_err(|error| wall.refused(error))?;
        let (notes, left) = match held {
            Some(held) => held.end(&report.made),
            None => (Vec::new(), report.planted_paths()),
        };
        cx.note_held(notes);
        drop(in_use);
        let mut used = sandbox_use(wall, &report, &left);
        let copies = cx.pinned().iter().filter(|file| file.content.is_some());
        let replaced = copies.filter(|file| file.was_replaced());
        used.not_enforced
            .extend(replaced.map(|file| format!("approved copy of `{}`", file.path)));
        cx.note_sandbox(used);
        let captured = capture.finish();
        if is_repeated {
            // Best effort: the next call sets its sandbox up itself if this fails.
            let _ = prepared.keep_ready();
        }
        let mut done = finished(cx, &report, captured, talk)?;
        let is_shut_off = wall.network == super::Reachable::Nothing && report.level != Level::None;
        if done.exit_code != 0 && is_shut_off {
            done.no_network = NoNetwork::complained_of(&done.stderr, &done.stdout)
                .or_else(|| NoNetwork::ended_quietly(done.exit_code, &command));
        }
        Ok(done)
    }

    /// A sandbox for one command that sees these files as copies. What cannot be shown as one is compared once more.
    fn prepared_with(
        &self,
        workspace: &Workspace,
        key: &Key,
        pinned: &[Runnable],
    ) -> Result<Arc<Prepared>, ToolError> {
        let can_replace = self.can_replace_files(key.wall.level);
        let mut replaced = Vec::new();
        for file in pinned {
            match (&file.host, &file.content) {
                (Some(path), Some(content)) if can_replace => replaced.push(Replaced {
                    path: path.clone(),
                    content: Arc::clone(content),
                    executable: file.is_executable,
                }),
                _ => {
                    let now = workspace.runnable(&file.path);
                    if !now.is_some_and(|now| now.is_same(file)) {
                        return Err(changed(file));
                    }
                }
            }
        }
        if replaced.is_empty() {
            return Ok(self.prepared(workspace, key)?.0);
        }
        Ok(Arc::new(self.prepare(workspace, key, replaced)?))
    }

    fn prepare(
        &self,
        workspace: &Workspace,
        key: &Key,
        replaced: Vec<Replaced>,
    ) -> Result<Prepared, ToolError> {
        let (sandbox, options) = (self.sandbox()?, &self.options);
        key.wall
            .prepare(key.terminal, &sandbox, workspace, options, replaced)
    }

    fn sandbox(&self) -> Result<Sandbox, ToolError> {
        match &self.options.sandbox {
            Some(sandbox) => Ok(sandbox.clone()),
            None => machine(),
        }
    }

    /// The sandbox for a wall, and whether it is in its second use.
    fn prepared(
        &self,
        workspace: &Workspace,
        key: &Key,
    ) -> Result<(Arc<Prepared>, bool), ToolError> {
        if InUse::is_any() {
            // Those that are kept know nothing of files that approved commands run now.
            return Ok((Arc::new(self.prepare(workspace, key, Vec::new())?), false));
        }
        let (place, is_repeated, old) = self.place(key);
        drop(old);
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = &*place {
            return Ok((Arc::clone(prepared), is_repeated));
        }
        let prepared = Arc::new(self.prepare(workspace, key, Vec::new())?);
        *place = Some(Arc::clone(&prepared));
        Ok((prepared, false))
    }

    /// Where the sandbox for a wall is or will be, whether it is in its second use, and which ones are to be let go for it.
    fn place(&self, key: &Key) -> (Arc<PreparedSlot>, bool, Vec<PooledSandbox>) {
        let mut kept = self.kept();
        if let Some(kept) = kept
            .get_mut(key)
            .filter(|kept| kept.made.elapsed() < MAX_AGE)
        {
            kept.runs = kept.runs.saturating_add(1);
            kept.last = Instant::now();
            return (Arc::clone(&kept.place), kept.runs == 2, Vec::new());
        }
        let place = Arc::<PreparedSlot>::default();
        let new = PooledSandbox {
            place: Arc::clone(&place),
            runs: 1,
            made: Instant::now(),
            last: Instant::now(),
        };
        let mut old: Vec<PooledSandbox> = kept.insert(key.clone(), new).into_iter().collect();
        while kept.len() > MAX_KEPT {
            let least = kept.iter().min_by_key(|(_, kept)| kept.last);
            let Some(least) = least.map(|(key, _)| key.clone()) else {
                break;
            };
            old.extend(kept.remove(&least));
        }
        (place, false, old)
    }

    /// How many sandboxes are kept.
    #[cfg(test)]
    pub(super) fn kept_now(&self) -> usize {
        self.kept().len()
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<Key, PooledSandbox>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the sandboxes go that no one has used for a while.
async fn forget_when_idle(kept: Weak<Mutex<HashMap<Key, PooledSandbox>>>) {
    tokio::time::sleep(IDLE).await;
    let Some(kept) = kept.upgrade() else { return };
    let mut idle = Vec::new();
    kept.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .retain(|_, kept| {
            let keep = kept.last.elapsed() < IDLE;
            if !keep {
                idle.push(Arc::clone(&kept.place));
            }
            keep
        });
    // Taking mounts and processes apart blocks.
    if !idle.is_empty() {
        tokio::task::spawn_blocking(move || drop(idle));
    }
}

/// The sandbox of this machine, found out once for the whole process.
#[doc(hidden)]
pub fn machine() -> Result<Sandbox, ToolError> {
    static MACHINE: OnceLock<Sandbox> = OnceLock::new();
    if let Some(sandbox) = MACHINE.get() {
        return Ok(sandbox.clone());
    }
    // A failure may pass (too many open files), so it is not kept.
    let sandbox = Sandbox::new().map_err(sandbox::failure)?;
    Ok(MACHINE.get_or_init(|| sandbox).clone())
}

/// Ends a run when its call ends, when its time is up, and when the runtime that watches over it goes.
struct CancelWhenDropped(Cancel);

impl Drop for CancelWhenDropped {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Waits for whatever comes first: the end of the call (unless the run outlives it), of the run's time, or of the run.
async fn end_in_time(
    call: Option<CallContext>,
    timeout: Option<Duration>,
    over: oneshot::Receiver<()>,
    cancel: CancelWhenDropped,
    late: Arc<AtomicBool>,
) {
    let stopped = pin!(async {
        match &call {
            Some(call) => call.cancelled().await,
            None => pending().await,
        }
    });
    let ended = select(stopped, over);
    match timeout {
        None => drop(ended.await),
        Some(timeout) => {
            let is_late = tokio::time::timeout(timeout, ended).await.is_err();
            late.store(is_late, Ordering::Relaxed);
        }
    }
    drop(cancel);
}

/// A file that the approval counted for is another one now.
fn changed(file: &Runnable) -> ToolError {
    let message = format!(
        "{} changed after the call was approved, so nothing was run; call again",
        text::and_list(&[&file.path])
    );
    ToolError::new(ErrorCode::Conflict, message).with_detail("changed", vec![file.path.clone()])
}

fn no_descriptor(error: std::io::Error) -> ToolError {
    ToolError::failed("too many files are open; try again").caused_by(error)
}
