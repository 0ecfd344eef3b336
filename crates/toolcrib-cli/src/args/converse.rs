//! What `answer` and `chat` take.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};
use clap_complete::engine::ArgValueCompleter;
use toolcrib::wire::ReplyFormat;

use crate::{complete, duration};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  curl -s https://api.openai.com/v1/chat/completions … | toolcrib answer
  toolcrib answer --from anthropic reply.json
  toolcrib answer --from ollama - < reply.json --yes

The input is a provider's whole response, its message, a conversation that ends with it, or just the list of \
calls. The output is a JSON array of the messages to append, in the provider's format; with --json an object \
that also reports the result of each call. Every call is answered, failed ones with their error: the exit \
code is 0 even if calls fail, and 2 if there is no reply to answer.")]
pub(crate) struct AnswerArgs {
    /// The file with the reply; - for stdin [default: -]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// The provider of the reply
    #[arg(long, value_name = "PROVIDER", default_value = "auto", value_parser = formats_or_auto())]
    pub(crate) from: String,
    /// Approve every call that asks; rules can still deny it
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Wait this long for an approval, given here or with `toolcrib approvals`
    #[arg(long, value_name = "TIME", value_parser = duration::of_people, conflicts_with = "yes")]
    pub(crate) wait_approval: Option<Duration>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolcrib chat --provider ollama --model qwen3 'What is in this directory?'
  toolcrib chat --provider openai --base-url http://localhost:1234/v1 --model local
  toolcrib chat --provider anthropic --model claude-sonnet-4-5 --key secret:ANTHROPIC
  toolcrib chat --continue chat.jsonl 'And now?'
  toolcrib config set chat.provider anthropic && toolcrib config set chat.model claude-sonnet-4-5
  toolcrib chat 'What is in this directory?'        with these settings

The model's text goes to stdout as it arrives; what its tools do is reported on stderr. Calls that need \
approval ask on the terminal. The key is read from --key; at the provider's own address also from \
OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY. A URL given here is permission to reach its host. Without \
a prompt, you type one after the other on the terminal, until Ctrl-D. Exits with 0 when the model is done, 1 \
when it was cut short or the steps were used up.")]
pub(crate) struct ChatArgs {
    /// The message to the model; without it, stdin or the terminal is read
    #[arg(value_name = "PROMPT", allow_hyphen_values = false)]
    pub(crate) prompt: Option<String>,
    /// The provider of the model [default: the setting chat.provider]
    #[arg(long, value_name = "PROVIDER", value_parser = formats())]
    pub(crate) provider: Option<String>,
    /// The model's name [default: the setting chat.model]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The address of the API [default: the provider's own]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) base_url: Option<String>,
    /// The key: secret:NAME of `toolcrib secret`, or env:VARIABLE
    #[arg(long, value_name = "WHERE")]
    pub(crate) key: Option<String>,
    /// The system prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// The most requests to the model for one prompt
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) max_steps: u16,
    /// The longest reply, in tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_tokens: Option<u32>,
    /// Offer only these tools; may be repeated, or separated by commas
    #[arg(long, value_name = "TOOL", value_delimiter = ',', add = ArgValueCompleter::new(complete::tools), conflicts_with = "bundle")]
    pub(crate) tools: Vec<String>,
    /// Offer only the tools of this bundle
    #[arg(long, value_name = "BUNDLE")]
    pub(crate) bundle: Option<String>,
    /// Offer no tools
    #[arg(long, conflicts_with_all = ["tools", "bundle"])]
    pub(crate) no_tools: bool,
    /// Write the conversation to this file, which must be new [default: one in Toolcrib's home directory]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "continue_from")]
    pub(crate) transcript: Option<PathBuf>,
    /// Continue the conversation in this transcript
    #[arg(long = "continue", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) continue_from: Option<PathBuf>,
    /// How long the model may stay silent
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration::parse)]
    pub(crate) timeout: Duration,
    /// Approve every call that asks; rules can still deny it
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Wait this long for an approval, given here or with `toolcrib approvals`
    #[arg(long, value_name = "TIME", value_parser = duration::of_people, conflicts_with = "yes")]
    pub(crate) wait_approval: Option<Duration>,
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(ReplyFormat::ALL.iter().map(|format| format.as_str()))
}

fn formats_or_auto() -> PossibleValuesParser {
    let formats = ReplyFormat::ALL.iter().map(|format| format.as_str());
    PossibleValuesParser::new(std::iter::once("auto").chain(formats))
}
