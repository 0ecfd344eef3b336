//! Pages of short lists that are read whole and ordered by id: a token names the last id of a page, so that what comes or goes between
//! two pages neither repeats nor hides anything else.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use toolcrib::model::text;

use crate::api::{ParamDoc, Place, Query, Refusal};

const DEFAULT_SIZE: u64 = 50;
const MAX_SIZE: u64 = 500;

/// Which page of a list is asked for.
#[derive(Debug)]
pub(super) struct Cursor {
    /// The list, so that a token of one is none of another.
    list: &'static str,
    size: usize,
    after: Option<String>,
}

impl Cursor {
    /// By the parameters `pageSize` and `pageToken`.
    pub(super) fn of(query: &Query, list: &'static str) -> Result<Self, Refusal> {
        let size = query.number("pageSize", 1, MAX_SIZE)?;
        let after = match query.text("pageToken") {
            None => None,
            Some(token) => Some(read_token(token, list).ok_or_else(|| {
                Refusal::usage(format!(
                    "`{}` is no page token of this list; take the `nextPageToken` of the page before",
                    text::shorten(token, 64)
                ))
            })?),
        };
        Ok(Cursor {
            list,
            size: usize::try_from(size.unwrap_or(DEFAULT_SIZE)).unwrap_or(usize::MAX),
            after,
        })
    }

    /// The page, and the token of the next one if there is more. The rows are sorted by id.
    pub(super) fn cut<T>(
        &self,
        mut rows: Vec<T>,
        id: impl Fn(&T) -> &str,
    ) -> (Vec<T>, Option<String>) {
        if let Some(after) = &self.after {
            rows.retain(|row| id(row) > after.as_str());
        }
        let is_more = rows.len() > self.size;
        rows.truncate(self.size);
        let last = rows.last().filter(|_| is_more);
        let token = last.map(|row| URL_SAFE_NO_PAD.encode(format!("{}:{}", self.list, id(row))));
        (rows, token)
    }
}

fn read_token(token: &str, list: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
    let id = String::from_utf8(bytes).ok()?;
    let id = id.strip_prefix(list)?.strip_prefix(':')?;
    uuid::Uuid::try_parse(id).ok()?;
    Some(id.to_owned())
}

/// The parameters of such a list.
pub(super) fn page_params() -> [ParamDoc; 2] {
    [
        ParamDoc {
            name: "pageSize",
            place: Place::Query,
            required: false,
            about: "How many at most; 50 when nothing is said.",
            schema: |_| schemars::json_schema!({"type": "integer", "minimum": 1, "maximum": MAX_SIZE}),
        },
        ParamDoc {
            name: "pageToken",
            place: Place::Query,
            required: false,
            about: "The `nextPageToken` of the page before.",
            schema: |generator| generator.subschema_for::<String>(),
        },
    ]
}
