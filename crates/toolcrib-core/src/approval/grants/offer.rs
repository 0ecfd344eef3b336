//! What a person may choose not to be asked about again, from narrow to wide: [`offers`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::argv::{Argv, ArgvWord, is_interpreter, is_plain, removes, simple_words};
use super::grant::Subject;
use super::origin::Origin;
use super::path::PathPattern;
use super::shape::{Pattern, Shape};
use crate::model::effects::Effects;
use crate::model::text;
use crate::shell::read;
use crate::spec::{Role, ToolSpec};

/// A shape that could be granted, and what it means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "GrantOffer")]
pub struct Offer {
    /// For the person who chooses.
    pub words: String,
    /// What would be granted.
    pub shape: Shape,
    /// Whether it is the whole tool, for as long as its definition is unchanged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_tool: bool,
}

/// Whether a tool takes something away: by its name, or by a tag that says so.
pub fn is_delete(spec: &ToolSpec) -> bool {
    const WORDS: &[&str] = &[
        "delete",
        "destroy",
        "destructive",
        "drop",
        "erase",
        "purge",
        "remove",
        "rm",
        "rmdir",
        "unlink",
        "wipe",
    ];
    let name = format!("{}-{}", spec.name, spec.slug).to_lowercase();
    let in_name = name
        .split(['-', '_', '.'])
        .any(|word| WORDS.contains(&word));
    in_name || spec.tags.iter().any(|tag| WORDS.contains(&tag.as_str()))
}

/// Why calls like this are asked about every time; `None` when a grant may be had.
#[doc(hidden)]
pub fn no_grant(subject: &Subject<'_>) -> Option<&'static str> {
    let spec = subject.spec;
    if spec.effects.is_unknown() && !spec.pinned {
        Some("the tool does not say whether it reads, writes or runs something")
    } else if is_delete(spec) {
        Some("the tool takes something away")
    } else if spec.input_schema.masked(subject.args, &spec.synonyms) != *subject.args {
        Some("the arguments have a secret in them")
    } else {
        None
    }
}

/// The longest shape that is offered, as JSON.
const MAX_SHAPE: usize = 16 * 1024;

/// The shapes that may be offered along with a call, from narrow to wide; the error says why a person is to be asked every time.
pub fn offers(subject: &Subject<'_>) -> Result<Vec<Offer>, &'static str> {
    if let Some(why) = no_grant(subject) {
        return Err(why);
    }
    let exact = exactly(subject)?;
    let mut all = vec![Offer {
        words: exact_in_words(subject.spec, &exact),
        shape: exact.clone(),
        whole_tool: false,
    }];
    all.extend(wider_command(&exact));
    all.extend(wider_paths(subject, &exact));
    all.extend(wider_url(subject, &exact));
    all.extend(whole_tool(subject, &exact));
    // "Exactly this megabyte of text" is nothing to come again.
    all.retain(|offer| {
        serde_json::to_string(&offer.shape).is_ok_and(|text| text.len() <= MAX_SHAPE)
    });
    if all.is_empty() {
        return Err("the arguments are too long to be granted");
    }
    Ok(all)
}

/// The shape of these very arguments; the error says why one cannot be covered.
fn exactly(subject: &Subject<'_>) -> Result<Shape, &'static str> {
    let mut shape = Shape::default();
    for (name, value) in subject.args {
        let pattern = match (role(subject.spec, name), value) {
            (Some(Role::Shell), Value::String(text)) => command(text)?,
            (Some(Role::ReadPath | Role::WritePath), Value::String(path)) => {
                PathPattern::exactly(path, subject.workspace)
                    .filter(|pattern| pattern.covers(path, subject.workspace))
                    .map(Pattern::Path)
                    .ok_or(
                        "the path is protected, or leads out of the workspace or through a link",
                    )?
            }
            (Some(Role::Shell | Role::ReadPath | Role::WritePath), _) => {
                return Err("a command or a path is not given as one text");
            }
            (Some(Role::Code { .. } | Role::Directory | Role::Url) | None, value) => {
                Pattern::Exact(value.clone())
            }
        };
        shape.0.insert(name.clone(), pattern);
    }
    Ok(shape)
}

fn command(text: &str) -> Result<Pattern, &'static str> {
    let script = read(text);
    if !script.doubts.is_empty() {
        return Err("the command does not show what it would run");
    }
    let words = simple_words(text, &script).ok_or(
        "the command is more than one plain command: only fixed words can be granted, without pipes, redirections, assignments and commands that run others",
    )?;
    if words.first().is_some_and(|name| removes(name)) {
        return Err("the command takes something away");
    }
    let argv = Argv::exactly(&words).map_err(|_| "the command is too long to be granted")?;
    Ok(Pattern::Argv(argv))
}

fn role<'a>(spec: &'a ToolSpec, name: &str) -> Option<&'a Role> {
    let found = spec.roles.iter().find(|(parameter, _)| parameter == name);
    found.map(|(_, role)| role)
}

