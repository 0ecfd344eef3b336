//! What `approvals` and `grants` take.

use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use toolcrib::approval::Status;

use crate::{complete, duration};

/// The end of an id is enough.
const SHORT_IDS: &str = "An id may be shortened to its end (or start), four characters at least.";

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  toolcrib approvals list                                  calls waiting for approval
  toolcrib approvals show 9c4f21ab                         effect, arguments and diff
  toolcrib approvals approve 9c4f21ab
  toolcrib approvals approve 9c4f21ab --set path=notes.md  approve with other arguments
  toolcrib approvals deny 9c4f21ab --reason 'not on a Friday'
  toolcrib approvals watch                                 answer requests as they arrive

An id may be shortened to its end (or start), four characters at least. The first answer counts; a later one \
is refused, and the error names who answered first (exit 9).")]
pub(crate) enum ApprovalsCommand {
    /// List the calls waiting for approval, oldest first
    List {
        /// Include requests that were decided, withdrawn or have expired
        #[arg(short, long)]
        all: bool,
        /// Only requests with this status
        #[arg(long, value_name = "STATUS", value_parser = statuses(), conflicts_with = "all")]
        status: Option<String>,
    },
    /// Show one request: effect, arguments, diff, and who decided
    #[command(after_help = SHORT_IDS)]
    Show {
        /// Its id, or the end of its id
        #[arg(add = ArgValueCompleter::new(complete::requests))]
        id: String,
    },
    /// Approve a request, once
    Approve(ApproveArgs),
    /// Deny a request
    #[command(after_help = "\
Example:
  toolcrib approvals deny 9c4f21ab --reason 'not on a Friday'

The caller sees the reason. Identical calls are denied for a minute without asking again.")]
    Deny {
        /// Its id, or the end of its id
        #[arg(add = ArgValueCompleter::new(complete::pending))]
        id: String,
        /// The reason, which the caller sees
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Send a test message through the channels that announce requests
    #[command(after_help = "\
Examples:
  toolcrib approvals notify
  toolcrib approvals notify phone

Channels are `[notify.NAME]` in config.toml: a webhook, ntfy, Slack, Telegram, mail or the desktop. \
`serve`, `mcp` and `approvals watch` use them while they run.")]
    Notify {
        /// Only this channel
        channel: Option<String>,
    },
    /// Follow requests as they arrive, and answer them on a terminal
    #[command(after_help = "\
On a terminal you are asked about each request in turn; elsewhere, and with --no-input, each is printed. \
With --json every change is one line: the request as in `approvals show --json`. Ctrl-C ends it.")]
    Watch,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib approvals approve 9c4f21ab
  toolcrib approvals approve 9c4f21ab --set command='git push --dry-run'
  toolcrib approvals approve 9c4f21ab --args @arguments.json --reason 'on a branch instead'

Edited arguments are checked like those of any call: arguments that do not fit the schema, or that a rule \
denies, are refused (exit 4 or 5), and the request stays open. The effect of the edited call is shown. If it \
needs approval itself, you are asked first on a terminal, unless --no-input is given.")]
pub(crate) struct ApproveArgs {
    /// Its id, or the end of its id
    #[arg(add = ArgValueCompleter::new(complete::pending))]
    pub(crate) id: String,
    /// Change an argument first
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) pairs: Vec<String>,
    /// Run with these arguments instead; @FILE reads them from a file, - from stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) args: Option<String>,
    /// The reason, which is recorded
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

A grant allows calls of one tool without asking, within its scope. It never overrides a rule that denies, \
and it ends when the tool changes. Most grants are made when a call asks: type `g`.")]
pub(crate) enum GrantsCommand {
    /// List the grants in force, oldest first
    List {
        /// Include those that are used up or expired; they are removed when the next grant is made
        #[arg(short, long)]
        all: bool,
    },
    /// Show one grant
    #[command(after_help = SHORT_IDS)]
    Show {
        /// Its id, or the end of its id
        #[arg(add = ArgValueCompleter::new(complete::grants))]
        id: String,
    },
    /// Revoke grants: the calls they covered ask again
    #[command(after_help = SHORT_IDS)]
    Revoke {
        /// Their ids, or the ends of their ids
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

The pattern of a parameter is a value, or `*` for anything. For paths it can be a pattern: `docs/*` means in \
that directory, `docs/**` also below it. For commands it is their words, with `*` for one word that is not \
an option and `**` at the end for any further words. Parameters not named keep their defaults. Before the \
grant is made, you see which past calls it would have allowed.")]
pub(crate) struct GrantArgs {
    /// The tool
    #[arg(add = ArgValueCompleter::new(complete::tools))]
    pub(crate) tool: String,
    /// The pattern of each parameter
    #[arg(value_name = "NAME=PATTERN", add = ArgValueCompleter::new(complete::parameters))]
    pub(crate) pairs: Vec<String>,
    /// The patterns as JSON, for each parameter "any", {"exact": …}, {"argv": […]} or {"path": …}
    #[arg(long, value_name = "JSON|@FILE|-", conflicts_with = "pairs")]
    pub(crate) shape: Option<String>,
    /// Where it applies: this terminal session, this workspace, or all workspaces
    #[arg(long, value_name = "SCOPE", default_value = "project", value_parser = ["session", "project", "user"])]
    pub(crate) scope: String,
    /// How long it lasts: 30m, 8h, 7d [default: 12h for a session, else 30d]
    #[arg(long, value_name = "TIME", value_parser = duration::of_grant)]
    pub(crate) expires: Option<Duration>,
    /// How many calls it covers [default: any number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) uses: Option<u64>,
    /// The reason, which is kept with the grant
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Make it without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  toolcrib held list
  toolcrib held show 77d1c0de
  toolcrib held restore 77d1c0de
  toolcrib held drop 77d1c0de

A command that makes a file which other programs run (a git hook, `.envrc`, `.vscode/tasks.json` …) leaves \
it here instead of in the workspace. Nothing runs it, nothing is lost, and nothing expires.")]
pub(crate) enum HeldCommand {
    /// List what is held, oldest first
    List,
    /// Show one item with its content
    #[command(after_help = SHORT_IDS)]
    Show {
        /// Its id, or the end of its id
        #[arg(add = ArgValueCompleter::new(complete::held))]
        id: String,
    },
    /// Put items back where they were, byte for byte with their modes and times
    #[command(after_help = SHORT_IDS)]
    Restore {
        /// Their ids, or the ends of their ids
        #[arg(required = true, value_name = "ID", add = ArgValueCompleter::new(complete::held))]
        ids: Vec<String>,
    },
    /// Delete items
    #[command(after_help = SHORT_IDS)]
    Drop {
        /// Their ids, or the ends of their ids
        #[arg(required = true, value_name = "ID", add = ArgValueCompleter::new(complete::held))]
        ids: Vec<String>,
        /// Delete without asking
        #[arg(short, long)]
        yes: bool,
    },
}
