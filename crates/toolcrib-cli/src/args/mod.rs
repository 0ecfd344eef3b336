//! The words of the command line, one file per topic.

mod approvals;
mod author;
mod bundle;
mod clients;
mod connect;
mod converse;
mod help;
mod hook;
mod inspect;
mod manage;
mod mcp;
mod rules;
mod run;
mod secret;
mod serve;
mod upstream;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Args, ColorChoice, Parser, Subcommand, ValueHint};

pub(crate) use approvals::{ApprovalsCommand, ApproveArgs, GrantArgs, GrantsCommand, HeldCommand};
pub(crate) use author::{CheckArgs, EditArgs, InitArgs, NewArgs, TestArgs, WatchArgs};
pub(crate) use bundle::{
    BundleAddArgs, BundleArgs, BundleCommand, BundleDiffArgs, BundleEditArgs, BundleExportArgs,
    BundleImportArgs, BundleListArgs, BundleNamesArgs, BundleNewArgs, BundleRestoreArgs,
    BundleRmArgs, BundleSwitchArgs,
};
pub(crate) use clients::ClientsCommand;
pub(crate) use connect::ConnectArgs;
pub(crate) use converse::{AnswerArgs, ChatArgs};
pub(crate) use help::{command, manual};
pub(crate) use hook::HookArgs;
pub(crate) use inspect::{
    CallsCommand, ExplainArgs, ListArgs, SchemaArgs, SearchArgs, ShowArgs, StatsArgs,
};
pub(crate) use manage::{DoctorArgs, RmArgs, SwitchArgs, TrustArgs};
pub(crate) use mcp::McpArgs;
pub(crate) use rules::{
    ConfigCommand, ConfigEditArgs, ConfigSetArgs, ConfigUnsetArgs, RulesCommand, RulesTestArgs,
};
pub(crate) use run::{RunArgs, SandboxArgs};
pub(crate) use secret::{SecretCommand, SecretSetArgs};
pub(crate) use serve::{ServeArgs, UiArgs};
pub(crate) use upstream::{
    UpstreamAddArgs, UpstreamCommand, UpstreamImportArgs, UpstreamToolsArgs,
};

/// Tools for shells, programs and AI models: defined once, run in a sandbox, approved by you.
#[derive(Debug, Parser)]
#[command(
    name = "toolcrib",
    version,
    disable_help_flag = true,
    max_term_width = 100,
    after_help = "\
Start here:
  toolcrib list                             the tools there are
  toolcrib show read_file                   what one takes and returns
  toolcrib run read_file path=README.md     call it
  toolcrib init                             a first tool of your own, tested
  toolcrib connect claude-code              let an agent use them

Exit codes:
  0 done · 1 the tool failed · 2 usage · 3 no such tool, or it is off
  4 bad arguments · 5 refused · 6 no one approved · 7 timeout · 8 network
  9 conflict or storage · 130 cancelled

