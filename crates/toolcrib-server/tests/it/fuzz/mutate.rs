//! What strangers send: sound requests with something wrong about them.

use serde_json::{Value, json};

use super::known_ids::Known;
use super::random::Random;
use super::requests::encoded;
use super::sent::Sent;

/// Spoils a request in one way.
pub(super) fn mutate(sent: &mut Sent, known: &Known, random: &mut Random) {
    match random.below(16) {
        0 => method(sent, random),
        1..=3 => path(sent, random),
        4 | 5 => query(sent, random),
        6 | 7 => header(sent, random),
        8 => token(sent, known, random),
        9 => content_type(sent, random),
        10..=13 => json_body(sent, random),
        _ => bytes_of_body(sent, random),
    }
}

fn method(sent: &mut Sent, random: &mut Random) {
    let methods = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE", "get",
        "QUERY",
    ];
    sent.method = (*random.pick(&methods)).to_owned();
}

const SEGMENTS: &[&str] = &[
    "",
    ".",
    "..",
    "%2e",
    "%2e%2e",
    "..%2f..%2f",
    "%2F",
    "%2f",
    "%00",
    "a%00b",
    "%ff",
    "%c0%af",
    "%",
    "%2",
    "%zz",
    "%252e%252e",
    "+",
    "a+b",
    "%20",
    "%0d%0aX:1",
    ";x=1",
    "..;",
    "~",
    "*",
    "{id}",
    "%7Bid%7D",
    "null",
    "0",
    "-1",
    "undefined",
    "%F0%9F%94%A7",
    "we%CC%81ather",
    "%E2%80%AE",
    "not-a-uuid",
    "00000000-0000-0000-0000-000000000000",
    "01990000-0000-7000-8000-00000000000G",
    "01990000-0000-4000-8000-000000000001",
    "01990000-0000-7000-8000-000000000001",
    "01990000-0000-7000-8000-00000000000A",
    "{01990000-0000-7000-8000-000000000001}",
    "search",
    "tools",
    "bundles",
    "invoke",
    "version",
    "core",
    "a%2Fb",
    "a_b",
    "A",
    "-",
    "v1..0",
];

fn path(sent: &mut Sent, random: &mut Random) {
    let mut segments: Vec<String> = sent.path.split('/').skip(1).map(str::to_owned).collect();
    let at = random
        .below(segments.len().max(1))
        .min(segments.len().saturating_sub(1));
    let strange = match random.below(12) {
        0 => "a".repeat(1 + random.below(6000)),
        1 => "%E5%A4%A9".repeat(1 + random.below(70)),
        _ => (*random.pick(SEGMENTS)).to_owned(),
    };
    match random.below(9) {
        0..=3 if !segments.is_empty() => segments[at] = strange,
        4 => segments.insert(at, strange),
        5 => segments.push(strange),
        6 if !segments.is_empty() => drop(segments.remove(at)),
        7 if !segments.is_empty() => {
            let segment = &mut segments[at];
            *segment = match random.below(3) {
                0 => segment.to_uppercase(),
                1 => segment.chars().rev().collect(),
                _ => segment.bytes().map(|byte| format!("%{byte:02x}")).collect(),
            };
        }
        _ => segments.push(String::new()),
    }
    sent.path = format!("/{}", segments.join("/"));
}

const TEXTS: &[&str] = &[
    "",
    "true",
    "false",
    "TRUE",
    "1",
    "0",
    "-1",
    "501",
    "500",
    "99999999999999999999",
    "1e3",
    "1.5",
    "NaN",
    "null",
    "[]",
    "%00",
    "%ff",
    "%",
    "%2",
    "a,b,,c",
    ",",
    "%2C",
    "*",
    "\"",
    "a%20OR%201%3D1",
    "NEAR%2F(",
    "%F0%9F%94%A7",
    "%E2%80%AE",
    "..%2F",
    "pending",
    "bnVsbA",
    "eyJ2IjoxfQ",
    "====",
    "simple",
    "detailed",
    "mcp",
    "respond-async",
];

