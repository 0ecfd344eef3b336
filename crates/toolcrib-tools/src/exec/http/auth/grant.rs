//! What is asked of a token server: an `auth` of type `oauth2` with its templates filled in.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method};
use sha2::{Digest as _, Sha256};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::{AuthContext, header};
use crate::egress::{Reach, Request, Target};
use crate::manifest::{Auth, OauthGrant, Part, Placeholder, Template};
use crate::model::error::ToolError;
use crate::model::secret::Secret;
use crate::secret::{Asker, SecretName, SecretStore};

/// How long a token server may take, if no call that waits for it is in more of a hurry.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);
/// How much it may say.
const MAX_ANSWER: u64 = 256 * 1024;

/// Which token is meant, without what it is got with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct GrantKey([u8; 32]);

/// One way to a token.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) key: GrantKey,
    pub(super) token_url: Url,
    client_id: Secret,
    /// None for public clients.
    client_secret: Option<Secret>,
    scope: Option<String>,
    pub(super) refresh: Option<Refresh>,
    /// The secrets that the file names, for whoever has to set one anew.
    pub(super) secrets: Vec<SecretName>,
    /// What masks; none in a registry without a home.
    pub(super) store: Option<SecretStore>,
}

/// A refresh token, and where the next one is kept.
#[derive(Debug)]
pub(super) struct Refresh {
    /// As the file has it.
    pub(super) token: Secret,
    /// The secret that it is, if it is one and nothing else.
    pub(super) place: Option<Place>,
}

/// A secret that can be replaced.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) store: SecretStore,
    pub(super) name: SecretName,
    pub(super) asker: Asker,
    pub(super) target: Target,
}

impl Grant {
    /// The grant of an `auth`; none if it is of another type.
    pub(super) fn of(auth: &Auth, cx: &AuthContext<'_>) -> Result<Option<Self>, ToolError> {
        let Auth::Oauth2 {
            grant,
            token_url,
            token_target,
            client_id,
            client_secret,
            scope,
        } = auth
        else {
            return Ok(None);
        };
        // The client's credentials are told the token server, and nobody else.
        let values = cx.values;
        let reveal = |template: &Template| {
            let secret = values.credential(template, token_target)?;
            if template.as_literal().is_some() {
                cx.also_mask(&secret);
            }
            Ok::<_, ToolError>(secret)
        };
        let id = values.credential(client_id, token_target)?;
        let secret = client_secret.as_ref().map(reveal).transpose()?;
        let refresh = match grant {
            OauthGrant::ClientCredentials => None,
            OauthGrant::Refresh(template) => Some(Refresh {
                token: reveal(template)?,
                place: only_secret(template)
                    .zip(values.secrets)
                    .map(|(name, store)| Place {
                        store: store.clone(),
                        name: name.clone(),
                        asker: values.asker.clone(),
                        target: token_target.clone(),
                    }),
            }),
        };
        let mut grant = Grant {
            key: GrantKey([0; 32]),
            token_url: token_url.clone(),
            client_id: id,
            client_secret: secret,
            scope: scope.clone(),
            refresh,
            secrets: secrets(auth),
            store: values.secrets.cloned(),
        };
        grant.key = grant.key(&values.definition.digest, values.asker);
        Ok(Some(grant))
    }

    /// A key of everything that makes a token another one. Not the refresh token, which changes while the token is meant to be the
    /// same; whoever keeps tokens looks at it besides.
    fn key(&self, digest: &str, asker: &Asker) -> GrantKey {
        let mut hash = Sha256::new();
        let kind = if self.refresh.is_some() { "r" } else { "c" };
        let id = asker.id.map(|id| id.to_string()).unwrap_or_default();
        for part in [
            digest,
            asker.bundle.as_str(),
            &id,
            self.token_url.as_str(),
            kind,
            self.client_id.expose(),
            self.client_secret.as_ref().map_or("", Secret::expose),
            self.scope.as_deref().unwrap_or_default(),
        ] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        GrantKey(hash.finalize().into())
    }

