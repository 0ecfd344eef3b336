//! `toolcrib doctor`: does everything work, and if not, what to do?

mod clients;
mod hooks;
mod store;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use toolcrib::Crib;
use toolcrib::config::Surroundings;
use toolcrib::record::call_log::CallLogReader;
use toolcrib::sandbox::{Layer, Level, Sandbox, Support};
use toolcrib::source::{FileOutcome, ToolFile};
use toolcrib::storage::DurableDir;

use super::{Done, options};
use crate::args::{DoctorArgs, Global};
use crate::output::Output;

#[derive(Serialize)]
struct Finding {
    check: &'static str,
    status: Status,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Warning,
    Broken,
}

impl Finding {
    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Finding {
            check,
            status: Status::Ok,
            message: message.into(),
            fix: None,
        }
    }

    fn warning(check: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Finding {
            check,
            status: Status::Warning,
            message: message.into(),
            fix: Some(fix.into()),
        }
    }

    fn broken(check: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Finding {
            check,
            status: Status::Broken,
            message: message.into(),
            fix: Some(fix.into()),
        }
    }
}

pub(super) fn doctor(args: &DoctorArgs, global: &Global, output: &Output) -> Done {
    let mut findings = vec![Finding::ok(
        "version",
        format!("toolcrib {}", env!("CARGO_PKG_VERSION")),
    )];
    match options(global).open() {
        Ok(crib) => {
            if args.fix {
                store::fix(&crib, &mut findings);
            }
            look(&crib, &mut findings);
        }
        Err(error) => {
            let fix = "fix it, then run `toolcrib doctor` again; `toolcrib config path` shows where the settings are";
            findings.push(Finding::broken("settings", error.to_string(), fix));
        }
    }
    report(&findings, output);
    let broken = findings
        .iter()
        .any(|finding| finding.status == Status::Broken);
    Ok(if broken {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// A line for each upstream server, by what is known without connecting to it.
fn upstreams(crib: &Crib, findings: &mut Vec<Finding>) {
    for view in crib.upstreams() {
        let name = &view.name;
        let tools = view.pinned.as_ref().map_or(0, |pinned| pinned.tools.len());
        let line = format!(
            "`{name}` ({}), {tools} tools accepted",
            view.settings.line()
        );
        findings.push(match view.notes().as_slice() {
            [] => Finding::ok("upstream", line),
            notes => Finding::warning(
                "upstream",
                format!("{line}: {}", notes.join("; ")),
                format!("`toolcrib upstream test {name}` connects and says more"),
            ),
        });
    }
}

fn look(crib: &Crib, findings: &mut Vec<Finding>) {
    findings.push(match crib.setting_warnings().as_slice() {
        [] => Finding::ok("settings", "every value is valid"),
        warnings => Finding::warning(
            "settings",
            warnings.join("; "),
            "fix the names; `toolcrib config show` says where they come from",
        ),
    });
    findings.push(home(crib.home()));
    findings.push(call_log(crib));
    findings.push(Finding::ok(
        "servers",
        match crate::remote::running_on(crib.home()).as_slice() {
            [] => "none is running for this home".to_owned(),
            running => running.join("; "),
        },
    ));
    secrets(crib, findings);
    upstreams(crib, findings);
    match crib.workspace_path() {
        Some(path) => findings.push(Finding::ok("workspace", path.display().to_string())),
        None => {
            let why = Surroundings::of_process()
                .workspace()
                .err()
                .map_or(String::new(), |why| why.to_string());
            findings.push(Finding::warning(
                "workspace",
                "there is none, so file tools cannot run",
                why,
            ));
        }
    }
    if let Some(workspace) = crib.registry().workspace() {
        findings.push(if workspace.uses_openat2() {
            Finding::ok("paths", "the kernel keeps paths inside the workspace (openat2)")
        } else {
            let message = "openat2 is not available; paths are resolved step by step, which is as safe but slower";
            Finding::warning("paths", message, "use Linux 5.6 or newer, and a seccomp profile that allows openat2")
        });
    }
    sandbox(findings);
    let entries = crib.registry().entries();
    let unusable: Vec<String> = entries
        .iter()
        .filter_map(|entry| {
            let schema = entry.spec().input_schema.usable().err();
            schema.map(|error| format!("{}: {error}", entry.spec().name))
        })
        .collect();
    findings.push(if unusable.is_empty() {
        Finding::ok(
            "tools",
            format!(
                "{} registered, {} on offer",
                entries.len(),
                crib.registry().list().len()
            ),
        )
    } else {
        Finding::broken("tools", unusable.join("; "), "fix the schemas named")
    });
    tool_files(crib, findings);
    store::look(crib, findings);
    clients::look(crib, findings);
    hooks::look(crib, findings);
}

/// The files of secrets: those that are damaged, or that others may read.
fn secrets(crib: &Crib, findings: &mut Vec<Finding>) {
    let store = crib.secrets();
    let directory = store.directory().display();
    match (store.list(), store.problems()) {
        (Ok(entries), Ok(problems)) => {
            if problems.is_empty() && !entries.is_empty() {
                let message = format!("{} saved, readable only by you", entries.len());
                findings.push(Finding::ok("secrets", message));
            }
            for problem in problems {
                let fix = format!("the file is {directory}/{}", problem.file);
                findings.push(Finding::broken("secrets", problem.why, fix));
            }
        }
        (Err(error), _) | (_, Err(error)) => {
            let fix = format!("check owner and mode of {directory}");
            findings.push(Finding::broken("secrets", error.to_string(), fix));
        }
    }
}

/// The files of tools: those that are none, or not trusted, or have lost their name.
fn tool_files(crib: &Crib, findings: &mut Vec<Finding>) {
    let report = crib.tool_files();
    let is_broken = |file: &&ToolFile| matches!(file.standing, FileOutcome::Broken { .. });
    let problems = report.problems();
    let untrusted = match report.untrusted() {
        0 => String::new(),
        count => format!("; {count} not trusted yet: `toolcrib trust`"),
    };
    let count = report.files.len();
    findings.push(if report.files.iter().any(|file| is_broken(&file)) {
        let fix = "`toolcrib check` reports every problem of a file";
        Finding::broken("tool files", problems.join("; "), fix)
    } else if !problems.is_empty() {
        let fix = "`toolcrib explain TOOL` says who has a name";
        Finding::warning("tool files", problems.join("; "), fix)
    } else {
        Finding::ok("tool files", format!("{count} OK{untrusted}"))
    });
}

/// Which levels this machine has, found by trying them; and what a level that it has does without.
fn sandbox(findings: &mut Vec<Finding>) {
    let sandbox = match Sandbox::new() {
        Ok(sandbox) => sandbox,
        Err(error) => {
            let fix = "commands can only run with isolation `none` until this is fixed";
            return findings.push(Finding::broken("sandbox", error.to_string(), fix));
        }
    };
    let support = sandbox.support();
    for (level, check, nice) in [
        (Level::Process, "process", &PROCESS_NICE[..]),
        (Level::Container, "container", &CONTAINER_NICE[..]),
    ] {
        findings.push(match support.level(level) {
            Err(missing) => {
                let message = format!(
                    "isolation `{level}` is not available: {}: {}",
                    missing.layer, missing.reason
                );
                Finding::warning(check, message, missing.fix)
            }
            Ok(()) => level_found(support, level, check, nice),
        });
    }
}

fn level_found(support: &Support, level: Level, check: &'static str, nice: &[Layer]) -> Finding {
    let lacking: Vec<_> = nice
        .iter()
        .filter_map(|layer| support.check(*layer).err())
        .collect();
    let Some(first) = lacking.first() else {
        let version = support.landlock_version();
        return Finding::ok(
            check,
            format!("isolation `{level}`, every layer (Landlock {version})"),
        );
    };
    let names: Vec<&str> = lacking.iter().map(|missing| missing.layer.name()).collect();
    let message = format!(
        "isolation `{level}`, without {}: {}",
        names.join(", "),
        first.reason
    );
    Finding::warning(check, message, first.fix.clone())
}

/// Layers that `process` has where they can be had. (Processes are counted without a cgroup too, in a user namespace.)
const PROCESS_NICE: [Layer; 5] = [
    Layer::PidNamespace,
    Layer::MountNamespace,
    Layer::PrivateProc,
    Layer::MemoryLimit,
    Layer::CpuLimit,
];
/// Layers that `container` has where they can be had.
const CONTAINER_NICE: [Layer; 2] = [Layer::MemoryLimit, Layer::CpuLimit];

fn home(path: &Path) -> Finding {
    let shown = path.display();
    let Ok(metadata) = fs::metadata(path) else {
        return match nearest_existing(path).map(|parent| {
            (
                rustix::fs::access(parent, rustix::fs::Access::WRITE_OK),
                parent,
            )
        }) {
            Some((Ok(()), _)) => Finding::ok("home", format!("{shown} (made when first needed)")),
            Some((Err(error), parent)) => Finding::broken(
                "home",
                format!(
                    "{shown} cannot be made: {} is not writable: {error}",
                    parent.display()
                ),
                "choose another with --home or TOOLCRIB_HOME",
            ),
            None => Finding::broken(
                "home",
                format!("{shown} cannot be made"),
                "choose another with --home or TOOLCRIB_HOME",
            ),
        };
    };
    if !metadata.is_dir() {
        return Finding::broken(
            "home",
            format!("{shown} is not a directory"),
            "choose another with --home or TOOLCRIB_HOME",
        );
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        let message = format!("{shown} belongs to another user");
        return Finding::broken(
            "home",
            message,
            "choose your own with --home or TOOLCRIB_HOME",
        );
    }
    // The one check that must write: a mode says little about a read-only or full disk.
    if let Err(error) = DurableDir::create(path).and_then(|dir| dir.lock().map(|_| ())) {
        return Finding::broken(
            "home",
            error.to_string(),
            "make room, or choose another with --home or TOOLCRIB_HOME",
        );
    }
    if metadata.mode() & 0o077 != 0 {
        let message = format!(
            "{shown} can be read by other users (mode {:o})",
            metadata.mode() & 0o777
        );
        return Finding::warning("home", message, format!("chmod 700 {shown}"));
    }
    Finding::ok("home", format!("{shown}"))
}

fn nearest_existing(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|parent| parent.exists())
}

fn call_log(crib: &Crib) -> Finding {
    match CallLogReader::new(crib.call_log_path()).latest(1000, |_| true) {
        Ok(found) if found.unreadable == 0 => match found.records.first() {
            Some(record) => Finding::ok(
                "call log",
                format!(
                    "the last call was at {}",
                    crate::local_time::second(record.start_time)
                ),
            ),
            None => Finding::ok("call log", "empty"),
        },
        Ok(found) => Finding::warning(
            "call log",
            format!(
                "{} of the latest lines are damaged and skipped",
                found.unreadable
            ),
            "nothing to do: the other lines are intact",
        ),
        Err(error) => Finding::broken(
            "call log",
            error.to_string(),
            format!("check the modes of {}", crib.home().display()),
        ),
    }
}

fn report(findings: &[Finding], output: &Output) {
    if output.json() {
        output.document(&findings);
        return;
    }
    if output.plain() {
        let rows: Vec<Vec<String>> = findings
            .iter()
            .map(|finding| {
                vec![
                    word(finding.status).to_owned(),
                    finding.check.to_owned(),
                    finding.message.clone(),
                ]
            })
            .collect();
        output.table(&["STATUS", "CHECK", "MESSAGE"], &rows);
        return;
    }
    let checks = findings.iter().map(|finding| finding.check.len());
    let width = checks.max().unwrap_or_default();
    for finding in findings {
        let mark = match finding.status {
            Status::Ok => output.good("ok  "),
            Status::Warning => output.doubtful("warn"),
            Status::Broken => output.bad("FAIL"),
        };
        output.line(&format!(
            "{mark}  {:<width$}  {}",
            finding.check,
            toolcrib::model::text::visible(&finding.message)
        ));
        if let Some(fix) = finding.fix.as_ref().filter(|fix| !fix.is_empty()) {
            output.line(&format!("      {:<width$}  {fix}", ""));
        }
    }
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Warning => "warning",
        Status::Broken => "broken",
    }
}
