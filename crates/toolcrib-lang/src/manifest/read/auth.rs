//! `auth`: how a request says who it is from. Its texts are made of secrets and literals, never of arguments.

use http::HeaderName;

use super::Reader;
use super::names::Names;
use crate::definition::At;
use crate::definition::problem::SpannedProblem;
use crate::manifest::{Auth, OauthGrant, Placeholder, Template};
use crate::target::Target;

/// The fields that each type has.
const FIELDS: &[(&str, &[&str])] = &[
    ("bearer", &["token"]),
    ("basic", &["username", "password"]),
    (
        "hmac",
        &[
            "key",
            "keyId",
            "keyIdHeader",
            "signatureHeader",
            "timestampHeader",
            "algorithm",
        ],
    ),
    (
        "oauth2",
        &[
            "grant",
            "tokenUrl",
            "clientId",
            "clientSecret",
            "refreshToken",
            "scope",
        ],
    ),
];

impl Reader<'_, '_> {
    /// Reads an `auth`.
    pub(super) fn auth(&mut self, at: At<'_, '_>) -> Option<Auth> {
        at.node.map()?;
        let Some(kind) = at.choice("type") else {
            if at.get("type").is_none() {
                let message = "`auth` does not say its `type`";
                self.found.push(
                    SpannedProblem::error("missing-field", at.span(), message).help(
                        "write `\"type\": \"bearer\"`, `\"basic\"`, `\"hmac\"` or `\"oauth2\"`",
                    ),
                );
            }
            return None;
        };
        self.fields_of_others(at, kind);
        match kind {
            "bearer" => Some(Auth::Bearer {
                token: self.credential(at, kind, "token")?,
            }),
            "basic" => {
                let username = self.required(at, kind, "username");
                // An API key that is sent as the user's name has no password.
                let password = match at.get("password").and_then(|text| text.text()) {
                    Some("") => Some(Template::default()),
                    _ => self.credential(at, kind, "password"),
                };
                Some(Auth::Basic {
                    username: username?,
                    password: password?,
                })
            }
            "hmac" => self.hmac(at),
            _ => self.oauth2(at),
        }
    }

    /// Fields that belong to another type: each would be without effect.
    fn fields_of_others(&mut self, at: At<'_, '_>, kind: &str) {
        for (other, fields) in FIELDS.iter().filter(|(other, _)| *other != kind) {
            for field in fields.iter().filter(|field| at.get(field).is_some()) {
                let message = format!("`{field}` is a field of `{other}`, not of `{kind}`");
                let span = at.key_span(field);
                self.found.push(
                    SpannedProblem::error("without-effect", span, message)
                        .help(format!("remove it, or write `\"type\": \"{other}\"`")),
                );
            }
        }
    }

    fn required(&mut self, at: At<'_, '_>, kind: &str, field: &str) -> Option<Template> {
        let given = at
            .get(field)
            .filter(|text| text.text().is_none_or(|text| !text.is_empty()));
        match given {
            Some(text) => self.template(text, Names::Secrets),
            None => {
                let message = format!("`auth` of type `{kind}` needs a `{field}`");
                let name = field.chars().fold(String::new(), |mut name, c| {
                    if c.is_ascii_uppercase() {
                        name.push('_');
                    }
                    name.push(c.to_ascii_uppercase());
                    name
                });
                self.found.push(SpannedProblem::error("missing-field", at.span(), message).help(format!(
                    "write `\"{field}\": \"${{{name}}}\"`, and `toolcrib secret set {name}` keeps its value"
                )));
                None
            }
        }
    }

    /// A text that no one else must know.
    fn credential(&mut self, at: At<'_, '_>, kind: &str, field: &str) -> Option<Template> {
        let template = self.required(at, kind, field)?;
        self.not_in_the_file(at, field, &template);
        Some(template)
    }

    fn not_in_the_file(&mut self, at: At<'_, '_>, field: &str, template: &Template) {
        let has_secret = template
            .placeholders()
            .any(|one| matches!(one, Placeholder::Secret(_)));
        if !has_secret && let Some(text) = at.get(field) {
            self.credential_in_file(text.span(), field);
        }
    }

    fn header(&mut self, at: At<'_, '_>, field: &str, default: &'static str) -> Option<HeaderName> {
        match at
            .get(field)
            .and_then(|text| Some((text.text()?, text.span())))
        {
            Some((text, span)) => self.header_name(text, span),
            None => Some(HeaderName::from_static(default)),
        }
    }

