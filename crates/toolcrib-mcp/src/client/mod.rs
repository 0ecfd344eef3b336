//! The asking end: finds out which era its server speaks, lists and calls its tools, passes questions on.
//!
//! Nothing a server says is believed beyond its shape: every text is bounded, an odd tool is left out alone, and a server that does not
//! answer costs its caller a deadline and no one else anything.
//!
//! Both transports wait for and receive the same messages (`request_table`); they differ in how a message is carried (its `Wire`).

mod call;
mod error;
mod exchange;
mod form;
mod handshake;
mod http;
mod listing;
mod mirror;
mod options;
mod other;
mod request_table;
mod server_message;
mod server_requests;
mod sse;
mod stdio;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

pub use error::ClientError;
pub use exchange::{Exchange, ExchangeError, ExchangeResponse};
pub use form::fill_in_defaults;
pub use options::{CallOptions, ClientOptions, ServerRequests, ToolCall};
pub use other::Material;
pub use server_message::{Called, ListedTool, Listing, Progress, ServerNotice, ServerSide};

use crate::protocol::Era;
use request_table::Talk;

/// A connection to a server. Cloning is cheap and shares it; when the last clone is dropped, it ends.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    talk: Arc<Talk>,
    /// Ends reader, writer and streams when the last client is gone.
    _stop: DropGuard,
}

impl Client {
    /// Talks to a server on a pair of pipes. `told` receives its notifications; when it is dropped, they are discarded.
    ///
    /// The server's process and its stderr are the owner's business.
    pub async fn over_pipes<R, W>(
        reader: R,
        writer: W,
        options: ClientOptions,
        told: mpsc::Sender<ServerNotice>,
    ) -> Result<Client, ClientError>
    where
        R: tokio::io::AsyncRead + Send + Unpin + 'static,
        W: tokio::io::AsyncWrite + Send + Unpin + 'static,
    {
        Client::begun(stdio::open(reader, writer, options, told)).await
    }

    /// Talks to a server over HTTP.
    pub async fn over_http(
        url: String,
        exchange: Arc<dyn Exchange>,
        options: ClientOptions,
        told: mpsc::Sender<ServerNotice>,
    ) -> Result<Client, ClientError> {
        Client::begun(http::open(&url, exchange, options, told)?).await
    }

    async fn begun(talk: Arc<Talk>) -> Result<Client, ClientError> {
        let client = Client(Arc::new(Inner {
            _stop: talk.stop.clone().drop_guard(),
            talk,
        }));
        handshake::begin(&client.0.talk).await?;
        Ok(client)
    }

    /// Which era it speaks.
    pub fn era(&self) -> Era {
        self.0.talk.era()
    }

    /// What the server is.
    pub fn server(&self) -> ServerSide {
        self.0.talk.server()
    }

    /// The beginning of the first line on its pipe that was no message, if there was one: what people print where it must not be.
    pub fn odd_line(&self) -> Option<&str> {
        self.0.talk.odd_line()
    }

    /// All its tools, all pages.
    pub async fn list_tools(&self) -> Result<Listing, ClientError> {
        listing::list(&self.0.talk).await
    }

    /// Its prompts and resources, as far as it says that it has some.
    pub async fn list_material(&self) -> Result<Material, ClientError> {
        other::list(&self.0.talk).await
    }

    /// Gets a prompt (`prompts/get`).
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        patience: Duration,
    ) -> Result<Map<String, Value>, ClientError> {
        other::get_prompt(&self.0.talk, name, arguments, patience).await
    }

    /// Reads a resource (`resources/read`).
    pub async fn read_resource(
        &self,
        uri: &str,
        patience: Duration,
    ) -> Result<Map<String, Value>, ClientError> {
        other::read_resource(&self.0.talk, uri, patience).await
    }

    /// Makes known what the server's tools are without asking it, from an earlier listing: over HTTP some parameters travel in headers,
    /// which their definitions say. A server that wants other headers is listed again in any case.
    pub fn remember_tools(&self, tools: &[ListedTool]) {
        self.0.talk.remember(tools);
    }

    /// Calls a tool.
    pub async fn call_tool(
        &self,
        call: ToolCall,
        options: CallOptions,
    ) -> Result<Called, ClientError> {
        call::call(&self.0.talk, call, options).await
    }

    /// Ends the connection: a session is ended, pipes are closed. Pending requests are gone.
    pub async fn close(&self) {
        self.0.talk.close().await;
    }
}
