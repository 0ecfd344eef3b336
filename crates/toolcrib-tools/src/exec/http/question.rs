//! What a person is asked about a call, and why a call can never be made.

use std::sync::Arc;

use super::HttpTool;
use super::build::Draft;
use super::values::Shown;
use crate::egress::{EgressError, Standing, Target};
use crate::manifest::{Auth, HttpDefinition, OauthGrant, Placeholder, RequestTemplate, Template};
use crate::model::JsonObject;
use crate::model::effects::{Approval, Effects};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::secret::SecretName;
use crate::spec::ToolSpec;
use crate::tool::Look;

/// How much of a request a person is shown.
const MAX_SHOWN: usize = 4000;

/// Why a tool without a tag asks.
const UNTAGGED: &str = "the tool does not say whether it reads, writes or runs something (no tag `read`, `write` or `run`)";

/// What is said of a call before anything is sent. What it would send is put into words only for a person to read.
pub(super) fn look(tool: &HttpTool) -> Look {
    let (definition, spec) = (Arc::clone(&tool.definition), Arc::clone(&tool.spec));
    Look::from(approval(tool))
        .with_refusal(refusal(tool))
        .with_effect(move |args| effect(&definition, &spec, args))
}

/// Whether a person has to agree: every time if the tool does not say what it does, else never (rules may still have them asked).
fn approval(tool: &HttpTool) -> Approval {
    if !tool.spec.effects.is_unknown() {
        return Approval::allow();
    }
    let reason = match missing_secrets(tool) {
        missing if missing.is_empty() => UNTAGGED.to_owned(),
        missing => format!(
            "{UNTAGGED}; even if approved it cannot run yet: there is no secret `{}`",
            missing.join("`, `")
        ),
    };
    Approval::ask(reason).every_time()
}

/// Secrets that the tool needs and nobody has set, by name; nobody should decide about a call that cannot be made.
pub(super) fn missing_secrets(tool: &HttpTool) -> Vec<&str> {
    let is_missing = |name: &SecretName| match &tool.settings.secrets {
        Some(secrets) => !secrets.contains(name).unwrap_or(true),
        None => true,
    };
    let names = tool.definition.secrets().into_iter();
    names
        .filter(|name| is_missing(name))
        .map(SecretName::as_str)
        .collect()
}

/// When the tool has a person asked, in words.
pub(super) fn asks(effects: Effects) -> Option<String> {
    effects
        .is_unknown()
        .then(|| format!("every time: {UNTAGGED}"))
}

/// Where its requests go, token servers included, for rules about hosts.
pub(super) fn urls(definition: &HttpDefinition) -> Vec<String> {
    let mut urls: Vec<String> = Vec::new();
    for request in &definition.requests {
        let token = match &request.auth {
            Some(Auth::Oauth2 { token_url, .. }) => Some(token_url.origin().ascii_serialization()),
            _ => None,
        };
        for url in std::iter::once(request.url.origin.clone()).chain(token) {
            if !urls.contains(&url) {
                urls.push(url);
            }
        }
    }
    urls
}

/// Why the call can never be made: a host that the setting does not name, an address that nothing reaches.
fn refusal(tool: &HttpTool) -> Option<ToolError> {
    let egress = &tool.settings.egress;
    tool.definition
        .targets()
        .into_iter()
        .find_map(|target| match egress.standing(target) {
            Standing::Listed => None,
            Standing::Refused(refusal) => Some(EgressError::Refused(refusal).into()),
            Standing::Unlisted => Some(unlisted(tool, target)),
        })
}

fn unlisted(tool: &HttpTool, target: &Target) -> ToolError {
    let entry = target.entry();
    // The whole list, so that what is there already is neither lost nor said twice.
    let allowed = tool.settings.egress.allowed_hosts().entries();
    let hosts: Vec<String> = allowed.chain([entry.clone()]).collect();
    let quoted: Vec<String> = hosts.iter().map(|host| format!("\"{host}\"")).collect();
    let message = format!(
        "`{}` asks `{entry}`, which the setting `allowedHosts` does not name; add it in config.toml of the home \
         (`allowedHosts = [{}]`), or set `TOOLCRIB_ALLOWED_HOSTS={}`",
        tool.spec.name,
        quoted.join(", "),
        hosts.join(",")
    );
    ToolError::new(ErrorCode::HostNotAllowed, message).with_detail("host", entry)
}

/// What the call would send, in words.
fn effect(definition: &HttpDefinition, spec: &ToolSpec, args: &JsonObject) -> String {
    let requests = &definition.requests;
    let masked = spec.input_schema.masked(args, &spec.synonyms);
    let mut shown = Shown {
        definition,
        args,
        masked: &masked,
    };
    let all: Vec<String> = requests
        .iter()
        .enumerate()
        .map(|(index, template)| match requests.len() {
            1 => request(template, &mut shown),
            _ => format!("{}. {}", index + 1, request(template, &mut shown)),
        })
        .collect();
    text::shorten(&all.join("; "), MAX_SHOWN)
}

fn request(template: &RequestTemplate, shown: &mut Shown<'_>) -> String {
    let Ok(draft) = Draft::of(template, shown) else {
        return format!("{} {}", template.method, template.url.origin);
    };
    let mut words = format!("{} {}", template.method, draft.url);
    let varying = template
        .headers
        .iter()
        .filter(|(_, value)| value.as_literal().is_none());
    for (name, _) in varying {
        let header = draft.headers.iter().find(|header| header.name == name);
        let value = header.map_or("", |header| header.value.as_str());
        words.push_str(&format!(", header {name}: {value}"));
    }
    if let Some(auth) = &template.auth {
        words.push_str(&format!(", {}", credentials(auth, shown.definition)));
    }
    if template.body.is_some() {
        words.push_str(&format!(", body: {}", draft.body));
    }
    words
}

fn credentials(auth: &Auth, definition: &HttpDefinition) -> String {
    let shown = |template: &Template| {
        template.shown(|placeholder| match placeholder {
            Placeholder::Secret(name) => format!("[secret {}]", name.as_str()),
            Placeholder::BuiltIn(variable) => definition.built_in(*variable).to_owned(),
            Placeholder::Argument(name) => format!("[argument {name}]"),
            Placeholder::Previous => "[value of the request before]".to_owned(),
        })
    };
    // What stands in a file as it is may still be a secret.
    let confidential = |template: &Template| match template.as_literal() {
        Some(_) => "[in the file]".to_owned(),
        None => shown(template),
    };
    match auth {
        Auth::Bearer { token } => format!("with the bearer token {}", confidential(token)),
        Auth::Basic { username, password } => format!(
            "as the user {} with the password {}",
            shown(username),
            confidential(password)
        ),
        Auth::Hmac { key, .. } => format!("signed with {}", confidential(key)),
        Auth::Oauth2 {
            grant,
            token_url,
            client_id,
            ..
        } => {
            let by = match grant {
                OauthGrant::ClientCredentials => String::new(),
                OauthGrant::Refresh(token) => format!(" by {}", confidential(token)),
            };
            let host = token_url.host_str().unwrap_or_default();
            format!("with a token of {host} for {}{by}", shown(client_id))
        }
    }
}
