//! A program's own tool for MCP clients, behind the whole pipeline: `cargo run -p toolcrib-server --example echo_mcp`.
//!
//! Speaks MCP on stdin and stdout, like `toolcrib mcp`, or over HTTP with `--http PORT`, like `toolcrib serve` (at `/mcp`, with the token
//! in `TOOLCRIB_TOKEN`). The crib is that of this directory; `--home DIR` takes another home. `--tools N` adds N tools that no one needs,
//! to see how long a list may get; more than a model should read are listed only with `mcp.tokenBudget = 0` in the home's config.toml.

use std::error::Error;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use tokio::net::unix::pipe;
use toolcrib::registry::Registration;
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::{Approvals, Crib, CribOptions, DefineError, FnTool, Tool};
use toolcrib_mcp::server::{Server, StdioOptions};
use toolcrib_server::auth::{Clients, Tokens};
use toolcrib_server::listen::{self, ListenOptions, Stopping};
use toolcrib_server::mcp::{CribHost, HostOptions};
use toolcrib_server::{Api, ApiOptions, LOOK_EVERY};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
struct Echo {
    /// What to say.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
struct Filler {
    /// Of which record.
    key: String,
    /// The most fields.
    #[serde(default)]
    limit: u32,
    /// Whether to say more.
    #[serde(default)]
    verbose: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let crib = Arc::new(open()?);
    match option("--http") {
        None => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(serve_pipes(crib)),
        Some(port) => tokio::runtime::Runtime::new()?.block_on(serve_http(crib, port.parse()?)),
    }
}

fn option(name: &str) -> Option<String> {
    std::env::args().skip_while(|word| word != name).nth(1)
}

fn open() -> Result<Crib, Box<dyn Error>> {
    let mut options = CribOptions::default()
        .approvals(Approvals::Queue { wait: None })
        .look_every(LOOK_EVERY);
    if let Some(home) = option("--home") {
        options = options.home(home);
    }
    let crib = options.open()?;
    crib.registry().register(FnTool::new(
        "echo",
        "Returns its input.",
        |echo: Echo, _cx| async move { Ok(echo.text) },
    )?)?;
    let count = option("--tools").map_or(Ok(0), |count| count.parse())?;
    let fillers: Result<Vec<_>, DefineError> = (0..count).map(filler).collect();
    crib.registry().register_all(fillers?)?;
    Ok(crib)
}

fn filler(number: usize) -> Result<(Arc<dyn Tool>, Registration), DefineError> {
    let tool = FnTool::new(
        &format!("filler_tool_{number:05}"),
        &format!(
            "Filler tool number {number}: looks up a record by key and returns the matching fields as text."
        ),
        |filler: Filler, _cx| async move {
            let Filler {
                key,
                limit,
                verbose,
            } = filler;
            Ok(format!("{key}: none of {limit} (verbose: {verbose})"))
        },
    )?;
    Ok((Arc::new(tool), Registration::default()))
}

/// One client, on pipes: what starts this gives it some.
async fn serve_pipes(crib: Arc<Crib>) -> Result<(), Box<dyn Error>> {
    let input = pipe::Receiver::from_owned_fd(std::io::stdin().as_fd().try_clone_to_owned()?)?;
    let answers = pipe::Sender::from_owned_fd(std::io::stdout().as_fd().try_clone_to_owned()?)?;
    let server = Server::new(CribHost::new(Arc::clone(&crib), HostOptions::default()));
    server
        .serve_stdio(input, answers, StdioOptions::new("mcp"))
        .await?;
    crib.registry().flush();
    Ok(())
}

/// Everybody who has the token.
async fn serve_http(crib: Arc<Crib>, port: u16) -> Result<(), Box<dyn Error>> {
    let server = listen::Server::bind(ListenOptions {
        addr: Some(([127, 0, 0, 1], port).into()),
        ..ListenOptions::default()
    })?;
    let token = std::env::var("TOOLCRIB_TOKEN").ok();
    let tokens = Tokens::open(crib.home(), token, Clients::of_home(crib.home()))?;
    let api = Api::new(crib, ApiOptions::new(tokens));
    server.serve(api, Stopping::default()).await;
    Ok(())
}
