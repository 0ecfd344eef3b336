//! What the verbs take that write, check and try tools.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_complete::engine::ArgValueCompleter;

use super::inspect::providers;
use crate::complete;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib check                            the tools of this workspace and of your user
  toolcrib check .toolcrib/tools/find.yaml
  toolcrib check acme/weather@v1            a stored tool
  toolcrib check --fix                      fix what can be fixed safely: misspelt fields, quotes
  toolcrib check --strict --json            for CI: warnings count, one JSON document
  toolcrib check --for openai               what that provider cannot express
  toolcrib check --schema                   the JSON Schema of the format, for editors
  cat find.yaml | toolcrib check -

Nothing is run, and files need not be trusted. Exits with 0 if all files are valid, 4 if one is not. \
`toolcrib explain CODE` explains a problem, `toolcrib explain FIELD` a field.")]
pub(crate) struct CheckArgs {
    /// Files, directories, stored tools, or - for stdin [default: the tools of this workspace and of your user]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Fix what can be fixed safely; comments and layout stay
    #[arg(long)]
    pub(crate) fix: bool,
    /// Treat warnings as errors
    #[arg(long)]
    pub(crate) strict: bool,
    /// Also report what this provider's format cannot express
    #[arg(long = "for", value_name = "PROVIDER", value_parser = providers())]
    pub(crate) provider: Option<String>,
    /// Print the JSON Schema of the format (yaml, or http for .json files) and check nothing
    #[arg(
        long,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "yaml",
        value_parser = ["yaml", "http"],
        conflicts_with_all = ["paths", "fix", "strict", "provider"]
    )]
    pub(crate) schema: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib init                          .toolcrib/tools with one tool that works
  toolcrib run count-lines PATTERN='*.md'
  toolcrib test                          the tests it came with

Existing files are not changed, so it is safe to run again. The example is trusted, because you asked for it.")]
pub(crate) struct InitArgs {}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib new word-count --description 'Counts the words of a file'
  toolcrib new release --kind steps          several commands, one after the other
  toolcrib new todo --kind alias             another tool with preset arguments
  toolcrib new greet --scope user            for all your projects, in ~/.toolcrib/tools
  toolcrib new weather --http --url 'https://api.example.com/v1/now?q=${city}'
  toolcrib new issues --from-curl 'curl https://api.github.com/repos/{owner}/{repo}/issues'
  pbpaste | toolcrib new search --from-curl - --param q
  toolcrib new weather --http --bundle acme  into a bundle of the store instead of a file

Each template is valid as written, and its tests pass. It is trusted, because you wrote it. Change \
it with `toolcrib edit NAME`, then try it: `toolcrib test NAME`.

--from-curl does not run the command or send anything. A value that looks like a credential becomes a \
secret and is not saved; `${name}` and `{name}` in the URL become arguments, and so do the names given with \
--param. See docs/http-tools.md.")]
pub(crate) struct NewArgs {
    /// The tool's name: letters, digits, dashes and underscores
    pub(crate) name: String,
    /// The kind of tool: one command, several, or another tool
    #[arg(long, value_name = "KIND", default_value = "shell", value_parser = ["shell", "steps", "alias"])]
    pub(crate) kind: String,
    /// Where it is saved: in this project, or for all your projects
    #[arg(long, value_name = "SCOPE", default_value = "local", value_parser = ["local", "user"])]
    pub(crate) scope: String,
    /// Put it into this bundle of the store instead of a file
    #[arg(long, value_name = "BUNDLE", allow_hyphen_values = true, conflicts_with_all = ["scope", "force"], add = ArgValueCompleter::new(complete::own_bundles))]
    pub(crate) bundle: Option<String>,
    /// A description, for people and models
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Make an HTTP tool from a curl command; @FILE reads it from a file, - from stdin
    #[arg(long, value_name = "CURL|@FILE|-", conflicts_with_all = ["kind", "http"], help_heading = "HTTP tools")]
    pub(crate) from_curl: Option<String>,
    /// With --from-curl: make this an argument: a query parameter, body.FIELD, or NAME=TEXT for a part of the path
    #[arg(
        long = "param",
        value_name = "NAME|body.FIELD|NAME=TEXT",
        requires = "from_curl",
        conflicts_with = "http",
        help_heading = "HTTP tools"
    )]
    pub(crate) params: Vec<String>,
    /// Make an HTTP tool from a template with comments
    #[arg(long, conflicts_with = "kind", help_heading = "HTTP tools")]
    pub(crate) http: bool,
    /// With --http: the address; ${name} in path and query is an argument
    #[arg(
        long,
        value_name = "URL",
        requires = "http",
        help_heading = "HTTP tools"
    )]
    pub(crate) url: Option<String>,
    /// With --http: GET, POST, … [default: GET]
    #[arg(
        long,
        value_name = "METHOD",
        requires = "http",
        help_heading = "HTTP tools"
    )]
    pub(crate) method: Option<String>,
    /// Replace the file if there is one
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib edit word-count
  toolcrib edit acme/weather@v1                    a stored tool, as JSON
  toolcrib edit acme/weather@v1 --as-version v2    saved as a new version beside the old one
  EDITOR='code --wait' toolcrib edit word-count

