//! The body of an answer: bytes, or a stream that is made while it is read.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt as _};
use http_body::{Frame, SizeHint};

/// The body of an answer.
pub enum Body {
    /// All of it.
    Whole(Option<Bytes>),
    /// Piece by piece; the reader sets the pace.
    Stream(BoxStream<'static, Bytes>),
}

impl Body {
    /// Nothing.
    pub fn empty() -> Self {
        Body::Whole(None)
    }

    /// These pieces, as they come.
    pub fn stream(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Body::Stream(pieces.boxed())
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Body::Whole(Some(bytes.into()))
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Body::Whole(bytes) => f.debug_tuple("Whole").field(bytes).finish(),
            Body::Stream(_) => f.write_str("Stream"),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut *self {
            Body::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Body::Stream(pieces) => pieces
                .poll_next_unpin(cx)
                .map(|piece| piece.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Body::Stream(_) => SizeHint::default(),
        }
    }
}