    fn hmac(&mut self, at: At<'_, '_>) -> Option<Auth> {
        let key = self.credential(at, "hmac", "key");
        let id = at.get("keyId");
        let id = id.map(|text| self.template(text, Names::Secrets));
        let id_header = self.header(at, "keyIdHeader", "x-key-id");
        let signature_header = self.header(at, "signatureHeader", "x-signature");
        let timestamp_header = self.header(at, "timestampHeader", "x-timestamp");
        let (id_header, signature_header, timestamp_header) =
            (id_header?, signature_header?, timestamp_header?);
        if signature_header == timestamp_header
            || (id.is_some() && (id_header == signature_header || id_header == timestamp_header))
        {
            let message = "`auth` sends two things in one header";
            self.found.push(
                SpannedProblem::error("bad-header", at.span(), message).help(
                    "give `signatureHeader`, `timestampHeader` and `keyIdHeader` different names",
                ),
            );
            return None;
        }
        let key_id = match id {
            Some(id) => Some((id_header, id?)),
            None => {
                if at.get("keyIdHeader").is_some() {
                    let message = "`keyIdHeader` is without effect: there is no `keyId`";
                    self.found.push(
                        SpannedProblem::error(
                            "without-effect",
                            at.key_span("keyIdHeader"),
                            message,
                        )
                        .help("write a `keyId`, or remove it"),
                    );
                }
                None
            }
        };
        Some(Auth::Hmac {
            key: key?,
            key_id,
            signature_header,
            timestamp_header,
        })
    }

    fn oauth2(&mut self, at: At<'_, '_>) -> Option<Auth> {
        let client_id = self.required(at, "oauth2", "clientId");
        let client_secret = match at.get("clientSecret").is_some() {
            true => Some(self.credential(at, "oauth2", "clientSecret")),
            false => None,
        };
        let is_refresh = at.choice("grant") == Some("refresh_token");
        let refresh = at.get("refreshToken").is_some();
        let grant = match (is_refresh, refresh) {
            (true, _) => self
                .credential(at, "oauth2", "refreshToken")
                .map(OauthGrant::Refresh),
            (false, false) => Some(OauthGrant::ClientCredentials),
            (false, true) => {
                let message =
                    "`refreshToken` is without effect: the `grant` is `client_credentials`";
                self.found.push(
                    SpannedProblem::error("without-effect", at.key_span("refreshToken"), message)
                        .help("write `\"grant\": \"refresh_token\"`, or remove it"),
                );
                None
            }
        };
        if !is_refresh && client_secret.is_none() {
            let message = "`auth` with the grant `client_credentials` needs a `clientSecret`";
            self.found.push(SpannedProblem::error("missing-field", at.span(), message).help("write `\"clientSecret\": \"${CLIENT_SECRET}\"`, and `toolcrib secret set CLIENT_SECRET` keeps its value"));
        }
        let token = self.token_url(at);
        let scope = at.get("scope").and_then(|scope| {
            self.no_controls(scope, scope.text()?);
            self.no_placeholder(scope)
        });
        let client_secret = match client_secret {
            Some(secret) => Some(secret?),
            None => None,
        };
        let (token_url, token_target) = token?;
        Some(Auth::Oauth2 {
            grant: grant?,
            token_url,
            token_target,
            client_id: client_id?,
            client_secret,
            scope,
        })
    }

    fn token_url(&mut self, at: At<'_, '_>) -> Option<(url::Url, Target)> {
        let Some(text) = at.get("tokenUrl") else {
            let message = "`auth` of type `oauth2` needs a `tokenUrl`";
            self.found.push(SpannedProblem::error("missing-field", at.span(), message).help("write where tokens are got, as in `\"tokenUrl\": \"https://auth.example.com/oauth/token\"`"));
            return None;
        };
        let url = self.no_placeholder(text)?;
        match Target::parse(&url) {
            Ok((url, target)) => {
                self.secrets_in_the_open(text, &target, "sent to the token server");
                Some((url, target))
            }
            Err(why) => {
                let message = format!("`tokenUrl` cannot be used: {why}");
                self.found.push(
                    SpannedProblem::error("url-host", text.span(), message)
                        .help("write it as in `https://auth.example.com/oauth/token`"),
                );
                None
            }
        }
    }

    /// A text in which nothing is filled in.
    fn no_placeholder(&mut self, at: At<'_, '_>) -> Option<String> {
        let text = at.text()?;
        if let Some(start) = text.find("${") {
            let message = "no placeholder is filled in here";
            self.error(
                "bad-placeholder",
                at,
                &(start..start + 2),
                message,
                "write the text out",
            );
            return None;
        }
        Some(text.to_owned())
    }
}
