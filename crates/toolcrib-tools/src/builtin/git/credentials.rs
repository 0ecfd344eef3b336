//! As whom a push over HTTP logs in.
//!
//! A secret is sent to a host that it is bound to, and to no other: one that is saved without hosts is refused, since the address of a
//! remote is the repository's to choose. Git gets it from a helper that exists for this one run and this one address; no
//! program of the repository runs beside it (`outgoing`).

use super::invoke::Git;
use super::remote::Web;
use crate::egress::Target;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::Slug;
use crate::model::secret::Secret;
use crate::sandbox::Command;
use crate::secret::SecretName;

/// The user whom servers expect to come with a token.
const TOKEN_USER: &str = "git";

/// The variables that the helper reads.
const USER: &str = "TOOLCRIB_PUSH_USER";
const PASSWORD: &str = "TOOLCRIB_PUSH_PASSWORD";

/// The credential helper that git runs. It answers the question and keeps nothing.
const HELPER: &str = "!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' \"$TOOLCRIB_PUSH_USER\" \"$TOOLCRIB_PUSH_PASSWORD\"; }; f";

/// A user and a password or token.
pub(super) struct Login {
    user: String,
    password: Secret,
}

/// Where a login comes from, in words for a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// The setting `git.secret`.
    Kept(SecretName),
    /// The address of the remote.
    Address,
    /// Nowhere.
    Nobody,
}

/// Where the login for a server would come from.
pub(super) fn origin(git: &Git, web: &Web) -> Result<Origin, ToolError> {
    if let Some(name) = &git.settings.secret {
        let name = SecretName::parse(name).map_err(|why| {
            ToolError::new(
                ErrorCode::ToolUnavailable,
                format!("the setting `git.secret` is not the name of a secret: {why}"),
            )
        })?;
        if is_for(git, &name, &web.target)? {
            if web.is_open() {
                return Err(in_the_open());
            }
            return Ok(Origin::Kept(name));
        }
    }
    match &web.password {
        Some(_) if web.is_open() => Err(in_the_open()),
        Some(_) => Ok(Origin::Address),
        None => Ok(Origin::Nobody),
    }
}

fn in_the_open() -> ToolError {
    ToolError::new(
        ErrorCode::HostNotAllowed,
        "the remote's address is `http`, so that the password could be read on the way; use its https address: `git remote set-url`",
    )
}

/// Whether a secret is kept for this host.
fn is_for(git: &Git, name: &SecretName, target: &Target) -> Result<bool, ToolError> {
    let entry = target.entry();
    let how = format!("`toolcrib secret set {name} --host {entry}` keeps it");
    let Some(secrets) = &git.secrets else {
        let message = format!(
            "there is no store that could hold the secret `{name}` of the setting `git.secret`"
        );
        return Err(ToolError::new(ErrorCode::ToolUnavailable, message));
    };
    let kept = secrets.list()?.into_iter().find(|kept| kept.name == *name);
    let Some(kept) = kept else {
        let message =
            format!("there is no secret `{name}`, which the setting `git.secret` names; {how}");
        return Err(ToolError::new(ErrorCode::ToolUnavailable, message));
    };
    if kept.binding.hosts().is_empty() {
        let message = format!(
            "the secret `{name}` of the setting `git.secret` is kept for any host, and the address of a remote is the repository's \
             to choose; {how} for this one only"
        );
        return Err(ToolError::new(ErrorCode::ToolUnavailable, message));
    }
    let revealed = secrets.reveal(name, &core(), target);
    Ok(revealed.is_ok())
}

fn core() -> Slug {
    Slug::parse("core").expect("a valid slug")
}

/// The login itself, right before it is used. Where there is a store, what it says is masked from then on.
pub(super) fn login(git: &Git, web: &Web, origin: &Origin) -> Result<Option<Login>, ToolError> {
    let (user, password) = match origin {
        Origin::Nobody => return Ok(None),
        Origin::Address => (
            None,
            web.password.clone().unwrap_or_else(|| Secret::new("")),
        ),
        Origin::Kept(name) => {
            let secrets = git.secrets.as_ref();
            let secrets =
                secrets.ok_or_else(|| ToolError::failed("there is no store of secrets"))?;
            let value = secrets.reveal(name, &core(), &web.target)?;
            match value.expose().split_once(':') {
                Some((user, password)) => (Some(user.to_owned()), Secret::new(password)),
                None => (None, value),
            }
        }
    };
    if let Some(secrets) = &git.secrets {
        secrets.also_mask(&password);
    }
    let user = user
        .or_else(|| web.user.clone())
        .unwrap_or_else(|| TOKEN_USER.to_owned());
    let is_line = |text: &str| !text.contains(['\n', '\r', '\0']);
    if !is_line(&user) || !is_line(password.expose()) {
        let message = "the user name or password for the push has a line break in it, which git cannot accept";
        return Err(ToolError::new(ErrorCode::ToolUnavailable, message));
    }
    Ok(Some(Login { user, password }))
}

impl Login {
    /// The settings that name the helper, for one server only.
    pub(super) fn settings(target: &Target) -> Vec<String> {
        let scheme = if target.https { "https" } else { "http" };
        let setting = format!(
            "credential.{scheme}://{}.helper={HELPER}",
            target.authority()
        );
        vec!["-c".to_owned(), setting]
    }

    /// Hands the login to the helper.
    pub(super) fn give(&self, command: Command) -> Command {
        command
            .env(USER, &self.user)
            .env(PASSWORD, self.password.expose())
    }
}
