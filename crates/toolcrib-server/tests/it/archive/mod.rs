//! Bundles as ZIP files over HTTP: passed on, taken in, compared, and refused.

#[path = "../../../../toolcrib/tests/it/archive/zips.rs"]
#[expect(dead_code, reason = "the tests of the reader use all of it")]
mod zips;

use bytes::Bytes;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use zips::{Entry, Zip};

use crate::bundles::{ID, made, path};
use crate::harness::{Asking, Scene};
use crate::tools::weather;

fn bundle() -> Value {
    json!({"bundleID": ID, "slug": "acme", "displayName": "Acme", "description": "Orders", "isEnabled": true})
}

fn tool(slug: &str) -> String {
    let mut tool = weather();
    tool["slug"] = json!(slug);
    tool["version"] = json!("v1");
    tool.to_string()
}

/// A valid archive.
fn fine() -> Zip {
    Zip::with([Entry::packed("tools/a.json", tool("weather"))])
}

/// The bytes of an archive.
fn archive(zip: &Zip) -> Vec<u8> {
    zip.bytes()
}

async fn send(asking: &Asking<'_>, path: &str, bytes: Vec<u8>) -> (StatusCode, Value) {
    let response = asking
        .raw(Method::POST, path, "application/zip", Some(bytes.into()))
        .await;
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

async fn exported(scene: &Scene, bundle: &str) -> Bytes {
    let path = format!("/api/bundles/{bundle}/export");
    let response = scene.as_operator().raw(Method::GET, &path, "", None).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/zip");
    response.into_body().collect().await.unwrap().to_bytes()
}

#[tokio::test]
async fn a_bundle_is_passed_on_and_arrives_switched_off() {
    let (here, there) = (Scene::new(), Scene::new());
    let operator = here.as_operator();
    operator.put(&path(ID), json!({"slug": "acme"})).await;
    operator
        .put(&format!("{}/tools/weather/version/v1", path(ID)), weather())
        .await;
    let bytes = exported(&here, "acme").await;
    assert_eq!(bytes, exported(&here, ID).await, "the same bytes each time");
    let response = operator
        .raw(Method::GET, "/api/bundles/acme/export", "", None)
        .await;
    assert_eq!(
        response.headers()["content-disposition"],
        "attachment; filename=\"acme.zip\""
    );

    let other = there.as_operator();
    let (status, dry) = send(&other, "/api/bundles/import?dryRun=true", bytes.to_vec()).await;
    assert_eq!((status.as_u16(), &dry["imported"]), (200, &json!(false)));
    assert_eq!(other.get(&path(ID)).await.0, 404);
    let (status, arrived) = send(&other, "/api/bundles/import", bytes.to_vec()).await;
    assert_eq!(
        (status.as_u16(), &arrived["imported"]),
        (201, &json!(true)),
        "{arrived}"
    );
    assert_eq!(
        json!([
            arrived["bundle"]["slug"],
            arrived["bundle"]["isEnabled"],
            arrived["against"]
        ]),
        json!(["acme", false, null])
    );
    assert_eq!(
        json!([
            arrived["tools"][0]["slug"],
            arrived["tools"][0]["change"],
            arrived["tools"][0]["hosts"]
        ]),
        json!(["weather", "added", ["api.example.com"]])
    );
    let (_, bundle) = other.get(&path(ID)).await;
    assert_eq!(
        json!([bundle["isEnabled"], bundle["tools"]]),
        json!([false, 1])
    );
    assert!(bundle["importedAt"].is_string());
    // Once more: as it is, as a copy, and in its place.
    let again = send(&other, "/api/bundles/import", bytes.to_vec()).await;
    assert_eq!(
        (again.0.as_u16(), &again.1["error"]["code"]),
        (409, &json!("CONFLICT"))
    );
    assert!(
        again.1["error"]["message"]
            .as_str()
            .unwrap()
            .contains("update=true")
    );
    let (status, copy) = send(&other, "/api/bundles/import?slug=copy", bytes.to_vec()).await;
    assert_eq!(
        (status.as_u16(), &copy["bundle"]["slug"]),
        (201, &json!("copy"))
    );
    assert_ne!(copy["bundle"]["bundleID"], json!(ID));
    let (status, same) = send(&other, "/api/bundles/import?update=true", bytes.to_vec()).await;
    assert_eq!(
        (status.as_u16(), &same["same"]),
        (200, &json!(true)),
        "{same}"
    );
    let (status, difference) = send(&other, "/api/bundles/copy/diff", bytes.to_vec()).await;
    assert_eq!(
        (status.as_u16(), &difference["against"]["slug"]),
        (200, &json!("copy")),
        "{difference}"
    );
}

#[tokio::test]
async fn an_archive_that_is_refused_leaves_nothing_behind() {
    const MB: usize = 1024 * 1024;
    let scene = Scene::new();
    let operator = scene.as_operator();
    let header = |change: fn(&mut zips::Header)| {
        Zip::with([Entry::packed("tools/a.json", tool("weather")).with(change)])
    };
    let named = |name: &str| Zip::with([Entry::packed(name, tool("weather"))]);
    let hostile: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", Vec::new()),
        ("no archive", b"{}".to_vec()),
        ("no archive", vec![0; 100]),
        ("a part", archive(&fine())[..100].to_vec()),
        (
            "no bundle",
            Zip::with([]).but(|zip| zip.entries.clear()).bytes(),
        ),
        ("a step up", archive(&named("../../etc/passwd"))),
        ("a root", archive(&named("/etc/passwd"))),
        ("a backslash", archive(&named("tools\\..\\a.json"))),
        ("a NUL", archive(&named("tools/a\0.json"))),
        (
            "a link",
            archive(&Zip::with([Entry::packed("tools/a.json", tool("weather"))
                .but(|entry| entry.attributes = 0o120_777 << 16)])),
        ),
        ("encrypted", archive(&header(|header| header.flags |= 1))),
        (
            "a lie about its size",
            archive(&header(|header| header.unpacked = 10)),
        ),
        (
            "a lie about its sum",
            archive(&header(|header| header.crc ^= 1)),
        ),
        (
            "a bomb",
            archive(&Zip::with([Entry::packed("tools/a.json", vec![0; 4 * MB])])),
        ),
        (
            "4 GB",
            archive(&header(|header| header.unpacked = 0xffff_fffe)),
        ),
        (
            "65,535 entries",
            archive(&fine().but(|zip| zip.end = Some([0, 0, 65_535, 65_535]))),
        ),
        (
            "many values",
            archive(&Zip::with([Entry::stored(
                "tools/a.json",
                format!("[{}0]", "0,".repeat(300_000)),
            )])),
        ),
        (
            "deep",
            archive(&Zip::with([Entry::packed(
                "tools/a.json",
                "[".repeat(100_000),
            )])),
        ),
        (
            "two of one version",
            archive(&Zip::with([
                Entry::packed("tools/a.json", tool("weather")),
                Entry::packed("tools/b.json", tool("weather")),
            ])),
        ),
        (
            "bad slug",
            archive(&Zip::with([Entry::packed("tools/a.json", tool("a_b"))])),
        ),
        (
            "bytes behind",
            archive(&fine().but(|zip| zip.trailing = vec![0; 10])),
        ),
    ];
    for (what, bytes) in hostile {
        let (status, body) = send(&operator, "/api/bundles/import", bytes).await;
        assert_eq!(status, 400, "{what}: {body}");
        assert_eq!(body["ok"], false, "{what}");
    }
    let (_, list) = operator.get("/tools/bundles?includeDisabled=true").await;
    assert_eq!(list["bundles"].as_array().unwrap().len(), 4, "{list}");
    let too_long = vec![0; 64 * MB + 1];
    assert_eq!(
        send(&operator, "/api/bundles/import", too_long).await.0,
        413
    );
    let bytes = archive(&fine());
    for (path, status) in [
        ("/api/bundles/import?slug=a_b", 400),
        ("/api/bundles/import?slug=", 400),
        ("/api/bundles/import?update=1", 400),
        ("/api/bundles/import?slug=core", 403),
        ("/api/bundles/nobody/diff", 404),
        ("/api/bundles/core/diff", 403),
    ] {
        assert_eq!(
            send(&operator, path, bytes.clone()).await.0,
            status,
            "{path}"
        );
    }
    let json = operator.post("/api/bundles/import", bundle()).await;
    assert_eq!(json.0, 415);
    assert_eq!(operator.get("/api/bundles/core/export").await.0, 403);
    assert_eq!(operator.get("/api/bundles/nobody/export").await.0, 404);
    // The rest is valid.
    assert_eq!(send(&operator, "/api/bundles/import", bytes).await.0, 201);
}

