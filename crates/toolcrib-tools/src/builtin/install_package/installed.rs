//! What was installed: read from what the managers wrote, which says more than what they print.

use serde_json::{Value, json};

use super::manager::Manager;
use super::package::Package;
use super::plan::Plan;
use crate::builtin::project::{self, join, upwards};
use crate::model::json::read_bounded;
use crate::workspace::Workspace;

/// How many packages are reported.
pub(super) const MAX_TOLD: usize = 200;

/// The packages that a call installed: those that were asked for, and of pip also what they need. Blocks.
pub(super) fn installed(
    workspace: &Workspace,
    plan: &Plan,
    report: &str,
    said: &str,
) -> Vec<Value> {
    if plan.manager == Manager::Pip {
        return of_pip(plan, report);
    }
    let one = |package: &Package| {
        let (name, source) = match package {
            Package::Named { name, .. } => {
                let host = plan.registry.hosts.first().cloned();
                (name.clone(), host.unwrap_or_default())
            }
            Package::Local { path, .. } => (local_name(workspace, plan, path)?, path.clone()),
        };
        let version = match plan.manager {
            Manager::Cargo => of_cargo(workspace, &plan.root, &name),
            Manager::Npm => of_npm(workspace, &plan.root, &name),
            Manager::Go => of_go(said, &name),
            Manager::Pip => None,
        };
        let mut told = json!({"name": name, "source": source});
        if let Some(version) = version {
            told["version"] = version.into();
        }
        Some(told)
    };
    plan.packages.iter().filter_map(one).collect()
}

/// The name and the version that a package of the workspace has in its own manifest.
pub(super) fn said(workspace: &Workspace, path: &str) -> Option<(String, String)> {
    let path = path.trim_end_matches('/');
    let read = |name: &str| project::read(workspace, &join(path, name));
    let of_table = |table: &toml::Table, section: &str| {
        let said = |key: &str| Some(table.get(section)?.get(key)?.as_str()?.to_owned());
        Some((said("name")?, said("version").unwrap_or_default()))
    };
    if let Some(manifest) = read("Cargo.toml").and_then(|text| text.parse().ok()) {
        return of_table(&manifest, "package");
    }
    if let Some(manifest) = read("package.json") {
        let manifest = read_bounded(manifest.as_bytes()).ok()?;
        let said = |key: &str| Some(manifest.get(key)?.as_str()?.to_owned());
        return Some((said("name")?, said("version").unwrap_or_default()));
    }
    if let Some(manifest) = read("pyproject.toml").and_then(|text| text.parse().ok()) {
        return of_table(&manifest, "project");
    }
    // `name-version-…whl`, by the standard of wheels.
    let wheel = path.rsplit('/').next()?.strip_suffix(".whl")?;
    let mut parts = wheel.split('-');
    Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
}

fn local_name(workspace: &Workspace, plan: &Plan, path: &str) -> Option<String> {
    if let Some((name, _)) = said(workspace, path) {
        return Some(name);
    }
    // A tarball: npm has written down what is in it.
    let manifest = project::read(workspace, &join(&plan.root, "package.json"))?;
    let manifest = read_bounded(manifest.as_bytes()).ok()?;
    let file = path.rsplit('/').next()?;
    let lists = ["dependencies", "devDependencies"].iter();
    lists
        .filter_map(|list| manifest.get(list)?.as_object())
        .flatten()
        .find(|(_, from)| from.as_str().is_some_and(|from| from.ends_with(file)))
        .map(|(name, _)| name.clone())
}

/// The version in the lock of the project or of one around it: the newest, where there are several.
fn of_cargo(workspace: &Workspace, root: &str, name: &str) -> Option<String> {
    upwards(root).find_map(|directory| {
        let lock = read_large(workspace, &join(directory, "Cargo.lock"))?;
        let lock: toml::Table = lock.parse().ok()?;
        let packages = lock.get("package")?.as_array()?.iter();
        let mut versions = packages.filter_map(|package| {
            (package.get("name")?.as_str()? == name)
                .then(|| package.get("version")?.as_str().map(str::to_owned))?
        });
        versions.next_back()
    })
}

fn of_npm(workspace: &Workspace, root: &str, name: &str) -> Option<String> {
    upwards(root).find_map(|directory| {
        let lock = read_large(workspace, &join(directory, "package-lock.json"))?;
        let lock = read_bounded(lock.as_bytes()).ok()?;
        let packages = lock.get("packages")?.as_object()?;
        let below = match (directory, root) {
            (".", root) => root,
            (directory, root) => root.strip_prefix(directory)?.trim_start_matches('/'),
        };
        let places = [
            join(below, &format!("node_modules/{name}")),
            format!("node_modules/{name}"),
        ];
        let entry = places.iter().find_map(|place| packages.get(place))?;
        let entry = match entry.get("link") {
            Some(Value::Bool(true)) => packages.get(entry.get("resolved")?.as_str()?)?,
            _ => entry,
        };
        Some(entry.get("version")?.as_str()?.to_owned())
    })
}

/// `go: added golang.org/x/text v0.3.0`, or `upgraded … v0.3.0 => v0.4.0`.
fn of_go(said: &str, name: &str) -> Option<String> {
    let lines = said.lines().filter_map(|line| line.strip_prefix("go: "));
    lines
        .filter(|line| line.split(' ').nth(1) == Some(name))
        .find_map(|line| line.split(' ').next_back().map(str::to_owned))
}

/// What pip reports (<https://pip.pypa.io/en/stable/reference/installation-report/>).
fn of_pip(plan: &Plan, report: &str) -> Vec<Value> {
    let report = read_bounded(report.as_bytes()).unwrap_or_default();
    let entries = report.get("install").and_then(Value::as_array);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let one = |entry: &Value| {
        let url = text(entry.pointer("/download_info/url"));
        let source = match url.strip_prefix("file://") {
            // Where it is on the host is no one's business.
            Some(file) => plan
                .packages
                .iter()
                .find_map(|package| match package {
                    Package::Local { path, host } if host.to_string_lossy() == file => {
                        Some(path.clone())
                    }
                    _ => None,
                })
                .unwrap_or_else(|| "a file of this machine".to_owned()),
            None => url::Url::parse(&url)
                .ok()
                .and_then(|url| url.host_str().map(str::to_owned))
                .unwrap_or_default(),
        };
        json!({
            "name": text(entry.pointer("/metadata/name")),
            "version": text(entry.pointer("/metadata/version")),
            "source": source,
        })
    };
    entries.into_iter().flatten().map(one).collect()
}

/// A lock, which can be large.
fn read_large(workspace: &Workspace, path: &str) -> Option<String> {
    use std::io::Read as _;
    const MAX_LOCK: u64 = 16 << 20;
    let (file, metadata) = workspace.open_file(&workspace.path(path).ok()?).ok()?;
    let mut text = String::new();
    if metadata.size > MAX_LOCK {
        return None;
    }
    file.take(MAX_LOCK).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_go_added_is_read_from_its_words() {
        let said = "go: downloading golang.org/x/text v0.4.0\ngo: upgraded golang.org/x/text v0.3.0 => v0.4.0\ngo: added a.test/b v1.0.0\n";
        assert_eq!(of_go(said, "a.test/b").as_deref(), Some("v1.0.0"));
        assert_eq!(of_go(said, "golang.org/x/text").as_deref(), Some("v0.4.0"));
        assert_eq!(of_go(said, "golang.org/x"), None);
    }
}
