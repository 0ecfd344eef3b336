//! The snapshot that was changed step by step is the one that is built from nothing, and both are as the rule says.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::catalogue::snapshot::Snapshot;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const BUNDLES: [&str; 2] = ["x", "y"];
const VERSIONS: [&str; 3] = ["v1", "v2", "v3"];
const SOURCES: [Source; 4] = [Source::Local, Source::User, Source::Store, Source::Store];

#[derive(Debug, Clone)]
struct Draft {
    source: usize,
    name: usize,
    slug: usize,
    bundle: usize,
    version: usize,
    aliases: Vec<usize>,
    id: Option<usize>,
    second: i64,
    off: bool,
}

#[derive(Debug, Clone)]
struct Step {
    gone: Vec<Index>,
    come: Vec<Draft>,
}

fn drafts() -> impl Strategy<Value = Draft> {
    let who = (0..SOURCES.len(), 0..NAMES.len(), 0..NAMES.len());
    let which = (0..BUNDLES.len(), 0..VERSIONS.len());
    let more = (vec(0..NAMES.len(), 0..3), proptest::option::of(0..3usize));
    (who, which, more, 0..4i64, any::<bool>()).prop_map(
        |((source, name, slug), (bundle, version), (aliases, id), second, off)| Draft {
            source,
            name,
            slug,
            bundle,
            version,
            aliases,
            id,
            second,
            off,
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (vec(any::<Index>(), 0..4), vec(drafts(), 0..5));
    vec(step.prop_map(|(gone, come)| Step { gone, come }), 1..12)
}

fn entry(registry: &Registry, draft: &Draft, ids: &[ToolId], number: usize) -> Arc<Entry> {
    let mut sketch = sketch(
        BUNDLES[draft.bundle],
        NAMES[draft.slug],
        VERSIONS[draft.version],
    )
    .name(NAMES[draft.name])
    .at(draft.second);
    for alias in &draft.aliases {
        sketch = sketch.alias(NAMES[*alias]);
    }
    if let Some(id) = draft.id {
        sketch = sketch.id(ids[id]);
    }
    match SOURCES[draft.source] {
        Source::Store if draft.off => sketch.off().stored(registry),
        Source::Store => sketch.stored(registry),
        // In an order that is not that in which they come.
        source => sketch.file(registry, source, &format!("{}-{number}", number * 7 % 5)),
    }
}

/// Everything someone can see of a snapshot.
fn seen(snapshot: &Snapshot, ids: &[ToolId]) -> BTreeMap<String, Option<u64>> {
    let number = |entry: Option<&Arc<Entry>>| entry.map(|entry| entry.number());
    let mut seen = BTreeMap::new();
    let mut references: Vec<String> = ids.iter().map(ToolId::to_string).collect();
    for name in NAMES {
        references.push(name.to_owned());
        references.push(format!("+{name}"));
        for bundle in BUNDLES {
            references.push(format!("{bundle}/{name}"));
            for version in VERSIONS {
                references.push(format!("{bundle}/{name}@{version}"));
            }
        }
    }
    for reference in references {
        let found = snapshot.look_up(&reference).unwrap();
        seen.insert(reference, number(found));
    }
    for entry in snapshot.all() {
        let key = format!("{} is behind", entry.number());
        let shadower = snapshot.shadower(entry);
        let is_shadowed = snapshot.is_shadowed(entry);
        let shadower = shadower.as_ref().filter(|_| is_shadowed);
        seen.insert(key, number(shadower));
    }
    seen
}

/// The owners of names by the rule: by rank, each tool all of its names or none.
fn named_by_rule(entries: &[Arc<Entry>]) -> BTreeSet<u64> {
    let mut ranked: Vec<&Arc<Entry>> = entries.iter().collect();
    ranked.sort_by(|a, b| a.rank(b));
    let (mut taken, mut named) = (BTreeSet::new(), BTreeSet::new());
    for entry in ranked {
        let spec = entry.spec();
        let mut wanted: BTreeSet<String> = BTreeSet::from([spec.reference()]);
        wanted.insert(format!("name {}", spec.name));
        wanted.extend(spec.aliases.iter().map(|alias| format!("name {alias}")));
        if wanted.is_disjoint(&taken) {
            taken.append(&mut wanted);
            named.insert(entry.number());
        }
    }
    named
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_snapshot_depends_on_the_tools_there_are_and_not_on_how_they_came(steps in steps()) {
        let registry = Registry::new();
        let ids: Vec<ToolId> = (0..3).map(|_| ToolId::generate()).collect();
        let mut there: Vec<Arc<Entry>> = Vec::new();
        let mut stepwise = Snapshot::default();
        let mut number = 0;
        for step in steps {
            let mut gone = Vec::new();
            for index in &step.gone {
                if !there.is_empty() {
                    gone.push(there.remove(index.index(there.len())));
                }
            }
            let come: Vec<Arc<Entry>> = step.come.iter().map(|draft| {
                number += 1;
                entry(&registry, draft, &ids, number)
            }).collect();
            stepwise.change(&gone, &come);
            there.extend(come);

            let mut whole = Snapshot::default();
            whole.change(&[], &there);
            prop_assert_eq!(seen(&stepwise, &ids), seen(&whole, &ids));
            let mut one_by_one = Snapshot::default();
            for entry in there.iter().rev() {
                one_by_one.insert(Arc::clone(entry)).unwrap();
            }
            prop_assert_eq!(seen(&one_by_one, &ids), seen(&whole, &ids));
            let named: BTreeSet<u64> = stepwise.published().map(|entry| entry.number()).collect();
            prop_assert_eq!(named, named_by_rule(&there));
            prop_assert_eq!(stepwise.all().count(), there.len());
        }
        stepwise.change(&there, &[]);
        prop_assert!(stepwise.is_blank());
    }
}
