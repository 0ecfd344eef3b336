//! The providers: how each is asked, and what its refusals mean. Requests are as the providers document them:
//!
//! - SearXNG, docs.searxng.org/dev/search_api.html: `GET /search?q=…&format=json`; a format that is not enabled is answered with 403.
//! - Brave, api-dashboard.search.brave.com/api-reference/web/search/get: `GET /res/v1/web/search?q=…&count=…` with
//!   `X-Subscription-Token`; a token that is none is answered with 422.
//! - Tavily, docs.tavily.com/documentation/api-reference/endpoint/search: `POST /search` with `Authorization: Bearer …`; 432 and 433 mean
//!   that a plan is used up.

use std::fmt;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use serde_json::json;
use url::Url;

use crate::egress::{Reach, Request, Target};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::json::read_bounded;
use crate::model::limits::MB;
use crate::model::secret::Secret;
use crate::secret::SecretName;

/// How much an answer may be.
const MAX_RECEIVED: u64 = 2 * MB;

/// The supported providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchProvider {
    /// A SearXNG server, one's own as a rule.
    SearXng,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
}

impl SearchProvider {
    /// Every provider.
    pub const ALL: [SearchProvider; 3] = [
        SearchProvider::SearXng,
        SearchProvider::Brave,
        SearchProvider::Tavily,
    ];

    /// The word in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            SearchProvider::SearXng => "searxng",
            SearchProvider::Brave => "brave",
            SearchProvider::Tavily => "tavily",
        }
    }

    /// Finds a provider by its word.
    pub fn from_word(word: &str) -> Option<Self> {
        let mut all = SearchProvider::ALL.into_iter();
        all.find(|provider| provider.as_str() == word)
    }

    /// As it calls itself.
    pub(super) fn name(self) -> &'static str {
        match self {
            SearchProvider::SearXng => "SearXNG",
            SearchProvider::Brave => "Brave Search",
            SearchProvider::Tavily => "Tavily",
        }
    }

    /// Where it is, if no one says otherwise.
    fn address(self) -> Option<&'static str> {
        match self {
            SearchProvider::SearXng => None,
            SearchProvider::Brave => Some("https://api.search.brave.com"),
            SearchProvider::Tavily => Some("https://api.tavily.com"),
        }
    }

    fn path(self) -> &'static str {
        match self {
            SearchProvider::SearXng | SearchProvider::Tavily => "search",
            SearchProvider::Brave => "res/v1/web/search",
        }
    }

    /// The secret with its key, if no one says otherwise.
    fn secret(self) -> Option<&'static str> {
        match self {
            SearchProvider::SearXng => None,
            SearchProvider::Brave => Some("BRAVE_API_KEY"),
            SearchProvider::Tavily => Some("TAVILY_API_KEY"),
        }
    }
}

/// The settings `search.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchSettings {
    /// The provider (`search.provider`).
    pub provider: SearchProvider,
    /// Where (`search.url`); the provider's own address if not said.
    pub url: Option<String>,
    /// The name of the secret with the key (`search.secret`); the provider's usual one if not said.
    pub secret: Option<String>,
}

/// A provider at an address.
#[derive(Debug, Clone)]
pub(super) struct Service {
    provider: SearchProvider,
    endpoint: Url,
    target: Target,
    secret: Option<SecretName>,
}

/// The query.
#[derive(Debug)]
pub(super) struct SearchQuery<'a> {
    pub(super) query: &'a str,
    pub(super) results: usize,
    pub(super) key: Option<Secret>,
}

/// For messages: the provider and its host.
impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.endpoint.host_str().unwrap_or_default();
        write!(f, "{} at `{host}`", self.provider.name())
    }
}

