//! Grants that are offered along with a question.

use std::fmt::Write as _;

use serde_json::json;

use super::{Scene, is_covered, saving};
use toolcrib::approval::ApprovalResponse;
use toolcrib::approval::grants::{GrantRequest, Scope};

#[tokio::test]
async fn offers_go_from_narrow_to_wide_and_say_what_they_mean() {
    let scene = Scene::new();
    let registry = scene.registry();
    let mut shown = String::new();
    for path in ["docs/guide/a.md", "a.md", ".git/config", "/etc/passwd"] {
        writeln!(shown, "save {path}").unwrap();
        match registry.offers(saving(path)) {
            Ok(offers) => {
                for offer in offers {
                    writeln!(shown, "  {}\n    {}", offer.words, offer.shape).unwrap();
                    writeln!(shown, "    {}", json!(offer.shape)).unwrap();
                }
            }
            Err(error) => writeln!(shown, "  {error}").unwrap(),
        }
    }
    crate::golden::assert_text("approvals/offers.txt", &shown);
}

#[tokio::test]
async fn every_offer_covers_its_own_call() {
    let scene = Scene::new();
    let registry = scene.registry();
    let offers = registry.offers(saving("docs/guide/a.md")).unwrap();
    assert_eq!(offers.len(), 4);
    for offer in offers {
        let scene = Scene::new();
        let registry = scene.registry();
        let grant = GrantRequest::of(&offer, Scope::Project);
        scene
            .person
            .then(Ok(ApprovalResponse::approve("Ada").with_grant(grant)));
        assert!(registry.execute(saving("docs/guide/a.md")).await.is_ok());
        assert!(
            is_covered(&registry, saving("docs/guide/a.md")).await,
            "{offer:?}"
        );
        assert!(!is_covered(&registry, saving("docs/b.md")).await);
    }
}
