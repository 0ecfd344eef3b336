//! Where a page of the list of tools ended, as text that only this server reads.
//!
//! It names the last tool of the page, so that the next begins behind it whatever came or went meanwhile: nothing is doubled, and nothing
//! is left out that was there all the time.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use toolcrib_mcp::rpc::RpcError;

/// What a cursor begins with; another form would have another.
const FORM: &str = "1:";
/// Longer texts are none of ours: names have 64 characters at most.
const MAX_TEXT: usize = 128;

pub(super) fn after(name: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{FORM}{name}"))
}

/// The name that a cursor points behind.
pub(super) fn read(cursor: &str) -> Result<String, RpcError> {
    let bytes = Some(cursor).filter(|cursor| cursor.len() <= MAX_TEXT);
    let bytes = bytes.and_then(|cursor| URL_SAFE_NO_PAD.decode(cursor).ok());
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let name = text.as_deref().and_then(|text| text.strip_prefix(FORM));
    let name = name.filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or_else(|| {
        RpcError::invalid_params(
            "the cursor is none of this server's; leave it out for the first page",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_cursors_are_read() {
        assert_eq!(read(&after("read_file")).unwrap(), "read_file");
        let foreign = URL_SAFE_NO_PAD.encode("2:read_file");
        let empty = after("");
        let long = after(&"a".repeat(200));
        for bad in ["", "x", "1:read_file", "====", &foreign, &empty, &long] {
            let error = read(bad).unwrap_err();
            assert_eq!(error.code, toolcrib_mcp::rpc::code::INVALID_PARAMS, "{bad}");
        }
    }
}
