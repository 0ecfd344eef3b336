//! Sizes as people type them: `512MB`, `2GB`, `64K`.

use toolcrib::model::text::{read_size, shorten};

/// Reads a size; the error says how to write one.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let size = read_size(text).filter(|size| (1..u64::MAX).contains(size));
    size.ok_or_else(|| {
        format!(
            "`{}` is not a size; write 512MB, 2GB or a number of bytes",
            shorten(text, 40)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_that_is_not_a_size_is_refused_with_how_to_write_one() {
        for text in ["", "MB", "-1", "1.5GB", "0", "12 parsecs", "99999999999T"] {
            assert!(parse(text).unwrap_err().contains("512MB"), "{text}");
        }
    }
}
