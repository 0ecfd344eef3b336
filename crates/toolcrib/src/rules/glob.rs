//! Patterns for names and paths, and whether a word of a command, which may itself be a pattern, can mean a path they name.
//!
//! Paths are compared name by name: `*`, `?` and `[…]` stay within a name, `**` is any number of names. A pattern that fits a
//! directory fits what is in it.

use super::place::{Located, Name, Root};

/// A pattern for one name, or for one word.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NameGlob {
    tokens: Vec<Token>,
    /// The whole, when nothing in it is a wildcard: comparing is then enough.
    literal: Option<String>,
    /// The texts between the stars, when there are no other wildcards: searching is then enough, however long the text.
    between: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Char(char),
    One,
    Many,
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl NameGlob {
    /// Reads a pattern; a backslash takes the next character's meaning away.
    pub(super) fn parse(text: &str) -> Self {
        let mut tokens = Vec::with_capacity(text.len());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            tokens.push(match c {
                '*' => {
                    if tokens.last() == Some(&Token::Many) {
                        continue;
                    }
                    Token::Many
                }
                '?' => Token::One,
                '[' => match class(&mut chars) {
                    Some(class) => class,
                    None => Token::Char('['),
                },
                '\\' => Token::Char(chars.next().unwrap_or('\\')),
                c => Token::Char(c),
            });
        }
        NameGlob::of(tokens)
    }

    /// The pattern that fits exactly this text.
    pub(super) fn exactly(text: &str) -> Self {
        NameGlob::of(text.chars().map(Token::Char).collect())
    }

    fn of(tokens: Vec<Token>) -> Self {
        let mut between = Some(vec![String::new()]);
        for token in &tokens {
            match (token, &mut between) {
                (Token::Char(c), Some(texts)) => {
                    texts.last_mut().into_iter().for_each(|text| text.push(*c));
                }
                (Token::Many, Some(texts)) => texts.push(String::new()),
                (Token::One | Token::Class { .. }, _) => between = None,
                (_, None) => {}
            }
        }
        let literal = match between.as_deref() {
            Some([whole]) => Some(whole.clone()),
            _ => None,
        };
        NameGlob {
            tokens,
            literal,
            between,
        }
    }

    /// This pattern followed by another.
    pub(super) fn then(mut self, other: NameGlob) -> Self {
        self.tokens.extend(other.tokens);
        NameGlob::of(self.tokens)
    }

    /// How many characters it fixes.
    pub(super) fn fixed(&self) -> usize {
        let fixed = |token: &&Token| matches!(token, Token::Char(c) if *c != '.');
        self.tokens.iter().filter(fixed).count()
    }

    /// Whether the text fits.
    pub(super) fn matches(&self, text: &str) -> bool {
        match (&self.literal, self.between.as_deref()) {
            (Some(literal), _) => literal == text,
            (None, Some([first, middle @ .., last])) => {
                let Some(mut rest) = text.strip_prefix(first.as_str()) else {
                    return false;
                };
                for piece in middle {
                    match rest.split_once(piece.as_str()) {
                        Some((_, after)) => rest = after,
                        None => return false,
                    }
                }
                rest.ends_with(last.as_str())
            }
            (None, _) => overlap(
                &self.tokens,
                &text.chars().map(Token::Char).collect::<Vec<_>>(),
            ),
        }
    }

    /// Whether some text fits both this and a pattern of a shell, which by itself fits no leading dot.
    pub(super) fn may_match(&self, shell: &NameGlob) -> bool {
        let hidden = self.tokens.first() == Some(&Token::Char('.'));
        let wild = !matches!(shell.tokens.first(), Some(Token::Char(_)) | None);
        !(hidden && wild) && overlap(&self.tokens, &shell.tokens)
    }
}

fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<Token> {
    let mut ahead = chars.clone();
    let negated = matches!(ahead.peek(), Some('!' | '^'));
    if negated {
        ahead.next();
    }
    let mut ranges = Vec::new();
    loop {
        let low = match ahead.next()? {
            ']' if !ranges.is_empty() => break,
            '\\' => ahead.next()?,
            c => c,
        };
        let high = match ahead.peek() {
            Some('-') => {
                let mut after = ahead.clone();
                after.next();
                match after.next()? {
                    ']' => low,
                    high => {
                        ahead = after;
                        high
                    }
                }
            }
            _ => low,
        };
        ranges.push((low, high));
    }
    *chars = ahead;
    Some(Token::Class { negated, ranges })
}

/// Whether some text fits both.
fn overlap(a: &[Token], b: &[Token]) -> bool {
    // `row[j]`: the tokens of `a` read so far and the first j of `b` have a common text.
    let mut row = vec![false; b.len() + 1];
    row[0] = true;
    for (j, token) in b.iter().enumerate() {
        row[j + 1] = row[j] && *token == Token::Many;
    }
    for left in a {
        let mut next = vec![false; b.len() + 1];
        next[0] = row[0] && *left == Token::Many;
        for (j, right) in b.iter().enumerate() {
            next[j + 1] = match (left, right) {
                (Token::Many, _) => row[j + 1] || next[j] || (row[j] && *right == Token::Many),
                (_, Token::Many) => next[j] || row[j + 1],
                _ => row[j] && meet(left, right),
            };
        }
        row = next;
    }
    row[b.len()]
}

fn meet(a: &Token, b: &Token) -> bool {
    match (a, b) {
        (Token::Char(a), Token::Char(b)) => a == b,
        (Token::Class { negated, ranges }, Token::Char(c))
        | (Token::Char(c), Token::Class { negated, ranges }) => {
            ranges.iter().any(|(low, high)| (low..=high).contains(&c)) != *negated
        }
        // Two classes may have a character in common; which one does not matter.
        (Token::Class { .. }, Token::Class { .. }) => true,
        (Token::One | Token::Many, _) | (_, Token::One | Token::Many) => true,
    }
}

/// A pattern for paths.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathGlob {
    from: From,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum From {
    /// `/…`
    FileSystem,
    /// `~/…`
    Home,
    /// `dir/…`
    Workspace,
    /// `**/…`, or a name without a slash.
    Anywhere,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Name(NameGlob),
    /// `**`
    Any,
}

/// How many patterns a list in braces may stand for.
const MAX_BRACES: usize = 64;

impl PathGlob {
    /// Reads a pattern; `{a,b}` makes it several.
    pub(super) fn parse(text: &str) -> Result<Vec<PathGlob>, String> {
        let mut texts = vec![text.to_owned()];
        while let Some(at) = texts.iter().position(|text| text.contains('{')) {
            let text = texts.swap_remove(at);
            let (before, rest) = text.split_once('{').unwrap_or_default();
            let Some((list, after)) = rest.split_once('}') else {
                return Err(format!("`{text}` opens a `{{` that nothing closes"));
            };
            if list.contains('{') {
                return Err(format!("`{text}` has braces inside braces"));
            }
            texts.extend(list.split(',').map(|one| format!("{before}{one}{after}")));
            if texts.len() > MAX_BRACES {
                return Err(format!(
                    "its braces stand for more than {MAX_BRACES} patterns"
                ));
            }
        }
        texts.iter().map(|text| PathGlob::one(text)).collect()
    }

    fn one(text: &str) -> Result<PathGlob, String> {
        let (from, rest) = if let Some(rest) = text.strip_prefix('/') {
            (From::FileSystem, rest)
        } else if text == "~" {
            (From::Home, "")
        } else if let Some(rest) = text.strip_prefix("~/") {
            (From::Home, rest)
        } else if text.starts_with("**/") || !text.trim_end_matches('/').contains('/') {
            (From::Anywhere, text)
        } else {
            (From::Workspace, text)
        };
        let mut steps = Vec::new();
        if from == From::Anywhere {
            steps.push(Step::Any);
        }
        for name in rest.split('/') {
            match name {
                "" | "." => {}
                ".." => return Err(format!("`{text}` has `..` in it; write where it leads")),
                "**" if steps.last() == Some(&Step::Any) => {}
                "**" => steps.push(Step::Any),
                name => steps.push(Step::Name(NameGlob::parse(name))),
            }
        }
        if text.is_empty() || (steps == [Step::Any] && from == From::Anywhere) {
            return Err("it fits every path".to_owned());
        }
        // What fits a directory fits what is in it.
        if steps.last() != Some(&Step::Any) {
            steps.push(Step::Any);
        }
        Ok(PathGlob { from, steps })
    }

