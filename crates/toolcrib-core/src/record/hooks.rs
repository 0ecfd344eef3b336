//! Those who want to see every record as it is made, besides the recorder: the metrics and traces of a server.

use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::CallRecord;

type Hook = dyn Fn(&CallRecord) + Send + Sync;

/// A receiver of records, for as long as this is kept.
#[derive(Clone)]
pub struct RecordSubscription(#[expect(dead_code, reason = "kept, not read")] Arc<Hook>);

impl std::fmt::Debug for RecordSubscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RecordSubscription")
    }
}

/// The hooks of a registry.
#[derive(Default)]
pub(crate) struct RecordHooks(RwLock<Vec<Weak<Hook>>>);

impl RecordHooks {
    /// Adds a hook, and forgets those that no one keeps any more.
    pub(crate) fn add(
        &self,
        hook: impl Fn(&CallRecord) + Send + Sync + 'static,
    ) -> RecordSubscription {
        let hook: Arc<Hook> = Arc::new(hook);
        let mut hooks = self.0.write().unwrap_or_else(PoisonError::into_inner);
        hooks.retain(|hook| hook.strong_count() > 0);
        hooks.push(Arc::downgrade(&hook));
        RecordSubscription(hook)
    }

    /// Shows everybody a record.
    pub(crate) fn tell(&self, record: &CallRecord) {
        let hooks = self.0.read().unwrap_or_else(PoisonError::into_inner);
        for hook in hooks.iter().filter_map(Weak::upgrade) {
            hook(record);
        }
    }
}
