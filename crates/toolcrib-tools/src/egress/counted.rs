//! A body whose bytes are noted as they leave: [`Counted`].

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};

use crate::model::exchange::Noted;

/// A body that is noted as sent when it is taken to be written, not before there is a connection for it.
pub(super) struct Counted {
    body: Full<Bytes>,
    noted: Noted,
}

impl Counted {
    pub(super) fn new(body: Bytes, noted: &Noted) -> Self {
        Counted {
            body: Full::new(body),
            noted: noted.clone(),
        }
    }
}

impl Body for Counted {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            self.noted.sent(data.len() as u64);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
