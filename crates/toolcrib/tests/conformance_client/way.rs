//! The library's one way out as the protocol's client wants it, for servers on this machine.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use toolcrib::egress::{Egress, EgressError, EgressOptions, Reach, Request, Target};
use toolcrib_mcp::client::{Exchange, ExchangeError, ExchangeResponse};

use super::Problem;

/// The way to the servers of a scenario.
pub(crate) struct Way {
    egress: Egress,
}

impl Way {
    /// To whatever a scenario names: its own servers, each on its own port.
    pub(crate) fn new() -> Result<Self, Problem> {
        let egress = Egress::new(EgressOptions::default())?;
        Ok(Way { egress })
    }

    /// The way out itself.
    pub(crate) fn egress(&self) -> Egress {
        self.egress.clone()
    }
}

impl Exchange for Way {
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'_, Result<ExchangeResponse, ExchangeError>> {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let url = head.uri.to_string();
            let (url, target) = Target::parse(&url).map_err(in_words)?;
            let mut sent = Request::get(url);
            sent.reach = Reach::Configured(target);
            sent.method = head.method;
            sent.headers = head.headers;
            sent.body = body;
            sent.timeout = Duration::from_secs(60);
            sent.max_received = u64::MAX;
            let answer = self.egress.stream(sent).await.map_err(in_words)?;
            Ok(ExchangeResponse {
                status: answer.status,
                headers: answer.headers,
                body: Box::pin(answer.body.pieces().map(|piece| piece.map_err(in_words))),
            })
        })
    }
}

fn in_words(error: EgressError) -> ExchangeError {
    ExchangeError::Failed(error.to_string())
}
