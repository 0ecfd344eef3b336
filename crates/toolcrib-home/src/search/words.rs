//! Texts as words: what a document has, and what a query asks for.
//!
//! A text is brought to normal form C, each character is mapped to lower, upper and again lower case by Unicode's own tables (whatever the locale), and
//! the result is composed again. That is full case folding but for a dotless `ı`, which is an `i` here: `ß`, `ẞ` and `ss` are one spelling, `σ` and `ς`
//! too, while `İ` keeps its dot. Letters, digits and the marks on them make words; everything else separates them, except for characters that only say
//! how neighbours are joined, which count for nothing.
//!
//! Scripts that are written without spaces have no words to split by. There a run is one *piece*, and its overlapping pairs of characters are words as
//! well, of documents and of queries: `予報` is found in `天気予報を調べる`, and `報` too, as the start of a pair.
//!
//! Everything is bounded: the bytes of a text that are read, the runes of a word, the words of a document and of a query. Anything beyond
//! a bound is ignored, for the index and for `class_of` alike, because both read texts only through this module.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::Document;

/// The bytes of one text that are read.
const MAX_TEXT: usize = 16 * 1024;
/// The runes of a word that count. The bits of a machine word hold it, which `near` relies on.
pub(super) const MAX_WORD: usize = 48;
/// The runes of a name without its separators that count.
const MAX_SQUASHED: usize = 64;
/// The words of a document.
const MAX_DOCUMENT_WORDS: usize = 1024;
/// The words of a query, and the pieces of a field that a query is compared with as its start.
pub(super) const MAX_QUERY_WORDS: usize = 16;

/// Takes in the words of a document.
pub(super) trait Sink {
    /// A piece of the field at hand, near its beginning.
    fn piece(&mut self, piece: &str);
    /// Another word.
    fn word(&mut self, word: &str);
    /// The field ends.
    fn end_field(&mut self);
    /// A name without its separators.
    fn squashed(&mut self, name: &str);
}

/// Hands the words of a document to `sink`, the most telling fields first.
pub(super) fn read(document: &Document, sink: &mut impl Sink) {
    let mut pieces = Pieces::default();
    let mut left = MAX_DOCUMENT_WORDS;
    let names = [&document.slug, &document.name]
        .into_iter()
        .chain(&document.aliases);
    for name in names {
        pieces.read(name);
        hand_over(&pieces, &mut left, sink);
        let squashed = pieces.squashed();
        if !squashed.is_empty() {
            sink.squashed(squashed);
        }
        if left == 0 {
            return;
        }
    }
    let texts = [&document.title].into_iter();
    let texts = texts.chain(&document.tags).chain(&document.keywords);
    for text in texts.chain([&document.description]) {
        pieces.read(text);
        hand_over(&pieces, &mut left, sink);
        if left == 0 {
            return;
        }
    }
}

fn hand_over(pieces: &Pieces, left: &mut usize, sink: &mut impl Sink) {
    for (number, piece) in pieces.iter().enumerate() {
        if *left == 0 {
            break;
        }
        *left -= 1;
        let cut = cut(piece.text, MAX_WORD);
        if number < MAX_QUERY_WORDS {
            sink.piece(cut);
        } else {
            sink.word(cut);
        }
        if piece.is_spaceless {
            each_pair(piece.text, Ends::Alone, |pair| {
                if *left > 0 {
                    *left -= 1;
                    sink.word(pair);
                }
            });
        }
    }
    sink.end_field();
}

/// The words to find.
#[derive(Debug)]
pub(super) struct Query {
    /// The pieces, whose text a field may start with.
    pub(super) pieces: Vec<String>,
    /// All of it without separators.
    pub(super) squashed: String,
    /// What has to match, each once.
    pub(super) words: Vec<String>,
    /// Whether nothing is asked for, so that everything is found.
    pub(super) is_blank: bool,
}

