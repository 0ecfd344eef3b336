//! `search_code` through the whole pipeline: what it finds beside what `rg` finds, and what it says when it cannot.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod calls;
mod meaning;
mod same_as_rg;

use std::path::Path;
use toolcrib::RegisterBuiltins as _;

use serde_json::Value;
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, Outcome, Registry};

use crate::tools::args;

/// The built-in tools on a directory.
fn registry(root: &Path) -> Registry {
    let workspace = Workspace::open(root).unwrap();
    let registry = Registry::builder().workspace(workspace).build();
    registry.register_builtins().unwrap();
    registry
}

async fn search(registry: &Registry, arguments: Value) -> Outcome {
    let request = CallRequest::new("search_code").args(args(arguments));
    registry.execute(request).await
}

fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}
