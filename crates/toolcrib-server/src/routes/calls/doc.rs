//! What the documentation says about calls and their outcomes.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use toolcrib::ErrorCode;
use toolcrib::wire::ResultShape;

use crate::api::{AnswerDoc, ParamDoc, Route, param};

/// What all routes that make calls say.
pub(crate) const MAKING: &str = "\
Answers 200 when the tool ran, also if it failed (`ok: false`); a call that is refused before it runs has the status of its code, with \
the same body. A call that needs a person's approval waits until it is answered or expires; after 45 s (the setting `approvals.respondAfterMs`, or \
`Prefer: wait=SECONDS`) it is answered with 202, with the id of the call and of the question, and goes on. A call with \
`cancelOnDisconnect` keeps its connection instead.\n\n\
With `Prefer: respond-async` the answer is 202 as soon as the call has begun and is on disk; `GET /api/calls/{id}` reports its status. \
Such a call has no connection to end with: `cancelOnDisconnect` is refused. With `Accept: \
text/event-stream`, which comes before `Prefer`, the answer is a stream of the call's events (`started`, `output`, `step`, `progress`, `approval`, `finished`, and \
`gap` where a slow reader lost some) that ends with an event `outcome`; a call that is refused at once is answered as without it, one \
that is refused later by its `outcome`. A stream that broke off is taken up again by `GET \
/api/calls/{id}/events` with `Last-Event-ID`.\n\n\
A call that has begun goes on when its connection goes, unless `cancelOnDisconnect` is set. Repeating a call with the same `callId` \
returns the kept outcome or joins the call that runs.\n\n\
Calls take turns: `server.maxCalls` run at once, one client has at most half of the places while others wait, and a call that waits too \
long, or is too many, is refused with 429.";

/// Adds what routes that make calls have in common.
pub(crate) fn making(route: Route) -> Route {
    let refusals = [
        (
            400,
            "The request or the arguments are wrong, with JSON pointers.",
        ),
        (
            403,
            "A rule or a person refuses the call, no one could be asked, or only the operator may make it.",
        ),
        (404, "There is no such tool."),
        (
            409,
            "The tool is switched off or cannot run here, or the call id stands for another call.",
        ),
        (
            429,
            "Too many calls at once or per minute; `Retry-After` says when to come back.",
        ),
        (
            500,
            "A file of Toolcrib's own could not be read or written, or there is a bug in Toolcrib.",
        ),
    ];
    let mut route = route
        .param(shape())
        .param(param::header(
            "Prefer",
            "`respond-async` answers as soon as the call has begun; `wait=SECONDS` says how long to wait for a person.",
        ))
        .param(param::header(
            "Accept",
            "`text/event-stream` answers with a stream of events.",
        ))
        .param(param::header(
            "Toolcrib-Caller",
            "`cli` says that the command line calls; for the operator.",
        ))
        .answers::<OutcomeDoc>(
            200,
            "The outcome, in the shape that was asked for; or the stream.",
        )
        .answers_with(
            200,
            "The events of the call, and its outcome as the last of them.",
            "text/event-stream",
        )
        .answers::<AcceptedDoc>(202, "The call has begun (`Prefer: respond-async`), or waits for a person (`status` is `waiting`).");
    for (status, about) in refusals {
        route
            .doc
            .answers
            .push(AnswerDoc::json::<RefusedDoc>(status, about));
    }
    route.refuses(503, "The server stops.")
}

/// `shape`.
pub(crate) fn shape() -> ParamDoc {
    fn schema(_: &mut SchemaGenerator) -> Schema {
        let shapes = ResultShape::ALL.map(ResultShape::as_str);
        json_schema!({"enum": shapes, "default": "tagged"})
    }
    param::query("shape", "How outcomes are written.", schema)
}

/// An outcome in any shape.
pub(crate) struct OutcomeDoc;

