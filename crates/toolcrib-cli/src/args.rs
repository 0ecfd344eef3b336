//! The words of the command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, ColorChoice, Parser, Subcommand, ValueHint};
use clap_complete::engine::ArgValueCompleter;
use toolcrib::CallId;
use toolcrib::approval::Status;
use toolcrib::wire::{Provider, ResultShape};

use crate::{complete, duration, size};

/// Define a tool once; run it safely from a shell, a program, or any model that can call tools.
#[derive(Debug, Parser)]
#[command(
    name = "toolcrib",
    version,
    about,
    max_term_width = 100,
    after_help = "\
Start here:
  toolcrib list                             what tools there are
  toolcrib show read_file                   what one takes and returns
  toolcrib run read_file path=README.md     call it
  toolcrib init                             a first tool of your own, tested
  toolcrib schema --provider openai         hand them all to a model

Exit codes: 0 done · 1 the tool failed · 2 usage · 3 no such tool, or it is off · 4 bad arguments ·
5 refused · 6 nobody to approve · 7 timeout · 8 network · 9 conflict or storage · 130 cancelled.
`toolcrib explain CODE` explains an error code."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Print one JSON document on stdout, errors included
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) json: bool,
    /// Print tab-separated rows: no headings, no colour, nothing shortened
    #[arg(
        long,
        global = true,
        conflicts_with = "json",
        help_heading = "Everywhere"
    )]
    pub(crate) plain: bool,
    /// Say nothing on stderr but errors
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Everywhere"
    )]
    pub(crate) quiet: bool,
    /// Say more on stderr: call ids, times
    #[arg(short, long, global = true, help_heading = "Everywhere")]
    pub(crate) verbose: bool,
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Everywhere"
    )]
    pub(crate) color: ColorChoice,
    /// Never wait for a person: ask nothing, read nothing from a terminal
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) no_input: bool,
    /// Where Toolcrib keeps its data [env: TOOLCRIB_HOME]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Everywhere")]
    pub(crate) home: Option<PathBuf>,
    /// The only directory tree file tools may touch [env: TOOLCRIB_WORKSPACE]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Everywhere")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call a tool
    Run(RunArgs),
    /// List the tools
    List(ListArgs),
    /// Show what a tool takes, returns and may do
    Show(ShowArgs),
    /// Print schemas, or definitions in a provider's format
    Schema(SchemaArgs),
    /// Answer calls that wait for a person
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// Look at, take back or make what is allowed without asking
    #[command(subcommand)]
    Grants(GrantsCommand),
    /// Keep keys and passwords for tools, where no tool, model or log sees them
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Look at past calls
    #[command(subcommand)]
    Calls(CallsCommand),
    /// Look at the rules, check them, try them on a call
    #[command(subcommand)]
    Rules(RulesCommand),
    /// Look at the settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check the files of tools: everything that is wrong, where, why, and what to write instead
    Check(CheckArgs),
    /// Explain a tool's standing, an error code, a problem or a field of tools' files
    Explain(ExplainArgs),
    /// Make a directory for tools of this project, with one that works
    Init(InitArgs),
    /// Write a new tool from a template
    New(NewArgs),
    /// Edit a tool's file; what does not check is not saved
    Edit(EditArgs),
    /// Run the tests of tools, each in a directory that is thrown away
    Test(TestArgs),
    /// Check and test tools again whenever their files change
    Watch(WatchArgs),
    /// Look at what the tools of a project would run, and trust them
    Trust(TrustArgs),
    /// Switch tools on again
    Enable(SwitchArgs),
    /// Switch tools off, for good
    Disable(SwitchArgs),
    /// Run any command behind the wall that tools run behind
    Sandbox(SandboxArgs),
    /// Check this machine, the home and the workspace
    #[command(after_help = "Exits with 1 when something is broken; warnings do not count.")]
    Doctor,
    /// Print a script that makes a shell complete tools, parameters and values
    Completions(CompletionsArgs),
    /// Write the manual pages
    #[command(hide = true)]
    Man(ManArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib run read_file path=README.md start_line=1 end_line=5
  toolcrib run list_directory path=. recursive=true --json
  toolcrib run read_file --args '{\"path\": \"README.md\"}'
  echo '{\"path\": \"README.md\"}' | toolcrib run read_file --args -
  toolcrib run read_file path=README.md --dry-run
  toolcrib run shell command='git push' --wait-approval 10m

A call that needs approval asks on the terminal. Without one it is refused at once, unless --yes
approves it or --wait-approval gives somebody time to answer with `toolcrib approvals`.
Values are read by the tool's schema: numbers and booleans as such, lists as JSON or by repeating
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
    /// Say what would happen and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Approve whatever the call asks for; what a rule denies stays denied
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Wait so long for an approval: asked here, or answered with `toolcrib approvals`
    #[arg(long, value_name = "TIME", value_parser = duration::of_people, conflicts_with_all = ["yes", "dry_run"])]
    pub(crate) wait_approval: Option<Duration>,
    /// Print output and events while the call runs (with --json: one event a line)
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) stream: bool,
    /// Allow less time than the tool would have: 500ms, 5s, 2m
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

