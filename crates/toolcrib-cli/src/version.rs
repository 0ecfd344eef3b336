//! `toolcrib --version --json`: what this program is and what it was built with.

use clap::error::ErrorKind;
use serde_json::{Value, json};
use toolcrib::format::FORMAT;
use toolcrib_server::web::Web;

/// The document, if that is what was asked for. The parser stops at `--version` and does not read what is behind it.
pub(crate) fn asked(error: &clap::Error) -> Option<Value> {
    let is_json = || std::env::args_os().skip(1).any(|word| word == "--json");
    (error.kind() == ErrorKind::DisplayVersion && is_json()).then(document)
}

fn document() -> Value {
    let commit = env!("TOOLCRIB_COMMIT");
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "commit": (!commit.is_empty()).then_some(commit),
        "target": env!("TOOLCRIB_TARGET"),
        "features": features(),
        "homeFormat": FORMAT,
    })
}

/// What can be left out of a build, and is in this one.
fn features() -> Vec<&'static str> {
    let web = Web::BuiltIn.is_there().then_some("web");
    toolcrib::FEATURES.iter().copied().chain(web).collect()
}
