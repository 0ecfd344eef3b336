//! `toolcrib test`: the tests of tools, chosen, run and told.

mod choose;
mod print;
mod record;

use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt as _;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use toolcrib::trial::{Bench, Consent, TestReport, TestStatus, Trial};
use toolcrib::{Crib, ErrorCode, ToolError};

use super::{Done, open};
use crate::args::{Global, TestArgs};
use crate::output::Output;
use crate::progress;
use crate::prompt::Screen;
use crate::signals::Stops;

pub(super) use choose::Origin;
use choose::{Chosen, choose, prepare};
pub(super) use print::{as_json, in_one_line, print_diff, summary};

pub(super) fn test(args: &TestArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let report = crib.tool_files();
    let chosen = choose(&args.tests, &report.files, &crib)?;
    let mut bench = bench(&crib, args.yes);
    prepare(&mut bench, &chosen, &crib)?;
    let jobs = args.jobs.map_or_else(cores, usize::from);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| ToolError::new(ErrorCode::Internal, format!("cannot start: {error}")))?;
    let done = runtime.block_on(async {
        let cancel = CancellationToken::new();
        let interrupted = tokio::spawn(cancel_on_interrupt(cancel.clone()));
        let done = match args.record {
            true => {
                let recording = record::Recording {
                    crib: &crib,
                    bench: &bench,
                    jobs,
                    yes: args.yes,
                    global,
                    output,
                };
                recording.record(&chosen, &cancel).await
            }
            false => Ok(run(&bench, &chosen, jobs, &cancel, output).await),
        };
        interrupted.abort();
        done
    });
    runtime.shutdown_background();
    done
}

/// Where tests run; `yes` agrees to what the sandbox does not hold.
pub(super) fn bench(crib: &Crib, yes: bool) -> Bench {
    crib.bench(match yes {
        true => Consent::Everything,
        false => Consent::Sandboxed,
    })
}

/// As many tests at once as there are cores.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// The first Ctrl-C ends the tests, which are cleaned up after; the second ends everything.
pub(super) async fn cancel_on_interrupt(cancel: CancellationToken) {
    let mut stops = Stops::listen();
    loop {
        stops.next().await;
        if cancel.is_cancelled() {
            std::process::exit(ErrorCode::Cancelled.exit_code().into());
        }
        cancel.cancel();
    }
}

async fn run(
    bench: &Bench,
    chosen: &Chosen<'_>,
    jobs: usize,
    cancel: &CancellationToken,
    output: &Output,
) -> ExitCode {
    let started = Instant::now();
    for note in &chosen.notes {
        output.say(&output.dim(note));
    }
    if !output.json() {
        for file in &chosen.broken {
            print::broken(file, output);
        }
    }
    let trials: Vec<(&Origin<'_>, Trial)> = chosen
        .tools
        .iter()
        .flat_map(|tool| tool.trials().map(|trial| (&tool.origin, trial)))
        .collect();
    let origins: Vec<&Origin<'_>> = trials.iter().map(|(origin, _)| *origin).collect();
    let tests: Vec<Trial> = trials.into_iter().map(|(_, trial)| trial).collect();
    let reports = run_tests(
        bench,
        tests.clone(),
        jobs,
        cancel,
        output,
        |index, report| {
            if !output.json() {
                print::report(report, &tests[index], origins[index], output);
            }
        },
    )
    .await;
    if output.json() {
        let tests: Vec<_> = reports
            .iter()
            .zip(&origins)
            .map(|(report, origin)| as_json(report, origin))
            .collect();
        let count = |status| {
            reports
                .iter()
                .filter(|report| report.status == status)
                .count()
        };
        output.document(&json!({"ok": true, "value": {
            "tests": tests,
            "passed": count(TestStatus::Passed),
            "failed": count(TestStatus::Failed),
            "skipped": count(TestStatus::Skipped),
            "cancelled": count(TestStatus::Cancelled),
            "broken": chosen.broken.iter().map(|file| print::broken_json(file)).collect::<Vec<_>>(),
            "notes": chosen.notes,
        }}));
    } else {
        let words = summary(&reports, chosen.broken.len(), started.elapsed());
        output.say(&words);
    }
    let failed = reports
        .iter()
        .any(|report| report.status == TestStatus::Failed);
    if cancel.is_cancelled() {
        ExitCode::from(ErrorCode::Cancelled.exit_code())
    } else if failed || !chosen.broken.is_empty() {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    }
}

/// Runs tests and reports each in turn; a progress line shows how far they are.
pub(super) async fn run_tests(
    bench: &Bench,
    tests: Vec<Trial>,
    jobs: usize,
    cancel: &CancellationToken,
    output: &Output,
    mut tell: impl FnMut(usize, &TestReport),
) -> Vec<TestReport> {
    let total = tests.len();
    let screen = Arc::new(Screen::new());
    let mut reports = Vec::with_capacity(total);
    let mut running = std::pin::pin!(bench.run_all(tests, jobs, cancel));
    loop {
        let what = format!("test {} of {total}", (reports.len() + 1).min(total));
        let next = progress::show(output, &screen, &what, running.next()).await;
        let Some(report) = next else { break };
        tell(reports.len(), &report);
        reports.push(report);
    }
    reports
}
