//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::os::fd::AsFd;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use super::connections::Place;
use super::watch::{Order, Phase, Watch, Watched};
use crate::Api;
use crate::api::{Body, Peer};

/// The largest head of a request: its line and its headers. hyper takes a hundred headers at most. More is a 431.
const MAX_HEAD: usize = 16 * 1024;

/// What is held of a request's body before it is asked for, and of an answer before it is sent.
const MAX_BUFFER: usize = 64 * 1024;

/// Serves a connection to its end.
pub(super) async fn serve<S>(
    socket: S,
    peer: Peer,
    tls: Option<TlsAcceptor>,
    place: Place,
    api: Api,
) where
    S: AsyncRead + AsyncWrite + AsFd + Unpin + Send + 'static,
{
    let watch = Arc::clone(place.watch());
    let watched = Watched::new(socket, Arc::clone(&watch));
    match tls {
        None => exchange(watched, peer, &watch, api).await,
        Some(tls) => {
            // What it sends to agree on keys counts as the head of its first request.
            watch.agrees(true);
            let mut agreeing = pin!(tls.accept(watched));
            let agreed = std::future::poll_fn(|cx| match watch.ordered(cx) {
                Order::Serve => agreeing.as_mut().poll(cx).map(Result::ok),
                Order::Finish | Order::Drop => Poll::Ready(None),
            });
            if let Some(stream) = agreed.await {
                watch.agrees(false);
                exchange(stream, peer, &watch, api).await;
            }
        }
    }
}

/// Requests and answers.
async fn exchange<S>(stream: S, peer: Peer, watch: &Arc<Watch>, api: Api)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request: Request<Incoming>| {
        watch.enter(Phase::Busy);
        let (api, peer, watch) = (api.clone(), peer.clone(), Arc::clone(watch));
        async move {
            let answer = api.answer(request, peer).await;
            if matches!(answer.body(), Body::Stream(_)) {
                watch.streams();
            }
            Ok::<_, Infallible>(answer.map(|body| Answering { body, watch }))
        }
    });
    let mut connection = pin!(
        http1::Builder::new()
            // Deadlines are kept by who watches the socket.
            .header_read_timeout(None)
            .max_header_size(MAX_HEAD)
            .max_buf_size(MAX_BUFFER)
            .serve_connection(TokioIo::new(stream), service)
    );
    let mut is_finishing = false;
    std::future::poll_fn(|cx| {
        match watch.ordered(cx) {
            Order::Serve => {}
            Order::Finish if is_finishing => {}
            Order::Finish => {
                is_finishing = true;
                connection.as_mut().graceful_shutdown();
            }
            Order::Drop => return Poll::Ready(()),
        }
        // A client that breaks the protocol or goes is no news.
        connection.as_mut().poll(cx).map(drop)
    })
    .await;
}

/// The body of an answer; when it is gone, the connection has nothing to do.
struct Answering {
    body: Body,
    watch: Arc<Watch>,
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.watch.enter(Phase::Idle);
    }
}

impl http_body::Body for Answering {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
