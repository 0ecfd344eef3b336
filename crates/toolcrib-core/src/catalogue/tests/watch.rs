//! A watcher receives every change, once and in sequence.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::*;

/// The tools as a subscriber to every change knows them.
#[derive(Clone, Default)]
struct Mirror(Arc<Mutex<BTreeMap<u64, String>>>);

impl Mirror {
    fn watch(registry: &Registry) -> Self {
        let told = Mirror::default();
        let there = told.clone();
        registry.watch(move |gone, come| {
            let mut there = there.0.lock().unwrap();
            for entry in gone {
                assert!(there.remove(&entry.number()).is_some(), "gone twice");
            }
            for entry in come {
                let reference = entry.spec().reference();
                let before = there.insert(entry.number(), reference);
                assert_eq!(before, None, "there already");
            }
        });
        told
    }

    fn assert_same(&self, registry: &Registry) {
        let told: Vec<u64> = self.0.lock().unwrap().keys().copied().collect();
        let entries = registry.all_entries();
        let mut numbers: Vec<u64> = entries.iter().map(|entry| entry.number()).collect();
        numbers.sort_unstable();
        assert_eq!(told, numbers);
    }
}

#[test]
fn a_watcher_gets_what_is_there_and_then_every_change_of_every_kind() {
    let registry = Registry::new();
    let one = sketch("a", "one", "v1").stored(&registry);
    registry.apply(&[], vec![Arc::clone(&one)]);
    let told = Mirror::watch(&registry);
    told.assert_same(&registry);
    let again = registry.entry_again(&one, Registration::default(), StoreSwitches::default());
    registry.apply(&[Arc::clone(&one)], vec![again]);
    told.assert_same(&registry);
    // It is gone already, and is not reported again.
    registry.apply(&[one], vec![]);
    told.assert_same(&registry);
    let tool = |name: &str| Plain(Arc::new(sketch("app", name, "v1").spec));
    registry.register(tool("two")).unwrap();
    registry.register(tool("two")).unwrap_err();
    told.assert_same(&registry);
    let stays = sketch("user", "s", "v1").file(&registry, Source::User, "s.yaml");
    let goes = sketch("user", "g", "v1").file(&registry, Source::User, "g.yaml");
    registry.replace(&[Source::User], vec![Arc::clone(&stays), goes], |_| ());
    told.assert_same(&registry);
    let comes = sketch("user", "c", "v1").file(&registry, Source::User, "c.yaml");
    registry.replace(&[Source::User], vec![stays, comes], |_| ());
    told.assert_same(&registry);
    registry.unregister("two").unwrap();
    told.assert_same(&registry);
}

#[test]
fn no_change_is_missed_while_others_write() {
    let registry = Registry::new();
    let told = std::thread::scope(|scope| {
        for writer in 0..4 {
            let registry = &registry;
            scope.spawn(move || {
                for number in 0..50 {
                    let entry = sketch("a", &format!("t{writer}-{number}"), "v1");
                    let entry = entry.stored(registry);
                    registry.apply(&[], vec![Arc::clone(&entry)]);
                    if number % 3 == 0 {
                        registry.apply(&[entry], vec![]);
                    }
                }
            });
        }
        Mirror::watch(&registry)
    });
    assert_eq!(registry.entries().len(), 4 * 33);
    told.assert_same(&registry);
}