    /// The request for a token (RFC 6749, 4.4.2 and 6), with this refresh token if it is one of that kind. Redirections are not
    /// followed: nobody but the server that the file names is told a client's secret.
    pub(super) fn request(&self, refresh_token: Option<&Secret>) -> Result<Request, ToolError> {
        let mut form = Serializer::new(String::new());
        match refresh_token {
            None => form.append_pair("grant_type", "client_credentials"),
            Some(token) => form
                .append_pair("grant_type", "refresh_token")
                .append_pair("refresh_token", token.expose()),
        };
        if let Some(scope) = &self.scope {
            form.append_pair("scope", scope);
        }
        if self.client_secret.is_none() {
            form.append_pair("client_id", self.client_id.expose());
        }
        let mut request = Request::get(self.token_url.clone());
        request.method = Method::POST;
        request.body = Bytes::from(form.finish());
        request.reach = Reach::Listed;
        request.timeout = TIMEOUT;
        request.max_received = MAX_ANSWER;
        request.max_redirects = 0;
        let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers.insert(CONTENT_TYPE, form_type);
        let json = HeaderValue::from_static("application/json");
        request.headers.insert(ACCEPT, json);
        if let Some(secret) = &self.client_secret {
            let value = self.client_header(secret)?;
            request.headers.insert(AUTHORIZATION, value);
        }
        Ok(request)
    }

    /// Basic, with both texts encoded as in a form first (RFC 6749, 2.3.1).
    fn client_header(&self, secret: &Secret) -> Result<HeaderValue, ToolError> {
        let encoded = |secret: &Secret| -> Secret {
            Secret::new(byte_serialize(secret.expose().as_bytes()).collect::<String>())
        };
        let (id, secret) = (encoded(&self.client_id), encoded(secret));
        let pair = Secret::new(format!("{}:{}", id.expose(), secret.expose()));
        let pair = Secret::new(STANDARD.encode(pair.expose()));
        if let Some(store) = &self.store {
            // What the server may repeat, in a form that the masker does not guess.
            store.also_mask(&pair);
        }
        let value = Secret::new(format!("Basic {}", pair.expose()));
        header::sensitive(&value, "`auth.clientSecret`")
    }

    /// The token server, as it may be shown.
    pub(super) fn server(&self) -> String {
        self.token_url.origin().ascii_serialization()
    }
}

#[cfg(test)]
impl GrantKey {
    pub(super) fn numbered(number: u32) -> Self {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&number.to_le_bytes());
        GrantKey(key)
    }
}

#[cfg(test)]
impl Grant {
    /// A grant without a tool: of a refresh token, or of client credentials.
    pub(super) fn bare(refresh_token: Option<&str>) -> Self {
        Grant {
            key: GrantKey([0; 32]),
            token_url: Url::parse("https://auth.example/token").unwrap(),
            client_id: Secret::new("app"),
            client_secret: None,
            scope: None,
            refresh: refresh_token.map(|token| Refresh {
                token: Secret::new(token),
                place: None,
            }),
            secrets: Vec::new(),
            store: None,
        }
    }
}

/// The secret that a template is, if it is one and nothing else.
fn only_secret(template: &Template) -> Option<&SecretName> {
    match template.parts.as_slice() {
        [Part::Value(Placeholder::Secret(name))] => Some(name),
        _ => None,
    }
}

fn secrets(auth: &Auth) -> Vec<SecretName> {
    let texts = auth.texts();
    let placeholders = texts.iter().flat_map(|text| text.placeholders());
    placeholders
        .filter_map(|placeholder| match placeholder {
            Placeholder::Secret(name) => Some(name.clone()),
            Placeholder::Argument(_) | Placeholder::BuiltIn(_) | Placeholder::Previous => None,
        })
        .collect()
}
