//! How a push is made, and what git says of it.
//!
//! Git pushes from an empty repository of ours that borrows the objects of the real one. So it reads none of that one's settings, and
//! nothing that those name runs where the wall is open and credentials are at hand.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::credentials::{Login, Origin};
use super::failure;
use super::invoke::{self, Hooks, Output};
use super::outgoing::Outgoing;
use super::remote::RemoteLocation;
use super::repository::Repository;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::process::CallTemp;
use crate::sandbox::Command;
use crate::workspace::Workspace;

/// The longest list of commits that a shallow clone begins with.
const MAX_SHALLOW: usize = 1 << 20;

/// The file of ours with certificates to trust.
const CERTIFICATES: &str = "certificates.pem";

/// Where systems keep those that they trust, and how long that may be.
const SYSTEM_CERTIFICATES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
const MAX_CERTIFICATES: u64 = 8 << 20;

/// A repository with nothing in it but what says how ids look, and where a shallow clone begins.
pub(super) fn empty_repository(
    workspace: &Workspace,
    repository: &Repository,
    outgoing: &Outgoing,
    certificates: Option<&[u8]>,
) -> Result<CallTemp, ToolError> {
    let ours = CallTemp::create(workspace)?;
    let mut config = String::from("[core]\n\tbare = true\n");
    match outgoing.hash.len() {
        64 => config
            .push_str("\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n"),
        _ => config.push_str("\trepositoryformatversion = 0\n"),
    }
    ours.write("config", config.as_bytes())?;
    ours.write("HEAD", b"ref: refs/heads/none\n")?;
    for name in ["objects", "refs"] {
        std::fs::create_dir(ours.path().join(name)).map_err(|error| {
            ToolError::failed("a temporary directory of the call cannot be made").caused_by(error)
        })?;
    }
    if let Some(shallow) = repository.shallow(workspace, MAX_SHALLOW)? {
        ours.write("shallow", shallow.as_bytes())?;
    }
    let more = certificates.unwrap_or_default();
    if outgoing.place.protocol() == "https" && !more.is_empty() {
        ours.write(CERTIFICATES, &trusted(more))?;
    }
    Ok(ours)
}

/// The certificates of the system, and the configured ones.
fn trusted(more: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let system = SYSTEM_CERTIFICATES
        .iter()
        .find_map(|path| File::open(path).ok());
    if let Some(system) = system {
        // What cannot be read is not trusted.
        let _ = system.take(MAX_CERTIFICATES).read_to_end(&mut all);
        all.push(b'\n');
    }
    all.extend_from_slice(more);
    all
}

pub(super) fn command(
    ours: &Path,
    repository: &Repository,
    outgoing: &Outgoing,
    force: bool,
    login: Option<&Login>,
) -> Command {
    let place = &outgoing.place;
    let mut words = vec![
        "-c".to_owned(),
        format!("protocol.{}.allow=always", place.protocol()),
        "-c".to_owned(),
        "http.followRedirects=false".to_owned(),
    ];
    let certificates = ours.join(CERTIFICATES);
    if certificates.exists() {
        let certificates = certificates.to_string_lossy();
        words.extend(["-c".to_owned(), format!("http.sslCAInfo={certificates}")]);
    }
    if let (RemoteLocation::Web(web), Some(_)) = (place, login) {
        words.extend(Login::settings(&web.target));
    }
    words.extend(["push", "--porcelain", "--no-progress", "--no-verify"].map(str::to_owned));
    words.extend(["--no-signed", "--recurse-submodules=no"].map(str::to_owned));
    let branch = &outgoing.branch;
    if let (true, Some(tracked)) = (force, &outgoing.tracked) {
        words.push(format!("--force-with-lease=refs/heads/{branch}:{tracked}"));
    }
    words.push("--end-of-options".to_owned());
    words.push(place.address());
    words.push(format!("{}:refs/heads/{branch}", outgoing.hash));
    let command = invoke::plain(Hooks::Off)
        .args(words)
        .directory(&repository.tree)
        .env("GIT_DIR", ours)
        .env(
            "GIT_OBJECT_DIRECTORY",
            repository.common_dir.join("objects"),
        );
    let command = match place {
        RemoteLocation::Inside(_) | RemoteLocation::Outside(_) => command,
        // Nor are anybody else's settings read, which could lead elsewhere or tell someone the password.
        RemoteLocation::Web(_) => command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null"),
    };
    match login {
        Some(login) => login.give(command),
        None => command,
    }
}

