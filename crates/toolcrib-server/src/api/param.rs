//! Parameters that many routes have, documented once.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::route::{ParamDoc, ParamIn, SchemaFn};

/// The schema of a type, for [`SchemaFn`]: `schema::<Client>`.
pub fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn page_size_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "minimum": 1, "maximum": 500, "default": 50})
}

fn flag_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "boolean", "default": false})
}

fn text_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string"})
}

fn list_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "description": "separated by commas"})
}

/// A parameter of the query, which may be left out.
pub fn query(name: &'static str, about: &'static str, schema: SchemaFn) -> ParamDoc {
    ParamDoc {
        name,
        place: ParamIn::Query,
        required: false,
        about,
        schema,
    }
}

/// A parameter of the query that is text.
pub fn query_text(name: &'static str, about: &'static str) -> ParamDoc {
    query(name, about, text_schema)
}

/// A parameter of the query that is a list, separated by commas.
pub fn query_list(name: &'static str, about: &'static str) -> ParamDoc {
    query(name, about, list_schema)
}

/// A parameter of the query that is `true` or `false`.
pub fn query_flag(name: &'static str, about: &'static str) -> ParamDoc {
    query(name, about, flag_schema)
}

/// A value of the path.
pub fn path(name: &'static str, about: &'static str) -> ParamDoc {
    path_of(name, about, text_schema)
}

/// A value of the path that is one of a few.
pub fn path_of(name: &'static str, about: &'static str, schema: SchemaFn) -> ParamDoc {
    ParamDoc {
        name,
        place: ParamIn::Path,
        required: true,
        about,
        schema,
    }
}

/// A header that the route looks at.
pub fn header(name: &'static str, about: &'static str) -> ParamDoc {
    ParamDoc {
        name,
        place: ParamIn::Header,
        required: false,
        about,
        schema: text_schema,
    }
}

/// What every list takes: `pageSize`, or S4's `recommendedPageSize`, and `pageToken`.
pub fn pages() -> [ParamDoc; 3] {
    [
        query(
            "pageSize",
            "How many items a page has at most.",
            page_size_schema,
        ),
        query(
            "recommendedPageSize",
            "Used instead of `pageSize` where that is left out.",
            page_size_schema,
        ),
        query_text(
            "pageToken",
            "The `nextPageToken` of the page before; without it, or when it is empty, the first page.",
        ),
    ]
}

/// `includeDisabled`.
pub fn include_disabled() -> ParamDoc {
    query_flag(
        "includeDisabled",
        "Whether to list also what is switched off or cannot be used now.",
    )
}

/// The meaning of path values, where a route does not describe them.
pub(crate) fn of_path(name: &'static str) -> Option<ParamDoc> {
    let about = match name {
        "bundleID" => "The bundle: its id (UUIDv7) or its slug.",
        "toolSlug" => "The tool's slug.",
        "v" => "The tool's version.",
        "name" => "The name.",
        "id" => "The id.",
        "provider" => "Whose form: `openai`, `anthropic`, `gemini`, `mcp`.",
        _ => return None,
    };
    Some(path(name, about))
}
