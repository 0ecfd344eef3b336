//! What this machine can enforce, found out once; and policies made ready for it.

use crate::{
    birth::{self, Midwife},
    cgroup::Cgroups,
    error::SandboxError,
    layer::{Layer, Missing},
    plan,
    policy::{Level, Policy},
    prepared::{Inner, Prepared},
    protect::Guard,
    support::Support,
    sys,
    temporary::{self, TemporaryDirectory},
    user::Namespaces,
};
use std::{
    fs,
    os::fd::OwnedFd,
    path::Path,
    sync::{Arc, Mutex, atomic::AtomicBool},
};

/// Starts commands behind walls. Cheap to clone; made once, it has tried what this machine can enforce.
#[derive(Clone, Debug)]
pub struct Sandbox {
    engine: Arc<Engine>,
}

#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) support: Support,
    pub(crate) cgroups: Cgroups,
    pub(crate) namespaces: Namespaces,
    pub(crate) init: OwnedFd,
    pub(crate) midwife: Midwife,
}

impl Sandbox {
    /// Finds out what can be enforced here.
    pub fn new() -> Result<Self, SandboxError> {
        temporary::sweep();
        let cgroups = Cgroups::discover();
        let support = Support::probe(&cgroups);
        Self::assemble(support, cgroups)
    }

    /// The same machine with other support: for trying how a policy fares where layers are missing.
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
        let inner = self.plan(policy)?;
        Ok(Prepared::new(self.clone(), policy.clone(), inner))
    }

    pub(crate) fn plan(&self, policy: &Policy) -> Result<Inner, SandboxError> {
        policy.check()?;
        let engine = &self.engine;
        let unavailable = |missing: Missing| SandboxError::Unavailable {
            level: policy.level,
            missing,
        };
        engine.support.refuses(policy).map_err(unavailable)?;
        let unusable = |source| SandboxError::Path {
            role: "workspace",
            path: policy.workspace.clone(),
            source,
        };
        let workspace = policy.workspace.canonicalize().map_err(unusable)?;
        if workspace == Path::new("/") {
            return Err(SandboxError::Invalid(
                "`/` cannot be a workspace behind a wall; name a directory".to_owned(),
            ));
        }
        fs::read_dir(&workspace).map_err(unusable)?;
        let mounts =
            policy.level > Level::None && engine.support.check(Layer::MountNamespace).is_ok();
        let guard = ((policy.protect || !policy.protected.is_empty())
            && policy.level > Level::None)
            .then(|| {
                let processes = engine.support.check(Layer::PidNamespace).is_ok();
                Guard::new(&workspace, policy, mounts, processes)
            })
            .transpose()
            .map_err(unusable)?;
        let temporary = (!mounts).then(TemporaryDirectory::create).transpose();
        let temporary =
            temporary.map_err(|source| SandboxError::setup("a temporary directory", source))?;
        let user_namespace = self.user_namespace(policy)?;
        let directory = temporary.as_ref().map(TemporaryDirectory::path);
        let plan = plan::plan(
            policy,
            &engine.support,
            &workspace,
            guard.as_ref(),
            directory,
            user_namespace,
        )?;
        Ok(Inner {
            engine: Arc::clone(engine),
            policy: policy.clone(),
            workspace,
            plan,
            temporary,
            guard,
            used: AtomicBool::new(false),
            idle: Mutex::default(),
        })
    }

    /// Root's commands live in a user namespace in which no uid but their own exists; others get one at birth.
    fn user_namespace(&self, policy: &Policy) -> Result<Option<Arc<OwnedFd>>, SandboxError> {
        if sys::uid() != 0 || policy.level != Level::Container {
            return Ok(None);
        }
        let crate::User::Reduced { uid, gid } = (match policy.user {
            crate::User::Same => crate::User::REDUCED,
            reduced @ crate::User::Reduced { .. } => reduced,
        }) else {
            return Ok(None);
        };
        let namespace = self.engine.namespaces.of(uid, gid);
        namespace
            .map(Some)
            .map_err(|source| SandboxError::setup("a user namespace", source))
    }
}
