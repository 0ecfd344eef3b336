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
    /// Say what the rules make of a call, without making it
    Test(RulesTestArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib rules test --command 'rm -rf build && sudo make install'
  toolcrib rules test read_file path=/etc/passwd
  toolcrib rules test shell --args '{\"command\": \"ls\"}' --exit-code

Lists every rule that matches, the severest first; with -v also the commands that were read from
shell text. Exits with 0 whatever the verdict is; with --exit-code a deny is 5 and an ask is 6.
Only rules are asked here: `toolcrib run --dry-run` also says what the tool itself wants.")]
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
    /// Print every setting in force and where it comes from
    Show,
    /// Print where the settings are read from
    Path,
    /// Print the reference of all settings (docs/config.md)
    Reference,
}
