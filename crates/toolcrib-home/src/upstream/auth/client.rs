//! Our identity at an authorization server: registration, and how a token is asked for.

use serde_json::{Value, json};

use super::super::settings::OAuthSettings;
use super::auth_client::{Answer, AuthClient};
use super::discovery::Issuer;
use super::error::AuthError;
use super::login::{Method, Registered};
use crate::egress::Target;
use crate::model::names::Slug;
use crate::model::secret::Secret;
use crate::model::text;
use crate::oauth::{self, Proof};
use crate::secret::SecretStore;

/// The longest token, and the longest time that one is believed to last.
const MAX_TOKEN: usize = 64 * 1024;
const MAX_SECONDS: i64 = 10 * 365 * 24 * 3600;

/// What was given.
pub(super) struct Tokens {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    pub(super) expires_at: Option<i64>,
}

/// Why nothing was given.
pub(super) enum NotGiven {
    /// The proof of identity is not valid (any more).
    Refused(String),
    Failed(AuthError),
}

/// The client, with the proof of its identity.
pub(super) struct Asker<'a> {
    pub(super) reach: &'a AuthClient,
    pub(super) upstream: &'a Slug,
    pub(super) settings: &'a OAuthSettings,
    pub(super) secrets: &'a SecretStore,
}

impl Asker<'_> {
    /// Our identity at an issuer: as configured, by the address of a document, or newly registered. The previous identity is kept where it fits.
    pub(super) async fn register(
        &self,
        issuer: &Issuer,
        redirect_uri: &str,
        before: Option<&Registered>,
    ) -> Result<Registered, AuthError> {
        if let Some(client_id) = &self.settings.client_id {
            let has_secret = self.settings.client_secret.is_some();
            return Ok(Registered {
                client_id: client_id.clone(),
                client_secret: None,
                is_configured: true,
                method: method(issuer, None, has_secret),
                redirect_uri: redirect_uri.to_owned(),
            });
        }
        if let (true, Some(url)) = (issuer.takes_documents, &self.settings.client_metadata_url) {
            return Ok(Registered {
                client_id: url.clone(),
                redirect_uri: redirect_uri.to_owned(),
                ..Registered::default()
            });
        }
        let fits = |known: &&Registered| !known.is_configured && known.redirect_uri == redirect_uri;
        if let Some(known) = before.filter(fits) {
            return Ok(known.clone());
        }
        let Some(endpoint) = &issuer.registration else {
            let message = format!(
                "`{}` does not register clients automatically: register a client there by hand, with the redirect URI `{redirect_uri}`, and set `oauth.clientId` (and `oauth.redirectPort`) of `{}` in config.toml",
                text::shorten(&text::visible(&issuer.name), 200),
                self.upstream
            );
            return Err(AuthError::Failed(message));
        };
        let wish = match &issuer.methods {
            Some(methods) => ["none", "client_secret_basic", "client_secret_post"]
                .into_iter()
                .find(|wish| methods.iter().any(|method| method == wish))
                .unwrap_or("none"),
            None => "none",
        };
        let body = json!({
            "client_name": "Toolcrib",
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": wish,
            "application_type": "native",
        });
        let answer = self.reach.post_json(endpoint, &body).await?;
        let failed = |what: &str| {
            AuthError::Failed(format!(
                "`{}` did not register us: {what}",
                text::shorten(&text::visible(&issuer.name), 200)
            ))
        };
        let document = answer.object().unwrap_or_default();
        if !answer.status.is_success() {
            return Err(failed(&said(&answer, &document, &[])));
        }
        let text = |key: &str| {
            let text = document[key].as_str().filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        let client_secret = text("client_secret");
        let method = method(
            issuer,
            document["token_endpoint_auth_method"].as_str(),
            client_secret.is_some(),
        );
        Ok(Registered {
            client_id: text("client_id").ok_or_else(|| failed("it gave no `client_id`"))?,
            client_secret,
            is_configured: false,
            method,
            redirect_uri: redirect_uri.to_owned(),
        })
    }

    /// Asks for a token.
    pub(super) async fn ask(
        &self,
        endpoint: &str,
        client: &Registered,
        fields: &[(&str, &str)],
    ) -> Result<Tokens, NotGiven> {
        let secret = self.secret(endpoint, client).map_err(NotGiven::Failed)?;
        let id = client.client_id.as_str();
        let proof = match (client.method, &secret) {
            (Method::Basic, Some(secret)) => Proof::Basic(secret),
            (Method::Post, Some(secret)) => Proof::Post(secret),
            _ => Proof::Nothing,
        };
        let sent = self.reach.send(endpoint, |request| {
            oauth::ask(request, id, proof, fields);
        });
        let sent = sent.await;
        let answer = sent.map_err(NotGiven::Failed)?;
        let document = answer.object().unwrap_or_default();
        if answer.status.is_success() {
            return tokens(&document).map_err(NotGiven::Failed);
        }
        let mut hidden: Vec<&str> = fields.iter().map(|(_, value)| *value).collect();
        match proof {
            Proof::Nothing => hidden.push(id),
            Proof::Post(secret) => hidden.extend([id, secret.expose()]),
            Proof::Basic(secret) => hidden.push(secret.expose()),
        }
        let why = said(&answer, &document, &hidden);
        let refused = matches!(
            document["error"].as_str(),
            Some("invalid_grant" | "invalid_client" | "unauthorized_client" | "invalid_scope")
        );
        match refused {
            true => Err(NotGiven::Refused(why)),
            false => Err(NotGiven::Failed(AuthError::Failed(format!(
                "no token was given: {why}"
            )))),
        }
    }

    /// The client's secret, if it has one.
    fn secret(&self, endpoint: &str, client: &Registered) -> Result<Option<Secret>, AuthError> {
        let secret = match (&self.settings.client_secret, client.is_configured) {
            (Some(given), true) => {
                let (_, target): (_, Target) = self.reach.check(endpoint)?;
                let revealed =
                    given.resolve(|name| self.secrets.reveal(name, self.upstream, &target));
                Some(revealed.map_err(|error| AuthError::Failed(error.to_string()))?)
            }
            _ => client.client_secret.clone().map(Secret::new),
        };
        if let Some(secret) = &secret {
            self.secrets.also_mask(secret);
        }
        Ok(secret)
    }
}

