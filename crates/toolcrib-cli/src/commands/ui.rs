//! `toolcrib ui`: a link that signs a browser in to the web admin, from a server that runs or from one that it starts.

use std::process::ExitCode;

use serde_json::json;
use toolcrib::{ErrorCode, ToolError};
use toolcrib_server::client::Ask;

use super::{Done, open as open_crib, serve};
use crate::args::{Global, ServeArgs, UiArgs};
use crate::output::Output;
use crate::remote;

pub(super) fn ui(args: &UiArgs, global: &Global, output: &Output) -> Done {
    let crib = open_crib(global, output)?;
    let Some((url, client)) = remote::serving(&crib, global) else {
        drop(crib);
        // It prints the link itself.
        let args = ServeArgs {
            addr: None,
            socket: None,
            open: !args.print,
            web: None,
        };
        return serve::serve(&args, global, output);
    };
    let runtime = remote::runtime()?;
    let ask = client.json(Ask::post_nothing("/api/browser-codes"));
    let issued = runtime
        .block_on(ask)
        .map_err(|error| ToolError::new(ErrorCode::Unavailable, format!("{url}: {error}")))?;
    let path = issued["path"].as_str().unwrap_or("/ui/");
    let link = format!("{url}{path}");
    if output.json() {
        output.ndjson(&json!({"ui": link}));
    } else if args.print {
        output.line(&link);
    }
    if !args.print {
        runtime.block_on(serve::open(&link, output));
    }
    Ok(ExitCode::SUCCESS)
}
