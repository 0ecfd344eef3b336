//! One policy, ready to run commands; and the sandboxes it keeps ready for them.

use crate::{
    command::Command,
    engine::{Engine, Inner, lock},
    error::SandboxError,
    layer::{Layer, Missing},
    level::Level,
    policy::{Network, Policy},
    protect::Guard,
    report::Report,
    run,
    stream::{Cancel, Stream},
};
use std::sync::{
    Arc, Mutex, Weak,
    atomic::{AtomicBool, Ordering},
};

/// One policy, ready to run commands, one after another or at once.
///
/// While it exists the workspace holds the placeholders of its policy, if that has any ([`crate::AbsentNames`]). Where a protected
/// name has been replaced or made since the last run, the next one is planned again.
#[derive(Debug)]
pub struct Prepared {
    engine: Arc<Engine>,
    policy: Policy,
    inner: Mutex<Arc<Inner>>,
    keeps_ready: AtomicBool,
}

impl Prepared {
    pub(crate) fn new(engine: Arc<Engine>, policy: Policy, inner: Inner) -> Self {
        Self {
            engine,
            policy,
            inner: Mutex::new(Arc::new(inner)),
            keeps_ready: AtomicBool::new(false),
        }
    }

    /// Sets one sandbox up ahead of its command, so that the next run costs little more than the command's own start.
    /// Each run sets up the next.
    pub fn keep_ready(&self) -> Result<(), SandboxError> {
        let inner = self.current()?;
        self.keeps_ready.store(true, Ordering::Relaxed);
        let making = Arc::clone(&inner);
        let made = inner.engine.midwife.call(move || making.make());
        let cell = made.map_err(|source| SandboxError::setup("a sandbox", source))??;
        lock(&inner.idle).push(cell);
        Ok(())
    }

    /// Whether a sandbox is ready for the next command.
    pub fn is_ready(&self) -> bool {
        !lock(&lock(&self.inner).idle).is_empty()
    }

    /// Runs a command, passing on its output as it comes; returns when its last process is gone.
    pub fn run(
        &self,
        command: &Command,
        output: &mut dyn FnMut(Stream, &[u8]),
        cancel: &Cancel,
    ) -> Result<Report, SandboxError> {
        if command.answers().is_some() && !self.policy.terminal {
            return Err(SandboxError::Invalid(
                "a command without a terminal cannot be answered".to_owned(),
            ));
        }
        let endpoint = match (self.policy.network, command.endpoint()) {
            (Network::Proxy, None) => {
                return Err(SandboxError::Invalid(
                    "a command whose network is a proxy needs a process that serves the proxy"
                        .to_owned(),
                ));
            }
            (Network::Proxy, endpoint) => endpoint,
            (Network::None | Network::Loopback | Network::Full, _) => None,
        };
        let inner = &self.for_a_run()?;
        let looking = inner.guard.as_ref().map(Guard::looking);
        if let (Some(looking), Some(keeper)) = (&looking, command.kept_by()) {
            let begun = keeper.begin(&looking.baseline());
            begun.map_err(|source| {
                SandboxError::setup("writing down what the workspace holds", source)
            })?;
        }
        let program = command.resolve(&inner.workspace, inner.plan.readable.as_deref())?;
        let extra = inner.variables();
        let terminal = inner.policy.terminal;
        let wire = command.wire(&program, &inner.workspace, &extra, terminal)?;
        let mut cell = match inner.take_ready() {
            Some(cell) => cell,
            None => inner.cell()?,
        };
        if let (Some(endpoint), Some(listener)) = (endpoint, cell.take_listener()) {
            endpoint.serve(listener);
        }
        // Beside the run, which leaves a core idle more often than not. But its own root takes so many mounts that the run
        // would wait for the kernel's lock over them: that one is made after it.
        let mut next = self
            .keeps_ready
            .load(Ordering::Relaxed)
            .then(|| Arc::downgrade(inner));
        if self.policy.level < Level::Container
            && let Some(next) = next.take()
        {
            inner.engine.midwife.send(move || refill(&next));
        }
        let looking = looking.as_ref();
        let (answer, namespaces) =
            run::supervise(inner, cell, command, &wire, looking, output, cancel);
        inner.engine.midwife.send(move || {
            if let Some(inner) = next {
                refill(&inner);
            }
            drop(namespaces);
        });
        answer
    }

    /// The layers that stand around every run of this policy.
    pub fn layers(&self) -> Vec<Layer> {
        lock(&self.inner).layers()
    }

    /// Layers that would stand if they could be had here.
    pub fn not_enforced(&self) -> Vec<Missing> {
        lock(&self.inner).plan.not_enforced.clone()
    }

    /// The plan, made again if the workspace no longer is what it was made for.
    fn current(&self) -> Result<Arc<Inner>, SandboxError> {
        let mut inner = lock(&self.inner);
        if inner
            .guard
            .as_ref()
            .is_some_and(|guard| !guard.is_current())
        {
            *inner = Arc::new(self.planned_after(&inner)?);
        }
        Ok(Arc::clone(&inner))
    }

    /// Plans for a run that begins now, with its own temporary directory.
    fn for_a_run(&self) -> Result<Arc<Inner>, SandboxError> {
        let mut inner = self.current()?;
        if inner.guard.as_ref().is_some_and(|guard| !guard.begin()) {
            inner = Arc::new(self.planned_after(&inner)?);
            *lock(&self.inner) = Arc::clone(&inner);
            inner.begin();
        }
        if inner.temporary.is_none() || !inner.used.swap(true, Ordering::Relaxed) {
            return Ok(inner);
        }
        inner.guard.iter().for_each(|guard| drop(guard.looking()));
        let inner = Arc::new(self.planned_after(&inner)?);
        inner.begin();
        inner.used.store(true, Ordering::Relaxed);
        Ok(inner)
    }

    /// A new plan, which knows what runs of the last one made.
    fn planned_after(&self, inner: &Inner) -> Result<Inner, SandboxError> {
        let mut policy = self.policy.clone();
        policy.made = inner.guard.as_ref().map(Guard::made).unwrap_or_default();
        self.engine.plan(&policy)
    }
}

/// Sets the next sandbox up, on the thread that makes them.
fn refill(inner: &Weak<Inner>) {
    let Some(inner) = inner.upgrade() else { return };
    if lock(&inner.idle).is_empty()
        && let Ok(cell) = inner.make()
    {
        lock(&inner.idle).push(cell);
    }
}
