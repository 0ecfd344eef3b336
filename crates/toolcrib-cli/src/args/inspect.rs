//! What the verbs take that look at tools and past calls.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use toolcrib::wire::Provider;

use crate::complete;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib list
  toolcrib list --all                    also those that are off or cannot run here, and why
  toolcrib list --bundle acme            the tools of one bundle
  toolcrib list --tag read --tag files   those that have both tags
  toolcrib list --tokens                 what each costs a model, and the total

`toolcrib search WORDS` searches names, descriptions and keywords.")]
pub(crate) struct ListArgs {
    /// Also list tools that are off, not trusted, shadowed, broken or cannot run here
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Only tools in this bundle: slug or id
    #[arg(long, value_name = "BUNDLE", allow_hyphen_values = true, add = ArgValueCompleter::new(complete::bundles))]
    pub(crate) bundle: Option<String>,
    /// Also estimate how many tokens each costs a model
    #[arg(long)]
    pub(crate) tokens: bool,
    /// Only tools with this tag; may be repeated
    #[arg(long = "tag", value_name = "TAG", allow_hyphen_values = true, add = ArgValueCompleter::new(complete::tags))]
    pub(crate) tags: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib show read_file
  toolcrib show acme/weather             the version that a call would get
  toolcrib show acme/weather@v1 --json   this version, as it is stored
  toolcrib show -- -rf                   a slug that begins with a dash; or `+-rf`")]
pub(crate) struct ShowArgs {
    /// The tool: name, +slug, bundle/slug, bundle/slug@version or id
    #[arg(add = ArgValueCompleter::new(complete::references))]
    pub(crate) tool: String,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib search read file
  toolcrib search weather --all          also those that are off or cannot run here
  toolcrib search --limit 5              the newest five

Slugs, names, descriptions, tags and keywords are searched. Results are ranked: first tools that begin with \
the words, then those that contain them as whole words, then those with words that begin like them, then \
similar spellings. Among equals the newest comes first.

If there are more results, the last line on stderr says how to get them; with --json that line is {\"nextPageToken\": \
\"…\"}, also with -q.")]
pub(crate) struct SearchArgs {
    /// The words to search for; without any, all tools are listed
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// Also find tools that are off or cannot run here
    #[arg(short, long)]
    pub(crate) all: bool,
    /// List at most this many tools
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=500))]
    pub(crate) limit: u16,
    /// Continue after the last page
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) page_token: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib schema read_file                         its JSON Schema
  toolcrib schema --provider anthropic              every tool, for a request's `tools`
  toolcrib schema read_file --provider openai --strict

Constraints that a provider cannot express are lowered or left out; each such loss is reported on stderr.")]
pub(crate) struct SchemaArgs {
    /// The tools; all of them when none is named
    #[arg(value_name = "TOOL", add = ArgValueCompleter::new(complete::tools))]
    pub(crate) tools: Vec<String>,
    /// The format of the definitions
    #[arg(long, value_name = "PROVIDER", value_parser = providers())]
    pub(crate) provider: Option<String>,
    /// Follow the rules of the provider's strict mode (OpenAI, Anthropic)
    #[arg(long, requires = "provider")]
    pub(crate) strict: bool,
}

pub(super) fn providers() -> PossibleValuesParser {
    PossibleValuesParser::new(Provider::ALL.iter().map(|provider| provider.as_str()))
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib explain read_file              is it available, where does it come from, what are its limits?
  toolcrib explain INVALID_ARGUMENTS      what does this code mean, and what now?
  toolcrib explain 5                      what does this exit code mean?
  toolcrib explain allowedHosts           a setting of config.toml
  toolcrib explain unknown-key            a problem that `toolcrib check` reports
  toolcrib explain security.isolation     a field of tools' files")]
pub(crate) struct ExplainArgs {
    /// A tool, an error code, an exit code, a setting, a problem of a file, or a field
    #[arg(add = ArgValueCompleter::new(complete::topics))]
    pub(crate) topic: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CallsCommand {
    /// List the latest calls, newest first
    List {
        /// How many
        #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
        /// Only calls of this tool
        #[arg(long, add = ArgValueCompleter::new(complete::tools))]
        tool: Option<String>,
        /// Only calls that failed
        #[arg(long)]
        failed: bool,
    },
    /// Show one call
    #[command(after_help = "\
Examples:
  toolcrib calls show              the latest call
  toolcrib calls show f28beac2     by the end of its id, as `calls list` prints it")]
    Show {
        /// Its id, the end of its id, or `last`
        #[arg(default_value = "last", hide_default_value = true)]
        id: String,
    },
    /// Cancel a call that a server runs
    #[command(after_help = "\
Examples:
  toolcrib calls list                        running calls come first
  toolcrib calls cancel f28beac2

Calls of `toolcrib serve` are found through Toolcrib's home directory, or with --server. The output so far \
is kept. Cancel a call of `toolcrib run` with Ctrl-C, where it runs.")]
    Cancel {
        /// Its id, or the end of its id
        id: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib stats                      every tool, as far back as the record goes
  toolcrib stats --since 24h          the last day
  toolcrib stats --tool shell --json  one tool, for a program

The record covers every process that uses Toolcrib's home directory. If a server runs on this home, its own \
figures are added; with --server the figures are those of that server's home.")]
pub(crate) struct StatsArgs {
    /// Only calls of the last 30m, 24h, 7d …
    #[arg(long, value_name = "TIME", value_parser = crate::duration::of_people)]
    pub(crate) since: Option<std::time::Duration>,
    /// Only this tool
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
}
