//! The one table of what the file of an HTTP tool may hold: [`HTTP_FIELDS`].
//!
//! The shape check, "did you mean", the published JSON Schema, the reference in the documentation and `toolcrib explain <field>` all come
//! from it, and the reader can only ask for what is in it.

use std::sync::LazyLock;

use crate::definition::fields::Kind::{
    Boolean, Choice, Fields, FieldsOrList, Integer, Integers, Map, Schema, Text, Texts, Value,
};
use crate::definition::fields::{Dialect, Field, Shape, Syntax};

/// How long a request may take when its file does not say, in milliseconds: what S4's example has.
pub const DEFAULT_TIMEOUT_MS: u64 = 10_000;
/// The longest time of a request, in milliseconds.
const MAX_TIMEOUT_MS: i64 = 600_000;
/// The most bytes that a limit can be.
const MAX_BYTES: i64 = 1 << 30;

/// HTTP tools.
pub(crate) static DIALECT: Dialect = Dialect {
    syntax: Syntax::Json,
    fields: HTTP_FIELDS,
    foreign: FOREIGN,
};

/// HTTP tools, as a tree.
pub(crate) static FORMAT: LazyLock<Shape> = LazyLock::new(|| Shape::of(HTTP_FIELDS));

/// Keys that other formats have, and what they are here.
const FOREIGN: &[(&str, &str)] = &[
    ("url", "write `\"urlTemplate\": \"https://…\"` in `impl`"),
    ("uri", "write `\"urlTemplate\": \"https://…\"` in `impl`"),
    (
        "endpoint",
        "write `\"urlTemplate\": \"https://…\"` in `impl`",
    ),
    ("body", "write `\"bodyTemplate\": \"…\"` in `impl`"),
    ("data", "write `\"bodyTemplate\": \"…\"` in `impl`"),
    ("query", "write the query behind the `?` of `urlTemplate`"),
    ("params", "write the query behind the `?` of `urlTemplate`"),
    (
        "parameters",
        "write `\"argSchema\": {\"type\": \"object\", \"properties\": {…}}`",
    ),
    ("inputSchema", "write `\"argSchema\": {…}`"),
    ("enabled", "write `\"isEnabled\": true`"),
    (
        "goFunc",
        "a tool of a file sends requests: `impl` has `urlTemplate`",
    ),
    ("timeout", "write `\"timeoutMs\": 10000`, in milliseconds"),
    ("retries", "write `\"retry\": {\"max\": 2}`"),
    ("bash", "a tool that runs a command is a `.yaml` file"),
    ("run", "a tool that runs a command is a `.yaml` file"),
];

const TEXT: Field = Field {
    path: "",
    kind: Text,
    default: None,
    meaning: "",
    example: "",
    enforced: "",
};

