//! Small pictures by what a tool does, for the lists of clients. Models never see them.

use toolcrib::wire::{Care, Hints};

/// A picture of 16 by 16, drawn by one path. It is a URI: a space in it is `%20`; in a path, a comma separates as well.
macro_rules! icon {
    ($path:literal) => {
        concat!(
            r#"[{"src":"data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2016%2016'%3E%3Cpath%20d='"#,
            $path,
            r#"'/%3E%3C/svg%3E","mimeType":"image/svg+xml","sizes":["any"]}]"#
        )
    };
}

/// A page, to read.
const PAGE: &str = icon!("M3,1h7l3,3v11H3zM5,7v1h6V7zm0,3v1h6v-1z");
/// A pencil, to write.
const PENCIL: &str = icon!("M12,1l3,3L5,14l-4,1,1-4z");
/// A sign of warning, for what may destroy.
const WARNING: &str = icon!("M8,1l7,14H1zM7,6v5h2V6zm0,6v2h2v-2z");
/// A globe, for what reaches out.
const GLOBE: &str = icon!("M8,1a7,7,0,100,14A7,7,0,008,1zM2,7h12v2H2zm5-6h2v14H7z");

/// The JSON of a tool's icons.
pub(super) fn of(hints: Hints) -> &'static str {
    match (hints.care(), hints.open_world) {
        (Care::Reads, Some(true)) => GLOBE,
        (Care::Reads, _) => PAGE,
        (Care::Adds, _) => PENCIL,
        (Care::MayDestroy, _) => WARNING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_of_an_icon_is_a_uri() {
        for icon in [PAGE, PENCIL, WARNING, GLOBE] {
            let icon: serde_json::Value = serde_json::from_str(icon).unwrap();
            let source = icon[0]["src"].as_str().unwrap();
            // RFC 3986: what a URI may have, and `%` only before two digits.
            assert!(
                source.bytes().all(|byte| byte.is_ascii_alphanumeric()
                    || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte)),
                "{source}"
            );
            let escapes = source.split('%').skip(1);
            assert!(
                { escapes }.all(|rest| rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit()))
            );
        }
    }
}