fn query(sent: &mut Sent, random: &mut Random) {
    let mut pairs: Vec<String> = sent
        .query
        .iter()
        .flat_map(|query| query.split('&').map(str::to_owned))
        .collect();
    let text = match random.below(10) {
        0 => "x".repeat(1 + random.below(9000)),
        _ => (*random.pick(TEXTS)).to_owned(),
    };
    const NAMES: &[&str] = &[
        "pageSize",
        "pageToken",
        "q",
        "tags",
        "includeDisabled",
        "bundleIDs",
        "status",
        "shape",
        "all",
        "simulate",
        "recommendedPageSize",
        "x",
        "",
        "page%53ize",
        "__proto__",
    ];
    match random.below(6) {
        0 if !pairs.is_empty() => pairs.push(pairs[0].clone()),
        1 if !pairs.is_empty() => {
            let name = pairs[0].split('=').next().unwrap_or_default().to_owned();
            pairs[0] = format!("{name}={text}");
        }
        2 => pairs.push((*random.pick(NAMES)).to_owned()),
        3 => pairs.push(String::new()),
        _ => pairs.push(format!("{}={text}", random.pick(NAMES))),
    }
    sent.query = Some(pairs.join("&"));
}

fn header(sent: &mut Sent, random: &mut Random) {
    const HEADERS: &[(&str, &[u8])] = &[
        ("host", b""),
        ("host", b"evil.example"),
        ("host", b"localhost:1"),
        ("host", b"127.0.0.1"),
        ("host", b"[::1]"),
        ("host", b"localhost.evil.example"),
        ("host", b"\xff"),
        ("origin", b"http://evil.example"),
        ("origin", b"null"),
        ("origin", b"http://localhost"),
        ("origin", b"\xff\xfe"),
        ("accept", b"text/event-stream"),
        ("accept", b"text/html"),
        ("accept", b"application/json;q=0, text/event-stream;q=x"),
        ("accept", b"\xff"),
        ("prefer", b"respond-async"),
        ("prefer", b"respond-async;x=\"\\"),
        ("prefer", b"\xff"),
        ("last-event-id", b"18446744073709551616"),
        ("last-event-id", b"18446744073709551615"),
        ("last-event-id", b"18446744073709551614"),
        ("last-event-id", b"9223372036854775807"),
        ("last-event-id", b"1.18446744073709551615"),
        ("last-event-id", b"2.18446744073709551615"),
        ("last-event-id", b"-1"),
        ("last-event-id", b"0"),
        ("last-event-id", b"\xff"),
        ("x-request-id", b"mine-1"),
        ("x-request-id", b""),
        ("x-request-id", b"a b\tc"),
        ("x-request-id", b"\xe5\xa4\xa9"),
        ("toolcrib-caller", b"cli"),
        ("toolcrib-caller", b"operator"),
        ("toolcrib-caller", b"\xff"),
        (
            "traceparent",
            b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ),
        ("traceparent", b"00-0-0-0"),
        ("traceparent", b"\xff"),
        ("content-encoding", b"gzip"),
        ("transfer-encoding", b"chunked"),
        ("content-length", b"7"),
        ("expect", b"100-continue"),
        ("range", b"bytes=0-1"),
        ("if-match", b"*"),
        ("if-none-match", b"*"),
        ("x-http-method-override", b"DELETE"),
        ("x-forwarded-for", b"127.0.0.1"),
        ("x-forwarded-host", b"evil.example"),
        ("access-control-request-method", b"DELETE"),
        ("cookie", b"token=x"),
        ("upgrade", b"websocket"),
    ];
    let (name, value) = *random.pick(HEADERS);
    match random.below(4) {
        0 => sent.headers.push((name.to_owned(), value.to_vec())),
        1 if random.once_in(4) => sent.set_header("x-long", vec![b'x'; 1 + random.below(20_000)]),
        2 if random.once_in(8) => sent.drop_header("host"),
        _ => sent.set_header(name, value),
    }
}

