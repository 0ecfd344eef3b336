//! The request to a token server: an `auth` of type `oauth2` with its templates filled in.

use sha2::{Digest as _, Sha256};
use url::Url;

use super::AuthContext;
use crate::egress::{Reach, Request, Target};
use crate::manifest::{Auth, OauthGrant, Part, Placeholder, Template};
use crate::model::error::ToolError;
use crate::model::secret::Secret;
use crate::oauth::{self, Proof};
use crate::secret::{Asker, SecretName, SecretStore};

/// How long a token server may take, if no call that waits for it is in more of a hurry.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);

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
    /// The secrets that the file names, for hints to set one again.
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
    pub(super) place: Option<StoredToken>,
}

/// A secret that can be replaced.
#[derive(Debug, Clone)]
pub(super) struct StoredToken {
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
        // The client's credentials are sent to the token server, and nowhere else.
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
                    .map(|(name, store)| StoredToken {
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
    /// same; the token store checks it separately.
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

    /// The request for a token (RFC 6749, 4.4.2 and 6), with this refresh token if it is one of that kind.
    pub(super) fn request(&self, refresh_token: Option<&Secret>) -> Request {
        let mut fields = match refresh_token {
            None => vec![("grant_type", "client_credentials")],
            Some(token) => vec![
                ("grant_type", "refresh_token"),
                ("refresh_token", token.expose()),
            ],
        };
        fields.extend(self.scope.as_deref().map(|scope| ("scope", scope)));
        let mut request = Request::get(self.token_url.clone());
        request.reach = Reach::Listed;
        request.timeout = TIMEOUT;
        let proof = self
            .client_secret
            .as_ref()
            .map_or(Proof::Nothing, Proof::Basic);
        let sent = oauth::ask(&mut request, self.client_id.expose(), proof, &fields);
        if let Some((store, sent)) = self.store.as_ref().zip(sent) {
            store.also_mask(&sent);
        }
        request
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
