//! Parameters of requests: read once, whatever the method; what a method wants is looked into afterwards.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::protocol::Input;
use crate::rpc::{Id, RpcError, present, read_id, read_text};

/// Members that any method has. All of them raw: nothing is built that no one asks for.
#[derive(Deserialize, Default)]
pub(crate) struct Params<'a> {
    #[serde(rename = "_meta", borrow, default, deserialize_with = "object_or_null")]
    pub(crate) meta: Option<Meta<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cursor: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    level: Option<&'a RawValue>,
    #[serde(rename = "inputResponses", borrow, default)]
    input_responses: Option<&'a RawValue>,
    #[serde(rename = "requestState", borrow, default)]
    request_state: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) notifications: Option<&'a RawValue>,
    #[serde(
        rename = "protocolVersion",
        borrow,
        default,
        deserialize_with = "present"
    )]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) capabilities: Option<&'a RawValue>,
    #[serde(rename = "clientInfo", borrow, default, deserialize_with = "present")]
    pub(crate) client_info: Option<&'a RawValue>,
    #[serde(rename = "requestId", borrow, default, deserialize_with = "present")]
    pub(crate) request_id: Option<&'a RawValue>,
    #[serde(skip)]
    text: Option<&'a RawValue>,
}

/// What the protocol has in `_meta`.
#[derive(Deserialize, Default)]
pub(crate) struct Meta<'a> {
    #[serde(
        rename = "io.modelcontextprotocol/protocolVersion",
        borrow,
        default,
        deserialize_with = "present"
    )]
    version: Option<&'a RawValue>,
    #[serde(
        rename = "io.modelcontextprotocol/clientInfo",
        borrow,
        default,
        deserialize_with = "present"
    )]
    pub(crate) client: Option<&'a RawValue>,
    #[serde(
        rename = "io.modelcontextprotocol/clientCapabilities",
        borrow,
        default,
        deserialize_with = "present"
    )]
    pub(crate) capabilities: Option<&'a RawValue>,
    #[serde(
        rename = "io.modelcontextprotocol/logLevel",
        borrow,
        default,
        deserialize_with = "present"
    )]
    level: Option<&'a RawValue>,
    #[serde(
        rename = "progressToken",
        borrow,
        default,
        deserialize_with = "present"
    )]
    progress: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    traceparent: Option<&'a RawValue>,
}

/// A request whose every part is as it should be, read in one pass.
///
/// Most requests are; what is not is read again, part by part, to say what is wrong with it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SoundRequest<'a> {
    #[serde(rename = "jsonrpc")]
    _jsonrpc: TwoPointZero,
    #[serde(deserialize_with = "sound_id")]
    pub(crate) id: Id,
    pub(crate) method: &'a str,
    #[serde(borrow, default, deserialize_with = "object")]
    pub(crate) params: Option<Params<'a>>,
}

#[derive(Deserialize)]
enum TwoPointZero {
    #[serde(rename = "2.0")]
    TwoPointZero,
}

impl<'a> SoundRequest<'a> {
    /// Reads one, if it is one.
    pub(crate) fn read(text: &'a [u8]) -> Option<Self> {
        // Structs are read from arrays as well, and this one must not be.
        if text.first() != Some(&b'{') {
            return None;
        }
        let request: SoundRequest<'_> =
            serde_json::from_str(std::str::from_utf8(text).ok()?).ok()?;
        // The one method whose parameters are wanted as a whole.
        (request.method != "completion/complete").then_some(request)
    }
}

/// Reads a struct from an object only, where serde would take an array too.
struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for ObjectVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Option<T>, A::Error> {
        T::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Some)
    }

    fn visit_none<E>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_some<D: serde::Deserializer<'de>>(self, inner: D) -> Result<Option<T>, D::Error> {
        inner.deserialize_map(self)
    }
}

fn object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

/// Members that do without are written as `null` by some clients.
fn object_or_null<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_option(ObjectVisitor(PhantomData))
}

fn sound_id<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Id, D::Error> {
    struct Visitor;
    impl serde::de::Visitor<'_> for Visitor {
        type Value = Id;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("a string or a whole number")
        }

        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Id, E> {
            Ok(Id::Number(number))
        }

        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Id, E> {
            i64::try_from(number).map(Id::Number).map_err(E::custom)
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Id, E> {
            Ok(Id::Text(text.to_owned()))
        }
    }
    deserializer.deserialize_any(Visitor)
}

impl<'a> Params<'a> {
    /// Reads them; none are as good as an empty object.
    pub(crate) fn read(params: Option<&'a RawValue>) -> Result<Self, RpcError> {
        let Some(text) = params else {
            return Ok(Params::default());
        };
        if !text.get().starts_with('{') {
            return Err(RpcError::invalid_params("`params` must be an object"));
        }
        let mut params: Params<'_> = serde_json::from_str(text.get()).map_err(unfit)?;
        params.text = Some(text);
        Ok(params)
    }

