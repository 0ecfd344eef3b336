//! What `connect` takes.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_complete::engine::ArgValueCompleter;

use crate::clients_of_others::OtherClient;
use crate::complete;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib connect                            which clients there are, and which are connected
  toolcrib connect claude-desktop             show the change of its file, ask, keep a copy, write
  toolcrib connect cursor --project           in the file of this project, .cursor/mcp.json
  toolcrib connect codex --bundle core        the tools of one bundle only
  toolcrib connect vscode --print             what to paste, and nothing is written
  toolcrib connect generic --file mcp.json    any other client with `mcpServers` in a JSON file
  toolcrib connect claude-desktop --undo      take it out again
  toolcrib connect claude-code --hooks        judge its own commands and edits by your rules, too

The entry starts this very program with the workspace named, since windows are opened from anywhere.
Claude Code, Codex, Gemini CLI, opencode and Copilot CLI start it where you work; it is named for them
with --workspace.
With --project the entry names no place of this machine, since others have the file, too: `toolcrib`
is found by its name, and the workspace is the project. With --http the client goes to `toolcrib
serve` and takes a token (`toolcrib clients add`) from the variable TOOLCRIB_TOKEN. `toolcrib doctor`
starts what is configured and says whether it works.")]
pub(crate) struct ConnectArgs {
    /// The program to connect
    #[arg(value_name = "CLIENT")]
    pub(crate) target: Option<OtherClient>,
    /// Use the client's file of this project rather than yours
    #[arg(long)]
    pub(crate) project: bool,
    /// Go to a server that runs; the one of this home unless named
    #[arg(long, value_name = "URL", num_args = 0..=1, conflicts_with_all = ["bundles", "client"])]
    pub(crate) http: Option<Option<String>>,
    /// Have the client's own commands, edits and requests judged by your rules (docs/hooks.md)
    #[arg(long, requires = "target", conflicts_with_all = ["http", "bundles", "name"])]
    pub(crate) hooks: bool,
    /// The name of the server in the client
    #[arg(long, value_name = "NAME", default_value = "toolcrib")]
    pub(crate) name: String,
    /// Offer the tools of this bundle only; may be given several times
    #[arg(long = "bundle", value_name = "BUNDLE", add = ArgValueCompleter::new(complete::bundles))]
    pub(crate) bundles: Vec<String>,
    /// Call as this client, which `toolcrib clients add` has made
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(complete::clients))]
    pub(crate) client: Option<String>,
    /// Print what to paste into its file; write nothing
    #[arg(long, requires = "target", conflicts_with = "undo")]
    pub(crate) print: bool,
    /// Show the change of its file; write nothing
    #[arg(long, requires = "target", conflicts_with_all = ["undo", "print"])]
    pub(crate) dry_run: bool,
    /// Change this file instead of the client's own
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "target", conflicts_with = "project")]
    pub(crate) file: Option<PathBuf>,
    /// Take out what was put in
    #[arg(long, requires = "target", conflicts_with_all = ["http", "bundles", "client"])]
    pub(crate) undo: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}
