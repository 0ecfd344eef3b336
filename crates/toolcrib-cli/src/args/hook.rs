//! What `hook` takes.

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::complete;
use crate::hooks::HookClient;

#[derive(Debug, Args)]
#[command(after_help = "\
Programs start this themselves: `toolcrib connect claude-code --hooks` sets it up. It reads one event on \
stdin and prints the answer on stdout.

Examples:
  toolcrib connect codex --hooks              judge Codex's own commands and edits
  toolcrib calls list                         what was judged, and how it ended
  echo '{\"event\":\"before\",\"session\":\"s\",\"tool\":\"shell\",\"args\":{\"command\":\"sudo ls\"}}' | toolcrib hook generic

Exit codes: 0 the answer is on stdout · 2 the call must not be made: something is wrong here. \
docs/hooks.md has the events, and says what each program does when a hook fails.")]
pub(crate) struct HookArgs {
    /// The program that starts it
    #[arg(value_name = "CLIENT")]
    pub(crate) target: HookClient,
    /// Put every question into the approvals queue, for runs without a person at the program
    #[arg(long)]
    pub(crate) queue: bool,
    /// Judge as calls of this client, which `toolcrib clients add` has made
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(complete::clients))]
    pub(crate) client: Option<String>,
}