fn exact_in_words(spec: &ToolSpec, shape: &Shape) -> String {
    match shape.argv() {
        Some(argv) => format!("exactly this command, `{}`", argv.in_words()),
        None if shape.0.is_empty() => format!("`{}` without arguments", spec.name),
        None => format!("`{}` with exactly these arguments", spec.name),
    }
}

/// The same command with another last word, where that is something to work on and not something to run.
fn wider_command(exact: &Shape) -> Option<Offer> {
    let argv = exact.argv()?;
    let [ArgvWord::Literal(name), .., ArgvWord::Literal(last)] = argv.words() else {
        return None;
    };
    // The second word of `git status` is part of what is done; that of `cat notes.md` is not.
    let is_object = argv.words().len() > 2 || last.contains(['/', '.']);
    if !is_object || !is_plain(last) || is_interpreter(name) {
        return None;
    }
    let mut words = argv.words().to_vec();
    *words.last_mut()? = ArgvWord::One;
    let wider = Argv::new(words).ok()?;
    let shape = replaced(exact, |pattern| match pattern {
        Pattern::Argv(_) => Pattern::Argv(wider.clone()),
        Pattern::Exact(_) | Pattern::Any | Pattern::Path(_) | Pattern::Origin(_) => pattern.clone(),
    });
    Some(Offer {
        words: format!(
            "`{}`: this command, where its last word may be any word that is not an option and stays in the workspace",
            wider.in_words()
        ),
        shape,
        whole_tool: false,
    })
}

/// The same path with any content, and the paths around it.
fn wider_paths(subject: &Subject<'_>, exact: &Shape) -> Vec<Offer> {
    let paths: Vec<&PathPattern> = exact
        .0
        .values()
        .filter_map(|pattern| match pattern {
            Pattern::Path(path) => Some(path),
            Pattern::Exact(_) | Pattern::Any | Pattern::Argv(_) | Pattern::Origin(_) => None,
        })
        .collect();
    if paths.is_empty() || exact.argv().is_some() {
        return Vec::new();
    }
    let Subject { spec, .. } = subject;
    // Files are what a file tool is about; what a tool that runs something does is its own affair.
    let runs = spec.effects.contains(Effects::RUN);
    let verb = match spec.effects.contains(Effects::WRITE) {
        true => "change",
        false => "use",
    };
    let mut all = Vec::new();
    let mut free = exact.clone();
    for (name, pattern) in &mut free.0 {
        if is_content(subject.spec, name) && matches!(pattern, Pattern::Exact(_)) {
            *pattern = Pattern::Any;
        }
    }
    if free != *exact {
        let paths = list(&paths);
        all.push(Offer {
            words: match runs {
                true => format!("`{}` on {paths} with any texts", spec.name),
                false => format!("{verb} {paths} with any content"),
            },
            shape: free.clone(),
            whole_tool: false,
        });
    }
    for (index, which) in ["in", "anywhere below"].into_iter().enumerate() {
        let around: Vec<PathPattern> = paths
            .iter()
            .map(|path| path.around()[index].clone())
            .collect();
        // "Anywhere in the workspace" is not a thing to click on.
        if index == 1 && around.iter().any(|path| path.directory() == Some("")) {
            continue;
        }
        let mut next = around.iter();
        let shape = replaced(&free, |pattern| match pattern {
            Pattern::Path(_) => next
                .next()
                .map_or_else(|| pattern.clone(), |path| Pattern::Path(path.clone())),
            Pattern::Exact(_) | Pattern::Any | Pattern::Argv(_) | Pattern::Origin(_) => {
                pattern.clone()
            }
        });
        let directories: Vec<String> = around
            .iter()
            .map(|path| match path.directory() {
                Some("") | None => String::from("the top of the workspace"),
                Some(directory) => format!("`{}/`", text::shorten(directory, 100)),
            })
            .collect();
        let directories = directories.join(" and ");
        all.push(Offer {
            words: match runs {
                true => format!(
                    "`{}` on any path {which} {directories}, the other arguments as they are",
                    spec.name
                ),
                false => format!("{verb} any file {which} {directories}"),
            },
            shape,
            whole_tool: false,
        });
    }
    all
}

