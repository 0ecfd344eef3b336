//! What `serve` takes.

use std::path::PathBuf;

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib serve                            on http://127.0.0.1:7410
  toolcrib serve --open                     and opens the web admin in a browser
  toolcrib serve --addr 127.0.0.1:0         on a free port
  toolcrib serve --socket ~/crib.sock       on a socket that only you can open

Requests carry `Authorization: Bearer TOKEN`. Yours is in a file that the first lines name, and it may \
do everything. `toolcrib clients add NAME` makes one for a program, which may call tools but never approve \
calls. Calls that need approval wait for `toolcrib approvals`, or for an answer over HTTP.

MCP clients connect to the path /mcp with their own token: `toolcrib connect CLIENT --http`.

Other machines can reach it only over TLS (`server.certificate`, `server.key`) and by a name in \
`server.hosts`; docs/config.md has all settings. SIGTERM and Ctrl-C let running calls finish for \
`server.shutdownMs`; a second one cancels them.")]
pub(crate) struct ServeArgs {
    /// Listen here instead of at `server.addr`; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) addr: Option<String>,
    /// Listen on a socket in the file system, and on no port unless --addr is given
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) socket: Option<PathBuf>,
    /// Open the web admin in a browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Serve the web admin from this directory, for developing it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) web: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib ui                               open the web admin in a browser
  toolcrib ui --print                       print the link instead, for a browser of your choice

It uses the server of this home that serves this workspace, or starts one until Ctrl-C. The link signs one \
browser in, once, within ten minutes; the browser stays signed in for 30 days.")]
pub(crate) struct UiArgs {
    /// Print the link instead of opening it
    #[arg(long)]
    pub(crate) print: bool,
}
