//! The kinds of write a store knows: [`Operation`], done here or by a child process.

use std::path::{Path, PathBuf};
use std::process::Command;

use toolcrib::store::{Install, Store, StoreError};
use toolcrib::{Bundle, ToolManifest};

use super::ground::{Ground, Home, acme, beta, binned};
use super::{NOW, bundle_id, draft, key, manifest, options, slug, tool_id};
use crate::syscalls::test_in_child;

/// One write of each kind, on a copy of [`Ground`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    FirstBundle,
    PutBundle,
    ReplaceBundle,
    SwitchBundle,
    /// One that is off, if it is what was shown.
    EnableShown,
    DeleteBundle,
    RestoreBundle,
    PutTool,
    ReplaceTool,
    SwitchTool,
    DeleteTool,
    InstallNew,
    InstallUpdate,
    Reap,
    SetAside,
    /// A file that is a directory, with something in it.
    SetAsideFull,
    /// A bundle's directory that is none.
    SetAsideBundle,
    /// A bundle whose own file is missing is made again by its id.
    PutHeadless,
    RecoverBundle,
}

impl Operation {
    pub(super) const ALL: [Operation; 19] = [
        Operation::FirstBundle,
        Operation::PutBundle,
        Operation::ReplaceBundle,
        Operation::SwitchBundle,
        Operation::EnableShown,
        Operation::DeleteBundle,
        Operation::RestoreBundle,
        Operation::PutTool,
        Operation::ReplaceTool,
        Operation::SwitchTool,
        Operation::DeleteTool,
        Operation::InstallNew,
        Operation::InstallUpdate,
        Operation::Reap,
        Operation::SetAside,
        Operation::SetAsideFull,
        Operation::SetAsideBundle,
        Operation::PutHeadless,
        Operation::RecoverBundle,
    ];
    const VARIABLE: &str = "TOOLCRIB_TEST_OPERATION";
    const HOME_VARIABLE: &str = "TOOLCRIB_TEST_STORE";

    /// The home as it is before.
    pub(super) fn prepare(self, ground: &Ground) -> Home {
        let home = match self {
            Operation::FirstBundle => Home::empty(),
            _ => ground.copy(),
        };
        match self {
            Operation::SetAside => {
                std::fs::write(home.tool_file(acme(), "y", "v1"), "{\"slug\": \"y").unwrap();
            }
            Operation::SetAsideFull => {
                let file = home.tool_file(acme(), "y", "v1");
                std::fs::remove_file(&file).unwrap();
                std::fs::create_dir(&file).unwrap();
                std::fs::write(file.join("mine.json"), "mine").unwrap();
            }
            Operation::SetAsideBundle => {
                let dir = home.bundle_file(beta()).parent().unwrap().to_owned();
                std::fs::remove_dir_all(&dir).unwrap();
                std::fs::write(dir, "mine").unwrap();
            }
            Operation::EnableShown => {
                let file = home.bundle_file(beta());
                let text = std::fs::read_to_string(&file).unwrap();
                let off = text.replace("\"isEnabled\": true", "\"isEnabled\": false");
                assert_ne!(off, text);
                std::fs::write(file, off).unwrap();
            }
            Operation::PutHeadless | Operation::RecoverBundle => {
                std::fs::remove_file(home.bundle_file(beta())).unwrap();
            }
            _ => {}
        }
        home
    }

    /// Whether it is about something damaged, which [`Self::prepare`] makes.
    pub(super) fn is_repair(self) -> bool {
        self.is_setting_aside() || matches!(self, Operation::PutHeadless | Operation::RecoverBundle)
    }

    pub(super) fn is_setting_aside(self) -> bool {
        matches!(
            self,
            Operation::SetAside | Operation::SetAsideFull | Operation::SetAsideBundle
        )
    }

