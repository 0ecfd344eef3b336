//! A registered tool: what it is, where it comes from, whether it can be called.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::Value;

use crate::limits::Meter;
use crate::model::digest::Digester;
use crate::model::ids::ToolId;
use crate::model::limits::{Limits, LimitsPatch};
use crate::model::spec::ToolSpec;
use crate::tool::Tool;

/// Where a tool comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Compiled into Toolcrib.
    BuiltIn,
    /// Registered by the program that embeds Toolcrib.
    App,
}

/// Whether a tool can run here, computed and never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Availability {
    /// It can.
    Ready,
    /// It is switched off.
    Disabled {
        /// By what.
        reason: String,
    },
    /// Something it needs is missing.
    Unavailable {
        /// What.
        reason: String,
    },
}

/// A registered tool.
pub struct Entry {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) spec: Arc<ToolSpec>,
    pub(crate) limits: Limits,
    pub(crate) meter: Meter,
    pub(super) id: Option<ToolId>,
    source: Source,
    enabled: AtomicBool,
    unavailable: Option<String>,
    digest: OnceLock<String>,
}

/// How to register a tool; [`Registry::register`](crate::Registry::register) uses the defaults.
#[derive(Debug, Clone, Default)]
pub struct Registration {
    /// The id by which it can be referred to.
    pub id: Option<ToolId>,
    /// Registers it switched off.
    pub disabled: bool,
    /// Registers it although it cannot run, saying what is missing.
    pub unavailable: Option<String>,
}

impl Entry {
    pub(super) fn new(
        tool: Arc<dyn Tool>,
        source: Source,
        registration: Registration,
        operator: &LimitsPatch,
    ) -> Self {
        let spec = tool.spec();
        // The operator's limits widen the default, and are the widest a tool can have.
        let limits = Limits::default()
            .overlaid(operator)
            .overlaid(&spec.limits)
            .tightened(operator);
        Entry {
            meter: Meter::new(&limits),
            limits,
            tool,
            id: registration.id,
            source,
            enabled: AtomicBool::new(!registration.disabled),
            unavailable: registration.unavailable,
            digest: OnceLock::new(),
            spec,
        }
    }

    /// The tool's spec.
    pub fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    /// Where the tool comes from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The limits of its calls: the tool's own and the registry's, whichever is tighter.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether it can be called.
    pub fn availability(&self) -> Availability {
        match (&self.unavailable, self.enabled.load(Ordering::Relaxed)) {
            (_, false) => Availability::Disabled {
                reason: "the tool is switched off".to_owned(),
            },
            (Some(reason), true) => Availability::Unavailable {
                reason: reason.clone(),
            },
            (None, true) => Availability::Ready,
        }
    }

    pub(super) fn set_enabled(&self, enabled: bool) {
        self.enabled.store(enabled, Ordering::Relaxed);
    }

    /// A digest of what the tool is, to which approvals are bound.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| {
            let spec = &self.spec;
            let made_of = spec.content_digest.as_deref();
            let digester = match made_of {
                Some(digest) => Digester::default().text(digest),
                None => Digester::default(),
            };
            digester
                .text(&spec.reference())
                .text(spec.name.as_str())
                .text(&spec.description)
                .json(spec.input_schema.as_value())
                .json(
                    spec.output_schema
                        .as_ref()
                        .map_or(&Value::Null, |schema| schema.as_value()),
                )
                .text(&spec.effects.tags().join(","))
                .finish()
        })
    }
}
