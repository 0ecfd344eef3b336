//! Tools as files, from outside: scopes, names, trust, reload, and files that are none.

mod files;
mod http;
mod links;
mod names;
mod reload;
mod rules;
mod search;
mod stored;
mod stored_bundles;
mod stored_follow;
mod stored_offer;
mod switches;
mod trust;
mod usage;

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use toolcrib::config::Surroundings;
use toolcrib::source::{FileOutcome, ToolFile};
use toolcrib::{CallRequest, Crib, CribOptions, ErrorCode, Outcome};

/// Its own machine: a workspace, a home directory, a home of Toolcrib, a place for global tools.
struct Scene(
    PathBuf,
    #[expect(dead_code, reason = "removed with it")] Option<TempDir>,
);

impl Scene {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let scene = Scene(place.path().to_owned(), Some(place));
        for directory in ["work/.git", "user", "home", "etc"] {
            std::fs::create_dir_all(scene.path(directory)).unwrap();
        }
        scene
    }

    /// The machine of another process.
    fn at(root: PathBuf) -> Self {
        Scene(root, None)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// Writes a file and the directories it is in.
    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn options(&self) -> CribOptions {
        let text = |path: &str| self.path(path).to_str().unwrap().to_owned();
        let (home, user, etc) = (text("home"), text("user"), text("etc"));
        let variables = [
            ("TOOLCRIB_HOME", home.as_str()),
            ("HOME", user.as_str()),
            ("TOOLCRIB_TOOLS_GLOBAL_DIRECTORY", etc.as_str()),
        ];
        CribOptions::default().surroundings(Surroundings::new(&self.path("work"), variables))
    }

    fn open(&self) -> Crib {
        self.options().open().unwrap()
    }

    /// Opens the crib and trusts what is in the workspace.
    fn trusted(&self) -> Crib {
        let crib = self.open();
        crib.trust(&crib.review()).unwrap();
        crib
    }
}

const LOCAL: &str = "work/.toolcrib/tools";
const USER: &str = "user/.toolcrib/tools";
const GLOBAL: &str = "etc/toolcrib/tools";

/// A tool that prints a word.
fn says(word: &str) -> String {
    format!("description: Says {word}\nbash: echo {word}\ntags: [read]\n")
}

async fn call(crib: &Crib, tool: &str) -> Outcome {
    crib.registry().execute(CallRequest::new(tool)).await
}

/// What a tool printed.
async fn said(crib: &Crib, tool: &str) -> String {
    let outcome = call(crib, tool).await;
    let Some(value) = outcome.value() else {
        panic!("`{tool}`: {}", outcome.error().unwrap());
    };
    value["output"].as_str().unwrap_or_default().to_owned()
}

/// Why a tool was not called, and the detail `reason`.
async fn refused(crib: &Crib, tool: &str) -> (ErrorCode, String) {
    let outcome = call(crib, tool).await;
    let error = outcome.error().expect("it is refused");
    let reason = error.details().and_then(|details| details.get("reason"));
    let reason = reason.and_then(Value::as_str).unwrap_or(error.message());
    (error.code(), reason.to_owned())
}

fn file<'a>(files: &'a [ToolFile], shown: &str) -> &'a ToolFile {
    let found = files.iter().find(|file| file.shown == shown);
    found.unwrap_or_else(|| {
        let all: Vec<&str> = files.iter().map(|file| file.shown.as_str()).collect();
        panic!("`{shown}` is not among {all:?}")
    })
}

fn standing(crib: &Crib, shown: &str) -> FileOutcome {
    file(&crib.tool_files().files, shown).standing.clone()
}

fn chmod(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
