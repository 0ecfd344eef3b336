//! The description for people: one page, made on the server, without scripts and without anything from elsewhere.

use std::fmt::Write as _;

use serde_json::Value;

use super::operation::{of_kernel, who_word};
use super::schema_words::{fields, kind, name_of};
use super::{described, document, topics};
use crate::api::{Route, Who};
use crate::routes::Routes;

const STYLE: &str = include_str!("page.css");

/// The description for people: one page without scripts, whose example asks this server.
pub fn page(routes: &Routes, server: &str) -> String {
    let document = document(routes);
    let mut html = String::with_capacity(256 * 1024);
    head(&mut html, routes, server);
    for topic in topics(routes) {
        put(
            &mut html,
            &format!(
                "<section id=\"{}\"><h2>{}</h2>\n",
                escape(topic),
                escape(&title(topic))
            ),
        );
        for route in described(routes).filter(|route| route.doc.topic == topic) {
            operation(&mut html, route, &document);
        }
        put(&mut html, "</section>\n");
    }
    schemas(&mut html, &document);
    put(&mut html, "</main></div></body></html>\n");
    html
}

fn put(html: &mut String, text: &str) {
    html.push_str(text);
}

fn head(html: &mut String, routes: &Routes, server: &str) {
    put(
        html,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\"><title>Toolcrib: the API</title><style>",
    );
    put(html, STYLE);
    put(
        html,
        "</style></head><body><a class=\"skip\" href=\"#content\">To the content</a><div class=\"frame\"><nav aria-label=\"Topics\"><p class=\"brand\">Toolcrib</p><ul>",
    );
    for topic in topics(routes) {
        let count = described(routes)
            .filter(|route| route.doc.topic == topic)
            .count();
        let (id, title) = (escape(topic), escape(&title(topic)));
        put(
            html,
            &format!("<li><a href=\"#{id}\">{title} <span>{count}</span></a></li>"),
        );
    }
    put(
        html,
        "<li><a href=\"#schemas\">Schemas</a></li></ul></nav><main id=\"content\">",
    );
    let version = env!("CARGO_PKG_VERSION");
    put(
        html,
        &format!("<header><h1>The API of Toolcrib <small>{version}</small></h1>"),
    );
    put(
        html,
        "<p>Every request carries <code>Authorization: Bearer TOKEN</code>, but for those of routes that are for anybody. The operator's token is in the file <code>token</code> of Toolcrib's home directory; <code>toolcrib clients add NAME</code> makes one that may list, search and call tools. For programs, the description in OpenAPI&nbsp;3.1: <code>GET /api/openapi.json</code>.</p>",
    );
    put(
        html,
        &format!(
            "<pre>curl -H \"Authorization: Bearer $TOKEN\" {}/tools</pre>",
            escape(server)
        ),
    );
    put(
        html,
        "<p>Bodies are JSON in UTF-8; a key that appears twice in one object and a parameter that a route does not list are refused. An error is <code>{\"ok\": false, \"error\": {\"code\", \"message\", \"details\"?}}</code>, and its status belongs to its code.</p><p>Every route may also answer 400 (not a request it takes), 401 (no good token), 403 (not for this token, <code>Host</code> or <code>Origin</code>) and 500 (a bug, or files that cannot be read or written); one that takes a body also 408 (too slow), 413 (too long) and 415 (of another type).</p></header>\n",
    );
}

fn operation(html: &mut String, route: &Route, document: &Value) {
    let method = route.method.as_str();
    let operation = &document["paths"][route.path][method.to_ascii_lowercase()];
    let (id, path) = (escape(route.doc.id), breakable(route.path));
    let who = who_word(route.who);
    let who_class = match route.who {
        Who::Anybody | Who::Caller => "who",
        Who::Operator => "who operator",
    };
    let _ = write!(
        html,
        "<article id=\"op-{id}\"><h3><a href=\"#op-{id}\"><b class=\"{}\">{method}</b> <code>{path}</code></a><span class=\"{who_class}\">{who}</span></h3><p class=\"summary\">{}</p>",
        method.to_ascii_lowercase(),
        words(route.doc.summary),
    );
    for paragraph in route
        .doc
        .description
        .split("\n\n")
        .filter(|text| !text.is_empty())
    {
        put(html, &format!("<p>{}</p>", words(paragraph)));
    }
    parameters(html, operation, document);
    body(html, operation, document);
    answers(html, operation, route, document);
    put(html, "</article>\n");
}

fn parameters(html: &mut String, operation: &Value, document: &Value) {
    let Some(params) = operation["parameters"].as_array() else {
        return;
    };
    put(html, "<table><caption>Parameters</caption><tbody>");
    for param in params {
        let text = |name: &str| param[name].as_str().unwrap_or_default();
        let required = match param["required"] == true && param["in"] != "path" {
            true => ", required",
            false => "",
        };
        let mut kind = kind(&param["schema"], document);
        // That a flag is off is what everybody expects.
        match &param["schema"]["default"] {
            Value::Null | Value::Bool(false) => {}
            usual => kind.push_str(&format!(", {usual} by default")),
        }
        let _ = write!(
            html,
            "<tr><th scope=\"row\"><code>{}</code><small>{}{required} · {}</small></th><td>{}</td></tr>",
            escape(text("name")),
            escape(text("in")),
            escape(&kind),
            words(text("description")),
        );
    }
    put(html, "</tbody></table>");
}