    /// Whether a path, which may itself have wildcards, can be one that this names.
    pub(super) fn matches(&self, path: &Located, workspace: &[Name]) -> bool {
        let names = path.names.as_slice();
        match (self.from, path.root) {
            // Anything anywhere fits `*`, and `ls *` names nothing in particular.
            (From::Anywhere, _) => fits_if(&self.steps, &[names], |name| {
                name.glob.as_ref().is_none_or(|glob| glob.fixed() > 1)
            }),
            (From::FileSystem, Root::FileSystem)
            | (From::Home, Root::Home)
            | (From::Workspace, Root::Workspace) => fits(&self.steps, &[names]),
            // A pattern that covers the whole workspace is about what is around it.
            (From::FileSystem, Root::Workspace) => {
                !workspace.is_empty() && self.reaches_into(workspace, names)
            }
            (From::FileSystem, Root::Home) => fits(
                &self.steps,
                &[&[Name::fixed("home"), Name::unknown()], names],
            ),
            (From::Home, Root::FileSystem) => {
                beneath_a_home(names).is_some_and(|below| fits(&self.steps, &[below]))
            }
            (From::Home, Root::Workspace) => {
                beneath_a_home(workspace).is_some_and(|below| self.reaches_into(below, names))
            }
            (From::Workspace, _) | (_, Root::Temporary | Root::Unknown) => false,
        }
    }
}

impl PathGlob {
    fn reaches_into(&self, workspace: &[Name], names: &[Name]) -> bool {
        fits(&self.steps, &[workspace, names]) && !fits(&self.steps, &[workspace])
    }
}

/// The rest of an absolute path that leads through somebody's home directory.
fn beneath_a_home(names: &[Name]) -> Option<&[Name]> {
    match names {
        [root, rest @ ..] if root.text == "root" => Some(rest),
        [homes, _, rest @ ..] if matches!(homes.text.as_str(), "home" | "Users") => Some(rest),
        _ => None,
    }
}

/// Whether a path, given in pieces, fits: a walk along both that goes back to the last `**` when it is stuck.
fn fits(steps: &[Step], pieces: &[&[Name]]) -> bool {
    fits_if(steps, pieces, |_| true)
}