impl Service {
    /// Sets a provider up; the error says which setting to mend.
    pub(super) fn new(settings: &SearchSettings) -> Result<Self, String> {
        let provider = settings.provider;
        let base = settings.url.as_deref().or(provider.address());
        let base = base.ok_or_else(|| {
            "the setting `search.url` is missing: the address of your SearXNG server, as `http://localhost:8888`".to_owned()
        })?;
        let (mut endpoint, target) = Target::parse(base)
            .map_err(|error| format!("the setting `search.url` is not an address: {error}"))?;
        if endpoint.query().is_some() || endpoint.fragment().is_some() {
            return Err(
                "the setting `search.url` is an address without query and fragment".to_owned(),
            );
        }
        let path = format!(
            "{}/{}",
            endpoint.path().trim_end_matches('/'),
            provider.path()
        );
        endpoint.set_path(&path);
        let name = settings.secret.as_deref().or(provider.secret());
        let secret = name
            .map(SecretName::parse)
            .transpose()
            .map_err(|why| format!("the setting `search.secret` names no secret: {why}"))?;
        Ok(Service {
            provider,
            endpoint,
            target,
            secret,
        })
    }

    pub(super) fn provider(&self) -> SearchProvider {
        self.provider
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// Where requests go, without path.
    pub(super) fn origin(&self) -> String {
        self.endpoint.origin().ascii_serialization()
    }

    /// The secret with the key, for a provider that wants one.
    pub(super) fn secret(&self) -> Option<&SecretName> {
        self.secret.as_ref()
    }

    /// The request for a search.
    pub(super) fn request(&self, asked: &SearchQuery<'_>) -> Result<Request, ToolError> {
        let mut url = self.endpoint.clone();
        let mut body = None;
        match self.provider {
            // It has no number of results; a page has ten to twenty.
            SearchProvider::SearXng => {
                url.query_pairs_mut()
                    .append_pair("q", asked.query)
                    .append_pair("format", "json");
            }
            SearchProvider::Brave => {
                url.query_pairs_mut()
                    .append_pair("q", asked.query)
                    .append_pair("count", &asked.results.to_string())
                    .append_pair("text_decorations", "false");
            }
            SearchProvider::Tavily => {
                body = Some(json!({"query": asked.query, "max_results": asked.results}));
            }
        }
        let mut request = Request::get(url);
        request.reach = Reach::Configured(self.target.clone());
        request.max_redirects = 0;
        request.max_received = MAX_RECEIVED;
        let headers = &mut request.headers;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(body) = body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request.method = Method::POST;
            request.body = body.to_string().into();
        }
        if let Some(key) = &asked.key {
            let (name, value) = match self.provider {
                SearchProvider::Brave => (
                    HeaderName::from_static("x-subscription-token"),
                    key.expose().to_owned(),
                ),
                // A SearXNG server behind its own gate takes what gates take.
                SearchProvider::SearXng | SearchProvider::Tavily => {
                    (AUTHORIZATION, format!("Bearer {}", key.expose()))
                }
            };
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                let message = format!(
                    "the key for {self} holds a character that no header can carry; set it again"
                );
                ToolError::new(ErrorCode::ToolUnavailable, message)
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(request)
    }

    /// What to do about a refusal, where the provider has its own way to say it.
    pub(super) fn advice(&self, status: StatusCode, said: Option<&str>) -> Option<String> {
        let bad_key = || {
            let name = self.secret.as_ref().map_or("", SecretName::as_str);
            format!("it does not take the key; `toolcrib secret set {name}` asks for another")
        };
        match (self.provider, status.as_u16()) {
            (SearchProvider::SearXng, 403) => Some(
                "it does not answer in JSON: add `json` to `search.formats` in its settings.yml"
                    .to_owned(),
            ),
            (SearchProvider::SearXng, _) => None,
            (SearchProvider::Brave, 422) if said.is_some_and(|said| said.contains("token")) => {
                Some(bad_key())
            }
            (SearchProvider::Tavily, 432 | 433) => {
                Some("the plan of this key is used up".to_owned())
            }
            (_, 401 | 403) => Some(bad_key()),
            _ => None,
        }
    }

    /// What an answer that is not a success says.
    pub(super) fn said(&self, body: &[u8]) -> Option<String> {
        let answer = read_bounded(body).ok()?;
        let said = match self.provider {
            SearchProvider::SearXng => &answer["error"],
            SearchProvider::Brave => &answer["error"]["detail"],
            SearchProvider::Tavily => &answer["detail"]["error"],
        };
        said.as_str().map(str::to_owned)
    }
}
