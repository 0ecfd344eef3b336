//! Whatever a client writes to the pipes, the server ends with the input and has written nothing but messages, one a line.
#![no_main]

use std::pin::Pin;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolcrib_mcp::rpc::RpcError;
use toolcrib_mcp::server::{
    Ask, Capabilities, Context, Description, Host, Reply, Server, StdioOptions,
};

/// Answers everything at once.
struct Echo;

impl Host for Echo {
    fn description(&self) -> Description {
        Description {
            capabilities: Capabilities {
                tools: true,
                tools_changed: true,
                prompts: true,
                prompts_changed: true,
                resources: true,
                resources_changed: true,
                resources_subscribe: true,
                completions: true,
                logging: true,
            },
            ..Description::default()
        }
    }

    fn answer(
        self: Arc<Self>,
        ask: Ask,
        context: Context,
    ) -> Pin<Box<dyn Future<Output = Result<Reply, RpcError>> + Send>> {
        Box::pin(async move {
            context.progress(1.0, None, Some("half"));
            match ask {
                Ask::CallTool { arguments, .. } => {
                    let text = arguments.as_deref().map_or("{}", |it| it.get());
                    Ok(Reply::complete(text.as_bytes().to_vec()))
                }
                Ask::Complete { params } => Reply::of(&params),
                _ => Ok(Reply::complete(&b"{}"[..])),
            }
        })
    }
}

fuzz_target!(|input: &[u8]| {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let mut options = StdioOptions::new("mcp");
    options.max_line = 4096;
    let mut output = Vec::new();
    runtime
        .block_on(Server::new(Arc::new(Echo)).serve_stdio(input, &mut output, options))
        .expect("memory does not fail");
    for line in output.split_inclusive(|it| *it == b'\n') {
        // Deep arguments come back as deep as they were, deeper than a reader that builds them goes.
        match serde_json::from_slice::<Value>(line) {
            Ok(message) => assert_eq!(message["jsonrpc"], "2.0"),
            Err(error) => assert!(error.to_string().contains("recursion"), "{error}"),
        }
    }
});
