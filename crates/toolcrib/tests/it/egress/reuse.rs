//! Connections that serve several requests, and what becomes of them when they cannot.

use super::*;
use http::Method;
use toolcrib::testing::Reply;

#[tokio::test]
async fn requests_one_after_the_other_share_a_connection() {
    let server = ScriptedServer::start(|request| Reply::ok(request.target.clone()));
    let egress = to(&server);
    for at in 0..20 {
        let path = format!("/{at}");
        assert_eq!(
            fetch(&egress.clone(), &server.url(&path))
                .await
                .unwrap()
                .body,
            path
        );
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_requests_at_once_are_all_answered_each_with_its_own() {
    let server = ScriptedServer::start(|request| Reply::ok(request.target.clone()));
    let egress = to(&server);
    let tasks: Vec<_> = (0..1000)
        .map(|at| {
            let (egress, url) = (egress.clone(), server.url(&format!("/{at}")));
            tokio::spawn(async move {
                let mut request = get(&url);
                request.timeout = Duration::from_secs(30);
                egress.send(request).await.unwrap().body
            })
        })
        .collect();
    for (at, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), format!("/{at}"));
    }
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_replaced() {
    let server = ScriptedServer::start(|_| Reply::ok("x").close());
    let egress = to(&server);
    let mut answered = 0;
    for _ in 0..20 {
        let mut request = get(&server.url("/"));
        request.method = Method::POST;
        request.body = "once".into();
        // A close that arrives together with the request may look like a lost answer, which no one repeats for us.
        match egress.send(request).await {
            Ok(response) => {
                assert_eq!(response.body, "x");
                answered += 1;
            }
            Err(EgressError::Network { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert!(
        answered > 10,
        "{answered}: that is the exception, not the rule"
    );
    assert!(server.received().len() <= 20, "no request is sent twice");
}

#[tokio::test]
async fn an_answer_that_was_not_read_to_its_end_ends_its_connection() {
    let server = ScriptedServer::script([Reply::ok(vec![b'x'; 100_000]), Reply::ok("second")]);
    let egress = to(&server);
    let mut small = get(&server.url("/"));
    small.max_received = 10;
    assert!(egress.send(small).await.is_err());
    assert_eq!(
        fetch(&egress, &server.url("/")).await.unwrap().body,
        "second"
    );
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn what_a_server_sends_after_its_answer_answers_no_other_request() {
    let smuggled = "HTTP/1.1 200 x\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 x\r\nContent-Length: 4\r\n\r\nevil";
    let server = ScriptedServer::start(move |request| match request.target.as_str() {
        "/first" => Reply::raw(smuggled),
        _ => Reply::ok("right"),
    });
    let egress = to(&server);
    assert_eq!(
        fetch(&egress, &server.url("/first")).await.unwrap().body,
        "ok"
    );
    let mut tries = 0;
    let second = loop {
        tries += 1;
        match fetch(&egress, &server.url("/second")).await {
            Ok(response) => break response,
            Err(error) => assert!(tries < 3, "{error}"),
        }
    };
    assert_eq!(second.body, "right");
}