// What became of a branch, as results have it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PushedRef {
    /// Its full name there
    pub(super) to: String,
    /// new, updated, forced, upToDate or rejected
    pub(super) status: &'static str,
    /// What git says about it
    pub(super) summary: String,
}

/// `FLAG TAB FROM:TO TAB SUMMARY` for each branch, between lines that say where and that it is done.
pub(super) fn read(output: &[u8]) -> Vec<PushedRef> {
    let text = String::from_utf8_lossy(output);
    let line = |line: &str| {
        let mut fields = line.splitn(3, '\t');
        let (flag, names, summary) = (fields.next()?, fields.next()?, fields.next()?);
        let (_, to) = names.split_once(':')?;
        let status = match flag {
            " " => "updated",
            "+" => "forced",
            "*" => "new",
            "=" => "upToDate",
            "!" => "rejected",
            _ => return None,
        };
        Some(PushedRef {
            to: to.to_owned(),
            status,
            summary: text::shorten(summary, 300),
        })
    };
    text.lines().filter_map(line).take(100).collect()
}

/// Why a push went wrong.
pub(super) fn refused(
    pushed: &Output,
    refs: &[PushedRef],
    outgoing: &Outgoing,
    repository: &Repository,
) -> ToolError {
    let has = |words: &[&str]| words.iter().any(|word| pushed.stderr.contains(word));
    let rejected = refs.iter().find(|reference| reference.status == "rejected");
    let (code, message) = if let Some(rejected) = rejected {
        let summary = &rejected.summary;
        let hint = if summary.contains("stale info")
            || summary.contains("fetch first")
            || summary.contains("non-fast-forward")
        {
            "; the remote has commits that are not here: fetch and merge them in a terminal, then push again"
        } else {
            ""
        };
        (
            ErrorCode::Conflict,
            format!(
                "`{}` did not take `{}`: {summary}{hint}",
                outgoing.remote, outgoing.branch
            ),
        )
    } else if has(&[
        "Authentication failed",
        "could not read Username",
        "could not read Password",
        "error: 401",
    ]) {
        let how = match &outgoing.origin {
            Origin::Kept(name) => format!("the secret `{name}` of the setting `git.secret` was not accepted"),
            Origin::Address => "the password in its address was not accepted".to_owned(),
            Origin::Nobody => "no login is set for it: keep a token with `toolcrib secret set NAME --host HOST`, and name it in the setting `git.secret`".to_owned(),
        };
        (
            ErrorCode::PermissionDenied,
            format!("`{}` wants a login: {how}", outgoing.remote),
        )
    } else if has(&[
        "CONNECT tunnel failed",
        "Could not resolve proxy",
        "error: 403",
    ]) {
        (
            ErrorCode::HostNotAllowed,
            format!(
                "`{}` was not reached: the server, or the guard of the way out, refused; see `allowedHosts` and `network.privateHosts`",
                outgoing.remote
            ),
        )
    } else {
        return failure::of("push", pushed, repository.root());
    };
    let said = failure::without_root(pushed.stderr.trim(), repository.root());
    ToolError::new(code, message)
        .with_detail("refs", json!(refs))
        .with_detail("stderr", text::shorten(&said, 4000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_branches_is_read() {
        let output = b"To http://x\n \taa:refs/heads/a\t1..2\n*\taa:refs/heads/b\t[new branch]\n!\taa:refs/heads/c\t[rejected] (fetch first)\n=\taa:refs/heads/d\t[up to date]\nDone\n";
        let refs = read(output);
        let seen: Vec<_> = refs
            .iter()
            .map(|pushed| (pushed.to.as_str(), pushed.status))
            .collect();
        assert_eq!(
            seen,
            [
                ("refs/heads/a", "updated"),
                ("refs/heads/b", "new"),
                ("refs/heads/c", "rejected"),
                ("refs/heads/d", "upToDate"),
            ]
        );
        assert!(read(b"\t\n!\t\n?\ta:b\tc").is_empty());
    }
}
