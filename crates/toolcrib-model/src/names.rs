//! Names people, URLs and models use: [`Slug`], [`Version`] and [`WireName`].
//!
//! Each is parsed once, at the edge, and trusted after. The rules are S4's: Unicode letters
//! (general categories L*), decimal digits (Nd) and the ASCII dash; NFC; 1 to 64 runes; case
//! counts. A slug may hold 256 bytes of UTF-8, so it is never used as a file name.
//!
//! Known gap, as S4 has it: scripts that write vowels with combining marks (Devanagari and
//! others, categories Mc and Mn) cannot be spelled in full.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::{UnicodeNormalization as _, is_nfc};
use unicode_security::confusable_detection::skeleton;

use super::hidden::is_hidden;
use super::ids::BundleId;

/// The longest slug, version or wire name, in runes.
pub const MAX_RUNES: usize = 64;

/// Why a text is not a name of the kind wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing at all.
    #[error("{what} is empty")]
    Empty {
        /// The kind of name.
        what: &'static str,
    },
    /// More than [`MAX_RUNES`].
    #[error("{what} has {runes} characters; the limit is {MAX_RUNES}")]
    TooLong {
        /// The kind of name.
        what: &'static str,
        /// How many it has.
        runes: usize,
    },
    /// A character outside the allowed categories.
    #[error("{what} may hold {allowed}; U+{:04X} at character {position} is not one of them", u32::from(*found))]
    Forbidden {
        /// The kind of name.
        what: &'static str,
        /// The characters it may hold, in words.
        allowed: &'static str,
        /// The first character that is not allowed.
        found: char,
        /// Where it is, counted from 1.
        position: usize,
    },
    /// Letters that compose to other letters.
    #[error("{what} is not in Unicode normal form C: U+{:04X} at character {position} composes with the character before it", u32::from(*found))]
    NotNormal {
        /// The kind of name.
        what: &'static str,
        /// The first character that would change under composition.
        found: char,
        /// Where it is, counted from 1.
        position: usize,
    },
    /// `.` and `..`.
    #[error("{what} `{text}` is reserved")]
    Reserved {
        /// The kind of name.
        what: &'static str,
        /// The name as given.
        text: String,
    },
    /// A name that reads as an id, and would take references by id away from the bundle with that id.
    #[error("{what} must not look like an id (UUID)")]
    LooksLikeId {
        /// The kind of name.
        what: &'static str,
    },
    /// An id that is not a UUIDv7.
    #[error("{what} must be a UUID of version 7")]
    NotUuidV7 {
        /// The kind of id.
        what: &'static str,
    },
}

/// Refuses what reads as an id, of any version and with `_` for `-`, which slugs and names stand for each other with.
fn refuse_id(what: &'static str, text: &str) -> Result<(), NameError> {
    let is_id = text.len() == 36 && uuid::Uuid::try_parse(&text.replace('_', "-")).is_ok();
    match is_id {
        true => Err(NameError::LooksLikeId { what }),
        false => Ok(()),
    }
}

fn check(
    what: &'static str,
    allowed: &'static str,
    text: &str,
    is_allowed: impl Fn(char) -> bool,
) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty { what });
    }
    // Count before looking: a hostile name may be megabytes long.
    let runes = text.chars().take(MAX_RUNES + 1).count();
    if runes > MAX_RUNES {
        return Err(NameError::TooLong {
            what,
            runes: text.chars().count(),
        });
    }
    for (index, c) in text.chars().enumerate() {
        if !is_allowed(c) {
            return Err(NameError::Forbidden {
                what,
                allowed,
                found: c,
                position: index + 1,
            });
        }
    }
    if !is_nfc(text) {
        let (position, found) = first_denormal(text);
        return Err(NameError::NotNormal {
            what,
            found,
            position,
        });
    }
    Ok(())
}

/// The first character at which the text stops being NFC, counted from 1.
fn first_denormal(text: &str) -> (usize, char) {
    let mut end = 0;
    for (index, c) in text.chars().enumerate() {
        end += c.len_utf8();
        if !is_nfc(&text[..end]) {
            return (index + 1, c);
        }
    }
    unreachable!("only called for texts that are not NFC")
}

/// Some letters are hidden: fillers of Hangul.
fn is_letter_or_digit(c: char) -> bool {
    use GeneralCategory as G;
    c.is_ascii_alphanumeric()
        || (!c.is_ascii()
            && !is_hidden(c)
            && matches!(
                get_general_category(c),
                G::UppercaseLetter
                    | G::LowercaseLetter
                    | G::TitlecaseLetter
                    | G::ModifierLetter
                    | G::OtherLetter
                    | G::DecimalNumber
            ))
}

/// A text that is less than every name and is not a name itself: the start of a range of names.
#[doc(hidden)]
pub trait Below {
    fn below_all() -> Self;
}

