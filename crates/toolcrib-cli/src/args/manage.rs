//! What the verbs take that decide about tools: trust, switches, removal.

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib trust                 look at the tools of this project, then say yes or no
  toolcrib trust greet           look at this one tool
  toolcrib trust ../other --yes  trust those of another one without being asked

Tools that come with a project cannot be called before you trusted them; `check` and `test` work on them \
before that. You trust the meaning of a file: if it changes, it has to be trusted again, and the difference \
is shown. Comments and layout do not count. Without a terminal and without --yes nothing is trusted (exit \
6). `toolcrib watch --trust` follows your own edits.")]
pub(crate) struct TrustArgs {
    /// The tools, or the directory of a project; all tools of the project you are in if not named
    #[arg(value_name = "TOOL|DIR", add = ArgValueCompleter::new(complete::file_tools))]
    pub(crate) what: Vec<String>,
    /// Trust them without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
`greet` and `acme/greet` mean all versions of a stored tool, `acme/greet@v1` means this one.

It holds for every process that uses this home, until it is taken back. A tool of a project is switched in \
that project only. Tools that `disabledTools` names in config.toml stay off, and so do the tools of a bundle \
that is off: `toolcrib bundle enable`.")]
pub(crate) struct SwitchArgs {
    /// The tools
    #[arg(required = true, value_name = "TOOL", add = ArgValueCompleter::new(complete::references))]
    pub(crate) tools: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib rm acme/weather@v1            one version of a stored tool
  toolcrib rm word-count                 a tool that has a file: the file goes
  toolcrib rm -- -rf                     one whose slug begins with a dash

It is gone for good, and you are asked first. Of a stored tool with several versions you name one. Built-in \
tools cannot be removed: `toolcrib disable` switches them off.")]
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

--fix moves files of the store that cannot be read into `damaged`, beside the store; it deletes nothing.")]
pub(crate) struct DoctorArgs {
    /// Repair what can be repaired without losing data
    #[arg(long)]
    pub(crate) fix: bool,
}
