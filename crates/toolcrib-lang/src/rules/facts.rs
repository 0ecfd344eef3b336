//! What a call is about, read once for all rules: shell texts with their commands, paths, URLs.

use std::cell::OnceCell;
use std::path::Path;
use std::rc::Rc;

use serde_json::{Value, json};

use super::RuleContext;
use super::destination::{Located, Where};
use super::invocation::{Invocation, word_text};
use super::links;
use super::paths::{Access, PathWord};
use super::values::{Possible, Values};
use crate::judgement::Touched;
use crate::model::JsonObject;
use crate::model::budget::Budget;
use crate::shell::{self, Script, Word, WordList};
use crate::spec::{Role, ToolSpec};

/// A call, as rules see it.
pub(super) struct Facts<'a> {
    pub(super) tool: &'a ToolSpec,
    pub(super) args: &'a JsonObject,
    texts: &'a Texts<'a>,
    invocations: Vec<Invocation<'a>>,
    paths: OnceCell<Vec<PathWord>>,
    urls: OnceCell<Vec<String>>,
    bound: OnceCell<[Value; 4]>,
}

/// The shell texts of a call. Made first, since commands borrow from it.
pub(super) struct Texts<'a> {
    shells: Vec<ShellText<'a>>,
    workspace: Option<&'a Path>,
    directory: Option<&'a str>,
    touched: &'a [Touched],
    follows_links: bool,
    /// Where the workspace is; made when someone asks, unless there is shell text.
    place: OnceCell<Where>,
}

/// A shell text.
pub(super) struct ShellText<'a> {
    /// The parameter it is the value of; none if the tool makes it.
    parameter: Option<&'a str>,
    pub(super) text: &'a str,
    pub(super) script: Script,
    /// Where it starts.
    place: Where,
    /// Whether the tool gives it something on its standard input.
    has_input: bool,
}

impl ShellText<'_> {
    /// Whether it is the tool's author's.
    pub(super) fn is_authored(&self) -> bool {
        self.parameter.is_none()
    }

    /// Whether it asks only because its effects cannot be determined. What a tool's author wrote is not, unless it has an
    /// input: then a program may come from there that is in no place where one looks for it. Nor what was not read whole: a caller's value
    /// may be what makes it too long.
    pub(super) fn has_to_be_understood(&self) -> bool {
        !self.is_authored() || self.has_input || self.script.is_cut
    }
}

impl<'a> Texts<'a> {
    pub(super) fn read(
        tool: &'a ToolSpec,
        args: &'a JsonObject,
        cx: &RuleContext<'a>,
    ) -> Texts<'a> {
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        let directory = tool
            .roles
            .iter()
            .find(|(_, role)| *role == Role::Directory)
            .and_then(|(name, _)| text(name));
        let given = tool
            .roles
            .iter()
            .filter(|(_, role)| match role {
                Role::Shell => true,
                Role::Code { language } => matches!(text(language), Some("bash" | "sh")),
                Role::Directory | Role::ReadPath | Role::WritePath | Role::Url => false,
            })
            .filter_map(|(parameter, _)| Some((parameter.as_str(), text(parameter)?)));
        let given: Vec<(&'a str, &'a str)> = given.collect();
        let known = OnceCell::new();
        if !given.is_empty() {
            known.get_or_init(|| {
                let mut place = Where::new(cx.workspace, directory, &[]);
                given.iter().for_each(|(_, text)| place.distrust(text));
                place
            });
        }
        let given = given.into_iter().filter_map(|(parameter, text)| {
            Some(ShellText {
                parameter: Some(parameter),
                text,
                script: shell::read(text),
                place: known.get()?.clone(),
                has_input: false,
            })
        });
        let authored = cx.commands.iter().map(|command| {
            let mut place = Where::new(cx.workspace, command.directory.as_deref(), &command.own);
            place.distrust(&command.text);
            if let Some(input) = &command.input {
                place.distrust(input);
            }
            ShellText {
                parameter: None,
                text: &command.text,
                script: match &command.input {
                    Some(input) => shell::read_given(&command.text, input),
                    None => shell::read(&command.text),
                },
                place,
                has_input: command.input.is_some(),
            }
        });
        let shells = given.chain(authored).collect();
        Texts {
            shells,
            workspace: cx.workspace,
            directory,
            touched: cx.touched,
            follows_links: cx.follows_links,
            place: known,
        }
    }

    /// How many steps it took to read them.
    pub(super) fn steps(&self) -> usize {
        let steps: u64 = self.shells.iter().map(|shell| shell.script.steps).sum();
        usize::try_from(steps).unwrap_or(usize::MAX)
    }

    /// The rest of the budgets that the texts were read with.
    fn left(&self) -> Budget {
        let length = self.shells.iter().map(|shell| shell.text.len()).sum();
        shell::budget_after(length, self.steps())
    }

    fn lists(&self) -> impl Iterator<Item = &WordList> {
        self.shells.iter().flat_map(|shell| &shell.script.lists)
    }

    fn place(&self) -> &Where {
        self.place
            .get_or_init(|| Where::new(self.workspace, self.directory, &[]))
    }
}

