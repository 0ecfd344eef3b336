//! Runs what a template became, with the real programs, in its own directory.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use toolcrib::template::{Code, Invocation, VALUES_DIRECTORY, Values};

/// A place to run programs in.
pub(super) struct Yard {
    directory: tempfile::TempDir,
}

/// What a program left behind.
pub(super) struct Ran {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl Ran {
    /// The words it printed, each with a null byte after it.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = self
            .stdout
            .split(|byte| *byte == 0)
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        assert_eq!(words.pop().as_deref(), Some(""), "{}", self.stderr);
        words
    }
}

impl Yard {
    pub(super) fn new() -> Yard {
        let directory = tempfile::tempdir().unwrap();
        for name in ["work", "values"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        Yard { directory }
    }

    /// Where programs run.
    pub(super) fn place(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// A file that no program should make.
    pub(super) fn canary(&self) -> PathBuf {
        self.directory.path().join("canary")
    }

    pub(super) fn is_untouched(&self) -> bool {
        !self.canary().exists() && std::fs::read_dir(self.place()).unwrap().next().is_none()
    }

    /// Takes away what programs left in their place.
    pub(super) fn clean(&self) {
        for entry in std::fs::read_dir(self.place()).unwrap().flatten() {
            let _ = std::fs::remove_file(entry.path());
        }
    }

    pub(super) fn run(&self, invocation: &Invocation) -> Ran {
        let values = self.directory.path().join("values");
        for (name, bytes) in &invocation.files {
            std::fs::write(values.join(name), bytes).unwrap();
        }
        let mut command = Command::new(&invocation.program);
        command
            .args(&invocation.arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.directory.path())
            .env("LC_ALL", "C.UTF-8")
            .envs(invocation.environment.iter().cloned())
            .current_dir(self.place())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if !invocation.files.is_empty() {
            command.env(VALUES_DIRECTORY, &values);
        }
        let mut child = command.spawn().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stderr.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let mut stdout = Vec::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_end(&mut stdout)
            .unwrap();
        child.wait().unwrap();
        Ran {
            stdout,
            stderr: String::from_utf8_lossy(&errors.join().unwrap()).into_owned(),
        }
    }

    /// What a template prints with these values.
    pub(super) fn print(&self, code: &Code, values: &Values) -> Ran {
        self.run(&code.prepare(values).unwrap())
    }
}
