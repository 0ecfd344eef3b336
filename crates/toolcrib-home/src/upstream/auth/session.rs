//! The exchange with a server that wants a login: [`Session`].
//!
//! A token goes with every request. When the server takes it no more, it is renewed; when that is not possible, or it permits too little,
//! someone has to log in, who is asked only where there is someone ([`Consent`]): never in a call.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};
use toolcrib_mcp::client::{Exchange, ExchangeError, ExchangeResponse};
use url::Url;

use super::super::settings::{Grant, OAuthSettings};
use super::Consent;
use super::auth_client::AuthClient;
use super::challenge::Challenge;
use super::client::{Asker, NotGiven, Tokens};
use super::discovery::{LogInWays, discover};
use super::error::AuthError;
use super::login::{Changing, Login, LoginStore, Registered};
use crate::egress::Egress;
use crate::model::names::Slug;
use crate::model::secret::Secret;
use crate::model::text;
use crate::secret::SecretStore;

/// How often one request is made again with another token.
const MAX_ROUNDS: usize = 2;
/// A token that ends within this many seconds has ended.
const LEEWAY: i64 = 20;
/// The most scopes that are asked for.
const MAX_SCOPES: usize = 200;

/// What a login is made with.
pub(super) struct Session {
    pub(super) upstream: Slug,
    /// The address as it is configured.
    pub(super) server: Url,
    pub(super) settings: OAuthSettings,
    pub(super) egress: Egress,
    pub(super) secrets: SecretStore,
    pub(super) logins: LoginStore,
    pub(super) consent: Option<Arc<dyn Consent>>,
    pub(super) plain: Arc<dyn Exchange>,
    /// Held while a token is renewed: the file's lock is for other processes.
    pub(super) renewing: tokio::sync::Mutex<()>,
}

/// Why a token is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// The server let no one in.
    Login,
    /// The token permits too little.
    More,
    /// Someone said so.
    Asked,
}

impl Session {
    async fn exchange(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<ExchangeResponse, ExchangeError> {
        let mut token = self.current().await?;
        for round in 0.. {
            let mut sent = request.clone();
            if let Some(token) = &token {
                self.secrets.also_mask(&Secret::new(token.as_str()));
                let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| {
                    ExchangeError::Unauthorized(
                        self.login_needed("the token that is kept cannot be sent")
                            .to_string(),
                    )
                })?;
                value.set_sensitive(true);
                sent.headers_mut().insert(AUTHORIZATION, value);
            }
            let response = self.plain.send(sent).await?;
            let challenge = Challenge::of(&response.headers);
            let need = match response.status {
                StatusCode::UNAUTHORIZED => Need::Login,
                StatusCode::FORBIDDEN if challenge.is_insufficient_scope() => Need::More,
                _ => return Ok(response),
            };
            if round == MAX_ROUNDS {
                let why = format!(
                    "the server answers {} to whatever it is shown",
                    response.status
                );
                return Err(self.login_needed(&why).into());
            }
            drop(response);
            token = Some(self.renew(token.as_deref(), &challenge, need).await?);
        }
        Err(self.login_needed("there is no token").into())
    }

    fn key(&self) -> &str {
        self.server.as_str()
    }

    /// Says that a person has to log in.
    fn login_needed(&self, why: &str) -> AuthError {
        AuthError::LoginNeeded(format!(
            "{why}; `toolcrib upstream login {}` logs in",
            self.upstream
        ))
    }

    /// The token as it is kept, renewed if its time is over.
    async fn current(&self) -> Result<Option<String>, AuthError> {
        let login = self.logins.read(&self.upstream, self.key()).await?;
        let Some(login) = login.filter(|login| login.access_token.is_some()) else {
            return Ok(None);
        };
        if !is_over(&login) || login.refresh_token.is_none() {
            return Ok(login.access_token);
        }
        let _held = self.renewing.lock().await;
        let changing = self.logins.change(&self.upstream).await?;
        let Some(login) = changing.read(self.key())? else {
            return Ok(None);
        };
        if !is_over(&login) {
            return Ok(login.access_token);
        }
        let reach = AuthClient::new(&self.egress, &self.server)?;
        match self.refresh(&reach, &changing, &login).await? {
            Ok(token) => Ok(Some(token)),
            // The server will say what it wants instead.
            Err(_) => Ok(None),
        }
    }

