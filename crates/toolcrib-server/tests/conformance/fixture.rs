//! What `@modelcontextprotocol/conformance` is run against: the tools, prompts and resources that its scenarios want, served by the same
//! code that serves a crib on `/mcp`, behind the same checks of `Host` and `Origin`, and without a token.
//!
//! It says where it listens on stdout and serves until it is killed. `./test.sh conformance` starts it; nothing else should.
#![allow(
    clippy::unwrap_used,
    reason = "a fixture that cannot go on should panic"
)]

mod content;
mod host;
mod input;
mod tools;

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use toolcrib_mcp::server::Server;
use toolcrib_server::api::{Body, Peer};
use toolcrib_server::auth::Hosts;
use toolcrib_server::mcp::exchange;

use host::Fixture;

/// Everybody is the same: there are no tokens here.
const PRINCIPAL: &str = "operator";

#[tokio::main]
async fn main() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let hosts = Arc::new(Hosts::new([], [], Some(address)).unwrap());
    let host = Arc::new(Fixture::default());
    let server = Server::new(Arc::clone(&host) as Arc<_>);
    host.served_by(server.clone());
    println!("http://{address}/mcp");
    loop {
        let (socket, peer) = listener.accept().await.unwrap();
        let _ = socket.set_nodelay(true);
        let (server, hosts) = (server.clone(), Arc::clone(&hosts));
        let service = service_fn(move |request| {
            let (server, hosts) = (server.clone(), Arc::clone(&hosts));
            async move {
                Ok::<_, Infallible>(answer(&server, &hosts, &Peer::Address(peer), request).await)
            }
        });
        tokio::spawn(
            hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(socket), service),
        );
    }
}

async fn answer(
    server: &Server,
    hosts: &Hosts,
    peer: &Peer,
    request: Request<Incoming>,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    if let Err(refusal) = hosts.check(&parts.uri, &parts.headers, peer) {
        return refusal.into_response();
    }
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return Response::new(Body::empty()),
    };
    exchange(server, parts.method, parts.headers, body, PRINCIPAL.into()).await
}
