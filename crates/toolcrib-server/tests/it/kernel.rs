//! What happens to every request before a handler sees it: paths, methods, queries, bodies, ids.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, StreamBody};
use serde_json::{Value, json};
use toolcrib_server::api::{Peer, Stage};

use crate::harness::{OPERATOR, Scene};

fn code(body: &Value) -> &str {
    body["error"]["code"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_path_is_read_strictly() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    for bad in [
        "//api/health",
        "/api//clients",
        "/api/./clients",
        "/api/../api/clients",
        "/api/clients/%2e%2e",
        "/api/clients/%2E",
        "/api/clients/..%2f..%2f",
        "/api/clients/a%2fb",
        "/api/clients/a%5Cb",
        "/api/clients/a%00b",
        "/api/clients/a%0Ab",
        "/api/clients/%C2%85",
        "/api/clients/%ff",
        "/api/clients/%ed%a0%80",
        "/api/clients/%c0%af",
        "/api/clients/%",
        "/api/clients/%2",
        "/api/clients/%zz",
        "/api/clients/%+1",
        "/tools//bundles/./x/../",
    ] {
        let (status, body) = operator.delete(bad).await;
        assert_eq!((status.as_u16(), code(&body)), (400, "USAGE"), "{bad}");
    }
    let long = format!("/api/clients/{}", "a".repeat(5000));
    assert_eq!(operator.delete(&long).await.0, 400);
    for unknown in [
        "/api",
        "/api/",
        "/api/health/",
        "/API/health",
        "/api/health;x",
        "/api/clients/",
    ] {
        let (status, body) = operator.get(unknown).await;
        assert_eq!(
            (status.as_u16(), code(&body)),
            (404, "NOT_FOUND"),
            "{unknown}"
        );
    }
}

#[tokio::test]
async fn what_may_not_be_in_a_segment_is_named() {
    let scene = Scene::new();
    for (path, named) in [
        ("a%2Fb", "U+002F"),
        ("a%00b", "U+0000"),
        ("a%0Ab", "U+000A"),
    ] {
        let (_, body) = scene
            .as_operator()
            .delete(&format!("/api/clients/{path}"))
            .await;
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains(named), "{message}");
    }
}

#[tokio::test]
async fn a_segment_is_decoded_once() {
    let scene = Scene::new();
    let (status, body) = scene.as_operator().delete("/api/clients/a%252fb").await;
    assert_eq!(status, 404);
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("a%2fb"), "{message}");
    // A fixed segment may be written in two ways, and is the same route with the same rights.
    assert_eq!(scene.as_nobody().get("/api/%68ealth").await.0, 200);
    assert_eq!(scene.as_nobody().get("/api/%63lients").await.0, 401);
}

#[tokio::test]
async fn without_a_token_no_one_can_tell_what_is_there() {
    let scene = Scene::new();
    let nobody = scene.as_nobody();
    let (_, expected) = nobody.get("/api/clients").await;
    for path in [
        "/api/nothing",
        "/nothing",
        "/api/clients/x",
        "/api//clients",
        "/api/%zz",
        "/tools",
        "/tools/..%2f",
    ] {
        for method in [Method::GET, Method::PUT, Method::OPTIONS, Method::TRACE] {
            let (status, body) = nobody.send(method.clone(), path, None).await;
            assert_eq!(
                (status.as_u16(), &body),
                (401, &expected),
                "{method} {path}"
            );
        }
    }
    // An open route is open for its own method only.
    assert_eq!(nobody.delete("/api/health").await.0, 401);
}

#[tokio::test]
async fn another_method_is_answered_with_the_allowed_ones() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let response = operator.raw(Method::PATCH, "/api/clients", "", None).await;
    assert_eq!(response.status(), 405);
    assert_eq!(response.headers()["allow"], "GET, HEAD, OPTIONS, POST");
    let response = operator
        .raw(Method::OPTIONS, "/api/clients", "", None)
        .await;
    assert_eq!(response.status(), 204);
    assert_eq!(response.headers()["allow"], "GET, HEAD, OPTIONS, POST");
    let other: Method = "BREW".parse().unwrap();
    let (status, body) = operator.send(other, "/api/clients", None).await;
    assert_eq!((status.as_u16(), code(&body)), (405, "METHOD_NOT_ALLOWED"));
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let (_, whole) = operator.get("/api/openapi.json").await;
    let response = operator
        .raw(Method::HEAD, "/api/openapi.json", "", None)
        .await;
    assert_eq!(response.status(), 200);
    assert_eq!(
        response.headers()["content-length"],
        whole.to_string().len().to_string()
    );
    assert_eq!(response.headers()["content-type"], "application/json");
    assert!(
        response
            .into_body()
            .collect()
            .await
            .unwrap()
            .to_bytes()
            .is_empty()
    );
    assert_eq!(
        scene
            .as_nobody()
            .raw(Method::HEAD, "/api/clients", "", None)
            .await
            .status(),
        401
    );
}

