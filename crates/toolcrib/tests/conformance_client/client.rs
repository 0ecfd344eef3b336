//! The client leg of the conformance suite: a program that the suite starts with the address of its server, once per scenario.
//!
//! ```text
//! node dist/index.js client --command target/debug/examples/conformance-client --requirements 2026-07-28
//! ```
//!
//! `MCP_CONFORMANCE_SCENARIO` says which, `MCP_CONFORMANCE_PROTOCOL_VERSION` in which version (where the suite knows it; the era is found
//! out all the same), `MCP_CONFORMANCE_CONTEXT` what with. What it does is what the product does with a server: the protocol's client on
//! the library's one way out. Only the answers of a person are made up.

mod login;
mod way;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolcrib_mcp::client::{
    CallOptions, Called, Client, ClientError, ClientOptions, Exchange, ServerRequests, ToolCall,
};
use toolcrib_mcp::protocol::{Elicitation, Implementation, Input};
use toolcrib_mcp::rpc::RpcError;

type Problem = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let Some(url) = std::env::args().nth(1) else {
        eprintln!("usage: MCP_CONFORMANCE_SCENARIO=… conformance-client URL");
        return ExitCode::FAILURE;
    };
    match play(&scenario, &url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{scenario}: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn play(scenario: &str, url: &str) -> Result<(), Problem> {
    let client = connect(scenario, url).await?;
    let done = match scenario {
        "sep-2322-client-request-state" => input_required(&client).await,
        "json-schema-2020-12-preservation" => echo_schema(&client).await,
        "json-schema-ref-no-deref" | "request-metadata" => list(&client).await.map(|_| ()),
        "http-custom-headers" => given_calls(&client).await,
        scenario if scenario.starts_with("auth/") => test_tool(&client).await,
        _ => every_tool(&client).await,
    };
    client.close().await;
    done
}

async fn connect(scenario: &str, url: &str) -> Result<Client, Problem> {
    let mut options = ClientOptions::new(Implementation {
        name: "toolcrib-conformance-client".to_owned(),
        version: "1".to_owned(),
        ..Implementation::default()
    });
    options.connect_timeout = Duration::from_secs(15);
    options.capabilities.elicitation = Some(Elicitation::default());
    options.asked = Some(Arc::new(Person));
    options.form_defaults = true;
    let (told, _) = mpsc::channel(16);
    let exchange = exchange(scenario, url)?;
    Ok(Client::over_http(url.to_owned(), exchange, options, told).await?)
}

/// The way to the suite's server, with a login where a scenario is about that.
fn exchange(scenario: &str, url: &str) -> Result<Arc<dyn Exchange>, Problem> {
    let way = way::Way::new()?;
    match scenario.starts_with("auth/") {
        true => login::exchange(scenario, url, way),
        false => Ok(Arc::new(way)),
    }
}

/// A person who accepts every form as it is.
struct Person;

impl ServerRequests for Person {
    fn asked(
        &self,
        _method: String,
        _params: Value,
        _call: Option<u64>,
    ) -> BoxFuture<'_, Result<Value, RpcError>> {
        Box::pin(async { Ok(json!({ "action": "accept", "content": {} })) })
    }
}

async fn list(client: &Client) -> Result<Vec<toolcrib_mcp::client::ListedTool>, Problem> {
    let listing = client.list_tools().await?;
    for (name, why) in &listing.rejected {
        eprintln!("left out `{name}`: {why}");
    }
    Ok(listing.tools)
}

async fn call(
    client: &Client,
    name: &str,
    arguments: Map<String, Value>,
    input: Option<Input>,
) -> Result<Called, ClientError> {
    let call = ToolCall {
        name: name.to_owned(),
        arguments,
        input,
    };
    let options = CallOptions {
        key: 0,
        idle_timeout: Duration::from_secs(15),
        timeout: Duration::from_secs(20),
        cancel: CancellationToken::new(),
        progress: None,
    };
    client.call_tool(call, options).await
}

/// Calls every tool that is listed with what most of them take.
async fn every_tool(client: &Client) -> Result<(), Problem> {
    for tool in list(client).await? {
        let arguments = match tool.definition["inputSchema"]["properties"].get("a") {
            Some(_) => json!({ "a": 2, "b": 3 }),
            None => json!({}),
        };
        call(client, &tool.name, object(arguments), None).await?;
    }
    Ok(())
}

/// What a client does that was let in.
async fn test_tool(client: &Client) -> Result<(), Problem> {
    list(client).await?;
    call(client, "test-tool", Map::new(), None).await?;
    Ok(())
}

/// Makes the calls that the suite asks for.
async fn given_calls(client: &Client) -> Result<(), Problem> {
    let context: Value = serde_json::from_str(&std::env::var("MCP_CONFORMANCE_CONTEXT")?)?;
    list(client).await?;
    for one in context["toolCalls"].as_array().into_iter().flatten() {
        let name = one["name"].as_str().ok_or("a call without a name")?;
        call(client, name, object(one["arguments"].clone()), None).await?;
    }
    Ok(())
}

/// Gives a schema back as it was listed.
async fn echo_schema(client: &Client) -> Result<(), Problem> {
    let tools = list(client).await?;
    let focal = tools
        .iter()
        .find(|tool| tool.name == "json_schema_2020_12_tool");
    let schema = &focal.ok_or("no tool to echo")?.definition["inputSchema"];
    call(
        client,
        "json_schema_echo",
        object(json!({ "schema": schema })),
        None,
    )
    .await?;
    Ok(())
}

/// Answers what calls want to know, with another call in between.
async fn input_required(client: &Client) -> Result<(), Problem> {
    list(client).await?;
    for name in ["test_mrtr_echo_state", "test_mrtr_no_state"] {
        let Called::InputRequired { requests, state } =
            call(client, name, Map::new(), None).await?
        else {
            return Err(format!("`{name}` wanted to know nothing").into());
        };
        call(client, "test_mrtr_unrelated", Map::new(), None).await?;
        let yes = json!({ "action": "accept", "content": { "confirmed": true } });
        let responses = requests
            .into_iter()
            .map(|(key, _)| (key, yes.clone()))
            .collect();
        call(client, name, Map::new(), Some(Input { responses, state })).await?;
    }
    match call(client, "test_mrtr_no_result_type", Map::new(), None).await? {
        Called::Complete(_) => Ok(()),
        Called::InputRequired { .. } => Err("a result without a kind is complete".into()),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
