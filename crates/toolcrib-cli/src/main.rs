//! The `toolcrib` command: a thin front end. It parses words, opens a [`toolcrib::Crib`], prints
//! what comes back, and turns error codes into exit codes. It holds no policy.

mod args;
mod clients_of_others;
mod coerce;
mod commands;
mod complete;
mod duration;
mod failure;
mod home_paths;
mod hooks;
mod ids;
mod local_time;
mod output;
mod progress;
mod prompt;
mod remote;
mod signals;
mod size;
mod typed_path;
mod version;
mod wrap;

use std::io::Write as _;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use clap::FromArgMatches as _;

use args::Cli;
use failure::CliError;
use output::Output;

fn main() -> ExitCode {
    // Costs nothing unless a shell asks for completions.
    clap_complete::CompleteEnv::with_factory(args::command).complete();
    quiet_panics();
    let cli = match parsed() {
        Ok(cli) => cli,
        Err(error) => match version::asked(&error) {
            Some(document) => {
                let _ = writeln!(std::io::stdout(), "{document}");
                return ExitCode::SUCCESS;
            }
            None => return failure::report_usage(error),
        },
    };
    let output = Output::new(&cli.global);
    match std::panic::catch_unwind(AssertUnwindSafe(|| commands::dispatch(&cli, &output))) {
        Ok(Ok(code)) => output.exit_code(code),
        Ok(Err(error)) => error.report(&output),
        Err(panic) => CliError::bug(&*panic).report(&output),
    }
}

fn parsed() -> Result<Cli, clap::Error> {
    let mut command = args::command();
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// A tool that panics is an outcome, and a panic of ours is reported by `main`; neither should
/// print twice. `RUST_BACKTRACE` brings the usual message back.
fn quiet_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_none_or(|value| value == "0") {
        std::panic::set_hook(Box::new(|_| {}));
    }
}
