//! Stored tools: versions side by side, bundles with one slug, one id twice.

use super::*;

#[test]
fn the_newest_version_that_is_on_has_the_name_and_the_others_are_reached_by_version() {
    let registry = Registry::new();
    let entries = vec![
        sketch("weather", "now", "v1").at(10).stored(&registry),
        sketch("weather", "now", "v2")
            .at(30)
            .off()
            .stored(&registry),
        sketch("weather", "now", "v3").at(20).stored(&registry),
    ];
    registry.apply(&[], entries);
    for wanted in ["now", "+now", "weather/now", "weather/now@v3"] {
        assert_eq!(reference(&registry, wanted), "weather/now@v3", "{wanted}");
    }
    for wanted in ["weather/now@v1", "weather/now@v2"] {
        assert_eq!(reference(&registry, wanted), wanted);
    }
    assert_eq!(registry.entries().len(), 1);
    let all = registry.all_entries();
    let all: Vec<_> = all.iter().map(|entry| entry.spec().reference()).collect();
    assert_eq!(all, ["weather/now@v3", "weather/now@v1", "weather/now@v2"]);
}

#[test]
fn other_versions_do_not_cause_a_warning_but_other_tools_are() {
    let registry = Registry::new();
    let entries = vec![
        sketch("weather", "now", "v1").at(1).stored(&registry),
        sketch("weather", "now", "v2").at(9).stored(&registry),
        sketch("clock", "now", "v1").at(5).stored(&registry),
        sketch("old", "now", "v1").at(5).off().stored(&registry),
    ];
    registry.apply(&[], entries);
    let pair = |a: &str| (a.to_owned(), "weather/now@v2".to_owned());
    assert_eq!(references(&registry.shadowed()), [pair("clock/now@v1")]);
    assert_eq!(
        references(&registry.other_versions()),
        [pair("weather/now@v1")]
    );
}

#[test]
fn a_bundle_and_a_slug_mean_the_first_of_that_bundle_whichever_has_the_name() {
    let registry = Registry::new();
    let (mine, theirs) = (BundleId::generate(), BundleId::generate());
    let of = |bundle, id, version, second| {
        let sketch = sketch(bundle, "now", version).bundle_id(id).at(second);
        sketch.stored(&registry)
    };
    let entries = vec![
        of("mine", mine, "v1", 1),
        of("mine", mine, "v2", 2),
        of("theirs", theirs, "v9", 9),
    ];
    registry.apply(&[], entries);
    assert_eq!(reference(&registry, "now"), "theirs/now@v9");
    assert_eq!(reference(&registry, "mine/now"), "mine/now@v2");
    assert_eq!(reference(&registry, &format!("{mine}/now")), "mine/now@v2");
    let old = format!("{mine}/now@v1");
    assert_eq!(reference(&registry, &old), "mine/now@v1");
    let of_mine = registry.entries_of(mine);
    let of_mine: Vec<_> = of_mine
        .iter()
        .map(|entry| entry.spec().reference())
        .collect();
    assert_eq!(of_mine, ["mine/now@v2", "mine/now@v1"]);
    assert!(registry.entries_of(BundleId::generate()).is_empty());
}

#[test]
fn two_stored_tools_with_one_id_are_both_there_and_the_first_answers_to_it() {
    let registry = Registry::new();
    let id = ToolId::generate();
    let entries = vec![
        sketch("a", "one", "v1").id(id).at(1).stored(&registry),
        sketch("b", "two", "v1").id(id).at(2).stored(&registry),
        sketch("c", "three", "v1").stored(&registry),
    ];
    registry.apply(&[], entries);
    assert_eq!(registry.entries().len(), 3);
    assert_eq!(reference(&registry, &id.to_string()), "b/two@v1");
}

#[test]
fn a_version_that_is_behind_another_answers_to_its_own_id() {
    let registry = Registry::new();
    let id = ToolId::generate();
    let entries = vec![
        sketch("a", "one", "v1").id(id).at(1).stored(&registry),
        sketch("a", "one", "v2").at(2).stored(&registry),
    ];
    registry.apply(&[], entries);
    assert_eq!(reference(&registry, &id.to_string()), "a/one@v1");
}

#[test]
fn stored_tools_give_way_to_all_others() {
    let registry = Registry::new();
    let stored = vec![sketch("store", "now", "v1").at(99).stored(&registry)];
    registry.apply(&[], stored);
    let file = sketch("global", "now", "v1").file(&registry, Source::Global, "now.yaml");
    registry.replace(&[Source::Global], vec![file], |_| ());
    assert_eq!(reference(&registry, "now"), "global/now@v1");
    registry.replace(&[Source::Global], vec![], |_| ());
    assert_eq!(reference(&registry, "now"), "store/now@v1");
}

#[test]
fn tools_of_toolcribs_own_bundles_have_their_ids() {
    let registry = Registry::new();
    let file = sketch("user", "now", "v1").file(&registry, Source::User, "now.yaml");
    registry.replace(&[Source::User], vec![file], |_| ());
    let found = registry.find(&format!("{}/now", BundleId::USER)).unwrap();
    assert_eq!(found.bundle_id(), Some(BundleId::USER));
    assert_eq!(registry.entries_of(BundleId::USER).len(), 1);
}
