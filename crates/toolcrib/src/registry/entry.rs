//! A registered tool: what it is, where it comes from, whether it can be called.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::Value;

use crate::limits::Meter;
use crate::model::digest::Digester;
use crate::model::ids::ToolId;
use crate::model::limits::{Limits, LimitsPatch};
use crate::model::spec::ToolSpec;
use crate::tool::Tool;

/// Where a tool comes from; of two with one name the one whose source stands first here has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Compiled into Toolcrib.
    BuiltIn,
    /// Registered by the program that embeds Toolcrib.
    App,
    /// A file of the workspace.
    Local,
    /// A file of the user's.
    User,
    /// A file of the machine's.
    Global,
    /// A bundle of the store.
    Store,
}

impl Source {
    /// The word for it, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::BuiltIn => "built-in",
            Source::App => "app",
            Source::Local => "local",
            Source::User => "user",
            Source::Global => "global",
            Source::Store => "store",
        }
    }

    /// Whether its tools give way to others of the same name. Those of a program do not: a clash of names is an error of it.
    pub(super) fn gives_way(self) -> bool {
        match self {
            Source::BuiltIn | Source::App => false,
            Source::Local | Source::User | Source::Global | Source::Store => true,
        }
    }
}

/// Who switched a tool off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    /// The program, by [`Registry::set_enabled`](crate::Registry::set_enabled).
    Program = 1,
    /// The user, by `toolcrib disable`.
    Flag = 2,
    /// The setting `disabledTools`.
    Setting = 4,
    /// Nobody knows whether the user did: the record of it is damaged.
    Unknown = 8,
    /// The author, by `isEnabled` in the tool's file.
    File = 16,
}

/// Whether a tool can run here, computed and never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Availability {
    /// It can.
    Ready,
    /// It is switched off, or nobody has trusted it yet.
    Disabled {
        /// By what; `untrusted` for a tool that waits for `toolcrib trust`.
        reason: String,
        /// What to do about it, where the reason does not say.
        #[serde(skip_serializing_if = "Option::is_none")]
        help: Option<String>,
    },
    /// Something it needs is missing.
    Unavailable {
        /// What.
        reason: String,
    },
}

/// The number of the next entry.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// A registered tool.
pub struct Entry {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) spec: Arc<ToolSpec>,
    pub(crate) limits: Limits,
    pub(crate) meter: Meter,
    pub(super) id: Option<ToolId>,
    /// Which entry of all it is.
    pub(super) number: u64,
    source: Source,
    /// The bits of those who switched it off.
    off: AtomicU8,
    untrusted: Option<String>,
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
    /// Registers it although nobody has trusted it yet, saying what to do: calls are refused as `untrusted`.
    pub untrusted: Option<String>,
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
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            source,
            off: AtomicU8::new(if registration.disabled {
                Switch::Program as u8
            } else {
                0
            }),
            untrusted: registration.untrusted,
            unavailable: registration.unavailable,
            digest: OnceLock::new(),
            spec,
        }
    }

    /// The tool itself. The pipeline alone calls it.
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
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
        let off = self.off.load(Ordering::Relaxed);
        let by = |switch: Switch| off & switch as u8 != 0;
        if let Some(help) = &self.untrusted {
            return Availability::Disabled {
                reason: "untrusted".to_owned(),
                help: Some(help.clone()),
            };
        }
        if by(Switch::Unknown) {
            let reason = "which tools are switched off cannot be read";
            let help = "remove `state/flags.json` from Toolcrib's home, then `toolcrib disable` what is to be off";
            return switched_off(reason, Some(help.to_owned()));
        }
        if by(Switch::Setting) {
            return switched_off("the setting `disabledTools` names it", None);
        }
        if by(Switch::Flag) {
            let help = format!("`toolcrib enable {}` switches it on", self.spec.name);
            return switched_off("the tool is switched off", Some(help));
        }
        if by(Switch::File) {
            let help = "write `\"isEnabled\": true` in its file";
            return switched_off(
                "its file says `\"isEnabled\": false`",
                Some(help.to_owned()),
            );
        }
        if by(Switch::Program) {
            return switched_off("the tool is switched off", None);
        }
        match &self.unavailable {
            Some(reason) => Availability::Unavailable {
                reason: reason.clone(),
            },
            None => Availability::Ready,
        }
    }

    /// What is missing for it to run, whoever may have switched it off besides.
    pub(crate) fn unavailable(&self) -> Option<&str> {
        self.unavailable.as_deref()
    }

    /// Lets one of those who may switch it off do so, or take that back.
    pub(crate) fn switch(&self, who: Switch, on: bool) {
        if on {
            self.off.fetch_and(!(who as u8), Ordering::Relaxed);
        } else {
            self.off.fetch_or(who as u8, Ordering::Relaxed);
        }
    }

    /// A digest of what the tool is, to which approvals are bound.
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| {
            let spec = &self.spec;
            let digest = Digester::default()
                .text(&spec.reference())
                .text(spec.name.as_str())
                .text(&spec.description)
                .json(spec.input_schema.as_value())
                .json(
                    spec.output_schema
                        .as_ref()
                        .map_or(&Value::Null, |schema| schema.as_value()),
                )
                .text(&spec.effects.tags().join(","));
            match &spec.content_digest {
                Some(content) => digest.text(content).finish(),
                None => digest.finish(),
            }
        })
    }
}

fn switched_off(reason: &str, help: Option<String>) -> Availability {
    Availability::Disabled {
        reason: reason.to_owned(),
        help,
    }
}
