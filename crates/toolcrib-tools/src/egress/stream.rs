//! An answer that is read while it comes: [`Streamed`].

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Frame, Incoming};

use super::body;
use super::pool::{Pool, Speaking};
use crate::model::exchange::Noted;
use crate::target::EgressError;
use crate::target::Target;

/// The head of an answer, and its body as it comes.
pub struct Streamed {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body. Dropping it ends the exchange.
    pub body: StreamedBody,
}

/// A body as it comes. The connection is kept for the next request once it was read to its end.
pub struct StreamedBody {
    incoming: Incoming,
    target: Target,
    noted: Noted,
    /// How much may still come.
    left: u64,
    max: u64,
    /// How long each piece may take; as long as it likes, if not said.
    idle: Option<Duration>,
    /// Where the connection goes when the body is over.
    kept: Option<(Pool, Speaking)>,
}

impl StreamedBody {
    pub(super) fn new(
        incoming: Incoming,
        target: Target,
        noted: Noted,
        max: u64,
        kept: (Pool, Speaking),
    ) -> Self {
        StreamedBody {
            incoming,
            target,
            noted,
            left: max,
            max,
            idle: None,
            kept: Some(kept),
        }
    }

    /// With at most this time for each piece.
    #[must_use]
    pub fn with_idle(mut self, idle: Duration) -> Self {
        self.idle = Some(idle);
        self
    }

    async fn frame(&mut self) -> Result<Option<Frame<Bytes>>, EgressError> {
        let frame = match self.idle {
            None => self.incoming.frame().await,
            Some(idle) => match tokio::time::timeout(idle, self.incoming.frame()).await {
                Ok(frame) => frame,
                Err(_) => {
                    return Err(EgressError::Timeout(format!(
                        "`{}` sent nothing for {} s",
                        self.target,
                        idle.as_secs_f64()
                    )));
                }
            },
        };
        frame
            .transpose()
            .map_err(|error| body::broken(&error, &self.target))
    }

    /// The next piece; `None` at the end. More than the request's `max_received` is an error.
    pub async fn next(&mut self) -> Result<Option<Bytes>, EgressError> {
        while let Some(frame) = self.frame().await? {
            // Trailers are of no use to anybody here.
            let Ok(bytes) = frame.into_data() else {
                continue;
            };
            self.noted.received(bytes.len() as u64);
            self.left = self
                .left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| body::too_long(self.max))?;
            return Ok(Some(bytes));
        }
        if let Some((pool, speaking)) = self.kept.take() {
            pool.put(self.target.clone(), speaking);
        }
        Ok(None)
    }

    /// The rest, up to `max` bytes of it; more is cut off.
    pub async fn rest(&mut self, max: usize) -> Result<Vec<u8>, EgressError> {
        let mut whole = Vec::new();
        while whole.len() < max
            && let Some(piece) = self.next().await?
        {
            let room = max - whole.len();
            whole.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        Ok(whole)
    }

    /// The pieces as a stream, which ends with the first error.
    pub fn pieces(self) -> impl Stream<Item = Result<Bytes, EgressError>> + Send {
        stream::unfold(Some(self), |body| async {
            let mut body = body?;
            match body.next().await {
                Ok(piece) => piece.map(|piece| (Ok(piece), Some(body))),
                Err(error) => Some((Err(error), None)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{AllowedHosts, Egress, EgressError, EgressOptions, Request};
    use crate::testing::{Reply, ScriptedServer};

    fn egress(server: &ScriptedServer) -> Egress {
        let allowed_hosts = AllowedHosts::parse([server.host().as_str()]).unwrap();
        Egress::new(EgressOptions {
            allowed_hosts,
            ..EgressOptions::default()
        })
        .unwrap()
    }

    #[tokio::test]
    async fn pieces_come_before_the_end_and_more_than_allowed_is_an_error() {
        let server = ScriptedServer::start(|_| Reply::ok("event").endless());
        let mut request = Request::get(server.url("/").parse().unwrap());
        request.max_received = 4096;
        // For the head alone.
        request.timeout = Duration::from_secs(5);
        let mut answer = egress(&server).stream(request).await.unwrap();
        assert_eq!(answer.status.as_u16(), 200);
        let first = answer.body.next().await.unwrap().unwrap();
        assert!(first.starts_with(b"event"));
        let error = loop {
            match answer.body.next().await {
                Ok(piece) => assert!(piece.is_some()),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, EgressError::TooLong { max: 4096 }));
    }

    #[tokio::test]
    async fn a_whole_answer_leaves_its_connection_for_the_next() {
        let server = ScriptedServer::start(|_| Reply::ok("short"));
        let egress = egress(&server);
        for _ in 0..3 {
            let request = Request::get(server.url("/").parse().unwrap());
            let mut body = egress.stream(request).await.unwrap().body;
            assert_eq!(body.next().await.unwrap().unwrap(), "short");
            assert!(body.next().await.unwrap().is_none());
        }
        assert_eq!(server.connections(), 1);
    }

    #[tokio::test]
    async fn no_redirection_is_followed_and_no_one_is_reached_who_is_not_allowed() {
        let server = ScriptedServer::start(|_| Reply::redirect(302, "http://127.0.0.1:9/"));
        let egress = egress(&server);
        let request = Request::get(server.url("/").parse().unwrap());
        assert_eq!(egress.stream(request).await.unwrap().status.as_u16(), 302);
        let request = Request::get("http://127.0.0.1:9/".parse().unwrap());
        let refused = egress.stream(request).await.err();
        assert!(matches!(refused, Some(EgressError::Refused(_))));
    }
}
