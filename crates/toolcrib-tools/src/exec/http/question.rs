//! What a person is asked about a call, and why a call can never be made.

use std::sync::Arc;

use super::build::Draft;
use super::values::Shown;
use super::{HttpSettings, HttpTool};
use crate::definition::{Required, RequiresApproval};
use crate::egress::{EgressError, HostVerdict, Target};
use crate::manifest::{Auth, HttpDefinition, OauthGrant, Placeholder, RequestTemplate, Template};
use crate::model::JsonObject;
use crate::model::effects::Approval;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::secret::SecretName;
use crate::spec::ToolSpec;
use crate::template::Values;
use crate::tool::Look;

/// How much of a request a person is shown.
const MAX_SHOWN: usize = 4000;

/// The judgement of a call before anything is sent. What it would send is put into words only for a person to read.
pub(super) fn look(tool: &HttpTool) -> Look {
    let (definition, spec) = (Arc::clone(&tool.definition), Arc::clone(&tool.spec));
    let (asked, settings) = (Arc::clone(&definition), Arc::clone(&tool.settings));
    Look::later(move |args, _| approval(&asked, &settings, args))
        .with_refusal(refusal(tool))
        .with_effect(move |args| effect(&definition, &spec, args))
}

/// Whether a person has to agree, until a grant covers the call: as the file says, else if a method writes and no tag says so. (Rules
/// may have a person asked all the same.)
fn approval(definition: &HttpDefinition, settings: &HttpSettings, args: &JsonObject) -> Approval {
    let values = Values {
        arguments: args.clone(),
        ..Values::default()
    };
    let why = match definition.requires_approval.of_call(&values) {
        Required::No => None,
        Required::Yes(why) => Some(why),
        Required::Unsaid => undeclared(definition),
    };
    let Some(mut reason) = why else {
        return Approval::allow();
    };
    let missing = missing_secrets(definition, settings);
    if !missing.is_empty() {
        reason.push_str(&format!(
            "; even if approved it cannot run yet: there is no secret `{}`",
            missing.join("`, `")
        ));
    }
    Approval::ask(reason)
}

/// Why a tool asks whose requests change something and whose tags do not say so.
fn undeclared(definition: &HttpDefinition) -> Option<String> {
    let method = definition.undeclared_method()?;
    Some(match definition.declared_effects().is_unknown() {
        true => format!("it sends `{method}`, which changes something, and it has no tag `write`"),
        false => {
            format!("it sends `{method}`, which changes something, although it is tagged `read`")
        }
    })
}

/// Secrets that the tool needs and no one has set, by name; no one should decide about a call that cannot be made.
pub(super) fn missing_secrets<'d>(
    definition: &'d HttpDefinition,
    settings: &HttpSettings,
) -> Vec<&'d str> {
    let is_missing = |name: &SecretName| match &settings.secrets {
        Some(secrets) => !secrets.contains(name).unwrap_or(true),
        None => true,
    };
    let names = definition.secrets().into_iter();
    names
        .filter(|name| is_missing(name))
        .map(SecretName::as_str)
        .collect()
}

/// When the tool has a person asked, in words.
pub(super) fn asks(definition: &HttpDefinition) -> Option<String> {
    match &definition.requires_approval {
        RequiresApproval::Unsaid => {
            undeclared(definition).map(|why| format!("until granted: {why}"))
        }
        said => said.in_words(),
    }
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
            HostVerdict::Listed => None,
            HostVerdict::Refused(refusal) => {
                let entry = refusal.entry.clone();
                let error = ToolError::from(EgressError::Refused(refusal));
                // A question to a person names the address and what it is.
                Some(match entry {
                    Some(entry) => error
                        .with_detail("host", entry.host)
                        .with_detail("hostIs", entry.what),
                    None => error,
                })
            }
            HostVerdict::Unlisted => Some(unlisted(tool, target)),
        })
}

fn unlisted(tool: &HttpTool, target: &Target) -> ToolError {
    let entry = target.entry();
    // The environment has the whole list, so that what is there already is not lost.
    let allowed = tool.settings.egress.allowed_hosts().entries();
    let hosts: Vec<String> = allowed.chain([entry.clone()]).collect();
    let message = format!(
        "`{}` asks `{entry}`, which the setting `allowedHosts` does not name; `toolcrib config set --add allowedHosts {entry}` \
         adds it, or `TOOLCRIB_ALLOWED_HOSTS={}`",
        tool.spec.name,
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
    // A literal in a file may still be a secret.
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
