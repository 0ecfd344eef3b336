//! Knowledge about programs: `programs.toml`, which `shell`, `rules`, `approval` and `template` share.
//!
//! The beginning of that file explains the facts. It is read when the first program is looked up, which takes 0.16 ms in a process that
//! just started.
//!
//! Names are those of programs without their directory.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::table::rows;

const TABLE: &str = include_str!("programs.toml");

macro_rules! facts {
    ($($fact:ident $key:literal)*) => {
        /// A key of the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[doc(hidden)]
        pub enum Fact { $($fact),* }

        impl Fact {
            #[cfg(test)]
            const ALL: &[Fact] = &[$(Fact::$fact),*];

            fn of(key: &str) -> Option<Fact> {
                Some(match key { $($key => Fact::$fact,)* _ => return None })
            }
        }
    };
}

facts! {
    Names "names" Like "like" Runs "runs" Removes "removes" Destroys "destroys" Once "once" Reader "reader"
    Flags "flags" Valued "valued" Optional "optional" Long "long" LongValued "long-valued"
    Before "before" Sets "sets" Moves "moves" Elsewhere "elsewhere" StartsShell "starts-shell"
    Verbs "verbs" Skips "skips" Commands "commands" Programs "programs" Loads "loads" Asks "asks"
    Unclear "unclear" Settings "settings" LoadsSettings "loads-settings" Signs "signs"
    Texts "texts" TextSigns "text-signs" Input "input" File "file" Keyword "keyword" Prints "prints" Output "output" Selects "selects" Reads "reads"
    Harmless "harmless" Language "language" Code "code" Values "values" Stops "stops"
    Scripts "scripts" Plain "plain" Starts "starts" Evals "evals" Odd "odd" Mains "mains"
    Evaluators "evaluators" Operands "operands" First "first" Unless "unless" Text "text"
    Writes "writes" InPlace "in-place" Leading "leading" Spelled "spelled"
    TakesValue "takes-value" Hosts "hosts" Evaluates "evaluates" Filter "filter"
    Opens "opens" Forbids "forbids" Executes "executes" Recipes "recipes" Script "script" Typed "typed"
}

impl Fact {
    /// Whether it holds only for the names of the table it is in: it would make a check of another program milder.
    fn is_own(self) -> bool {
        matches!(
            self,
            Fact::Names
                | Fact::Harmless
                | Fact::Output
                | Fact::Operands
                | Fact::First
                | Fact::Unless
                | Fact::Text
                | Fact::Writes
                | Fact::InPlace
                | Fact::Leading
                | Fact::Spelled
                | Fact::TakesValue
                | Fact::Hosts
                | Fact::Once
                | Fact::Selects
                | Fact::Script
                | Fact::Typed
        )
    }
}

/// A program of the table.
#[derive(Debug)]
#[doc(hidden)]
pub struct Program {
    name: &'static str,
    facts: Vec<(Fact, &'static str)>,
}

impl Program {
    /// The name of its table.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The words of a fact as they are written; empty if the fact does not hold.
    #[doc(hidden)]
    pub fn get(&self, fact: Fact) -> &'static str {
        let own = |fact: Fact| self.facts.iter().find(|(known, _)| *known == fact);
        if let Some((_, words)) = own(fact) {
            return words;
        }
        match own(Fact::Like) {
            Some((_, other)) if !fact.is_own() => {
                find(other).map(|other| other.get(fact)).unwrap_or_default()
            }
            _ => "",
        }
    }

    /// The words of a fact.
    pub(crate) fn words(&self, fact: Fact) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.get(fact).split_ascii_whitespace()
    }

    /// Whether a fact holds at all.
    #[doc(hidden)]
    pub fn has(&self, fact: Fact) -> bool {
        !self.get(fact).is_empty()
    }

    /// Whether a word is among those of a fact.
    pub(crate) fn lists(&self, fact: Fact, word: &str) -> bool {
        self.words(fact).any(|known| known == word)
    }
}

struct Table {
    programs: Vec<Program>,
    by_name: HashMap<&'static str, usize>,
}

static PROGRAMS: LazyLock<Table> = LazyLock::new(|| Table::read(TABLE));

impl Table {
    fn read(text: &'static str) -> Table {
        let mut table = Table {
            programs: Vec::with_capacity(300),
            by_name: HashMap::with_capacity(600),
        };
        for row in rows(text) {
            let at = table.programs.len();
            table.by_name.insert(row.name, at);
            let facts = row.values.into_iter();
            let facts = facts.filter_map(|(key, value)| Some((Fact::of(key)?, value)));
            let program = Program {
                name: row.name,
                facts: facts.collect(),
            };
            let names = program.words(Fact::Names).map(|name| (name, at));
            table.by_name.extend(names);
            table.programs.push(program);
        }
        table
    }
}

/// The program of this name.
#[doc(hidden)]
pub fn find(name: &str) -> Option<&'static Program> {
    let table = &*PROGRAMS;
    table.by_name.get(name).map(|at| &table.programs[*at])
}

/// The program of this name, or the one that this is a version of: `python3.12`. Only for facts that make a check stricter, and for
/// scripts of templates.
#[doc(hidden)]
pub fn version(name: &str) -> Option<&'static Program> {
    find(name).or_else(|| find(name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')))
}

/// Whether a fact of a program has this value.
#[doc(hidden)]
pub fn is(name: &str, fact: Fact, value: &str) -> bool {
    find(name).is_some_and(|program| program.get(fact) == value)
}

/// The programs of which a fact has this value, in the order of the table.
#[doc(hidden)]
pub fn with(fact: Fact, value: &str) -> impl Iterator<Item = &'static str> {
    PROGRAMS
        .programs
        .iter()
        .filter(move |program| program.get(fact) == value)
        .flat_map(|program| std::iter::once(program.name).chain(program.words(Fact::Names)))
}

#[cfg(test)]
#[path = "programs_tests.rs"]
mod tests;
