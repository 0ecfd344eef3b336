//! The table of routes, one file per topic.

pub mod approvals;
pub mod archive;
pub mod bundles;
pub mod calls;
pub mod catalogue;
pub mod clients;
pub mod events;
pub mod grants;
pub mod health;
pub mod invoke;
mod paging;
pub mod rules;
pub mod secrets;
pub mod stats;
pub mod tools;

use http::Method;
use toolcrib::ErrorCode;

use crate::api::{PathValues, Refusal, Route};

/// Every route.
pub struct Routes(Vec<Route>);

impl Routes {
    /// The whole table.
    pub(crate) fn all() -> Self {
        let parts = [
            bundles::routes(),
            tools::routes(),
            invoke::routes(),
            archive::routes(),
            calls::routes(),
            events::routes(),
            approvals::routes(),
            grants::routes(),
            rules::routes(),
            catalogue::routes(),
            secrets::routes(),
            clients::routes(),
            stats::routes(),
            health::routes(),
        ];
        Routes(parts.into_iter().flatten().collect())
    }

    /// Every route, in the order of the documentation.
    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        self.0.iter()
    }

    /// The route for a request and the values of its path.
    pub(crate) fn find(
        &self,
        method: &Method,
        path: &str,
    ) -> Result<(&Route, PathValues), Refusal> {
        for route in self.0.iter().filter(|route| route.method == *method) {
            let (mut given, mut known) = (path.split('/'), route.path.split('/'));
            let mut values = PathValues::default();
            let matches = loop {
                match (given.next(), known.next()) {
                    (None, None) => break true,
                    (Some(given), Some(known)) => match known.strip_prefix('{') {
                        Some(name) => values
                            .0
                            .push((name.trim_end_matches('}'), given.to_owned())),
                        None if given == known => {}
                        None => break false,
                    },
                    _ => break false,
                }
            };
            if matches {
                return Ok((route, values));
            }
        }
        Err(Refusal::new(
            ErrorCode::NotFound,
            "there is nothing here; `/api/openapi.json` lists every route",
        ))
    }
}