#[tokio::test]
async fn a_query_has_only_what_the_route_knows_and_that_once() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    for bad in [
        "x=1",
        "pageSize=1&pageSize=1",
        "pageSize=1&page%53ize=2",
        "pagesize=1",
        "pageSize",
        "pageSize=",
        "pageSize=0",
        "pageSize=501",
        "pageSize=1e1",
        "pageSize=%2B1",
        "pageSize=99999999999999999999999",
        "pageToken=%zz",
        "pageToken=%ff",
        "pageToken=abc",
        "=1",
    ] {
        let (status, body) = operator.get(&format!("/api/clients?{bad}")).await;
        assert_eq!((status.as_u16(), code(&body)), (400, "USAGE"), "{bad}");
    }
    for good in ["", "&", "pageSize=500", "%70ageSize=1"] {
        assert_eq!(
            operator.get(&format!("/api/clients?{good}")).await.0,
            200,
            "{good}"
        );
    }
    // A client without a token learns nothing about parameters.
    assert_eq!(scene.as_nobody().get("/api/clients?x=1").await.0, 401);
    assert_eq!(scene.as_nobody().get("/api/health?x=1").await.0, 400);
}

#[tokio::test]
async fn a_body_is_of_the_right_type() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let body = || Some(Bytes::from_static(b"{\"name\": \"..\"}"));
    for (content, status) in [
        ("application/json", 400),
        ("application/json; charset=utf-8", 400),
        ("Application/JSON;charset=\"UTF-8\"", 400),
        ("application/json; charset=utf-16", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/json-patch+json", 415),
        ("application/zip", 415),
        ("", 415),
    ] {
        let response = operator
            .raw(Method::POST, "/api/clients", content, body())
            .await;
        assert_eq!(response.status().as_u16(), status, "{content}");
    }
    let packed = scene.as_operator().header("content-encoding", "gzip");
    assert_eq!(
        packed.post("/api/clients", json!({"name": "a"})).await.0,
        415
    );
}

#[tokio::test]
async fn a_route_without_a_body_refuses_one() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let body = Some(Bytes::from_static(b"{}"));
    let (status, answer) = operator.send(Method::GET, "/api/clients", body).await;
    assert_eq!((status.as_u16(), code(&answer)), (400, "USAGE"));
    assert_eq!(
        operator
            .send(Method::GET, "/api/clients", Some(Bytes::new()))
            .await
            .0,
        200
    );
}

#[tokio::test]
async fn a_missing_body_is_missed() {
    let scene = Scene::new();
    for body in [None, Some(Bytes::new())] {
        let (status, answer) = scene
            .as_operator()
            .send(Method::POST, "/api/clients", body)
            .await;
        assert_eq!((status.as_u16(), code(&answer)), (400, "USAGE"));
    }
}

#[tokio::test]
async fn bodies_that_are_not_strict_json_are_refused_with_their_place() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    for (bad, pointer) in [
        ("{\"name\":\"a\",\"name\":\"b\"}", "/name"),
        ("{\"name\":7}", "/name"),
        ("{\"name\":\"a\",\"x\":1}", ""),
        ("{}", ""),
        ("null", ""),
        ("[]", ""),
        ("{\"name\":\"\\ud800\"}", "/name"),
        ("{\"name\":1e400}", "/name"),
        ("{\"name\":NaN}", "/name"),
        ("{\"name\":\"a\"} {}", ""),
        ("\u{feff}{\"name\":\"a\"}", ""),
        ("{\"name\":", "/name"),
        ("", ""),
    ] {
        let body = Some(Bytes::from(bad));
        let (status, answer) = operator.send(Method::POST, "/api/clients", body).await;
        assert_eq!(
            (status.as_u16(), code(&answer)),
            (400, "USAGE"),
            "{bad}: {answer}"
        );
        if !pointer.is_empty() {
            assert_eq!(
                answer["error"]["details"]["pointer"], pointer,
                "{bad}: {answer}"
            );
        }
    }
    assert_eq!(operator.get("/api/clients").await.1, json!({"clients": []}));
}

#[tokio::test]
async fn a_body_has_a_cap_that_is_kept_while_reading() {
    let scene = Scene::with_api(|mut options| {
        options.max_body_bytes = 32;
        options
    });
    let operator = scene.as_operator();
    let long = json!({"name": "a".repeat(64)});
    let (status, body) = operator.post("/api/clients", long).await;
    assert_eq!((status.as_u16(), code(&body)), (413, "PAYLOAD_TOO_LARGE"));
    assert!(
        body["error"]["message"]
            .as_str()
            .unwrap()
            .contains("server.maxBodyBytes")
    );
    // Without a length: what comes is counted.
    let pieces = std::iter::repeat_with(|| {
        Ok::<_, std::io::Error>(http_body::Frame::data(Bytes::from_static(b"        ")))
    });
    let endless = StreamBody::new(futures_util::stream::iter(pieces));
    let request = post_clients(endless);
    assert_eq!(scene.api.answer(request, Peer::Local).await.status(), 413);
    let pieces = ["{\"na", "me\":", "\"a\"}"]
        .map(|piece| Ok::<_, std::io::Error>(http_body::Frame::data(Bytes::from(piece))));
    let request = post_clients(StreamBody::new(futures_util::stream::iter(pieces)));
    assert_eq!(scene.api.answer(request, Peer::Local).await.status(), 201);
}

