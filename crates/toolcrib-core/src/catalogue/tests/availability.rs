//! Why a tool is not on offer, and what to type.

use super::*;
use crate::registry::{Availability, BundleState, Switch};

fn off(reason: &str, help: &str) -> Availability {
    Availability::Disabled {
        reason: reason.to_owned(),
        help: Some(help.to_owned()),
    }
}

fn with_bundle(bundle: BundleState) -> Availability {
    let registry = Registry::new();
    let mut sketch = sketch("weather", "now", "v2");
    sketch.store.bundle = bundle;
    let entry = sketch.stored(&registry);
    assert!(entry.is_off());
    assert_eq!(entry.availability(), entry.availability_at_a_glance());
    entry.availability()
}

#[test]
fn a_bundle_that_is_off_says_so_and_what_to_type() {
    assert_eq!(
        with_bundle(BundleState::Off),
        off(
            "its bundle `weather` is switched off",
            "`toolcrib bundle enable weather` switches it on"
        )
    );
    assert_eq!(
        with_bundle(BundleState::InBin),
        off(
            "its bundle `weather` is in the bin",
            "`toolcrib bundle restore weather` takes it out"
        )
    );
    let damaged = with_bundle(BundleState::Damaged("it is not JSON".to_owned()));
    assert_eq!(
        damaged,
        off(
            "its bundle `weather` cannot be read: it is not JSON",
            "`toolcrib doctor` says more, `toolcrib doctor --fix` sets the file aside"
        )
    );
}

#[test]
fn a_stored_tool_that_is_off_is_switched_on_by_its_whole_reference() {
    let registry = Registry::new();
    let entry = sketch("weather", "now", "v2").off().stored(&registry);
    assert_eq!(
        entry.availability(),
        off(
            "the tool is switched off",
            "`toolcrib enable weather/now@v2` switches it on"
        )
    );
}

#[test]
fn a_bundle_outside_of_the_store_is_switched_by_its_flag() {
    let registry = Registry::new();
    let entry = sketch("user", "now", "v1").file(&registry, Source::User, "now.yaml");
    entry.switch(Switch::Bundle, false);
    let reason = "its bundle `user` is switched off";
    let help = "`toolcrib bundle enable user` switches it on";
    assert_eq!(entry.availability(), off(reason, help));
    entry.switch(Switch::Bundle, true);
    assert_eq!(entry.availability(), Availability::Ready);
}

#[tokio::test]
async fn a_call_of_a_tool_in_the_bin_is_refused_as_disabled() {
    let registry = Registry::new();
    let mut sketch = sketch("weather", "now", "v2");
    sketch.store.bundle = BundleState::InBin;
    registry.apply(&[], vec![sketch.stored(&registry)]);
    let outcome = registry
        .execute(crate::call::request::CallRequest::new("now"))
        .await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), crate::model::error::ErrorCode::ToolDisabled);
    assert_eq!(
        error.message(),
        "`now` is disabled: its bundle `weather` is in the bin; `toolcrib bundle restore weather` takes it out"
    );
}
