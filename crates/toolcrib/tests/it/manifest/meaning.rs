//! What fields mean, and what does not go together.

use serde_json::{Value, json};
use toolcrib::definition::{Problem, Severity};
use toolcrib::manifest::{
    Auth, ErrorMode, Extract, OauthGrant, Placeholder, ResponseEncoding, fix, read,
};

use super::{codes, loads, refused, shown, tool, warned, with};

fn get(more: Value) -> Value {
    let mut request = json!({"urlTemplate": "https://a.example/"});
    for (key, value) in more.as_object().unwrap() {
        request[key] = value.clone();
    }
    request
}

#[test]
fn headers_that_frame_a_message_cannot_be_set() {
    for name in [
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Proxy-Authorization",
        "TE",
        "Upgrade",
        "Expect",
        "a b",
        "",
        "x\ny",
        "Ü",
    ] {
        assert_eq!(
            refused(&tool(get(json!({"headers": {name: "x"}})))),
            ["bad-header"],
            "{name}"
        );
    }
    assert_eq!(
        refused(&tool(get(json!({"headers": {"X-A": "1", "x-a": "2"}})))),
        ["duplicate-key"]
    );
    for value in ["a\r\nb", "a\nb", "a\u{0}b", "${city}\r\n"] {
        assert_eq!(
            refused(&tool(get(json!({"headers": {"X-A": value}})))),
            ["control-character"],
            "{value:?}"
        );
    }
}

#[test]
fn a_name_is_an_argument_a_variable_or_else_a_secret() {
    let request = get(json!({"headers": {
        "X-A": "${city} ${version} ${slug} ${displayName} ${API_KEY} $${city} $5",
    }}));
    let definition = loads(&tool(request));
    let value = &definition.requests[0].headers[0].1;
    let names: Vec<&str> = value.placeholders().map(Placeholder::name).collect();
    assert_eq!(names, ["city", "version", "slug", "displayName", "API_KEY"]);
    assert_eq!(
        value.shown(|one| format!("<{}>", one.name())),
        "<city> <version> <slug> <displayName> <API_KEY> ${city} $5"
    );
    for (text, code) in [
        ("${", "unclosed-placeholder"),
        ("${a${city}", "unclosed-placeholder"),
        ("${}", "bad-placeholder"),
        ("${ city }", "bad-placeholder"),
        ("${city.name}", "bad-placeholder"),
        ("${a-b}", "bad-placeholder"),
        ("${1a}", "bad-placeholder"),
        ("${prev.value}", "bad-placeholder"),
        ("${prev.value.id}", "bad-placeholder"),
    ] {
        assert_eq!(
            refused(&tool(get(json!({"headers": {"X-A": text}})))),
            [code],
            "{text}"
        );
    }
}

#[test]
fn what_came_before_is_known_from_the_second_request_on() {
    let two = json!([get(json!({})), {"urlTemplate": "https://a.example/${prev.value}"}]);
    let definition = loads(&tool(two));
    assert_eq!(definition.requests.len(), 2);
    assert_eq!(definition.targets().len(), 1);
    assert_eq!(refused(&tool(json!([]))), ["out-of-range"]);
    let many: Vec<Value> = (0..21).map(|_| get(json!({}))).collect();
    assert_eq!(refused(&tool(many.into())), ["out-of-range"]);
}

#[test]
fn a_secret_that_is_nearly_an_argument_is_doubted_and_put_right() {
    let text =
        tool(json!({"urlTemplate": "https://a.example/?a=${city}", "headers": {"X-A": "${ciy}"}}));
    assert_eq!(warned(&text), ["secret-or-argument"]);
    let fixed = fix(text.as_bytes(), "tool");
    assert!(
        String::from_utf8(fixed.bytes)
            .unwrap()
            .contains("\"X-A\": \"${city}\"")
    );
    assert!(fixed.reading.definition.is_some());
}

#[test]
fn an_argument_that_may_be_left_out_is_doubtful_in_a_template() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string", "description": "A city"}}});
    let text = with(
        json!({"argSchema": schema}),
        json!({"urlTemplate": "https://a.example/?q=${city}"}),
    );
    assert_eq!(warned(&text), ["optional-placeholder"]);
}