fn post_clients<B>(body: B) -> Request<B> {
    Request::post("/api/clients")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {OPERATOR}"))
        .header("content-type", "application/json")
        .body(body)
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let scene = Scene::with_api(|mut options| {
        options.body_timeout = Duration::from_millis(1500);
        options
    });
    let never = futures_util::stream::pending::<Result<http_body::Frame<Bytes>, std::io::Error>>();
    let response = scene
        .api
        .answer(post_clients(StreamBody::new(never)), Peer::Local)
        .await;
    assert_eq!(response.status(), 408);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(code(&body), "REQUEST_TIMEOUT");
    assert!(
        body["error"]["message"]
            .as_str()
            .unwrap()
            .contains("server.bodyTimeoutMs")
    );
}

#[tokio::test]
async fn nothing_is_read_of_a_caller_that_may_not_ask() {
    let scene = Scene::new();
    let unread = || {
        let poisoned = futures_util::stream::poll_fn(
            |_| -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
                panic!("the body was read")
            },
        );
        StreamBody::new(poisoned)
    };
    let client = scene.api.tokens().clients().add("app").unwrap().token;
    for (token, status) in [("wrong-token-wrong-token", 401), (client.as_str(), 403)] {
        let request = Request::post("/api/clients")
            .header("host", "localhost")
            .header("authorization", format!("Bearer {token}"))
            .body(unread())
            .unwrap();
        assert_eq!(
            scene
                .api
                .answer(request, Peer::Local)
                .await
                .status()
                .as_u16(),
            status
        );
    }
    let wrong_type = Request::post("/api/clients")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {OPERATOR}"))
        .header("content-type", "text/plain")
        .body(unread())
        .unwrap();
    assert_eq!(
        scene.api.answer(wrong_type, Peer::Local).await.status(),
        415
    );
}

#[tokio::test]
async fn a_sound_request_id_is_kept_and_another_one_replaced() {
    let scene = Scene::new();
    let id_for = async |given: &str| {
        let asking = scene.as_nobody().header("x-request-id", given);
        let response = asking.raw(Method::GET, "/api/health", "", None).await;
        response.headers()["x-request-id"]
            .to_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(id_for("my-id_1.2").await, "my-id_1.2");
    for bad in ["", "a b", "a\"b", "<script>", "a;b", &"a".repeat(129)] {
        let id = id_for(bad).await;
        assert_eq!(id.len(), 36, "{bad} → {id}");
    }
}

#[tokio::test]
async fn every_answer_has_the_common_headers() {
    let scene = Scene::new();
    for path in ["/api/health", "/api/clients", "/nothing", "/", "/api/docs"] {
        let response = scene.as_nobody().raw(Method::GET, path, "", None).await;
        let headers = response.headers();
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(headers["cache-control"], "no-store", "{path}");
        assert!(headers.contains_key("x-request-id"), "{path}");
    }
}

#[tokio::test]
async fn ready_says_where_the_server_is_in_its_life() {
    let scene = Scene::new();
    let nobody = scene.as_nobody();
    assert_eq!(nobody.get("/api/ready").await.0, 200);
    for stage in [Stage::Starting, Stage::Stopping] {
        scene.api.set_stage(stage);
        let (status, body) = nobody.get("/api/ready").await;
        assert_eq!(
            (status, code(&body)),
            (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE")
        );
        assert_eq!(
            nobody.get("/api/health").await.0,
            200,
            "it is there all the same"
        );
    }
}

#[tokio::test]
async fn the_documentation_is_a_page_that_runs_nothing() {
    let scene = Scene::new();
    let response = scene
        .as_nobody()
        .raw(Method::GET, "/api/docs", "", None)
        .await;
    assert_eq!(response.status(), 200);
    assert_eq!(
        response.headers()["content-type"],
        "text/html; charset=utf-8"
    );
    let policy = response.headers()["content-security-policy"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
}

#[tokio::test]
async fn an_absolute_target_is_the_same_route() {
    let scene = Scene::new();
    let request = Request::get("http://localhost/api/health")
        .header("host", "localhost")
        .body(Full::new(Bytes::new()))
        .unwrap();
    assert_eq!(scene.api.answer(request, Peer::Local).await.status(), 200);
}