impl<'a> Facts<'a> {
    pub(super) fn of(tool: &'a ToolSpec, args: &'a JsonObject, texts: &'a Texts<'a>) -> Self {
        let mut invocations: Vec<Invocation<'a>> = texts
            .shells
            .iter()
            .flat_map(|shell| {
                let commands = shell.script.commands.iter();
                commands.map(|command| {
                    let authored = shell.is_authored();
                    Invocation::new(command, &shell.place, authored, texts.follows_links)
                })
            })
            .collect();
        fill(&mut invocations, texts);
        Facts {
            tool,
            args,
            texts,
            invocations,
            paths: OnceCell::new(),
            urls: OnceCell::new(),
            bound: OnceCell::new(),
        }
    }

    /// The shell texts.
    pub(super) fn shells(&self) -> impl Iterator<Item = &ShellText<'a>> {
        self.texts.shells.iter()
    }

    /// Whether a parameter was read as shell text.
    pub(super) fn is_shell(&self, parameter: &str) -> bool {
        self.shells()
            .any(|shell| shell.parameter == Some(parameter))
    }

    /// Where the workspace is.
    pub(super) fn place(&self) -> &Where {
        self.texts.place()
    }

    /// Every command of every shell text.
    pub(super) fn commands(&self) -> impl Iterator<Item = &Invocation<'a>> {
        self.invocations.iter()
    }

    /// The words that variables of every shell text take.
    pub(super) fn lists(&self) -> impl Iterator<Item = &WordList> {
        self.texts.lists()
    }

    /// The paths that parameters name, and what else the call touches.
    pub(super) fn path_parameters(&self) -> &[PathWord] {
        self.paths.get_or_init(|| {
            // A path of a tool is relative to the workspace, not to where a shell starts.
            let place = self.place().at_root();
            let named = self.with_role(|role| match role {
                Role::ReadPath | Role::Directory => Some(Access::Read),
                Role::WritePath => Some(Access::Write),
                Role::Shell | Role::Code { .. } | Role::Url => None,
            });
            let touched = self.texts.touched.iter().map(|touched| {
                let access = match touched.is_written {
                    true => Access::Write,
                    false => Access::Read,
                };
                (touched.path.as_str(), access)
            });
            let paths = named.chain(touched).map(|(text, access)| {
                let text = text.strip_prefix("file://").unwrap_or(text);
                let word = Word::text(text);
                PathWord {
                    located: place.locate(&word, &Default::default()),
                    text: text.to_owned(),
                    access,
                }
            });
            paths.collect()
        })
    }

    /// The hosts that parameters name, and those that the tool asks whatever its parameters are.
    pub(super) fn host_parameters(&self) -> &[String] {
        self.urls.get_or_init(|| {
            self.with_role(|role| (*role == Role::Url).then_some(()))
                .flat_map(|(text, ())| super::host::of_url_to_anybody(text))
                .chain(
                    self.tool
                        .urls
                        .iter()
                        .flat_map(|url| super::host::of_authored_url(url)),
                )
                .collect()
        })
    }

    fn with_role<T: 'a>(
        &self,
        pick: impl Fn(&Role) -> Option<T>,
    ) -> impl Iterator<Item = (&'a str, T)> {
        let (tool, args) = (self.tool, self.args);
        tool.roles.iter().flat_map(move |(name, role)| {
            let texts: Vec<&str> = match (args.get(name), pick(role).is_some()) {
                (Some(Value::String(text)), true) => vec![text.as_str()],
                (Some(Value::Array(items)), true) => {
                    items.iter().filter_map(Value::as_str).collect()
                }
                _ => Vec::new(),
            };
            let picked: Vec<(&'a str, T)> = texts
                .into_iter()
                .filter_map(|text| Some((text, pick(role)?)))
                .collect();
            picked
        })
    }

    /// The variables of expressions: `tool`, `args`, `commands`, `paths`.
    pub(super) fn bound(&self) -> [&Value; 4] {
        let bound = self.bound.get_or_init(|| {
            let commands: Vec<Value> = self
                .commands()
                .filter(|command| !command.command.words.is_empty())
                .map(|command| {
                    let name = match command.name {
                        "" => word_text(&command.command.words[0]).into_owned(),
                        name => name.to_owned(),
                    };
                    let rest = command.command.words[1..]
                        .iter()
                        .map(|word| word_text(word).into_owned());
                    Value::from(std::iter::once(name).chain(rest).collect::<Vec<String>>())
                })
                .collect();
            let paths: Vec<String> = self
                .path_parameters()
                .iter()
                .chain(self.commands().flat_map(Invocation::paths))
                .map(|path| path.located.text())
                .collect();
            [
                json!(self.tool.name.as_str()),
                Value::Object(self.args.clone()),
                Value::Array(commands),
                json!(paths),
            ]
        });
        [&bound[0], &bound[1], &bound[2], &bound[3]]
    }
}

