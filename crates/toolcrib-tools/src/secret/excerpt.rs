//! The beginning of what a server said, for errors.

use super::SecretStore;
use crate::model::text;

/// How much of a body is shown.
const MAX_SHOWN: usize = 2000;

/// How much of a body is looked at for it: so much more that a secret which this cuts in two is not shown.
const MAX_LOOKED_AT: usize = 128 * 1024;

/// The beginning of a body in one line. Servers repeat what they were sent, and a secret that is cut in two is found by no one, so it
/// goes before the cut.
pub(crate) fn excerpt(body: &[u8], secrets: Option<&SecretStore>) -> String {
    let head = String::from_utf8_lossy(&body[..body.len().min(MAX_LOOKED_AT)]);
    let head = match secrets {
        Some(secrets) => secrets.masker().mask(&head).into_owned(),
        None => head.into_owned(),
    };
    text::shorten(&head, MAX_SHOWN)
}
