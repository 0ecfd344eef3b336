//! Finds the authorization server of a server: [`discover`].
//!
//! A server says who (RFC 9728), and those say how (RFC 8414, or OpenID Connect's document). The metadata must match: the resource is this
//! server, and the issuer is the one that was asked. A server that says nothing is asked as in the version of 2025-03-26: it lets people in
//! itself, at endpoints with the usual names where it does not say others.

use serde_json::Value;
use url::Url;

use super::auth_client::{Answer, AuthClient};
use super::challenge::{self, Challenge};
use super::error::AuthError;
use crate::model::text;

/// The metadata for a login at a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogInWays {
    /// What tokens are for (RFC 8707).
    pub(super) resource: String,
    /// What the server says one can be permitted.
    pub(super) scopes: Vec<String>,
    /// The authorization server.
    pub(super) issuer: Issuer,
}

/// The authorization server and its endpoints.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Issuer {
    pub(super) name: String,
    pub(super) authorization: String,
    pub(super) token: String,
    pub(super) registration: Option<String>,
    pub(super) scopes: Vec<String>,
    /// How clients may show who they are; none: nothing was said.
    pub(super) methods: Option<Vec<String>>,
    /// Whether the address of a document can be a client's id.
    pub(super) takes_documents: bool,
    /// Whether answers say who gives them (RFC 9207).
    pub(super) names_itself: bool,
}

/// What a server says about itself.
struct Resource {
    name: String,
    issuers: Vec<String>,
    scopes: Vec<String>,
}

/// Finds out who lets people in. Of several the one that did so before is preferred.
pub(super) async fn discover(
    reach: &AuthClient,
    server: &Url,
    challenge: &Challenge,
    before: Option<&str>,
) -> Result<LogInWays, AuthError> {
    let Some(resource) = resource(reach, server, challenge).await? else {
        return Ok(LogInWays {
            resource: canonical(server),
            scopes: Vec::new(),
            issuer: itself(reach, server).await?,
        });
    };
    let known = resource
        .issuers
        .iter()
        .find(|name| before == Some(name.as_str()));
    let Some(name) = known.or(resource.issuers.first()) else {
        return Err(AuthError::Failed(
            "the server does not say who lets people in (`authorization_servers`)".to_owned(),
        ));
    };
    let (url, _) = reach.check(name)?;
    let issuer = issuer(reach, &url, |said| is_same_issuer(said, name)).await?;
    let issuer = issuer.ok_or_else(|| {
        AuthError::Failed(format!(
            "`{}` does not say how to log in there",
            shown(name)
        ))
    })?;
    Ok(LogInWays {
        resource: resource.name,
        scopes: resource.scopes,
        issuer,
    })
}