macro_rules! text_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Below for $name {
            fn below_all() -> Self {
                $name("".into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().to_owned()
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

text_name! {
    /// The name of a tool or bundle for people and URLs: letters, digits, dash.
    ///
    /// ```
    /// use toolcrib::Slug;
    /// assert!(Slug::parse("read-file").is_ok());
    /// assert!(Slug::parse("天気").is_ok());
    /// let error = Slug::parse("read_file").unwrap_err();
    /// assert!(error.to_string().contains("U+005F"));
    /// ```
    Slug
}

impl Slug {
    /// Parses a slug.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        check("a slug", "letters, digits and `-`", text, |c| {
            c == '-' || is_letter_or_digit(c)
        })?;
        refuse_id("a slug", text)?;
        Ok(Slug(text.into()))
    }

    /// What stands for the slug of a bundle of which nothing can be read but its id. No bundle can have it as its own.
    #[doc(hidden)]
    pub fn standing_for(id: BundleId) -> Self {
        Slug(id.to_string().into())
    }

    /// Derives a slug from a wire name: `_` becomes `-`.
    pub fn from_wire(name: &WireName) -> Self {
        Slug(name.as_str().replace('_', "-").into())
    }

    /// Whether the slug mixes scripts (`аpple` with a Cyrillic а), so that it may pass for another
    /// one. Allowed by S4; lists and approvals flag it.
    pub fn mixes_scripts(&self) -> bool {
        use unicode_security::MixedScript as _;
        !self.as_str().is_single_script()
    }
}

/// How a slug looks: its skeleton by UTS 39, which look-alikes share, after compatibility forms (fullwidth letters) are
/// taken for what they stand for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[doc(hidden)]
pub struct Looks(String);

impl Looks {
    #[doc(hidden)]
    pub fn of(slug: &Slug) -> Self {
        let text = slug.as_str();
        Looks(match text.is_ascii() {
            true => text
                .bytes()
                .map(ascii_look)
                .fold(String::new(), |all, look| all + look),
            false => {
                let plain: String = text.nfkc().collect();
                skeleton(&plain).collect()
            }
        })
    }

    /// Whether a slug looks like this. Without an allocation for ASCII, since all slugs of a registry are asked.
    #[doc(hidden)]
    pub fn are_those_of(&self, slug: &Slug) -> bool {
        if !slug.as_str().is_ascii() {
            return *self == Looks::of(slug);
        }
        let mut bytes = slug.as_str().bytes();
        let rest = bytes.try_fold(self.0.as_str(), |rest, byte| {
            rest.strip_prefix(ascii_look(byte))
        });
        rest == Some("")
    }
}

/// What UTS 39 makes of the characters of ASCII that slugs have; the others are themselves.
fn ascii_look(byte: u8) -> &'static str {
    const ALL: &str = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    match byte {
        b'0' => "O",
        b'1' | b'I' => "l",
        b'm' => "rn",
        byte => match ALL.as_bytes().iter().position(|known| *known == byte) {
            Some(at) => &ALL[at..=at],
            None => "",
        },
    }
}

text_name! {
    /// The opaque version label of a tool: as a slug, plus dots. Versions have no order.
    Version
}

impl Version {
    /// Parses a version.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let what = "a version";
        check(what, "letters, digits, `-` and `.`", text, |c| {
            matches!(c, '-' | '.') || is_letter_or_digit(c)
        })?;
        // Everything else is a harmless label; these two are directories to every file system.
        if text == "." || text == ".." {
            return Err(NameError::Reserved {
                what,
                text: text.to_owned(),
            });
        }
        Ok(Version(text.into()))
    }

    /// `v1`, the version of built-ins and of definitions that name none.
    pub fn v1() -> Self {
        static V1: std::sync::LazyLock<Version> = std::sync::LazyLock::new(|| Version("v1".into()));
        V1.clone()
    }
}

text_name! {
    /// The name models call a tool by: `[A-Za-z0-9_-]{1,64}`.
    WireName
}

impl WireName {
    /// Parses a wire name.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        check("a tool name", "A-Z, a-z, 0-9, `_` and `-`", text, |c| {
            c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
        })?;
        refuse_id("a tool name", text)?;
        Ok(WireName(text.into()))
    }

    /// Derives the wire name of a slug. ASCII slugs keep their spelling; whatever models cannot
    /// be given is replaced and a hash of the whole slug added, so that two slugs never share a
    /// derived name by accident.
    pub fn derive(slug: &Slug) -> Self {
        Self::fit(slug.as_str())
    }

    /// Makes a valid wire name of any text. A text that is one already is kept; characters
    /// models cannot be given become `_`; a long text is shortened in the middle (never cut at the
    /// end, where versions and variants stand), with a hash of the whole.
    pub fn fit(text: &str) -> Self {
        if let Ok(name) = Self::parse(text) {
            return name;
        }
        let clean: String = text
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '-' {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        let hash = hex(&Sha256::digest(text.as_bytes())[..4]);
        // 64 = 27 + 1 + 8 + 1 + 27; `clean` is ASCII, so bytes are runes.
        const SIDE: usize = 27;
        let name = if clean.len() > MAX_RUNES - 9 {
            format!("{}-{hash}-{}", &clean[..SIDE], &clean[clean.len() - SIDE..])
        } else {
            format!("{clean}-{hash}")
        };
        WireName(name.into())
    }
}