impl JsonSchema for OutcomeDoc {
    fn schema_name() -> Cow<'static, str> {
        "Outcome".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        let metadata = json_schema!({
            "type": "object",
            "properties": {
                "callId": {"type": "string"},
                "tool": {"type": "string"},
                "bundle": {"type": "string"},
                "version": {"type": "string"},
                "parameters": {"type": "object"},
                "startTime": {"type": "string", "format": "date-time"},
                "endTime": {"type": "string", "format": "date-time"},
                "queueTimeMs": {"type": "number"},
                "executionTimeMs": {"type": "number"},
                "durationMs": {"type": "number"},
                "approval": {"type": "object"},
                "truncated": {"type": "boolean"},
                "sandbox": {"type": "object"},
                "failure": {"type": "object"},
            },
            "required": ["callId", "tool", "parameters", "startTime", "endTime", "queueTimeMs", "executionTimeMs", "durationMs"],
        });
        json_schema!({
            "anyOf": [
                {
                    "title": "TaggedOutcome",
                    "type": "object",
                    "properties": {"ok": {"const": true}, "value": {}, "metadata": metadata},
                    "required": ["ok", "value", "metadata"],
                },
                {
                    "title": "FailedOutcome",
                    "type": "object",
                    "properties": {
                        "ok": {"const": false},
                        "error": {
                            "type": "object",
                            "properties": {
                                "code": {"enum": codes},
                                "message": {"type": "string"},
                                "details": {"type": "object"},
                            },
                            "required": ["code", "message"],
                        },
                        "metadata": metadata,
                    },
                    "required": ["ok", "error", "metadata"],
                },
                {
                    "title": "SimpleOutcome",
                    "type": "object",
                    "properties": {
                        "tool_call_id": {"type": "string"},
                        "output": {"type": "string"},
                        "error": {"type": "string"},
                        "success": {"type": "boolean"},
                    },
                    "required": ["tool_call_id", "output", "success"],
                },
                {
                    "title": "DetailedOutcome",
                    "type": "object",
                    "properties": {
                        "success": {"type": "boolean"},
                        "content": {"type": "string"},
                        "data": {"type": "object"},
                        "error": {"type": "string"},
                        "metadata": {
                            "type": "object",
                            "properties": {
                                "execution_time": {"type": "number"},
                                "start_time": {"type": "string", "format": "date-time"},
                                "end_time": {"type": "string", "format": "date-time"},
                                "tool_name": {"type": "string"},
                                "parameters": {"type": "object"},
                            },
                            "required": ["execution_time", "start_time", "end_time", "tool_name", "parameters"],
                        },
                    },
                    "required": ["success", "content", "metadata"],
                },
                {
                    "title": "McpOutcome",
                    "type": "object",
                    "properties": {
                        "content": {"type": "array", "items": {"type": "object"}},
                        "structuredContent": {"type": "object"},
                        "isError": {"type": "boolean"},
                    },
                    "required": ["content", "isError"],
                },
            ],
        })
    }
}

/// A call that was refused: by the server, or with an outcome.
struct RefusedDoc;

impl JsonSchema for RefusedDoc {
    fn schema_name() -> Cow<'static, str> {
        "RefusedCall".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let outcome = generator.subschema_for::<OutcomeDoc>();
        json_schema!({
            "anyOf": [
                crate::openapi::error_reference(),
                outcome,
            ],
        })
    }
}

/// The answer to a call in the background.
struct AcceptedDoc;

impl JsonSchema for AcceptedDoc {
    fn schema_name() -> Cow<'static, str> {
        "AcceptedCall".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "callId": {"type": "string"},
                "status": {
                    "enum": ["running", "waiting", "done", "lost"],
                    "description": "`waiting` for a person; `lost` if a call with this id was begun before and its process died",
                },
                "tool": {"type": "string"},
                "caller": {"type": "string"},
                "startTime": {"type": "string", "format": "date-time"},
                "approval": {
                    "type": "object",
                    "description": "The question that the call waits for, if it waits",
                    "properties": {"id": {"type": "string"}, "status": {"const": "pending"}},
                    "required": ["id", "status"],
                },
                "follow": {
                    "type": "object",
                    "description": "Where to ask for the outcome, and where the operator answers the question, if it waits",
                    "properties": {"outcome": {"type": "string"}, "answer": {"type": "string"}},
                    "required": ["outcome", "answer"],
                },
                "message": {"type": "string"},
            },
            "required": ["callId", "status"],
        })
    }
}

/// The status of a call.
pub(crate) struct CallDoc;

impl JsonSchema for CallDoc {
    fn schema_name() -> Cow<'static, str> {
        "CallState".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let outcome = generator.subschema_for::<OutcomeDoc>();
        json_schema!({
            "type": "object",
            "properties": {
                "callId": {"type": "string"},
                "status": {
                    "enum": ["running", "waiting", "done", "lost"],
                    "description": "`waiting` for a person; `lost` when its process died and its result is unknown",
                },
                "tool": {"type": "string"},
                "caller": {"type": "string"},
                "elsewhere": {"type": "boolean", "description": "whether another process runs it"},
                "startTime": {"type": "string", "format": "date-time"},
                "endTime": {"type": "string", "format": "date-time"},
                "durationMs": {"type": "number"},
                "approval": {
                    "type": "object",
                    "description": "the question it waits for (`id`, `status`), or how approval went",
                },
                "ok": {"type": "boolean"},
                "code": {"type": "string"},
                "message": {"type": "string"},
                "outcome": {
                    "anyOf": [
                        outcome,
                        {
                            "title": "RecordedOutcome",
                            "type": "object",
                            "properties": {"ok": {"const": true}, "metadata": {"type": "object"}},
                            "required": ["ok", "metadata"],
                        },
                    ],
                },
                "fromRecord": {
                    "type": "boolean",
                    "description": "whether the outcome was not kept and comes from the record: without the value, and without the details of an error",
                },
            },
            "required": ["callId", "status", "caller"],
        })
    }
}

/// A page of calls.
pub(crate) struct CallsDoc;

impl JsonSchema for CallsDoc {
    fn schema_name() -> Cow<'static, str> {
        "Calls".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let call = generator.subschema_for::<CallDoc>();
        json_schema!({
            "type": "object",
            "properties": {
                "calls": {"type": "array", "items": call},
                "unreadable": {
                    "type": "integer",
                    "description": "damaged lines of the log that were passed over, if there were any",
                },
                "nextPageToken": {"type": "string"},
            },
            "required": ["calls"],
        })
    }
}
