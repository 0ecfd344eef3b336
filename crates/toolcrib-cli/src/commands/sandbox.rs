//! `toolcrib sandbox`: any command behind the wall that tools run behind.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::{Value, json};
use toolcrib::egress::{AllowedHosts, ExchangeLog, Proxy, Reach};
use toolcrib::model::outcome::HeldNote;
use toolcrib::sandbox::{
    Cancel, Command, EndedBy, Level, Network, Policy, Report, Sandbox, SandboxError, Status, Stdin,
    Stream, User,
};
use toolcrib::{Crib, ErrorCode, ToolError};

use super::run::{held_note, planted_note};
use super::sandbox_network::WayOut;
use super::{Done, open};
use crate::args::{Global, SandboxArgs};
use crate::failure::CliError;
use crate::output::Output;

/// The exit code of everything that went wrong before the command ran.
const SET_UP_FAILED: u8 = 125;
/// How long a run that was told to end may hold us up, when all its processes are long gone.
const STUCK: std::time::Duration = std::time::Duration::from_secs(3);
/// How much of each output a JSON report holds.
const CAPTURED: usize = 8 << 20;

pub(super) fn sandbox(args: &SandboxArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output).map_err(|error| error.exiting(SET_UP_FAILED))?;
    let policy = policy(args, &crib, output)?;
    let cancel = Cancel::new().map_err(failed)?;
    let signal = cancel_on_signals(&cancel).map_err(failed)?;
    let sandbox = Sandbox::new().map_err(refused)?;
    let prepared = sandbox.prepare(&policy).map_err(refused)?;
    let command = command(args, &policy, global)?;
    let (command, _serving) = match way_out(args, &crib)? {
        Some(way_out) => {
            let (command, serving) = way_out.open(command).map_err(failed)?;
            (command, Some(serving))
        }
        None => (command, None),
    };
    let (command, held) = crib
        .look_after(command)
        .map_err(|error| failed(std::io::Error::other(error)))?;
    let mut sink = Sink {
        captured: output.json().then(Default::default),
        broken: false,
    };
    let report = prepared.run(
        &command,
        &mut |stream, bytes| {
            if !sink.take(stream, bytes) {
                cancel.cancel();
            }
        },
        &cancel,
    );
    // The placeholders go before we say that it is over.
    drop(prepared);
    let report = report.map_err(refused)?;
    let (held, left) = held.end(&report.made);
    let code = match signal.load(Ordering::Relaxed) {
        0 if sink.broken => 141,
        0 => report.exit_code(),
        signal => 128 + i32::from(signal),
    };
    if let Some(captured) = &sink.captured {
        let document = document(&report, &left, &held, code, captured);
        output.document(&document);
    } else if !sink.broken {
        explain(&report, &left, output);
        for note in &held {
            output.say(&format!("{} {}", output.bold("sandbox:"), held_note(note)));
        }
    }
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// The way out that the arguments ask for.
fn way_out(args: &SandboxArgs, crib: &Crib) -> Result<Option<WayOut>, CliError> {
    if let Some(address) = args.proxy {
        return Ok(Some(WayOut::Address(address)));
    }
    if args.host.is_empty() {
        return Ok(None);
    }
    let hosts = AllowedHosts::parse(args.host.iter().map(String::as_str))
        .map_err(|why| CliError::usage(format!("--host: {why}")).exiting(SET_UP_FAILED))?;
    let egress = crib.egress().clone();
    let proxy = Proxy::new(egress, Reach::Only(hosts), ExchangeLog::default());
    Ok(Some(WayOut::Hosts(proxy)))
}

