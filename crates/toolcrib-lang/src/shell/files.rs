//! Which files a text runs: what an approval of it is bound to.
//!
//! The readers of shells, interpreters and builtins know which word is a script and note it here; programs that are named by a path
//! are noted for every command. Only fixed words count. A script's own scripts, modules that it loads and build files
//! (`Makefile`, `package.json`) are not looked for.

use super::programs::{self, Fact};
use super::script::{
    Directory, Part, RedirectKind, RunFile, Script, SimpleCommand, Word, base_name,
};
use super::walk::Walker;

/// The most directories that a text is followed into.
const MAX_VISITED: usize = 32;

/// The most files that are noted of one text.
const MAX_FILES: usize = 200;

/// The most words of which one may be the script.
const MAX_NAMES: usize = 16;

impl Walker {
    /// Notes the program of a command, if a path names it, and the script of an interpreter that has no reader here.
    pub(super) fn note_program(&mut self, command: &SimpleCommand) {
        let Some(first) = command.words.first() else {
            return;
        };
        let at = self.script.commands.len();
        // Most are plain names.
        if first.as_static().is_none_or(|path| path.contains('/'))
            && let Some(path) = fixed(first)
        {
            self.note(vec![path], at, false);
        }
        let name = command.name().unwrap_or_default();
        let second = command.words.get(1).and_then(Word::as_static);
        let file = programs::find(name).map_or("", |program| program.get(Fact::File));
        let skipped = match (file, second) {
            ("run", Some("run")) => 2,
            ("run", Some(file)) if file.contains('.') => 1,
            ("first", _) => 1,
            _ if name.starts_with("ld-linux") => 1,
            _ => 0,
        };
        if skipped > 0 {
            let words = command.words[skipped..].iter().filter_map(fixed);
            let words = words.filter(|word| !word.starts_with('-'));
            self.note(words.take(MAX_NAMES).collect(), at, true);
        }
    }

    /// Notes the script of the command that was listed last.
    pub(super) fn note_script(&mut self, file: &Word) {
        self.note_any(file, []);
    }

    /// As [`note_script`](Self::note_script), for an interpreter that also tries the name with one of these after it.
    pub(super) fn note_any<'a>(&mut self, file: &Word, others: impl IntoIterator<Item = &'a str>) {
        if let Some(path) = fixed(file) {
            let others = others.into_iter().map(|other| format!("{path}{other}"));
            let names = std::iter::once(path.clone()).chain(others).collect();
            self.note(names, self.script.commands.len().saturating_sub(1), false);
        }
    }

    /// Notes the files that a Python module that is run may be.
    pub(super) fn note_module(&mut self, module: Option<&Word>) {
        let Some(module) = module.and_then(Word::as_static) else {
            return;
        };
        let path = module.replace('.', "/");
        let at = self.script.commands.len().saturating_sub(1);
        // All of a package's `__init__.py` run, and a package that appears beside a module of its name takes its place.
        let packages = path.match_indices('/').map(|(end, _)| &path[..end]);
        for package in packages.chain([path.as_str()]).take(MAX_NAMES) {
            self.note(vec![format!("{package}/__init__.py")], at, true);
        }
        self.note(vec![format!("{path}/__main__.py")], at, true);
        self.note(vec![format!("{path}.py")], at, true);
    }

    /// Notes that a `cd` may lead here.
    pub(super) fn note_visit(&mut self, path: &str) {
        let from = std::iter::once(Directory::Start).chain(self.visited.clone());
        for directory in from {
            let to = directory.join(path);
            let is_known = to == Directory::Unknown || self.visited.contains(&to);
            if !is_known && self.visited.len() < MAX_VISITED {
                self.visited.push(to);
            }
        }
    }

    fn note(&mut self, names: Vec<String>, command: usize, optional: bool) {
        if names.is_empty() {
            return;
        }
        let directories = match &self.directory {
            Directory::Unknown => {
                self.script.has_more_files |= self.visited.len() >= MAX_VISITED;
                let visited = self.visited.iter();
                let visited = visited.filter(|place| **place != Directory::Start);
                std::iter::once(Directory::Start)
                    .chain(visited.cloned())
                    .collect()
            }
            known => vec![known.clone()],
        };
        let is_same = |file: &&mut RunFile| file.names == names && file.directories == directories;
        if let Some(known) = self.script.files.listed.iter_mut().find(is_same) {
            known.command = known.command.max(command);
            known.optional &= optional;
        } else if self.script.files.listed.len() < MAX_FILES {
            self.script.files.listed.push(RunFile {
                names,
                directories,
                command,
                optional,
            });
        } else {
            self.script.has_more_files = true;
        }
    }
}

