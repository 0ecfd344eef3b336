//! What `upstream` takes.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use clap_complete::engine::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  toolcrib upstream add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  toolcrib upstream add tracker --url https://tracker.example.com/mcp --header 'Authorization=Bearer secret:TRACKER'
  toolcrib upstream import claude-desktop       the servers of another program
  toolcrib upstream test files                  connect, list the tools, show what changed
  toolcrib upstream accept files                accept what changed
  toolcrib upstream update files                fetch its program again, and accept what changed
  toolcrib upstream login tracker               log in to a server that uses OAuth

The tools of an upstream server are a bundle with its name. They are pinned when you accept them: a tool that \
changes is off until you accept it again. Calls ask, whatever the server says about its tools; `toolcrib \
upstream allow NAME TOOL` lets one run without asking.")]
pub(crate) enum UpstreamCommand {
    /// Connect to a server, show its tools, and add it
    Add(Box<UpstreamAddArgs>),
    /// Add the servers that another program has configured
    Import(UpstreamImportArgs),
    /// List the servers
    List,
    /// Show a server and its accepted tools
    Show {
        /// Its name
        name: String,
    },
    /// Connect to servers and report their tools, the time it took, and what changed
    Test {
        /// Their names; all of them if none is given
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Show what changed in a server's tools, and accept it
    Accept {
        /// Its name
        name: String,
        /// Only these of its tools, as the server names them
        #[arg(value_name = "TOOL")]
        tools: Vec<String>,
        /// Accept without asking
        #[arg(short, long)]
        yes: bool,
    },
    /// Fetch a server's program again from its package registry, show what changed, and accept it
    #[command(after_help = "\
Examples:
  toolcrib upstream update files

A program behind a wall reaches package registries only now and while it is added. A version that its \
command names (`server@1.2.3`) stays the one that runs.")]
    Update {
        /// Its name
        name: String,
        /// Accept without asking
        #[arg(short, long)]
        yes: bool,
    },
    /// Let tools of a server run without asking
    Allow(UpstreamToolsArgs),
    /// Ask before every call of these tools of a server
    Ask(UpstreamToolsArgs),
    /// Refuse every call of these tools of a server
    Deny(UpstreamToolsArgs),
    /// Log in to a server that uses OAuth, with a browser
    #[command(after_help = "\
Examples:
  toolcrib upstream login tracker
  toolcrib upstream login tracker --no-browser      print the address only, to open it yourself

The browser is sent back to an address of this machine. The tokens are stored in Toolcrib's home directory, \
readable only by you, and are renewed automatically; they are never printed.")]
    Login {
        /// Its name
        name: String,
        /// Open no browser: print the address only
        #[arg(long)]
        no_browser: bool,
        /// How long to wait for someone to log in, in seconds
        #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
        wait: u64,
    },
    /// Log out of a server
    Logout {
        /// Its name
        name: String,
    },
    /// Remove servers and their accepted tools
    Rm {
        /// Their names
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// No one is asked anyway; accepted as other verbs accept it
        #[arg(short, long, hide = true)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib upstream allow files read_file list_directory
  toolcrib upstream ask files read_file
  toolcrib upstream deny files write_file

Rules still apply: what a rule denies stays denied. `toolcrib upstream show NAME` lists the tools and what \
their calls need.")]
pub(crate) struct UpstreamToolsArgs {
    /// The server
    pub(crate) name: String,
    /// Its tools, as the server names them
    #[arg(required = true, value_name = "TOOL")]
    pub(crate) tools: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib upstream add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  toolcrib upstream add db --env 'PGPASSWORD=secret:DB' --allow query -- uvx some-db-server
  toolcrib upstream add notes --write ~/notes -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  toolcrib upstream add web --host example.com --host '*.example.org' -- uvx mcp-server-fetch
  toolcrib upstream add tracker --url https://tracker.example.com/mcp
  toolcrib upstream add weather --registry ./server.json

The program runs behind a wall, with its own home directory and few of your variables. It may read programs, \
libraries and what its arguments name. Package registries can be reached while it is added. It is written into \
config.toml (`toolcrib config path`); the tools are pinned beside it.")]
pub(crate) struct UpstreamAddArgs {
    /// Its name here: letters, digits and `-`
    pub(crate) name: String,
    /// The program and its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "url")]
    pub(crate) command: Vec<String>,
    /// The address of a server that speaks streamable HTTP
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) url: Option<String>,
    /// A server.json, or the name of a server in the registry `mcp.registry`; words after `--` are arguments then
    #[arg(long, value_name = "FILE|SERVER", value_hint = ValueHint::FilePath, conflicts_with = "url")]
    pub(crate) registry: Option<String>,
    /// Which of its packages to take: npm, pypi, or remote for its address
    #[arg(long, value_name = "KIND", value_parser = ["npm", "pypi", "remote"], requires = "registry")]
    pub(crate) package: Option<String>,
    /// A variable for the program; `NAME=secret:SECRET` gives it a secret
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub(crate) env: Vec<String>,
    /// The directory the program starts in; the home directory if not given
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "url")]
    pub(crate) cwd: Option<PathBuf>,
    /// How strong the wall around the program is
    #[arg(long, value_name = "LEVEL", value_parser = ["none", "process", "container"], conflicts_with = "url")]
    pub(crate) sandbox: Option<String>,
    /// Let the program read this path, instead of those that its arguments name; may be repeated
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, conflicts_with = "url")]
    pub(crate) read: Vec<PathBuf>,
    /// Let the program write this path; may be repeated
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, conflicts_with = "url")]
    pub(crate) write: Vec<PathBuf>,
    /// Let the program reach this host; may be repeated
    #[arg(long, value_name = "HOST", conflicts_with = "url")]
    pub(crate) host: Vec<String>,
    /// How much memory the program may have, such as 512MB
    #[arg(long, value_name = "SIZE", conflicts_with = "url")]
    pub(crate) memory: Option<String>,
    /// Pass this variable of Toolcrib's own environment on to the program; may be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "url")]
    pub(crate) pass: Vec<String>,
    /// A header for every request; `NAME=secret:SECRET` or `NAME=Bearer secret:SECRET` sends a secret
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) header: Vec<String>,
    /// Log in with OAuth, now and whenever the login expires
    #[arg(long)]
    pub(crate) oauth: bool,
    /// Let this tool run without asking, as the server names it
    #[arg(long, value_name = "TOOL")]
    pub(crate) allow: Vec<String>,
    /// How long a call may take, in milliseconds
    #[arg(long, value_name = "MS")]
    pub(crate) timeout_ms: Option<u64>,
    /// Replace the server of this name, if there is one
    #[arg(long)]
    pub(crate) replace: bool,
    /// Accept its tools without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib upstream import                                  all servers of your programs
  toolcrib upstream import claude-desktop --only github     one server of one program
  toolcrib upstream import .vscode/mcp.json                 a file, JSON or TOML

The commands that would run are shown first. Keys and passwords in variables and headers are not copied into \
config.toml: they go into the secrets of Toolcrib, for that server only. Nothing is started: `toolcrib \
upstream accept NAME` connects, shows the tools and asks. The program's file stays as it is.")]
pub(crate) struct UpstreamImportArgs {
    /// A program that `toolcrib connect` lists or a file
    #[arg(value_name = "CLIENT|FILE", add = ArgValueCompleter::new(complete::other_clients))]
    pub(crate) from: Option<String>,
    /// Only the server with this name; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}
