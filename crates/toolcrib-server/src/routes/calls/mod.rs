//! Calls: `/api/calls`, and the places they take.
//!
//! A plain call is polled where its request is; it moves to its own task only if its client goes away, so the usual call
//! costs none. A stream of a call keeps the call's place until its outcome is taken, which bounds what clients that never read
//! can hold.

mod body;
mod detached_call;
pub(crate) mod doc;
mod gate;
mod lending;
mod list;
mod make;
mod plan;
pub(crate) mod state;
mod waits;

use futures_util::FutureExt as _;
use http::Method;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

pub(crate) use body::{Approvals, CallWish, InvokeBody};
pub(crate) use detached_call::{GoesOn, Leave};
pub(crate) use gate::{CallSlot, Gate};
pub(crate) use lending::lending;
pub(crate) use make::{make, make_one, shape, too_many};
pub(crate) use waits::Waits;

use crate::api::{Route, Who, param};
use body::CallBody;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    let call = Route::new(Method::POST, "/api/calls", Who::Caller, |api, asked| {
        make(api, asked, None).boxed()
    });
    let call = call
        .named("call", "calls", "Calls a tool by any of its names.")
        .about(doc::MAKING)
        .takes::<CallBody>(
            "The tool, its arguments, and how to call.",
            || json!({"tool": "read_file", "args": {"path": "README.md"}}),
        );
    let list = Route::new(Method::GET, "/api/calls", Who::Caller, |api, asked| {
        list::list(api, asked).boxed()
    });
    let list = list
        .named("listCalls", "calls", "Lists calls, newest first; those that run come before all others, oldest first.")
        .about(
            "A client sees its own calls. A page may be short, or empty, where much of the log had to be passed over: there is more for as \
             long as there is a `nextPageToken`. A call that ends while pages are turned comes once. A call whose process died (`lost`) \
             has no record and is not listed; `GET /api/calls/{id}` shows it.",
        )
        .param(param::query_text("tool", "Only calls of this tool, by its name."))
        .param(param::query_text("bundle", "Only calls of tools of this bundle, by its slug."))
        .param(param::query_text("version", "Only calls of this version of a tool."))
        .param(param::query_text("text", "Only calls with this text in the tool's name, an argument, the error or the id; capitals do not count."))
        .param(param::query_text("parent", "Only calls that this call's tool made."))
        .param(param::query(
            "status",
            "Only calls that stand so: `running` (also those that wait), `waiting` for a person, `done`, or of those `ok` or `failed`, or of the failed those that a person or a rule `refused`, or not: `error`.",
            status,
        ))
        .param(param::query_text(
            "caller",
            "Only calls of this caller: `operator`, `cli`, `library`, `mcp` or `client:NAME`; `tool:` before it for those that its tools made, `tool` for those of all tools.",
        ))
        .param(param::query("since", "Only calls that arrived at this time or later.", time))
        .param(param::query("until", "Only calls that arrived before this time.", time))
        .params(param::pages())
        .answers::<doc::CallsDoc>(200, "A page of calls.")
        .refuses(500, "The call log could not be read.");
    let show = Route::new(Method::GET, "/api/calls/{id}", Who::Caller, |api, asked| {
        state::show(api, asked).boxed()
    });
    let show = show
        .named("getCall", "calls", "Reports the status of a call, and its result.")
        .about("`outcome` is there as soon as the call is over. It is whole for calls that ran with a `callId` of the caller's own or `Prefer: respond-async`, for as long as `calls.keepOutcomesHours` says. Of others, and of calls that were refused, it is made of the record in the call log (`fromRecord`): without the value, and without the details of an error. A call whose process died is `lost`: its result is unknown. A client sees its own calls.")
        .param(doc::shape())
        .param(param::query(
            "waitMs",
            "How long to wait for the end of a call that runs, in milliseconds.",
            wait,
        ))
        .param(param::query_flag(
            "record",
            "Only what the call log has of it, in full, and no outcome; not found if there is no record.",
        ))
        .answers::<doc::CallDoc>(200, "The status of the call.")
        .refuses(404, "There is no such call, or it belongs to another caller.")
        .refuses(500, "The call log could not be read.");
    let cancel = Route::new(
        Method::POST,
        "/api/calls/{id}/cancel",
        Who::Caller,
        |api, asked| state::cancel(api, asked).boxed(),
    );
    let cancel = cancel
        .named(
            "cancelCall",
            "calls",
            "Cancels a call that runs or waits, and ends all its processes.",
        )
        .answers::<doc::CallDoc>(
            200,
            "The status of the call now; it may take a moment longer to end.",
        )
        .refuses(
            404,
            "There is no such call, or it belongs to another caller.",
        )
        .refuses(409, "The call is over, or runs in another process.")
        .refuses(500, "The call log could not be read.");
    let mut routes = vec![doc::making(call), list, show, cancel];
    routes.extend(plan::routes());
    routes
}

fn status(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": ["running", "waiting", "done", "ok", "failed", "refused", "error"]})
}

fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time"})
}

fn wait(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "minimum": 0, "maximum": state::MAX_WAIT_MS, "default": 0})
}
