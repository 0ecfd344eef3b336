//! What an approval is bound to: the files of the workspace that a call runs.
//!
//! They are looked at when a call needs an approval or a grant, and again right before it runs. Where they changed meanwhile
//! the call goes back to be asked about, three times at most. The bytes that were compared last are what a sandbox shows the
//! program, so that there is no moment between the two.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::check::panicked;
use super::named_files::Named;
use super::search_path::on_path;
use crate::approval::BoundFile;
use crate::approval::grants::place;
use crate::catalogue::{Entry, Inner};
use crate::model::JsonObject;
use crate::model::diff;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::shell::{self, Directory, RunFile, Script};
use crate::spec::{Role, ToolSpec};
use crate::tool::ShellText;
use crate::workspace::{Runnable, Workspace};

/// The most files that an approval can be bound to.
const MAX_FILES: usize = 64;
/// The most names of a search that must stay absent.
const MAX_PASSED: usize = 1024;
/// More candidates of a search than both allow: which of them is too many is of no interest.
pub(super) const MAX_CANDIDATES: usize = MAX_FILES + MAX_PASSED + 1;
/// How many bytes of files are shown to one program as copies; those beyond it are only compared.
const MAX_PINNED: usize = 32 * 1024 * 1024;
/// The longest text that is kept while a person is asked, to say what changed in it.
const MAX_KEPT: usize = 64 * 1024;
/// How often files may change while a call waits for its approval.
const MAX_CHANGES: u32 = 3;

/// The files that a call runs, as they were at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bound {
    pub(crate) files: Vec<BoundFile>,
    /// The bound files with their content, in order.
    found: Vec<Runnable>,
    /// Whether nothing of the call itself changes them before they run, in the same order.
    steady: Vec<bool>,
    /// Other files that the call names.
    named: Named,
    /// Names at which nothing is, but where a search for a program or module would find a file before the bound one.
    passed: BTreeSet<String>,
}

impl Bound {
    /// Looks at the files that a call runs; `commands` are those of the tool's own look. Blocks.
    pub(crate) fn look(
        entry: &Entry,
        args: &JsonObject,
        commands: Vec<ShellText>,
        inner: &Inner,
    ) -> Result<Self, ToolError> {
        let Some(workspace) = inner.policy.workspace.as_deref() else {
            return Ok(Bound::default());
        };
        let pins = std::panic::catch_unwind(AssertUnwindSafe(|| entry.tool().pins_files()))
            .map_err(|panic| panicked(&*panic))?;
        let mut texts = given_texts(entry.spec(), args);
        texts.extend(commands);
        let mut bound = Bound::default();
        let mut has_more = false;
        let mut before: Vec<Script> = Vec::new();
        for text in &texts {
            let script = match &text.input {
                Some(input) => shell::read_given(&text.text, input),
                None => shell::read(&text.text),
            };
            has_more |= script.has_more_files;
            let mut files = script.files.listed.clone();
            if !script.doubts.is_empty() {
                files.extend(shell::read_files(&script));
            }
            let base = text.directory.as_deref().unwrap_or_default();
            files.extend(on_path(text, &script, base, workspace));
            for file in files {
                let earlier = RunFile {
                    command: usize::MAX,
                    ..file.clone()
                };
                let may_change = shell::may_change(&script, &file)
                    || before
                        .iter()
                        .any(|script| shell::may_change(script, &earlier));
                bound.add(&file, base, !may_change, workspace);
            }
            bound.named.add(&script, base, workspace);
            before.push(script);
        }
        if has_more || bound.files.len() > MAX_FILES || bound.passed.len() > MAX_PASSED {
            return Err(ToolError::new(
                ErrorCode::InvalidArguments,
                format!(
                    "`{}` would run more files of the workspace than the {MAX_FILES} that an approval can be bound to; run fewer at once",
                    entry.spec().name,
                ),
            ));
        }
        bound.add_fitting(workspace);
        // Those are compared by their content.
        let hosts = bound.found.iter().filter_map(|found| found.host.as_deref());
        hosts.for_each(|host| bound.named.forget(host));
        let mut pinned = 0;
        let looked_at = bound.found.iter().zip(&bound.steady);
        for (file, (found, steady)) in bound.files.iter_mut().zip(looked_at) {
            pinned += found.content.as_ref().map_or(0, |content| content.len());
            let has_copy = found.content.is_some() && pinned <= MAX_PINNED;
            file.pinned = pins && *steady && has_copy;
        }
        if let Some(approved) = &inner.policy.approved_files {
            approved.mark(&place(workspace.root()), &mut bound.files);
        }
        Ok(bound)
    }

