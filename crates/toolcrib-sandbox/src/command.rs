//! What to run: program, arguments, directory, environment, and how it travels to the process that waits for it.

use crate::{error::SandboxError, protect::Keeper, terminal::Dialogue};
use std::{
    ffi::{OsStr, OsString},
    fmt,
    net::TcpListener,
    os::fd::OwnedFd,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

/// A command to run in a sandbox.
#[derive(Clone, Debug)]
pub struct Command {
    program: OsString,
    arguments: Vec<OsString>,
    directory: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    stdin: Stdin,
    dialogue: Option<Dialogue>,
    endpoint: Option<Endpoint>,
    keeper: Option<SharedKeeper>,
}

#[derive(Clone)]
struct SharedKeeper(Arc<dyn Keeper>);

impl fmt::Debug for SharedKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keeper")
    }
}

/// Receives the listening socket of each run.
#[derive(Clone)]
pub(crate) struct Endpoint(Arc<dyn Fn(TcpListener) + Send + Sync>);

impl Endpoint {
    pub(crate) fn new(serve: impl Fn(TcpListener) + Send + Sync + 'static) -> Self {
        Self(Arc::new(serve))
    }

    pub(crate) fn serve(&self, listener: TcpListener) {
        (self.0)(listener);
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Endpoint")
    }
}

/// What the command reads. On a terminal it is what is typed first, with the return key at the end.
#[derive(Clone, Debug, Default)]
pub enum Stdin {
    /// Nothing.
    #[default]
    Empty,
    /// These bytes.
    Bytes(Vec<u8>),
    /// What the caller reads, passed on piece by piece: the command gets a pipe, never the caller's terminal or file.
    Inherit,
    /// What can be read here, passed on piece by piece until its end: for a command that is talked to while it runs. The descriptor is for one
    /// run; it is not handed to the command.
    From(Arc<OwnedFd>),
}

/// The caller's variables that a command gets by default.
const PASSED: &[&str] = &["PATH", "HOME", "LANG", "TZ", "TERM"];

impl Command {
    /// A command with the few variables of the caller that are harmless: `PATH`, `HOME`, `LANG`, `LC_*`, `TZ`, `TERM`.
    pub fn new(program: impl Into<OsString>) -> Self {
        let environment = std::env::vars_os()
            .filter(|(name, _)| {
                name.to_str()
                    .is_some_and(|name| PASSED.contains(&name) || name.starts_with("LC_"))
            })
            .collect();
        Self {
            program: program.into(),
            arguments: Vec::new(),
            directory: None,
            environment,
            stdin: Stdin::Empty,
            dialogue: None,
            endpoint: None,
            keeper: None,
        }
    }

    /// The program and its arguments.
    pub fn words(&self) -> impl Iterator<Item = &OsStr> {
        let arguments = self.arguments.iter().map(OsString::as_os_str);
        std::iter::once(self.program.as_os_str()).chain(arguments)
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets the directory to start in; the workspace unless said otherwise.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let (name, value) = (name.into(), value.into());
        self.environment.retain(|(other, _)| *other != name);
        self.environment.push((name, value));
        self
    }

    /// Starts from no variables at all.
    #[must_use]
    pub fn env_clear(mut self) -> Self {
        self.environment.clear();
        self
    }

    /// Sets what the command reads.
    #[must_use]
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Says who answers the command's questions; for a policy with a terminal. Without it no one does.
    #[must_use]
    pub fn dialogue(mut self, dialogue: Dialogue) -> Self {
        self.dialogue = Some(dialogue);
        self
    }

    /// Says who serves the command's connections, where the policy's network is [`Network::Proxy`](crate::Network::Proxy).
    ///
    /// Called for each run before the command starts, with a listening socket that only the command can connect to. When the run is over
    /// no process is left inside that could; the receiver of the socket closes it.
    #[must_use]
    pub fn proxy(mut self, serve: impl Fn(TcpListener) + Send + Sync + 'static) -> Self {
        self.endpoint = Some(Endpoint::new(serve));
        self
    }

    /// Says who looks after what the command plants. Without it that is reported only.
    #[must_use]
    pub fn keeper(mut self, keeper: Arc<dyn Keeper>) -> Self {
        self.keeper = Some(SharedKeeper(keeper));
        self
    }

    pub(crate) fn kept_by(&self) -> Option<&dyn Keeper> {
        self.keeper.as_ref().map(|keeper| &*keeper.0)
    }

