//! Search over the tools of a crib: what is in it, what is hidden, and that it follows every change.

use toolcrib::crib::{SearchPage, SearchRequest};
use toolcrib::search::Class;
use toolcrib::serde_json::json;

use super::stored::{bundle, manifest, put, saying};
use super::*;

fn search(crib: &Crib, query: &str, include_disabled: bool) -> SearchPage {
    let request = SearchRequest {
        query: query.to_owned(),
        include_disabled,
        ..SearchRequest::default()
    };
    crib.search(&request).unwrap()
}

/// The results, as references.
fn found(crib: &Crib, query: &str) -> Vec<String> {
    references(&search(crib, query, false))
}

fn found_of_all(crib: &Crib, query: &str) -> Vec<String> {
    references(&search(crib, query, true))
}

fn references(page: &SearchPage) -> Vec<String> {
    let results = page.results.iter();
    results
        .map(|found| found.entry.spec().reference())
        .collect()
}

#[test]
fn built_in_tools_are_found_in_every_spelling() {
    let crib = Scene::new().open();
    for query in ["read_file", "read-file", "+readfile", "READ FI"] {
        let page = search(&crib, query, false);
        assert_eq!(references(&page)[0], "core/read-file@v1", "{query}");
        assert_eq!(page.results[0].class, Class::Prefix, "{query}");
    }
    let page = search(&crib, "raed fiel", false);
    assert_eq!(references(&page)[0], "core/read-file@v1");
    assert_eq!(page.results[0].class, Class::Fuzzy);
    assert!(found(&crib, "no such tool anywhere").is_empty());
}

#[test]
fn every_version_is_a_row_and_the_newest_comes_first() {
    let scene = Scene::new();
    scene.write(&format!("{USER}/frobnicate.yaml"), &says("frobnicate"));
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    for version in ["v1", "v3", "v2"] {
        put(&crib, saying(acme, "frobnicate", version, "frobnication"));
    }
    let all = found(&crib, "frobnicate");
    let stored: Vec<&str> = all
        .iter()
        .map(String::as_str)
        .filter(|reference| reference.starts_with("acme/"))
        .collect();
    assert_eq!(
        stored,
        [
            "acme/frobnicate@v2",
            "acme/frobnicate@v3",
            "acme/frobnicate@v1"
        ]
    );
    assert!(all.contains(&"user/frobnicate@v1".to_owned()), "{all:?}");
}

#[test]
fn a_search_follows_what_is_put_replaced_switched_and_deleted() {
    let scene = Scene::new();
    let crib = scene.open();
    assert!(found(&crib, "frobnicate").is_empty());
    let acme = bundle(&crib, "acme");
    put(&crib, saying(acme, "frobnicate", "v1", "x"));
    assert_eq!(found(&crib, "frobn"), ["acme/frobnicate@v1"]);
    put(
        &crib,
        manifest(
            acme,
            json!({"slug": "other", "description": "Frobnicates too", "impl": {"bash": "echo x"}}),
        ),
    );
    assert_eq!(
        found(&crib, "frobn"),
        ["acme/other@v1", "acme/frobnicate@v1"]
    );

    crib.set_enabled(&["acme/other@v1"], false).unwrap();
    assert_eq!(found(&crib, "frobn"), ["acme/frobnicate@v1"]);
    assert_eq!(found_of_all(&crib, "frobn").len(), 2);
    crib.set_bundle_enabled("acme", false).unwrap();
    assert!(found(&crib, "frobn").is_empty());
    assert_eq!(found_of_all(&crib, "frobn").len(), 2);
    crib.set_bundle_enabled("acme", true).unwrap();

    crib.delete_tool("acme/frobnicate@v1").unwrap();
    assert!(found(&crib, "frobn").is_empty());
    assert_eq!(found_of_all(&crib, "frobn"), ["acme/other@v1"]);

    scene.write(&format!("{USER}/frobnicate.yaml"), &says("frobnicate"));
    assert!(crib.reload());
    assert_eq!(found(&crib, "frobn"), ["user/frobnicate@v1"]);
}

#[test]
fn tools_that_cannot_run_are_hidden() {
    let crib = Scene::new().open();
    let acme = bundle(&crib, "acme");
    let missing =
        json!({"slug": "frobnicate", "type": "go", "impl": {"goFunc": "example.com/no.Such"}});
    put(&crib, manifest(acme, missing));
    assert!(found(&crib, "frobnicate").is_empty());
    assert_eq!(found_of_all(&crib, "frobnicate"), ["acme/frobnicate@v1"]);
}

#[test]
fn pages_go_on_in_another_process_and_bad_tokens_are_refused() {
    let scene = Scene::new();
    let crib = scene.open();
    let acme = bundle(&crib, "acme");
    for number in 0..7 {
        put(
            &crib,
            saying(acme, &format!("frobnicate-{number}"), "v1", "x"),
        );
    }
    let mut request = SearchRequest {
        query: "frobnicate".to_owned(),
        limit: 3,
        ..SearchRequest::default()
    };
    let mut all = Vec::new();
    loop {
        // Another crib numbers its entries from the start.
        let page = scene.open().search(&request).unwrap();
        all.extend(references(&page));
        request.page_token = page.next_page_token;
        if request.page_token.is_none() {
            break;
        }
    }
    assert_eq!(all, found(&crib, "frobnicate"));
    assert_eq!(all.len(), 7);

    request.page_token = Some("garbage".to_owned());
    let error = crib.search(&request).err().unwrap();
    assert_eq!(error.code(), ErrorCode::InvalidArguments);
    assert!(error.message().contains("page token `garbage` is not one"));
    request.page_token = None;
    let token = crib.search(&request).unwrap().next_page_token;
    let other = SearchRequest {
        query: "file".to_owned(),
        page_token: token,
        ..SearchRequest::default()
    };
    let error = crib.search(&other).err().unwrap();
    assert!(error.message().contains("other words"), "{error}");
}