    /// Gets another token than this one.
    async fn renew(
        &self,
        used: Option<&str>,
        challenge: &Challenge,
        need: Need,
    ) -> Result<String, AuthError> {
        let _held = self.renewing.lock().await;
        let changing = self.logins.change(&self.upstream).await?;
        let kept = changing.read(self.key())?;
        // Someone else was faster.
        if let Some(token) = kept
            .as_ref()
            .and_then(|login| login.access_token.as_deref())
            && need != Need::Asked
            && used != Some(token)
        {
            return Ok(token.to_owned());
        }
        if need == Need::More
            && let Some(login) = &kept
            && challenge
                .scopes
                .iter()
                .all(|scope| login.asked.contains(scope))
        {
            let message = format!(
                "the server wants a token that permits `{}`, and the one it gets was asked for with that",
                text::shorten(&challenge.scopes.join(" "), 200)
            );
            return Err(AuthError::Failed(message));
        }
        if need != Need::Asked
            && self.consent.is_none()
            && self.settings.grant == Grant::Code
            && kept.is_none()
        {
            // No one is asked anything for a login that only a person can make.
            return Err(self.login_needed("it wants a login, and there is none"));
        }
        let reach = AuthClient::new(&self.egress, &self.server)?;
        let before = kept.as_ref().map(|login| login.issuer.as_str());
        let found = discover(&reach, &self.server, challenge, before).await?;
        if let Some(issuer) = &self.settings.issuer
            && *issuer != found.issuer.name
        {
            return Err(AuthError::Failed(format!(
                "the server names `{}` as who lets people in, and the setting `oauth.issuer` another",
                text::shorten(&text::visible(&found.issuer.name), 200)
            )));
        }
        // What another issuer gave is nothing to this one.
        let kept = kept
            .filter(|login| login.issuer == found.issuer.name && login.resource == found.resource);
        let mut why = match need {
            Need::More => "it wants a token that permits more".to_owned(),
            _ => "it wants a login".to_owned(),
        };
        if need == Need::Login
            && let Some(login) = kept.as_ref().filter(|login| login.refresh_token.is_some())
        {
            match self.refresh(&reach, &changing, login).await? {
                Ok(token) => return Ok(token),
                Err(refused) => why = format!("the login is over ({refused})"),
            }
        }
        self.log_in(&reach, changing, kept, &found, challenge, &why)
            .await
    }

