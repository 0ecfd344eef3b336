//! The words of the command line, one file per topic.

mod approvals;
mod author;
mod bundle;
mod clients;
mod connect;
mod converse;
mod look;
mod manage;
mod mcp;
mod rules;
mod run;
mod secret;
mod serve;
mod upstream;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ColorChoice, Parser, Subcommand, ValueHint};

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
pub(crate) use look::{
    CallsCommand, ExplainArgs, ListArgs, SchemaArgs, SearchArgs, ShowArgs, StatsArgs,
};
pub(crate) use manage::{DoctorArgs, RmArgs, SwitchArgs, TrustArgs};
pub(crate) use mcp::McpArgs;
pub(crate) use rules::{ConfigCommand, RulesCommand, RulesTestArgs};
pub(crate) use run::{RunArgs, SandboxArgs};
pub(crate) use secret::{SecretCommand, SecretSetArgs};
pub(crate) use serve::ServeArgs;
pub(crate) use upstream::{UpstreamAddArgs, UpstreamCommand, UpstreamImportArgs};

/// Define a tool once; run it safely from a shell, a program, or any model that can call tools.
#[derive(Debug, Parser)]
#[command(
    name = "toolcrib",
    version,
    about,
    max_term_width = 100,
    after_help = "\
Start here:
  toolcrib list                             what tools there are
  toolcrib show read_file                   what one takes and returns
  toolcrib run read_file path=README.md     call it
  toolcrib init                             a first tool of your own, tested
  toolcrib schema --provider openai         hand them all to a model

Exit codes: 0 done · 1 the tool failed · 2 usage · 3 no such tool, or it is off · 4 bad arguments ·
5 refused · 6 nobody to approve · 7 timeout · 8 network · 9 conflict or storage · 130 cancelled.
`toolcrib explain CODE` explains an error code."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Print one JSON document on stdout, errors included
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) json: bool,
    /// Print tab-separated rows: no headings, no colour, nothing shortened
    #[arg(
        long,
        global = true,
        conflicts_with = "json",
        help_heading = "Everywhere"
    )]
    pub(crate) plain: bool,
    /// Say nothing on stderr but errors
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Everywhere"
    )]
    pub(crate) quiet: bool,
    /// Say more on stderr: call ids, times
    #[arg(short, long, global = true, help_heading = "Everywhere")]
    pub(crate) verbose: bool,
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Everywhere"
    )]
    pub(crate) color: ColorChoice,
    /// Never wait for a person: ask nothing, read nothing from a terminal
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) no_input: bool,
    /// Where Toolcrib keeps its data [env: TOOLCRIB_HOME]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Everywhere")]
    pub(crate) home: Option<PathBuf>,
    /// The only directory tree file tools may touch [env: TOOLCRIB_WORKSPACE]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Everywhere")]
    pub(crate) workspace: Option<PathBuf>,
    /// Work through this server: http://…, https://… or unix:PATH [env: TOOLCRIB_SERVER]
    #[arg(long, global = true, value_name = "URL", value_hint = ValueHint::Url, help_heading = "Everywhere")]
    pub(crate) server: Option<String>,
    /// Trust this certificate of the server, a PEM file [env: TOOLCRIB_SERVER_CA]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Everywhere")]
    pub(crate) server_ca: Option<PathBuf>,
    /// Use no server, not even one that serves this home
    #[arg(
        long,
        global = true,
        conflicts_with = "server",
        help_heading = "Everywhere"
    )]
    pub(crate) no_server: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call a tool
    Run(RunArgs),
    /// List the tools
    List(ListArgs),
    /// Show what a tool takes, returns and may do
    Show(ShowArgs),
    /// Find tools by words
    Search(SearchArgs),
    /// Print schemas, or definitions in a provider's format
    Schema(SchemaArgs),
    /// Answer a model's reply: run the calls in it, print the messages that answer them
    Answer(AnswerArgs),
    /// Talk to a model that calls the tools here
    Chat(ChatArgs),
    /// Group tools, switch them together, hand them on
    #[command(subcommand)]
    Bundle(BundleCommand),
    /// Answer calls that wait for a person
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// Look at, take back or make what is allowed without asking
    #[command(subcommand)]
    Grants(GrantsCommand),
    /// Review files that commands made and that other programs would run
    #[command(subcommand)]
    Held(HeldCommand),
    /// Keep keys and passwords for tools, where no tool, model or log sees them
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Look at past calls
    #[command(subcommand)]
    Calls(CallsCommand),
    /// Add up past calls: how many, how fast, what failed
    Stats(StatsArgs),
    /// Look at the rules, check them, try them on a call
    #[command(subcommand)]
    Rules(RulesCommand),
    /// Look at the settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check the files of tools: everything that is wrong, where, why, and what to write instead
    Check(CheckArgs),
    /// Explain a tool's standing, an error code, a problem or a field of tools' files
    Explain(ExplainArgs),
    /// Make a directory for tools of this project, with one that works
    Init(InitArgs),
    /// Write a new tool from a template
    New(NewArgs),
    /// Edit a tool; what does not check is not saved
    Edit(EditArgs),
    /// Remove a tool of yours for good
    Rm(RmArgs),
    /// Run the tests of tools, each in a directory that is thrown away
    Test(TestArgs),
    /// Check and test tools again whenever their files change
    Watch(WatchArgs),
    /// Look at what the tools of a project would run, and trust them
    Trust(TrustArgs),
    /// Switch tools on again
    Enable(SwitchArgs),
    /// Switch tools off, for good
    Disable(SwitchArgs),
    /// Serve everything over HTTP, until Ctrl-C
    Serve(ServeArgs),
    /// Serve tools to an MCP client that starts this, on stdin and stdout
    Mcp(McpArgs),
    /// Connect Claude, Cursor, VS Code, LM Studio, Codex or Gemini CLI to the tools here
    Connect(ConnectArgs),
    /// Make, list and take back tokens for programs that call tools over HTTP
    #[command(subcommand)]
    Clients(ClientsCommand),
    /// Use the tools of other MCP servers
    #[command(subcommand)]
    Upstream(UpstreamCommand),
    /// Run any command behind the wall that tools run behind
    Sandbox(SandboxArgs),
    /// Check this machine, the home and the workspace
    Doctor(DoctorArgs),
    /// Print a script that makes a shell complete tools, parameters and values
    Completions(CompletionsArgs),
    /// Write the manual pages
    #[command(hide = true)]
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
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
}
