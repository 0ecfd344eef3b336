//! What `connect` takes.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_complete::engine::ArgValueCompleter;

use crate::clients_of_others::OtherClient;
use crate::complete;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib connect                            list the clients, and which are connected
  toolcrib connect claude-desktop             show the change to its file, ask, keep a copy, write
  toolcrib connect cursor --project           in the file of this project, .cursor/mcp.json
  toolcrib connect codex --bundle core        the tools of one bundle only
  toolcrib connect vscode --print             print what to paste; write nothing
  toolcrib connect generic --file mcp.json    any other client that has `mcpServers` in a JSON file
  toolcrib connect claude-desktop --undo      remove the entry again
  toolcrib connect claude-code --hooks        judge its own commands and edits by your rules, too

The entry starts this program and names the workspace, because most clients do not start it in your \
project. Claude Code, Codex, Gemini CLI, opencode and Copilot CLI do; for them the workspace is named only \
with --workspace. With --project the entry contains no paths of this machine, because others share the file: \
`toolcrib` is found in PATH, and the workspace is the project. With --http the client connects to `toolcrib \
serve` with a token (`toolcrib clients add`) from the variable TOOLCRIB_TOKEN. `toolcrib doctor` starts each \
configured entry and reports whether it works.")]
pub(crate) struct ConnectArgs {
    /// The program to connect
    #[arg(value_name = "CLIENT")]
    pub(crate) target: Option<OtherClient>,
    /// Change the client's file for this project instead of the one for your user
    #[arg(long)]
    pub(crate) project: bool,
    /// Connect to a running server [default: the one of this home]
    #[arg(long, value_name = "URL", num_args = 0..=1, conflicts_with_all = ["bundles", "client"])]
    pub(crate) http: Option<Option<String>>,
    /// Have the client's own commands, edits and requests judged by your rules (docs/hooks.md)
    #[arg(long, requires = "target", conflicts_with_all = ["http", "bundles", "name"])]
    pub(crate) hooks: bool,
    /// The name of the server in the client
    #[arg(long, value_name = "NAME", default_value = "toolcrib")]
    pub(crate) name: String,
    /// Offer only the tools of this bundle; may be repeated
    #[arg(long = "bundle", value_name = "BUNDLE", add = ArgValueCompleter::new(complete::bundles))]
    pub(crate) bundles: Vec<String>,
    /// Make calls as this client (see `toolcrib clients add`)
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(complete::clients))]
    pub(crate) client: Option<String>,
    /// Print what to paste into its file; write nothing
    #[arg(long, requires = "target", conflicts_with = "undo")]
    pub(crate) print: bool,
    /// Show the change to its file; write nothing
    #[arg(long, requires = "target", conflicts_with_all = ["undo", "print"])]
    pub(crate) dry_run: bool,
    /// Change this file instead of the client's own
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "target", conflicts_with = "project")]
    pub(crate) file: Option<PathBuf>,
    /// Remove the entry again
    #[arg(long, requires = "target", conflicts_with_all = ["http", "bundles", "client"])]
    pub(crate) undo: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}
