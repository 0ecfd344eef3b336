//! Reads a `server.json` of the MCP registry: which of its packages or addresses to take, and what it needs. Pure.
//!
//! Both spellings of the format are read (`registryType`, and `registry_type` of its first version).

use serde_json::{Map, Value};
use toolcrib::model::text::{shorten, visible_line};

/// The most packages, arguments or variables that are read.
const MAX_ENTRIES: usize = 100;
/// The longest value.
const MAX_TEXT: usize = 8 * 1024;

/// A value that a server wants.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) is_required: bool,
    pub(super) is_secret: bool,
    /// The value that the file gives.
    pub(super) value: Option<String>,
    /// What comes before a value that is asked for, as in `Bearer {token}`.
    pub(super) before: &'static str,
}

/// The arguments of a program.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Arguments {
    /// Those that the file gives.
    pub(super) fixed: Vec<String>,
    /// Those that someone has to give, in words.
    pub(super) missing: Vec<String>,
}

/// The way to a server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Choice {
    /// A package, started by its package manager.
    Program {
        server: String,
        command: String,
        arguments: Arguments,
        variables: Vec<Input>,
    },
    /// An address.
    Remote { url: String, headers: Vec<Input> },
}

impl Choice {
    /// On one line for a person.
    pub(super) fn words(&self) -> String {
        let (what, how) = match self {
            Choice::Program {
                server,
                command,
                arguments,
                ..
            } => (
                server.clone(),
                format!("{command} {}", arguments.fixed.join(" ")),
            ),
            Choice::Remote { url, .. } => ("the server".to_owned(), url.clone()),
        };
        format!(
            "{what} is reached by: {}",
            shorten(&visible_line(&how), 300)
        )
    }
}

/// Chooses a package or an address; the error says why there is none.
pub(super) fn choose(described: &Value, wanted: Option<&str>) -> Result<Choice, String> {
    let Some(server) = described.as_object() else {
        return Err("it is not an object; a server.json is one".to_owned());
    };
    let name = text(server, "name").ok_or("it has no `name`; is it a server.json?")?;
    let mut problems = Vec::new();
    for package in entries(server, "packages") {
        let kind = either(package, "registryType", "registry_type");
        if wanted.is_some_and(|wanted| Some(wanted) != kind.as_deref()) {
            continue;
        }
        match program(&name, package) {
            Ok(choice) => return Ok(choice),
            Err(why) => problems.push(why),
        }
    }
    if wanted.is_none_or(|wanted| wanted == "remote") {
        for remote in entries(server, "remotes") {
            match address(remote) {
                Ok(choice) => return Ok(choice),
                Err(why) => problems.push(why),
            }
        }
    }
    Err(match (problems.as_slice(), wanted) {
        ([], Some(wanted)) => format!("it has no package `{wanted}`"),
        ([], None) => "it has neither a package nor an address".to_owned(),
        (problems, _) => format!("nothing of it can be used: {}", problems.join("; ")),
    })
}

fn program(server: &str, package: &Map<String, Value>) -> Result<Choice, String> {
    let kind = either(package, "registryType", "registry_type").unwrap_or_default();
    let identifier = text(package, "identifier").ok_or("a package has no `identifier`")?;
    let shown = shorten(&visible_line(&identifier), 100);
    let version = text(package, "version")
        .filter(|version| version.bytes().any(|byte| byte.is_ascii_digit()))
        .ok_or_else(|| format!("the package `{shown}` names no version to pin"))?;
    let is_plain = |text: &str| {
        !text.starts_with('-')
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"@/._-+".contains(&byte))
    };
    if !is_plain(&identifier) || !is_plain(&version) || version.contains(['/', '@']) {
        return Err(format!(
            "`{shown}` is not the name of a package with a version"
        ));
    }
    if let Some(transport) = package.get("transport").and_then(|it| it.get("type"))
        && transport != "stdio"
    {
        return Err(format!(
            "the package `{shown}` does not speak over its standard input and output"
        ));
    }
    let (command, mut fixed) = match kind.as_str() {
        "npm" => (
            "npx",
            vec!["-y".to_owned(), format!("{identifier}@{version}")],
        ),
        "pypi" => ("uvx", vec![format!("{identifier}=={version}")]),
        kind => {
            let kind = shorten(&visible_line(kind), 40);
            return Err(format!(
                "packages of `{kind}` are not supported; `npm` and `pypi` are"
            ));
        }
    };
    if kind == "pypi" {
        // The program may have another name than its package.
        fixed = vec!["--from".to_owned(), fixed.remove(0), identifier];
    }
    let mut arguments = arguments(package)?;
    fixed.append(&mut arguments.fixed);
    arguments.fixed = fixed;
    let keys = ("environmentVariables", "environment_variables");
    let variables = match package.contains_key(keys.0) {
        true => inputs(package, keys.0)?,
        false => inputs(package, keys.1)?,
    };
    Ok(Choice::Program {
        server: shorten(&visible_line(server), 100),
        command: command.to_owned(),
        arguments,
        variables,
    })
}

