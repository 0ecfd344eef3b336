//! The commands that run the tests of a `package.json`: vitest, jest, mocha and node with a report, or its test script whatever it does.

use std::path::Path;

use super::super::project::{self, Package, join};
use super::choose::{TestRunner, takes_options};
use super::command::{Planned, TestRequest, Words, no_filter};
use super::results::Results;
use super::unknown_runner::Loose;
use super::watch::ReportReader;
use super::{json_report, tap, toolchain};
use crate::model::error::ToolError;
use crate::sandbox::Command;

/// A runner for JavaScript that writes a report: through the test script if that runs it, with what else the script says; by itself
/// otherwise.
pub(super) fn scripted(runner: TestRunner, asked: &TestRequest<'_>) -> Result<Planned, ToolError> {
    project::need("node")?;
    let root = asked.project.root.as_str();
    let package = Package::read(asked.workspace, root);
    let bins = toolchain::bins(asked.workspace, root)?;
    let is_installed = runner == TestRunner::Node
        || bins
            .iter()
            .any(|bin| project::is_file(asked.workspace, &join(&bin.relative, runner.name())));
    if !is_installed {
        let why = format!(
            "it is in no `node_modules` of `{}` or above it",
            asked.project.root
        );
        return Err(project::missing(runner.name(), &why));
    }
    let (options, report, reader) = options(runner, asked)?;
    let script = package.test_script();
    let at = script.and_then(|script| Some((script, takes_options(script, runner)?)));
    let (text, shown) = match at {
        Some((script, at)) => {
            let (before, after) = script.split_at(at);
            let before_tests = match package.script("pretest") {
                Some(_) => "npm run pretest && ",
                None => "",
            };
            (
                format!("{before_tests}{before} \"$@\" {after}"),
                format!("{before_tests}{before} {}{after}", options.shown()),
            )
        }
        None => {
            let alone = match runner {
                TestRunner::Vitest => "vitest run",
                TestRunner::Node => "node --test",
                other => other.name(),
            };
            (
                format!("{alone} \"$@\""),
                format!("{alone} {}", options.shown()).trim_end().to_owned(),
            )
        }
    };
    // The options are the shell's arguments, so that nothing in them is read by it.
    let command = Command::new("/bin/sh")
        .args(["-c", &text, "sh"])
        .args(options.given)
        .env("PATH", toolchain::path_with(&bins));
    Ok(Planned {
        command: quiet_npm(command, asked.temp.path()),
        shown,
        reader: Box::new(ReportReader(reader)),
        report: Some(report),
        read: Vec::new(),
    })
}

type Report = fn(&str) -> Results;

fn options(
    runner: TestRunner,
    asked: &TestRequest<'_>,
) -> Result<(Words, &'static str, Report), ToolError> {
    let (temp, filter) = (asked.temp.path(), asked.filter);
    let beneath = asked.place.beneath(&asked.project.root);
    let host = match &beneath {
        Some(path) => {
            let root = asked.workspace.host_directory(&asked.project.root)?;
            root.join(path).to_str().map(str::to_owned)
        }
        None => None,
    };
    let words = Words::default();
    let (words, report, reader): (Words, &str, Report) = match runner {
        TestRunner::Vitest => (
            words
                .and("--run")
                .hidden("--reporter=default")
                .hidden("--reporter=json")
                .place("--outputFile.json=", temp.join("report.json"))
                .option("--testNamePattern=", filter),
            "report.json",
            json_report::read_jest,
        ),
        TestRunner::Jest => (
            words
                .and("--ci")
                .hidden("--json")
                .hidden("--testLocationInResults")
                .hidden("--watchman=false")
                .place("--outputFile=", temp.join("report.json"))
                .place("--cacheDirectory=", temp.join("jest"))
                .option("--testNamePattern=", filter),
            "report.json",
            json_report::read_jest,
        ),
        TestRunner::Mocha => (
            words
                .hidden("--reporter=json")
                .place("--reporter-option=output=", temp.join("report.json"))
                .option("--grep=", filter),
            "report.json",
            json_report::read_mocha,
        ),
        _ => (
            words
                .hidden("--test-reporter=spec")
                .hidden("--test-reporter-destination=stdout")
                .hidden("--test-reporter=tap")
                .place("--test-reporter-destination=", temp.join("report.tap"))
                .option("--test-name-pattern=", filter),
            "report.tap",
            tap::read,
        ),
    };
    // An absolute path is not an option; jest takes a pattern.
    let words = match (host, beneath) {
        (Some(host), Some(path)) => match runner {
            TestRunner::Jest => words.and_as(regex::escape(&host), path),
            TestRunner::Mocha if asked.place.file.is_none() => {
                words.and("--recursive").and_as(host, path)
            }
            TestRunner::Node if asked.place.file.is_none() => words,
            _ => words.and_as(host, path),
        },
        _ => words,
    };
    Ok((words, report, reader))
}

pub(super) fn npm(asked: &TestRequest<'_>) -> Result<Planned, ToolError> {
    no_filter(
        asked,
        "npm",
        "the test script can be anything; name its runner, or leave `filter` out",
    )?;
    project::need("npm")?;
    Ok(Planned {
        command: quiet_npm(Command::new("npm").args(["test"]), asked.temp.path()),
        shown: "npm test".to_owned(),
        reader: Box::<Loose>::default(),
        report: None,
        read: Vec::new(),
    })
}

/// npm with its files in the temporary directory.
fn quiet_npm(command: Command, temp: &Path) -> Command {
    command
        .env("npm_config_cache", temp.join("npm"))
        .env("npm_config_update_notifier", "false")
        .env("npm_config_offline", "true")
        .env("npm_config_fund", "false")
        .env("npm_config_audit", "false")
}
