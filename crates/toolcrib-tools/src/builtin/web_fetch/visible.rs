//! Whether an element is shown, as far as the element itself says.
//!
//! Text that a person would not see can be meant for a model alone. Style sheets are not read, so only cheap signs are checked: the
//! attribute `hidden`, and a style that hides, shrinks to nothing or moves away.

/// How far out of the page something is moved to be hidden, in pixels.
const FAR: f64 = 900.0;

/// What an element says about itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Looks<'a> {
    pub(super) hidden: bool,
    pub(super) style: Option<&'a str>,
    pub(super) width: Option<&'a str>,
    pub(super) height: Option<&'a str>,
}

impl Looks<'_> {
    /// Whether it is not shown.
    pub(super) fn is_hidden(self) -> bool {
        let nothing = |size: Option<&str>| size.is_some_and(|size| length(size) == Some(0.0));
        self.hidden
            || (nothing(self.width) && nothing(self.height))
            || self.style.is_some_and(hides)
    }
}

/// Whether a style keeps an element from being seen.
fn hides(style: &str) -> bool {
    let style = without_comments(&style.to_ascii_lowercase());
    let mut clipped = false;
    let mut nothing = false;
    let mut moved = false;
    let mut far = false;
    for declaration in style.split(';') {
        let Some((property, value)) = declaration.split_once(':') else {
            continue;
        };
        let value = value.trim();
        let value = value.strip_suffix("!important").unwrap_or(value).trim();
        let is_nothing = || length(value) == Some(0.0);
        let is_far = || length(value).is_some_and(|length| length <= -FAR);
        match property.trim() {
            "display" if value == "none" => return true,
            "visibility" if matches!(value, "hidden" | "collapse") => return true,
            "opacity" | "zoom" | "font-size" if is_nothing() => return true,
            "content-visibility" if value == "hidden" => return true,
            "transform" if value.replace(' ', "").starts_with("scale(0)") => return true,
            "text-indent" if is_far() => return true,
            "overflow" | "overflow-x" | "overflow-y" => {
                clipped |= matches!(value, "hidden" | "clip");
            }
            "width" | "height" | "max-width" | "max-height" => nothing |= is_nothing(),
            "position" => moved |= matches!(value, "absolute" | "fixed"),
            "left" | "top" | "right" | "bottom" => far |= is_far(),
            "clip" if value.replace([' ', ','], "").starts_with("rect(0000") => clipped = true,
            _ => {}
        }
    }
    (clipped && nothing) || (moved && far)
}

/// A length or a number; `None` for what is none.
fn length(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c))
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

fn without_comments(style: &str) -> String {
    let mut rest = style;
    let mut kept = String::with_capacity(style.len());
    while let Some((before, after)) = rest.split_once("/*") {
        kept.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_that_hide_are_known() {
        for style in [
            "display:none",
            "color: red; DISPLAY : NONE !important",
            "display:/* x */none",
            "visibility: hidden",
            "opacity:0",
            "opacity: 0.0",
            "font-size:0px",
            "position:absolute; left:-9999px",
            "position: fixed;top:-1000px",
            "width:0;height:0;overflow:hidden",
            "text-indent:-9999px",
            "transform: scale( 0 )",
        ] {
            assert!(hides(style), "{style}");
        }
        for style in [
            "",
            "display:block",
            "opacity:0.5",
            "width:0",
            "overflow:hidden",
            "left:-9999px",
            "font-size: 12px",
            "display",
            "background:url(display:none)",
            "transform: scale(0.5)",
            "margin:-9999px",
        ] {
            assert!(!hides(style), "{style}");
        }
    }

    #[test]
    fn an_element_of_no_size_is_hidden() {
        let of = |width, height| Looks {
            width,
            height,
            ..Looks::default()
        };
        assert!(of(Some("0"), Some("0px")).is_hidden());
        assert!(!of(Some("0"), None).is_hidden());
        assert!(!of(Some("100"), Some("0")).is_hidden());
        assert!(
            Looks {
                hidden: true,
                ..Looks::default()
            }
            .is_hidden()
        );
    }
}