fn fits_if(steps: &[Step], pieces: &[&[Name]], enough: impl Fn(&Name) -> bool) -> bool {
    let length: usize = pieces.iter().map(|piece| piece.len()).sum();
    let name = |mut index: usize| {
        for piece in pieces {
            match piece.get(index) {
                Some(name) => return Some(name),
                None => index -= piece.len(),
            }
        }
        None
    };
    let (mut step, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match (steps.get(step), name(at)) {
            (Some(Step::Any), _) => {
                if step + 1 == steps.len() {
                    return true;
                }
                retry = Some((step, at));
                step += 1;
                continue;
            }
            (Some(Step::Name(glob)), Some(name)) if enough(name) && name.may_be(glob) => {
                step += 1;
                at += 1;
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        match retry {
            Some((any, from)) if from < length => {
                retry = Some((any, from + 1));
                step = any + 1;
                at = from + 1;
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::place::Where;
    use super::*;
    use crate::shell::{Part, Word};

    #[test]
    fn wildcards_stay_within_a_name() {
        for (pattern, text, expected) in [
            ("mkfs*", "mkfs.ext4", true),
            ("mkfs*", "mkfs", true),
            ("id_?sa", "id_rsa", true),
            ("id_[a-s]sa", "id_rsa", true),
            ("id_[!a-s]sa", "id_rsa", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("[", "[", true),
            ("[]]", "]", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(
                NameGlob::parse(pattern).matches(text),
                expected,
                "{pattern} {text}"
            );
        }
    }

    fn matches(pattern: &str, word: Word) -> bool {
        let place = Where::new(Some("/home/ada/project".as_ref()), None);
        let located = place.locate(&word, &Default::default());
        PathGlob::parse(pattern)
            .unwrap()
            .iter()
            .any(|glob| glob.matches(&located, place.workspace()))
    }

    fn text(text: &str) -> Word {
        Word::text(text)
    }

    #[test]
    fn a_path_is_compared_name_by_name_from_where_the_pattern_starts() {
        for (pattern, path, expected) in [
            ("/etc/passwd", "/etc/passwd", true),
            ("/etc/passwd", "/etc//./x/../passwd", true),
            ("/etc/passwd", "../../../etc/passwd", true),
            ("/etc/passwd", "etc/passwd", false),
            ("/etc/passwd", "/etc/passwd-", false),
            ("**/.ssh/**", ".ssh", true),
            ("**/.ssh/**", "a/b/.ssh/id_rsa", true),
            ("**/.ssh/**", "a/b.ssh", false),
            (".ssh", "/x/.ssh/id", true),
            ("*.pem", "keys/a.pem", true),
            ("*.pem", "keys/a.pem.txt", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/b/a.rs", false),
            ("src/**/*.rs", "src/b/c/a.rs", true),
            ("src/**", "/home/ada/project/src/x", true),
            ("src/**", "/home/ada/other/src/x", false),
            ("/home/ada/project/x", "x", true),
            ("/home/ada/**", "x", false),
            ("/home/ada/**", "../x", true),
            ("~/.aws/**", "/home/bob/.aws/credentials", true),
            ("~/.aws/**", "/root/.aws", true),
            ("~/.aws/**", "/srv/.aws", false),
            ("~/project/x", "x", true),
            ("/etc/{shadow,gshadow}", "/etc/gshadow", true),
            ("a/**/b/**/c/d", "a/b/c/b/c/c/d", true),
            ("/", "/anything", true),
        ] {
            assert_eq!(matches(pattern, text(path)), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_wildcard_in_the_command_can_mean_what_the_pattern_names() {
        let word = |parts: &[Part]| Word {
            parts: parts.to_vec(),
            splits: false,
        };
        let (t, g) = (
            |s: &str| Part::Text(s.to_owned()),
            |s: &str| Part::Glob(s.to_owned()),
        );
        assert!(matches("/etc/passwd", word(&[t("/etc/pass"), g("*")])));
        assert!(matches(
            "/etc/passwd",
            word(&[t("/e"), g("?"), t("c/passwd")])
        ));
        assert!(!matches("/etc/passwd", word(&[t("/etc/host"), g("*")])));
        // A shell's wildcard fits no leading dot.
        assert!(!matches("**/.ssh/**", word(&[t("a/"), g("*")])));
        assert!(matches("**/.ssh/**", word(&[t("a/.ss"), g("*")])));
        assert!(
            !matches("**/id_rsa", word(&[g("*")])),
            "it names nothing in particular"
        );
        let home = Part::Variable("HOME".to_owned());
        assert!(matches(
            "~/.aws/**",
            word(&[home.clone(), t("/.aws/credentials")])
        ));
        assert!(matches(
            "/home/*/.aws",
            word(&[home, t("/.aws/credentials")])
        ));
        // What is only known when it runs fits no fixed name, but what follows it can be seen.
        let dynamic = Part::Dynamic("$(f)".to_owned());
        assert!(!matches(
            "/etc/passwd",
            word(&[t("/etc/"), dynamic.clone()])
        ));
        assert!(matches("**/.ssh/**", word(&[dynamic, t("/.ssh/id")])));
    }

    #[test]
    fn patterns_that_mean_nothing_or_everything_are_refused() {
        for pattern in ["", "**", "**/**", "a/../b", "{a", "{a,{b}}"] {
            assert!(PathGlob::parse(pattern).is_err(), "{pattern}");
        }
    }
}
