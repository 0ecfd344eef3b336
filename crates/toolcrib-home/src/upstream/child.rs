//! A server that is a program of this machine: started, talked to by pipes, ended with everything it started.
//!
//! It runs behind the wall that its settings describe ([`wall`](super::wall)), else without one, but under the sandbox crate's supervision at
//! level `none`. Either puts it and all it starts beneath its own init, which ends the whole tree when we say so and when this process dies,
//! however it dies; a grandchild in its own session included. A thread moves its bytes; what it prints on stderr is kept, the last of it.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::net::UnixStream as Socket;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::watch;

use super::wall::Walled;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::exchange::ExchangeLog;
use crate::model::secret::Secret;
use crate::model::text;
use crate::process::{self, WayOut};
use crate::sandbox::{
    Cancel, Command, EndedBy, Level, Limits, Network, Policy, SandboxError, Status, Stdin, Stream,
};

/// How much of what it prints on stderr is kept.
const MAX_STDERR: usize = 16 * 1024;
/// How long it may take to end by itself when its input ends.
const GRACE: Duration = Duration::from_secs(2);
/// Variables of ours that it gets besides those that every command gets.
const PASSED: &[&str] = &["USER", "LOGNAME", "SHELL", "TMPDIR", "XDG_RUNTIME_DIR"];

/// What to start.
pub(super) struct Program {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    /// With secrets in it.
    pub(super) env: Vec<(String, Secret)>,
    pub(super) directory: PathBuf,
    /// The wall around it.
    pub(super) wall: Option<Walled>,
}

/// A program that runs. Dropping it ends it and everything it started.
pub(super) struct Child {
    cancel: Cancel,
    stderr: Arc<Mutex<Vec<u8>>>,
    ended: watch::Receiver<Option<String>>,
    level: Option<Level>,
    way_out: Option<Arc<WayOut>>,
    exchanges: ExchangeLog,
}

/// Starts a program; what is written to the stream it reads, and the other way round.
pub(super) fn start(program: &Program) -> Result<(UnixStream, Child), ToolError> {
    let failed = |error: std::io::Error| {
        ToolError::new(
            ErrorCode::UpstreamError,
            "cannot start a program: too many files are open",
        )
        .caused_by(error)
    };
    let sandbox = process::machine()?;
    let policy = match &program.wall {
        Some(wall) => wall.policy.clone(),
        None => unwalled(&program.directory),
    };
    let prepared = sandbox
        .prepare(&policy)
        .map_err(|error| unusable(program, &error))?;
    let (ours, theirs) = Socket::pair().map_err(failed)?;
    ours.set_nonblocking(true).map_err(failed)?;
    let ours = UnixStream::from_std(ours).map_err(failed)?;
    let input = theirs.try_clone().map_err(failed)?;
    let mut command = Command::new(&program.command)
        .args(program.args.iter().map(String::as_str))
        .directory(&program.directory)
        .stdin(Stdin::From(Arc::new(input.into())));
    match &program.wall {
        Some(wall) => {
            for (name, value) in &wall.variables {
                command = command.env(name, value);
            }
        }
        None => {
            for name in PASSED {
                if let Some(value) = std::env::var_os(name) {
                    command = command.env(*name, value);
                }
            }
        }
    }
    for (name, value) in &program.env {
        command = command.env(name, value.expose());
    }
    let exchanges = ExchangeLog::default();
    let mut way_out = None;
    if let Some(wall) = &program.wall {
        let log = exchanges.clone();
        (command, way_out) = WayOut::open(&wall.wall, Some(&wall.egress), log, command)?;
    }
    let way_out = way_out.map(Arc::new);
    let closing = way_out.as_ref().map(|way_out| way_out.closing());
    let cancel = Cancel::new().map_err(failed)?;
    let stderr = Arc::<Mutex<Vec<u8>>>::default();
    let (told, ended) = watch::channel(None);
    let supervise = {
        let (cancel, stderr) = (cancel.clone(), Arc::clone(&stderr));
        move || {
            let _closing = closing;
            let mut output = |stream: Stream, bytes: &[u8]| match stream {
                // The reader that stops reading ends the child.
                Stream::Stdout => drop((&theirs).write_all(bytes)),
                Stream::Stderr => keep(&stderr, bytes),
            };
            let ended = match prepared.run(&command, &mut output, &cancel) {
                Ok(report) => match (report.ended_by, report.status) {
                    (Some(EndedBy::Cancelled), _) => "it was ended".to_owned(),
                    (_, Status::Exited(code)) => format!("it ended with exit code {code}"),
                    (_, Status::Signalled(signal)) => format!("it was killed by signal {signal}"),
                },
                Err(error) => error.to_string(),
            };
            told.send_replace(Some(ended));
            // The reader learns of the end, even if another process still holds the socket.
            let _ = theirs.shutdown(std::net::Shutdown::Both);
        }
    };
    std::thread::Builder::new()
        .name("toolcrib-upstream".to_owned())
        .spawn(supervise)
        .map_err(failed)?;
    Ok((
        ours,
        Child {
            cancel,
            stderr,
            ended,
            level: program.wall.as_ref().map(|wall| wall.level),
            way_out,
            exchanges,
        },
    ))
}

