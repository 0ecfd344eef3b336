//! How git is run: always behind the wall, told where its repository is, with everything switched off that no one needs.
//!
//! The wall is what holds; the switches keep a repository's programs from running where they would only be in the way, and make
//! the output one that can be read whatever anybody's settings say.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::repository::Repository;
use super::{GitSettings, failure};
use crate::call::context::CallContext;
use crate::model::error::{ErrorCode, ToolError};
use crate::process::{ByteSink, LookBounds, Looked, Run, Runner, Wall};
use crate::sandbox::{Command, Level};
use crate::secret::SecretStore;
use crate::workspace::Workspace;

/// How long a look before a call may take.
const LOOK_TIME: Duration = Duration::from_secs(10);

/// How much of stderr is kept.
const MAX_STDERR: u64 = 64 * 1024;

/// For every command: programs that a repository could name, and settings that would change what is printed.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=",
    "core.quotePath=false",
    "credential.helper=",
    "protocol.allow=never",
    "protocol.ext.allow=never",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "push.gpgSign=false",
    "log.showSignature=false",
    "log.follow=false",
    "log.mailmap=false",
    "diff.renameLimit=1000",
    "diff.relative=false",
    "diff.noPrefix=false",
    "diff.mnemonicPrefix=false",
    "diff.suppressBlankEmpty=false",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "diff.ignoreSubmodules=dirty",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "color.ui=false",
    "column.ui=never",
    // The owner of a repository does not matter here: every program that it names runs in the sandbox.
    "safe.directory=*",
];

/// Whether hooks of the repository run, behind the wall like all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hooks {
    /// They do: what a person's own git would run when it changes something.
    Run,
    /// They do not.
    Off,
}

/// Git, as the tools run it.
pub(super) struct Git {
    pub(super) settings: GitSettings,
    pub(super) secrets: Option<SecretStore>,
    pub(super) runner: Arc<Runner>,
    wall: Wall,
}

/// What git printed and how it ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) stdout: Vec<u8>,
    /// Whether there was more on stdout than is kept.
    pub(super) is_cut: bool,
    pub(super) stderr: String,
    pub(super) exit_code: i32,
}

/// The kept part of stdout.
#[derive(Debug, Default)]
struct CappedOutput {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Git {
    pub(super) fn new(
        settings: GitSettings,
        secrets: Option<SecretStore>,
        runner: Arc<Runner>,
    ) -> Self {
        Git {
            settings,
            secrets,
            runner,
            wall: Wall::of(Level::Process),
        }
    }

    /// The wall of everything but a push: the workspace, and no network.
    pub(super) fn wall(&self) -> &Wall {
        &self.wall
    }

    /// A command in a repository. It changes nothing by itself, and takes no locks that it does not need.
    pub(super) fn reading<W: Into<OsString>>(
        &self,
        repository: &Repository,
        words: impl IntoIterator<Item = W>,
    ) -> Command {
        self.command(repository, Hooks::Off, words)
            .env("GIT_OPTIONAL_LOCKS", "0")
    }

    /// A command in a repository.
    pub(super) fn command<W: Into<OsString>>(
        &self,
        repository: &Repository,
        hooks: Hooks,
        words: impl IntoIterator<Item = W>,
    ) -> Command {
        let above = repository.root().parent().unwrap_or(Path::new("/"));
        plain(hooks)
            .args(words)
            .directory(&repository.tree)
            .env("GIT_DIR", &repository.git_dir)
            .env("GIT_WORK_TREE", &repository.tree)
            .env("GIT_CEILING_DIRECTORIES", above)
    }

    /// Runs a command for a call that is to be read, not shown; any exit code is a result.
    pub(super) async fn run(
        &self,
        cx: &CallContext,
        command: Command,
        keep: usize,
    ) -> Result<Output, ToolError> {
        let quiet = Box::new(|_, _: &str| {});
        let run = Run {
            sink: Some(quiet),
            ..Run::new(command)
        };
        self.run_behind(cx, &self.wall, run, keep).await
    }

    /// Runs a command for a call; what it says on stderr is streamed. Any exit code is a result.
    pub(super) async fn run_shown(
        &self,
        cx: &CallContext,
        wall: &Wall,
        command: Command,
        keep: usize,
    ) -> Result<Output, ToolError> {
        self.run_behind(cx, wall, Run::new(command), keep).await
    }

    async fn run_behind(
        &self,
        cx: &CallContext,
        wall: &Wall,
        run: Run,
        keep: usize,
    ) -> Result<Output, ToolError> {
        let kept = Arc::<Mutex<CappedOutput>>::default();
        let run = Run {
            keep: Some(MAX_STDERR),
            bytes: Some(keeping(Arc::clone(&kept), keep)),
            ..run
        };
        let finished = self.runner.run(cx, wall, run).await?;
        let kept = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Output {
            stdout: kept.bytes,
            is_cut: kept.is_cut,
            stderr: finished.stderr,
            exit_code: finished.exit_code,
        })
    }

    /// Runs a command that changes nothing, before a call or between what it does. Blocks.
    pub(super) fn look(
        &self,
        workspace: &Workspace,
        command: &Command,
        keep: usize,
    ) -> Result<Output, ToolError> {
        let bounds = LookBounds {
            time: LOOK_TIME,
            keep,
        };
        let looked: Looked = self.runner.look(workspace, &self.wall, command, bounds)?;
        if looked.is_ended {
            let message = "git did not come to an end in time when the repository was looked at";
            return Err(ToolError::new(ErrorCode::Timeout, message));
        }
        Ok(Output {
            stdout: looked.stdout,
            is_cut: looked.is_cut,
            stderr: String::from_utf8_lossy(&looked.stderr).into_owned(),
            exit_code: looked.exit_code,
        })
    }
}

/// Git without a repository, with everything switched off that no one needs.
pub(super) fn plain(hooks: Hooks) -> Command {
    let mut command = Command::new("git").args(["--no-pager", "--literal-pathspecs"]);
    for setting in SETTINGS {
        command = command.args(["-c", setting]);
    }
    if hooks == Hooks::Off {
        command = command.args(["-c", "core.hooksPath=/dev/null"]);
    }
    command
        // Its errors are read here, in English; names of files are UTF-8 all the same.
        .env("LC_ALL", "C.UTF-8")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", "false")
        .env("GIT_SEQUENCE_EDITOR", "false")
        .env("GIT_PAGER", "cat")
        // The real content is shown, whatever replacement refs say.
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        // Nothing is fetched in passing.
        .env("GIT_NO_LAZY_FETCH", "1")
}

fn keeping(kept: Arc<Mutex<CappedOutput>>, most: usize) -> ByteSink {
    Box::new(move |bytes| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let room = bytes.len().min(most.saturating_sub(kept.bytes.len()));
        kept.bytes.extend_from_slice(&bytes[..room]);
        kept.is_cut |= room < bytes.len();
    })
}

impl Output {
    /// The output of a command that went well; an error in words for one that did not.
    pub(super) fn checked(self, verb: &str, repository: &Repository) -> Result<Self, ToolError> {
        match self.exit_code {
            0 => Ok(self),
            _ => Err(failure::of(verb, &self, repository.root())),
        }
    }

    /// What was printed, as a line of text.
    pub(super) fn line(&self) -> String {
        let text = String::from_utf8_lossy(&self.stdout);
        text.trim_end_matches(['\n', '\r', '\0']).to_owned()
    }
}