/// What the server says about itself, if anything.
async fn resource(
    reach: &AuthClient,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<Resource>, AuthError> {
    let mut places: Vec<String> = challenge.resource_metadata.iter().cloned().collect();
    if places.is_empty() {
        const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
        let path = server.path().trim_end_matches('/');
        if !path.is_empty() {
            places.push(at(server, &format!("{WELL_KNOWN}{path}")));
        }
        places.push(at(server, WELL_KNOWN));
    }
    for place in &places {
        let Some(document) = document(reach.get(place).await?, place)? else {
            continue;
        };
        let name = document["resource"].as_str().unwrap_or_default().to_owned();
        if !is_resource_of(&name, server) {
            return Err(AuthError::Failed(format!(
                "the server says that it is `{}`, which it is not: a token for that could belong to another server",
                shown(&name)
            )));
        }
        return Ok(Some(Resource {
            name,
            issuers: texts(&document["authorization_servers"]).unwrap_or_default(),
            scopes: scope_list(&document["scopes_supported"]),
        }));
    }
    match &challenge.resource_metadata {
        Some(place) => Err(AuthError::Failed(format!(
            "there is nothing at `{}`, where the server says it names its authorization server",
            shown(place)
        ))),
        None => Ok(None),
    }
}

/// A server that lets people in itself.
async fn itself(reach: &AuthClient, server: &Url) -> Result<Issuer, AuthError> {
    let root =
        Url::parse(&at(server, "/")).map_err(|error| AuthError::Failed(error.to_string()))?;
    let is_ours = |said: &str| Url::parse(said).is_ok_and(|said| said.origin() == root.origin());
    if let Some(issuer) = issuer(reach, &root, is_ours).await? {
        return Ok(issuer);
    }
    Ok(Issuer {
        name: root.origin().ascii_serialization(),
        authorization: at(server, "/authorize"),
        token: at(server, "/token"),
        registration: Some(at(server, "/register")),
        ..Issuer::default()
    })
}

/// What an issuer says, at the first of the usual places that says anything.
async fn issuer(
    reach: &AuthClient,
    url: &Url,
    is_right: impl Fn(&str) -> bool,
) -> Result<Option<Issuer>, AuthError> {
    let path = url.path().trim_end_matches('/');
    let mut places = vec![
        at(
            url,
            &format!("/.well-known/oauth-authorization-server{path}"),
        ),
        at(url, &format!("/.well-known/openid-configuration{path}")),
    ];
    if !path.is_empty() {
        places.push(at(url, &format!("{path}/.well-known/openid-configuration")));
    }
    for place in &places {
        let Some(document) = document(reach.get(place).await?, place)? else {
            continue;
        };
        return read_issuer(reach, &document, is_right).map(Some);
    }
    Ok(None)
}

fn read_issuer(
    reach: &AuthClient,
    document: &Value,
    is_right: impl Fn(&str) -> bool,
) -> Result<Issuer, AuthError> {
    let name = document["issuer"].as_str().unwrap_or_default();
    if !is_right(name) {
        return Err(AuthError::Failed(format!(
            "the authorization server calls itself `{}`, which is not the one that the server names",
            shown(name)
        )));
    }
    let endpoint = |key: &str| match document[key].as_str() {
        Some(url) => reach.check(url).map(|(url, _)| Some(url.to_string())),
        None => Ok(None),
    };
    let needed = |key: &str| {
        endpoint(key)?
            .ok_or_else(|| AuthError::Failed(format!("`{}` does not say its `{key}`", shown(name))))
    };
    let challenges = texts(&document["code_challenge_methods_supported"]).unwrap_or_default();
    let grants = texts(&document["grant_types_supported"]);
    let is_for_machines =
        grants.is_some_and(|grants| !grants.iter().any(|grant| grant == "authorization_code"));
    if !is_for_machines && !challenges.iter().any(|method| method == "S256") {
        return Err(AuthError::Failed(format!(
            "`{}` does not say that it takes `S256` (PKCE), without which a lost code can be used by anyone who finds it",
            shown(name)
        )));
    }
    Ok(Issuer {
        name: name.to_owned(),
        authorization: match is_for_machines {
            true => endpoint("authorization_endpoint")?.unwrap_or_default(),
            false => needed("authorization_endpoint")?,
        },
        token: needed("token_endpoint")?,
        registration: endpoint("registration_endpoint")?,
        scopes: scope_list(&document["scopes_supported"]),
        methods: texts(&document["token_endpoint_auth_methods_supported"]),
        takes_documents: document["client_id_metadata_document_supported"] == true,
        names_itself: document["authorization_response_iss_parameter_supported"] == true,
    })
}

/// The document of an answer; none where there is nothing.
fn document(answer: Answer, place: &str) -> Result<Option<Value>, AuthError> {
    if answer.status.is_server_error() {
        return Err(AuthError::Failed(format!(
            "`{}` answered {}",
            shown(place),
            answer.status
        )));
    }
    if !answer.status.is_success() {
        return Ok(None);
    }
    Ok(answer.object())
}

/// Whether a name that a server gives itself is its own: its address, or one that is above it.
fn is_resource_of(name: &str, server: &Url) -> bool {
    let Ok(name) = Url::parse(name) else {
        return false;
    };
    if name.origin() != server.origin()
        || name.fragment().is_some()
        || name
            .query()
            .is_some_and(|query| Some(query) != server.query())
    {
        return false;
    }
    let above = name.path().trim_end_matches('/');
    match server.path().strip_prefix(above) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

/// Whether an issuer calls itself what it was called; the slash after a bare host says nothing.
fn is_same_issuer(said: &str, called: &str) -> bool {
    let bare = |name: &str| {
        let is_bare = Url::parse(name).is_ok_and(|url| url.path() == "/" && url.query().is_none());
        match is_bare {
            true => name.trim_end_matches('/').to_owned(),
            false => name.to_owned(),
        }
    };
    !said.is_empty() && bare(said) == bare(called)
}

/// The address of a server as a resource: without a fragment.
fn canonical(server: &Url) -> String {
    let mut url = server.clone();
    url.set_fragment(None);
    url.to_string()
}

/// Another path of the same origin.
fn at(url: &Url, path: &str) -> String {
    format!("{}{path}", url.origin().ascii_serialization())
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let all = value.as_array()?.iter().take(200);
    Some(
        all.filter_map(|text| text.as_str().map(str::to_owned))
            .collect(),
    )
}

fn scope_list(value: &Value) -> Vec<String> {
    let all = texts(value).unwrap_or_default();
    all.into_iter()
        .filter(|scope| challenge::is_scope(scope))
        .collect()
}

fn shown(text: &str) -> String {
    text::shorten(&text::visible(text), 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_what_it_is_called_or_below_it_and_nothing_else() {
        let server = Url::parse("https://a.test/mcp/v1").unwrap();
        for (name, is_its) in [
            ("https://a.test/mcp/v1", true),
            ("https://a.test/mcp", true),
            ("https://a.test", true),
            ("https://a.test/", true),
            ("https://a.test:443/mcp/v1", true),
            ("https://a.test/mc", false),
            ("https://a.test/mcp/v1/more", false),
            ("https://a.test/mcp/v1#x", false),
            ("https://a.test/mcp/v1?x", false),
            ("http://a.test/mcp/v1", false),
            ("https://b.test/mcp/v1", false),
            ("https://a.test.evil.test/", false),
            ("", false),
        ] {
            assert_eq!(is_resource_of(name, &server), is_its, "{name}");
        }
    }

    #[test]
    fn an_issuer_is_the_one_that_was_named_to_the_letter() {
        assert!(is_same_issuer("https://a.test", "https://a.test/"));
        assert!(is_same_issuer("https://a.test/x", "https://a.test/x"));
        for (said, called) in [
            ("", ""),
            ("https://a.test/x/", "https://a.test/x"),
            ("https://a.test/x", "https://a.test"),
            ("https://A.test", "https://a.test"),
            ("https://b.test", "https://a.test"),
        ] {
            assert!(!is_same_issuer(said, called), "{said} {called}");
        }
    }
}
