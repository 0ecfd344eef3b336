//! The events of a call without secrets, as a store has them.

use tempfile::TempDir;

use std::sync::Arc;

use super::SecretStore;
use super::{Binding, SecretName};
use crate::call::event::{EventKind, OutputStream};
use crate::call::mask::EventMask;
use crate::model::secret::Secret;

fn shown(mask: &mut EventMask, text: &str) -> String {
    let output = EventKind::Output {
        stream: OutputStream::Stdout,
        chunk: text.to_owned(),
        step: None,
        console: false,
    };
    let mut told = Vec::new();
    mask.filter(output, |kind| told.push(kind));
    let chunks = told.into_iter().map(|kind| match kind {
        EventKind::Output { chunk, .. } => chunk,
        other => panic!("{other:?}"),
    });
    chunks.collect()
}

#[test]
fn what_is_set_or_learned_here_is_masked_in_the_next_chunk_and_what_others_set_in_the_next_call() {
    let home = TempDir::new().unwrap();
    let store = SecretStore::at(home.path());
    let set = |store: &SecretStore, name: &str, value: &str| {
        let name = SecretName::parse(name).unwrap();
        let (value, binding) = (Secret::new(value), Binding::default());
        store.set(&name, &value, &binding).unwrap();
    };
    let mut mask = EventMask::new(Arc::new(store.clone()));
    assert_eq!(shown(&mut mask, "first-7f3a!"), "first-7f3a!");
    set(&store, "FIRST", "first-7f3a");
    assert_eq!(shown(&mut mask, "first-7f3a!"), "[REDACTED]!");
    store.also_mask(&Secret::new("learned-7f3a"));
    assert_eq!(shown(&mut mask, "learned-7f3a!"), "[REDACTED]!");
    set(&SecretStore::at(home.path()), "OTHER", "other-7f3a");
    let mut next = EventMask::new(Arc::new(store));
    assert_eq!(shown(&mut next, "other-7f3a!"), "[REDACTED]!");
}