#[test]
fn credentials_are_made_of_secrets_and_never_of_arguments() {
    let auth = |auth: Value| tool(get(json!({"auth": auth})));
    let definition = loads(&auth(
        json!({"type": "basic", "username": "me", "password": "${PASSWORD}"}),
    ));
    assert!(matches!(
        definition.requests[0].auth,
        Some(Auth::Basic { .. })
    ));
    assert_eq!(definition.secrets()[0].as_str(), "PASSWORD");
    for (value, code) in [
        (
            json!({"type": "bearer", "token": "${city}"}),
            "argument-as-credential",
        ),
        (
            json!({"type": "bearer", "token": "${version}"}),
            "bad-placeholder",
        ),
        (
            json!({"type": "bearer", "token": "${prev.value}"}),
            "bad-placeholder",
        ),
        (json!({"type": "bearer"}), "missing-field"),
        (json!({"token": "${TOKEN}"}), "missing-field"),
        (
            json!({"type": "bearer", "token": "${TOKEN}", "password": "x"}),
            "without-effect",
        ),
        (json!({"type": "magic"}), "unknown-value"),
        (
            json!({"type": "hmac", "key": "${KEY}", "signatureHeader": "Host"}),
            "bad-header",
        ),
        (
            json!({"type": "hmac", "key": "${KEY}", "signatureHeader": "x-timestamp"}),
            "bad-header",
        ),
        (
            json!({"type": "hmac", "key": "${KEY}", "keyIdHeader": "x"}),
            "without-effect",
        ),
        (
            json!({"type": "hmac", "key": "${KEY}", "algorithm": "md5"}),
            "unknown-value",
        ),
        (
            json!({"type": "oauth2", "clientId": "a", "clientSecret": "${S}"}),
            "missing-field",
        ),
        (
            json!({"type": "oauth2", "clientId": "a", "tokenUrl": "https://a.example/t"}),
            "missing-field",
        ),
        (
            json!({"type": "oauth2", "clientId": "a", "clientSecret": "${S}", "tokenUrl": "https://${city}.example/t"}),
            "bad-placeholder",
        ),
        (
            json!({"type": "oauth2", "clientId": "a", "clientSecret": "${S}", "tokenUrl": "file:///t"}),
            "url-host",
        ),
        (
            json!({"type": "oauth2", "clientId": "a", "clientSecret": "${S}", "refreshToken": "${R}", "tokenUrl": "https://a.example/t"}),
            "without-effect",
        ),
    ] {
        assert_eq!(refused(&auth(value.clone())), [code], "{value}");
    }
    assert_eq!(
        warned(&auth(json!({"type": "bearer", "token": "abc"}))),
        ["credential-in-file"]
    );
    let refresh = loads(&auth(json!({
        "type": "oauth2", "grant": "refresh_token", "refreshToken": "${R}", "clientId": "a", "scope": "x y",
        "tokenUrl": "https://auth.example/t",
    })));
    assert!(matches!(
        &refresh.requests[0].auth,
        Some(Auth::Oauth2 {
            grant: OauthGrant::Refresh(_),
            scope: Some(_),
            ..
        })
    ));
    assert_eq!(refresh.targets().len(), 2);
    let both = tool(get(
        json!({"auth": {"type": "bearer", "token": "${T}"}, "headers": {"authorization": "x"}}),
    ));
    assert_eq!(refused(&both), ["bad-header"]);
}

#[test]
fn the_tools_auth_and_retry_are_those_of_every_request() {
    let requests = json!([
        get(json!({})),
        get(
            json!({"auth": {"type": "basic", "username": "a", "password": "${P}"}, "retry": {"max": 0}})
        ),
    ]);
    let definition = loads(&with(
        json!({"auth": {"type": "bearer", "token": "${T}"}, "retry": {"max": 5, "nonIdempotent": true}}),
        requests,
    ));
    let [first, second] = definition.requests.as_slice() else {
        panic!()
    };
    assert!(
        matches!(first.auth, Some(Auth::Bearer { .. }))
            && matches!(second.auth, Some(Auth::Basic { .. }))
    );
    assert_eq!((first.retry.max, first.retry.non_idempotent), (5, true));
    assert_eq!((second.retry.max, second.retry.non_idempotent), (0, false));
}