    /// The tool or prompt.
    pub(crate) fn name(&self) -> Result<Cow<'a, str>, RpcError> {
        needed_text("name", self.name)
    }

    /// The resource.
    pub(crate) fn uri(&self) -> Result<Cow<'a, str>, RpcError> {
        needed_text("uri", self.uri)
    }

    /// The level of a log.
    pub(crate) fn level(&self) -> Result<Cow<'a, str>, RpcError> {
        needed_text("level", self.level)
    }

    /// The version of `initialize`.
    pub(crate) fn protocol_version(&self) -> Result<Cow<'a, str>, RpcError> {
        needed_text("protocolVersion", self.protocol_version)
    }

    /// Where a list goes on.
    pub(crate) fn cursor(&self) -> Result<Option<String>, RpcError> {
        match self.cursor {
            None => Ok(None),
            Some(raw) => text("cursor", raw).map(|it| Some(it.into_owned())),
        }
    }

    /// The arguments of a tool, an object.
    pub(crate) fn arguments(&self) -> Result<Option<&'a RawValue>, RpcError> {
        match self.arguments {
            Some(raw) if !raw.get().starts_with('{') => {
                Err(RpcError::invalid_params("`arguments` must be an object"))
            }
            other => Ok(other),
        }
    }

    /// The arguments of a prompt.
    pub(crate) fn prompt_arguments(&self) -> Result<Map<String, Value>, RpcError> {
        match self.arguments()? {
            None => Ok(Map::new()),
            Some(raw) => serde_json::from_str(raw.get()).map_err(unfit),
        }
    }

    /// The answers to what was asked before.
    pub(crate) fn input(&self) -> Result<Option<Input>, RpcError> {
        if self.input_responses.is_none() && self.request_state.is_none() {
            return Ok(None);
        }
        let responses = match self.input_responses {
            None => Map::new(),
            Some(raw) if raw.get().starts_with('{') => {
                serde_json::from_str(raw.get()).map_err(unfit)?
            }
            Some(_) => {
                return Err(RpcError::invalid_params(
                    "`inputResponses` must be an object",
                ));
            }
        };
        let state = match self.request_state {
            None => None,
            Some(raw) => Some(text("requestState", raw)?.into_owned()),
        };
        Ok(Some(Input { responses, state }))
    }

    /// All of them.
    pub(crate) fn whole(&self) -> Result<Value, RpcError> {
        match self.text {
            None => Ok(Value::Object(Map::new())),
            Some(raw) => serde_json::from_str(raw.get()).map_err(unfit),
        }
    }
}

impl<'a> Meta<'a> {
    /// Whether this is how a modern request begins. One that says its capabilities and forgets its version is a modern one that is broken.
    pub(crate) fn is_modern(&self) -> bool {
        self.version.is_some() || self.capabilities.is_some()
    }

    /// The version.
    pub(crate) fn version(&self) -> Result<Cow<'a, str>, RpcError> {
        needed_text(crate::protocol::meta::PROTOCOL_VERSION, self.version)
    }

    /// The least severe messages of the log that the request wants.
    pub(crate) fn level(&self) -> Result<Option<Cow<'a, str>>, RpcError> {
        self.level
            .map(|raw| text(crate::protocol::meta::LOG_LEVEL, raw))
            .transpose()
    }

    /// The span that the request is part of. Anything but a text is ignored.
    pub(crate) fn traceparent(&self) -> Option<Arc<str>> {
        self.traceparent
            .and_then(read_text)
            .map(|text| Arc::from(&*text))
    }

    /// What news of the request are marked with, as JSON.
    pub(crate) fn progress(&self) -> Result<Option<&'a str>, RpcError> {
        match self.progress {
            None => Ok(None),
            Some(raw) if read_id(raw).is_some() => Ok(Some(raw.get())),
            Some(_) => Err(RpcError::invalid_params(
                "`progressToken` must be a string or a whole number",
            )),
        }
    }
}

fn needed_text<'a>(member: &str, raw: Option<&'a RawValue>) -> Result<Cow<'a, str>, RpcError> {
    match raw {
        None => Err(RpcError::invalid_params(format!("`{member}` is missing"))),
        Some(raw) => text(member, raw),
    }
}

fn text<'a>(member: &str, raw: &'a RawValue) -> Result<Cow<'a, str>, RpcError> {
    read_text(raw).ok_or_else(|| RpcError::invalid_params(format!("`{member}` must be a string")))
}

/// Parameters that do not fit. Where they are JSON at all is known from the envelope.
#[expect(clippy::needless_pass_by_value, reason = "given to map_err")]
pub(crate) fn unfit(error: serde_json::Error) -> RpcError {
    RpcError::invalid_params(format!("the parameters do not fit: {error}"))
}
