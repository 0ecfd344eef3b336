//! Which tool has a name, what a change does, and tools that are made at first use.

mod availability;
mod lazy_tool;
mod paths;
mod ranks;
mod versions;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::poll::BoxFuture;
use jiff::Timestamp;

use super::{Entry, MadeTool, Registration, Registry, Source, StoreSwitches};
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::Effects;
use crate::model::error::ToolError;
use crate::model::ids::{BundleId, ToolId};
use crate::model::names::{Slug, Version, WireName};
use crate::model::outcome::ToolOutput;
use crate::schema::Schema;
use crate::spec::ToolSpec;
use crate::tool::Tool;

/// A tool that says which version it is.
struct Plain(Arc<ToolSpec>);

impl Tool for Plain {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.0)
    }

    fn call(&self, _: JsonObject, _: CallContext) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::value(self.0.reference())) })
    }
}

/// A tool of a bundle, on its way to be registered.
#[derive(Clone)]
struct Sketch {
    spec: ToolSpec,
    registration: Registration,
    store: StoreSwitches,
}

/// `bundle/slug@version`, with the slug as its name.
fn sketch(bundle: &str, slug: &str, version: &str) -> Sketch {
    let name = WireName::parse(slug).unwrap();
    let schema = Schema::object().build().unwrap();
    let mut spec = ToolSpec::new(name, "Does it", schema);
    spec.bundle = Slug::parse(bundle).unwrap();
    spec.slug = Slug::parse(slug).unwrap();
    spec.version = Version::parse(version).unwrap();
    spec.effects = Effects::READ;
    Sketch {
        spec,
        registration: Registration::default(),
        store: StoreSwitches::default(),
    }
}

impl Sketch {
    fn at(mut self, second: i64) -> Self {
        self.registration.modified = Some(Timestamp::new(second, 0).unwrap());
        self
    }

    fn off(mut self) -> Self {
        self.store.tool_is_off = true;
        self
    }

    fn name(mut self, name: &str) -> Self {
        self.spec.name = WireName::parse(name).unwrap();
        self
    }

    fn alias(mut self, name: &str) -> Self {
        self.spec.aliases.push(WireName::parse(name).unwrap());
        self
    }

    fn id(mut self, id: ToolId) -> Self {
        self.registration.id = Some(id);
        self
    }

    fn bundle_id(mut self, id: BundleId) -> Self {
        self.registration.bundle_id = Some(id);
        self
    }

    fn stored(self, registry: &Registry) -> Arc<Entry> {
        self.counted(registry, &Arc::default())
    }

    /// Counts how often it is made.
    fn counted(self, registry: &Registry, made: &Arc<AtomicUsize>) -> Arc<Entry> {
        let (spec, made) = (Arc::new(self.spec), Arc::clone(made));
        let head = Arc::clone(&spec);
        let make = move || {
            made.fetch_add(1, Ordering::SeqCst);
            let tool: Arc<dyn Tool> = Arc::new(Plain(Arc::clone(&spec)));
            Ok(MadeTool::from(tool))
        };
        registry.entry_lazily(head, Source::Store, self.registration, self.store, make)
    }

    fn file(self, registry: &Registry, source: Source, file: &str) -> Arc<Entry> {
        let tool = Arc::new(Plain(Arc::new(self.spec)));
        registry.entry_of_file(tool, source, self.registration, (0, file))
    }
}

fn reference(registry: &Registry, wanted: &str) -> String {
    match registry.find(wanted) {
        Ok(entry) => entry.spec().reference(),
        Err(error) => error.message().to_owned(),
    }
}

fn references(pairs: &[(Arc<Entry>, Arc<Entry>)]) -> Vec<(String, String)> {
    let of = |entry: &Arc<Entry>| entry.spec().reference();
    pairs.iter().map(|(a, b)| (of(a), of(b))).collect()
}
