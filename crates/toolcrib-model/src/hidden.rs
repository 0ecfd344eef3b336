//! Characters that a reader does not see or that turn text around, so that a text says something else than it shows.
//!
//! There is one answer to "is this hidden?" for names, descriptions and schemas of every source of tools: people see such
//! characters escaped ([`visible`](super::text::visible)), models do not get them ([`without_hidden`]), and files that have
//! them in what others read are refused. Joiners and selectors count by their place, since some scripts and emoji need
//! them: `👩‍🚀` keeps its joiner, `pay‍load` does not. In names no place is right for them ([`is_hidden`]).

use std::borrow::Cow;

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_properties::UnicodeEmoji as _;

/// Zero-width non-joiner and joiner.
const JOINERS: [char; 2] = ['\u{200c}', '\u{200d}'];
/// What follows a black flag in the flags of England, Scotland and Wales, the only ones that are made so.
const FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];
const BLACK_FLAG: char = '\u{1f3f4}';
/// The frame of `1️⃣`.
const KEYCAP: char = '\u{20e3}';

/// Whether a character is hidden wherever it is: control characters but tab and line feed, what Unicode says is not shown
/// by default (zero width, tags, bidirectional controls, selectors, fillers), blanks that are not white space, other ends of
/// lines, and noncharacters.
pub fn is_hidden(c: char) -> bool {
    match c {
        '\t' | '\n' | ' '..='~' => false,
        c if c.is_control() => true,
        // `Default_Ignorable_Code_Point`, with those that have no meaning yet.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        // Blank, though Unicode counts them neither as white space nor as ignorable: Braille without a dot, blanks of
        // hieroglyphs, the Khitan filler, the null notehead.
        '\u{2800}' | '\u{13441}'..='\u{13442}' | '\u{16fe4}' | '\u{1d159}' => true,
        // Ends of lines and of paragraphs; marks of annotations.
        '\u{2028}'..='\u{2029}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{fdd0}'..='\u{fdef}' => true,
        c => u32::from(c) & 0xfffe == 0xfffe,
    }
}

/// The hidden characters of a text, with their places in bytes. Joiners and selectors that a script or an emoji needs are
/// not among them.
pub fn hidden(text: &str) -> Hidden<'_> {
    let at = match is_plain(text) {
        true => text.len(),
        false => 0,
    };
    Hidden {
        text,
        at,
        before: Before::Nothing,
    }
}

/// Whether [`hidden`] finds something.
pub fn hides_something(text: &str) -> bool {
    hidden(text).next().is_some()
}

/// A text without its hidden characters, as models get it.
///
/// ```
/// use toolcrib::model::hidden::without_hidden;
/// assert_eq!(without_hidden("Adds\u{e0041}\u{202e} two"), "Adds two");
/// ```
pub fn without_hidden(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut end = 0;
    for (at, c) in hidden(text) {
        kept.push_str(&text[end..at]);
        end = at + c.len_utf8();
    }
    if end == 0 {
        return text.into();
    }
    kept.push_str(&text[end..]);
    kept.into()
}

/// Nearly every text is.
fn is_plain(text: &str) -> bool {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    text.as_bytes().iter().all(plain)
}

/// An iterator; see [`hidden`].
#[derive(Debug, Clone)]
pub struct Hidden<'a> {
    text: &'a str,
    at: usize,
    before: Before,
}

/// The text right before a position.
#[derive(Debug, Clone, Copy)]
enum Before {
    /// The start of the text, something hidden, or a selector or joiner, after which no other can be.
    Nothing,
    Char(char),
    /// An emoji with its selector.
    Emoji,
}

impl Iterator for Hidden<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<(usize, char)> {
        loop {
            let at = self.at;
            let c = self.text[at..].chars().next()?;
            self.at += c.len_utf8();
            let rest = &self.text[self.at..];
            if !is_hidden(c) {
                self.before = Before::Char(c);
                let flag = FLAGS.iter().find(|flag| rest.starts_with(**flag));
                if let (BLACK_FLAG, Some(flag)) = (c, flag) {
                    self.at += flag.len();
                    self.before = Before::Emoji;
                }
            } else if let Some(after) = is_needed(c, self.before, rest.chars().next()) {
                self.before = after;
            } else {
                self.before = Before::Nothing;
                return Some((at, c));
            }
        }
    }
}

