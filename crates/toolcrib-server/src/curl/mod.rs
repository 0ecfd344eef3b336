//! A curl command as an HTTP tool: `toolcrib new NAME --from-curl 'curl …'`.
//!
//! ```text
//! words      the command's words, as bash makes them      table, options  what curl's options mean here
//! url, body, headers   the request in its parts           mark            names that stand for values
//! credential, secrets  what must not be written           arguments       what callers give
//! draft      all of it together                           file            S4's JSON
//! ```
//!
//! Nothing is run, looked up, read or sent. The invariant: no value that may be a credential gets into the file or into a message;
//! what is not understood is refused, with what to write instead.

mod arguments;
mod body;
mod credential;
mod draft;
mod file;
mod headers;
mod options;
mod placeholder;
mod refusal;
mod secrets;
mod table;
mod url;
mod words;

#[cfg(test)]
mod tests;

pub use arguments::Argument;
pub use file::{arg_schema, plain_description, reads, tags, title};
pub use secrets::SecretUse;

use arguments::Param;
use refusal::Why;

/// A tool that a command was made into.
#[derive(Debug)]
pub struct Import {
    /// The file's text.
    pub text: String,
    /// The method.
    pub method: String,
    /// The URL, with placeholders.
    pub url: String,
    /// Scheme, host and port.
    pub origin: String,
    /// The host, as `allowedHosts` and the binding of a secret name it.
    pub host: String,
    /// What callers give.
    pub arguments: Vec<Argument>,
    /// Secrets to save with `toolcrib secret set`.
    pub secrets: Vec<SecretUse>,
    /// Whether the value of one of them was in the command.
    pub has_typed_credentials: bool,
    /// What of the command has no place in a tool, and why.
    pub left_out: Vec<(String, String)>,
    /// What else there is to know.
    pub notes: Vec<String>,
}

/// Makes a tool of a command.
///
/// The error has every reason: what, and what to do about it.
pub fn import(
    command: &str,
    tool: &str,
    description: Option<&str>,
    params: &[String],
) -> Result<Import, Vec<(String, String)>> {
    let params: Vec<Param> = params.iter().map(|typed| Param::read(typed)).collect();
    let made = words::split(command)
        .map_err(|why| vec![why])
        .and_then(options::read)
        .and_then(|command| draft::draft(command, tool, &params));
    made.map(|draft| file::finish(draft, tool, description))
        .map_err(reasons)
}

/// Makes a tool of a URL and a method.
pub fn request(
    url: &str,
    method: &str,
    tool: &str,
    description: Option<&str>,
) -> Result<Import, Vec<(String, String)>> {
    // Typed apart from any command: the characters that marks are made of are refused here as there.
    if placeholder::is_in(url) || url.contains(|char: char| char.is_control()) {
        return Err(reasons(vec![Why::new(
            "the URL has characters that no URL can have",
            "remove them",
        )]));
    }
    let command = options::Command {
        url: url.to_owned(),
        method: Some(method.to_owned()),
        ..options::Command::default()
    };
    let made = draft::draft(command, tool, &[]);
    made.map(|draft| file::finish(draft, tool, description))
        .map_err(reasons)
}

fn reasons(whys: Vec<Why>) -> Vec<(String, String)> {
    let reason = |why: Why| (why.what, why.instead);
    whys.into_iter().map(reason).collect()
}