fn token(sent: &mut Sent, known: &Known, random: &mut Random) {
    let (operator, client) = (&known.operator, &known.client);
    let value = match random.below(14) {
        0 => return sent.drop_header("authorization"),
        1..=5 => format!("Bearer {client}"),
        6 => format!("bearer {operator}"),
        7 => format!("Basic {operator}"),
        8 => format!("Bearer {operator}x"),
        9 => format!("Bearer  {operator}"),
        10 => "Bearer ".to_owned(),
        11 => operator.clone(),
        12 => format!("Bearer {}", "x".repeat(5000)),
        _ => {
            sent.headers.push((
                "authorization".to_owned(),
                format!("Bearer {client}").into_bytes(),
            ));
            return;
        }
    };
    sent.set_header("authorization", value);
}

fn content_type(sent: &mut Sent, random: &mut Random) {
    const TYPES: &[&[u8]] = &[
        b"",
        b"text/plain",
        b"application/JSON",
        b"application/json; charset=utf-8",
        b"application/json; charset=latin1",
        b"application/json;",
        b"application/zip",
        b"multipart/form-data; boundary=x",
        b"application/x-www-form-urlencoded",
        b"application/json, text/plain",
        b"json",
        b"\xff",
        b"application/merge-patch+json",
        b"application/problem+json",
    ];
    match random.once_in(5) {
        true => sent.drop_header("content-type"),
        false => sent.set_header("content-type", *random.pick(TYPES)),
    }
}

fn strange(random: &mut Random) -> Value {
    match random.below(24) {
        0 => json!(null),
        1 => json!(true),
        2 => json!("true"),
        3 => json!(0),
        4 => json!(-1),
        5 => json!(1.5),
        6 => json!(u64::MAX),
        7 => json!(i64::MIN),
        8 => json!(1e308),
        9 => json!(""),
        10 => json!("\u{0}"),
        11 => json!("x".repeat(1 + random.below(3000))),
        12 => json!("\u{202e}\u{200b}\u{feff}"),
        13 => json!("../../etc/passwd"),
        14 => json!("${SECRET} {{x}} $(id) `id`"),
        15 => json!([]),
        16 => json!({}),
        17 => json!([null, [[]], {"a": {}}]),
        18 => json!({"$ref": "#"}),
        19 => json!({"type": "object", "properties": {"x": {"type": "string", "pattern": "("}}}),
        20 => json!({"__proto__": 1, "": 2, "a/b~c": 3}),
        21 => json!("http://169.254.169.254/latest"),
        22 => json!("file:///etc/passwd"),
        _ => json!("\u{1F527}"),
    }
}

/// Somewhere in a value.
fn somewhere<'a>(value: &'a mut Value, random: &mut Random) -> &'a mut Value {
    if random.once_in(3) {
        return value;
    }
    let count = match &*value {
        Value::Object(fields) => fields.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    if count == 0 {
        return value;
    }
    let at = random.below(count);
    match value {
        Value::Object(fields) => somewhere(fields.values_mut().nth(at).unwrap(), random),
        Value::Array(items) => somewhere(&mut items[at], random),
        other => other,
    }
}