/// Whether a character that is hidden by itself is needed between these two; if so, what is before the next.
fn is_needed(c: char, before: Before, next: Option<char>) -> Option<Before> {
    let is_emoji = |c: char| !c.is_ascii() && c.is_emoji_char();
    let is_after_emoji = match before {
        Before::Nothing => false,
        Before::Emoji => true,
        Before::Char(before) => is_emoji(before),
    };
    match (c, before) {
        ('\u{200d}', _) if is_after_emoji && next.is_some_and(is_emoji) => Some(Before::Nothing),
        ('\u{fe0e}' | '\u{fe0f}', Before::Char(_)) if is_after_emoji => Some(Before::Emoji),
        ('\u{fe0f}', Before::Char('0'..='9' | '#' | '*')) if next == Some(KEYCAP) => {
            Some(Before::Nothing)
        }
        (joiner, Before::Char(before)) if JOINERS.contains(&joiner) => {
            let is_followed = next.is_none_or(|next| !is_hidden(next));
            (joins(before) && is_followed).then_some(Before::Nothing)
        }
        // Another form of a Chinese character, as names of people and places have them.
        ('\u{e0100}'..='\u{e01ef}', Before::Char(before)) if is_ideograph(before) => {
            Some(Before::Nothing)
        }
        // The vowel separator and the selectors of Mongolian.
        ('\u{180b}'..='\u{180f}', Before::Char('\u{1820}'..='\u{18aa}')) => Some(Before::Nothing),
        _ => None,
    }
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a character is a letter or a mark of a script whose letters join or are stacked: those of Arabic, Syriac, N'Ko,
/// India, Sri Lanka, Myanmar, Cambodia and Mongolia.
fn joins(c: char) -> bool {
    let is_of_script = matches!(c,
        '\u{600}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{1cd0}'..='\u{1cff}'
        | '\u{a840}'..='\u{a87f}' | '\u{a8e0}'..='\u{a8ff}' | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}'
        | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}');
    let is_mark = || {
        matches!(
            get_general_category(c),
            GeneralCategory::NonspacingMark | GeneralCategory::SpacingMark
        )
    };
    is_of_script && !is_hidden(c) && (c.is_alphabetic() || is_mark())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_hides_is_taken_out() {
        for (text, kept) in [
            ("a\u{200b}b", "ab"),
            ("a\u{202e}b\u{2069}", "ab"),
            ("\u{feff}a\u{ad}b\u{2060}", "ab"),
            ("x\u{e0041}\u{e0042}\u{e007f}", "x"),
            ("a\u{1b}[31mb\u{7f}\u{9b}", "a[31mb"),
            ("a\r\nb", "a\nb"),
            ("a\u{2028}b\u{85}", "ab"),
            ("\u{3164}\u{115f}\u{1160}\u{ffa0}a", "a"),
            ("a\u{2800}\u{13441}\u{13442}\u{16fe4}\u{1d159}", "a"),
            ("a\u{fffe}\u{1ffff}\u{fdd0}", "a"),
            // A joiner between letters that do not join, at the start, and twice.
            ("pay\u{200d}load", "payload"),
            ("\u{200c}می\u{200c}\u{200c}خواهم", "میخواهم"),
            // Selectors that hide bytes after an emoji, and after a letter.
            ("\u{1f600}\u{fe0f}\u{fe01}\u{e0121}", "\u{1f600}\u{fe0f}"),
            ("a\u{fe0f}\u{e0100}", "a"),
            // Tags that are not flag.
            ("\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}", "\u{1f3f4}"),
            ("\u{1f600}\u{200b}\u{200d}\u{1f600}", "\u{1f600}\u{1f600}"),
            ("1\u{fe0f}", "1"),
            ("葛\u{e0100}\u{e0101}", "葛\u{e0100}"),
        ] {
            assert_eq!(without_hidden(text), kept, "{text:?}");
        }
    }

    #[test]
    fn joiners_that_a_script_or_an_emoji_needs_stay() {
        for text in [
            "plain\ttext\n",
            "天気 ünïcode — “quoted” naïve",
            "می‌خواهم",
            "1403 ه\u{200d}.",
            "क्\u{200d}ष and क्\u{200c}ष",
            "ශ්\u{200d}රී",
            "র\u{200d}্য",
            "👩\u{200d}🚀 👨🏽\u{200d}👩\u{200d}👧 🏳\u{fe0f}\u{200d}🌈 ❤\u{fe0f}\u{200d}🔥",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "1\u{fe0f}\u{20e3} ☎\u{fe0e} ©\u{fe0f} 🇩🇪",
            "ᠮᠣᠩᠭᠣᠯ\u{180b}",
            "葛\u{e0100}飾区",
            "עברית العربية ไทย 한글",
        ] {
            assert!(
                matches!(without_hidden(text), Cow::Borrowed(same) if same == text),
                "{text:?}"
            );
        }
    }

    /// Texts of plain letters, of everything that is hidden or needed somewhere, and of anything.
    fn any_text() -> impl Strategy<Value = String> {
        let odd = [
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{202e}',
            '\u{2066}',
            '\u{fe0e}',
            '\u{fe0f}',
            '\u{e0067}',
            '\u{e0062}',
            '\u{e0065}',
            '\u{e006e}',
            '\u{e007f}',
            '\u{1f3f4}',
            '\u{1f468}',
            '\u{1f3fd}',
            '\u{2764}',
            '\u{20e3}',
            '1',
            '#',
            '\u{6cc}',
            '\u{94d}',
            '\u{915}',
            '\u{1820}',
            '\u{180b}',
            '\u{e0100}',
            '\u{1b}',
            '\r',
            '\n',
        ];
        let c = prop_oneof![
            prop::sample::select(odd.to_vec()),
            any::<char>(),
            prop::char::range(' ', '~')
        ];
        prop::collection::vec(c, 0..24).prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        #[test]
        fn taking_out_twice_is_taking_out_once(text in any_text()) {
            let once = without_hidden(&text).into_owned();
            prop_assert!(!hides_something(&once), "{once:?}");
            prop_assert!(matches!(without_hidden(&once), Cow::Borrowed(same) if same == once));
        }

        #[test]
        fn nothing_but_hidden_characters_is_taken_out(text in any_text()) {
            let kept = without_hidden(&text);
            let shown = |text: &str| text.chars().filter(|c| !is_hidden(*c)).collect::<String>();
            prop_assert_eq!(shown(&kept), shown(&text));
            if !text.chars().any(is_hidden) {
                prop_assert!(matches!(kept, Cow::Borrowed(same) if same == text));
            }
        }

        #[test]
        fn what_is_shown_hides_nothing_and_shows_what_was_taken_out(text in any_text()) {
            let visible = crate::text::visible(&text).into_owned();
            prop_assert!(!hides_something(&visible), "{visible:?}");
            prop_assert_eq!(&crate::text::visible(&visible), &visible);
            prop_assert_eq!(matches!(crate::text::visible(&text), Cow::Borrowed(_)), !hides_something(&text));
        }
    }
}
