//! What `mcp` takes.

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Args)]
#[command(after_help = "\
MCP clients start this themselves. In most of them the configuration is

  {\"mcpServers\": {\"toolcrib\": {\"command\": \"toolcrib\", \"args\": [\"mcp\", \"--workspace\", \"/path/to/project\"]}}}

Examples:
  toolcrib mcp                              every tool that can run here
  toolcrib mcp --bundle core --bundle acme  the tools of these bundles, and no others
  toolcrib mcp --client assistant           its calls and grants belong to that client
  toolcrib list --tokens                    how many tokens the tools cost a model

Calls that need approval ask the person at the client if the client can, and otherwise wait for `toolcrib \
approvals`. Tools beyond `mcp.tokenBudget` are not listed but found with find_tools; `mcp.pinned` names tools \
that are always listed. docs/config.md has all settings.

stdout carries only the protocol; messages go to stderr. It ends when its input ends and every request is \
answered; SIGTERM and Ctrl-C cancel running calls.")]
pub(crate) struct McpArgs {
    /// Serve only the tools of this bundle; may be repeated
    #[arg(long = "bundle", value_name = "BUNDLE", add = ArgValueCompleter::new(complete::bundles))]
    pub(crate) bundles: Vec<String>,
    /// Make calls as this client (see `toolcrib clients add`)
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(complete::clients))]
    pub(crate) client: Option<String>,
}