/// Lower-case hexadecimal digits of some bytes.
#[doc(hidden)]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|b| {
            [
                DIGITS[usize::from(b >> 4)] as char,
                DIGITS[usize::from(b & 15)] as char,
            ]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_named_like_an_id() {
        for id in [
            "018faf50-b7b6-7a01-9a05-a22a6e0af101",
            "018FAF50-B7B6-7A01-9A05-A22A6E0AF101",
            "c56a4180-65aa-42ec-a945-5fd21dec0538",
        ] {
            assert!(matches!(
                Slug::parse(id),
                Err(NameError::LooksLikeId { .. })
            ));
            for name in [id.to_owned(), id.replace('-', "_")] {
                let parsed = WireName::parse(&name);
                assert!(
                    matches!(parsed, Err(NameError::LooksLikeId { .. })),
                    "{name}"
                );
            }
        }
        // Digits that are not an id.
        assert!(Slug::parse("018faf50b7b67a019a05a22a6e0af101").is_ok());
    }

    #[test]
    fn long_names_are_shortened_in_the_middle_and_stay_distinct() {
        let a = format!("{}-alpha-{}", "x".repeat(40), "y".repeat(40));
        let b = format!("{}-beta-{}", "x".repeat(40), "y".repeat(40));
        let (a, b) = (WireName::fit(&a), WireName::fit(&b));
        assert_eq!(a.as_str().len(), 64);
        assert!(a.as_str().starts_with("xxxx") && a.as_str().ends_with("yyyy"));
        assert_ne!(a, b);
        assert!(WireName::parse(a.as_str()).is_ok());
    }

    #[test]
    fn a_slug_models_can_spell_keeps_its_spelling() {
        assert_eq!(
            WireName::derive(&Slug::parse("read-file").unwrap()).as_str(),
            "read-file"
        );
    }

    #[test]
    fn other_slugs_get_a_hash_and_never_collide_by_accident() {
        let a = WireName::derive(&Slug::parse("天気").unwrap());
        let b = WireName::derive(&Slug::parse("地震").unwrap());
        assert_ne!(a, b);
        assert!(a.as_str().starts_with("__-"), "{a}");
    }

    #[test]
    fn look_alikes_have_the_same_looks_and_others_do_not() {
        let slug = |text: &str| Slug::parse(text).unwrap();
        for (one, other) in [
            ("apple", "\u{430}pple"),
            ("read-file", "ｒｅａｄ-ｆｉｌｅ"),
            ("list-files", "Iist-fi1es"),
            ("modern", "modem"),
            ("scope", "ѕсоре"),
            ("file", "ﬁle"),
            ("a", "𝐚"),
        ] {
            assert_eq!(
                Looks::of(&slug(one)),
                Looks::of(&slug(other)),
                "{one} {other}"
            );
            assert!(Looks::of(&slug(one)).are_those_of(&slug(other)));
            assert!(Looks::of(&slug(other)).are_those_of(&slug(one)));
        }
        for (one, other) in [
            ("weather", "Weather"),
            ("天気", "地震"),
            ("read-file", "readfile"),
            ("a", "ab"),
            ("ab", "a"),
        ] {
            assert!(
                !Looks::of(&slug(one)).are_those_of(&slug(other)),
                "{one} {other}"
            );
        }
    }

    #[test]
    fn the_looks_of_ascii_are_those_of_the_table() {
        for byte in b'!'..=b'~' {
            let c = char::from(byte);
            if c.is_ascii_alphanumeric() || c == '-' {
                let of_table: String = skeleton(c.encode_utf8(&mut [0; 4])).collect();
                assert_eq!(ascii_look(byte), of_table, "{c}");
            }
        }
    }

    #[test]
    fn mixed_scripts_are_flagged_and_ordinary_words_are_not() {
        assert!(Slug::parse("\u{430}pple").unwrap().mixes_scripts());
        for plain in ["apple", "read-file", "天気", "wéather", "v2", "-"] {
            assert!(!Slug::parse(plain).unwrap().mixes_scripts(), "{plain}");
        }
    }
}
