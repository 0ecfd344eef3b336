//! What `rules` and `config` take.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use clap_complete::engine::ArgValueCompleter;

use crate::complete;

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
    /// Show which rules match a call, without making it
    Test(RulesTestArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib rules test --command 'rm -rf build && sudo make install'
  toolcrib rules test read_file path=/etc/passwd
  toolcrib rules test shell --args '{\"command\": \"ls\"}' --exit-code

Lists every rule that matches, the most severe first; with -v also the commands found in shell text. Exits \
with 0 whatever the verdict is; with --exit-code a deny is 5 and an ask is 6. Only rules are checked here: \
`toolcrib run --dry-run` also shows whether the tool itself asks.")]
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
    /// Print the settings in force and where each comes from
    #[command(after_help = "\
Examples:
  toolcrib config show                  every setting
  toolcrib config show server           those of the server
  toolcrib config show --changed        those that differ from the default")]
    Show {
        /// A setting, or the first part of several: limits, server
        #[arg(value_name = "KEY", add = ArgValueCompleter::new(complete::settings))]
        key: Option<String>,
        /// Only settings that a file or a variable sets
        #[arg(long)]
        changed: bool,
    },
    /// Set a setting in config.toml
    Set(ConfigSetArgs),
    /// Remove a setting from config.toml, or words from its list
    Unset(ConfigUnsetArgs),
    /// Edit config.toml and check it before it is saved
    Edit(ConfigEditArgs),
    /// Print where the settings are read from
    Path,
    /// Print the reference of all settings (docs/config.md)
    Reference,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib config set limits.timeoutMs 5000
  toolcrib config set allowedHosts --add api.example.com     keeps the hosts already listed
  toolcrib config set disabledTools shell run_code           a list of two
  toolcrib config set --project limits.timeoutMs 1000        for everyone who works in this project

The value is checked before anything is written; comments and everything else in the file stay. The file of \
a project can only tighten settings. `toolcrib explain KEY` describes a setting.")]
pub(crate) struct ConfigSetArgs {
    /// The setting
    #[arg(value_name = "KEY", add = ArgValueCompleter::new(complete::settings))]
    pub(crate) key: String,
    /// Its value; several for a list
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) values: Vec<String>,
    /// Add to the list instead of replacing it
    #[arg(long)]
    pub(crate) add: bool,
    /// Write .toolcrib/config.toml of the workspace
    #[arg(long)]
    pub(crate) project: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib config unset limits.timeoutMs
  toolcrib config unset allowedHosts api.example.com     removes one host from the list")]
pub(crate) struct ConfigUnsetArgs {
    /// The setting
    #[arg(value_name = "KEY", add = ArgValueCompleter::new(complete::settings))]
    pub(crate) key: String,
    /// Only these words of its list
    #[arg(value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) values: Vec<String>,
    /// Write .toolcrib/config.toml of the workspace
    #[arg(long)]
    pub(crate) project: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib config edit
  toolcrib config edit limits.timeoutMs      adds a line for this setting if there is none")]
pub(crate) struct ConfigEditArgs {
    /// A setting; a line with its default is added for you to change if the file has none
    #[arg(value_name = "KEY", add = ArgValueCompleter::new(complete::settings))]
    pub(crate) key: Option<String>,
    /// Edit .toolcrib/config.toml of the workspace
    #[arg(long)]
    pub(crate) project: bool,
}