Opens a copy in $VISUAL or $EDITOR and checks what you saved. Only a valid version replaces the tool. \
On a terminal you can go on editing a version with errors; elsewhere it is refused (exit 4) and the copy is \
kept. The saved version is trusted. If the tool changed in the meantime, it is not overwritten (exit 9) and \
your copy is kept. Built-in tools cannot be edited.")]
pub(crate) struct EditArgs {
    /// The tool
    #[arg(add = ArgValueCompleter::new(complete::own_tools))]
    pub(crate) tool: String,
    /// For a stored tool: save this as a new version beside the old one
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    pub(crate) as_version: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib test                          all tests of all tools
  toolcrib test word-count               the tests of one tool
  toolcrib test word-count:empty-file    one of them
  toolcrib test word-count --record      fill in the expectations of tests that have none

Each test runs in its own empty directory in the sandbox, several at once; afterwards the directory is gone. \
Tests cannot see or change your workspace, nothing is recorded, no one is asked, and tools need not be \
trusted; calls that rules deny stay denied. A tool with `elevated` rights, without isolation, with \
permissions outside that directory or with allowed hosts needs --yes. Exits with 1 when a test failed, \
3 when there is no such tool or test.")]
pub(crate) struct TestArgs {
    /// Tools, or single tests as TOOL:TEST; all when none is named
    #[arg(value_name = "TOOL[:TEST]", add = ArgValueCompleter::new(complete::trials))]
    pub(crate) tests: Vec<String>,
    /// Write the actual results into the files, for tests that expect nothing yet and tests named here
    #[arg(long)]
    pub(crate) record: bool,
    /// How many tests run at once [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Do not ask before tests that reach outside the sandbox, or before --record writes
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib watch                 all tools that are files
  toolcrib watch word-count      one of them
  toolcrib watch --json          one line of JSON for each tool that was tested

Tools are checked and tested at the start and whenever their files change, as by `toolcrib test`. A trusted \
tool that changes is off until it is trusted again: on a terminal you are shown the difference and asked. \
Ctrl-C ends it.

With --trust each edit is shown and trusted while this runs, on a terminal only. It asks about files that \
changed before it started, and when git's HEAD has moved. Any program that runs as you can change a file in \
this time and have it trusted.")]
pub(crate) struct WatchArgs {
    /// The tools; all when none is named
    #[arg(value_name = "TOOL", add = ArgValueCompleter::new(complete::file_tools))]
    pub(crate) tools: Vec<String>,
    /// Show and trust each edit, on a terminal; for your own projects
    #[arg(long)]
    pub(crate) trust: bool,
    /// Do not ask before tests that reach outside the sandbox
    #[arg(short, long)]
    pub(crate) yes: bool,
}
