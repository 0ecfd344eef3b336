//! What `run` and `sandbox` take.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};
use clap_complete::engine::ArgValueCompleter;
use toolcrib::CallId;
use toolcrib::wire::ResultShape;

use crate::{complete, duration, size};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib run read_file path=README.md start_line=1 end_line=5
  toolcrib run list_directory path=. recursive=true --json
  toolcrib run read_file --args '{\"path\": \"README.md\"}'
  echo '{\"path\": \"README.md\"}' | toolcrib run read_file --args -
  toolcrib run read_file path=README.md --dry-run
  toolcrib run shell command='git push' --wait-approval 10m

A call that needs approval asks on the terminal. Without a terminal it is refused at once, unless --yes \
approves it or --wait-approval leaves time to answer with `toolcrib approvals`.

Paths are relative to the workspace, as for every caller; `.`, `./NAME` and `../NAME` are relative to the current \
directory.

Values are parsed according to the tool's schema: numbers and booleans as such, lists as JSON or by repeating \
`name=value`, objects as JSON. Other spellings of a name (startLine, START_LINE) work too.")]
pub(crate) struct RunArgs {
    /// The tool: name, +slug, bundle/slug, bundle/slug@version or id
    #[arg(add = ArgValueCompleter::new(complete::tools))]
    pub(crate) tool: String,
    /// Its arguments, as name=value
    #[arg(value_name = "NAME=VALUE", add = ArgValueCompleter::new(complete::parameters))]
    pub(crate) pairs: Vec<String>,
    /// All arguments as JSON; @FILE reads them from a file, - from stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) args: Option<String>,
    /// Show what would happen without doing it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Approve the call if it asks; rules can still deny it
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Wait this long for an approval, given here or with `toolcrib approvals`
    #[arg(long, value_name = "TIME", value_parser = duration::of_people, conflicts_with_all = ["yes", "dry_run"])]
    pub(crate) wait_approval: Option<Duration>,
    /// Print output and events while the call runs (with --json: one event per line)
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) stream: bool,
    /// Shorten the tool's timeout: 500ms, 5s, 2m
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub(crate) timeout: Option<Duration>,
    /// Print the result as JSON in this shape
    #[arg(long, value_name = "SHAPE", value_parser = shapes(), conflicts_with = "dry_run")]
    pub(crate) shape: Option<String>,
    /// Give the call an id: calling again with it returns the stored outcome
    #[arg(long, value_name = "ID", value_parser = |id: &str| CallId::parse(id), conflicts_with = "dry_run")]
    pub(crate) call_id: Option<CallId>,
    /// Exit with the exit code of the program the tool ran
    #[arg(long)]
    pub(crate) exit_code: bool,
}

fn shapes() -> PossibleValuesParser {
    PossibleValuesParser::new(ResultShape::ALL.iter().map(|shape| shape.as_str()))
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib sandbox -- make test                 no network, nothing but the workspace writable
  toolcrib sandbox --isolation container -- python3 untrusted.py
  toolcrib sandbox --host api.github.com -- curl https://api.github.com/zen
  toolcrib sandbox --memory 512MB --timeout 5s --pids 64 -- bash -c 'yes | sort'
  toolcrib sandbox --json -- true               which protections were in force

Exits with the command's code; 124 when time ran out, 125 when the sandbox could not be set up, 128 and the \
signal when the command was killed. `toolcrib doctor` says which levels this machine has, docs/security.md \
what each protects.")]
pub(crate) struct SandboxArgs {
    /// Isolation level of the sandbox; a level that is not available is an error, never lowered
    #[arg(long, value_name = "LEVEL", default_value = "process", value_parser = ["none", "process", "container"])]
    pub(crate) isolation: String,
    /// Allow the network (IP only: sockets of the host stay out of reach)
    #[arg(long)]
    pub(crate) network: bool,
    /// Allow this host and no other, by way of http_proxy and https_proxy; may be repeated
    #[arg(long, value_name = "HOST[:PORT]", value_parser = host, conflicts_with_all = ["network", "proxy"])]
    pub(crate) host: Vec<String>,
    /// Allow this one address, your own proxy, by way of http_proxy and https_proxy
    #[arg(long, value_name = "IP:PORT", value_parser = address, conflicts_with = "network")]
    pub(crate) proxy: Option<SocketAddr>,
    /// Also let it read this file or directory
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) read: Vec<PathBuf>,
    /// Also let it write this file or directory
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) write: Vec<PathBuf>,
    /// Memory of all its processes together [default: 2GB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) memory: Option<u64>,
    /// How long it may run [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub(crate) timeout: Option<Duration>,
    /// CPU time of all its processes together
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub(crate) cpu: Option<Duration>,
    /// Number of processes and threads [default: 512]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub(crate) pids: Option<u32>,
    /// Size of one file [default: 1GB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) file_size: Option<u64>,
    /// How much disk space it may add [default: 4GB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) growth: Option<u64>,
    /// Pass a variable on, or set one; besides PATH, HOME, LANG, LC_*, TZ and TERM
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// The rights it has; `reduced` is a uid that owns nothing, which only root can give
    #[arg(long, value_name = "WHOSE", default_value = "same-as-user", value_parser = ["same-as-user", "reduced"])]
    pub(crate) privilege: String,
    /// The command and its arguments
    #[arg(required = true, last = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// Reads an address; the error says how to write one.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "write an IP address and a port, as in 127.0.0.1:3128".to_owned())
}

fn host(text: &str) -> Result<String, String> {
    let hosts = toolcrib::egress::AllowedHosts::parse([text])?;
    match hosts.warnings().pop() {
        Some(why) => Err(why),
        None => Ok(text.to_owned()),
    }
}