/// How to show who we are: as the issuer registered us, else the safest way that it takes.
fn method(issuer: &Issuer, registered: Option<&str>, has_secret: bool) -> Method {
    if !has_secret {
        return Method::None;
    }
    match registered {
        Some("client_secret_basic") => return Method::Basic,
        Some("client_secret_post") => return Method::Post,
        Some("none") => return Method::None,
        _ => {}
    }
    let Some(methods) = &issuer.methods else {
        return Method::Basic;
    };
    let takes = |word: &str| methods.iter().any(|method| method == word);
    if takes("client_secret_basic") {
        Method::Basic
    } else if takes("client_secret_post") {
        Method::Post
    } else {
        Method::None
    }
}

fn tokens(document: &Value) -> Result<Tokens, AuthError> {
    let failed =
        |why: &str| AuthError::Failed(format!("the token that was given cannot be used: {why}"));
    let text = |key: &str| document[key].as_str().filter(|text| !text.is_empty());
    let access = text("access_token").ok_or_else(|| failed("there is none"))?;
    let fits = |byte: u8| (0x21..=0x7e).contains(&byte);
    if access.len() > MAX_TOKEN || !access.bytes().all(fits) {
        return Err(failed("it cannot be sent"));
    }
    let kind = text("token_type").unwrap_or("Bearer");
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err(failed("it is of another kind than `Bearer`"));
    }
    // Some servers write the number as a text.
    let seconds = document["expires_in"]
        .as_f64()
        .or_else(|| document["expires_in"].as_str()?.parse().ok());
    let now = jiff::Timestamp::now().as_second();
    Ok(Tokens {
        access: access.to_owned(),
        refresh: text("refresh_token")
            .filter(|token| token.len() <= MAX_TOKEN)
            .map(str::to_owned),
        expires_at: seconds.map(|seconds| now + (seconds as i64).clamp(0, MAX_SECONDS)),
    })
}

/// What an answer says is wrong, without anything that was sent.
fn said(answer: &Answer, document: &Value, hidden: &[&str]) -> String {
    let mut words = format!("it answered {}", answer.status.as_u16());
    for key in ["error", "error_description"] {
        if let Some(text) = document[key].as_str() {
            words.push_str(", ");
            words.push_str(&text::shorten(&text::visible(text), 300));
        }
    }
    for secret in hidden.iter().filter(|secret| secret.len() >= 8) {
        words = words.replace(secret, "[redacted]");
    }
    words
}
