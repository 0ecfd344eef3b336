//! What the verbs take that decide about tools: trust, switches, removal.

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib trust                 review the tools of this project, then answer yes or no
  toolcrib trust greet           review this tool only
  toolcrib trust ../other --yes  trust the tools of another project without being asked

Tools that come with a project cannot be called until you trust them; `check` and `test` work without \
trust. You trust the meaning of a file: if it changes, you are shown the difference and asked again. \
Comments and layout do not count. Without a terminal and without --yes nothing is trusted (exit 6). \
`toolcrib watch --trust` trusts your own edits while you work.")]
pub(crate) struct TrustArgs {
    /// The tools, or the directory of a project [default: all tools of this project]
    #[arg(value_name = "TOOL|DIR", add = ArgValueCompleter::new(complete::file_tools))]
    pub(crate) what: Vec<String>,
    /// Trust them without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
`greet` and `acme/greet` mean all versions of a stored tool, `acme/greet@v1` means this one.

The change applies to every process that uses this home, until it is reversed. A tool of a project is \
switched in that project only. Tools that `disabledTools` names in config.toml stay off, and so do the tools \
of a bundle that is off: see `toolcrib bundle enable`.")]
pub(crate) struct SwitchArgs {
    /// The tools
    #[arg(required = true, value_name = "TOOL", add = ArgValueCompleter::new(complete::references))]
    pub(crate) tools: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib rm acme/weather@v1            one version of a stored tool
  toolcrib rm word-count                 a tool that is a file: deletes the file
  toolcrib rm -- -rf                     a slug that begins with a dash

The tool is deleted for good; you are asked first. For a stored tool with several versions, name one. \
Built-in tools cannot be removed: `toolcrib disable` switches them off.")]
pub(crate) struct RmArgs {
    /// The tool: name, +slug, bundle/slug, bundle/slug@version or id
    #[arg(add = ArgValueCompleter::new(complete::own_tools))]
    pub(crate) tool: String,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Exits with 1 when something is broken; warnings do not count.

--fix moves stored files that cannot be read into `damaged`, beside the store; it deletes nothing.")]
pub(crate) struct DoctorArgs {
    /// Repair what can be repaired without losing data
    #[arg(long)]
    pub(crate) fix: bool,
}
