//! `openapi.json` (OpenAPI 3.1) and its page, both made from the table of routes.

use serde_json::Value;

use crate::routes::Routes;

/// The description of every route.
pub fn document(_routes: &Routes) -> Value {
    todo!()
}

/// The same for people: one page without scripts.
pub fn page(_routes: &Routes) -> String {
    todo!()
}
