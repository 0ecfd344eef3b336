//! Variables in the values of clients' files: `${env:NAME}`, `${NAME}`, `${NAME:-else}` and `$NAME`, as the clients write them.

/// Why a value cannot be known here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// The variable is not set.
    Unset(String),
    /// The client asks its user for it.
    Asked(String),
    /// Only the client knows it.
    Theirs(String),
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unknown::Unset(name) => write!(f, "the variable `{name}` is not set here"),
            Unknown::Asked(name) => write!(f, "the program asks its user for `{name}`"),
            Unknown::Theirs(name) => write!(f, "only the program knows what `${{{name}}}` is"),
        }
    }
}

/// The value with its variables replaced.
pub(crate) fn expand(
    value: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String, Unknown> {
    let known = |name: &str| variable(name).ok_or_else(|| Unknown::Unset(name.to_owned()));
    // `$NAME` counts where it is all there is, as Gemini CLI has it: elsewhere a dollar may be a dollar.
    if let Some(name) = bare(value) {
        return known(name);
    }
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, later)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        let replaced = match inside.split_once(':') {
            Some(("env", name)) => known(name)?,
            Some(("input" | "command", name)) => return Err(Unknown::Asked(name.to_owned())),
            Some((name, other)) if is_name(name) && other.starts_with('-') => {
                variable(name).unwrap_or_else(|| other[1..].to_owned())
            }
            None if inside == "userHome" => known("HOME")?,
            // Lower case and camel: the programs' own words, like `workspaceFolder`.
            None if is_name(inside) && !inside.chars().any(|c| c.is_ascii_lowercase()) => {
                known(inside)?
            }
            _ => return Err(Unknown::Theirs(inside.to_owned())),
        };
        out.push_str(&replaced);
        rest = later;
    }
    out.push_str(rest);
    Ok(out)
}

fn bare(value: &str) -> Option<&str> {
    value.strip_prefix('$').filter(|name| is_name(name))
}

fn is_name(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(is_word) && !name.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_as_each_client_writes_them() {
        let known = |name: &str| (name == "A").then(|| "a".to_owned());
        for (value, expanded) in [
            ("plain $5 {x}", "plain $5 {x}"),
            ("Bearer ${A}", "Bearer a"),
            ("${env:A}/${A:-b}/${B:-b}", "a/a/b"),
            ("$A", "a"),
            ("${", "${"),
        ] {
            assert_eq!(expand(value, known).unwrap(), expanded, "{value}");
        }
        assert_eq!(expand("${B}", known), Err(Unknown::Unset("B".to_owned())));
        assert_eq!(
            expand("x${input:key}", known),
            Err(Unknown::Asked("key".to_owned()))
        );
        let theirs = Unknown::Theirs("workspaceFolder".to_owned());
        assert_eq!(expand("${workspaceFolder}/x", known), Err(theirs));
    }
}
