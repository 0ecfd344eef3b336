//! An embedding endpoint beside the index: the operator may name one (`search.embeddings.*`), and it puts the best places by their words in
//! the order of their meaning.
//!
//! The index stays what finds: the endpoint sees the question and the pieces that were found, after the rules have had their say, and
//! nothing else. It is reached through `egress` as the settings name it, and no redirection is followed. When it fails, the order by words
//! stays, and the outcome says why. Vectors are kept in memory by the digest of their texts, so that a text is sent once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::call::context::CallContext;
use crate::egress::{Egress, Reach, Request, Target};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::json::read_bounded;
use crate::model::limits::MB;
use crate::model::names::Slug;
use crate::secret::{SecretName, SecretStore};

/// How many of the best places by their words the endpoint sorts.
pub(super) const CANDIDATES: usize = 100;
/// How much of a piece is sent, in bytes.
pub(super) const MAX_TEXT: usize = 4000;
/// How many texts one request has.
const BATCH: usize = 32;
/// How long all requests of a search may take together.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much one answer may be.
const MAX_RECEIVED: u64 = 16 * MB;
/// The most numbers of a vector.
const MAX_NUMBERS: usize = 16 * 1024;
/// How much all vectors may take that are kept.
const MAX_KEPT: usize = 64 << 20;

/// How an endpoint is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingKind {
    /// `POST /v1/embeddings`, as OpenAI and many others have it.
    OpenAi,
    /// `POST /api/embed` of Ollama.
    Ollama,
}

impl EmbeddingKind {
    /// Finds a kind by its word in settings.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "openai" => Some(EmbeddingKind::OpenAi),
            "ollama" => Some(EmbeddingKind::Ollama),
            _ => None,
        }
    }

    /// The path of requests below a base address.
    fn path(self, base: &str) -> String {
        let base = base.trim_end_matches('/');
        match self {
            EmbeddingKind::OpenAi if base.ends_with("/v1") => format!("{base}/embeddings"),
            EmbeddingKind::OpenAi => format!("{base}/v1/embeddings"),
            EmbeddingKind::Ollama => format!("{}/api/embed", base.trim_end_matches("/api")),
        }
    }

    fn body(self, model: &str, texts: &[&str]) -> Value {
        match self {
            EmbeddingKind::OpenAi => {
                json!({"model": model, "input": texts, "encoding_format": "float"})
            }
            EmbeddingKind::Ollama => json!({"model": model, "input": texts, "truncate": true}),
        }
    }

    /// The vectors of an answer, in the order of the texts.
    fn vectors(self, answer: &Value, count: usize) -> Option<Vec<Vec<f32>>> {
        let vectors: Vec<Vec<f32>> = match self {
            EmbeddingKind::OpenAi => {
                let mut rows: Vec<(u64, &Value)> = Vec::new();
                for (at, row) in answer.get("data")?.as_array()?.iter().enumerate() {
                    let index = row.get("index").and_then(Value::as_u64);
                    rows.push((index.unwrap_or(at as u64), row.get("embedding")?));
                }
                rows.sort_by_key(|(index, _)| *index);
                let vectors = rows.into_iter().map(|(_, vector)| unit(vector));
                vectors.collect::<Option<_>>()?
            }
            EmbeddingKind::Ollama => {
                let vectors = answer.get("embeddings")?.as_array()?;
                vectors.iter().map(unit).collect::<Option<_>>()?
            }
        };
        (vectors.len() == count).then_some(vectors)
    }
}

/// A vector of length one in the direction of this one; `None` if it has none.
fn unit(value: &Value) -> Option<Vec<f32>> {
    let numbers = value.as_array()?;
    if numbers.is_empty() || numbers.len() > MAX_NUMBERS {
        return None;
    }
    let numbers: Vec<f64> = numbers.iter().map(Value::as_f64).collect::<Option<_>>()?;
    let length = numbers
        .iter()
        .map(|number| number * number)
        .sum::<f64>()
        .sqrt();
    let is_one = length.is_finite() && length > 0.0;
    is_one.then(|| {
        numbers
            .iter()
            .map(|number| (number / length) as f32)
            .collect()
    })
}

/// The settings `search.embeddings.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingSettings {
    /// How it is asked (`kind`).
    pub kind: EmbeddingKind,
    /// Where it is (`url`), with or without `/v1`.
    pub url: String,
    /// The model (`model`).
    pub model: Option<String>,
    /// The name of the secret with its key (`key`), if it wants one.
    pub key: Option<String>,
}

/// An endpoint as the settings have it.
struct Service {
    kind: EmbeddingKind,
    url: Url,
    target: Target,
    model: String,
    key: Option<SecretName>,
}

