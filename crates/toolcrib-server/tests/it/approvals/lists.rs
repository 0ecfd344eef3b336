//! Which questions there are: by status, page by page, damaged ones apart.

use serde_json::json;

use super::{answer, asks, at, file, one_pending, pending};
use crate::harness::Scene;

#[tokio::test]
async fn questions_come_page_by_page_oldest_first() {
    let scene = Scene::new();
    let mut calls = Vec::new();
    for number in 0..5 {
        let name = format!("{number}.txt");
        file(&scene, &name);
        calls.push(asks(&scene, "delete_file", json!({"path": name})));
        pending(&scene, number + 1).await;
    }
    let operator = scene.as_operator();
    let (mut names, mut token) = (Vec::new(), String::new());
    loop {
        let (status, page) = operator
            .get(&format!("/api/approvals?status=pending&pageSize=2{token}"))
            .await;
        assert_eq!(status, 200, "{page}");
        let approvals = page["approvals"].as_array().unwrap();
        assert!(approvals.len() <= 2);
        names.extend(
            approvals
                .iter()
                .map(|row| row["args"]["path"].as_str().unwrap().to_owned()),
        );
        match page["nextPageToken"].as_str() {
            Some(next) => token = format!("&pageToken={next}"),
            None => break,
        }
    }
    assert_eq!(names, ["0.txt", "1.txt", "2.txt", "3.txt", "4.txt"]);
}

#[tokio::test]
async fn a_list_is_all_of_them_or_those_of_one_status() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let (status, page) = operator.get("/api/approvals").await;
    assert_eq!((status.as_u16(), page), (200, json!({"approvals": []})));
    file(&scene, "a.txt");
    let call = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let question = one_pending(&scene).await;
    // It names exactly its tool: there may be other versions.
    assert_eq!(
        ["bundle", "slug", "version"].map(|name| question[name].as_str().unwrap()),
        ["core", "delete-file", "v1"]
    );
    operator
        .post(&at(&question), answer(&question, false))
        .await;
    call.outcome().await;
    let count = async |query: &str| {
        let (status, page) = operator.get(&format!("/api/approvals{query}")).await;
        assert_eq!(status, 200, "{page}");
        page["approvals"].as_array().unwrap().len()
    };
    assert_eq!(count("").await, 1);
    assert_eq!(count("?status=denied").await, 1);
    assert_eq!(count("?status=pending").await, 0);
    for bad in [
        "?status=",
        "?status=Denied",
        "?status=open",
        "?status=denied&status=used",
        "?state=denied",
        "?pageSize=0",
        "?pageSize=501",
        "?pageSize=-1",
        "?pageToken=x",
    ] {
        let (status, refused) = operator.get(&format!("/api/approvals{bad}")).await;
        assert_eq!(status, 400, "{bad}: {refused}");
    }
}

#[tokio::test]
async fn a_damaged_question_is_recognised_and_concerns_no_other() {
    let scene = Scene::new();
    file(&scene, "a.txt");
    file(&scene, "b.txt");
    let _first = asks(&scene, "delete_file", json!({"path": "a.txt"}));
    let damaged = one_pending(&scene).await;
    let _second = asks(&scene, "delete_file", json!({"path": "b.txt"}));
    pending(&scene, 2).await;
    let id = damaged["id"].as_str().unwrap();
    let directory = scene.home().join("approvals");
    let files: Vec<_> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.contains(id) && std::fs::metadata(path).unwrap().len() > 100
        })
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    std::fs::write(&files[0], "{").unwrap();
    let (status, page) = scene.as_operator().get("/api/approvals").await;
    assert_eq!(status, 200);
    assert_eq!(page["approvals"].as_array().unwrap().len(), 1, "{page}");
    assert_eq!(page["damaged"].as_array().unwrap().len(), 1, "{page}");
}
