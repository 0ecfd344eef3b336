//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::os::fd::AsFd;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use super::connections::ConnectionSlot;
use super::shares::Share;
use super::watch::{Order, Phase, Watch, Watched};
use crate::Api;
use crate::api::{Body, Peer};
use crate::auth::Principal;

/// The largest head of a request: its line and its headers. hyper takes a hundred headers at most. More is a 431.
const MAX_HEAD: usize = 16 * 1024;

/// The buffered bytes of a request's body before it is read, and of an answer before it is sent.
const MAX_BUFFER: usize = 64 * 1024;

/// Serves a connection to its end.
pub(super) async fn serve<S>(
    socket: S,
    peer: Peer,
    tls: Option<TlsAcceptor>,
    place: ConnectionSlot,
    api: Api,
) where
    S: AsyncRead + AsyncWrite + AsFd + Unpin + Send + 'static,
{
    let watch = Arc::clone(place.watch());
    let watched = Watched::new(socket, Arc::clone(&watch));
    match tls {
        None => exchange(watched, peer, &place, api).await,
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
                exchange(stream, peer, &place, api).await;
            }
        }
    }
}

/// Requests and answers.
async fn exchange<S>(stream: S, peer: Peer, place: &ConnectionSlot, api: Api)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let watch = place.watch();
    let service = service_fn(|request: Request<Incoming>| {
        watch.enter(Phase::Busy);
        let (api, peer, watch) = (api.clone(), peer.clone(), Arc::clone(watch));
        let request = request.map(|body| Arriving::new(body, Arc::clone(&watch)));
        async move {
            let share = OnceLock::new();
            let known = |principal: &Principal| {
                watch.knows();
                let _ = share.set(place.shares().take(principal)?);
                Ok(())
            };
            let answer = api.answer_known(request, peer, &known).await;
            if matches!(answer.body(), Body::Stream(_)) {
                watch.streams();
            }
            let share = share.into_inner();
            Ok::<_, Infallible>(answer.map(|body| Answering {
                body,
                watch,
                _share: share,
            }))
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
        // A client that breaks the protocol or goes is not news.
        connection.as_mut().poll(cx).map(drop)
    })
    .await;
}

/// The body of a request, which may be long in coming.
struct Arriving {
    body: Incoming,
    watch: Arc<Watch>,
}

impl Arriving {
    fn new(body: Incoming, watch: Arc<Watch>) -> Self {
        watch.arrives(!http_body::Body::is_end_stream(&body));
        Arriving { body, watch }
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.watch.arrives(false);
    }
}

impl http_body::Body for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer; when it is gone, the connection has nothing to do.
struct Answering {
    body: Body,
    watch: Arc<Watch>,
    _share: Option<Share>,
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
