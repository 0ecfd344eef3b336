//! Sizes as people type them: `512MB`, `2GB`, `64K`; a bare number is bytes. Units are of 1024.

/// Reads a size; the error says how to write one.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let wrong = || {
        format!(
            "`{}` is not a size; write 512MB, 2GB or a number of bytes",
            toolcrib::model::text::shorten(text, 40)
        )
    };
    let at = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number
        .checked_mul(1 << shift)
        .filter(|size| *size > 0)
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, bytes) in [
            ("512MB", 512 << 20),
            ("2G", 2 << 30),
            ("64k", 64 << 10),
            ("1 GiB", 1 << 30),
            ("1024", 1024),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused_with_how_to_write_one() {
        for text in ["", "MB", "-1", "1.5GB", "0", "12 parsecs", "99999999999T"] {
            assert!(parse(text).unwrap_err().contains("512MB"), "{text}");
        }
    }
}