#[test]
fn what_is_taken_of_an_answer_is_a_path_or_a_pattern() {
    let extract = |text: &str| tool(get(json!({"extractExpr": text})));
    assert!(matches!(
        loads(&extract("$.a[0]")).requests[0].extract,
        Some(Extract::Path(_))
    ));
    assert!(loads(&extract("")).requests[0].extract.is_none());
    let Some(Extract::Pattern(pattern)) = &loads(&extract("/temp: (\\d+)/i")).requests[0].extract
    else {
        panic!("no pattern");
    };
    assert!(pattern.is_match("TEMP: 12"));
    for text in [
        "a.b",
        "$.a[",
        "/a(/",
        "/a/x",
        "/a",
        "/(a{1000}){1000}/",
        "/(?=a)/",
    ] {
        assert_eq!(refused(&extract(text)), ["bad-extract"], "{text}");
    }
    let text = tool(get(
        json!({"extractExpr": "$.a", "responseEncoding": "text"}),
    ));
    assert_eq!(refused(&text), ["bad-extract"]);
    let text = loads(&tool(get(
        json!({"responseEncoding": "text", "errorMode": "empty"}),
    )));
    assert_eq!(text.requests[0].encoding, ResponseEncoding::Text);
    assert_eq!(text.requests[0].error_mode, ErrorMode::Empty);
}