/// The supervision of a program that has no wall.
fn unwalled(directory: &Path) -> Policy {
    // A policy is about a directory, which cannot be the root; without a wall nothing follows from it.
    let about = match directory.parent() {
        Some(_) => directory.to_owned(),
        None => std::env::temp_dir(),
    };
    let mut policy = Policy::new(Level::None, about);
    policy.network = Network::Full;
    policy.protect = false;
    policy.limits = Limits {
        memory: None,
        cpu: None,
        pids: None,
        file_size: None,
        growth: None,
        output: u64::MAX,
        time: None,
        ..Limits::default()
    };
    policy
}

fn unusable(program: &Program, why: &SandboxError) -> ToolError {
    let code = match why {
        SandboxError::Unavailable { .. } => ErrorCode::SandboxUnavailable,
        _ => ErrorCode::UpstreamError,
    };
    let directory = program.directory.display();
    ToolError::new(
        code,
        format!("cannot start a program in `{directory}`: {why}"),
    )
}

/// Keeps the last of what is printed.
fn keep(kept: &Mutex<Vec<u8>>, bytes: &[u8]) {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    kept.extend_from_slice(bytes);
    if kept.len() > 2 * MAX_STDERR {
        let surplus = kept.len() - MAX_STDERR;
        kept.drain(..surplus);
    }
}

impl Child {
    /// The last of what it printed on stderr, fit to be shown.
    pub(super) fn stderr(&self) -> String {
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let from = kept.len().saturating_sub(MAX_STDERR);
        text::visible(String::from_utf8_lossy(&kept[from..]).trim_end()).into_owned()
    }

    /// The level of its wall, if it has one.
    pub(super) fn level(&self) -> Option<Level> {
        self.level
    }

    /// The hosts that it wanted to reach and may not, each with its port.
    pub(super) fn refused(&self) -> Vec<String> {
        let refused = self.way_out.as_ref().map(|way_out| way_out.refused());
        refused.unwrap_or_default()
    }

    /// The hosts that it reached, each with its port.
    pub(super) fn reached(&self) -> Vec<String> {
        let exchanges = self.exchanges.exchanges().into_iter();
        let hosts: BTreeSet<String> = exchanges.map(|exchange| exchange.host).collect();
        hosts.into_iter().collect()
    }

    /// How it ended, if it has.
    pub(super) fn ended(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    /// Waits a moment for the end of a program whose output has ended, to say how it did.
    pub(super) async fn ending(&self, patience: Duration) -> Option<String> {
        let mut ended = self.ended.clone();
        let _ = tokio::time::timeout(patience, ended.wait_for(Option::is_some)).await;
        self.ended()
    }

    /// Ends it: by itself if it does so in time, now that its input has ended, else by force.
    pub(super) async fn finish(&self) {
        let _ = self.ending(GRACE).await;
        self.cancel.cancel();
        let _ = self.ending(GRACE).await;
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    fn program(script: &str, env: &[(&str, &str)]) -> Program {
        Program {
            command: "bash".to_owned(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: env
                .iter()
                .map(|(name, value)| ((*name).to_owned(), Secret::new(*value)))
                .collect(),
            directory: "/".into(),
            wall: None,
        }
    }

    #[tokio::test]
    async fn it_is_talked_to_and_ends_with_its_input() {
        let (mut stream, child) = start(&program(
            "echo up >&2; while read -r line; do echo \"<$line $KEY $PWD>\"; done; exit 7",
            &[("KEY", "k")],
        ))
        .unwrap();
        stream.write_all(b"one\ntwo\n").await.unwrap();
        stream.shutdown().await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "<one k />\n<two k />\n");
        assert_eq!(
            child.ending(GRACE).await.as_deref(),
            Some("it ended with exit code 7")
        );
        assert_eq!(child.stderr(), "up");
    }

    #[tokio::test]
    async fn everything_it_started_ends_with_it_even_what_left_its_session() {
        let script =
            "trap '' TERM HUP; setsid bash -c 'trap \"\" TERM HUP; echo $$; exec sleep 300' & wait";
        let (mut stream, child) = start(&program(script, &[])).unwrap();
        let mut said = [0; 32];
        let length = stream.read(&mut said).await.unwrap();
        let pid: i32 = std::str::from_utf8(&said[..length])
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        assert!(rustix::process::test_kill_process(pid).is_ok());
        let mut ended = child.ended.clone();
        drop(child);
        tokio::time::timeout(Duration::from_secs(10), ended.wait_for(Option::is_some))
            .await
            .unwrap()
            .unwrap();
        assert!(rustix::process::test_kill_process(pid).is_err());
    }

    #[tokio::test]
    async fn what_is_printed_on_stderr_is_kept_to_a_bound() {
        let (mut stream, child) = start(&program(
            "head -c 300000 /dev/zero | tr '\\0' x >&2; echo END >&2",
            &[],
        ))
        .unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        child.ending(GRACE).await;
        assert!(child.stderr().len() <= MAX_STDERR);
        assert!(child.stderr().ends_with("END"));
    }
}