fn json_body(sent: &mut Sent, random: &mut Random) {
    let body = sent.body.clone().unwrap_or_else(|| b"{}".to_vec());
    let Ok(mut value) = serde_json::from_slice::<Value>(&body) else {
        return bytes_of_body(sent, random);
    };
    if sent.header("content-type").is_none() {
        sent.set_header("content-type", "application/json");
    }
    let place = somewhere(&mut value, random);
    match (random.below(6), &mut *place) {
        (0, Value::Object(fields)) if !fields.is_empty() => {
            let at = random.below(fields.len());
            let name = fields.keys().nth(at).unwrap().clone();
            fields.remove(&name);
        }
        (1, Value::Object(fields)) => drop(fields.insert("x".to_owned(), strange(random))),
        (2, Value::Object(fields)) if !fields.is_empty() => {
            let at = random.below(fields.len());
            *fields.values_mut().nth(at).unwrap() = strange(random);
        }
        (3, place) => *place = json!([place.take()]),
        (_, place) => *place = strange(random),
    }
    let mut text = value.to_string();
    match random.below(16) {
        // The same key twice.
        0 => text = text.replacen('{', "{\"approved\":true,\"isEnabled\":true,\"args\":{},", 1),
        1 => {
            let number = *random.pick(&[
                "1e400",
                "-1e999",
                "1e-999",
                "-0",
                "9223372036854775808",
                "18446744073709551616",
                "0.1e1",
                "01",
                "1.",
                "NaN",
                "Infinity",
                "0x1",
            ]);
            text = replaced_somewhere(&text, number, random);
        }
        2 => {
            let string = *random.pick(&[
                r#""\ud800""#,
                r#""\udc00\ud800""#,
                r#""\u0000""#,
                r#""\x""#,
                "\"\t\"",
                "'x'",
                "\"\u{7f}\"",
            ]);
            text = replaced_somewhere(&text, string, random);
        }
        3 => {
            let depth = *random.pick(&[50, 127, 128, 129, 1000, 20_000]);
            let (open, close) = *random.pick(&[("[", "]"), ("{\"a\":", "}")]);
            let inner = if open == "[" { "" } else { "1" };
            let deep = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
            text = replaced_somewhere(&text, &deep, random);
        }
        4 => text.push_str(random.pick::<&str>(&["x", "{}", ",", "\0", " \n\t "])),
        6 => text = replaced_somewhere(&text, &large_below_long(random), random),
        7 => {
            let name = *random.pick(&["a~/b", "\u{202e}", "n", "long name of a level, "]);
            let name = name.repeat(1 + random.below(40));
            let wrong =
                *random.pick(&["1e400", "18446744073709551616", "[1,]", "{\"x\":1,\"x\":2}"]);
            let depth = 1 + random.below(120);
            let deep = format!(
                "{}{wrong}{}",
                format!("{{\"{name}\":").repeat(depth),
                "}".repeat(depth)
            );
            text = replaced_somewhere(&text, &deep, random);
        }
        5 => text.insert_str(0, random.pick::<&str>(&["\u{feff}", "\n", "//\n", "/**/"])),
        _ => {}
    }
    sent.body = Some(text.into_bytes());
}

/// Many numbers that a reader may have to look at twice, below a long name: a reader that notes the place of each needs the product of both.
fn large_below_long(random: &mut Random) -> String {
    let (name, count) = match random.once_in(50) {
        true => (500_000, 100_000),
        false => (random.below(5_000), random.below(500)),
    };
    let number = *random.pick(&["1e20", "-1e300", "18446744073709551615", "1E+19"]);
    let last = *random.pick(&["1", "1e20", "18446744073709551616", "-9223372036854775809"]);
    format!(
        "{{\"{}\":[{}{last}]}}",
        "k".repeat(name),
        format!("{number},").repeat(count)
    )
}

/// A text of JSON with one of its values, or names, replaced by another text.
fn replaced_somewhere(text: &str, by: &str, random: &mut Random) -> String {
    let places: Vec<usize> = text.match_indices(':').map(|(at, _)| at + 1).collect();
    if places.is_empty() {
        return by.to_owned();
    }
    let at = *random.pick(&places);
    let end = text[at..]
        .find([',', '}', ']'])
        .map_or(text.len(), |end| at + end);
    format!("{}{by}{}", &text[..at], &text[end..])
}

fn bytes_of_body(sent: &mut Sent, random: &mut Random) {
    let mut body = sent.body.clone().unwrap_or_default();
    match random.below(9) {
        0 => body.truncate(random.below(body.len() + 1)),
        1 => body.clear(),
        2 if !body.is_empty() => {
            for _ in 0..1 + random.below(4) {
                let at = random.below(body.len());
                body[at] ^= 1 << random.below(8);
            }
        }
        3 => body.extend_from_slice(b"\xff\xfe\0"),
        4 => {
            body = (0..random.below(300))
                .map(|_| random.next().to_le_bytes()[0])
                .collect();
        }
        5 if !body.is_empty() => {
            let at = random.below(body.len());
            let end = (at + random.below(20)).min(body.len());
            let piece = body[at..end].to_vec();
            body.splice(at..at, piece);
        }
        6 => sent.body = None,
        7 => body = encoded(&String::from_utf8_lossy(&body)).into_bytes(),
        _ => body = b"null".to_vec(),
    }
    if sent.body.is_some() || !body.is_empty() {
        sent.body = Some(body);
    }
}