impl Query {
    /// Reads a query. One that has signs but no words finds nothing.
    pub(super) fn of(text: &str) -> Query {
        let text = text.trim();
        let text = text.strip_prefix('+').unwrap_or(text);
        let mut pieces = Pieces::default();
        pieces.read(text);
        let mut words: Vec<String> = Vec::new();
        let mut add = |word: &str| {
            if words.len() < MAX_QUERY_WORDS && !words.iter().any(|known| known == word) {
                words.push(word.to_owned());
            }
        };
        for piece in pieces.iter().take(MAX_QUERY_WORDS) {
            if piece.is_spaceless {
                each_pair(piece.text, Ends::Within, &mut add);
            } else {
                add(cut(piece.text, MAX_WORD));
            }
        }
        Query {
            pieces: pieces
                .iter()
                .take(MAX_QUERY_WORDS)
                .map(|piece| cut(piece.text, MAX_WORD).to_owned())
                .collect(),
            squashed: pieces.squashed().to_owned(),
            words,
            is_blank: text.trim().is_empty(),
        }
    }
}

/// How many edits away a word of a tool may be from a word of a query.
pub(super) fn edits_allowed(word: &str) -> usize {
    match word.chars().take(8).count() {
        0..4 => 0,
        4..8 => 1,
        _ => 2,
    }
}

/// The words of a text, folded, in their order.
pub(super) fn plain_words(text: &str) -> Vec<String> {
    let mut pieces = Pieces::default();
    pieces.read(text);
    let mut words = Vec::new();
    for piece in pieces.iter().take(MAX_DOCUMENT_WORDS) {
        match piece.is_spaceless {
            true => each_pair(piece.text, Ends::Within, &mut |word: &str| {
                words.push(word.to_owned());
            }),
            false => words.push(cut(piece.text, MAX_WORD).to_owned()),
        }
    }
    words
}

/// A text, folded and split; made again by each [`Pieces::read`], so that reading many texts takes few allocations.
#[derive(Default)]
struct Pieces {
    /// All pieces, one after the other.
    text: String,
    /// Where each ends, and whether it is of a script without spaces.
    ends: Vec<(usize, bool)>,
}

struct Piece<'a> {
    text: &'a str,
    is_spaceless: bool,
}

impl Pieces {
    fn read(&mut self, text: &str) {
        self.text.clear();
        self.ends.clear();
        let text = &text[..text.floor_char_boundary(MAX_TEXT)];
        if text.is_ascii() {
            for byte in text.bytes() {
                if byte.is_ascii_alphanumeric() {
                    self.text.push(char::from(byte.to_ascii_lowercase()));
                } else {
                    self.end_piece(false);
                }
            }
            self.end_piece(false);
            return;
        }
        let mut was_spaceless = false;
        for c in folded(text) {
            if joins(c) {
                continue;
            }
            let is_inside = self.text.len() > self.start();
            if is_combining_mark(c) && is_inside {
                self.text.push(c);
            } else if c.is_alphanumeric() && !is_combining_mark(c) {
                let is_spaceless = has_no_spaces(c);
                if is_inside && is_spaceless != was_spaceless {
                    self.end_piece(was_spaceless);
                }
                was_spaceless = is_spaceless;
                self.text.push(c);
            } else {
                self.end_piece(was_spaceless);
            }
        }
        self.end_piece(was_spaceless);
    }

    /// Where the piece at hand starts.
    fn start(&self) -> usize {
        self.ends.last().map_or(0, |(end, _)| *end)
    }

    fn end_piece(&mut self, is_spaceless: bool) {
        if self.text.len() > self.start() {
            self.ends.push((self.text.len(), is_spaceless));
        }
    }

    fn iter(&self) -> impl Iterator<Item = Piece<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(end, _)| *end));
        starts
            .zip(&self.ends)
            .map(|(start, (end, is_spaceless))| Piece {
                text: &self.text[start..*end],
                is_spaceless: *is_spaceless,
            })
    }

    fn squashed(&self) -> &str {
        cut(&self.text, MAX_SQUASHED)
    }
}

