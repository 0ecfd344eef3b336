//! Where programs that come as packages of npm and PyPI are fetched from: [`PackageSources`], for MCP servers started by `npx` and `uvx`.
//!
//! The registries are those that `install_package` uses. Everything is said with variables, since such a program has its own home
//! directory, in which nothing is written for it.

use std::path::PathBuf;

use super::manager::Manager;
use super::registry::{Operator, Registry};
use super::settings::pairs;

/// Variables that name a registry of uv.
const UV: &[&str] = &["UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"];
/// Variables that name a file of certificates.
const CERTIFICATES: &[&str] = &[
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
];

/// Where such programs are fetched from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageSources {
    /// The hosts of the registries, as the setting `allowedHosts` writes them.
    pub hosts: Vec<String>,
    /// The variables that name the registries, without anything secret.
    pub variables: Vec<(String, String)>,
    /// Certificates that the variables name.
    pub readable: Vec<PathBuf>,
}

impl PackageSources {
    /// Those of the settings of the user who runs this process. Blocks.
    pub fn of_this_process() -> Self {
        Self::of(&Operator::of_this_process())
    }

    fn of(operator: &Operator) -> Self {
        let (npm, mut pip) = (
            operator.registry(Manager::Npm),
            operator.registry(Manager::Pip),
        );
        let mut variables = npm.variables.clone();
        for (_, text) in &npm.files {
            let settings = pairs(text).map(|(name, value)| (format!("npm_config_{name}"), value));
            variables.extend(settings);
        }
        variables.extend(uv(operator, &mut pip));
        variables.append(&mut pip.variables);
        for name in CERTIFICATES {
            if let Some(file) = operator.variable(name)
                && pip.may_read(file)
            {
                variables.push(((*name).to_owned(), file.to_owned()));
            }
        }
        let mut seen = std::collections::HashSet::new();
        variables.retain(|(name, _)| seen.insert(name.clone()));
        let mut hosts = npm.hosts;
        hosts.append(&mut pip.hosts);
        let mut readable = npm.readable;
        readable.append(&mut pip.readable);
        PackageSources {
            hosts,
            variables,
            readable,
        }
    }
}

/// The variables of uv: its own, else the registry of pip.
fn uv(operator: &Operator, pip: &mut Registry) -> Vec<(String, String)> {
    let mut variables = Vec::new();
    for name in UV {
        let said = operator.variable(name).unwrap_or_default();
        let addresses = said.split_whitespace();
        let addresses: Vec<String> = addresses.filter_map(|url| pip.address(url)).collect();
        if !addresses.is_empty() {
            variables.push(((*name).to_owned(), addresses.join(" ")));
        }
    }
    let index = pip
        .variables
        .iter()
        .find(|(name, _)| name == "PIP_INDEX_URL");
    if let (true, Some((_, index))) = (variables.is_empty(), index) {
        let first = index.split(' ').next().unwrap_or_default();
        variables.push(("UV_DEFAULT_INDEX".to_owned(), first.to_owned()));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(npmrc: &str, variables: &[(&str, &str)]) -> PackageSources {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(".npmrc"), npmrc).unwrap();
        let none = ("PIP_CONFIG_FILE", "/dev/null");
        let variables = variables.iter().chain([&none]);
        let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        PackageSources::of(&Operator {
            home: Some(home.path().to_owned()),
            variables: variables.collect(),
        })
    }

    #[test]
    fn registries_are_said_with_variables_and_without_tokens() {
        let sources = sources(
            "registry=https://npm.test:8443/\n//npm.test:8443/:_authToken=SECRET\n@own:registry=https://own.test/\n",
            &[("PIP_INDEX_URL", "https://me:SECRET@pip.test/simple")],
        );
        assert_eq!(sources.hosts, ["npm.test:8443", "own.test", "pip.test"]);
        let of = |name: &str| {
            let found = sources.variables.iter().find(|(one, _)| one == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(of("npm_config_registry"), Some("https://npm.test:8443/"));
        assert_eq!(of("npm_config_@own:registry"), Some("https://own.test/"));
        assert_eq!(of("UV_DEFAULT_INDEX"), Some("https://pip.test/simple"));
        assert!(!format!("{sources:?}").contains("SECRET"));
    }

    #[test]
    fn a_registry_of_uv_is_reachable_beside_that_of_pip() {
        let sources = sources("", &[("UV_INDEX_URL", "https://uv.test/simple")]);
        assert!(sources.hosts.contains(&"uv.test".to_owned()), "{sources:?}");
        assert_eq!(
            sources.variables,
            [(
                "UV_INDEX_URL".to_owned(),
                "https://uv.test/simple".to_owned()
            )]
        );
    }
}
