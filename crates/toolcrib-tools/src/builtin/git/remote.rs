//! Where a remote is, and what of the wall is opened to reach it: one repository or one host, and nothing else.
//!
//! The address is git's own word for where a push goes (`git remote get-url --push`, with `insteadOf` and the like applied). The address
//! judged here is the one that is dialled or opened later: the push itself does not read the repository's settings again.

use std::path::{Path, PathBuf};

use url::Url;

use super::repository::{Repository, is_bare};
use crate::egress::{Egress, EgressError, Host, HostVerdict, Target};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::secret::Secret;
use crate::model::text;
use crate::process::{Access, Reachable, Wall, reaches_own_data};
use crate::sandbox::Level;
use crate::workspace::Workspace;

/// The longest address.
const MAX_ADDRESS: usize = 4096;

/// Where a remote is.
#[derive(Debug, Clone)]
pub(super) enum RemoteLocation {
    /// A repository in the workspace: nothing has to be opened.
    Inside(PathBuf),
    /// A repository elsewhere on this machine.
    Outside(PathBuf),
    /// A server.
    Web(Web),
}

/// A server, and a repository on it.
#[derive(Debug, Clone)]
pub(super) struct Web {
    /// Without credentials.
    pub(super) url: Url,
    pub(super) target: Target,
    /// What the address had in it.
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
}

impl RemoteLocation {
    /// Reads the address of a remote. Looks at directories, so it blocks.
    pub(super) fn of(
        address: &str,
        repository: &Repository,
        workspace: &Workspace,
        egress: Option<&Egress>,
    ) -> Result<Self, ToolError> {
        if address.is_empty() || address.len() > MAX_ADDRESS || address.contains(char::is_control) {
            let message = "the remote has an address that is empty, too long, or has control characters in it; see `git remote -v`";
            return Err(ToolError::failed(message));
        }
        let scheme = address
            .split_once("://")
            .map(|(scheme, _)| scheme.to_ascii_lowercase());
        match scheme.as_deref() {
            Some("http" | "https") => web(address, egress).map(RemoteLocation::Web),
            Some("file") => local(&address["file://".len()..], repository, workspace),
            Some(other) => Err(no_way(&format!("`{}://`", text::shorten(other, 20)))),
            None if is_helper(address) => {
                let helper = address.split("::").next().unwrap_or_default();
                Err(no_way(&format!("`{}::`", text::shorten(helper, 20))))
            }
            None if is_ssh(address) => Err(no_way("ssh")),
            None => local(address, repository, workspace),
        }
    }

    /// The wall of a push to it: what may be reached besides the workspace, and what of ours is read.
    pub(super) fn wall(&self, ours: &Path) -> Wall {
        let mut wall = Wall::of(Level::Process);
        wall.read.push(ours.to_owned());
        match self {
            RemoteLocation::Inside(_) => {}
            RemoteLocation::Outside(place) => wall.write.push(place.clone()),
            RemoteLocation::Web(web) => wall.network = Reachable::hosts(&[web.target.to_string()]),
        }
        wall
    }

    /// The arguments for git.
    pub(super) fn address(&self) -> String {
        match self {
            RemoteLocation::Inside(place) | RemoteLocation::Outside(place) => {
                place.to_string_lossy().into_owned()
            }
            RemoteLocation::Web(web) => web.url.to_string(),
        }
    }

    /// The protocol that git has to be permitted.
    pub(super) fn protocol(&self) -> &'static str {
        match self {
            RemoteLocation::Inside(_) | RemoteLocation::Outside(_) => "file",
            RemoteLocation::Web(web) if web.target.https => "https",
            RemoteLocation::Web(_) => "http",
        }
    }

    /// What a person is shown; never credentials.
    pub(super) fn shown(&self, workspace: &Workspace) -> String {
        match self {
            RemoteLocation::Inside(place) => {
                let path = place.strip_prefix(workspace.root()).unwrap_or(place);
                format!(
                    "`{}` in the workspace",
                    text::visible_line(&path.to_string_lossy())
                )
            }
            RemoteLocation::Outside(place) => format!(
                "`{}`, outside of the workspace, which git can write for it",
                text::visible_line(&place.to_string_lossy())
            ),
            RemoteLocation::Web(web) => text::shorten(web.url.as_str(), 300),
        }
    }
}