fn policy(args: &SandboxArgs, crib: &Crib, output: &Output) -> Result<Policy, CliError> {
    let level: Level = args.isolation.parse().map_err(CliError::usage)?;
    let Some(mut policy) = crib.policy(level) else {
        return Err(CliError::usage("there is no workspace to run it in")
            .with_hint("name one with --workspace; `/` and the home directory have to be named")
            .exiting(SET_UP_FAILED));
    };
    for (list, given) in [
        (&mut policy.read, &args.read),
        (&mut policy.write, &args.write),
    ] {
        for path in given {
            list.push(std::path::absolute(path).map_err(failed)?);
        }
    }
    policy.network = match args.network {
        true => Network::Full,
        false if args.proxy.is_some() || !args.host.is_empty() => Network::Proxy,
        false => Network::None,
    };
    if args.privilege == "reduced" {
        policy.user = User::REDUCED;
    }
    let limits = &mut policy.limits;
    limits.memory = args.memory.or(limits.memory);
    limits.time = args.timeout.or(limits.time);
    limits.cpu = args.cpu.or(limits.cpu);
    limits.pids = args.pids.or(limits.pids);
    limits.file_size = args.file_size.or(limits.file_size);
    limits.growth = args.growth.or(limits.growth);
    if !output.json() {
        // It goes to the reader of our output, as it comes; only a report has to hold it.
        limits.output = u64::MAX;
    }
    Ok(policy)
}

fn command(args: &SandboxArgs, policy: &Policy, global: &Global) -> Result<Command, CliError> {
    let (program, arguments) = args
        .command
        .split_first()
        .ok_or_else(|| CliError::usage("name a command after `--`"))?;
    let mut command = Command::new(program).args(arguments);
    if !global.no_input {
        command = command.stdin(Stdin::Inherit);
    }
    if let Some(directory) = inside(&policy.workspace) {
        command = command.directory(directory);
    }
    for variable in &args.env {
        command = match variable.split_once('=') {
            Some((name, value)) if !name.is_empty() => command.env(name, value),
            Some(_) => {
                let message = format!("`{variable}` has no name before the `=`");
                return Err(CliError::usage(message));
            }
            None => match std::env::var_os(variable) {
                Some(value) => command.env(variable, value),
                None => command,
            },
        };
    }
    Ok(command)
}

/// Where we are, if that is in the workspace; the command starts there.
fn inside(workspace: &Path) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?.canonicalize().ok()?;
    here.starts_with(workspace.canonicalize().ok()?)
        .then_some(here)
}

/// Passes output on, or keeps it for the report.
struct Sink {
    captured: Option<[Vec<u8>; 2]>,
    /// The reader of our output is gone.
    broken: bool,
}

impl Sink {
    /// False when there is no use in going on.
    fn take(&mut self, stream: Stream, bytes: &[u8]) -> bool {
        if let Some(captured) = &mut self.captured {
            let kept = &mut captured[stream as usize];
            let room = CAPTURED.saturating_sub(kept.len()).min(bytes.len());
            kept.extend_from_slice(&bytes[..room]);
            return true;
        }
        let written = match stream {
            Stream::Stdout => {
                let mut out = std::io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            Stream::Stderr => std::io::stderr().write_all(bytes),
        };
        self.broken |= written.is_err();
        !self.broken
    }
}

/// Ends the run on the signals that would end us, so that nothing is left behind; says which came.
fn cancel_on_signals(cancel: &Cancel) -> std::io::Result<Arc<AtomicU8>> {
    use tokio::signal::unix::{SignalKind, signal};
    let came = Arc::new(AtomicU8::new(0));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let kinds = [
        (SignalKind::interrupt(), 2),
        (SignalKind::terminate(), 15),
        (SignalKind::hangup(), 1),
    ];
    let mut waiting = Vec::new();
    {
        let _context = runtime.enter();
        for (kind, number) in kinds {
            waiting.push((signal(kind)?, number));
        }
    }
    let (cancel, note) = (cancel.clone(), Arc::clone(&came));
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                for (mut signal, number) in waiting {
                    let (cancel, note) = (cancel.clone(), Arc::clone(&note));
                    tokio::spawn(async move {
                        if signal.recv().await.is_some() {
                            note.store(number, Ordering::Relaxed);
                            cancel.cancel();
                            // The reader of our output may have stopped; no one should have to
                            // kill us for that.
                            tokio::time::sleep(STUCK).await;
                            std::process::exit(128 + i32::from(number));
                        }
                    });
                }
                std::future::pending::<()>().await;
            });
        })?;
    Ok(came)
}

