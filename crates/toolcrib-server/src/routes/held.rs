//! What commands planted and is held: `/api/held`.
//!
//! For the operator alone: a caller never puts back what its own call planted. The same things are questions of `/api/approvals`, one
//! for each run.

use futures_util::FutureExt as _;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use toolcrib::ToolError;
use toolcrib::held::{HeldContent, HeldItem};

use super::blocking;
use crate::api::{Answer, Api, ApiRequest, Paging, Route, Who, json_response, no_content, param};

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    let by_id = "Its id, or a part of it, four characters or more, that no other has.";
    vec![
        Route::new(Method::GET, "/api/held", Who::Operator, |api, asked| {
            list(api, asked).boxed()
        })
        .named(
            "listHeld",
            "held",
            "Lists what commands made that other programs would run, oldest first.",
        )
        .about("Each item is out of its workspace, or a harmless version is in its place. Nothing here expires.")
        .params(param::pages())
        .answers::<HeldPage>(200, "A page of held items."),
        Route::new(Method::GET, "/api/held/{id}", Who::Operator, |api, asked| {
            show(api, asked).boxed()
        })
        .named("getHeld", "held", "Shows a held item with its content.")
        .param(param::path("id", by_id))
        .answers::<HeldContent>(200, "The item.")
        .refuses(404, "Nothing is held under this id."),
        Route::new(Method::POST, "/api/held/{id}/restore", Who::Operator, |api, asked| {
            restore(api, asked).boxed()
        })
        .named(
            "restoreHeld",
            "held",
            "Puts a held item back where it was, byte for byte with its mode and times.",
        )
        .param(param::path("id", by_id))
        .answers::<HeldItem>(200, "The item; it is back in its workspace.")
        .refuses(404, "Nothing is held under this id.")
        .refuses(409, "Something else is in its place now. It is still held."),
        Route::new(Method::DELETE, "/api/held/{id}", Who::Operator, |api, asked| {
            drop_item(api, asked).boxed()
        })
        .named("dropHeld", "held", "Deletes a held item.")
        .param(param::path("id", by_id))
        .answers_with(204, "It is deleted.", "")
        .refuses(404, "Nothing is held under this id."),
    ]
}

/// A page of held items.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct HeldPage {
    /// The items, oldest first.
    held: Vec<HeldItem>,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

async fn list(api: Api, asked: ApiRequest) -> Answer {
    let paging = Paging::of(&asked.query)?;
    let items = blocking(move || api.crib().held().list()).await;
    let items = items.map_err(ToolError::from)?;
    let (held, next_page_token) = paging.cut("held", items, |item| item.id.clone())?;
    let page = HeldPage {
        held,
        next_page_token,
    };
    Ok(json_response(StatusCode::OK, &page))
}

async fn show(api: Api, asked: ApiRequest) -> Answer {
    let id = asked.path.get("id").to_owned();
    let shown = blocking(move || api.crib().held().show(&id)).await?;
    Ok(json_response(StatusCode::OK, &shown))
}

async fn restore(api: Api, asked: ApiRequest) -> Answer {
    let id = asked.path.get("id").to_owned();
    let restored = blocking(move || api.crib().held().restore(&id)).await?;
    Ok(json_response(StatusCode::OK, &restored))
}

async fn drop_item(api: Api, asked: ApiRequest) -> Answer {
    let id = asked.path.get("id").to_owned();
    blocking(move || api.crib().held().drop(&id)).await?;
    Ok(no_content())
}
