//! Where a model is, and what a request to it looks like: [`Endpoint`].

use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::{Value, json};
use url::Url;

use super::ChatOptions;
use crate::egress::Target;
use crate::model::secret::Secret;
use crate::wire::{Definitions, ReplyFormat};

/// The longest reply that Anthropic is asked for if nothing is set: it insists on a number.
const MAX_TOKENS: u32 = 8192;

/// A model of a provider.
#[derive(Clone)]
pub struct Endpoint {
    format: ReplyFormat,
    base: Url,
    target: Target,
    model: String,
    key: Option<Secret>,
}

/// Why an endpoint is none.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The URL makes no sense.
    #[error("the base URL is not one: {0}")]
    BadUrl(String),
    /// The key cannot be sent.
    #[error("the key cannot be sent: it has characters that no header takes")]
    BadKey,
    /// The model's name cannot be sent.
    #[error("the name of the model is empty or has characters that it cannot have")]
    BadModel,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("format", &self.format)
            .field("target", &self.target)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// A model at a base URL; without one, at the provider's own.
    pub fn new(
        format: ReplyFormat,
        base_url: Option<&str>,
        model: impl Into<String>,
        key: Option<Secret>,
    ) -> Result<Self, EndpointError> {
        let given = base_url.unwrap_or_else(|| Endpoint::default_url(format));
        let (base, target) =
            Target::parse(given).map_err(|error| EndpointError::BadUrl(error.to_string()))?;
        if target.is_never_meant() {
            let problem = "addresses of the local link and of a cloud's metadata are never reached";
            return Err(EndpointError::BadUrl(problem.to_owned()));
        }
        if base.query().is_some() {
            let problem = "it has a query, and a path is added to it";
            return Err(EndpointError::BadUrl(problem.to_owned()));
        }
        let model = model.into();
        if model.is_empty() || model.len() > 256 || model.chars().any(char::is_control) {
            return Err(EndpointError::BadModel);
        }
        if let Some(key) = &key {
            HeaderValue::from_str(key.expose()).map_err(|_| EndpointError::BadKey)?;
        }
        Ok(Endpoint {
            format,
            base,
            target,
            model,
            key,
        })
    }

    /// Where a provider is, unless someone says otherwise.
    pub fn default_url(format: ReplyFormat) -> &'static str {
        match format {
            ReplyFormat::OpenAi | ReplyFormat::OpenAiResponses => "https://api.openai.com/v1",
            ReplyFormat::Anthropic => "https://api.anthropic.com",
            ReplyFormat::Ollama => "http://127.0.0.1:11434",
            ReplyFormat::Gemini => "https://generativelanguage.googleapis.com/v1beta",
        }
    }

    /// The variable of the environment that usually holds the key.
    pub fn key_variable(format: ReplyFormat) -> Option<&'static str> {
        match format {
            ReplyFormat::OpenAi | ReplyFormat::OpenAiResponses => Some("OPENAI_API_KEY"),
            ReplyFormat::Anthropic => Some("ANTHROPIC_API_KEY"),
            ReplyFormat::Ollama => None,
            ReplyFormat::Gemini => Some("GEMINI_API_KEY"),
        }
    }

    /// Whose messages it takes.
    pub fn format(&self) -> ReplyFormat {
        self.format
    }

    /// The model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The host that it is at.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The URL that was named.
    pub fn base_url(&self) -> &Url {
        &self.base
    }

    /// Whether it is at the provider's own address, encrypted if that is: where a key that is lying about for the provider may go.
    pub fn is_providers_own(&self) -> bool {
        Target::parse(Endpoint::default_url(self.format))
            .is_ok_and(|(_, target)| target == self.target)
    }

    /// The most tools that the provider takes, where it says so.
    pub fn most_tools(&self) -> Option<usize> {
        let is_openai = matches!(
            self.format,
            ReplyFormat::OpenAi | ReplyFormat::OpenAiResponses
        );
        (is_openai && self.is_providers_own()).then_some(128)
    }

    /// The key that is sent.
    pub(super) fn key(&self) -> Option<&Secret> {
        self.key.as_ref()
    }

    /// Takes the key out of a text, should a server repeat it.
    pub(super) fn masked(&self, text: &str) -> String {
        match &self.key {
            Some(key) if key.expose().len() >= 4 => text.replace(key.expose(), "[REDACTED]"),
            _ => text.to_owned(),
        }
    }

    /// The URL to post to. The version that everybody's base URL has may be left out, or be there
    /// where it need not.
    pub(super) fn url(&self) -> Url {
        let base = self.base.path().trim_end_matches('/');
        let versioned = |version: &str| match base {
            "" => format!("/{version}"),
            base => base.to_owned(),
        };
        let path = match self.format {
            ReplyFormat::OpenAi => format!("{}/chat/completions", versioned("v1")),
            ReplyFormat::OpenAiResponses => format!("{}/responses", versioned("v1")),
            ReplyFormat::Anthropic => match base.ends_with("/v1") {
                true => format!("{base}/messages"),
                false => format!("{base}/v1/messages"),
            },
            ReplyFormat::Ollama => match base.ends_with("/api") {
                true => format!("{base}/chat"),
                false => format!("{base}/api/chat"),
            },
            ReplyFormat::Gemini => {
                let model = self.model.trim_start_matches("models/");
                let base = versioned("v1beta");
                format!("{base}/models/{model}:streamGenerateContent")
            }
        };
        let mut url = self.base.clone();
        url.set_path(&path);
        if self.format == ReplyFormat::Gemini {
            url.set_query(Some("alt=sse"));
        }
        url
    }

    pub(super) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        let accept = match self.format {
            ReplyFormat::Ollama => "application/x-ndjson",
            _ => "text/event-stream",
        };
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        if self.format == ReplyFormat::Anthropic {
            let version = HeaderValue::from_static("2023-06-01");
            headers.insert("anthropic-version", version);
        }
        if let Some(key) = &self.key {
            let (name, value) = match self.format {
                ReplyFormat::Anthropic => (
                    HeaderName::from_static("x-api-key"),
                    key.expose().to_owned(),
                ),
                ReplyFormat::Gemini => (
                    HeaderName::from_static("x-goog-api-key"),
                    key.expose().to_owned(),
                ),
                ReplyFormat::OpenAi | ReplyFormat::OpenAiResponses | ReplyFormat::Ollama => {
                    (header::AUTHORIZATION, format!("Bearer {}", key.expose()))
                }
            };
            if let Ok(mut value) = HeaderValue::from_str(&value) {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
        }
        headers
    }

    /// The body of a request.
    pub(super) fn body(
        &self,
        history: &[Value],
        definitions: &Definitions,
        options: &ChatOptions,
    ) -> Value {
        let system = options.system.as_deref();
        let mut body = match self.format {
            ReplyFormat::OpenAi | ReplyFormat::Ollama => {
                let system = system.map(|text| json!({"role": "system", "content": text}));
                let messages: Vec<Value> =
                    system.into_iter().chain(history.iter().cloned()).collect();
                let mut body = json!({"model": self.model, "messages": messages, "stream": true});
                if let Some(most) = options.max_tokens {
                    match self.format {
                        ReplyFormat::Ollama => body["options"] = json!({"num_predict": most}),
                        _ => body["max_tokens"] = most.into(),
                    }
                }
                body
            }
            ReplyFormat::OpenAiResponses => {
                // Nothing is kept there: the conversation is ours.
                let mut body =
                    json!({"model": self.model, "input": history, "stream": true, "store": false});
                if let Some(system) = system {
                    body["instructions"] = system.into();
                }
                if let Some(most) = options.max_tokens {
                    body["max_output_tokens"] = most.into();
                }
                body
            }
            ReplyFormat::Anthropic => {
                let mut body = json!({"model": self.model, "messages": history, "stream": true,
                    "max_tokens": options.max_tokens.unwrap_or(MAX_TOKENS)});
                if let Some(system) = system {
                    body["system"] = system.into();
                }
                body
            }
            ReplyFormat::Gemini => {
                let mut body = json!({"contents": history});
                if let Some(system) = system {
                    body["systemInstruction"] = json!({"parts": [{"text": system}]});
                }
                if let Some(most) = options.max_tokens {
                    body["generationConfig"] = json!({"maxOutputTokens": most});
                }
                body
            }
        };
        // An empty list is refused by some.
        if !definitions.tools.is_empty() {
            body["tools"] = match self.format {
                ReplyFormat::Gemini => json!([{"functionDeclarations": definitions.tools}]),
                _ => json!(definitions.tools),
            };
        }
        body
    }
}