/// The same request to anything at the same scheme, host and port; how long it may take is free.
fn wider_url(subject: &Subject<'_>, exact: &Shape) -> Option<Offer> {
    let mut origins = Vec::new();
    let mut shape = exact.clone();
    for (name, pattern) in &mut shape.0 {
        let is_url = role(subject.spec, name) == Some(&Role::Url);
        match (is_url, &*pattern) {
            (true, Pattern::Exact(Value::String(url))) => {
                let origin = Origin::of_url(url)?;
                origins.push(format!("`{}`", text::shorten(&origin.to_string(), 300)));
                *pattern = Pattern::Origin(origin);
            }
            (false, Pattern::Exact(Value::Number(_))) => *pattern = Pattern::Any,
            (
                _,
                Pattern::Exact(_)
                | Pattern::Any
                | Pattern::Argv(_)
                | Pattern::Path(_)
                | Pattern::Origin(_),
            ) => {}
        }
    }
    (!origins.is_empty()).then(|| Offer {
        words: format!(
            "this host: anything at {}, the other arguments as they are",
            origins.join(" and ")
        ),
        shape,
        whole_tool: false,
    })
}

/// Every call of a tool whose definition was accepted: a changed one is another tool to grants.
fn whole_tool(subject: &Subject<'_>, exact: &Shape) -> Option<Offer> {
    let spec = subject.spec;
    let parameters = spec
        .input_schema
        .properties()
        .map(|(name, _)| name.to_owned());
    let names = parameters.chain(exact.0.keys().cloned());
    let shape = Shape(names.map(|name| (name, Pattern::Any)).collect());
    spec.pinned.then(|| Offer {
        words: format!(
            "`{}` while its definition is unchanged, whatever its arguments",
            spec.name
        ),
        shape,
        whole_tool: true,
    })
}

/// Whether a parameter is free text, which differs from call to call: a string without role and without a list of values.
fn is_content(spec: &ToolSpec, name: &str) -> bool {
    let schema = &spec.input_schema.as_value()["properties"][name];
    // Texts in objects, as the edits of a file, are content too; of a tool that runs something they may be anything.
    let holds_texts = schema["type"] == "array"
        && schema["items"]["type"] == "object"
        && !spec.effects.contains(Effects::RUN);
    role(spec, name).is_none()
        && (schema["type"] == "string" || holds_texts)
        && schema.get("enum").is_none()
        && schema.get("const").is_none()
}

fn replaced(shape: &Shape, mut replace: impl FnMut(&Pattern) -> Pattern) -> Shape {
    let fields = shape.0.iter();
    Shape(
        fields
            .map(|(name, pattern)| (name.clone(), replace(pattern)))
            .collect(),
    )
}

fn list(paths: &[&PathPattern]) -> String {
    let shown = |path: &&PathPattern| format!("`{}`", text::shorten(&path.to_string(), 100));
    paths.iter().map(shown).collect::<Vec<_>>().join(" and ")
}