/// The first runes of a text.
fn cut(text: &str, runes: usize) -> &str {
    // Most words are shorter than that in bytes.
    if text.len() <= runes {
        return text;
    }
    text.char_indices()
        .nth(runes)
        .map_or(text, |(end, _)| &text[..end])
}

fn folded(text: &str) -> impl Iterator<Item = char> {
    // Lower case first: a capital `ẞ` stands for itself, and only its small form is `SS`.
    text.nfc()
        .flat_map(char::to_lowercase)
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfc()
}

/// Whether a character only says how its neighbours are joined or broken: soft hyphen, joiners, byte order mark, variation selectors.
fn joins(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}'
    )
}

/// Whether a character is of a script that is written without spaces between words: Han, kana, Thai, Lao, Khmer, Burmese.
fn has_no_spaces(c: char) -> bool {
    matches!(
        c,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ff9f}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// What becomes of the last character of a piece.
#[derive(PartialEq)]
enum Ends {
    /// It is a word, so that a query of it alone finds it.
    Alone,
    /// It is only the second of a pair, unless it is the whole piece.
    Within,
}

/// Each two neighbours of a piece, characters with their marks.
fn each_pair(piece: &str, ends: Ends, mut take: impl FnMut(&str)) {
    let mut starts: Vec<usize> = piece
        .char_indices()
        .filter(|(at, c)| *at == 0 || !is_combining_mark(*c))
        .map(|(at, _)| at)
        .collect();
    starts.push(piece.len());
    for pair in starts.windows(3) {
        take(cut(&piece[pair[0]..pair[2]], MAX_WORD));
    }
    if ends == Ends::Alone || starts.len() == 2 {
        take(cut(&piece[starts[starts.len() - 2]..], MAX_WORD));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<String> {
        let mut pieces = Pieces::default();
        pieces.read(text);
        pieces.iter().map(|piece| piece.text.to_owned()).collect()
    }

    #[test]
    fn words_are_letters_and_digits_between_signs() {
        assert_eq!(
            pieces("Reads `src/Main.rs`, v2!"),
            ["reads", "src", "main", "rs", "v2"]
        );
        assert_eq!(pieces("read_file-now"), ["read", "file", "now"]);
        assert_eq!(pieces("हिन्दी में"), ["हिन्दी", "में"]);
        assert_eq!(pieces("co\u{ad}op🔧\u{fe0f}tool"), ["coop", "tool"]);
        assert!(pieces("\u{301}— 🔧").is_empty());
    }

    #[test]
    fn spellings_that_differ_in_case_or_composition_are_one() {
        assert_eq!(pieces("WE\u{301}ATHER"), pieces("wéather"));
        assert_eq!(pieces("ΟΔΟΣ"), pieces("οδος"));
        for spelling in ["STRASSE", "straße", "STRAẞE", "Strasse"] {
            assert_eq!(pieces(spelling), ["strasse"], "{spelling}");
        }
        for spelling in ["i", "I", "ı"] {
            assert_eq!(pieces(spelling), ["i"], "{spelling}");
        }
        assert_eq!(pieces("İ"), ["i\u{307}"]);
    }

    #[test]
    fn scripts_without_spaces_are_words_by_pairs() {
        let query = Query::of("PDF変換する");
        assert_eq!(query.pieces, ["pdf", "変換する"]);
        assert_eq!(query.words, ["pdf", "変換", "換す", "する"]);
        assert_eq!(Query::of("変").words, ["変"]);
    }

    #[test]
    fn a_query_may_start_with_a_plus_and_is_bounded() {
        assert_eq!(Query::of(" +readfile ").words, ["readfile"]);
        assert!(Query::of(" + ").is_blank);
        assert!(!Query::of("🔧").is_blank);
        assert!(Query::of("🔧").words.is_empty());
        let long = Query::of(&"word ".repeat(100));
        assert_eq!((long.words.len(), long.pieces.len()), (1, MAX_QUERY_WORDS));
        let long = Query::of(&"é".repeat(100_000));
        assert_eq!(long.words[0].chars().count(), MAX_WORD);
    }
}
