//! Which servers serve a home: one small file each in `state/servers/`, locked while its server lives.
//!
//! The lock is the truth, not the file: it goes with its process, however that ends. A process that sees a file that no one holds removes
//! it. No one waits for anything here, and a home without servers costs one failed `open`.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use toolcrib::config::Config;
use toolcrib::rules::RuleSet;
use toolcrib::storage::DurableDir;

/// The largest file that is read.
const MAX_BYTES: u64 = 64 * 1024;

/// A server that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningServer {
    /// Its process.
    pub pid: u32,
    /// Where it listens: `http://127.0.0.1:7410`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The socket in the file system where it listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// The workspace of its tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<PathBuf>,
    /// When it began.
    pub started_at: Timestamp,
    /// What its settings come to: [`settings_digest`].
    pub settings_digest: String,
    /// The file of its certificate, where it speaks TLS: a client that knows its home need not be given a certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
}

/// The servers of a home.
#[derive(Debug, Clone)]
pub struct Servers {
    directory: PathBuf,
}

impl Servers {
    /// The servers of a home.
    pub fn of_home(home: &Path) -> Self {
        Servers {
            directory: home.join("state").join("servers"),
        }
    }

    /// Those that live, the youngest first. Files of dead ones are removed on the way.
    pub fn live(&self) -> Vec<RunningServer> {
        let Ok(entries) = std::fs::read_dir(&self.directory) else {
            return Vec::new();
        };
        let mut live: Vec<RunningServer> = entries
            .filter_map(|entry| look(&entry.ok()?.path()))
            .collect();
        live.sort_by_key(|server| std::cmp::Reverse(server.started_at));
        live
    }

    /// Says that a server is there, for as long as what is returned is kept.
    pub fn announce(&self, server: &RunningServer) -> io::Result<Announced> {
        DurableDir::create(&self.directory).map_err(io::Error::other)?;
        let name = uuid::Uuid::now_v7();
        let path = self.directory.join(format!("{name}.json"));
        // It is locked and whole before it has a name that anybody looks at.
        let draft = self.directory.join(format!(".{name}.tmp"));
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        let written = (|| {
            file.try_lock()?;
            file.write_all(&serde_json::to_vec(server)?)?;
            std::fs::rename(&draft, &path)
        })();
        match written {
            Ok(()) => Ok(Announced { path, _file: file }),
            Err(error) => {
                let _ = std::fs::remove_file(&draft);
                Err(error)
            }
        }
    }
}

/// A server's file; goes with this.
#[derive(Debug)]
pub struct Announced {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl Drop for Announced {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The server that a file is about, if it lives. The file of a dead one is removed.
fn look(path: &Path) -> Option<RunningServer> {
    let name = path.file_name()?.to_str()?;
    let is_draft = name.starts_with('.') && name.ends_with(".tmp");
    if !is_draft && !name.ends_with(".json") {
        return None;
    }
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK))
        .open(path)
        .ok()?;
    // The token is shown to whom these files name: one that someone else wrote, or may write, is no one's.
    let metadata = file.metadata().ok()?;
    if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
        return None;
    }
    match file.try_lock_shared() {
        // Names are never used again: this is the file of a dead server, or nothing by now.
        Ok(()) if !is_draft || is_old(&file) => {
            let _ = std::fs::remove_file(path);
            return None;
        }
        Ok(()) => return None,
        Err(TryLockError::WouldBlock) if is_draft => return None,
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(_)) => return None,
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Whether a draft was left: between making it and locking it there is a moment.
fn is_old(file: &File) -> bool {
    let modified = file.metadata().and_then(|metadata| metadata.modified());
    let age = modified.ok().and_then(|modified| modified.elapsed().ok());
    age.is_some_and(|age| age.as_secs() > 60)
}

fn flags(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or_default()
}

/// What settings and rules come to, for those who want to know whether a call in a server is the call they would make themselves.
/// How the server itself is set up does not matter to that.
pub fn settings_digest(config: &Config, rules: &RuleSet) -> String {
    let mut digest = Sha256::new();
    let mut add = |part: &str| {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    };
    for (setting, value, _) in config.entries() {
        let is_server = setting.key.starts_with("server.") || setting.key.starts_with("telemetry.");
        if !is_server {
            add(setting.key);
            add(&value.to_string());
        }
    }
    for rule in rules.rules() {
        add(&format!("{rule:?}"));
    }
    digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(pid: u32) -> RunningServer {
        RunningServer {
            pid,
            url: Some("http://127.0.0.1:7410".to_owned()),
            socket: None,
            workspace: Some("/work".into()),
            started_at: Timestamp::from_second(i64::from(pid)).unwrap(),
            settings_digest: "00".to_owned(),
            certificate: None,
        }
    }

    #[test]
    fn servers_are_listed_for_as_long_as_they_live() {
        let home = tempfile::tempdir().unwrap();
        let servers = Servers::of_home(home.path());
        assert_eq!(servers.live(), []);
        let first = servers.announce(&server(1)).unwrap();
        let second = servers.announce(&server(2)).unwrap();
        assert_eq!(servers.live(), [server(2), server(1)]);
        drop(second);
        assert_eq!(servers.live(), [server(1)]);
        drop(first);
        assert_eq!(servers.live(), []);
        assert_eq!(std::fs::read_dir(&servers.directory).unwrap().count(), 0);
    }

    #[test]
    fn the_file_of_a_dead_server_is_removed_by_the_process_that_sees_it() {
        let home = tempfile::tempdir().unwrap();
        let servers = Servers::of_home(home.path());
        let live = servers.announce(&server(1)).unwrap();
        let dead = servers.directory.join("dead.json");
        std::fs::write(&dead, serde_json::to_vec(&server(2)).unwrap()).unwrap();
        assert_eq!(servers.live(), [server(1)]);
        assert!(!dead.exists());
        drop(live);
    }

    #[test]
    fn input_that_is_not_a_servers_file_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let servers = Servers::of_home(home.path());
        std::fs::create_dir_all(&servers.directory).unwrap();
        let note = servers.directory.join("note.txt");
        std::fs::write(&note, "").unwrap();
        std::os::unix::fs::symlink(&note, servers.directory.join("link.json")).unwrap();
        assert_eq!(servers.live(), []);
        assert!(note.exists());
    }

    #[test]
    fn a_file_that_others_may_write_names_no_server() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let servers = Servers::of_home(home.path());
        let live = servers.announce(&server(1)).unwrap();
        assert_eq!(servers.live(), [server(1)]);
        let open = std::fs::Permissions::from_mode(0o622);
        std::fs::set_permissions(&live.path, open).unwrap();
        assert_eq!(servers.live(), []);
        assert!(live.path.exists());
    }

    #[test]
    fn the_digest_distinguishes_settings_and_rules_but_not_servers() {
        let (mut config, rules) = (Config::defaults(), RuleSet::default());
        let before = settings_digest(&config, &rules);
        config.set_flag("server.addr", "127.0.0.1:1").unwrap();
        assert_eq!(settings_digest(&config, &rules), before);
        let more = RuleSet::default().with(toolcrib::rules::Rule::forbid("no_curl", ["curl"]));
        assert_ne!(settings_digest(&config, &more), before);
        config.set_flag("allowedHosts", "example.com").unwrap();
        assert_ne!(settings_digest(&config, &rules), before);
    }
}
