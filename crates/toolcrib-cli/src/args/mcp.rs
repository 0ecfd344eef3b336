//! What `mcp` takes.

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Args)]
#[command(after_help = "\
MCP clients start this themselves; in most of them it is set up as

  {\"mcpServers\": {\"toolcrib\": {\"command\": \"toolcrib\", \"args\": [\"mcp\", \"--workspace\", \"/path/to/project\"]}}}

Examples:
  toolcrib mcp                              every tool that can run here
  toolcrib mcp --bundle core --bundle acme  the tools of these bundles, and no others
  toolcrib mcp --client assistant           its calls and grants are that client's own
  toolcrib list --tokens                    what the tools cost a model before it has said a word

Calls that need approval ask the person at the client if it offers that, and wait for `toolcrib approvals` \
otherwise. Beyond `mcp.tokenBudget` tools are found with find_tools rather than listed; `mcp.pinned` names \
those that stay. docs/config.md has all settings.

stdout carries the protocol and nothing else; what there is to say is on stderr. It ends when its input does \
and every request is answered; SIGTERM and Ctrl-C cancel what runs.")]
pub(crate) struct McpArgs {
    /// Serve the tools of this bundle only; may be given several times
    #[arg(long = "bundle", value_name = "BUNDLE", add = ArgValueCompleter::new(complete::bundles))]
    pub(crate) bundles: Vec<String>,
    /// Call as this client, which `toolcrib clients add` has made
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(complete::clients))]
    pub(crate) client: Option<String>,
}