impl Service {
    fn new(settings: &EmbeddingSettings) -> Result<Self, String> {
        let (mut url, target) = Target::parse(&settings.url).map_err(|error| {
            format!("the setting `search.embeddings.url` is not an address: {error}")
        })?;
        if url.query().is_some() || url.fragment().is_some() || target.is_never_meant() {
            return Err("the setting `search.embeddings.url` is the address of a server, without query and fragment".to_owned());
        }
        url.set_path(&settings.kind.path(url.path()));
        let model = settings.model.clone().ok_or_else(|| {
            "the setting `search.embeddings.model` is missing: the name of a model for embeddings"
                .to_owned()
        })?;
        let key = settings.key.as_deref().map(SecretName::parse).transpose();
        let key = key
            .map_err(|why| format!("the setting `search.embeddings.key` names no secret: {why}"))?;
        Ok(Service {
            kind: settings.kind,
            url,
            target,
            model,
            key,
        })
    }
}

/// Puts pieces of code in the order of their meaning.
pub(in crate::builtin) struct Embedder {
    egress: Egress,
    secrets: Option<SecretStore>,
    /// The endpoint, or which setting to mend.
    service: Result<Service, String>,
    kept: Mutex<Vectors>,
}

impl Embedder {
    pub(in crate::builtin) fn new(
        settings: &EmbeddingSettings,
        secrets: Option<SecretStore>,
        egress: Egress,
    ) -> Self {
        Embedder {
            egress,
            secrets,
            service: Service::new(settings),
            kept: Mutex::default(),
        }
    }

    /// A text without the secrets of the home, which no endpoint needs to see.
    pub(super) fn masked(&self, text: &str) -> String {
        match &self.secrets {
            Some(secrets) => secrets.masker().mask(text).into_owned(),
            None => text.to_owned(),
        }
    }

    /// How much each of the texts has to do with a question, from -1 to 1.
    pub(super) async fn scores(
        &self,
        question: &str,
        texts: &[String],
        cx: &CallContext,
        bundle: &Slug,
    ) -> Result<Vec<f32>, ToolError> {
        let service = self
            .service
            .as_ref()
            .map_err(|why| ToolError::new(ErrorCode::ToolUnavailable, why))?;
        let patience = PATIENCE.min(cx.remaining() / 2);
        let asking = self.vectors(service, question, texts, cx, bundle);
        let vectors = tokio::time::timeout(patience, asking).await.map_err(|_| {
            let message = format!("it did not answer within {} s", patience.as_secs());
            ToolError::new(ErrorCode::Timeout, message)
        })??;
        let Some((question, pieces)) = vectors.split_first() else {
            return Ok(Vec::new());
        };
        if pieces.iter().any(|piece| piece.len() != question.len()) {
            return Err(strange());
        }
        let cosine = |piece: &Arc<[f32]>| {
            piece
                .iter()
                .zip(question.iter())
                .map(|(a, b)| a * b)
                .sum::<f32>()
        };
        Ok(pieces.iter().map(cosine).collect())
    }