    fn add(&mut self, file: &RunFile, base: &str, steady: bool, workspace: &Workspace) {
        for directory in &file.directories {
            let directory = match directory {
                Directory::Start | Directory::Unknown => PathBuf::from(base),
                Directory::Known(path) => Path::new(base).join(at_home(path)),
            };
            for name in &file.names {
                let path = directory.join(at_home(name));
                let Some(found) = path.to_str().and_then(|path| workspace.runnable(path)) else {
                    // It is outside of the workspace: if it is there, it is what runs.
                    if workspace.root().join(path).is_file() {
                        break;
                    }
                    continue;
                };
                let is_there = found.digest.is_some() || found.leads_to.is_some();
                if is_there || !file.optional {
                    self.push(found, steady);
                } else if self.passed.len() <= MAX_PASSED {
                    self.passed.insert(found.path);
                }
                if is_there {
                    break;
                }
            }
        }
    }

    /// Takes in the files that patterns stand for (`sh ./*.sh`), or words where what runs is not clear, with their content. Where they
    /// are too many or too large for that, they are compared by their times.
    fn add_fitting(&mut self, workspace: &Workspace) {
        let fitting = self.named.fitting();
        let bytes: u64 = fitting.values().sum();
        if self.files.len() + fitting.len() > MAX_FILES || bytes > MAX_PINNED as u64 {
            return;
        }
        for path in fitting.keys() {
            let relative = path.strip_prefix(workspace.root()).ok();
            let found = relative.and_then(|path| workspace.runnable(path.to_str()?));
            let is_bound = |found: &Runnable| self.files.iter().any(|file| file.path == found.path);
            // What a word names itself keeps its copy.
            if let Some(found) = found.filter(|found| found.digest.is_some() && !is_bound(found)) {
                self.push(found, false);
            }
        }
    }

    fn push(&mut self, found: Runnable, steady: bool) {
        match self.files.iter().position(|file| file.path == found.path) {
            Some(at) => self.steady[at] &= steady,
            // One more than may be is enough to know.
            None if self.files.len() > MAX_FILES => {}
            None => {
                self.files.push(BoundFile::of(&found, false));
                self.found.push(found);
                self.steady.push(steady);
            }
        }
    }