    /// The function of a store that does it.
    pub(super) fn function(self) -> &'static str {
        match self {
            Operation::FirstBundle
            | Operation::PutBundle
            | Operation::ReplaceBundle
            | Operation::PutHeadless => "put_bundle",
            Operation::SwitchBundle => "set_bundle_enabled",
            Operation::EnableShown => "enable_as_shown",
            Operation::DeleteBundle => "delete_bundle",
            Operation::RestoreBundle => "restore_bundle",
            Operation::RecoverBundle => "recover_bundle",
            Operation::PutTool => "put_tool",
            Operation::ReplaceTool => "replace_tool",
            Operation::SwitchTool => "set_tool_enabled",
            Operation::DeleteTool => "delete_tool",
            Operation::InstallNew | Operation::InstallUpdate => "install",
            Operation::Reap => "reap",
            Operation::SetAside | Operation::SetAsideFull | Operation::SetAsideBundle => {
                "set_aside"
            }
        }
    }

    /// A command that runs `child`, the full name of a test, for this operation in a home.
    pub(super) fn in_child(self, child: &str, home: &Path) -> Command {
        let mut command = test_in_child(child);
        command
            .env(Self::VARIABLE, format!("{self:?}"))
            .env(Self::HOME_VARIABLE, home);
        command
    }

    /// In the child: what it is to do and where. `None` when no one said.
    pub(super) fn from_environment() -> Option<(Self, PathBuf)> {
        let home = std::env::var_os(Self::HOME_VARIABLE)?.into();
        let name = std::env::var(Self::VARIABLE).ok()?;
        let named = |operation: &Operation| format!("{operation:?}") == name;
        Some((Self::ALL.into_iter().find(named).unwrap(), home))
    }

    pub(super) fn run(self, store: &Store) -> Result<(), StoreError> {
        match self {
            Operation::FirstBundle | Operation::PutBundle => {
                store.put_bundle(bundle_id(9), draft("new")).map(drop)
            }
            Operation::ReplaceBundle => {
                let mut draft = draft("acme");
                draft.description = String::from("Another one");
                store.put_bundle(acme(), draft).map(drop)
            }
            Operation::SwitchBundle => store.set_bundle_enabled(acme(), false).map(drop),
            Operation::EnableShown => {
                let shown = store.whole(beta())?.digest();
                store.enable_as_shown(beta(), shown).map(drop)
            }
            Operation::DeleteBundle => store.delete_bundle(acme()).map(drop),
            Operation::RestoreBundle => store.restore_bundle(binned()).map(drop),
            Operation::PutTool => {
                let new = key(acme(), "new", "v1");
                store
                    .put_tool(manifest(&new, tool_id(90), "A new one"))
                    .map(drop)
            }
            Operation::ReplaceTool => {
                let x = key(acme(), "x", "v1");
                let digest = store.tool(&x)?.digest();
                let new = manifest(&x, tool_id(1), "Another one");
                store.replace_tool(new, &digest).map(drop)
            }
            Operation::SwitchTool => store
                .set_tool_enabled(&key(acme(), "x", "v1"), false)
                .map(drop),
            Operation::DeleteTool => store.delete_tool(&key(acme(), "y", "v1")),
            Operation::InstallNew => {
                let id = bundle_id(9);
                let tools = ["a", "b", "c"].map(|tool| key(id, tool, "v1"));
                let tools = tools.iter().zip(90..);
                let tools = tools.map(|(key, number)| manifest(key, tool_id(number), "Installed"));
                store
                    .install(bundle_to_install(9, "new"), tools.collect(), Install::New)
                    .map(drop)
            }
            Operation::InstallUpdate => {
                let tools: Vec<ToolManifest> = vec![
                    manifest(&key(beta(), "x", "v1"), tool_id(4), "Updated"),
                    manifest(&key(beta(), "x", "v3"), tool_id(91), "Came with the update"),
                ];
                store
                    .install(bundle_to_install(2, "beta"), tools, Install::Update)
                    .map(drop)
            }
            Operation::Reap => store.reap().map(drop),
            Operation::SetAside | Operation::SetAsideFull | Operation::SetAsideBundle => {
                for damage in store.damage() {
                    store.set_aside(&damage)?;
                }
                Ok(())
            }
            Operation::PutHeadless => store.put_bundle(beta(), draft("beta")).map(drop),
            Operation::RecoverBundle => store.recover_bundle(beta(), slug("found")).map(drop),
        }
    }

    /// The state after it, with nothing in its way.
    pub(super) fn done(self, ground: &Ground) -> super::view::View {
        let home = self.prepare(ground);
        self.run(&super::open(&home.path)).unwrap();
        super::view::View::fresh(&home.path)
    }

    /// A store that has looked, and does this next.
    pub(super) fn store(home: &Path) -> Store {
        let store = Store::at(home, options(NOW));
        store.changes(toolcrib::store::Look::Glance).unwrap();
        store
    }
}

/// A bundle as an import brings it, but for its tools.
pub(super) fn bundle_to_install(number: u64, name: &str) -> Bundle {
    serde_json::from_value(serde_json::json!({
        "schemaVersion": "1", "bundleID": bundle_id(number), "slug": name, "displayName": "Installed",
        "description": "", "isEnabled": false, "isBuiltIn": false, "importedAt": NOW,
        "createdAt": NOW, "modifiedAt": NOW
    }))
    .unwrap()
}
