//! Requests to a server somewhere, on the one way out: [`Way`].
//!
//! The configured address is its own permission (`Reach::Configured`): this origin and no other is reached, without redirections, so that
//! neither the server nor its DNS can lead anywhere else. Secrets are looked up for every request.

use std::future::Future;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::StreamExt as _;
use http::{HeaderName, HeaderValue};
use toolcrib_mcp::client::{Exchange, ExchangeError, ExchangeResponse};
use url::Url;

use super::settings::ConfiguredValue;
use crate::egress::{Egress, EgressError, ExchangeLog, Reach, Request, Target};
use crate::model::names::Slug;
use crate::secret::SecretStore;

tokio::task_local! {
    /// Where it is noted what leaves for the call that is made just now.
    static NOTED: ExchangeLog;
}

/// Does something for a call, whose record notes what leaves meanwhile.
pub(super) async fn noted<T>(log: ExchangeLog, work: impl Future<Output = T>) -> T {
    NOTED.scope(log, work).await
}

/// Where it is noted what leaves just now.
pub(super) fn noting() -> ExchangeLog {
    NOTED.try_with(Clone::clone).unwrap_or_default()
}

/// The way to one server.
pub(super) struct Way {
    pub(super) egress: Egress,
    pub(super) secrets: SecretStore,
    pub(super) upstream: Slug,
    pub(super) target: Target,
    pub(super) headers: Vec<(HeaderName, ConfiguredValue)>,
}

impl Way {
    async fn exchange(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<ExchangeResponse, ExchangeError> {
        let failed = |message: String| ExchangeError::Failed(message);
        let (head, body) = request.into_parts();
        let url = Url::parse(&head.uri.to_string()).map_err(|error| failed(error.to_string()))?;
        let mut sent = Request::get(url);
        sent.method = head.method;
        sent.headers = head.headers;
        for (name, value) in &self.headers {
            let value = value
                .resolve(|secret| self.secrets.reveal(secret, &self.upstream, &self.target))
                .map_err(|error| failed(error.to_string()))?;
            let mut value = HeaderValue::try_from(value.expose())
                .map_err(|_| failed(format!("the value of the header `{name}` cannot be sent")))?;
            value.set_sensitive(true);
            sent.headers.insert(name.clone(), value);
        }
        sent.body = body;
        sent.reach = Reach::Configured(self.target.clone());
        // How long an answer may take, and how long a message may be, the client knows.
        sent.timeout = std::time::Duration::from_secs(24 * 3600);
        sent.max_received = u64::MAX;
        sent.max_redirects = 0;
        sent.log = noting();
        let answer = self.egress.stream(sent).await.map_err(in_words)?;
        if answer.status.is_redirection() {
            let to = answer.headers.get(http::header::LOCATION);
            let to = to.and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
            return Err(failed(format!(
                "`{}` redirects to `{}`; if that is right, configure it as its `url`",
                self.target,
                crate::model::text::shorten(&crate::model::text::visible(to), 200)
            )));
        }
        Ok(ExchangeResponse {
            status: answer.status,
            headers: answer.headers,
            body: Box::pin(answer.body.pieces().map(|piece| piece.map_err(in_words))),
        })
    }
}

impl Exchange for Way {
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'_, Result<ExchangeResponse, ExchangeError>> {
        Box::pin(self.exchange(request))
    }
}

fn in_words(error: EgressError) -> ExchangeError {
    ExchangeError::Failed(error.to_string())
}