/// The exit report.
fn document(
    report: &Report,
    planted: &[PathBuf],
    held: &[HeldNote],
    code: i32,
    captured: &[Vec<u8>; 2],
) -> Value {
    let status = match report.status {
        Status::Exited(code) => json!({"exited": code}),
        Status::Signalled(signal) => json!({"signal": signal}),
    };
    let not_enforced: Vec<Value> = report
        .not_enforced
        .iter()
        .map(|missing| {
            json!({"layer": missing.layer.name(), "reason": missing.reason, "fix": missing.fix})
        })
        .collect();
    let [stdout, stderr] = captured;
    json!({
        "level": report.level.name(),
        "exitCode": code,
        "status": status,
        "endedBy": report.ended_by.map(EndedBy::name),
        "durationMs": report.duration.as_secs_f64() * 1000.0,
        "userTimeMs": report.user_time.as_secs_f64() * 1000.0,
        "systemTimeMs": report.system_time.as_secs_f64() * 1000.0,
        "maxRssBytes": report.max_rss,
        "peakMemoryBytes": report.peak_memory,
        "pidsRefused": report.pids_refused,
        "layers": report.layers.iter().map(|layer| layer.name()).collect::<Vec<_>>(),
        "notEnforced": not_enforced,
        "planted": planted.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        "held": held,
        "stdoutBytes": report.stdout_bytes,
        "stderrBytes": report.stderr_bytes,
        "stdout": String::from_utf8_lossy(stdout),
        "stderr": String::from_utf8_lossy(stderr),
        "truncated": stdout.len() as u64 != report.stdout_bytes || stderr.len() as u64 != report.stderr_bytes,
    })
}

/// For a person: only what the command's own exit code does not say.
fn explain(report: &Report, planted: &[PathBuf], output: &Output) {
    if let Some(limit) = report.ended_by {
        let why = match limit {
            EndedBy::Time => "it took longer than --timeout allows",
            EndedBy::Cancelled => "it was cancelled",
            EndedBy::Output => "it printed too much",
            EndedBy::Memory => "it needed more than --memory allows",
            EndedBy::Cpu => "it used more CPU time than --cpu allows",
            EndedBy::Growth => "it wrote more than --growth allows",
            _ => "a limit was reached",
        };
        output.say(&format!("{} ended: {why}", output.bold("sandbox:")));
    }
    for path in planted {
        let note = planted_note(&path.to_string_lossy());
        output.say(&format!("{} {note}", output.bold("sandbox:")));
    }
    if output.verbose() {
        let names: Vec<&str> = report.layers.iter().map(|layer| layer.name()).collect();
        output.say(&output.dim(&format!("enforced: {}", names.join(", "))));
        for missing in &report.not_enforced {
            output.say(&output.dim(&format!("not enforced: {missing}")));
        }
    }
}

fn refused(error: SandboxError) -> CliError {
    let hint = match &error {
        SandboxError::Unavailable { .. } => "`toolcrib doctor` says which levels this machine has",
        SandboxError::NoProgram { .. } => "`toolcrib sandbox --help` shows how to allow more",
        _ => "nothing was run",
    };
    CliError::from(toolcrib::sandbox::failure(error))
        .with_hint(hint)
        .exiting(SET_UP_FAILED)
}

fn failed(error: std::io::Error) -> CliError {
    let message = format!("cannot set the sandbox up: {error}");
    CliError::from(ToolError::new(ErrorCode::SandboxUnavailable, message)).exiting(SET_UP_FAILED)
}
