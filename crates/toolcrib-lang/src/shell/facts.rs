//! What a text does to variables anywhere in it, gathered while parsing: a value is certain only when nothing else can set it.

use std::collections::{HashMap, HashSet};

use super::syntax::{Assignment, Operation, Piece, Raw, Value};

/// Known facts about a text's variables.
#[derive(Debug, Default, Clone)]
pub(super) struct Facts {
    variables: HashMap<String, Fact>,
    /// Whether something may set variables whose names cannot be determined: `eval`, `source`, `read "$x"`.
    pub(super) anything: bool,
    /// Whether something sets `$1` and the like: `set -- x`.
    positions: bool,
    /// Functions that may change the directory.
    pub(super) moving: HashSet<String>,
    /// Variables that may be lists.
    lists: HashSet<String>,
}

/// How many letters of options may have a name attached; of more, any name may be meant.
const MAX_ATTACHED: usize = 16;

#[derive(Debug, Clone, Copy)]
struct Fact {
    sites: u32,
    numeric: bool,
}

impl Facts {
    /// Notes a place that sets a variable; `numeric` when only a number can come of it.
    pub(super) fn assign(&mut self, name: &str, numeric: bool) {
        if let Some(fact) = self.variables.get_mut(name) {
            fact.sites = fact.sites.saturating_add(1);
            fact.numeric &= numeric;
        } else {
            self.variables
                .insert(name.to_owned(), Fact { sites: 1, numeric });
        }
    }

    /// How many things are known, which is what a copy costs.
    pub(super) fn size(&self) -> usize {
        self.variables.len() + self.moving.len() + self.lists.len()
    }

    /// Whether the text sets the variable.
    pub(super) fn sets(&self, name: &str) -> bool {
        !self.variables.is_empty() && self.variables.contains_key(name)
    }

    /// Whether exactly one place sets the variable, and nothing else can.
    pub(super) fn sets_once(&self, name: &str) -> bool {
        !self.anything && self.variables.get(name).is_some_and(|fact| fact.sites == 1)
    }

    /// Whether arithmetic may use the variable: the text leaves it alone, or sets it to numbers only.
    pub(super) fn is_numeric(&self, name: &str) -> bool {
        !bash_sets_text(name) && self.variables.get(name).is_none_or(|fact| fact.numeric)
    }

    /// Whether the text may set `$1` and the like.
    pub(super) fn sets_positions(&self) -> bool {
        self.anything || self.positions
    }

    /// Whether a variable may be a list.
    pub(super) fn is_list(&self, name: &str) -> bool {
        self.lists.contains(name)
    }

    /// Adds what another text does that runs in the same shell.
    pub(super) fn merge(&mut self, other: &Facts) {
        self.anything |= other.anything;
        self.positions |= other.positions;
        self.moving.extend(other.moving.iter().cloned());
        self.lists.extend(other.lists.iter().cloned());
        for (name, fact) in &other.variables {
            let mine = self.variables.entry(name.clone()).or_insert(Fact {
                sites: 0,
                numeric: true,
            });
            mine.sites = mine.sites.saturating_add(fact.sites);
            mine.numeric &= fact.numeric;
        }
    }