/// The path that a word is: fixed text, or fixed text below the current directory.
fn fixed(word: &Word) -> Option<String> {
    if let Some(text) = word.as_static() {
        return (!text.is_empty()).then(|| text.to_owned());
    }
    match word.parts.as_slice() {
        [Part::Variable(name), Part::Text(rest)] if name == "PWD" && rest.starts_with('/') => {
            Some(format!(".{rest}"))
        }
        [Part::Dynamic(source), Part::Text(rest)]
            if matches!(source.as_str(), "$(pwd)" | "`pwd`") && rest.starts_with('/') =>
        {
            Some(format!(".{rest}"))
        }
        [Part::Variable(name), Part::Text(rest)] if name == "HOME" && rest.starts_with('/') => {
            Some(format!("~{rest}"))
        }
        _ => None,
    }
}

/// The files that a text of which not everything could be understood reads: they may be what it runs, as in `cat x | sh`.
#[doc(hidden)]
pub fn read_files(script: &Script) -> Vec<RunFile> {
    let mut files = Vec::new();
    let mut add = |word: &Word, directory: &Directory, command: usize, optional: bool| {
        if let Some(path) = fixed(word).filter(|path| !path.starts_with('-')) {
            files.push(RunFile {
                names: vec![path],
                directories: vec![directory.clone()],
                command,
                optional,
            });
        }
    };
    for (index, command) in script.commands.iter().enumerate() {
        let reads = |redirect: &&super::Redirect| redirect.kind == RedirectKind::Read;
        for redirect in command.redirects.iter().filter(reads) {
            add(&redirect.target, &redirect.directory, index, false);
        }
        if command
            .name()
            .is_some_and(|name| programs::is(name, Fact::Reads, "yes"))
        {
            let words = command.words[1..].iter();
            words.for_each(|word| add(word, &command.directory, index, true));
        }
    }
    files
}

