//! One route as an operation of OpenAPI.

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::{ERROR, path_names};
use crate::api::{ParamDoc, ParamIn, Payload, Route, Who, param};

pub(super) fn describe(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let doc = &route.doc;
    let mut operation = Map::new();
    let mut say = |name: &str, value: Value| operation.insert(name.to_owned(), value);
    say("operationId", doc.id.into());
    say("tags", json!([doc.topic]));
    say("summary", doc.summary.into());
    if !doc.description.is_empty() {
        say("description", doc.description.into());
    }
    say("x-who", who_word(route.who).into());
    if route.who == Who::Anybody {
        say("security", json!([]));
    }
    let params: Vec<Value> = params(route)
        .iter()
        .map(|param| parameter(param, generator))
        .collect();
    if !params.is_empty() {
        say("parameters", params.into());
    }
    if let Some(body) = request_body(route, generator) {
        say("requestBody", body);
    }
    say("responses", responses(route, generator));
    operation.into()
}

/// The principals that may use a route, in one word.
pub(super) fn who_word(who: Who) -> &'static str {
    match who {
        Who::Anybody => "anybody",
        Who::Caller => "caller",
        Who::Operator => "operator",
    }
}

/// Every parameter: values of the path in its order, whether the row says something about them or not, and then the others.
pub(super) fn params(route: &Route) -> Vec<ParamDoc> {
    let copy = |param: &ParamDoc| ParamDoc {
        name: param.name,
        place: param.place,
        required: param.required,
        about: param.about,
        schema: param.schema,
    };
    let own = |name| {
        let mut params = route.doc.params.iter();
        params.find(|param| param.place == ParamIn::Path && param.name == name)
    };
    let of_path = path_names(route).map(|name| match own(name) {
        Some(param) => copy(param),
        None => param::of_path(name).unwrap_or_else(|| param::path(name, "")),
    });
    let others = route
        .doc
        .params
        .iter()
        .filter(|param| param.place != ParamIn::Path);
    of_path.chain(others.map(copy)).collect()
}

fn parameter(param: &ParamDoc, generator: &mut SchemaGenerator) -> Value {
    let place = match param.place {
        ParamIn::Path => "path",
        ParamIn::Query => "query",
        ParamIn::Header => "header",
    };
    json!({
        "name": param.name,
        "in": place,
        "required": param.required || param.place == ParamIn::Path,
        "description": param.about,
        "schema": (param.schema)(generator),
    })
}

fn request_body(route: &Route, generator: &mut SchemaGenerator) -> Option<Value> {
    let (content, is_required) = match route.payload {
        Payload::None => return None,
        Payload::Json => ("application/json", true),
        Payload::OptionalJson => ("application/json", false),
        Payload::Zip(_) => ("application/zip", true),
    };
    let (about, media) = match (&route.doc.body, route.payload) {
        (Some(body), _) => (
            body.about,
            json!({"schema": (body.schema)(generator), "example": (body.example)()}),
        ),
        (None, Payload::Zip(_)) => (
            "A ZIP archive.",
            json!({"schema": {"type": "string", "format": "binary"}}),
        ),
        (None, _) => ("JSON.", json!({"schema": {}})),
    };
    Some(json!({"description": about, "required": is_required, "content": {content: media}}))
}

/// The row's answers, those of one status together, and what the kernel refuses by itself.
fn responses(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut responses: std::collections::BTreeMap<u16, (Vec<&str>, Map<String, Value>)> =
        std::collections::BTreeMap::new();
    for answer in &route.doc.answers {
        let (about, content) = responses.entry(answer.status).or_default();
        if !about.contains(&answer.about) {
            about.push(answer.about);
        }
        if answer.content.is_empty() {
            continue;
        }
        let schema = match (answer.schema, answer.content) {
            (Some(schema), _) => json!(schema(generator)),
            (None, "application/json") if answer.status >= 400 => error_reference(),
            (None, "application/json") => json!({}),
            (None, _) => json!({"type": "string"}),
        };
        content.insert(answer.content.to_owned(), json!({"schema": schema}));
    }
    for (status, why) in of_kernel(route) {
        let (about, content) = responses.entry(status).or_default();
        if about.is_empty() {
            about.push(why);
            let media = json!({"schema": error_reference()});
            content.insert("application/json".to_owned(), media);
        }
    }
    let responses = responses.into_iter().map(|(status, (about, content))| {
        let mut response = json!({"description": about.join(" ")});
        if !content.is_empty() {
            response["content"] = content.into();
        }
        (status.to_string(), response)
    });
    responses.collect::<Map<_, _>>().into()
}

fn error_reference() -> Value {
    json!({"$ref": format!("#/components/schemas/{ERROR}")})
}

/// What the kernel refuses before a handler sees it.
pub(super) fn of_kernel(route: &Route) -> Vec<(u16, &'static str)> {
    let mut refusals = vec![
        (400, "The request is not one that this route takes."),
        (
            403,
            "The `Host`, the `Origin` or the token does not allow this.",
        ),
        (
            500,
            "A bug, or files of the server that cannot be read or written.",
        ),
    ];
    if route.who != Who::Anybody {
        refusals.push((401, "There is no token, or not one of this server."));
    }
    if route.payload != Payload::None {
        refusals.push((408, "The body did not arrive in time."));
        refusals.push((413, "The body is too long."));
        refusals.push((415, "The body is of another type."));
    }
    refusals
}