    /// Notes the assignments of an arithmetic expression.
    pub(super) fn arithmetic(&mut self, pieces: &[Piece<'_>]) {
        let assigns = pieces.iter().any(|piece| match piece {
            Piece::Plain(text) => {
                text.contains("++") || text.contains("--") || has_assignment(text)
            }
            _ => false,
        });
        if !assigns {
            return;
        }
        for piece in pieces {
            if let Piece::Plain(text) = piece {
                for name in identifiers(text) {
                    self.assign(name, true);
                }
            } else if !matches!(piece, Piece::Text(_)) {
                self.anything = true;
            }
        }
    }

    /// Notes an assignment.
    pub(super) fn assignment(&mut self, assignment: &Assignment<'_>) {
        let numeric = match &assignment.value {
            Value::Word(word) => is_number(word),
            Value::Array(elements) => elements.iter().all(|(_, word)| is_number(word)),
        };
        self.assign(assignment.name, numeric);
        if assignment.subscript.is_some() || matches!(assignment.value, Value::Array(_)) {
            self.lists.insert(assignment.name.to_owned());
        }
    }

    /// Notes the variables that a builtin sets, given the command's words.
    pub(super) fn builtin(&mut self, words: &[Raw<'_>]) {
        let Some(name) = words.first().and_then(Raw::literal) else {
            // The walker doubts the command, or finds out which it is and doubts those that set variables.
            return;
        };
        match name.as_ref() {
            "printf" => {
                // It sets one only with `-v`, attached or not.
                let format = words.get(1).is_none_or(|word| match word.literal() {
                    Some(text) => !text.starts_with(['-', '{']),
                    None => {
                        matches!(word.pieces.first(), Some(Piece::Plain(text) | Piece::Text(text))
                        if !text.is_empty() && !text.starts_with(['-', '{']))
                    }
                });
                if !format {
                    for word in words.iter().skip(1).take(2) {
                        self.argument(word);
                    }
                }
            }
            "read" | "mapfile" | "readarray" | "getopts" | "unset" | "wait" | "let" | "export"
            | "declare" | "typeset" | "local" | "readonly" => {
                let lists = matches!(name.as_ref(), "mapfile" | "readarray")
                    || words[1..]
                        .iter()
                        .filter_map(Raw::literal)
                        .any(|option| option.starts_with('-') && option.contains(['a', 'A']));
                for word in &words[1..] {
                    self.argument(word);
                    if lists {
                        let name = word.source.split('=').next().unwrap_or(word.source);
                        self.lists.insert(name.to_owned());
                    }
                }
                match name.as_ref() {
                    "read" => self.assign("REPLY", false),
                    "mapfile" | "readarray" => self.assign("MAPFILE", false),
                    _ => {}
                }
            }
            "eval" | "." | "source" | "command" | "builtin" | "enable" | "coproc" => {
                self.anything = true;
            }
            "set" => {
                self.positions |= words[1..].iter().any(|word| {
                    word.literal()
                        .is_none_or(|text| text == "--" || !text.starts_with(['-', '+']))
                });
            }
            "trap" => {
                self.anything |= words
                    .get(1)
                    .is_some_and(|word| !word.literal().is_some_and(|text| sets_nothing(&text)));
            }
            _ => {}
        }
    }

    fn argument(&mut self, word: &Raw<'_>) {
        let whole = word.literal();
        let plain = match (&whole, word.pieces.first()) {
            (_, None) => return,
            (Some(whole), _) => whole.as_ref(),
            (None, Some(Piece::Plain(text) | Piece::Text(text))) => text.as_ref(),
            (None, Some(_)) => {
                self.anything = true;
                return;
            }
        };
        // `{x,y}` are two names.
        let before_value = plain.split('=').next().unwrap_or(plain);
        self.anything |= before_value.contains('{');
        let end = plain
            .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
            .unwrap_or(plain.len());
        let (name, rest) = plain.split_at(end);
        if name.is_empty() {
            // Options; `-n` makes a name stand for another.
            let harmless = whole.is_some()
                && (plain.starts_with('-') && !plain.contains('n')
                    || !plain.starts_with(['-', '+']));
            self.anything |= !harmless;
            // `printf -vx`, `read -rax`, `wait -px`: a name may be attached.
            let letters = plain.match_indices(['v', 'a', 'p']);
            self.anything |= letters.clone().count() > MAX_ATTACHED;
            for (at, _) in letters.take(MAX_ATTACHED) {
                if let Some(name) = identifiers(&plain[at + 1..]).next() {
                    self.assign(name, false);
                }
            }
            return;
        }
        if rest.is_empty() && whole.is_none() {
            self.anything = true;
            return;
        }
        let numeric = match rest.strip_prefix('=') {
            Some(value) if whole.is_some() => is_digits(value),
            Some("") if word.pieces.len() == 2 => is_numeric_piece(&word.pieces[1]),
            _ => false,
        };
        self.assign(name, numeric);
    }
}

/// Whether a text that is run later certainly sets no variable; functions in it are looked at where they are defined.
fn sets_nothing(text: &str) -> bool {
    let setting = [
        "read",
        "printf",
        "let",
        "unset",
        "mapfile",
        "readarray",
        "getopts",
        "for",
        "select",
        "eval",
        "source",
        "declare",
        "local",
        "export",
        "typeset",
        "readonly",
        "coproc",
        "wait",
        "command",
        "builtin",
        "enable",
        "trap",
    ];
    let signs = ["=", "((", "$[", ". ", "}>", "}<", "[", "`", "\\"];
    !signs.iter().any(|sign| text.contains(sign))
        && !text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .any(|word| setting.contains(&word))
}

/// Whether bash itself puts text into a variable that a text may have a hand in.
pub(super) fn bash_sets_text(name: &str) -> bool {
    matches!(
        name,
        "_" | "REPLY"
            | "OPTARG"
            | "MAPFILE"
            | "FUNCNAME"
            | "DIRSTACK"
            | "PWD"
            | "OLDPWD"
            | "COPROC"
    ) || ["BASH_", "COMP_", "READLINE_"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Whether only a number can come of a word.
pub(super) fn is_number(word: &Raw<'_>) -> bool {
    match word.pieces.as_slice() {
        [] => true,
        [piece] => is_numeric_piece(piece),
        _ => false,
    }
}

fn is_numeric_piece(piece: &Piece<'_>) -> bool {
    match piece {
        Piece::Plain(text) | Piece::Text(text) => is_digits(text) || is_sequence(text),
        Piece::Arithmetic { .. } => true,
        Piece::Parameter(parameter) => {
            parameter.operation == Operation::Length
                || parameter.operation == Operation::None
                    && matches!(
                        parameter.name,
                        "#" | "?" | "$" | "RANDOM" | "SECONDS" | "LINENO"
                    )
        }
        Piece::Substitution { source, .. } => prints_number(source),
        Piece::Backticks { .. } | Piece::Process { .. } => false,
    }
}

fn is_digits(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `{1..10}`
fn is_sequence(text: &str) -> bool {
    text.strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|inner| inner.contains("..") && inner.split("..").all(is_digits))
}

/// Whether a substitution can only print numbers. By its looks: a few habits that are everywhere.
pub(super) fn prints_number(source: &str) -> bool {
    let inner = source.trim_start_matches("$(").trim_end_matches(')').trim();
    if matches!(
        inner,
        "date +%s"
            | "date +%s%N"
            | "date +%s%3N"
            | "date '+%s'"
            | "date \"+%s\""
            | "nproc"
            | "id -u"
            | "id -g"
    ) {
        return true;
    }
    let plain = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b" ./_-".contains(&byte))
    };
    if let Some(rest) = inner.strip_prefix("seq ") {
        return rest.split(' ').all(is_digits);
    }
    // The last program of the pipeline prints; with a file name it would print that, too.
    let last = inner.rsplit('|').next().unwrap_or(inner).trim();
    if inner.contains('|') && matches!(last, "wc -l" | "wc -c" | "wc -w" | "wc -m") {
        return !inner.contains("||") && !inner.contains([';', '\n', '&']);
    }
    // `"$file"`, too.
    let variable = |text: &str| {
        let text = text.trim().trim_matches('"').strip_prefix('$');
        text.is_some_and(|name| {
            let name = name.trim_start_matches('{').trim_end_matches('}');
            name.bytes()
                .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        })
    };
    ["wc -l <", "wc -c <", "wc -w <"].iter().any(|start| {
        inner
            .strip_prefix(start)
            .is_some_and(|file| plain(file) || variable(file))
    })
}

/// The names in an arithmetic text.
pub(super) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric())
        .filter(|word| word.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic()))
}

fn has_assignment(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| {
        *byte == b'='
            && bytes.get(at + 1) != Some(&b'=')
            && !(at > 0 && matches!(bytes[at - 1], b'=' | b'!'))
    })
}