    pub(crate) fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
    }

    pub(crate) fn answers(&self) -> Option<&Dialogue> {
        self.dialogue.as_ref()
    }

    pub(crate) fn input(&self) -> &Stdin {
        &self.stdin
    }

    pub(crate) fn program_name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    pub(crate) fn start_directory(&self, workspace: &Path) -> PathBuf {
        workspace.join(self.directory.as_deref().unwrap_or(Path::new("")))
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        self.environment
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| value.as_os_str())
    }

    /// Finds the program, beneath `allowed` if a wall is; a program that could not be started is an error here, before
    /// anything is.
    pub(crate) fn resolve(
        &self,
        workspace: &Path,
        allowed: Option<&[PathBuf]>,
    ) -> Result<PathBuf, SandboxError> {
        let name = Path::new(&self.program);
        let missing = |hint: String| SandboxError::NoProgram {
            name: self.program_name(),
            hint,
        };
        if self.program.is_empty() {
            return Err(SandboxError::Invalid(
                "the program's name is empty".to_owned(),
            ));
        }
        let directory = self.start_directory(workspace);
        let candidates: Vec<PathBuf> = if self.program.as_bytes().contains(&b'/') {
            vec![directory.join(name)]
        } else {
            let path = self
                .variable("PATH")
                .unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
            std::env::split_paths(path)
                .filter(|dir| dir.is_absolute())
                .map(|dir| dir.join(name))
                .collect()
        };
        let mut outside = None;
        let mut refused = None;
        for candidate in candidates {
            // One question for each directory instead of one for each name on the way to it.
            if !candidate.exists() {
                continue;
            }
            let Ok(real) = candidate.canonicalize() else {
                continue;
            };
            let Ok(metadata) = real.metadata() else {
                continue;
            };
            if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
                refused.get_or_insert(candidate);
            } else if allowed
                .is_none_or(|allowed| allowed.iter().any(|above| real.starts_with(above)))
            {
                // The name it was found by is kept: many programs look at it (busybox, shims of version managers).
                return Ok(candidate);
            } else {
                outside.get_or_insert(real);
            }
        }
        Err(match (outside, refused) {
            (Some(path), _) => {
                let parent = path.parent().unwrap_or(&path);
                missing(format!(
                    " inside the sandbox: it is at `{}`, which cannot be read there; allow it with `--read {}`",
                    path.display(),
                    parent.display()
                ))
            }
            (None, Some(path)) => {
                missing(format!(": `{}` is not an executable file", path.display()))
            }
            (None, None) if self.program.as_bytes().contains(&b'/') => {
                missing(": there is no such file".to_owned())
            }
            (None, None) => missing(" in PATH; check the spelling, or give its path".to_owned()),
        })
    }

    /// The command as init reads it (`init/main.rs`): a header of four numbers, then strings ended by a null. `terminal`:
    /// whether its descriptors are one.
    pub(crate) fn wire(
        &self,
        program: &Path,
        workspace: &Path,
        extra: &[(&str, String)],
        terminal: bool,
    ) -> Result<Vec<u8>, SandboxError> {
        let directory = self.start_directory(workspace);
        let mut text = Vec::new();
        let mut push = |parts: &[&OsStr]| {
            for part in parts {
                if part.as_bytes().contains(&0) {
                    let shown = part.to_string_lossy().replace('\0', "\\0");
                    return Err(SandboxError::Invalid(format!(
                        "`{shown}` holds a null byte, which no program can be given"
                    )));
                }
                text.extend_from_slice(part.as_bytes());
            }
            text.push(0);
            Ok(())
        };
        push(&[directory.as_os_str()])?;
        push(&[program.as_os_str()])?;
        push(&[&self.program])?;
        for argument in &self.arguments {
            push(&[argument])?;
        }
        let set = |name: &OsStr| extra.iter().any(|(other, _)| name == *other);
        let mut variables = 0u32;
        for (name, value) in &self.environment {
            if name.is_empty() || name.as_bytes().contains(&b'=') {
                let shown = name.to_string_lossy();
                return Err(SandboxError::Invalid(format!(
                    "`{shown}` cannot be the name of a variable"
                )));
            }
            if !set(name) {
                push(&[name, OsStr::new("="), value])?;
                variables += 1;
            }
        }
        for (name, value) in extra {
            push(&[OsStr::new(name), OsStr::new("="), OsStr::new(value)])?;
            variables += 1;
        }
        if u32::try_from(text.len()).is_err() {
            return Err(SandboxError::Invalid(
                "the command is longer than any kernel takes".to_owned(),
            ));
        }
        let arguments = self.arguments.len() as u32 + 1;
        let mut wire = Vec::with_capacity(text.len() + 16);
        for number in [text.len() as u32, arguments, variables, u32::from(terminal)] {
            wire.extend_from_slice(&number.to_ne_bytes());
        }
        wire.extend(text);
        Ok(wire)
    }
}
