//! One attack, and who makes it.

use std::collections::BTreeMap;
use std::fs::{self};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use serde::Deserialize;
use tempfile::TempDir;

use super::scene::{Scene, directory, repository};
use super::{ENDED, NOBODY, PLACE};

/// One attack.
#[derive(Deserialize)]
pub(super) struct Case {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) language: Language,
    pub(super) code: String,
    pub(super) expect: String,
    pub(super) must_hold_at: Vec<String>,
    /// Bash on the host, afterwards, as the user who ran the sandbox.
    pub(super) host_check: Option<String>,
    /// Bash on the host, before; a line `NAME=value` that it prints makes a token `@NAME@`.
    pub(super) setup: Option<String>,
    /// Bash that starts the runner, which it finds as `"$@"`.
    pub(super) start: Option<String>,
    /// Flags of `toolcrib sandbox`.
    #[serde(default)]
    pub(super) flags: Vec<String>,
    /// Variables of the runner.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// How the attack ends if it fails: `itself`, a limit's name, `signal N`, `killed` (by us), `any`.
    pub(super) end: Option<String>,
    /// A path that the report must name as planted.
    pub(super) planted: Option<String>,
    /// `root` or `ordinary` where only one of them makes sense.
    pub(super) only: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(super) enum Language {
    Bash,
    Python,
}

impl Case {
    pub(super) fn all(text: &str) -> Vec<Case> {
        let parse = |line| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in the case {line}"))
        };
        text.lines().map(parse).collect()
    }

    pub(super) fn end(&self) -> &str {
        // The cases as handed down do not say.
        match (self.id.as_str(), &self.end) {
            (_, Some(end)) => end,
            ("res-06", None) => "time",
            ("net-14", None) => "signal 31",
            ("life-02", None) => "killed",
            _ => "itself",
        }
    }

    pub(super) fn time(&self) -> &[&str] {
        if self.flags.iter().any(|flag| flag == "--timeout") {
            &[]
        } else {
            &["--timeout", "4s"]
        }
    }

    /// The attack with words at its end that tell that it came there.
    pub(super) fn program(&self, scene: &Scene) -> [String; 3] {
        let code = scene.fill_in(&self.code);
        match self.language {
            Language::Bash => [
                "bash".to_owned(),
                "-c".to_owned(),
                format!("trap 'echo \"{ENDED}\"' EXIT\n{code}"),
            ],
            Language::Python => [
                "/usr/bin/python3".to_owned(),
                "-c".to_owned(),
                format!("import atexit; atexit.register(print, '{ENDED}')\n{code}"),
            ],
        }
    }
}

/// The user who runs the sandbox.
#[derive(Clone)]
pub(super) struct Attacker {
    /// Set where we have to become someone else.
    pub(super) uid: Option<u32>,
    pub(super) toolcrib: PathBuf,
    pub(super) _copy: Option<Arc<TempDir>>,
    /// What every workspace starts from, made once.
    pub(super) repository: Arc<TempDir>,
}

pub(super) fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

impl Attacker {
    pub(super) fn ourselves() -> Self {
        Attacker {
            uid: None,
            toolcrib: env!("CARGO_BIN_EXE_toolcrib").into(),
            _copy: None,
            repository: repository().into(),
        }
    }

    /// `None` when there is no way to be one.
    pub(super) fn ordinary() -> Option<Self> {
        if !is_root() {
            return Some(Self::ourselves());
        }
        Command::new("setpriv").arg("--version").output().ok()?;
        // The binary lies in a directory that an ordinary user need not be able to enter.
        let copy = directory(PLACE);
        let toolcrib = copy.path().join("toolcrib");
        fs::copy(env!("CARGO_BIN_EXE_toolcrib"), &toolcrib).unwrap();
        Some(Attacker {
            uid: Some(NOBODY),
            toolcrib,
            _copy: Some(copy.into()),
            repository: repository().into(),
        })
    }

    pub(super) fn name(&self) -> &'static str {
        if self.uid.is_none() && is_root() {
            "root"
        } else {
            "ordinary"
        }
    }

    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let Some(uid) = self.uid else {
            return Command::new(program);
        };
        let mut command = Command::new("setpriv");
        command
            .args([format!("--reuid={uid}"), format!("--regid={uid}")])
            .arg("--clear-groups")
            .arg(program);
        command
    }
}