fn shapes() -> PossibleValuesParser {
    PossibleValuesParser::new(ResultShape::ALL.iter().map(|shape| shape.as_str()))
}

fn providers() -> PossibleValuesParser {
    PossibleValuesParser::new(Provider::ALL.iter().map(|provider| provider.as_str()))
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib trust                 look at the tools of this project, then say yes or no
  toolcrib trust ../other --yes  trust those of another one without being asked

Tools that come with a project cannot be called before you trusted them. What you trust is the files
as they are: one that changes has to be trusted again, and the difference is shown. Without a
terminal and without --yes nothing is trusted (exit 6).")]
pub(crate) struct TrustArgs {
    /// The project; where you are if not named
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: Option<PathBuf>,
    /// Trust them without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
It holds for every process that uses this home, until it is taken back. A tool of a project is
switched in that project only. What `disabledTools` names in config.toml stays off.")]
pub(crate) struct SwitchArgs {
    /// The tools
    #[arg(required = true, value_name = "TOOL", add = ArgValueCompleter::new(complete::all_tools))]
    pub(crate) tools: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Also list tools that are off, not trusted, shadowed, broken or cannot run here
    #[arg(short, long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The tool
    #[arg(add = ArgValueCompleter::new(complete::tools))]
    pub(crate) tool: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib schema read_file                         its JSON Schema
  toolcrib schema --provider anthropic              every tool, for a request's `tools`
  toolcrib schema read_file --provider openai --strict

What a provider cannot express is lowered or left out; each such loss is said on stderr.")]
pub(crate) struct SchemaArgs {
    /// The tools; all of them when none is named
    #[arg(value_name = "TOOL", add = ArgValueCompleter::new(complete::tools))]
    pub(crate) tools: Vec<String>,
    /// The format of the definitions
    #[arg(long, value_name = "PROVIDER", value_parser = providers())]
    pub(crate) provider: Option<String>,
    /// Follow the rules of OpenAI's strict mode
    #[arg(long, requires = "provider")]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib sandbox -- make test                 no network, nothing but the workspace writable
  toolcrib sandbox --isolation container -- python3 untrusted.py
  toolcrib sandbox --host api.github.com -- curl https://api.github.com/zen
  toolcrib sandbox --memory 512MB --timeout 5s --pids 64 -- bash -c 'yes | sort'
  toolcrib sandbox --json -- true               what stood around it, and what did not

Exits with the command's code; 124 when time ran out, 125 when the sandbox could not be set up,
128 and the signal when the command was killed. `toolcrib doctor` says which levels this machine
has, docs/security.md what each protects.")]
pub(crate) struct SandboxArgs {
    /// How strong the wall is; a level that cannot be had is an error, never lowered
    #[arg(long, value_name = "LEVEL", default_value = "process", value_parser = ["none", "process", "container"])]
    pub(crate) isolation: String,
    /// Allow the network (IP only: sockets of the host stay out of reach)
    #[arg(long)]
    pub(crate) network: bool,
    /// Allow this host and no other, by way of http_proxy and https_proxy; may be repeated
    #[arg(long, value_name = "HOST[:PORT]", value_parser = host, conflicts_with_all = ["network", "proxy"])]
    pub(crate) host: Vec<String>,
    /// Allow this one address, a proxy of your own, by way of http_proxy and https_proxy
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
    /// Processes and threads at once [default: 512]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub(crate) pids: Option<u32>,
    /// Size of one file [default: 1GB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) file_size: Option<u64>,
    /// How much what it may write can grow [default: 4GB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) growth: Option<u64>,
    /// Pass a variable on, or set one; besides PATH, HOME, LANG, LC_*, TZ and TERM
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,
    /// Whose rights it has; `reduced` is a uid that owns nothing, which only root can give
    #[arg(long, value_name = "WHOSE", default_value = "same-as-user", value_parser = ["same-as-user", "reduced"])]
    pub(crate) privilege: String,
    /// The command and its arguments
    #[arg(required = true, last = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// The end of an id is enough.
const SHORT_IDS: &str = "An id may be shortened to its end (or start), four characters at least.";

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  toolcrib approvals list                                  what waits
  toolcrib approvals show 9c4f21ab                         effect, arguments and diff
  toolcrib approvals approve 9c4f21ab
  toolcrib approvals approve 9c4f21ab --set path=notes.md  approve with other arguments
  toolcrib approvals deny 9c4f21ab --reason 'not on a Friday'
  toolcrib approvals watch                                 answer one after the other as they come

An id may be shortened to its end (or start), four characters at least. The first answer counts;
whoever comes second is told who was first (exit 9).")]
pub(crate) enum ApprovalsCommand {
    /// List what waits for an answer, oldest first
    List {
        /// Also what is decided, expired or withdrawn
        #[arg(short, long)]
        all: bool,
        /// Only requests that stand like this
        #[arg(long, value_name = "STATUS", value_parser = statuses(), conflicts_with = "all")]
        status: Option<String>,
    },
    /// Show one request: effect, arguments, diff, and who decided
    #[command(after_help = SHORT_IDS)]
    Show {
        /// Its id, or the end of it
        #[arg(add = ArgValueCompleter::new(complete::requests))]
        id: String,
    },
    /// Approve a request, once
    Approve(ApproveArgs),
    /// Deny a request
    #[command(after_help = "\
Example:
  toolcrib approvals deny 9c4f21ab --reason 'not on a Friday'

The reason is what the caller gets to read. The same call is answered alike for a minute.")]
    Deny {
        /// Its id, or the end of it
        #[arg(add = ArgValueCompleter::new(complete::pending))]
        id: String,
        /// Why; the caller is told
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Follow the requests as they come, and answer them on a terminal
    #[command(after_help = "\
On a terminal each request is put to you in turn; elsewhere, and with --no-input, each is printed.
With --json every change is a line: the request as in `approvals show --json`. Ctrl-C ends it.")]
    Watch,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib approvals approve 9c4f21ab
  toolcrib approvals approve 9c4f21ab --set command='git push --dry-run'
  toolcrib approvals approve 9c4f21ab --args @arguments.json --reason 'on a branch instead'

Edited arguments are checked and judged like those of any call: what does not fit, or what a rule
denies, is refused (exit 4 or 5), and the request stays open. What the edited call does is shown;
where it would ask itself, a terminal asks you first, unless --no-input is given.")]
pub(crate) struct ApproveArgs {
    /// Its id, or the end of it
    #[arg(add = ArgValueCompleter::new(complete::pending))]
    pub(crate) id: String,
    /// Change an argument first
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) pairs: Vec<String>,
    /// Run with these arguments instead; @FILE reads them from a file, - from stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) args: Option<String>,
    /// Why; it is recorded
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

fn statuses() -> PossibleValuesParser {
    PossibleValuesParser::new(Status::ALL.iter().map(|status| status.as_str()))
}

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  toolcrib grants list
  toolcrib grants revoke 77d1c0de
  toolcrib grants add shell command='git push origin *' --expires 8h

A grant allows calls of one tool without asking, as far as its scope reaches. It never lifts what a
rule denies, and ends when the tool changes. Most are made where a call asks: type `g`.")]
pub(crate) enum GrantsCommand {
    /// List the grants in force, oldest first
    List {
        /// Also those that are used up or expired; they are removed when the next grant is made
        #[arg(short, long)]
        all: bool,
    },
    /// Show one grant
    #[command(after_help = SHORT_IDS)]
    Show {
        /// Its id, or the end of it
        #[arg(add = ArgValueCompleter::new(complete::grants))]
        id: String,
    },
    /// Take grants back: the calls they covered ask again
    #[command(after_help = SHORT_IDS)]
    Revoke {
        /// Their ids, or the ends of them
        #[arg(required = true, value_name = "ID", add = ArgValueCompleter::new(complete::grants))]
        ids: Vec<String>,
    },
    /// Allow calls of a tool without asking
    Add(GrantArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib grants add shell command='git push origin *'
  toolcrib grants add shell command='cargo test **' --scope user --expires 7d
  toolcrib grants add write_file path='docs/*' content='*' --uses 10
  toolcrib grants add shell --shape '{\"command\": {\"argv\": [\"echo\", \"two words\"]}}'

What each parameter may be: a value, or `*` for anything; for paths a pattern (`docs/*` in that
directory, `docs/**` below it, too); for commands their words, with `*` for one word that is no
option and `**` at the end for any further words. Parameters not named keep their defaults. What
the grant would have allowed in the past is shown before it is made.")]
pub(crate) struct GrantArgs {
    /// The tool
    #[arg(add = ArgValueCompleter::new(complete::tools))]
    pub(crate) tool: String,
    /// What its parameters may be
    #[arg(value_name = "NAME=PATTERN", add = ArgValueCompleter::new(complete::parameters))]
    pub(crate) pairs: Vec<String>,
    /// The same as JSON, in full: "any", {"exact": …}, {"argv": […]} or {"path": …} by parameter
    #[arg(long, value_name = "JSON|@FILE|-", conflicts_with = "pairs")]
    pub(crate) shape: Option<String>,
    /// How far it reaches: this terminal session, this workspace, or all workspaces
    #[arg(long, value_name = "SCOPE", default_value = "project", value_parser = ["session", "project", "user"])]
    pub(crate) scope: String,
    /// How long it lasts: 30m, 8h, 7d [default: 12h for a session, else 30d]
    #[arg(long, value_name = "TIME", value_parser = duration::of_grant)]
    pub(crate) expires: Option<Duration>,
    /// How many calls it covers [default: any number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) uses: Option<u64>,
    /// Why; it is kept with the grant
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Make it without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  toolcrib secret set WEATHER_API_KEY --host api.weather.example   asks for the value
  pass show github | toolcrib secret set GITHUB_TOKEN --host api.github.com
  toolcrib secret list
  toolcrib secret rm WEATHER_API_KEY

HTTP tools name a secret as `${WEATHER_API_KEY}`; an argument can never stand for one. Values are
kept in files that only you can read, are sent to the hosts they are bound to, and are replaced by
`[REDACTED]` in results, errors, events, questions and logs, also in base64, URL-encoded and escaped.
That is for accidents; a tool that turns a value around is not caught.")]
pub(crate) enum SecretCommand {
    /// Keep a secret, or replace one
    Set(SecretSetArgs),
    /// List names, whom they are for, and a short hash of each value
    #[command(after_help = "\
The hash is the last four digits of the value's SHA-256: enough to tell two values apart, too little
to find one. To compare: printf %s \"$VALUE\" | sha256sum")]
    List,
    /// Remove secrets
    Rm {
        /// Their names
        #[arg(required = true, value_name = "NAME", add = ArgValueCompleter::new(complete::secrets))]
        names: Vec<String>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib secret set WEATHER_API_KEY --host api.weather.example
  toolcrib secret set DEPLOY_KEY < ~/.keys/deploy.pem
  toolcrib secret set GITHUB_TOKEN --from-env GH_TOKEN --host api.github.com --bundle github

The value is asked for on a terminal, without showing it; elsewhere it is read from stdin, and
newlines behind one line are dropped, of many lines the last one. It is never taken from the command
line. It has 4 bytes at least, 64 KB at most. Setting a secret again replaces its value; hosts and
bundles stay as they were unless others are named. A new one is for any, unless some are named.")]
pub(crate) struct SecretSetArgs {
    /// Its name: letters, digits and `_`
    #[arg(add = ArgValueCompleter::new(complete::secrets))]
    pub(crate) name: String,
    /// Refused: see above
    #[arg(hide = true)]
    pub(crate) value: Vec<OsString>,
    /// Send it to this host only, written as in `allowedHosts`; may be repeated [default: as before]
    #[arg(long = "host", value_name = "HOST")]
    pub(crate) hosts: Vec<String>,
    /// Send it to any host of `allowedHosts`, also if it was for some only
    #[arg(long, conflicts_with = "hosts")]
    pub(crate) any_host: bool,
    /// Let only tools of this bundle use it; may be repeated [default: as before]
    #[arg(long = "bundle", value_name = "BUNDLE")]
    pub(crate) bundles: Vec<String>,
    /// Let tools of any bundle use it, also if it was for some only
    #[arg(long, conflicts_with = "bundles")]
    pub(crate) any_bundle: bool,
    /// Take the value from this variable of the environment
    #[arg(long, value_name = "VAR")]
    pub(crate) from_env: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CallsCommand {
    /// List the latest calls, newest first
    List {
        /// How many
        #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Only calls of this tool
        #[arg(long, add = ArgValueCompleter::new(complete::tools))]
        tool: Option<String>,
        /// Only calls that failed
        #[arg(long)]
        failed: bool,
    },
    /// Show one call
    Show {
        /// Its id
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// List the rules in force, and those that are switched off
    List,
    /// Check rules and their examples: the files named, or all that are in force
    Check {
        /// Files with `[[rules]]`
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
    },
    /// Say what the rules make of a call, without making it
    Test(RulesTestArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib rules test --command 'rm -rf build && sudo make install'
  toolcrib rules test read_file path=/etc/passwd
  toolcrib rules test shell --args '{\"command\": \"ls\"}' --exit-code

Lists every rule that matches, the severest first; with -v also the commands that were read from
shell text. Exits with 0 whatever the verdict is; with --exit-code a deny is 5 and an ask is 6.
Only rules are asked here: `toolcrib run --dry-run` also says what the tool itself wants.")]
pub(crate) struct RulesTestArgs {
    /// The tool
    #[arg(required_unless_present = "command", add = ArgValueCompleter::new(complete::tools))]
    pub(crate) tool: Option<String>,
    /// Its arguments, as name=value
    #[arg(value_name = "NAME=VALUE", add = ArgValueCompleter::new(complete::parameters))]
    pub(crate) pairs: Vec<String>,
    /// All arguments as JSON; @FILE reads them from a file, - from stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) args: Option<String>,
    /// Instead of a tool: the text of a shell command
    #[arg(short, long, value_name = "TEXT", conflicts_with_all = ["tool", "args"])]
    pub(crate) command: Option<String>,
    /// Exit with 5 for deny and 6 for ask
    #[arg(long)]
    pub(crate) exit_code: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting in force and where it comes from
    Show,
    /// Print where the settings are read from
    Path,
    /// Print the reference of all settings (docs/config.md)
    Reference,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib check                            every tool of this workspace and yours
  toolcrib check .toolcrib/tools/find.yaml
  toolcrib check --fix                      put right what is certain: misspelt fields, quotes
  toolcrib check --strict --json            for CI: warnings count, one JSON document
  toolcrib check --for openai               what that provider could not be told
  toolcrib check --schema                   the JSON Schema of the format, for editors
  cat find.yaml | toolcrib check -

Nothing is run and nothing needs to be trusted. Exits with 0 when the files are in order, 4 when one
is not. `toolcrib explain CODE` says more about a problem, `toolcrib explain FIELD` about a field.")]
pub(crate) struct CheckArgs {
    /// Files, directories of tools, or - for stdin; by default the tools of this workspace and yours
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Put right what can be put right without asking; comments and layout stay
    #[arg(long)]
    pub(crate) fix: bool,
    /// Let warnings count as errors
    #[arg(long)]
    pub(crate) strict: bool,
    /// Also report what this provider's format cannot say about a tool
    #[arg(long = "for", value_name = "PROVIDER", value_parser = providers())]
    pub(crate) provider: Option<String>,
    /// Print the JSON Schema of the format (yaml, or http for .json files) and check nothing
    #[arg(
        long,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "yaml",
        value_parser = ["yaml", "http"],
        conflicts_with_all = ["paths", "fix", "strict", "provider"]
    )]
    pub(crate) schema: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib explain read_file              is it on offer, from where, under which limits?
  toolcrib explain INVALID_ARGUMENTS      what does this code mean, and what now?
  toolcrib explain unknown-key            a problem that `toolcrib check` reports
  toolcrib explain security.isolation     a field of tools' files")]
pub(crate) struct ExplainArgs {
    /// A tool, an error code, a problem of a file, or a field
    #[arg(add = ArgValueCompleter::new(complete::topics))]
    pub(crate) topic: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib init                          .toolcrib/tools with one tool that works
  toolcrib run count-lines PATTERN='*.md'
  toolcrib test                          the tests it came with

What is there already is left as it is, so that running it again does no harm. The tool it writes is
trusted: you asked for it.")]
pub(crate) struct InitArgs {}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib new word-count --description 'Counts the words of a file'
  toolcrib new release --kind steps          several commands, one after the other
  toolcrib new todo --kind alias             another tool with preset arguments
  toolcrib new greet --scope user            for all your projects, in ~/.toolcrib/tools
  toolcrib new weather --http --url 'https://api.example.com/v1/now?q=${city}'
  toolcrib new issues --from-curl 'curl https://api.github.com/repos/{owner}/{repo}/issues'
  pbpaste | toolcrib new search --from-curl - --param q

Each template works as it is: it checks, and its own tests pass. It is trusted, since you wrote it.
Change it with `toolcrib edit NAME`, then try it: `toolcrib test NAME`.

--from-curl runs and sends nothing. What looks like a credential becomes a secret, and its value is
written nowhere; `${name}` and `{name}` in the URL become arguments, and so does what --param names.
See docs/http-tools.md.")]
pub(crate) struct NewArgs {
    /// The tool's name: letters, digits, dashes and underscores
    pub(crate) name: String,
    /// What it is made of: one command, several, or another tool
    #[arg(long, value_name = "KIND", default_value = "shell", value_parser = ["shell", "steps", "alias"])]
    pub(crate) kind: String,
    /// Where it is kept: in this project, or for all of yours
    #[arg(long, value_name = "SCOPE", default_value = "local", value_parser = ["local", "user"])]
    pub(crate) scope: String,
    /// What it does, for people and models
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Make an HTTP tool from a curl command; @FILE reads it from a file, - from stdin
    #[arg(long, value_name = "CURL|@FILE|-", conflicts_with_all = ["kind", "http"], help_heading = "HTTP tools")]
    pub(crate) from_curl: Option<String>,
    /// With --from-curl: what callers give. A query parameter, body.FIELD, or NAME=TEXT for a text of the path
    #[arg(
        long = "param",
        value_name = "NAME|body.FIELD|NAME=TEXT",
        requires = "from_curl",
        conflicts_with = "http",
        help_heading = "HTTP tools"
    )]
    pub(crate) params: Vec<String>,
    /// Make an HTTP tool from a template with comments
    #[arg(long, conflicts_with = "kind", help_heading = "HTTP tools")]
    pub(crate) http: bool,
    /// With --http: where it goes; ${name} in path and query is an argument
    #[arg(
        long,
        value_name = "URL",
        requires = "http",
        help_heading = "HTTP tools"
    )]
    pub(crate) url: Option<String>,
    /// With --http: GET, POST, … [default: GET]
    #[arg(
        long,
        value_name = "METHOD",
        requires = "http",
        help_heading = "HTTP tools"
    )]
    pub(crate) method: Option<String>,
    /// Replace the file if there is one
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib edit word-count
  EDITOR='code --wait' toolcrib edit word-count

Opens a copy in $VISUAL or $EDITOR and checks what you saved. Only what checks takes the place of
the file, at once and whole; on a terminal you can go on editing what does not, elsewhere it is
refused (exit 4) and the copy is kept. What you saved is trusted. Built-in tools have no file.")]
pub(crate) struct EditArgs {
    /// The tool
    #[arg(add = ArgValueCompleter::new(complete::file_tools))]
    pub(crate) tool: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib test                          all tests of all tools
  toolcrib test word-count               those of one tool
  toolcrib test word-count:empty-file    one of them
  toolcrib test word-count --record      fill in what tests expect that say nothing yet

Each test runs in an empty directory of its own behind the sandbox, several at once; afterwards the
directory is gone. Nothing of your workspace is seen or changed, nothing is recorded, nobody is
asked, and tools need not be trusted; what rules deny stays denied. A tool with `elevated` rights,
without isolation, with permissions outside of that directory or with a host to reach needs --yes.
Exits with 1 when a test failed, 3 when there is no such tool or test.")]
pub(crate) struct TestArgs {
    /// Tools, or single tests as TOOL:TEST; all when none is named
    #[arg(value_name = "TOOL[:TEST]", add = ArgValueCompleter::new(complete::trials))]
    pub(crate) tests: Vec<String>,
    /// Write what came into the files: of tests that expect nothing, and of tests named one by one
    #[arg(long)]
    pub(crate) record: bool,
    /// How many tests run at once [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Agree to what the sandbox does not hold, and to what --record writes
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib watch                 all tools that come from files
  toolcrib watch word-count      one of them
  toolcrib watch --json          one line of JSON for each tool that was tried

Tools are checked and tested at the start and whenever their files change, as by `toolcrib test`.
Ctrl-C ends it.")]
pub(crate) struct WatchArgs {
    /// The tools; all when none is named
    #[arg(value_name = "TOOL", add = ArgValueCompleter::new(complete::file_tools))]
    pub(crate) tools: Vec<String>,
    /// Agree to what the sandbox does not hold
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Set it up once:
  bash   echo 'source <(toolcrib completions bash)' >> ~/.bashrc
  zsh    echo 'source <(toolcrib completions zsh)' >> ~/.zshrc
  fish   toolcrib completions fish > ~/.config/fish/completions/toolcrib.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = PossibleValuesParser::new(["bash", "elvish", "fish", "powershell", "zsh"]))]
    pub(crate) shell: String,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory to write them to
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
}
