//! The servers: Toolcrib with a tool that does nothing, and axum with an echo.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Json};
use axum::routing::post;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use toolcrib::call::event::OutputStream;
use toolcrib::config::Surroundings;
use toolcrib::crib::Approvals;
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::{CribOptions, Effects, FnTool};
use toolcrib_server::auth::{Clients, Tokens};
use toolcrib_server::listen::{Limits, ListenOptions, Server, Stopping};
use toolcrib_server::{Api, ApiOptions};
use tower_service::Service as _;

use super::{TOKEN, say};

/// How long those who never read are waited for, instead of half a minute: the figure is how much they hold meanwhile.
pub(super) const WRITE_DEADLINE: Duration = Duration::from_secs(2);

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
struct Text {
    /// Some text.
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
struct Megabytes {
    /// How much.
    megabytes: usize,
}

/// Toolcrib, as `toolcrib serve` runs it, without a log of requests.
pub(super) async fn toolcrib(ended: impl Future<Output = ()>) {
    let directory = tempfile::tempdir().expect("a directory");
    let (home, work) = (directory.path().join("home"), directory.path().join("work"));
    for path in [&home, &work] {
        std::fs::create_dir(path).expect("a directory");
    }
    let here = directory.path().to_str().expect("text");
    let crib = CribOptions::default()
        .surroundings(Surroundings::new(&work, [("HOME", here)]))
        .home(&home)
        .workspace(&work)
        .approvals(Approvals::Queue { wait: None })
        .look_every(toolcrib_server::LOOK_EVERY)
        .open()
        .expect("a crib");
    let noop = FnTool::new("noop", "Does nothing", |args: Text, _cx| async move {
        Ok(args.text)
    });
    let flood = FnTool::new("flood", "Prints", |args: Megabytes, cx| async move {
        let chunk = "x".repeat(16 * 1024);
        for number in 0..args.megabytes * 64 {
            cx.emit_output(OutputStream::Stdout, chunk.clone());
            // A hundred megabytes a second, so that it lasts longer than the deadline.
            if number % 64 == 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        Ok(true)
    });
    let registry = crib.registry();
    let noop = noop.expect("a tool").effects(Effects::READ);
    registry.register(noop).expect("a new name");
    let flood = flood.expect("a tool").effects(Effects::READ);
    registry.register(flood).expect("a new name");
    let tokens = Tokens::open(&home, Some(TOKEN.to_owned()), Clients::of_home(&home));
    let api = Api::new(Arc::new(crib), ApiOptions::new(tokens.expect("a token")));
    let server = Server::bind(ListenOptions {
        addr: Some(([127, 0, 0, 1], 0).into()),
        limits: Limits {
            write: WRITE_DEADLINE,
            ..Limits::default()
        },
        ..ListenOptions::default()
    });
    let server = server.expect("a port");
    say(&server.address().expect("an address").to_string());
    tokio::select! {
        () = server.serve(api, Stopping::default()) => {}
        () = ended => {}
    }
}

/// axum with the same caps: bodies, the time of heads, connections.
pub(super) async fn axum(ended: impl Future<Output = ()>) {
    async fn echo(Json(value): Json<Value>) -> Json<Value> {
        Json(value)
    }
    let router = Router::new()
        .route("/echo", post(echo))
        .layer(DefaultBodyLimit::max(4 * 1024 * 1024));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    say(&listener.local_addr().expect("an address").to_string());
    let places = Arc::new(Semaphore::new(10_000));
    let serving = async {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                continue;
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                continue;
            };
            let _ = stream.set_nodelay(true);
            let router = router.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let answering = router.clone().call(request);
                    async move { Ok::<_, Infallible>(answering.await.unwrap_or_else(|e| match e {})) }
                });
                let _ = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(Duration::from_secs(10))
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
                drop(place);
            });
        }
    };
    tokio::select! {
        () = serving => {}
        () = ended => {}
    }
}
