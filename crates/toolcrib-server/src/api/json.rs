//! JSON as this server takes it: strict, as [`toolcrib::model::json`] reads it.

use serde::de::DeserializeOwned;
use serde_json::Value;
pub use toolcrib::model::json::{StrictJsonError, read_strict};

use super::refusal::Refusal;

impl From<StrictJsonError> for Refusal {
    /// A 400, with the pointer in its details too.
    fn from(error: StrictJsonError) -> Self {
        let refusal = toolcrib::ToolError::new(
            toolcrib::ErrorCode::Usage,
            format!("the body is not as it should be: {error}"),
        );
        refusal.with_detail("pointer", error.pointer).into()
    }
}

/// Makes a type of JSON; the error says where it does not fit.
pub(super) fn read_typed<T: DeserializeOwned>(value: Value) -> Result<T, StrictJsonError> {
    use serde_path_to_error::Segment;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let steps = error.path().iter().filter_map(|segment| match segment {
            Segment::Seq { index } => Some(index.to_string()),
            Segment::Map { key } => Some(key.clone()),
            // Not a step of the text.
            Segment::Enum { .. } | Segment::Unknown => None,
        });
        StrictJsonError::at(steps, &error.inner().to_string())
    })
}