fn body(html: &mut String, operation: &Value, document: &Value) {
    let body = &operation["requestBody"];
    let Some((content, media)) = body["content"]
        .as_object()
        .and_then(|all| all.iter().next())
    else {
        return;
    };
    let optional = match body["required"] == true {
        true => "",
        false => ", may be left out",
    };
    let _ = write!(
        html,
        "<h4>Body <small>{}{optional}</small></h4><p>{} {}</p>",
        escape(content),
        words(body["description"].as_str().unwrap_or_default()),
        reference(&media["schema"]),
    );
    field_table(html, &media["schema"], document);
    if !media["example"].is_null() {
        let example = serde_json::to_string_pretty(&media["example"]).unwrap_or_default();
        put(html, &format!("<pre>{}</pre>", escape(&example)));
    }
}

/// Answers when all is well in full; refusals, which all look alike, in one line each. Those of the kernel are said once, above.
fn answers(html: &mut String, operation: &Value, route: &Route, document: &Value) {
    let Some(responses) = operation["responses"].as_object() else {
        return;
    };
    put(html, "<h4>Answers</h4><dl>");
    let of_kernel = of_kernel(route);
    for (status, response) in responses {
        let is_of_kernel = |(refused, why): &(u16, &str)| {
            *status == refused.to_string() && response["description"] == *why
        };
        if of_kernel.iter().any(is_of_kernel) {
            continue;
        }
        let is_error = status.as_str() >= "400";
        let mut about = words(response["description"].as_str().unwrap_or_default());
        for (content, media) in response["content"].as_object().into_iter().flatten() {
            if is_error {
                continue;
            }
            let kind = match name_of(&media["schema"]) {
                Some(_) => reference(&media["schema"]),
                None if content == "application/json" => escape(&kind(&media["schema"], document)),
                None => String::new(),
            };
            let _ = write!(about, " <small>{} {kind}</small>", escape(content));
        }
        let class = match is_error {
            true => " class=\"error\"",
            false => "",
        };
        let _ = write!(html, "<div{class}><dt>{status}</dt><dd>{about}</dd></div>");
    }
    put(html, "</dl>");
}

fn schemas(html: &mut String, document: &Value) {
    put(html, "<section id=\"schemas\"><h2>Schemas</h2>\n");
    for (name, schema) in document["components"]["schemas"]
        .as_object()
        .into_iter()
        .flatten()
    {
        let name = escape(name);
        let about = schema["description"].as_str().unwrap_or_default();
        let _ = write!(
            html,
            "<article id=\"schema-{name}\"><h3><a href=\"#schema-{name}\"><code>{name}</code></a></h3><p class=\"summary\">{}</p>",
            words(about)
        );
        field_table(html, schema, document);
        let whole = serde_json::to_string_pretty(schema).unwrap_or_default();
        let _ = writeln!(
            html,
            "<details><summary>JSON Schema</summary><pre>{}</pre></details></article>",
            escape(&whole)
        );
    }
    put(html, "</section>\n");
}

fn field_table(html: &mut String, schema: &Value, document: &Value) {
    let fields = fields(schema, document);
    if fields.is_empty() {
        return;
    }
    put(html, "<table><caption>Fields</caption><tbody>");
    for field in fields {
        let required = match field.is_required {
            true => "required · ",
            false => "",
        };
        let kind = match field.kind.len() > 120 {
            true => "one of several words".to_owned(),
            false => field.kind,
        };
        let _ = write!(
            html,
            "<tr><th scope=\"row\"><code>{}</code><small>{required}{}</small></th><td>{}</td></tr>",
            breakable(&field.name),
            escape(&kind),
            words(&field.about),
        );
    }
    put(html, "</tbody></table>");
}

/// A link to a schema that has a name.
fn reference(schema: &Value) -> String {
    match name_of(schema) {
        Some(name) => {
            let name = escape(name);
            format!("<a href=\"#schema-{name}\"><code>{name}</code></a>")
        }
        None => String::new(),
    }
}

/// The name of a topic as a heading.
fn title(topic: &str) -> String {
    let mut chars = topic.chars();
    let first = chars.next().map(|char| char.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

/// A name that may go on in the next line behind a slash.
fn breakable(text: &str) -> String {
    escape(text).replace('/', "/<wbr>")
}

/// Plain text, with `code` between backticks.
fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (place, part) in text.split('`').enumerate() {
        match place % 2 {
            0 => out.push_str(&escape(part)),
            _ => {
                let _ = write!(out, "<code>{}</code>", escape(part));
            }
        }
    }
    out
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            char => out.push(char),
        }
    }
    out
}
