//! Registries for tests: the operator's settings and rules, the built-in tools, the tool under test and what it uses.
//!
//! Nothing of the home is in them: no call log, no grants, no questions, no stored outcomes. Unless a person passed `--yes` there is
//! no network in them either: the files need not be trusted, and data sent to a listed host cannot be taken back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Bench, Consent, Stage};
use crate::builtin::{BuiltinOptions, RegisterBuiltins as _};
use crate::crib::{Crib, builtin_options};
use crate::definition::Definition;
use crate::exec::command::{CommandSettings, CommandTool};
use crate::model::error::ToolError;
use crate::model::limits::LimitsPatch;
use crate::model::names::Slug;
use crate::model::reference::{BundleRef, ToolRef};
use crate::process::{NetworkAccess, Runner};
use crate::registry::{Registration, Registry};
use crate::rules::RuleSet;
use crate::sandbox::AbsentNames;
use crate::secret::SecretStore;
use crate::source::ToolFile;

/// A tool of a file, and whose it is.
pub(super) struct TrialTool {
    pub(super) bundle: Slug,
    /// The directory of its file, if it has one.
    pub(super) directory: Option<PathBuf>,
    pub(super) definition: Arc<Definition>,
}

/// What registries for tests are made of.
pub(super) struct Materials {
    pub(super) rules: RuleSet,
    pub(super) limits: LimitsPatch,
    pub(super) builtins: BuiltinOptions,
    /// `disabledTools`.
    pub(super) disabled: Vec<String>,
    /// What the outcome of a test shows masked, as everything does.
    pub(super) secrets: SecretStore,
    /// `sandbox.sudo`.
    pub(super) sudo: Option<PathBuf>,
    /// The tools of all files, trusted or not; those that have their names first.
    pub(super) tools: Vec<TrialTool>,
}

impl Crib {
    /// Where the tests of this crib's tools run, trusted or not.
    pub fn bench(&self, consent: Consent) -> Bench {
        let known = |file: &ToolFile| {
            Some(TrialTool {
                bundle: file.scope.bundle(),
                directory: file.path.parent().map(Path::to_owned),
                // Tests of others cannot use HTTP tools: they reach no network.
                definition: Arc::clone(file.definition.as_ref()?.command()?),
            })
        };
        let mut builtins = builtin_options(
            self.config(),
            None,
            self.egress(),
            self.secrets(),
            self.held(),
        );
        // Workspaces of tests are thrown away, with all that is planted in them.
        builtins.sandbox.options.held = None;
        builtins.sandbox.options.absent = AbsentNames::Hold;
        if consent == Consent::Sandboxed {
            builtins.sandbox.network = NetworkAccess::None;
            builtins.no_network =
                Some("tests reach no network; read the file, then pass `--yes`".to_owned());
        }
        let materials = Materials {
            rules: self.rules().clone(),
            limits: self.config().limits(),
            builtins,
            disabled: self.config().disabled_tools(),
            secrets: self.secrets().clone(),
            sudo: self.config().sudo(),
            tools: self.tool_files().files.iter().filter_map(known).collect(),
        };
        Bench::new(materials, consent)
    }
}

impl Materials {
    /// Sets up a registry for one call.
    pub(super) fn open(&self, stage: Stage<'_>) -> Result<Registry, ToolError> {
        let registry = Registry::builder()
            .rules(self.rules.clone())
            .shared_approver(stage.approver)
            .limits(&self.limits)
            .workspace(stage.workspace)
            .secrets(self.secrets.clone())
            .build();
        let taken = |error: crate::registry::RegisterError| ToolError::failed(error.to_string());
        registry
            .register_builtins_with(self.builtins.clone())
            .map_err(taken)?;
        let settings = Arc::new(CommandSettings {
            // A separate one: a runner's state for the next call is made for one workspace.
            runner: Arc::new(Runner::new(self.builtins.sandbox.options.clone())),
            sudo: self.sudo.clone(),
            secrets: Some(self.secrets.clone()),
        });
        let bundle = self
            .tools
            .iter()
            .find(|known| Arc::ptr_eq(&known.definition, stage.tool))
            .map(|known| known.bundle.clone());
        let bundle = match bundle {
            Some(bundle) => bundle,
            None => Slug::parse("local").map_err(|error| ToolError::failed(error.to_string()))?,
        };
        for (bundle, definition) in self.in_order(&bundle, stage.tool) {
            let lookup = |reference: &str| Some(Arc::clone(registry.find(reference).ok()?.spec()));
            let unavailable = CommandTool::missing(&definition);
            let tool = CommandTool::linked(definition, bundle, Arc::clone(&settings), &lookup)?;
            let registration = Registration {
                unavailable,
                ..Registration::default()
            };
            registry
                .register_with(Arc::new(tool), registration)
                .map_err(taken)?;
        }
        for name in &self.disabled {
            // Anything that is not needed here is absent.
            let _ = registry.set_enabled(name, false);
        }
        Ok(registry)
    }

    /// The directory of a tool's file, if it has one.
    pub(super) fn directory_of(&self, tool: &Arc<Definition>) -> Option<PathBuf> {
        let mut known = self.tools.iter();
        let known = known.find(|known| Arc::ptr_eq(&known.definition, tool))?;
        known.directory.clone()
    }

    /// The tool and everything it uses, what is used first.
    fn in_order(&self, bundle: &Slug, tool: &Arc<Definition>) -> Vec<(Slug, Arc<Definition>)> {
        let mut found = vec![(bundle.clone(), Arc::clone(tool))];
        let mut next = 0;
        while let Some((_, definition)) = found.get(next) {
            let definition = Arc::clone(definition);
            for reference in definition.uses() {
                let Some(known) = self.find(reference) else {
                    // A built-in tool, or none: the call says so.
                    continue;
                };
                let has_name =
                    |(_, other): &(Slug, Arc<Definition>)| other.name == known.definition.name;
                if !found.iter().any(has_name) {
                    found.push((known.bundle.clone(), Arc::clone(&known.definition)));
                }
            }
            next += 1;
        }
        // Breadth first, from the end: a tool comes after what it uses, unless they use each other, which is refused at load.
        let mut order: Vec<(Slug, Arc<Definition>)> = Vec::new();
        let mut left: Vec<(Slug, Arc<Definition>)> = found.into_iter().rev().collect();
        while !left.is_empty() {
            let is_ready = |(_, definition): &(Slug, Arc<Definition>)| {
                !definition.uses().iter().any(|reference| {
                    let used = self.find(reference);
                    used.is_some_and(|used| {
                        left.iter()
                            .any(|(_, other)| Arc::ptr_eq(other, &used.definition))
                    })
                })
            };
            let ready = left.iter().position(is_ready).unwrap_or(0);
            order.push(left.remove(ready));
        }
        order
    }

    fn find(&self, reference: &str) -> Option<&TrialTool> {
        let reference: ToolRef = reference.parse().ok()?;
        self.tools.iter().find(|known| {
            let definition = &known.definition;
            match &reference {
                ToolRef::Name(name) => {
                    definition.name.as_str() == name.as_str()
                        || definition.slug.as_str() == name.as_str()
                }
                ToolRef::Slug(slug) => definition.slug == *slug,
                ToolRef::InBundle {
                    bundle: BundleRef::Slug(bundle),
                    slug,
                    version,
                } => {
                    known.bundle == *bundle
                        && definition.slug == *slug
                        && version
                            .as_ref()
                            .is_none_or(|version| definition.version == *version)
                }
                ToolRef::InBundle { .. } | ToolRef::Id(_) => false,
            }
        })
    }
}