#[tokio::test]
async fn tools_with_errors_arrive_with_what_is_wrong_with_them() {
    let scene = Scene::new();
    let mut wrong = weather();
    wrong["slug"] = json!("wrong");
    wrong["version"] = json!("v1");
    wrong["impl"]["urlTemplate"] = json!("ftp://example.com");
    let zip = Zip::with([
        Entry::packed("tools/a.json", tool("weather")),
        Entry::packed("tools/b.json", wrong.to_string()),
    ]);
    let (status, arrived) = send(&scene.as_operator(), "/api/bundles/import", archive(&zip)).await;
    assert_eq!(status, 201, "{arrived}");
    assert_eq!(arrived["tools"][0]["problems"], json!([]), "{arrived}");
    assert!(
        arrived["tools"][1]["problems"][0]["code"].is_string(),
        "{arrived}"
    );
}

#[tokio::test]
async fn a_slug_that_several_in_the_bin_have_restores_none_of_them() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    for _ in 0..2 {
        let path = made(&scene, "acme").await;
        operator.delete(&path).await;
    }
    let (status, body) = operator
        .send(Method::POST, "/api/bundles/acme/restore", None)
        .await;
    assert_eq!(status, 409, "{body}");
    assert_eq!(
        body["error"]["details"]["bundleIDs"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[tokio::test]
async fn hidden_characters_of_an_archive_are_noted_and_look_alikes_refused() {
    let scene = Scene::new();
    let operator = scene.as_operator();
    let mut sly: Value = serde_json::from_str(&tool("sly")).unwrap();
    sly["description"] = json!("Weather\u{e0041}");
    let zip = Zip::with([Entry::packed("tools/a.json", sly.to_string())]);
    let (status, body) = send(&operator, "/api/bundles/import", archive(&zip)).await;
    assert_eq!(status, 201, "{body}");
    let notes = body["notes"].to_string();
    assert!(notes.contains("hidden characters"), "{body}");
    for slug in ["reаd-file", "ｒｅａｄ-ｆｉｌｅ", "1ist-directory"] {
        let zip = Zip::with([
            Entry::packed("tools/a.json", tool("weather")),
            Entry::packed("tools/b.json", tool(slug)),
        ]);
        let path = "/api/bundles/import?slug=another";
        let (status, body) = send(&operator, path, archive(&zip)).await;
        assert_eq!(status, 400, "{slug}: {body}");
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains("looks like the tool"), "{message}");
    }
    let (_, bundles) = operator.get("/tools/bundles").await;
    assert!(!bundles.to_string().contains("another"), "{bundles}");
}