#[test]
fn schemas_are_bounded_and_refer_to_nothing_else() {
    let mut deep = json!({"type": "string"});
    for _ in 0..25 {
        deep = json!({"allOf": [deep]});
    }
    for schema in [
        json!({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9999/s.json"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}),
        json!({"type": "array"}),
        json!({"type": "object", "properties": {"a": {"type": "strin"}}}),
    ] {
        let text = with(json!({"argSchema": schema}), get(json!({})));
        let codes = refused(&text);
        assert!(
            codes.iter().all(|code| *code == "bad-schema"),
            "{schema}: {codes:?}"
        );
        let output = with(
            json!({"outputSchema": {"$ref": "http://a.example/"}}),
            get(json!({})),
        );
        assert_eq!(refused(&output), ["bad-schema"]);
    }
    let wide: Vec<Value> = (0..10_000).map(|_| json!({"type": "string"})).collect();
    let wide = json!({"type": "object", "properties": {"a": {"oneOf": wide}}});
    assert!(!refused(&with(json!({"argSchema": wide}), get(json!({})))).is_empty());
    for name in ["version", "slug", "displayName", "prev.value"] {
        let schema =
            json!({"type": "object", "properties": {name: {"type": "string", "description": "x"}}});
        assert_eq!(
            refused(&with(json!({"argSchema": schema}), get(json!({})))),
            ["reserved-name"],
            "{name}"
        );
    }
    let nothing = with(json!({"argSchema": {}}), get(json!({})));
    assert_eq!(loads(&nothing).arguments().count(), 0);
}

#[test]
fn names_come_from_the_file_if_it_does_not_say_any() {
    let text =
        r#"{"description": "d", "tags": ["read"], "impl": {"urlTemplate": "https://a.example/"}}"#;
    let name = |stem: &str| {
        read(text.as_bytes(), stem)
            .definition
            .map(|tool| (tool.name.to_string(), tool.slug.to_string()))
    };
    assert_eq!(
        name("get_weather"),
        Some(("get_weather".to_owned(), "get-weather".to_owned()))
    );
    assert_eq!(
        name("weather-now"),
        Some(("weather-now".to_owned(), "weather-now".to_owned()))
    );
    assert_eq!(name("天気").unwrap().1, "天気");
    assert_eq!(name("a b"), None);
    assert_eq!(
        refused(&with(json!({"slug": "a_b"}), get(json!({})))),
        ["bad-name"]
    );
    assert_eq!(
        refused(&with(json!({"version": "a/b"}), get(json!({})))),
        ["bad-name"]
    );
}

#[test]
fn other_kinds_of_tools_are_refused_with_what_to_do() {
    for kind in ["go", "rust", "command", "mcp", "alias"] {
        let reading = read(
            with(json!({"type": kind}), get(json!({}))).as_bytes(),
            "tool",
        );
        assert_eq!(codes(&reading, Severity::Error), ["not-http"], "{kind}");
        assert!(
            reading
                .problems
                .iter()
                .any(|one| one.code == "not-http" && one.help.is_some())
        );
    }
    assert_eq!(
        refused(&with(json!({"isBuiltIn": true}), get(json!({})))),
        ["not-http"]
    );
}

#[test]
fn what_a_store_writes_is_accepted_and_null_is_what_is_not_said() {
    let store = json!({
        "schemaVersion": "1", "bundleID": "018faf50-b7b6-7a01-9a05-a22a6e0af101",
        "toolID": "018faf50-b7b6-7a01-9a05-a22a6e0af102", "createdAt": "2024-05-14T13:44:00Z",
        "modifiedAt": "2024-05-14T13:44:00Z", "lastCalledAt": "2024-05-14T13:44:00Z", "callCount": 3,
        "isBuiltIn": false, "isEnabled": false, "outputSchema": null, "displayName": null, "limits": null,
    });
    let definition = loads(&with(
        store,
        get(json!({"headers": null, "auth": null, "successCodes": null})),
    ));
    assert!(!definition.is_enabled);
}

#[test]
fn slips_of_the_pen_are_put_right() {
    let text = "{\n  description: \"Says hello\",\n  \"tags\": \"read\"\n  \"impl\": {\"metod\": \"get\", \"urlTempalte\": \"https://a.example/\", \"timeoutMs\": \"500\",}\n}\n";
    let fixed = fix(text.as_bytes(), "tool");
    let after = String::from_utf8(fixed.bytes).unwrap();
    assert_eq!(
        after,
        "{\n  \"description\": \"Says hello\",\n  \"tags\": [\"read\"],\n  \"impl\": {\"method\": \"GET\", \"urlTemplate\": \"https://a.example/\", \"timeoutMs\": 500,}\n}\n",
        "{}",
        shown(&fixed.reading)
    );
    assert!(
        fixed.reading.definition.is_some(),
        "{}",
        shown(&fixed.reading)
    );
}

#[test]
fn a_problem_in_an_escaped_text_is_at_its_place() {
    let text = r#"{"description": "d", "tags": ["read"], "impl": {"urlTemplate": "https://a.example/\u00e9?a=${a b}"}}"#;
    let reading = read(text.as_bytes(), "tool");
    let wrong: Vec<&Problem> = reading
        .problems
        .iter()
        .filter(|one| one.severity == Severity::Error)
        .collect();
    assert_eq!(&text[wrong[0].span.clone()], "${a b}");
}

#[test]
fn limits_are_read_into_their_places() {
    let limits = json!({
        "maxSentBytes": 100, "maxReceivedBytes": 200, "maxCallsPerMinute": 3, "timeoutMs": 4000, "maxOutputBytes": 5,
    });
    let definition = loads(&with(json!({"limits": limits}), get(json!({}))));
    assert_eq!(
        (definition.max_sent, definition.max_received),
        (Some(100), Some(200))
    );
    assert_eq!(definition.limits.max_calls_per_minute, Some(3));
    assert_eq!(definition.limits.timeout_ms, Some(4000));
    assert_eq!(
        refused(&with(
            json!({"limits": {"maxSentBytes": -1}}),
            get(json!({}))
        )),
        ["out-of-range"]
    );
}

#[test]
fn credentials_outside_of_auth_are_seen_too() {
    for request in [
        json!({"headers": {"Authorization": "Bearer ghp_0123456789abcdefghij"}}),
        json!({"headers": {"X-Api-Key": "abc123"}}),
        json!({"headers": {"X-Trace": "sk-live-0123456789abcdef"}}),
        json!({"urlTemplate": "https://a.example/?q=1&api_key=abc123"}),
        json!({"urlTemplate": "https://a.example/?x=ghp_0123456789abcdefghij"}),
    ] {
        let found = warned(&tool(get(request.clone())));
        assert!(
            found.contains(&"credential-in-file"),
            "{request}: {found:?}"
        );
    }
    for request in [
        json!({"headers": {"Authorization": "Bearer ${KEY}", "X-Api-Key": "${KEY}", "Accept": "text/plain"}}),
        json!({"urlTemplate": "https://a.example/?api_key=${KEY}&keyword=abc123"}),
    ] {
        let found = warned(&tool(get(request.clone())));
        assert!(
            !found.contains(&"credential-in-file"),
            "{request}: {found:?}"
        );
    }
}

#[test]
fn placeholders_of_other_languages_are_doubted() {
    for (request, is_doubted) in [
        (json!({"urlTemplate": "https://a.example/{city}"}), true),
        (
            json!({"urlTemplate": "https://a.example/?q={{city}}"}),
            true,
        ),
        (json!({"urlTemplate": "https://a.example/?q=$city"}), true),
        (json!({"urlTemplate": "https://a.example/{unknown}"}), true),
        (json!({"headers": {"X-City": "{city}"}}), true),
        (json!({"headers": {"X-City": "{unknown} $unknown"}}), false),
        (
            json!({"urlTemplate": "https://a.example/?q=$filter&x=${city}"}),
            false,
        ),
        (json!({"urlTemplate": "https://a.example/$${city}"}), false),
    ] {
        let found = warned(&tool(get(request.clone())));
        let has = found.contains(&"not-a-placeholder");
        assert_eq!(has, is_doubted, "{request}: {found:?}");
    }
}
