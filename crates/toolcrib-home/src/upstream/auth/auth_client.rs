//! Requests to the authorization server: [`AuthClient`]. Metadata, registration and tokens are other addresses than the server's own, and it is
//! the server that names them, so they are believed little.
//!
//! They are reached by the one way out, encrypted unless they are on this machine, without redirections, to a limit of size and time. An
//! address of this machine or of a private network is reached only where the configured server itself is there, or the setting
//! `allowedHosts` names it.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use serde_json::Value;
use url::Url;

use super::error::AuthError;
use crate::egress::{AllowedHosts, Egress, Host, Reach as EgressReach, Request, Target};
use crate::model::json::read_bounded;
use crate::model::text;
use crate::oauth::MAX_ANSWER;

/// How long one request may take.
const TIME: Duration = Duration::from_secs(20);

/// The way to those who let people in at one server.
#[derive(Clone)]
pub(super) struct AuthClient {
    egress: Egress,
    server: Target,
}

/// An answer.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
}

impl Answer {
    /// The object it is, if it is one.
    pub(super) fn object(&self) -> Option<Value> {
        let value = read_bounded(&self.body).ok()?;
        value.is_object().then_some(value)
    }
}

impl AuthClient {
    pub(super) fn new(egress: &Egress, server: &Url) -> Result<Self, AuthError> {
        let (_, server) = Target::parse(server.as_str()).map_err(AuthError::unreachable)?;
        if !server.https && !is_this_machine(&server) {
            return Err(AuthError::Failed(format!(
                "`{server}` is not spoken to by `https`: a token would be for everybody to read"
            )));
        }
        Ok(AuthClient {
            egress: egress.clone(),
            server,
        })
    }

    /// Checks an address that a server named: encrypted, or on this machine as the server itself is.
    pub(super) fn check(&self, url: &str) -> Result<(Url, Target), AuthError> {
        let shown = || text::shorten(&text::visible(url), 200);
        let (url, target) = Target::parse(url).map_err(|error| {
            AuthError::Failed(format!(
                "`{}` is not an address for a login: {error}",
                shown()
            ))
        })?;
        let is_here = is_this_machine(&target);
        if !target.https && !is_here {
            return Err(AuthError::Failed(format!(
                "`{}` is not spoken to by `https`, which logging in has to be",
                shown()
            )));
        }
        if is_here
            && !is_this_machine(&self.server)
            && !self.egress.allowed_hosts().contains(&target)
        {
            return Err(AuthError::Failed(format!(
                "`{}` is on this machine, and the server is not; if it is meant, `toolcrib config set --add allowedHosts {}` allows it",
                shown(),
                target.entry()
            )));
        }
        Ok((url, target))
    }

    /// Where a request to a checked target may go.
    fn permitted(&self, target: &Target) -> Result<EgressReach, AuthError> {
        let is_near = self.server.host == target.host
            || is_this_machine(&self.server) && is_this_machine(target);
        if is_near {
            return Ok(EgressReach::Configured(target.clone()));
        }
        let entry = match target.port {
            443 => target.host.to_string(),
            port => format!("{}:{port}", target.host),
        };
        AllowedHosts::parse([entry.as_str()])
            .map(EgressReach::Only)
            .map_err(AuthError::Failed)
    }

    /// Sends a request to an address that a server named.
    pub(super) async fn send(
        &self,
        url: &str,
        change: impl FnOnce(&mut Request),
    ) -> Result<Answer, AuthError> {
        let (url, target) = self.check(url)?;
        let mut request = Request::get(url);
        request.reach = self.permitted(&target)?;
        request.timeout = TIME;
        request.max_received = MAX_ANSWER;
        request.max_redirects = 0;
        request
            .headers
            .insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        request.log = super::super::http::noting();
        change(&mut request);
        let answer = self
            .egress
            .send(request)
            .await
            .map_err(AuthError::unreachable)?;
        Ok(Answer {
            status: answer.status,
            body: answer.body,
        })
    }

    /// Asks for a document.
    pub(super) async fn get(&self, url: &str) -> Result<Answer, AuthError> {
        self.send(url, |_| {}).await
    }

    /// Posts a document of JSON.
    pub(super) async fn post_json(&self, url: &str, body: &Value) -> Result<Answer, AuthError> {
        let body = Bytes::from(body.to_string());
        self.send(url, |request| {
            request.method = Method::POST;
            request.body = body;
            let json = HeaderValue::from_static("application/json");
            request.headers.insert(header::CONTENT_TYPE, json);
        })
        .await
    }
}

/// Whether a target is this machine by its very name.
pub(super) fn is_this_machine(target: &Target) -> bool {
    match &target.host {
        Host::Address(IpAddr::V4(address)) => address.is_loopback(),
        Host::Address(IpAddr::V6(address)) => address.is_loopback(),
        Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
    }
}
