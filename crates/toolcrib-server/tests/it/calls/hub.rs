//! Everything that happens, as one stream.

use http::Method;
use serde_json::json;
use toolcrib::approval::{ApprovalQueue, ApprovalResponse, QueueOptions};

use super::{Frame, Frames, Stage, call, names};
use crate::harness::Asking;

async fn open(asking: &Asking<'_>) -> Frames {
    Frames::of(asking.raw(Method::GET, "/api/events", "", None).await)
}

/// Reads until an event fits.
async fn until(frames: &mut Frames, fits: impl Fn(&Frame) -> bool) -> Frame {
    loop {
        let frame = frames.next().await.unwrap();
        if fits(&frame) {
            return frame;
        }
    }
}

#[tokio::test]
async fn calls_are_announced_as_they_happen() {
    let stage = Stage::new();
    let operator = stage.operator();
    let mut frames = open(&operator).await;
    operator
        .post(
            "/api/calls",
            json!({"tool": "echo", "args": {"text": "a"}, "callId": "c-1"}),
        )
        .await;
    let started = frames.next().await.unwrap();
    let finished = frames.next().await.unwrap();
    assert_eq!(
        names(&[started.clone(), finished.clone()]),
        ["started", "finished"]
    );
    assert_eq!(started.data["callId"], "c-1");
    assert_eq!(
        (
            &finished.data["tool"],
            &finished.data["caller"],
            &finished.data["ok"]
        ),
        (&json!("echo"), &json!("operator"), &json!(true))
    );
    assert!(
        started.id.ends_with("-1") && finished.id.ends_with("-2"),
        "{} {}",
        started.id,
        finished.id
    );
}

#[tokio::test]
async fn the_stream_is_resumed_and_a_foreign_id_begins_with_a_gap() {
    let stage = Stage::new();
    let operator = stage.operator();
    let mut frames = open(&operator).await;
    for _ in 0..3 {
        operator
            .post("/api/calls", call("echo", json!({"text": "a"})))
            .await;
    }
    let first = frames.next().await.unwrap();
    drop(frames);
    let resumed = stage.operator().header("last-event-id", &first.id);
    let mut resumed = open(&resumed).await;
    let mut rest = Vec::new();
    for _ in 0..5 {
        rest.push(resumed.next().await.unwrap());
    }
    assert_eq!(
        names(&rest),
        ["finished", "started", "finished", "started", "finished"]
    );
    let start = first.id.split('-').next().unwrap();
    for foreign in [
        "0123456789ab-1",
        "1",
        "x",
        "-",
        &format!("{start}-99"),
        &format!("{start}-x"),
    ] {
        let asking = stage.operator().header("last-event-id", foreign);
        let mut frames = open(&asking).await;
        let gap = frames.next().await.unwrap();
        assert_eq!(gap.event, "gap", "{foreign}");
        operator
            .post("/api/calls", call("echo", json!({"text": "a"})))
            .await;
        assert_eq!(frames.next().await.unwrap().event, "started");
    }
}

#[tokio::test]
async fn who_comes_back_too_late_is_informed_how_much_was_lost() {
    let stage = Stage::new();
    let operator = stage.operator();
    let mut frames = open(&operator).await;
    for _ in 0..2100 {
        operator
            .post("/api/calls", call("echo", json!({"text": "a"})))
            .await;
    }
    let gap = frames.next().await.unwrap();
    assert_eq!(gap.event, "gap");
    assert!(
        gap.data["missed"].as_u64().unwrap() >= 4200 - 4096,
        "{gap:?}"
    );
    assert_eq!(
        frames.next().await.unwrap().data["callId"]
            .as_str()
            .map(str::len),
        Some(36)
    );
}

#[tokio::test]
async fn a_client_hears_of_its_calls_and_of_tools() {
    let stage = Stage::new();
    let bot = stage.client("bot");
    let mut frames = open(&bot).await;
    stage
        .operator()
        .post("/api/calls", call("echo", json!({"text": "a"})))
        .await;
    stage
        .client("other")
        .post("/api/calls", call("echo", json!({"text": "a"})))
        .await;
    bot.post("/api/calls", call("echo", json!({"text": "a"})))
        .await;
    let new = toolcrib::FnTool::new("brand_new", "Is new", |(), _cx| async { Ok(1) });
    stage.scene.crib.registry().register(new.unwrap()).unwrap();
    let heard = [
        frames.next().await.unwrap(),
        frames.next().await.unwrap(),
        frames.next().await.unwrap(),
    ];
    assert_eq!(names(&heard), ["started", "finished", "tools"]);
    assert_eq!(heard[0].data["caller"], "client:bot");
    assert_eq!(heard[2].data["come"], json!(["brand_new"]));
}

#[tokio::test]
async fn questions_and_answers_are_announced_also_those_of_others() {
    let stage = Stage::new();
    let operator = stage.operator();
    let mut frames = open(&operator).await;
    let calling = operator.post("/api/calls", call("ask", json!({})));
    let following = async {
        let is_question = |frame: &Frame| frame.event == "question";
        let asked = until(&mut frames, is_question).await;
        assert_eq!(
            (&asked.data["status"], &asked.data["tool"]),
            (&json!("pending"), &json!("ask"))
        );
        // Someone in another process answers.
        let queue = ApprovalQueue::at(
            stage.scene.home().join("approvals"),
            QueueOptions::default(),
        );
        let id = asked.data["id"].as_str().unwrap();
        let digest = queue.show(id).unwrap().request.args_digest;
        queue
            .answer(
                id,
                Some(&digest),
                ApprovalResponse::deny("Ada", "no"),
                |_, _| Ok(()),
            )
            .unwrap();
        let answered = until(&mut frames, is_question).await;
        assert_eq!(
            (
                &answered.data["id"],
                &answered.data["status"],
                &answered.data["by"]
            ),
            (&asked.data["id"], &json!("denied"), &json!("Ada"))
        );
    };
    let ((status, _), ()) = futures_util::future::join(calling, following).await;
    assert_eq!(status, 403);
}

#[tokio::test]
async fn switching_a_tool_is_announced_also_if_others_do_it() {
    let stage = Stage::new();
    let operator = stage.operator();
    let mut frames = open(&operator).await;
    let new = toolcrib::FnTool::new("brand_new", "Is new", |(), _cx| async { Ok(1) });
    stage.scene.crib.registry().register(new.unwrap()).unwrap();
    until(&mut frames, |frame| frame.event == "tools").await;
    // The first look at what others did is over when a question has been reported.
    let calling = operator.post(
        "/api/calls",
        json!({"tool": "ask", "approvalWaitMs": 15_000}),
    );
    let switching = async {
        until(&mut frames, |frame| frame.event == "question").await;
        let other = toolcrib::CribOptions::default()
            .surroundings(toolcrib::config::Surroundings::new(
                &stage.scene.work(),
                [("HOME", stage.scene.work().to_str().unwrap())],
            ))
            .home(stage.scene.home())
            .workspace(stage.scene.work())
            .open()
            .unwrap();
        other.set_enabled(&["read_file"], false).unwrap();
        until(&mut frames, |frame| frame.event == "tools").await;
        stage.answer(ApprovalResponse::approve("Ada")).await;
    };
    futures_util::future::join(calling, switching).await;
}