    /// The vectors of the question and of the texts.
    async fn vectors(
        &self,
        service: &Service,
        question: &str,
        texts: &[String],
        cx: &CallContext,
        bundle: &Slug,
    ) -> Result<Vec<Arc<[f32]>>, ToolError> {
        let question = self.masked(question);
        let texts: Vec<&str> = std::iter::once(question.as_str())
            .chain(texts.iter().map(String::as_str))
            .collect();
        let digests: Vec<[u8; 32]> = texts
            .iter()
            .map(|text| Sha256::digest(text.as_bytes()).into())
            .collect();
        let mut found: Vec<Option<Arc<[f32]>>> = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let known = digests.iter().map(|digest| kept.get(digest));
            known.collect()
        };
        let missing: Vec<usize> = (0..texts.len()).filter(|at| found[*at].is_none()).collect();
        for batch in missing.chunks(BATCH) {
            let wanted: Vec<&str> = batch.iter().map(|at| texts[*at]).collect();
            let vectors = self.ask(service, &wanted, cx, bundle).await?;
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            for (at, vector) in batch.iter().zip(vectors) {
                let vector: Arc<[f32]> = vector.into();
                kept.put(digests[*at], Arc::clone(&vector));
                found[*at] = Some(vector);
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    async fn ask(
        &self,
        service: &Service,
        texts: &[&str],
        cx: &CallContext,
        bundle: &Slug,
    ) -> Result<Vec<Vec<f32>>, ToolError> {
        let mut request = Request::get(service.url.clone());
        request.method = Method::POST;
        request.body = service.kind.body(&service.model, texts).to_string().into();
        request.reach = Reach::Configured(service.target.clone());
        request.timeout = PATIENCE.min(cx.remaining());
        request.max_received = MAX_RECEIVED;
        request.max_redirects = 0;
        request.log = cx.exchanges();
        let json = HeaderValue::from_static("application/json");
        request.headers.insert(ACCEPT, json.clone());
        request.headers.insert(CONTENT_TYPE, json);
        if let Some(value) = self.authorization(service, bundle)? {
            request.headers.insert(AUTHORIZATION, value);
        }
        let response = self.egress.send(request).await?;
        if response.status != StatusCode::OK {
            let message = format!("it answered {}", response.status.as_u16());
            return Err(ToolError::new(ErrorCode::UpstreamError, message));
        }
        let (kind, count) = (service.kind, texts.len());
        cx.blocking_in_turn(response.body.len(), move || {
            let answer =
                read_bounded(&response.body).map_err(|error| strange().caused_by(error))?;
            kind.vectors(&answer, count).ok_or_else(strange)
        })
        .await
    }

    fn authorization(
        &self,
        service: &Service,
        bundle: &Slug,
    ) -> Result<Option<HeaderValue>, ToolError> {
        let Some(name) = &service.key else {
            return Ok(None);
        };
        let refused = |why: String| ToolError::new(ErrorCode::ToolUnavailable, why);
        let secrets = self.secrets.as_ref();
        let secrets = secrets
            .ok_or_else(|| refused(format!("there is no store that could hold `{name}`")))?;
        let key = secrets
            .reveal(name, bundle, &service.target)
            .map_err(|error| refused(error.to_string()))?;
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| {
                refused(format!(
                    "the secret `{name}` holds a character that no header can carry"
                ))
            })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

fn strange() -> ToolError {
    ToolError::new(
        ErrorCode::UpstreamError,
        "it did not answer with one vector for each text; check `search.embeddings.kind` and `search.embeddings.model`",
    )
}

/// Vectors by the digests of their texts. When there are too many, the oldest go.
#[derive(Debug, Default)]
struct Vectors {
    by_digest: HashMap<[u8; 32], Arc<[f32]>>,
    order: VecDeque<[u8; 32]>,
    bytes: usize,
}

impl Vectors {
    fn get(&self, digest: &[u8; 32]) -> Option<Arc<[f32]>> {
        self.by_digest.get(digest).cloned()
    }

    fn put(&mut self, digest: [u8; 32], vector: Arc<[f32]>) {
        let size = |vector: &Arc<[f32]>| vector.len() * size_of::<f32>() + 128;
        self.bytes += size(&vector);
        match self.by_digest.insert(digest, vector) {
            Some(before) => self.bytes -= size(&before),
            None => self.order.push_back(digest),
        }
        while self.bytes > MAX_KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.by_digest.remove(&oldest);
            self.bytes -= gone.as_ref().map_or(0, size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_have_the_version_or_not() {
        for (kind, base, path) in [
            (EmbeddingKind::OpenAi, "/", "/v1/embeddings"),
            (EmbeddingKind::OpenAi, "/v1/", "/v1/embeddings"),
            (EmbeddingKind::OpenAi, "/proxy", "/proxy/v1/embeddings"),
            (EmbeddingKind::Ollama, "/", "/api/embed"),
            (EmbeddingKind::Ollama, "/api", "/api/embed"),
        ] {
            assert_eq!(kind.path(base), path, "{base}");
        }
    }

    #[test]
    fn an_answer_has_one_vector_for_each_text_or_none_is_taken() {
        let read = |answer: Value| EmbeddingKind::OpenAi.vectors(&answer, 2);
        let row = |index: u64, vector: Value| json!({"index": index, "embedding": vector});
        let whole = json!({"data": [row(1, json!([0, 2])), row(0, json!([3.0, 0]))]});
        assert_eq!(read(whole), Some(vec![vec![1.0, 0.0], vec![0.0, 1.0]]));
        for wrong in [
            json!({"data": [row(0, json!([1]))]}),
            json!({"data": [row(0, json!([1])), row(1, json!([0]))]}),
            json!({"data": [row(0, json!([1])), row(1, json!([]))]}),
            json!({"data": [row(0, json!([1])), row(1, json!(["1"]))]}),
            json!({"data": {}}),
            json!([]),
        ] {
            assert_eq!(read(wrong.clone()), None, "{wrong}");
        }
        let ollama = json!({"embeddings": [[2, 0], [0, 1]]});
        let read = EmbeddingKind::Ollama.vectors(&ollama, 2);
        assert_eq!(read, Some(vec![vec![1.0, 0.0], vec![0.0, 1.0]]));
    }

    #[test]
    fn the_oldest_vectors_go_when_there_are_too_many() {
        let mut vectors = Vectors::default();
        let large: Arc<[f32]> = vec![1.0; MAX_NUMBERS].into();
        let digest = |number: u32| -> [u8; 32] { Sha256::digest(number.to_le_bytes()).into() };
        for number in 0..2000 {
            vectors.put(digest(number), Arc::clone(&large));
            vectors.put(digest(number), Arc::clone(&large));
            assert!(vectors.bytes <= MAX_KEPT);
            assert_eq!(vectors.order.len(), vectors.by_digest.len());
        }
        assert!(vectors.get(&digest(0)).is_none());
        assert!(vectors.get(&digest(1999)).is_some());
    }
}
