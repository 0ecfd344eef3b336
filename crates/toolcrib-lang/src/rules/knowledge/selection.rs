//! What a `find` that removes selects: files of certain names only, or perhaps everything.
//!
//! Order counts: `find . -delete -name x` removes everything before it looks at a name. So the expression is gone through as
//! `find` does it, and every action that removes must come after a test of the name that it depends on.

use super::removal::PRECIOUS;
use crate::rules::invocation::{Arg, Invocation};
use crate::rules::name_glob::NameGlob;

/// Names that git's own files have. What selects them selects those.
const GIT_FILES: [&str; 3] = ["HEAD", "index", "packed-refs"];

/// How deep parentheses are followed.
const MAX_DEPTH: usize = 30;

/// A `find` command, as far as it removes.
pub(super) struct FindRemoval<'i, 's> {
    /// Where it starts; none is the current directory.
    pub(super) starts: &'i [Arg<'s>],
    /// Whether a file says where it starts.
    pub(super) starts_from_file: bool,
    /// The removed targets; `None` when nothing is removed.
    pub(super) selection: Option<Selection>,
    /// What passes all tests, and so what is printed if nothing else is done with it.
    pub(super) listed: Selection,
}

/// The removed targets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Selection {
    Everything,
    /// Files of certain names only.
    Names,
    /// Unknown.
    Mixed,
}

impl<'i, 's> FindRemoval<'i, 's> {
    /// Reads a `find` command; `removes` says which programs after `-exec` do.
    pub(super) fn of(command: &'i Invocation<'s>, removes: fn(&str) -> bool) -> Self {
        let mut args = command.args.as_slice();
        while let [first, rest @ ..] = args {
            args = match first.text.as_ref() {
                "-H" | "-L" | "-P" => rest,
                "-D" => rest.get(1..).unwrap_or_default(),
                text if text.starts_with("-O") => rest,
                _ => break,
            };
        }
        let count = args
            .iter()
            .take_while(|arg| !arg.text.starts_with(['-', '(', ')', '!', '\\', ',']))
            .count();
        let (starts, expression) = args.split_at(count);
        let mut walk = Walk {
            args: expression,
            at: 0,
            program_removes: removes,
            removes: false,
            unguarded: false,
            precious: false,
            unclear: false,
            branches: false,
        };
        let mut named = false;
        while walk.at < walk.args.len() {
            named = walk.list(false, 0);
            // A parenthesis too many.
            walk.at += 1;
        }
        let selection =
            walk.removes
                .then_some(if walk.unguarded && !walk.branches && !walk.unclear {
                    Selection::Everything
                } else if walk.unguarded || walk.precious || walk.unclear {
                    Selection::Mixed
                } else {
                    Selection::Names
                });
        FindRemoval {
            starts,
            starts_from_file: expression.iter().any(|arg| arg.text == "-files0-from"),
            selection,
            listed: match named && !walk.unclear && !walk.precious {
                true => Selection::Names,
                false => Selection::Mixed,
            },
        }
    }
}

/// Goes through an expression. `named` is whether files that get there are known to have passed a test of their name.
struct Walk<'i, 's> {
    args: &'i [Arg<'s>],
    at: usize,
    program_removes: fn(&str) -> bool,
    removes: bool,
    /// Something is removed whatever its name is.
    unguarded: bool,
    /// A name that is selected may be one of the precious.
    precious: bool,
    /// A word in it is not known.
    unclear: bool,
    /// There is more in it than "and".
    branches: bool,
}

impl Walk<'_, '_> {
    fn peek(&self) -> Option<&str> {
        self.args.get(self.at).map(|arg| arg.text.as_ref())
    }

    fn list(&mut self, named: bool, depth: usize) -> bool {
        let mut last = self.or(named, depth);
        while self.peek() == Some(",") {
            self.branches = true;
            self.at += 1;
            last = self.or(named, depth);
        }
        last
    }

    fn or(&mut self, named: bool, depth: usize) -> bool {
        let mut all = self.and(named, depth);
        while matches!(self.peek(), Some("-o" | "-or")) {
            self.branches = true;
            self.at += 1;
            all &= self.and(named, depth);
        }
        all
    }

    fn and(&mut self, mut named: bool, depth: usize) -> bool {
        loop {
            match self.peek() {
                None | Some("-o" | "-or" | "," | ")") => return named,
                Some("-a" | "-and") => self.at += 1,
                Some(_) => named = self.term(named, depth),
            }
        }
    }

    fn term(&mut self, named: bool, depth: usize) -> bool {
        let Some(arg) = self.args.get(self.at) else {
            return named;
        };
        self.at += 1;
        if !arg.word.is_static() {
            self.unclear = true;
            return named;
        }
        match arg.text.as_ref() {
            "!" | "-not" => {
                self.branches = true;
                if depth < MAX_DEPTH {
                    self.term(named, depth + 1);
                } else {
                    self.unclear = true;
                }
                named
            }
            "(" if depth < MAX_DEPTH => {
                let inner = self.list(named, depth + 1);
                self.at += 1;
                inner
            }
            "(" => {
                self.unclear = true;
                named
            }
            "-name" | "-iname" => named | self.pattern(|pattern| pattern.to_owned()),
            "-path" | "-ipath" | "-wholename" | "-iwholename" => {
                self.precious |= self.args.get(self.at).is_some_and(|pattern| {
                    let names = pattern.text.split('/').map(NameGlob::parse);
                    let mut fixed = names.filter(|name| name.fixed() > 0);
                    fixed.any(|name| PRECIOUS.iter().any(|precious| name.matches(precious)))
                });
                named | self.pattern(|pattern| pattern.replace('/', ""))
            }
            "-empty" => true,
            "-delete" => {
                self.removes = true;
                self.unguarded |= !named;
                named
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                self.action(named);
                named
            }
            "-fprintf" => {
                self.at += 2;
                named
            }
            "-daystart"
            | "-depth"
            | "-d"
            | "-follow"
            | "-mount"
            | "-xdev"
            | "-noleaf"
            | "-true"
            | "-false"
            | "-nouser"
            | "-nogroup"
            | "-readable"
            | "-writable"
            | "-executable"
            | "-print"
            | "-print0"
            | "-ls"
            | "-prune"
            | "-quit"
            | "-warn"
            | "-nowarn"
            | "-ignore_readdir_race"
            | "-noignore_readdir_race" => named,
            // The others have one.
            _ => {
                self.at += 1;
                named
            }
        }
    }

    /// The pattern that comes next: whether it fixes something of a name.
    fn pattern(&mut self, tidy: impl Fn(&str) -> String) -> bool {
        let Some(arg) = self.args.get(self.at) else {
            return false;
        };
        self.at += 1;
        if !arg.word.is_static() {
            self.unclear = true;
            return false;
        }
        let pattern = NameGlob::parse(&tidy(&arg.text));
        let mut precious = PRECIOUS.iter().chain(&GIT_FILES);
        self.precious |= pattern.fixed() > 0 && precious.any(|precious| pattern.matches(precious));
        pattern.fixed() > 0
    }

    /// `-exec … ;`
    fn action(&mut self, named: bool) {
        let words = &self.args[self.at..];
        let end = words.iter().enumerate().position(|(index, arg)| {
            arg.text == ";" || arg.text == "+" && index > 0 && words[index - 1].text == "{}"
        });
        let program = words.first().map(|arg| arg.text.as_ref()).unwrap_or("");
        if (self.program_removes)(program.rsplit('/').next().unwrap_or(program)) {
            self.removes = true;
            self.unguarded |= !named;
        }
        self.at += end.map_or(words.len(), |end| end + 1);
    }
}
