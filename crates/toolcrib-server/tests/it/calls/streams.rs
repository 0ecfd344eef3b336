//! Calls as streams of events.

use http::Method;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use toolcrib::approval::ApprovalResponse;

use super::{Frames, Stage, call, names, post_raw};

#[tokio::test]
async fn an_invocation_streams_its_events_and_ends_with_the_outcome() {
    let stage = Stage::new();
    let operator = stage
        .operator()
        .header("accept", "application/json, text/event-stream; q=0.9");
    let answer = post_raw(
        &operator,
        "/api/calls?shape=simple",
        call("print", json!({"times": 2, "bytes": 5})),
    )
    .await;
    let frames = Frames::of(answer).all().await;
    assert_eq!(
        names(&frames),
        ["started", "output", "output", "finished", "outcome"]
    );
    let ids: Vec<&str> = frames.iter().map(|frame| frame.id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3", "4", "4"]);
    assert_eq!(frames[1].data["chunk"], "0:0:0");
    assert_eq!(frames[1].data["event"], "output");
    assert_eq!(frames[1].data["seq"], 2);
    assert_eq!(frames[4].data["output"], "printed");
}

#[tokio::test]
async fn what_is_refused_before_it_begins_is_not_a_stream() {
    let stage = Stage::new();
    let operator = stage.operator().header("accept", "text/event-stream");
    let path = "/tools/bundles/core/tools/read-file/version/v1/invoke";
    let (status, answer) = operator.post(path, json!({"args": {}})).await;
    assert_eq!(status, 400, "{answer}");
    assert_eq!(answer["error"]["code"], "INVALID_ARGUMENTS");
    for (body, expected) in [
        (call("nothing", json!({})), 404),
        (call("shell", json!({"command": "sudo rm -rf /"})), 403),
        (json!({"tool": "ask", "approvals": "given"}), 403),
    ] {
        let (status, answer) = operator.post("/api/calls", body).await;
        assert_eq!(status, expected, "{answer}");
        assert!(answer["metadata"]["callId"].is_string(), "{answer}");
    }
    // A tool that ran and failed did begin.
    let frames = Frames::of(post_raw(&operator, "/api/calls", call("fail", json!({}))).await);
    assert_eq!(
        names(&frames.all().await),
        ["started", "finished", "outcome"]
    );
}

#[tokio::test]
async fn questions_are_part_of_the_stream() {
    let stage = Stage::new();
    let operator = stage.operator().header("accept", "text/event-stream");
    let mut frames = Frames::of(post_raw(&operator, "/api/calls", call("ask", json!({}))).await);
    let asked = frames.next().await.unwrap();
    assert_eq!(
        (asked.event.as_str(), &asked.data["status"]),
        ("approval", &json!("pending"))
    );
    stage.answer(ApprovalResponse::approve("Ada")).await;
    let rest = frames.all().await;
    assert_eq!(names(&rest), ["approval", "started", "finished", "outcome"]);
}

#[tokio::test]
async fn long_output_comes_in_parts_that_make_the_whole() {
    let stage = Stage::new();
    let operator = stage.operator().header("accept", "text/event-stream");
    let body = json!({"tool": "print", "args": {"times": 2, "bytes": 100_000}, "callId": "long"});
    let frames = Frames::of(post_raw(&operator, "/api/calls", body).await)
        .all()
        .await;
    let output: Vec<_> = frames
        .iter()
        .filter(|frame| frame.event == "output")
        .collect();
    assert!(output.len() > 10, "{} parts", output.len());
    let whole: String = output
        .iter()
        .map(|frame| frame.data["chunk"].as_str().unwrap())
        .collect();
    assert_eq!(whole.len(), 200_000);
    assert!(
        output
            .iter()
            .all(|frame| frame.data["chunk"].as_str().unwrap().len() <= 16 * 1024)
    );
    // Resuming in the midst of an event misses nothing and repeats nothing.
    for seen in [0, 1, 3, output.len() - 1, output.len()] {
        let last = match seen {
            0 => "0".to_owned(),
            seen => output[seen - 1].id.clone(),
        };
        let operator = stage.operator().header("last-event-id", &last);
        let answer = operator
            .raw(Method::GET, "/api/calls/long/events", "", None)
            .await;
        let again = Frames::of(answer).all().await;
        let text: String = again
            .iter()
            .filter_map(|frame| frame.data["chunk"].as_str())
            .collect();
        let before: String = output[..seen]
            .iter()
            .map(|frame| frame.data["chunk"].as_str().unwrap())
            .collect();
        assert_eq!(format!("{before}{text}"), whole, "after {last}");
        assert_eq!(again.last().unwrap().event, "outcome");
    }
}

#[tokio::test]
async fn a_slow_reader_sees_a_gap_and_still_gets_the_outcome() {
    let stage = Stage::new();
    let operator = stage.operator().header("accept", "text/event-stream");
    let body = json!({"tool": "print", "args": {"times": 60, "bytes": 60_000}, "callId": "slow"});
    let answer = post_raw(&operator, "/api/calls", body).await;
    // No one reads until it is over.
    stage.operator().get("/api/calls/slow?waitMs=20000").await;
    let frames = Frames::of(answer).all().await;
    assert_eq!(frames[0].event, "gap");
    assert!(frames[0].data["missed"].as_u64().unwrap() > 10);
    let bytes: usize = frames
        .iter()
        .filter_map(|frame| Some(frame.data["chunk"].as_str()?.len()))
        .sum();
    assert!(bytes <= 1024 * 1024);
    assert_eq!(frames.last().unwrap().event, "outcome");
    assert_eq!(frames.last().unwrap().data["value"], "printed");
}

#[tokio::test]
async fn a_call_is_followed_from_the_start_and_from_where_one_left() {
    let stage = Stage::new();
    let operator = stage.operator().header("prefer", "respond-async");
    operator
        .post("/api/calls", json!({"tool": "hold", "callId": "followed"}))
        .await;
    let mut whole = Frames::of(
        operator
            .raw(Method::GET, "/api/calls/followed/events", "", None)
            .await,
    );
    let first = whole.next().await.unwrap();
    assert_eq!((first.event.as_str(), first.id.as_str()), ("started", "1"));
    let second = whole.next().await.unwrap();
    assert_eq!(second.data["chunk"], "holding\n");
    let resumed = stage.operator().header("last-event-id", "1");
    let mut resumed = Frames::of(
        resumed
            .raw(Method::GET, "/api/calls/followed/events", "", None)
            .await,
    );
    assert_eq!(resumed.next().await.unwrap(), second);
    stage.release.add_permits(1);
    for frames in [whole, resumed] {
        let frames = frames.all().await;
        assert_eq!(names(&frames), ["finished", "outcome"]);
        assert_eq!(frames[1].data["value"], "let go");
    }
    let late = stage.operator().header("last-event-id", "3");
    let path = "/api/calls/followed/events?shape=simple";
    let late = Frames::of(late.raw(Method::GET, path, "", None).await);
    let late = late.all().await;
    assert_eq!(names(&late), ["outcome"]);
    assert_eq!(late[0].data["output"], "let go");
    let huge = ["18446744073709551615", "1.18446744073709551615"];
    for bad in ["x", "-1", "1 2"].into_iter().chain(huge) {
        let operator = stage.operator().header("last-event-id", bad);
        let (status, _) = operator.get("/api/calls/followed/events").await;
        assert_eq!(status, 400, "{bad}");
    }
}

#[tokio::test]
async fn an_id_that_the_call_never_had_is_not_believed() {
    let stage = Stage::new();
    let operator = stage.operator().header("prefer", "respond-async");
    operator
        .post("/api/calls", json!({"tool": "hold", "callId": "own"}))
        .await;
    let path = "/api/calls/own/events";
    for (id, while_it_runs) in [("99", true), ("3.1", true), ("99", false), ("3.1", false)] {
        if !while_it_runs {
            stage.release.add_permits(1);
        }
        let reader = stage.operator().header("last-event-id", id);
        let mut frames = Frames::of(reader.raw(Method::GET, path, "", None).await);
        let gap = frames.next().await.unwrap();
        assert_eq!((gap.event.as_str(), gap.id.as_str()), ("gap", "0"), "{id}");
        assert_eq!(gap.data["callId"], "own");
        assert_eq!(frames.next().await.unwrap().event, "started", "{id}");
        assert_eq!(frames.next().await.unwrap().data["chunk"], "holding\n");
    }
    // Output that does not have as many parts comes whole, and at once.
    let reader = stage
        .operator()
        .header("last-event-id", "1.9007199254740976");
    let mut frames = Frames::of(reader.raw(Method::GET, path, "", None).await);
    assert_eq!(frames.next().await.unwrap().data["chunk"], "holding\n");
    // Of what is over and forgotten no one knows how many events there were.
    let (_, outcome) = stage
        .operator()
        .post("/api/calls", call("fail", json!({})))
        .await;
    let path = format!(
        "/api/calls/{}/events",
        outcome["metadata"]["callId"].as_str().unwrap()
    );
    let reader = stage.operator().header("last-event-id", "9007199254740976");
    let frames = Frames::of(reader.raw(Method::GET, &path, "", None).await);
    let frames = frames.all().await;
    assert_eq!(names(&frames)[..2], ["gap", "finished"]);
}

#[tokio::test]
async fn one_clients_calls_do_not_push_out_what_another_can_follow() {
    let stage = Stage::new();
    let quiet = stage.client("quiet").header("accept", "text/event-stream");
    let body = json!({"tool": "echo", "args": {"text": "a"}, "callId": "quiet-1"});
    Frames::of(post_raw(&quiet, "/api/calls", body).await)
        .all()
        .await;
    let busy = stage.client("busy").header("accept", "text/event-stream");
    for _ in 0..70 {
        let body = call("echo", json!({"text": "b"}));
        Frames::of(post_raw(&busy, "/api/calls", body).await)
            .all()
            .await;
    }
    let answer = quiet.raw(Method::GET, "/api/calls/quiet-1/events", "", None);
    let frames = Frames::of(answer.await).all().await;
    assert_eq!(names(&frames), ["started", "finished", "outcome"]);
}

#[tokio::test]
async fn of_a_call_that_is_over_there_is_at_least_its_end() {
    let stage = Stage::new();
    let (_, outcome) = stage
        .operator()
        .post("/api/calls", call("fail", json!({})))
        .await;
    let id = outcome["metadata"]["callId"].as_str().unwrap();
    let answer = stage
        .operator()
        .raw(Method::GET, &format!("/api/calls/{id}/events"), "", None)
        .await;
    let frames = Frames::of(answer).all().await;
    assert_eq!(names(&frames), ["gap", "finished", "outcome"]);
    assert_eq!(frames[1].data["code"], "EXECUTION_ERROR");
    assert_eq!(frames[2].data["error"]["code"], "EXECUTION_ERROR");
    assert_eq!(frames[1].data["callId"], json!(id));
}

#[tokio::test]
async fn a_stream_that_goes_cancels_its_call_if_it_asked_for_that() {
    let stage = Stage::new();
    let operator = stage.operator().header("accept", "text/event-stream");
    for (cancel, id) in [(true, "goes"), (false, "stays")] {
        let body = json!({"tool": "hold", "callId": id, "cancelOnDisconnect": cancel});
        let mut frames = Frames::of(post_raw(&operator, "/api/calls", body).await);
        assert_eq!(frames.next().await.unwrap().event, "started");
    }
    let (_, gone) = stage.operator().get("/api/calls/goes?waitMs=20000").await;
    assert_eq!(
        (&gone["status"], &gone["code"]),
        (&json!("done"), &json!("CANCELLED")),
        "{gone}"
    );
    stage.release.add_permits(1);
    let (_, done) = stage.operator().get("/api/calls/stays?waitMs=20000").await;
    assert_eq!(done["outcome"]["value"], "let go", "{done}");
}

#[tokio::test(start_paused = true)]
async fn silence_is_broken_by_a_heartbeat() {
    let stage = Stage::new();
    let operator = stage.operator();
    for path in ["/api/events", "/api/calls/held/events"] {
        if path != "/api/events" {
            let begin = stage.operator().header("accept", "text/event-stream");
            let body = json!({"tool": "hold", "callId": "held"});
            let answer = post_raw(&begin, "/api/calls", body).await;
            tokio::spawn(async move { Frames::of(answer).all().await });
        }
        let mut body = operator.raw(Method::GET, path, "", None).await.into_body();
        let began = tokio::time::Instant::now();
        let mut heard = Vec::new();
        while began.elapsed().as_secs() < 15 {
            let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
            heard.push((began.elapsed().as_secs(), piece));
        }
        let beats: Vec<u64> = heard
            .iter()
            .filter(|(at, piece)| *at > 0 && piece == ": \n\n".as_bytes())
            .map(|(at, _)| *at)
            .collect();
        assert_eq!(beats, [15], "{path}");
    }
}

#[tokio::test]
async fn streams_end_when_the_server_stops_but_not_those_that_bring_an_outcome() {
    let stage = Stage::new();
    let operator = stage.operator();
    let streaming = stage.operator().header("accept", "text/event-stream");
    let body = json!({"tool": "hold", "callId": "held"});
    let invoked = Frames::of(post_raw(&streaming, "/api/calls", body).await);
    let followed = Frames::of(
        operator
            .raw(Method::GET, "/api/calls/held/events", "", None)
            .await,
    );
    let all = Frames::of(operator.raw(Method::GET, "/api/events", "", None).await);
    stage.scene.api.stopping().cancel();
    for stream in [followed, all] {
        assert_eq!(stream.all().await.last().unwrap().event, "shutdown");
    }
    let (status, refused) = operator
        .post("/api/calls", call("echo", json!({"text": ""})))
        .await;
    assert_eq!(
        (status.as_u16(), &refused["error"]["code"]),
        (503, &json!("UNAVAILABLE"))
    );
    stage.release.add_permits(1);
    let frames = invoked.all().await;
    assert_eq!(frames.last().unwrap().data["value"], "let go");
}

#[tokio::test]
async fn there_are_so_many_streams_and_no_more() {
    let stage = Stage::with_settings("[server]\nmaxStreams = 2\n");
    let operator = stage.operator();
    let open = async || operator.raw(Method::GET, "/api/events", "", None).await;
    let (first, second, third) = (open().await, open().await, open().await);
    assert_eq!(
        (first.status(), second.status()),
        (http::StatusCode::OK, http::StatusCode::OK)
    );
    assert_eq!(third.status(), 429);
    assert!(third.headers().contains_key("retry-after"));
    drop(first);
    assert_eq!(open().await.status(), 200);
}

#[tokio::test]
async fn text_of_any_kind_survives_a_stream() {
    let stage = Stage::new();
    let odd = "a\r\nb\nc\rd\u{2028}\u{0}\u{feff}data: x\n\nid: 7\n\n𝕏 é";
    let odd_tool = toolcrib::FnTool::new("odd", "Prints odd text", move |(), cx| async move {
        cx.emit_output(toolcrib::OutputStream::Stdout, odd);
        Ok(odd)
    });
    stage
        .scene
        .crib
        .registry()
        .register(odd_tool.unwrap())
        .unwrap();
    let operator = stage.operator().header("accept", "text/event-stream");
    let frames = Frames::of(post_raw(&operator, "/api/calls", call("odd", json!({}))).await)
        .all()
        .await;
    assert_eq!(names(&frames), ["started", "output", "finished", "outcome"]);
    assert_eq!(frames[1].data["chunk"], Value::from(odd));
    assert_eq!(frames[3].data["value"], Value::from(odd));
}
