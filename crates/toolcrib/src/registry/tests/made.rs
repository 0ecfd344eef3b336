//! Tools that are made at first use: when, how often, and what becomes of those that cannot be.

use super::*;
use crate::registry::Availability;
use crate::{CallRequest, ErrorCode};

/// A stored tool that is made by a function.
fn made_by(
    registry: &Registry,
    slug: &str,
    make: impl Fn() -> Result<MadeTool, String> + Send + Sync + 'static,
) -> Arc<Entry> {
    let Sketch {
        spec,
        registration,
        store,
    } = sketch("a", slug, "v1");
    registry.entry_lazily(Arc::new(spec), Source::Store, registration, store, make)
}

fn plain(spec: ToolSpec) -> Result<MadeTool, String> {
    let tool: Arc<dyn Tool> = Arc::new(Plain(Arc::new(spec)));
    Ok(tool.into())
}

#[test]
fn lists_make_nothing_and_finding_makes_one_once() {
    let registry = Registry::new();
    let made = Arc::new(AtomicUsize::new(0));
    let of = |number: i32| {
        let sketch = sketch("a", &format!("t{number}"), "v1");
        sketch.counted(&registry, &made)
    };
    registry.apply(&[], (0..20).map(of).collect());
    assert_eq!(registry.list().len(), 20);
    assert_eq!(registry.entries().len(), 20);
    assert_eq!(registry.all_entries().len(), 20);
    for entry in registry.entries() {
        assert_eq!(entry.availability_at_a_glance(), Availability::Ready);
        assert!(!entry.is_off());
    }
    assert!(registry.shadowed().is_empty());
    assert!(registry.find("nothing").is_err());
    assert_eq!(made.load(Ordering::SeqCst), 0);
    registry.find("t3").unwrap();
    registry.find("a/t3@v1").unwrap();
    registry.get("t3").unwrap();
    assert_eq!(made.load(Ordering::SeqCst), 1);
}

#[test]
fn a_tool_that_is_registered_another_way_stays_made_and_is_counted_on() {
    let registry = Registry::new();
    let made = Arc::new(AtomicUsize::new(0));
    let entry = sketch("a", "one", "v1").counted(&registry, &made);
    registry.apply(&[], vec![Arc::clone(&entry)]);
    registry.set_enabled("one", false).unwrap();
    let again = registry.entry_again(&entry, Registration::default(), StoreSwitches::default());
    registry.apply(&[entry], vec![again]);
    let found = registry.find("one").unwrap();
    assert_eq!(made.load(Ordering::SeqCst), 1);
    // What the program switched off stays off.
    assert!(found.is_off());
}

#[tokio::test]
async fn what_cannot_be_made_is_unavailable_for_its_reason_and_costs_nobody_else() {
    let registry = Registry::new();
    let broken = made_by(&registry, "broken", || Err("its URL is missing".to_owned()));
    let panics = made_by(&registry, "panics", || panic!("no"));
    let other = made_by(&registry, "other", || plain(sketch("b", "else", "v9").spec));
    let fine = sketch("a", "fine", "v1").stored(&registry);
    registry.apply(&[], vec![broken, panics, other, fine]);
    let refusal = async |tool: &str| {
        let outcome = registry.execute(CallRequest::new(tool)).await;
        let error = outcome.error().expect("it cannot run");
        assert_eq!(error.code(), ErrorCode::ToolUnavailable);
        error.message().to_owned()
    };
    assert_eq!(
        refusal("broken").await,
        "`broken` cannot run here: its URL is missing"
    );
    assert!(refusal("panics").await.contains("a bug in Toolcrib"));
    assert!(refusal("other").await.contains("made as `else`"));
    let fine = registry.execute(CallRequest::new("fine")).await;
    assert_eq!(fine.value().unwrap(), "a/fine@v1");
    let listed = registry.list();
    let listed: Vec<&str> = listed.iter().map(|spec| spec.name.as_str()).collect();
    // Once it is known that they cannot run, they are not on offer.
    assert_eq!(listed, ["fine"]);
}

#[test]
fn what_is_missing_for_a_made_tool_to_run_is_said() {
    let registry = Registry::new();
    let entry = made_by(&registry, "one", || {
        let mut made = plain(sketch("a", "one", "v1").spec)?;
        made.unavailable = Some("`jq` is not installed".to_owned());
        Ok(made)
    });
    let reason = "`jq` is not installed".to_owned();
    assert_eq!(entry.availability(), Availability::Unavailable { reason });
}

#[test]
fn tools_that_are_built_on_each_other_in_a_circle_are_unavailable() {
    let registry = Registry::new();
    let needs = |own: &'static str, other: &'static str| {
        let others = registry.clone();
        made_by(&registry, own, move || {
            let base = others
                .find(other)
                .map_err(|error| error.message().to_owned())?;
            let mut made = plain(sketch("a", own, "v1").spec)?;
            made.unavailable = base.unavailable().map(str::to_owned);
            Ok(made)
        })
    };
    registry.apply(&[], vec![needs("one", "two"), needs("two", "one")]);
    // From both sides at once: neither waits for the other for ever.
    std::thread::scope(|scope| {
        for name in ["one", "two"] {
            let registry = &registry;
            scope.spawn(move || registry.find(name).unwrap());
        }
    });
    let is_unavailable = |name| {
        let found = registry.find(name).unwrap();
        matches!(found.availability(), Availability::Unavailable { .. })
    };
    assert!(is_unavailable("one") && is_unavailable("two"));
}

#[test]
fn a_long_chain_of_tools_ends() {
    let registry = Registry::new();
    let chain = (0..2000).map(|number| {
        let others = registry.clone();
        let sketch = sketch("a", &format!("t{number}"), "v1");
        let Sketch {
            spec,
            registration,
            store,
        } = sketch;
        let head = Arc::new(spec.clone());
        let make = move || {
            let _ = others.find(&format!("t{}", number + 1));
            plain(spec.clone())
        };
        registry.entry_lazily(head, Source::Store, registration, store, make)
    });
    registry.apply(&[], chain.collect());
    assert_eq!(
        registry.find("t0").unwrap().availability(),
        Availability::Ready
    );
}

#[test]
fn limits_and_digest_are_the_made_tools() {
    let registry = Registry::new();
    let make = || {
        let mut spec = sketch("a", "one", "v1").spec;
        spec.limits.max_concurrent = Some(1);
        spec.content_digest = Some("made".to_owned());
        plain(spec)
    };
    let lazy = made_by(&registry, "one", make);
    let eager = registry.entry(make().unwrap().tool, Source::Store, Registration::default());
    assert_eq!(lazy.limits(), eager.limits());
    assert_eq!(lazy.digest(), eager.digest());
}