/// The arguments of the package; those of its package manager are ours.
fn arguments(package: &Map<String, Value>) -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    let keys = ["packageArguments", "package_arguments"];
    for argument in keys.into_iter().flat_map(|key| entries(package, key)) {
        let name = text(argument, "name").filter(|name| name.starts_with('-'));
        let value = text(argument, "value").or_else(|| text(argument, "default"));
        let is_named = text(argument, "type").as_deref() == Some("named");
        let is_open = value.as_deref().is_some_and(|value| value.contains('{'));
        match (is_named, name, value) {
            (false, _, Some(value)) if !is_open => arguments.fixed.push(value),
            (true, Some(name), Some(value)) if !is_open => arguments.fixed.extend([name, value]),
            // A switch.
            (true, Some(name), None) if argument.get("format").is_none() => {
                arguments.fixed.push(name);
            }
            (_, name, _) if flag(argument, "isRequired", "is_required") => {
                let hint = either(argument, "valueHint", "value_hint");
                let word = name.or(hint).or_else(|| text(argument, "description"));
                let word = word.unwrap_or_else(|| "a value".to_owned());
                arguments.missing.push(shorten(&visible_line(&word), 100));
            }
            _ => {}
        }
    }
    Ok(arguments)
}

fn address(remote: &Map<String, Value>) -> Result<Choice, String> {
    let url = text(remote, "url").ok_or("an address has no `url`")?;
    let shown = shorten(&visible_line(&url), 200);
    let kind = text(remote, "type").or_else(|| text(remote, "transport_type"));
    if !matches!(kind.as_deref(), Some("streamable-http" | "streamable")) {
        return Err(format!("`{shown}` does not speak streamable HTTP"));
    }
    if url.contains('{') {
        return Err(format!(
            "`{shown}` has a part to fill in; give the address with `--url`"
        ));
    }
    let headers = inputs(remote, "headers")?;
    Ok(Choice::Remote { url, headers })
}

fn inputs(from: &Map<String, Value>, key: &str) -> Result<Vec<Input>, String> {
    let mut all = Vec::new();
    for entry in entries(from, key) {
        let name =
            text(entry, "name").ok_or_else(|| format!("an entry of `{key}` has no `name`"))?;
        let value = text(entry, "value").or_else(|| text(entry, "default"));
        let is_open = value.as_deref().is_some_and(|value| value.contains('{'));
        let before = match value.as_deref() {
            Some(value) if is_open && value.starts_with("Bearer {") => "Bearer ",
            _ => "",
        };
        let is_secret = flag(entry, "isSecret", "is_secret") || !before.is_empty();
        all.push(Input {
            name,
            description: text(entry, "description"),
            is_required: flag(entry, "isRequired", "is_required"),
            is_secret,
            // A secret that someone published is none, and what has to be filled in is asked for.
            value: value.filter(|_| !is_open && !is_secret),
            before,
        });
    }
    Ok(all)
}

/// The host of an address, with its port where it names one.
pub(super) fn host(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    Some(host.to_owned()).filter(|host| !host.is_empty())
}

fn entries<'v>(
    from: &'v Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'v Map<String, Value>> {
    let all = from.get(key).and_then(Value::as_array);
    all.into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .take(MAX_ENTRIES)
}

fn text(from: &Map<String, Value>, key: &str) -> Option<String> {
    let text = from.get(key)?.as_str()?;
    let fits = !text.is_empty() && text.len() <= MAX_TEXT && !text.contains('\0');
    fits.then(|| text.to_owned())
}

fn either(from: &Map<String, Value>, key: &str, older: &str) -> Option<String> {
    text(from, key).or_else(|| text(from, older))
}

