//! One route as an operation of OpenAPI.

use serde_json::{Map, Value, json};

use super::shapes::Shapes;
use super::{error_reference, path_names};
use crate::api::{ParamDoc, ParamIn, Payload, Route, Who, param};

pub(super) fn describe(route: &Route, shapes: &mut Shapes) -> Value {
    let doc = &route.doc;
    let mut operation = Map::new();
    let mut say = |name: &str, value: Value| operation.insert(name.to_owned(), value);
    say("operationId", doc.id.into());
    say("tags", json!([doc.topic]));
    say("summary", doc.summary.into());
    say("description", description(route).into());
    say("x-who", who_word(route.who).into());
    if route.who == Who::Anybody {
        say("security", json!([]));
    }
    let params: Vec<Value> = params(route)
        .iter()
        .map(|param| parameter(param, shapes))
        .collect();
    if !params.is_empty() {
        say("parameters", params.into());
    }
    if let Some(body) = request_body(route, shapes) {
        say("requestBody", body);
    }
    say("responses", responses(route, shapes));
    operation.into()
}

/// What else to know about a route, and which token it needs.
fn description(route: &Route) -> String {
    let token = match route.who {
        Who::Anybody => "Needs no token.",
        Who::Caller => "Takes the token of the operator or of a client.",
        Who::Operator => "Takes the token of the operator only.",
    };
    match route.doc.description {
        "" => token.to_owned(),
        about => format!("{about}\n\n{token}"),
    }
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

fn parameter(param: &ParamDoc, shapes: &mut Shapes) -> Value {
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
        "schema": shapes.answered(param.schema),
    })
}

fn request_body(route: &Route, shapes: &mut Shapes) -> Option<Value> {
    let (content, is_required) = match route.payload {
        Payload::None => return None,
        Payload::Json => ("application/json", true),
        Payload::OptionalJson => ("application/json", false),
        Payload::Zip(_) => ("application/zip", true),
        Payload::Form(_) => ("application/x-www-form-urlencoded", true),
    };
    let (about, media) = match (&route.doc.body, route.payload) {
        (Some(body), _) => (
            body.about,
            json!({"schema": shapes.sent(body.schema), "example": (body.example)()}),
        ),
        (None, Payload::Zip(_)) => (
            "A ZIP archive.",
            json!({"schema": {"type": "string", "format": "binary"}}),
        ),
        (None, Payload::Form(_)) => (
            "The form of the page.",
            json!({"schema": {"type": "object", "required": ["decision"], "properties": {
                "decision": {"type": "string", "enum": ["approve", "deny"]}, "reason": {"type": "string"}}}}),
        ),
        (None, _) => ("JSON.", json!({"schema": {}})),
    };
    Some(json!({"description": about, "required": is_required, "content": {content: media}}))
}

/// The row's answers, those of one status together, and what the kernel refuses by itself.
fn responses(route: &Route, shapes: &mut Shapes) -> Value {
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
            (Some(schema), _) => shapes.answered(schema),
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