/// Every field of an HTTP tool's file.
pub static HTTP_FIELDS: &[Field] = &[
    Field {
        path: "slug",
        default: Some("the name of the file without `.json`"),
        meaning: "The name for people and URLs: letters, digits and `-`, at most 64.",
        example: "\"weather\"",
        enforced: "references (`bundle/slug@version`), `${slug}`",
        ..TEXT
    },
    Field {
        path: "name",
        default: Some("made from the slug"),
        meaning: "The name that models call the tool by: A-Z, a-z, 0-9, `_` and `-`, at most 64.",
        example: "\"weather\"",
        enforced: "lists, calls; names that clash are reported",
        ..TEXT
    },
    Field {
        path: "version",
        default: Some("v1"),
        meaning: "The version, a label without order: letters, digits, `-` and `.`.",
        example: "\"v2\"",
        enforced: "references, the call log, `${version}`",
        ..TEXT
    },
    Field {
        path: "displayName",
        default: Some("the slug"),
        meaning: "The name for lists.",
        example: "\"Weather report\"",
        enforced: "lists, `${displayName}`",
        ..TEXT
    },
    Field {
        path: "description",
        meaning: "What the tool does; what a model decides by. Required.",
        example: "\"Fetch current weather for a city\"",
        enforced: "the definition that models get, search",
        ..TEXT
    },
    Field {
        path: "type",
        kind: Choice(&["http", "go", "rust", "command", "mcp", "alias"]),
        default: Some("http"),
        meaning: "What kind of tool it is. A `.json` file holds an HTTP tool; the other kinds are not files of this form.",
        example: "\"http\"",
        enforced: "at load: anything but `http` is refused with what to do instead",
    },
    Field {
        path: "isEnabled",
        kind: Boolean,
        default: Some("true"),
        meaning: "Whether the tool is switched on.",
        example: "true",
        enforced: "every call: a tool that its file switches off is TOOL_DISABLED",
    },
    Field {
        path: "tags",
        kind: Texts,
        meaning: "Categories, and the security tags `read`, `write`, `run`: what the requests do at the other end. Without one of these every call asks a person.",
        example: "[\"read\", \"weather\"]",
        enforced: "approval, search",
        ..TEXT
    },
    Field {
        path: "keywords",
        kind: Texts,
        meaning: "More words it is found by.",
        example: "[\"forecast\", \"temperature\"]",
        enforced: "search",
        ..TEXT
    },
    Field {
        path: "argSchema",
        kind: Schema,
        default: Some("no arguments"),
        meaning: "What the tool takes: a JSON Schema of an object. Its properties are what `${NAME}` can name; every other name is a secret's.",
        example: "{\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\", \"description\": \"Name of the city\"}}, \"required\": [\"city\"]}",
        enforced: "every call, before anything is sent",
    },
    Field {
        path: "outputSchema",
        kind: Schema,
        meaning: "What the value of a call must be: a JSON Schema.",
        example: "{\"type\": \"string\"}",
        enforced: "every call, when the answer is there",
        ..TEXT
    },
    Field {
        path: "impl",
        kind: FieldsOrList,
        meaning: "The request, or up to 20 requests that are sent in order; the last one gives the value, and `${prev.value}` is what the one before gave. Required.",
        example: "{\"urlTemplate\": \"https://api.example.com/v1/current?q=${city}\"}",
        enforced: "every call",
        ..TEXT
    },
    Field {
        path: "impl.method",
        kind: Choice(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
        default: Some("GET"),
        meaning: "The method.",
        example: "\"POST\"",
        enforced: "the request; only idempotent methods are sent again after a failure, unless `retry.nonIdempotent`",
    },
    Field {
        path: "impl.urlTemplate",
        meaning: "Where the request goes: `http://` or `https://`, a fixed host, and placeholders in path and query only. A value stays within its segment or parameter. Required.",
        example: "\"https://api.weatherapi.com/v1/current.json?q=${city}\"",
        enforced: "the setting `allowedHosts` must name the host; every address is checked",
        ..TEXT
    },
    Field {
        path: "impl.headers",
        kind: Map,
        meaning: "Headers, by name. Those that say where a message ends or whom it is for cannot be set.",
        example: "{\"Accept\": \"application/json\"}",
        enforced: "the request; a value with a line end is refused",
        ..TEXT
    },
    Field {
        path: "impl.headers.*",
        meaning: "The value of a header; a template.",
        example: "\"MyApp/${version}\"",
        enforced: "the request; a value with a line end is refused",
        ..TEXT
    },
    Field {
        path: "impl.bodyTemplate",
        default: Some("no body"),
        meaning: "The body. In JSON a placeholder inside quotes is a text and one without quotes a whole value; in a form (`application/x-www-form-urlencoded`) values are encoded; in anything else they stand as they are.",
        example: "\"{\\\"query\\\": \\\"${text}\\\", \\\"limit\\\": ${limit}}\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "impl.successCodes",
        kind: Integers {
            least: 100,
            most: 599,
        },
        default: Some("200 to 299"),
        meaning: "The status codes that are a success.",
        example: "[200]",
        enforced: "every answer; any other code is a failure",
    },
    Field {
        path: "impl.timeoutMs",
        kind: Integer {
            least: 1,
            most: MAX_TIMEOUT_MS,
        },
        default: Some("10000"),
        meaning: "How long one attempt may take, in milliseconds, from the look-up of the name to the last byte.",
        example: "10000",
        enforced: "every attempt",
    },
    Field {
        path: "impl.responseEncoding",
        kind: Choice(&["json", "text"]),
        default: Some("json"),
        meaning: "What the answer is.",
        example: "\"json\"",
        enforced: "every answer; one that is not JSON is a failure then",
    },
    Field {
        path: "impl.extractExpr",
        default: Some("the whole answer"),
        meaning: "What is taken of the answer: JSONPath (RFC 9535), which begins with `$`, or a regular expression between slashes (`/…/`, with `i`, `m`, `s` behind it), of which group 1 counts, else the match.",
        example: "\"$.current.condition.text\"",
        enforced: "every answer; one without a match is a failure",
        ..TEXT
    },
    Field {
        path: "impl.errorMode",
        kind: Choice(&["fail", "empty"]),
        default: Some("fail"),
        meaning: "What a failure is: an error of the call, or the value `null`.",
        example: "\"empty\"",
        enforced: "every call",
    },
    Field {
        path: "impl.auth",
        kind: Fields,
        default: Some("that of the tool"),
        meaning: "How this request says who it is from. Texts may name secrets, never arguments.",
        example: "{\"type\": \"bearer\", \"token\": \"${API_TOKEN}\"}",
        enforced: "the request; credentials are not sent on to another host",
    },
    Field {
        path: "impl.auth.type",
        kind: Choice(&["bearer", "basic", "hmac", "oauth2"]),
        meaning: "The way. Required.",
        example: "\"bearer\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "impl.auth.token",
        meaning: "bearer: the token.",
        example: "\"${API_TOKEN}\"",
        enforced: "`Authorization: Bearer …`",
        ..TEXT
    },
    Field {
        path: "impl.auth.username",
        meaning: "basic: the user.",
        example: "\"${API_USER}\"",
        enforced: "`Authorization: Basic …`",
        ..TEXT
    },
    Field {
        path: "impl.auth.password",
        meaning: "basic: the password.",
        example: "\"${API_PASSWORD}\"",
        enforced: "`Authorization: Basic …`",
        ..TEXT
    },
    Field {
        path: "impl.auth.key",
        meaning: "hmac: the key that `METHOD\\nPATH?QUERY\\nTIMESTAMP\\nSHA256(BODY)` is signed with.",
        example: "\"${SIGNING_KEY}\"",
        enforced: "the signature",
        ..TEXT
    },
    Field {
        path: "impl.auth.keyId",
        meaning: "hmac: which key that is, sent in `keyIdHeader`.",
        example: "\"key-1\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "impl.auth.keyIdHeader",
        default: Some("X-Key-Id"),
        meaning: "hmac: the header that `keyId` is sent in.",
        example: "\"X-Api-Key\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "impl.auth.signatureHeader",
        default: Some("X-Signature"),
        meaning: "hmac: the header that the signature is sent in.",
        example: "\"X-Signature\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "impl.auth.timestampHeader",
        default: Some("X-Timestamp"),
        meaning: "hmac: the header that the time is sent in.",
        example: "\"X-Timestamp\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "impl.auth.algorithm",
        kind: Choice(&["sha256"]),
        default: Some("sha256"),
        meaning: "hmac: the hash.",
        example: "\"sha256\"",
        enforced: "the signature",
    },
    Field {
        path: "impl.auth.grant",
        kind: Choice(&["client_credentials", "refresh_token"]),
        default: Some("client_credentials"),
        meaning: "oauth2: what a token is got for.",
        example: "\"refresh_token\"",
        enforced: "the request to the token server",
    },
    Field {
        path: "impl.auth.tokenUrl",
        meaning: "oauth2: where tokens are got; without placeholders.",
        example: "\"https://auth.example.com/oauth/token\"",
        enforced: "the setting `allowedHosts` must name the host",
        ..TEXT
    },
    Field {
        path: "impl.auth.clientId",
        meaning: "oauth2: the client.",
        example: "\"${CLIENT_ID}\"",
        enforced: "the request to the token server",
        ..TEXT
    },
    Field {
        path: "impl.auth.clientSecret",
        meaning: "oauth2: the client's secret; none for public clients.",
        example: "\"${CLIENT_SECRET}\"",
        enforced: "the request to the token server",
        ..TEXT
    },
    Field {
        path: "impl.auth.refreshToken",
        meaning: "oauth2 with `refresh_token`: the token that is refreshed.",
        example: "\"${REFRESH_TOKEN}\"",
        enforced: "the request to the token server",
        ..TEXT
    },
    Field {
        path: "impl.auth.scope",
        meaning: "oauth2: what the token is for.",
        example: "\"read:weather\"",
        enforced: "the request to the token server",
        ..TEXT
    },
    Field {
        path: "impl.retry",
        kind: Fields,
        default: Some("that of the tool"),
        meaning: "How often the request is sent again after a failed connection, 429 or 5xx, with growing pauses; `Retry-After` is kept to.",
        example: "{\"max\": 3}",
        enforced: "every call, within its time",
    },
    Field {
        path: "impl.retry.max",
        kind: Integer { least: 0, most: 10 },
        default: Some("2"),
        meaning: "How many times it is sent again.",
        example: "3",
        enforced: "every call",
    },
    Field {
        path: "impl.retry.nonIdempotent",
        kind: Boolean,
        default: Some("false"),
        meaning: "Whether POST and PATCH are sent again too, which may do twice what they do.",
        example: "true",
        enforced: "every call",
    },
    Field {
        path: "auth",
        kind: Fields,
        meaning: "The `auth` of every request that has none of its own; the same fields.",
        example: "{\"type\": \"bearer\", \"token\": \"${API_TOKEN}\"}",
        enforced: "every request",
        ..TEXT
    },
    Field {
        path: "auth.type",
        kind: Choice(&["bearer", "basic", "hmac", "oauth2"]),
        meaning: "The way. Required.",
        example: "\"bearer\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "auth.token",
        meaning: "bearer: the token.",
        example: "\"${API_TOKEN}\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "auth.username",
        meaning: "basic: the user.",
        example: "\"${API_USER}\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "auth.password",
        meaning: "basic: the password.",
        example: "\"${API_PASSWORD}\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "auth.key",
        meaning: "hmac: the key that `METHOD\\nPATH?QUERY\\nTIMESTAMP\\nSHA256(BODY)` is signed with.",
        example: "\"${SIGNING_KEY}\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "auth.keyId",
        meaning: "hmac: which key that is, sent in `keyIdHeader`.",
        example: "\"key-1\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "auth.keyIdHeader",
        default: Some("X-Key-Id"),
        meaning: "hmac: the header that `keyId` is sent in.",
        example: "\"X-Api-Key\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "auth.signatureHeader",
        default: Some("X-Signature"),
        meaning: "hmac: the header that the signature is sent in.",
        example: "\"X-Signature\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "auth.timestampHeader",
        default: Some("X-Timestamp"),
        meaning: "hmac: the header that the time is sent in.",
        example: "\"X-Timestamp\"",
        enforced: "the request",
        ..TEXT
    },
    Field {
        path: "auth.algorithm",
        kind: Choice(&["sha256"]),
        default: Some("sha256"),
        meaning: "hmac: the hash.",
        example: "\"sha256\"",
        enforced: "the signature",
    },
    Field {
        path: "auth.grant",
        kind: Choice(&["client_credentials", "refresh_token"]),
        default: Some("client_credentials"),
        meaning: "oauth2: what a token is got for.",
        example: "\"refresh_token\"",
        enforced: "the request to the token server",
    },
    Field {
        path: "auth.tokenUrl",
        meaning: "oauth2: where tokens are got; without placeholders.",
        example: "\"https://auth.example.com/oauth/token\"",
        enforced: "the setting `allowedHosts` must name the host",
        ..TEXT
    },
    Field {
        path: "auth.clientId",
        meaning: "oauth2: the client.",
        example: "\"${CLIENT_ID}\"",
        enforced: "the request to the token server",
        ..TEXT
    },
    Field {
        path: "auth.clientSecret",
        meaning: "oauth2: the client's secret; none for public clients.",
        example: "\"${CLIENT_SECRET}\"",
        enforced: "the request to the token server",
        ..TEXT
    },
    Field {
        path: "auth.refreshToken",
        meaning: "oauth2 with `refresh_token`: the token that is refreshed.",
        example: "\"${REFRESH_TOKEN}\"",
        enforced: "the request to the token server",
        ..TEXT
    },
    Field {
        path: "auth.scope",
        meaning: "oauth2: what the token is for.",
        example: "\"read:weather\"",
        enforced: "the request to the token server",
        ..TEXT
    },
    Field {
        path: "retry",
        kind: Fields,
        meaning: "The `retry` of every request that has none of its own.",
        example: "{\"max\": 3}",
        enforced: "every request",
        ..TEXT
    },
    Field {
        path: "retry.max",
        kind: Integer { least: 0, most: 10 },
        default: Some("2"),
        meaning: "How many times it is sent again.",
        example: "3",
        enforced: "every call",
    },
    Field {
        path: "retry.nonIdempotent",
        kind: Boolean,
        default: Some("false"),
        meaning: "Whether POST and PATCH are sent again too, which may do twice what they do.",
        example: "true",
        enforced: "every call",
    },
    Field {
        path: "limits",
        kind: Fields,
        meaning: "What a call may use; the settings may allow less.",
        example: "{\"maxCallsPerMinute\": 30}",
        enforced: "every call",
        ..TEXT
    },
    Field {
        path: "limits.maxSentBytes",
        kind: Integer {
            least: 1,
            most: MAX_BYTES,
        },
        meaning: "How many bytes all requests of a call may have together.",
        example: "65536",
        enforced: "before a request is sent",
        ..TEXT
    },
    Field {
        path: "limits.maxReceivedBytes",
        kind: Integer {
            least: 1,
            most: MAX_BYTES,
        },
        meaning: "How many bytes all answers of a call may have together, unpacked.",
        example: "1048576",
        enforced: "while an answer comes in",
        ..TEXT
    },
    Field {
        path: "limits.maxCallsPerMinute",
        kind: Integer {
            least: 1,
            most: 1_000_000,
        },
        meaning: "How many calls a minute may have.",
        example: "30",
        enforced: "every call: RATE_LIMITED",
        ..TEXT
    },
    Field {
        path: "limits.maxConcurrent",
        kind: Integer {
            least: 1,
            most: 100_000,
        },
        meaning: "How many calls may run at once.",
        example: "4",
        enforced: "every call",
        ..TEXT
    },
    Field {
        path: "limits.maxInputBytes",
        kind: Integer {
            least: 1,
            most: MAX_BYTES,
        },
        meaning: "How large the arguments of a call may be.",
        example: "65536",
        enforced: "every call",
        ..TEXT
    },
    Field {
        path: "limits.maxOutputBytes",
        kind: Integer {
            least: 1,
            most: MAX_BYTES,
        },
        meaning: "How large the value of a call may be.",
        example: "65536",
        enforced: "every call",
        ..TEXT
    },
    Field {
        path: "limits.timeoutMs",
        kind: Integer {
            least: 1,
            most: 24 * 60 * 60 * 1000,
        },
        meaning: "How long a whole call may take, all requests and retries of it, in milliseconds.",
        example: "30000",
        enforced: "every call: TIMEOUT",
        ..TEXT
    },
    Field {
        path: "schemaVersion",
        kind: Value,
        meaning: "The version of the format, as a store writes it.",
        example: "\"1\"",
        enforced: "kept for the store",
        ..TEXT
    },
    Field {
        path: "bundleID",
        meaning: "The bundle's id in a store: a UUID.",
        example: "\"018faf50-b7b6-7a01-9a05-a22a6e0af101\"",
        enforced: "kept for the store; the bundle of a file is its scope",
        ..TEXT
    },
    Field {
        path: "toolID",
        meaning: "The tool's id in a store: a UUID.",
        example: "\"018faf50-b7b6-7a01-9a05-a22a6e0af102\"",
        enforced: "kept for the store",
        ..TEXT
    },
    Field {
        path: "isBuiltIn",
        kind: Boolean,
        default: Some("false"),
        meaning: "Whether the tool is compiled in; a file never is.",
        example: "false",
        enforced: "at load: `true` is refused",
    },
    Field {
        path: "createdAt",
        meaning: "When a store got it first.",
        example: "\"2024-05-14T13:44:00Z\"",
        enforced: "kept for the store",
        ..TEXT
    },
    Field {
        path: "modifiedAt",
        meaning: "When it was changed last in a store.",
        example: "\"2024-06-01T09:17:10Z\"",
        enforced: "kept for the store",
        ..TEXT
    },
    Field {
        path: "lastCalledAt",
        meaning: "When it was called last, as a store says.",
        example: "\"2024-06-01T09:17:10Z\"",
        enforced: "kept for the store",
        ..TEXT
    },
    Field {
        path: "callCount",
        kind: Integer {
            least: 0,
            most: i64::MAX,
        },
        meaning: "How often it was called, as a store says.",
        example: "0",
        enforced: "kept for the store",
        ..TEXT
    },
    Field {
        path: "$schema",
        meaning: "Where an editor finds the JSON Schema of this format.",
        example: "\"toolcrib-http-tool.schema.json\"",
        enforced: "editors only",
        ..TEXT
    },
];

/// Whether a field is one of an HTTP tool's file.
pub fn is_http(field: &Field) -> bool {
    HTTP_FIELDS.iter().any(|own| std::ptr::eq(own, field))
}
