//! Where a page ended: [`Position`].

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;

use super::Class;
use super::rank::TieBreak;
use super::words::Query;

/// The first byte of a position of this form.
const FORM: u8 = 2;
/// Longer texts are none of ours.
const MAX_TEXT: usize = 16 * 1024;

/// Where a page ended; the next begins after it. Opaque as text.
///
/// It holds the rank of the last hit and not its id, which is another in each process, so that it means the same after that hit has gone or
/// was added again, and in another process too. A document at exactly the same place, including [`Document::tie`](super::Document::tie),
/// goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    text: String,
    pub(super) class: Class,
    modified: Option<Timestamp>,
    slug: String,
    tie: String,
    query: u32,
}

impl Position {
    pub(super) fn new(query: &Query, class: Class, place: &TieBreak<'_>) -> Self {
        let mut position = Position {
            text: String::new(),
            class,
            modified: place.modified,
            slug: place.slug.to_owned(),
            tie: place.tie.to_owned(),
            query: fingerprint(query),
        };
        position.text = URL_SAFE_NO_PAD.encode(position.to_bytes());
        position
    }

    /// Reads a position that [`Position::as_str`] gave; none if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_TEXT {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let mut position = Self::from_bytes(&bytes)?;
        position.text = text.to_owned();
        Some(position)
    }

    /// As text, for URLs.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it was given for the same words; after it, others begin anywhere.
    pub fn is_of(&self, query: &str) -> bool {
        fingerprint(&Query::of(query)) == self.query
    }

    pub(super) fn place(&self) -> TieBreak<'_> {
        TieBreak {
            modified: self.modified,
            slug: &self.slug,
            tie: &self.tie,
            // After all that stand there.
            id: u64::MAX,
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![FORM, self.class as u8];
        bytes.extend(self.query.to_be_bytes());
        bytes.push(u8::from(self.modified.is_some()));
        let nanoseconds = self.modified.map_or(0, |time| time.as_nanosecond());
        bytes.extend(nanoseconds.to_be_bytes());
        bytes.extend((self.slug.len() as u32).to_be_bytes());
        bytes.extend(self.slug.as_bytes());
        bytes.extend(self.tie.as_bytes());
        bytes.extend(fnv(&bytes).to_be_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (bytes, sum) = bytes.split_last_chunk()?;
        if u32::from_be_bytes(*sum) != fnv(bytes) {
            return None;
        }
        let ([form, class], rest) = bytes.split_first_chunk()?;
        if *form != FORM {
            return None;
        }
        let class = Class::ALL.into_iter().find(|one| *one as u8 == *class)?;
        let (query, rest) = rest.split_first_chunk()?;
        let (has_time, rest) = rest.split_first()?;
        let (nanoseconds, rest) = rest.split_first_chunk()?;
        let modified = match has_time {
            0 => None,
            _ => Some(Timestamp::from_nanosecond(i128::from_be_bytes(*nanoseconds)).ok()?),
        };
        let (slug_len, rest) = rest.split_first_chunk()?;
        let (slug, tie) = rest.split_at_checked(u32::from_be_bytes(*slug_len) as usize)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        Some(Position {
            text: String::new(),
            class,
            modified,
            slug: text(slug)?,
            tie: text(tie)?,
            query: u32::from_be_bytes(*query),
        })
    }
}

fn fingerprint(query: &Query) -> u32 {
    fnv(query.pieces.join(" ").as_bytes())
}

/// A checksum against slips, not against intent: nothing depends on a position being one of ours.
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, byte| {
        (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(modified: Option<Timestamp>) -> Position {
        let place = TieBreak {
            modified,
            slug: "天気-report",
            tie: "weather@v1",
            id: 7,
        };
        Position::new(&Query::of("weather"), Class::Fuzzy, &place)
    }

    #[test]
    fn a_position_comes_back_from_its_text() {
        for modified in [None, Some(Timestamp::MAX), Some(Timestamp::MIN)] {
            let position = position(modified);
            assert_eq!(Position::parse(position.as_str()), Some(position.clone()));
            assert!(position.is_of("+Weather") && !position.is_of("wether"));
        }
    }

    #[test]
    fn a_position_knows_nothing_of_ids() {
        let at = |id| TieBreak {
            modified: None,
            slug: "a",
            tie: "b@v1",
            id,
        };
        let position = |id| Position::new(&Query::of("a"), Class::Prefix, &at(id));
        assert_eq!(position(1).as_str(), position(2).as_str());
        assert!(at(3) <= position(1).place(), "the same tool, added again");
    }

    #[test]
    fn input_that_is_not_a_position_is_refused() {
        let text = position(None).as_str().to_owned();
        for end in 0..text.len() {
            assert_eq!(Position::parse(&text[..end]), None, "{end}");
        }
        for at in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[at] = if other[at] == b'A' { b'B' } else { b'A' };
            let other = String::from_utf8(other).unwrap();
            assert_eq!(Position::parse(&other), None, "{at}");
        }
        let long = "A".repeat(1 << 20);
        for text in ["", "!", "AAAA", "天気", &format!("{text}="), &long] {
            assert_eq!(Position::parse(text), None);
        }
    }
}
