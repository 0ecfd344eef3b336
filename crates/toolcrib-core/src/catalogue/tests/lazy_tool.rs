//! Tools that are made at first use: when, how often, and what becomes of those that cannot be.

use super::*;
use crate::call::request::CallRequest;
use crate::model::error::ErrorCode;
use crate::registry::Availability;

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
fn entries_make_nothing_and_finding_makes_one_once() {
    let registry = Registry::new();
    let made = Arc::new(AtomicUsize::new(0));
    let of = |number: i32| {
        let sketch = sketch("a", &format!("t{number}"), "v1");
        sketch.counted(&registry, &made)
    };
    registry.apply(&[], (0..20).map(of).collect());
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
    // Calls are judged by the schema that models are offered.
    assert_eq!(registry.list().len(), 20);
    assert_eq!(registry.list().len(), 20);
    assert_eq!(made.load(Ordering::SeqCst), 20);
}

#[test]
fn what_cannot_run_is_not_offered_although_no_one_has_looked_before() {
    let registry = Registry::new();
    let broken = made_by(&registry, "broken", || Err("no".to_owned()));
    let lacking = made_by(&registry, "lacking", || {
        let mut made = plain(sketch("a", "lacking", "v1").spec)?;
        made.unavailable = Some("`jq` is not installed".to_owned());
        Ok(made)
    });
    let fine = sketch("a", "fine", "v1").stored(&registry);
    registry.apply(&[], vec![broken, lacking, fine]);
    let names: Vec<String> = registry
        .list()
        .iter()
        .map(|spec| spec.name.to_string())
        .collect();
    assert_eq!(names, ["fine"]);
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
async fn what_cannot_be_made_is_unavailable_for_its_reason_and_costs_no_one_else() {
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

/// Tools that are each built on others, by their numbers.
fn built_on(registry: &Registry, made: &Arc<AtomicUsize>, on: &[Vec<usize>]) {
    let all = on.iter().enumerate().map(|(number, below)| {
        let (others, below, made) = (registry.clone(), below.clone(), Arc::clone(made));
        let Sketch {
            spec,
            registration,
            store,
        } = sketch("a", &format!("t{number}"), "v1");
        let head = Arc::new(spec.clone());
        let make = move || {
            made.fetch_add(1, Ordering::SeqCst);
            for other in &below {
                let _ = others.find(&format!("t{other}"));
            }
            plain(spec.clone())
        };
        registry.entry_lazily(head, Source::Store, registration, store, make)
    });
    registry.apply(&[], all.collect());
}

fn is_ready(registry: &Registry, number: usize) -> bool {
    let found = registry.find(&format!("t{number}")).unwrap();
    found.availability() == Availability::Ready
}

#[test]
fn which_tools_of_a_long_chain_can_be_made_does_not_depend_on_who_asks_first() {
    const LENGTH: usize = 300;
    let chain: Vec<Vec<usize>> = (0..LENGTH).map(|number| vec![number + 1; 2]).collect();
    for first in [0, LENGTH - 33, LENGTH - 1] {
        let (registry, made) = (Registry::new(), Arc::new(AtomicUsize::new(0)));
        built_on(&registry, &made, &chain);
        is_ready(&registry, first);
        for number in 0..LENGTH {
            // The last 32 stand on no more than 32, themselves counted.
            let is_low = number >= LENGTH - 32;
            assert_eq!(
                is_ready(&registry, number),
                is_low,
                "t{number} after t{first}"
            );
        }
        let made = made.load(Ordering::SeqCst);
        assert!(made <= 3 * LENGTH, "{made} were made");
    }
}

#[test]
fn all_tools_of_a_circle_are_unavailable_in_any_order_of_asking_and_those_beside_it_are_not() {
    // 0 -> 1 -> 2 -> 1, and 3 is beside them; a circle that is longer than a chain may be.
    let small = vec![vec![1], vec![2, 3], vec![1], vec![]];
    let large: Vec<Vec<usize>> = (0..100).map(|number| vec![(number + 1) % 100]).collect();
    for first in 0..4 {
        let (registry, made) = (Registry::new(), Arc::new(AtomicUsize::new(0)));
        built_on(&registry, &made, &small);
        is_ready(&registry, first);
        let ready: Vec<bool> = (0..4).map(|number| is_ready(&registry, number)).collect();
        assert_eq!(ready, [true, false, false, true], "after t{first}");
        let registry = Registry::new();
        built_on(&registry, &made, &large);
        is_ready(&registry, first);
        assert!((0..100).all(|number| !is_ready(&registry, number)));
    }
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