/// What the user says, as a message.
pub(super) fn user_message(format: ReplyFormat, text: &str) -> Value {
    match format {
        ReplyFormat::OpenAi
        | ReplyFormat::OpenAiResponses
        | ReplyFormat::Anthropic
        | ReplyFormat::Ollama => json!({"role": "user", "content": text}),
        ReplyFormat::Gemini => json!({"role": "user", "parts": [{"text": text}]}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_providers_own_address_is_its_own() {
        let is_own = |format, base: Option<&str>| {
            let endpoint = Endpoint::new(format, base, "m", None).unwrap();
            endpoint.is_providers_own()
        };
        for format in ReplyFormat::ALL {
            assert!(is_own(format, None), "{format}");
            assert!(!is_own(format, Some("https://api.example.com")), "{format}");
        }
        let openai = |base| is_own(ReplyFormat::OpenAi, Some(base));
        assert!(openai("https://API.openai.com./v1/") && openai("https://api.openai.com:443"));
        for other in [
            "http://api.openai.com/v1",
            "https://api.openai.com:8443/v1",
            "https://api.openai.com.example.com/v1",
            "https://api.anthropic.com",
            "http://localhost:1234/v1",
        ] {
            assert!(!openai(other), "{other}");
        }
    }

    #[test]
    fn a_base_url_may_have_its_version_or_not() {
        let url = |format, base| {
            let endpoint = Endpoint::new(format, Some(base), "m", None).unwrap();
            endpoint.url().to_string()
        };
        for (format, base, expected) in [
            (
                ReplyFormat::OpenAi,
                "http://h:1/v1/",
                "http://h:1/v1/chat/completions",
            ),
            (
                ReplyFormat::OpenAi,
                "http://h:1",
                "http://h:1/v1/chat/completions",
            ),
            (
                ReplyFormat::OpenAi,
                "http://h:1/api/v3",
                "http://h:1/api/v3/chat/completions",
            ),
            (
                ReplyFormat::OpenAiResponses,
                "http://h:1/v1",
                "http://h:1/v1/responses",
            ),
            (
                ReplyFormat::Anthropic,
                "http://h:1",
                "http://h:1/v1/messages",
            ),
            (
                ReplyFormat::Anthropic,
                "http://h:1/v1",
                "http://h:1/v1/messages",
            ),
            (ReplyFormat::Ollama, "http://h:1", "http://h:1/api/chat"),
            (ReplyFormat::Ollama, "http://h:1/api", "http://h:1/api/chat"),
            (
                ReplyFormat::Gemini,
                "http://h:1/v1beta",
                "http://h:1/v1beta/models/m:streamGenerateContent?alt=sse",
            ),
        ] {
            assert_eq!(url(format, base), expected);
        }
        for refused in [
            "nonsense",
            "http://169.254.169.254/",
            "http://2852039166/v1",
            "http://[::ffff:169.254.169.254]/",
            "http://[fe80::1]:80/",
            "http://[fd00:ec2::254]/",
        ] {
            let made = Endpoint::new(ReplyFormat::OpenAi, Some(refused), "m", None);
            assert!(made.is_err(), "{refused}");
        }
        assert!(Endpoint::new(ReplyFormat::OpenAi, None, "", None).is_err());
    }
}