`toolcrib explain 5` and `toolcrib explain CODE` say more."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command. The first page of the help lists them; the others do not repeat them.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Print one JSON document on stdout, errors included
    #[arg(long, global = true, hide = true)]
    pub(crate) json: bool,
    /// Print tab-separated rows: no headings, no colour, nothing shortened
    #[arg(long, global = true, hide = true, conflicts_with = "json")]
    pub(crate) plain: bool,
    /// Print nothing but errors on stderr
    #[arg(short, long, global = true, hide = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print more on stderr: call ids, times
    #[arg(short, long, global = true, hide = true)]
    pub(crate) verbose: bool,
    /// When to use colour
    #[arg(
        long,
        global = true,
        hide = true,
        value_name = "WHEN",
        default_value = "auto"
    )]
    pub(crate) color: ColorChoice,
    /// Never wait for a person: ask nothing, read nothing from a terminal
    #[arg(long, global = true, hide = true)]
    pub(crate) no_input: bool,
    /// Toolcrib's own directory: settings, secrets, records [env: TOOLCRIB_HOME]
    #[arg(long, global = true, hide = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) home: Option<PathBuf>,
    /// The only directory tree that file tools may touch [env: TOOLCRIB_WORKSPACE]
    #[arg(long, global = true, hide = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// Work through this server: http://…, https://… or unix:PATH [env: TOOLCRIB_SERVER]
    #[arg(long, global = true, hide = true, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) server: Option<String>,
    /// Trust this certificate of the server, a PEM file [env: TOOLCRIB_SERVER_CA]
    #[arg(long, global = true, hide = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) server_ca: Option<PathBuf>,
    /// Use no server, not even one that serves this home
    #[arg(long, global = true, hide = true, conflicts_with = "server")]
    pub(crate) no_server: bool,
    /// Print this page; `toolcrib --help` also lists the options of every command
    #[arg(short, long, global = true, action = ArgAction::Help)]
    pub(crate) help: Option<bool>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call a tool
    Run(RunArgs),
    /// List the tools
    List(ListArgs),
    /// Show what a tool takes, returns and may do
    Show(ShowArgs),
    /// Search for tools
    Search(SearchArgs),
    /// Print schemas, or definitions in a provider's format
    Schema(SchemaArgs),
    /// Run the tool calls in a model's reply and print the answers
    Answer(AnswerArgs),
    /// Chat with a model that uses the tools here
    Chat(ChatArgs),
    /// Group tools, switch them on and off together, share them
    #[command(subcommand)]
    Bundle(BundleCommand),
    /// Review calls waiting for approval
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// Manage standing approvals
    #[command(subcommand)]
    Grants(GrantsCommand),
    /// Review files that commands made and other programs would run
    #[command(subcommand)]
    Held(HeldCommand),
    /// Store keys and passwords that models and logs never see
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Show past calls, cancel running ones
    #[command(subcommand)]
    Calls(CallsCommand),
    /// Show statistics of past calls: number, speed, failures
    Stats(StatsArgs),
    /// List, check and try the rules that allow, ask or deny
    #[command(subcommand)]
    Rules(RulesCommand),
    /// Show and change settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check tool files: each error, where it is and how to fix it
    Check(CheckArgs),
    /// Explain a tool, a setting, an error or exit code, a field
    Explain(ExplainArgs),
    /// Set up this project for tools, with a working example
    Init(InitArgs),
    /// Write a new tool from a template
    New(NewArgs),
    /// Edit a tool and check it before it is saved
    Edit(EditArgs),
    /// Delete one of your tools
    Rm(RmArgs),
    /// Run the tests of tools, each in a temporary directory
    Test(TestArgs),
    /// Check and test tools whenever their files change
    Watch(WatchArgs),
    /// Review the tools of a project and trust them
    Trust(TrustArgs),
    /// Switch tools on again
    Enable(SwitchArgs),
    /// Switch tools off until they are enabled again
    Disable(SwitchArgs),
    /// Serve tools over HTTP and MCP, until Ctrl-C
    Serve(ServeArgs),
    /// Open the web admin in a browser
    Ui(UiArgs),
    /// Serve tools over stdio to an MCP client
    Mcp(McpArgs),
    /// Connect Claude, Cursor, VS Code, Codex and others to your tools
    Connect(ConnectArgs),
    /// Judge a program's own tool call by your rules, as its hook
    Hook(HookArgs),
    /// Manage tokens of programs that call tools over HTTP
    #[command(subcommand)]
    Clients(ClientsCommand),
    /// Use the tools of other MCP servers
    #[command(subcommand)]
    Upstream(UpstreamCommand),
    /// Run any command in the sandbox that tools run in
    Sandbox(SandboxArgs),
    /// Check this machine, the settings and the workspace
    Doctor(DoctorArgs),
    /// Print a completion script for your shell
    Completions(CompletionsArgs),
    /// Write the manual pages
    Man(ManArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Set it up once:
  bash   echo 'source <(toolcrib completions bash)' >> ~/.bashrc
  zsh    echo 'source <(toolcrib completions zsh)' >> ~/.zshrc
  fish   toolcrib completions fish > ~/.config/fish/completions/toolcrib.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = PossibleValuesParser::new(["bash", "elvish", "fish", "powershell", "zsh"]))]
    pub(crate) shell: String,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory to write them to
    #[arg(long, alias = "output", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
}