    /// Renews a token with the refresh token, under the lock; the inner error says that it is good for nothing any more.
    async fn refresh(
        &self,
        reach: &AuthClient,
        changing: &Changing,
        login: &Login,
    ) -> Result<Result<String, String>, AuthError> {
        let Some(refresh) = &login.refresh_token else {
            return Ok(Err("there is nothing to renew it with".to_owned()));
        };
        self.secrets.also_mask(&Secret::new(refresh.as_str()));
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.as_str()),
            ("resource", login.resource.as_str()),
        ];
        let asked = self
            .asker(reach)
            .ask(&login.token_endpoint, &login.client, &fields)
            .await;
        let mut login = login.clone();
        match asked {
            Ok(tokens) => {
                // One that is not replaced stays good.
                let refresh = tokens.refresh.clone().or(login.refresh_token.take());
                Ok(Ok(self.keep(
                    changing,
                    login,
                    Tokens { refresh, ..tokens },
                )?))
            }
            Err(NotGiven::Refused(why)) => {
                login.access_token = None;
                login.refresh_token = None;
                changing.write(&login)?;
                Ok(Err(why))
            }
            Err(NotGiven::Failed(error)) => Err(error),
        }
    }

    fn asker<'a>(&'a self, reach: &'a AuthClient) -> Asker<'a> {
        Asker {
            reach,
            upstream: &self.upstream,
            settings: &self.settings,
            secrets: &self.secrets,
        }
    }

    fn keep(
        &self,
        changing: &Changing,
        mut login: Login,
        tokens: Tokens,
    ) -> Result<String, AuthError> {
        for token in [Some(&tokens.access), tokens.refresh.as_ref()]
            .into_iter()
            .flatten()
        {
            self.secrets.also_mask(&Secret::new(token.as_str()));
        }
        login.access_token = Some(tokens.access.clone());
        login.refresh_token = tokens.refresh;
        login.expires_at = tokens.expires_at;
        changing.write(&login)?;
        Ok(tokens.access)
    }

    /// Logs in again.
    async fn log_in(
        &self,
        reach: &AuthClient,
        changing: Changing,
        kept: Option<Login>,
        found: &LogInWays,
        challenge: &Challenge,
        why: &str,
    ) -> Result<String, AuthError> {
        let scopes = self.scopes(kept.as_ref(), found, challenge);
        let mut login = Login {
            server: self.key().to_owned(),
            resource: found.resource.clone(),
            issuer: found.issuer.name.clone(),
            token_endpoint: found.issuer.token.clone(),
            asked: scopes,
            ..Login::default()
        };
        let scope = login.asked.join(" ");
        if self.settings.grant == Grant::ClientCredentials {
            login.client = self.asker(reach).register(&found.issuer, "", None).await?;
            let mut fields = vec![
                ("grant_type", "client_credentials"),
                ("resource", found.resource.as_str()),
            ];
            if !scope.is_empty() {
                fields.push(("scope", &scope));
            }
            let asked = self
                .asker(reach)
                .ask(&login.token_endpoint, &login.client, &fields)
                .await;
            return match asked {
                Ok(tokens) => self.keep(&changing, login, tokens),
                Err(NotGiven::Refused(why)) => {
                    Err(AuthError::Failed(format!("no token was given: {why}")))
                }
                Err(NotGiven::Failed(error)) => Err(error),
            };
        }
        let Some(consent) = &self.consent else {
            // The next login asks for what was wanted here.
            // As it is by now: a token that was refused just before is gone from it.
            let now = changing.read(self.key())?;
            if let Some(mut now) = now.filter(|now| now.issuer == found.issuer.name) {
                let new = challenge.scopes.iter();
                let new = new.filter(|scope| !now.wanted.contains(scope)).cloned();
                let new: Vec<String> = new.take(MAX_SCOPES).collect();
                if !new.is_empty() {
                    now.wanted.extend(new);
                    changing.write(&now)?;
                }
            }
            return Err(self.login_needed(why));
        };
        // A person takes their time, and no one else is to wait for it.
        drop(changing);
        let redirect = consent.redirect_uri();
        let before: Option<&Registered> = kept.as_ref().map(|login| &login.client);
        login.client = self
            .asker(reach)
            .register(&found.issuer, &redirect, before)
            .await?;
        let verifier = unguessable();
        let state = unguessable();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let (mut url, _) = reach.check(&found.issuer.authorization)?;
        url.set_fragment(None);
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &login.client.client_id)
                .append_pair("redirect_uri", &redirect)
                .append_pair("state", &state)
                .append_pair("code_challenge", &challenge)
                .append_pair("code_challenge_method", "S256")
                .append_pair("resource", &found.resource);
            if !scope.is_empty() {
                query.append_pair("scope", &scope);
            }
            if login.asked.iter().any(|scope| scope == "offline_access") {
                query.append_pair("prompt", "consent");
            }
        }
        let answer = consent
            .ask(url, state.clone())
            .await
            .map_err(AuthError::Failed)?;
        let code = read_answer(&answer, &state, found)?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", redirect.as_str()),
            ("code_verifier", verifier.as_str()),
            ("resource", found.resource.as_str()),
        ];
        match self
            .asker(reach)
            .ask(&login.token_endpoint, &login.client, &fields)
            .await
        {
            Ok(tokens) => {
                let changing = self.logins.change(&self.upstream).await?;
                self.keep(&changing, login, tokens)
            }
            Err(NotGiven::Refused(why)) => {
                Err(AuthError::Failed(format!("no token was given: {why}")))
            }
            Err(NotGiven::Failed(error)) => Err(error),
        }
    }

    /// What to ask for: what is configured, else what the server wants, else what it has; with what was asked for before.
    fn scopes(
        &self,
        kept: Option<&Login>,
        found: &LogInWays,
        challenge: &Challenge,
    ) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let mut add = |scopes: &[String]| {
            for scope in scopes {
                if !all.contains(scope) && all.len() < MAX_SCOPES {
                    all.push(scope.clone());
                }
            }
        };
        if let Some(login) = kept {
            add(&login.asked);
            add(&login.wanted);
        }
        if !self.settings.scopes.is_empty() {
            add(&self.settings.scopes);
            add(&challenge.scopes);
        } else if !challenge.scopes.is_empty() {
            add(&challenge.scopes);
        } else if kept.is_none_or(|login| login.asked.is_empty()) {
            add(&found.scopes);
        }
        // Without any the issuer chooses, and this one alone would choose against all others.
        let offline = "offline_access".to_owned();
        if !all.is_empty()
            && self.settings.grant == Grant::Code
            && found.issuer.scopes.contains(&offline)
            && !all.contains(&offline)
        {
            all.push(offline);
        }
        all
    }

    /// Logs in because someone wants to, whatever is kept.
    pub(super) async fn log_in_now(&self) -> Result<String, AuthError> {
        let challenge = self.ask_what_is_wanted().await?;
        self.renew(None, &challenge, Need::Asked).await?;
        let login = self.logins.read(&self.upstream, self.key()).await?;
        Ok(login.map(|login| login.issuer).unwrap_or_default())
    }

    /// Asks the server without a token, to hear whom it wants.
    async fn ask_what_is_wanted(&self) -> Result<Challenge, AuthError> {
        let body = serde_json::json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/list",
            "params": {"_meta": {}}
        });
        let request = http::Request::post(self.key())
            .header(http::header::CONTENT_TYPE, "application/json")
            .header(http::header::ACCEPT, "application/json, text/event-stream")
            .body(Bytes::from(body.to_string()))
            .map_err(|error| AuthError::Failed(error.to_string()))?;
        match self.plain.send(request).await {
            Ok(answer) => Ok(Challenge::of(&answer.headers)),
            Err(error) => Err(AuthError::Failed(error.to_string())),
        }
    }
}