    /// Whether nothing has to be looked at again before the call runs.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.passed.is_empty() && self.named.is_empty()
    }

    /// Without content that is not needed while a person is asked.
    pub(super) fn without_large_content(mut self) -> Self {
        for found in &mut self.found {
            found.content.take_if(|content| content.len() > MAX_KEPT);
        }
        self
    }

    /// Part of the digest of a call.
    pub(super) fn digested(&self) -> Value {
        let one = |file: &BoundFile| json!([file.path, file.leads_to, file.digest]);
        self.files.iter().map(one).collect()
    }

    /// Looks at the same files again, and returns those that are to run as they are now: with their content where a copy of it is shown.
    /// Blocks. The error names those that changed.
    pub(super) fn hold(
        &self,
        workspace: Option<&Workspace>,
    ) -> Result<Arc<[Runnable]>, Vec<String>> {
        let mut held = Vec::new();
        let mut changed = Vec::new();
        for (before, (file, steady)) in self.found.iter().zip(self.files.iter().zip(&self.steady)) {
            match workspace.and_then(|workspace| workspace.runnable(&before.path)) {
                Some(mut found) if found.is_same(before) => {
                    found.content.take_if(|_| !file.pinned);
                    held.extend(steady.then_some(found));
                }
                Some(_) | None => changed.push(before.path.clone()),
            }
        }
        let appeared = |path: &&String| {
            let now = workspace.and_then(|workspace| workspace.runnable(path));
            now.is_some_and(|now| now.digest.is_some() || now.leads_to.is_some())
        };
        changed.extend(self.passed.iter().filter(appeared).cloned());
        changed.extend(self.named.changed(workspace));
        changed.sort();
        changed.dedup();
        match changed.is_empty() {
            true => Ok(held.into()),
            false => Err(changed),
        }
    }

    /// What changed in texts since another look.
    fn diff_since(&self, before: &Bound) -> Option<String> {
        let text = |found: &Runnable| {
            let content = found.content.as_deref().unwrap_or_default();
            let is_known = found.content.is_some() || found.digest.is_none();
            is_known.then(|| String::from_utf8_lossy(content).into_owned())
        };
        let mut whole = String::new();
        for found in &self.found {
            let earlier = before
                .found
                .iter()
                .find(|earlier| earlier.path == found.path);
            let Some(earlier) = earlier.filter(|earlier| earlier.digest != found.digest) else {
                continue;
            };
            if let (Some(old), Some(new)) = (text(earlier), text(found)) {
                whole.push_str(&diff::unified(&found.path, &old, &new));
            }
        }
        (!whole.is_empty()).then_some(whole)
    }
}

/// How often files changed while a call waited, and what they were before. None for nearly every call.
pub(super) type Changed = Option<Box<Changes>>;

#[derive(Default)]
pub(super) struct Changes {
    count: u32,
    files: Vec<String>,
    before: Bound,
}

impl Changes {
    /// Notes that files changed since the question. The error ends the call.
    pub(super) fn note(
        &mut self,
        files: Vec<String>,
        before: Bound,
        entry: &Entry,
    ) -> Result<(), ToolError> {
        self.count += 1;
        self.files = files;
        self.before = before;
        if self.count < MAX_CHANGES {
            return Ok(());
        }
        let message = format!(
            "`{}` was not run: {} changed {MAX_CHANGES} times while it waited for approval; leave the file as it is, then call again",
            entry.spec().name,
            self.names(),
        );
        Err(ToolError::new(ErrorCode::Conflict, message).with_detail("changed", self.files.clone()))
    }

    /// Why the person is asked again, if files changed.
    pub(super) fn reason(&self) -> Option<String> {
        (self.count > 0).then(|| format!("{} changed since this was last asked", self.names()))
    }

    /// What changed, for the person.
    pub(super) fn diff_to(&self, now: &Bound) -> Option<String> {
        match self.count {
            0 => None,
            _ => now.diff_since(&self.before),
        }
    }

    fn names(&self) -> String {
        text::and_list(&self.files)
    }
}

/// Every shell text among the arguments.
fn given_texts(spec: &ToolSpec, args: &JsonObject) -> Vec<ShellText> {
    let text = |name: &str| args.get(name).and_then(Value::as_str);
    let roles = &spec.roles;
    let directory = roles.iter().find(|(_, role)| *role == Role::Directory);
    let directory = directory
        .and_then(|(name, _)| text(name))
        .map(str::to_owned);
    let given = roles.iter().filter_map(|(name, role)| {
        let given = text(name)?;
        let given = match role {
            Role::Shell => given.to_owned(),
            Role::Code { language } => match text(language)? {
                "bash" | "sh" => given.to_owned(),
                "python" => format!("python3 -c '{}'", given.replace('\'', "'\\''")),
                _ => return None,
            },
            Role::Directory | Role::ReadPath | Role::WritePath | Role::Url => return None,
        };
        Some(ShellText {
            text: given,
            directory: directory.clone(),
            own: Vec::new(),
            path: None,
            input: None,
        })
    });
    given.collect()
}

/// A path that begins with `~`, as the shell has it.
pub(super) fn at_home(path: &str) -> PathBuf {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = std::env::var("HOME").unwrap_or_default();
            PathBuf::from(format!("{home}{rest}"))
        }
        _ => PathBuf::from(path),
    }
}
