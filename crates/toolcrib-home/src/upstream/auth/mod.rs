//! Logs in at an HTTP server: [`Authorizer`], and [`OAuth`], the one that there is.
//!
//! ```text
//! challenge  what a server wants       discovery  the authorization server
//! client     our identity there       session    a token with every request, and another when it is over
//! login      stored logins              loopback   the browser's answer
//! auth_client  the way to all of them  error    why access was refused
//! ```
//!
//! A server that is configured with `auth = "oauth"` is reached through what an authorizer makes of the plain exchange: it adds a token to
//! requests, and does what has to be done when a server wants another one. No one is asked to log in during a call.

mod auth_client;
mod challenge;
mod client;
mod discovery;
mod error;
mod login;
mod loopback;
mod session;

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use toolcrib_mcp::client::Exchange;
use url::Url;

pub use loopback::Loopback;

use super::settings::OAuthSettings;
use crate::egress::Egress;
use crate::model::error::ToolError;
use crate::model::names::Slug;
use crate::secret::SecretStore;
use login::LoginStore;
use session::Session;

/// Wraps the exchange with a server into one that shows who asks.
pub trait Authorizer: Send + Sync + 'static {
    /// Returns the exchange with credentials added. Called once for each connection. `egress` is the way out for whatever else has to be asked (metadata,
    /// tokens); `plain` sends a request to the server itself as it is.
    fn authorize(
        &self,
        upstream: &Slug,
        url: &Url,
        settings: &OAuthSettings,
        egress: &Egress,
        plain: Arc<dyn Exchange>,
    ) -> Result<Arc<dyn Exchange>, ToolError>;
}

/// A person with a browser.
pub trait Consent: Send + Sync + 'static {
    /// Where the browser is to be sent back to.
    fn redirect_uri(&self) -> String;

    /// Has a person open this page, and says where the browser was sent back to. Only an answer with this `state` is an answer. The error
    /// says why there is none.
    fn ask(&self, url: Url, state: String) -> BoxFuture<'_, Result<Url, String>>;
}

/// Logs in with OAuth, and keeps tokens in the home.
pub struct OAuth {
    logins: LoginStore,
    secrets: SecretStore,
    consent: Option<Arc<dyn Consent>>,
}

impl OAuth {
    /// With the logins of a home, and no one to ask.
    pub fn new(home: &Path, secrets: SecretStore) -> Self {
        OAuth {
            logins: LoginStore::at(home),
            secrets,
            consent: None,
        }
    }

    /// Adds a person who can be asked whenever a login is needed.
    #[must_use]
    pub fn with_consent(mut self, consent: Arc<dyn Consent>) -> Self {
        self.consent = Some(consent);
        self
    }

    fn session(
        &self,
        upstream: &Slug,
        url: &Url,
        settings: &OAuthSettings,
        egress: &Egress,
        plain: Arc<dyn Exchange>,
    ) -> Session {
        Session {
            upstream: upstream.clone(),
            server: url.clone(),
            settings: settings.clone(),
            egress: egress.clone(),
            secrets: self.secrets.clone(),
            logins: self.logins.clone(),
            consent: self.consent.clone(),
            plain,
            renewing: tokio::sync::Mutex::default(),
        }
    }

    /// Logs in at a server, whatever was kept before; says who let us in.
    pub(crate) async fn log_in(
        &self,
        upstream: &Slug,
        url: &Url,
        settings: &OAuthSettings,
        egress: &Egress,
        plain: Arc<dyn Exchange>,
    ) -> Result<String, ToolError> {
        let session = self.session(upstream, url, settings, egress, plain);
        Ok(session.log_in_now().await?)
    }

    /// The port that a browser was sent back to when someone logged in last: issuers that registered it know no other.
    pub(crate) async fn last_port(&self, upstream: &Slug, url: &Url) -> Option<u16> {
        let login = self.logins.read(upstream, url.as_str()).await.ok()??;
        Url::parse(&login.client.redirect_uri).ok()?.port()
    }

    /// Forgets a login; whether there was one.
    pub(crate) fn log_out(&self, upstream: &Slug) -> Result<bool, ToolError> {
        Ok(self.logins.remove(upstream)?)
    }
}

impl Authorizer for OAuth {
    fn authorize(
        &self,
        upstream: &Slug,
        url: &Url,
        settings: &OAuthSettings,
        egress: &Egress,
        plain: Arc<dyn Exchange>,
    ) -> Result<Arc<dyn Exchange>, ToolError> {
        Ok(Arc::new(
            self.session(upstream, url, settings, egress, plain),
        ))
    }
}