/// Says of each command what its words may become, and which links there are by then.
fn fill(invocations: &mut [Invocation<'_>], texts: &Texts<'_>) {
    let is_open = |word: &Word| !word.is_static() && !word.parts.is_empty();
    let asks = |invocation: &Invocation<'_>| {
        let command = invocation.command;
        let targets = command.redirects.iter().map(|redirect| &redirect.target);
        !invocation.is_authored && command.words.iter().chain(targets).any(is_open)
    };
    // A text that was not read whole asks in any case, and there may be too much of it to follow.
    let is_cut = texts.shells.iter().any(|shell| shell.script.is_cut);
    if !is_cut && invocations.iter().any(asks) {
        let mut found = Vec::new();
        let values = Values::of(invocations, texts.lists(), texts.left());
        for (index, invocation) in invocations.iter().enumerate() {
            if !asks(invocation) {
                continue;
            }
            let args = invocation.args.iter();
            let args: Vec<Possible> = args.map(|arg| values.of_word(arg.word, index)).collect();
            let targets = invocation.command.redirects.iter().enumerate();
            let targets = targets
                .filter(|(_, redirect)| is_open(&redirect.target))
                .map(|(at, redirect)| (at, values.of_word(&redirect.target, index)));
            found.push((index, args, targets.collect::<Vec<_>>()));
        }
        for (index, args, targets) in found {
            let invocation = &mut invocations[index];
            for (arg, possible) in invocation.args.iter_mut().zip(args) {
                arg.possible = possible;
            }
            invocation.targets = targets;
        }
    }
    let links: Vec<(Located, Located)> = invocations.iter().filter_map(links::made_by).collect();
    if !links.is_empty() {
        let links: Rc<[(Located, Located)]> = links.into();
        for invocation in invocations {
            invocation.links = Rc::clone(&links);
        }
    }
}