impl Exchange for Session {
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'_, Result<ExchangeResponse, ExchangeError>> {
        Box::pin(self.exchange(request))
    }
}

fn is_over(login: &Login) -> bool {
    let now = jiff::Timestamp::now().as_second();
    login.expires_at.is_some_and(|end| end <= now + LEEWAY)
}

/// A text that no one can guess, of 43 letters.
fn unguessable() -> String {
    let mut hash = Sha256::new();
    hash.update(uuid::Uuid::new_v4().as_bytes());
    hash.update(uuid::Uuid::new_v4().as_bytes());
    URL_SAFE_NO_PAD.encode(hash.finalize())
}

/// The code in what a browser brought back; whose answer it is, and to what, is checked before anything else is believed.
fn read_answer(answer: &Url, state: &str, found: &LogInWays) -> Result<Secret, AuthError> {
    let get = |key: &str| -> Result<Option<String>, AuthError> {
        let mut values = answer.query_pairs().filter(|(name, _)| name == key);
        let value = values.next().map(|(_, value)| value.into_owned());
        match values.next() {
            None => Ok(value),
            Some(_) => Err(AuthError::Failed(format!(
                "the answer to the login has `{key}` twice"
            ))),
        }
    };
    if get("state")?.as_deref() != Some(state) {
        return Err(AuthError::Failed(
            "the answer is not to the login that was begun here (`state`): nothing of it was used"
                .to_owned(),
        ));
    }
    match get("iss")? {
        Some(issuer) if issuer != found.issuer.name => {
            return Err(AuthError::Failed(format!(
                "the answer comes from `{}`, and not from `{}`, where the login was begun: nothing of it was used",
                text::shorten(&text::visible(&issuer), 200),
                text::shorten(&text::visible(&found.issuer.name), 200)
            )));
        }
        None if found.issuer.names_itself => {
            return Err(AuthError::Failed(
                "the answer does not say whom it comes from (`iss`), which it has to: nothing of it was used".to_owned(),
            ));
        }
        _ => {}
    }
    if let Some(error) = get("error")? {
        let more = get("error_description")?
            .map(|more| format!(", {more}"))
            .unwrap_or_default();
        return Err(AuthError::Failed(format!(
            "the login was refused: {}",
            text::shorten(&text::visible(&format!("{error}{more}")), 300)
        )));
    }
    match get("code")?.filter(|code| !code.is_empty()) {
        Some(code) => Ok(Secret::new(code)),
        None => Err(AuthError::Failed(
            "the answer to the login has no code".to_owned(),
        )),
    }
}