/// Whether a command before the one that runs a file may change that file: then what runs is what that command left. All commands
/// are before a file of a later text, and all others are where the order is not known.
#[doc(hidden)]
pub fn may_change(script: &Script, file: &RunFile) -> bool {
    let runs = script.commands.get(file.command);
    let is_target = |target: &Word| {
        let is_other = target.as_static().is_some_and(|target| {
            let is_other = |name: &String| base_name(name) != base_name(target);
            target.starts_with("/dev/") || file.names.iter().all(is_other)
        });
        !is_other
    };
    let writes = |redirect: &super::Redirect| {
        redirect.kind == RedirectKind::Write && is_target(&redirect.target)
    };
    let changes = |command: &SimpleCommand| {
        let is_harmless = command.words.is_empty()
            || command.name().is_some_and(|name| {
                let wraps = runs.is_some_and(|runs| runs.via.iter().any(|via| via == name));
                let copies = name == "tee" && !command.words[1..].iter().any(is_target);
                wraps || copies || programs::is(name, Fact::Harmless, "yes")
            });
        !is_harmless || command.redirects.iter().any(writes)
    };
    let runs_again = |command: &SimpleCommand| {
        let mut via = command.via.iter();
        via.any(|via| !programs::is(via, Fact::Once, "yes"))
    };
    let in_any_order = script.files.in_any_order || script.commands.iter().any(runs_again);
    let mut others = script.commands.iter().enumerate();
    others.any(|(at, command)| {
        (at < file.command || in_any_order && at > file.command) && changes(command)
    })
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    /// The files as `names in directories`.
    fn files(text: &str) -> Vec<String> {
        let shown = |directory: &Directory| match directory {
            Directory::Start => ".".to_owned(),
            Directory::Known(path) => path.clone(),
            Directory::Unknown => "?".to_owned(),
        };
        let script = read(text);
        let files = script.files.listed.iter();
        files
            .map(|file| {
                let places: Vec<String> = file.directories.iter().map(shown).collect();
                format!("{} in {}", file.names.join("|"), places.join("|"))
            })
            .collect()
    }

    #[test]
    fn programs_and_scripts_that_fixed_words_name_are_found() {
        for (text, found) in [
            ("./deploy.sh now", &["./deploy.sh in ."][..]),
            ("sh ./deploy.sh", &["./deploy.sh in ."]),
            ("bash -eu -o pipefail x y", &["x in ."]),
            ("sh -c './a.sh; sh b.sh'", &["./a.sh in .", "b.sh in ."]),
            ("env A=b sudo ./x", &["./x in ."]),
            (". ./env.sh", &["./env.sh in ."]),
            ("source lib.sh", &["lib.sh in ."]),
            (
                "python3 -W ignore x.py data.csv",
                &["x.py|x.py/__main__.py in ."],
            ),
            (
                "python3 -m pkg.tool",
                &[
                    "pkg/__init__.py in .",
                    "pkg/tool/__init__.py in .",
                    "pkg/tool/__main__.py in .",
                    "pkg/tool.py in .",
                ],
            ),
            (
                "python3 -mtool",
                &[
                    "tool/__init__.py in .",
                    "tool/__main__.py in .",
                    "tool.py in .",
                ],
            ),
            ("node src/x", &["src/x|src/x.js|src/x/index.js in ."]),
            ("perl -w x.pl y", &["x.pl in ."]),
            ("php -f x.php", &["x.php in ."]),
            ("awk -f x.awk data", &["x.awk in ."]),
            ("sed -f x.sed data", &["x.sed in ."]),
            ("make -f other.mk all", &["other.mk in ."]),
            ("deno run -A x.ts", &["x.ts in ."]),
            ("find . -name '*.c' -exec ./x.sh {} \\;", &["./x.sh in ."]),
            ("xargs ./x.sh < list", &["./x.sh in ."]),
            ("timeout 5 ./x.sh", &["./x.sh in ."]),
            ("cd sub && ./x.sh", &["./x.sh in sub"]),
            ("cd sub; ./x.sh", &["./x.sh in .|sub"]),
            ("cd a; cd b; ./x.sh", &["./x.sh in .|a|b|a/b"]),
            ("(cd a && ./x) && ./y", &["./x in a", "./y in ."]),
            ("\"$PWD/x.sh\"", &["./x.sh in ."]),
            ("sh \"$(pwd)/x.sh\"", &["./x.sh in ."]),
            ("sh ~/x.sh", &["~/x.sh in ."]),
            ("echo $(./x.sh)", &["./x.sh in ."]),
            (
                "if ./x.sh; then ./y.sh; fi",
                &["./x.sh in .", "./y.sh in ."],
            ),
        ] {
            assert_eq!(files(text), found, "{text}");
        }
    }

    #[test]
    fn files_that_are_only_read_or_written_are_not_run() {
        for text in [
            "cat notes.md",
            "git add src/x.rs",
            "cp a.sh b.sh",
            "python3 -c 'print(1)' data.csv",
            "bash -c 'cat \"$1\"' _ notes.md",
            "ls ./dir",
            "deno fmt x.ts",
            "grep -rn x ./src",
        ] {
            assert_eq!(files(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_file_is_changed_only_by_what_comes_before_and_may_write() {
        let changed = |text: &str| {
            let script = read(text);
            let files = script.files.listed.iter();
            files
                .map(|file| may_change(&script, file))
                .collect::<Vec<bool>>()
        };
        for (text, found) in [
            ("./x.sh", &[false][..]),
            ("cd sub && echo hi && ./x.sh 2>/dev/null", &[false]),
            ("A=b; test -f x && env C=d timeout 5 sh ./x.sh", &[false]),
            ("sh -c './x.sh'", &[false]),
            ("./x.sh && make", &[false]),
            ("make && ./x", &[true]),
            ("echo hi > x.sh; sh x.sh", &[true]),
            ("echo hi > log; sh x.sh", &[false]),
            ("cp y.sh x.sh && ./x.sh", &[true]),
            ("./a.sh && ./b.sh", &[false, true]),
            ("chmod +x x.sh && ./x.sh", &[true]),
        ] {
            assert_eq!(changed(text), found, "{text}");
        }
    }

    #[test]
    fn where_the_order_is_unknown_every_other_command_may_come_before() {
        let changed = |text: &str| {
            let script = read(text);
            let mut files = script.files.listed.iter();
            let file = files.find(|file| file.names == ["x.sh"]).unwrap();
            may_change(&script, file)
        };
        for text in [
            "for i in 1 2; do sh x.sh; ./a.sh; done",
            "while read l; do sh x.sh; ./a.sh; done < list",
            "for ((i = 0; i < 2; i++)); do sh x.sh; ./a.sh; done",
            "f() { sh x.sh; }; ./a.sh; f",
            "trap 'sh x.sh' EXIT; ./a.sh",
            "sh x.sh & ./a.sh",
            "sh x.sh | ./a.sh",
            "coproc { sh x.sh; }; ./a.sh",
            "cat <(sh x.sh) <(./a.sh)",
            "find . -exec sh -c 'sh x.sh; ./a.sh' \\;",
            "sh x.sh | tee x.sh",
            "sh x.sh | tee \"$f\"",
        ] {
            assert!(changed(text), "{text}");
        }
        for text in [
            "sh x.sh; ./a.sh",
            "if true; then sh x.sh; fi; ./a.sh",
            "sh -c 'sh x.sh; ./a.sh'",
            "for i in 1 2; do sh x.sh \"$i\"; done",
            "sh x.sh 2>&1 | tee log | head",
            "sh x.sh | jq . | tr a b",
            "sh x.sh &",
            "find . -exec sh x.sh {} \\;",
        ] {
            assert!(!changed(text), "{text}");
        }
    }

    #[test]
    fn a_text_with_more_files_than_are_listed_says_so() {
        let many =
            |count: usize| -> String { (0..count).map(|at| format!("./{at}.sh\n")).collect() };
        assert!(!read(&many(MAX_FILES)).has_more_files);
        assert!(read(&many(MAX_FILES + 1)).has_more_files);
        let same = read(&format!("{}./y.sh", "./x.sh\n".repeat(MAX_FILES * 2)));
        assert_eq!((same.files.listed.len(), same.has_more_files), (2, false));
        assert_eq!(same.files.listed[0].command, MAX_FILES * 2 - 1);
        let places: String = (0..MAX_VISITED).map(|at| format!("cd {at}; ")).collect();
        assert!(read(&format!("{places}./x.sh")).has_more_files);
    }

    #[test]
    fn what_may_be_fed_to_a_shell_is_found() {
        let read_of = |text: &str| {
            let files = read_files(&read(text));
            files
                .into_iter()
                .flat_map(|file| file.names)
                .collect::<Vec<String>>()
        };
        assert_eq!(read_of("cat x.sh | sh"), ["x.sh"]);
        assert_eq!(read_of("sh < x.sh"), ["x.sh"]);
        assert_eq!(read_of("eval \"$(cat x.sh)\""), ["x.sh"]);
        assert_eq!(read_of("bash <(cat x.sh)"), ["x.sh"]);
        assert_eq!(read_of("cp a b"), [""; 0]);
    }
}
