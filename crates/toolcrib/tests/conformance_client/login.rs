//! Logging in at the suite's servers: the library's own login, with a browser that agrees to everything.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use toolcrib::egress::{Egress, Reach, Request, Target};
use toolcrib::secret::{Binding, SecretName, SecretStore};
use toolcrib::upstream::{Authorizer as _, Consent, OAuth, UpstreamSettings};
use toolcrib::{Secret, Slug};
use toolcrib_mcp::client::Exchange;
use url::Url;

use super::Problem;
use super::way::Way;

/// The document that the suite takes as a client's id.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// The way to a server that wants a login.
pub(crate) fn exchange(scenario: &str, url: &str, way: Way) -> Result<Arc<dyn Exchange>, Problem> {
    let home = tempfile::tempdir()?.keep();
    let secrets = SecretStore::at(home.join("secrets"));
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let mut oauth = json!({ "clientMetadataUrl": DOCUMENT });
    if let Some(id) = context["client_id"].as_str() {
        oauth["clientId"] = id.into();
    }
    if let Some(secret) = context["client_secret"].as_str() {
        keep(&secrets, secret)?;
        oauth["clientSecret"] = "secret:CLIENT".into();
    }
    if let Some(issuer) = context["issuer"].as_str() {
        oauth["issuer"] = issuer.into();
    }
    if scenario.starts_with("auth/client-credentials") && context["client_secret"].is_string() {
        oauth["grant"] = "client_credentials".into();
    }
    let settings = json!({ "url": url, "auth": "oauth", "oauth": oauth });
    let settings = settings.as_object().ok_or("no settings")?;
    let settings = UpstreamSettings::read(settings).map_err(|problem| problem.to_string())?;
    let egress = way.egress();
    let browser = Browser {
        egress: egress.clone(),
    };
    let oauth = OAuth::new(&home, secrets).with_consent(Arc::new(browser));
    let name = Slug::parse("conformance")?;
    let url = Url::parse(url)?;
    Ok(oauth.authorize(&name, &url, &settings.oauth, &egress, Arc::new(way))?)
}

/// Keeps the secret of a client where the settings' `secret:CLIENT` finds it.
fn keep(secrets: &SecretStore, secret: &str) -> Result<(), Problem> {
    let binding = Binding::new([], [])?;
    secrets.set(
        &SecretName::parse("CLIENT")?,
        &Secret::new(secret),
        &binding,
    )?;
    Ok(())
}

/// A browser in which someone agrees.
struct Browser {
    egress: Egress,
}

impl Consent for Browser {
    fn redirect_uri(&self) -> String {
        "http://localhost:3000/callback".to_owned()
    }

    fn ask(&self, url: Url, _state: String) -> BoxFuture<'_, Result<Url, String>> {
        Box::pin(async move {
            let (url, target) = Target::parse(url.as_str()).map_err(|error| error.to_string())?;
            let mut request = Request::get(url);
            request.reach = Reach::Configured(target);
            request.max_redirects = 0;
            let answer = self.egress.send(request).await;
            let answer = answer.map_err(|error| error.to_string())?;
            let to = answer.headers.get(http::header::LOCATION);
            let to = to.and_then(|to| to.to_str().ok());
            let to = to.ok_or("the page sends no one back")?;
            Url::parse(to).map_err(|error| error.to_string())
        })
    }
}