fn no_way(what: &str) -> ToolError {
    ToolError::new(
        ErrorCode::HostNotAllowed,
        format!(
            "the remote is reached by {what}, which the sandbox does not let out: only http, https and directories of this machine \
             are; push from a terminal, or give the remote an https address: `git remote set-url --push NAME https://…`"
        ),
    )
}

/// `ext::sh -c …`, which git would run.
fn is_helper(address: &str) -> bool {
    let end = address.find("::").unwrap_or(0);
    end > 0
        && address[..end]
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// `host:path`, as git distinguishes it from a path: a colon before any slash.
fn is_ssh(address: &str) -> bool {
    match (address.find(':'), address.find('/')) {
        (Some(colon), Some(slash)) => colon < slash,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// A user name or password of a URL as it is meant: `%40` is `@`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn web(address: &str, egress: Option<&Egress>) -> Result<Web, ToolError> {
    let mut url = Url::parse(address).map_err(|error| {
        let message = "the remote's address cannot be read as a URL; see `git remote -v`";
        ToolError::failed(message).caused_by(error)
    })?;
    let user = Some(decoded(url.username())).filter(|user| !user.is_empty());
    let password = url
        .password()
        .map(|password| Secret::new(decoded(password)));
    // Of an address with a host these cannot fail.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let (url, target) = Target::parse(url.as_str())?;
    let egress = egress.ok_or_else(crate::process::no_egress)?;
    if let HostVerdict::Refused(refusal) = egress.standing(&target) {
        return Err(EgressError::Refused(refusal).into());
    }
    Ok(Web {
        url,
        target,
        user,
        password,
    })
}

impl Web {
    /// Whether what is sent there can be read on the way by others.
    pub(super) fn is_open(&self) -> bool {
        let is_here = match &self.target.host {
            Host::Address(address) => address.is_loopback(),
            Host::Name(name) => name == "localhost",
        };
        !self.target.https && !is_here
    }
}

fn local(
    path: &str,
    repository: &Repository,
    workspace: &Workspace,
) -> Result<RemoteLocation, ToolError> {
    let missing = || {
        let path = text::shorten(&text::visible_line(path), 200);
        ToolError::new(
            ErrorCode::FileNotFound,
            format!(
                "the remote is the directory `{path}`, where there is no repository; make one with `git init --bare`, or change it with `git remote set-url`"
            ),
        )
    };
    let named = repository.tree.join(path);
    let mut with_ending = named.clone().into_os_string();
    with_ending.push(".git");
    // Git looks in these places, and in this order.
    let place = [named.join(".git"), named, PathBuf::from(with_ending)]
        .iter()
        .filter_map(|place| place.canonicalize().ok())
        .find(|place| is_bare(place))
        .ok_or_else(missing)?;
    if place.starts_with(workspace.root()) {
        return Ok(RemoteLocation::Inside(place));
    }
    if let Some(why) = reaches_own_data(&place, Access::Write, workspace) {
        let message = format!("the remote is a directory that {why}");
        return Err(ToolError::new(ErrorCode::PermissionDenied, message));
    }
    if workspace.root().starts_with(&place) {
        let message =
            "the remote is a directory that the workspace lies in, which is not opened for a push";
        return Err(ToolError::new(ErrorCode::PermissionDenied, message));
    }
    Ok(RemoteLocation::Outside(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_distinguished_as_git_does() {
        for address in ["git@github.com:me/x.git", "host:x", "host:dir/x"] {
            assert!(is_ssh(address), "{address}");
        }
        for address in ["/srv/x:y", "./a:b", "../x", "x"] {
            assert!(!is_ssh(address), "{address}");
        }
        assert_eq!(decoded("a%40b%zz%é"), "a@b%zz%é");
        assert!(is_helper("ext::sh -c touch% /tmp/x") && is_helper("fd::7"));
        assert!(!is_helper("/a::b") && !is_helper("::x"));
    }
}
