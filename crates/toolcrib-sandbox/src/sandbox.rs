//! What this machine can enforce, found out once; and policies made ready for it.

use crate::{
    birth::{self, Midwife},
    cgroup::Cgroups,
    engine::Engine,
    error::SandboxError,
    policy::Policy,
    prepared::Prepared,
    support::Support,
    temporary,
    user::Namespaces,
};
use std::sync::Arc;

/// Starts commands behind walls. Cheap to clone; made once, it has tried what this machine can enforce.
#[derive(Clone, Debug)]
pub struct Sandbox {
    engine: Arc<Engine>,
}

impl Sandbox {
    /// Finds out what can be enforced here.
    pub fn new() -> Result<Self, SandboxError> {
        temporary::sweep();
        let cgroups = Cgroups::discover();
        let support = Support::probe(&cgroups);
        Self::assemble(support, cgroups)
    }

    /// A sandbox of this machine with other support, for trying how a policy fares where layers are missing.
    pub fn with_support(support: Support) -> Result<Self, SandboxError> {
        Self::assemble(support, Cgroups::discover())
    }

    fn assemble(support: Support, cgroups: Cgroups) -> Result<Self, SandboxError> {
        let init = birth::init_program()
            .map_err(|source| SandboxError::setup("the init program in memory", source))?;
        birth::probe_init(&init)
            .map_err(|source| SandboxError::setup("starting a process", source))?;
        let midwife = Midwife::new().map_err(|source| SandboxError::setup("a thread", source))?;
        let namespaces = Namespaces::default();
        Ok(Self {
            engine: Arc::new(Engine {
                support,
                cgroups,
                namespaces,
                init,
                midwife,
            }),
        })
    }

    /// What can be enforced here.
    pub fn support(&self) -> &Support {
        &self.engine.support
    }

    /// Makes a policy ready: refuses what cannot be enforced or makes no sense, before anything is started.
    pub fn prepare(&self, policy: &Policy) -> Result<Prepared, SandboxError> {
        let inner = self.engine.plan(policy)?;
        Ok(Prepared::new(
            Arc::clone(&self.engine),
            policy.clone(),
            inner,
        ))
    }
}
