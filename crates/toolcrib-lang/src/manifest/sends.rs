//! The requests of an HTTP tool and the recipients of its secrets, for the user who decides on trust.

use super::{
    Auth, BodyTemplate, HttpDefinition, JsonPart, OauthGrant, Placeholder, RequestTemplate,
    Template,
};
use crate::target::Target;

/// The requests of a tool in the order of its file, each text with what it is. Placeholders are shown as in the file: values are not
/// known, and secrets are never shown.
#[doc(hidden)]
pub fn requests(definition: &HttpDefinition) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let is_alone = definition.requests.len() == 1;
    for (index, request) in definition.requests.iter().enumerate() {
        let what = match is_alone {
            true => "sends".to_owned(),
            false => format!("request {}", index + 1),
        };
        lines.push((what, format!("{} {}", request.method, url(request))));
        for (name, value) in &request.headers {
            lines.push(("header".to_owned(), format!("{name}: {}", words(value))));
        }
        if let Some(body) = &request.body {
            lines.push(("body".to_owned(), body_text(body)));
        }
        if let Some(auth) = &request.auth {
            lines.push(("auth".to_owned(), auth_text(auth)));
        }
    }
    for (target, secrets) in told(definition) {
        let host = target.entry();
        let line = match secrets.is_empty() {
            true => format!("none for {host}"),
            false => format!("{} for {host}", secrets.join(", ")),
        };
        lines.push(("secrets".to_owned(), line));
    }
    lines
}

fn url(request: &RequestTemplate) -> String {
    let query = request
        .url
        .query
        .iter()
        .map(|query| format!("?{}", words(query)));
    let query: String = query.collect();
    format!("{}{}{query}", request.url.origin, words(&request.url.path))
}

fn words(template: &Template) -> String {
    template.shown(placeholder)
}

fn placeholder(placeholder: &Placeholder) -> String {
    format!("${{{}}}", placeholder.name())
}

fn body_text(body: &BodyTemplate) -> String {
    match body {
        BodyTemplate::Form(template) | BodyTemplate::Text(template) => words(template),
        BodyTemplate::Json(parts) => parts
            .iter()
            .map(|part| match part {
                JsonPart::Literal(text) => text.clone(),
                JsonPart::InText(value) | JsonPart::Whole(value) => placeholder(value),
            })
            .collect(),
    }
}

fn auth_text(auth: &Auth) -> String {
    let with = |template: &Template| match template.placeholders().next() {
        Some(_) => words(template),
        // A literal in the file need not appear on a screen, too.
        None => "what the file says".to_owned(),
    };
    match auth {
        Auth::Bearer { token } => format!("bearer, with {}", with(token)),
        Auth::Basic { username, password } => {
            format!("basic, as {} with {}", words(username), with(password))
        }
        Auth::Hmac {
            key,
            signature_header,
            ..
        } => format!("hmac in {signature_header}, with {}", with(key)),
        Auth::Oauth2 {
            grant,
            token_url,
            client_id,
            ..
        } => {
            let grant = match grant {
                OauthGrant::ClientCredentials => "client_credentials",
                OauthGrant::Refresh(_) => "refresh_token",
            };
            format!("oauth2 ({grant}), as {} at {token_url}", words(client_id))
        }
    }
}

/// The secrets that each server receives; a token server's secrets are not sent to the others.
fn told(definition: &HttpDefinition) -> Vec<(&Target, Vec<String>)> {
    let mut told: Vec<(&Target, Vec<String>)> = Vec::new();
    let mut tell = |target, placeholders: Vec<&Placeholder>| {
        let index = match told.iter().position(|(known, _)| *known == target) {
            Some(index) => index,
            None => {
                told.push((target, Vec::new()));
                told.len() - 1
            }
        };
        let names = &mut told[index].1;
        for placeholder in placeholders {
            if let Placeholder::Secret(name) = placeholder
                && !names.iter().any(|known| known == name.as_str())
            {
                names.push(name.as_str().to_owned());
            }
        }
    };
    for request in &definition.requests {
        match &request.auth {
            Some(auth @ Auth::Oauth2 { token_target, .. }) => {
                // The same secret may stand in both: a secret in a URL, a header or a body is sent there, even if another server receives it, too.
                tell(&request.url.target, request.placeholders_without_auth());
                let texts = auth.texts().into_iter();
                tell(
                    token_target,
                    texts.flat_map(Template::placeholders).collect(),
                );
            }
            Some(_) | None => tell(&request.url.target, request.placeholders()),
        }
    }
    told
}