fn flag(from: &Map<String, Value>, key: &str, older: &str) -> bool {
    [key, older]
        .iter()
        .any(|key| from.get(*key) == Some(&Value::Bool(true)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn weather() -> Value {
        json!({
            "name": "io.github.someone/weather",
            "description": "Weather",
            "version": "1.0.2",
            "packages": [
                {"registryType": "oci", "identifier": "docker.io/someone/weather:1.0.2", "version": "1.0.2", "transport": {"type": "stdio"}},
                {"registryType": "npm", "identifier": "@someone/weather", "version": "1.0.2", "transport": {"type": "stdio"},
                    "packageArguments": [
                        {"type": "positional", "value": "start"},
                        {"type": "named", "name": "--units", "default": "metric"},
                        {"type": "positional", "valueHint": "city", "isRequired": true},
                    ],
                    "environmentVariables": [
                        {"name": "WEATHER_KEY", "description": "The key", "isRequired": true, "isSecret": true},
                        {"name": "LOG", "default": "info"},
                        {"name": "EXTRA"},
                    ]},
                {"registryType": "pypi", "identifier": "weather-server", "version": "0.9", "transport": {"type": "stdio"}},
            ],
            "remotes": [
                {"type": "sse", "url": "https://weather.example.com/sse"},
                {"type": "streamable-http", "url": "https://weather.example.com/mcp",
                    "headers": [{"name": "Authorization", "value": "Bearer {token}", "isRequired": true}]},
            ],
        })
    }

    #[test]
    fn a_package_is_pinned_to_its_version_and_says_what_it_needs() {
        let Choice::Program {
            command,
            arguments,
            variables,
            ..
        } = choose(&weather(), None).unwrap()
        else {
            panic!("it is an address");
        };
        assert_eq!(command, "npx");
        assert_eq!(
            arguments.fixed,
            ["-y", "@someone/weather@1.0.2", "start", "--units", "metric"]
        );
        assert_eq!(arguments.missing, ["city"]);
        let shown: Vec<_> = variables
            .iter()
            .map(|input| {
                (
                    input.name.as_str(),
                    input.is_required,
                    input.is_secret,
                    input.value.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("WEATHER_KEY", true, true, None),
                ("LOG", false, false, Some("info")),
                ("EXTRA", false, false, None),
            ]
        );
    }

    #[test]
    fn another_package_or_the_address_is_taken_where_it_is_named() {
        let Choice::Program { arguments, .. } = choose(&weather(), Some("pypi")).unwrap() else {
            panic!("it is an address");
        };
        assert_eq!(
            arguments.fixed,
            ["--from", "weather-server==0.9", "weather-server"]
        );
        let Choice::Remote { url, headers } = choose(&weather(), Some("remote")).unwrap() else {
            panic!("it is a package");
        };
        assert_eq!(url, "https://weather.example.com/mcp");
        assert_eq!(
            (
                headers[0].is_secret,
                headers[0].before,
                headers[0].value.as_deref()
            ),
            (true, "Bearer ", None)
        );
        assert_eq!(host(&url).as_deref(), Some("weather.example.com"));
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_a_reason() {
        for (described, expected) in [
            (json!([]), "not an object"),
            (json!({"packages": []}), "has no `name`"),
            (json!({"name": "a/b"}), "neither a package nor an address"),
            (
                json!({"name": "a/b", "packages": [{"registryType": "npm", "identifier": "x"}]}),
                "names no version",
            ),
            (
                json!({"name": "a/b", "packages": [{"registryType": "npm", "identifier": "x", "version": "latest"}]}),
                "names no version",
            ),
            (
                json!({"name": "a/b", "packages": [{"registryType": "npm", "identifier": "--eval=x", "version": "1"}]}),
                "is not the name of a package",
            ),
            (
                json!({"name": "a/b", "packages": [{"registryType": "oci", "identifier": "x", "version": "1"}]}),
                "packages of `oci` are not supported",
            ),
            (
                json!({"name": "a/b", "remotes": [{"type": "sse", "url": "https://a.test"}]}),
                "does not speak streamable HTTP",
            ),
        ] {
            let error = choose(&described, None).unwrap_err();
            assert!(error.contains(expected), "{described}: {error}");
        }
        let error = choose(&weather(), Some("nuget")).unwrap_err();
        assert!(error.contains("has no package `nuget`"), "{error}");
    }
}
