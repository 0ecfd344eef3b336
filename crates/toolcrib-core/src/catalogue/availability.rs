//! Whether a tool can be called: [`Availability`], and who can switch it off.

use serde::{Deserialize, Serialize};

use crate::spec::ToolSpec;

/// What switched a tool off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Switch {
    /// The program, by [`Registry::set_enabled`](crate::Registry::set_enabled).
    Program = 1,
    /// The user, by `toolcrib disable`.
    Flag = 2,
    /// The setting `disabledTools`.
    Setting = 4,
    /// No one knows whether the user did: the record of it is damaged.
    Unknown = 8,
    /// The author, by `isEnabled` in the tool's file.
    File = 16,
    /// The user, by `toolcrib bundle disable` for one of the bundles that are not in the store.
    Bundle = 32,
}

/// What the store says about a tool and its bundle. It is part of the tool's rank among others of its name, so it does not change while the
/// tool is registered: who changes it registers the tool again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct StoreSwitches {
    /// The tool's own switch is off.
    #[doc(hidden)]
    pub tool_is_off: bool,
    /// The state of its bundle.
    #[doc(hidden)]
    pub bundle: BundleState,
}

/// Whether the tools of a bundle are on offer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[doc(hidden)]
pub enum BundleState {
    /// They are.
    #[default]
    On,
    /// It is switched off.
    Off,
    /// It was deleted, and can be restored.
    InBin,
    /// No one can tell, and this is why.
    Damaged(String),
}

impl StoreSwitches {
    /// Whether the tool is off by any of them.
    pub(super) fn are_off(&self) -> bool {
        self.tool_is_off || self.bundle != BundleState::On
    }
}

/// Whether a tool can run here, computed and never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Availability {
    /// It can.
    Ready,
    /// It is switched off, or no one has trusted it yet.
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

/// All that can switch a tool off, as it is now.
pub(super) struct Switches<'a> {
    pub(super) spec: &'a ToolSpec,
    pub(super) untrusted: Option<&'a str>,
    /// The bits of those who switched it off.
    pub(super) bits: u8,
    pub(super) store: &'a StoreSwitches,
}

impl Switches<'_> {
    pub(super) fn are_off(&self) -> bool {
        self.untrusted.is_some() || self.bits != 0 || self.store.are_off()
    }

    /// Why the tool is off, by the strongest reason; none if it is on.
    pub(super) fn disabled(&self) -> Option<Availability> {
        self.reasons().next()
    }

    /// Everything that keeps the tool off, the strongest first.
    pub(super) fn reasons(&self) -> impl Iterator<Item = Availability> {
        let by = |switch: Switch| self.bits & switch as u8 != 0;
        let enable = |tool: &str| Some(format!("`toolcrib enable {tool}` switches it on"));
        let spec = self.spec;
        let reasons = [
            self.untrusted
                .map(|help| off("untrusted", Some(help.to_owned()))),
            by(Switch::Unknown).then(|| {
                let help = "`toolcrib doctor --fix` sets `state/flags.json` aside, then `toolcrib disable` what is to be off";
                let reason = "which tools are switched off cannot be read";
                off(reason, Some(help.to_owned()))
            }),
            by(Switch::Setting).then(|| off("the setting `disabledTools` names it", None)),
            self.by_bundle(by(Switch::Bundle)),
            self.store
                .tool_is_off
                .then(|| off("the tool is switched off", enable(&spec.reference()))),
            by(Switch::Flag)
                .then(|| off("the tool is switched off", enable(spec.name.as_str()))),
            by(Switch::File).then(|| {
                let reason = "its file says `\"isEnabled\": false`";
                let help = "write `\"isEnabled\": true` in its file";
                off(reason, Some(help.to_owned()))
            }),
            by(Switch::Program).then(|| off("the tool is switched off", None)),
        ];
        reasons.into_iter().flatten()
    }

    fn by_bundle(&self, is_flagged: bool) -> Option<Availability> {
        let bundle = &self.spec.bundle;
        let (reason, help) = match &self.store.bundle {
            BundleState::Damaged(why) => (
                format!("its bundle `{bundle}` cannot be read: {why}"),
                "`toolcrib doctor` says more, `toolcrib doctor --fix` sets the file aside"
                    .to_owned(),
            ),
            BundleState::InBin => (
                format!("its bundle `{bundle}` is in the bin"),
                format!("`toolcrib bundle restore {bundle}` takes it out"),
            ),
            BundleState::On if !is_flagged => return None,
            BundleState::On | BundleState::Off => (
                format!("its bundle `{bundle}` is switched off"),
                format!("`toolcrib bundle enable {bundle}` switches it on"),
            ),
        };
        Some(off(&reason, Some(help)))
    }
}

fn off(reason: &str, help: Option<String>) -> Availability {
    Availability::Disabled {
        reason: reason.to_owned(),
        help,
    }
}
