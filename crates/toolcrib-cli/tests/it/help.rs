//! What `--help` says, word for word.

use std::path::Path;

use crate::harness::{Test, golden};

#[test]
fn help_of_every_command_is_as_it_was_reviewed() {
    let test = Test::new();
    let mut commands = vec![Vec::<String>::new()];
    while let Some(command) = commands.pop() {
        let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
        words.push("--help");
        let help = test.run(&words).exits(0).stdout;
        let name = match command.join("-") {
            name if name.is_empty() => "toolcrib".to_owned(),
            name => name,
        };
        golden(&format!("help/{name}.txt"), &help);
        commands.extend(subcommands(&help).map(|word| [&command[..], &[word]].concat()));
        assert_eq!(
            help.contains("\nOptions of every command:\n"),
            name == "toolcrib",
            "only the first page lists the options of every command: {name}"
        );
    }
}

/// A paragraph is one line of its source, so that clap wraps it for the terminal at hand.
#[test]
fn a_paragraph_of_help_breaks_only_where_a_line_is_full() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/help");
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let help = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = help.lines().collect();
        for pair in lines.windows(2) {
            let is_prose = |line: &str| line.starts_with(|first: char| !first.is_whitespace());
            if !is_prose(pair[0]) || !is_prose(pair[1]) {
                continue;
            }
            let next = pair[1].split(' ').next().unwrap();
            let with_next = pair[0].chars().count() + 1 + next.chars().count();
            assert!(
                with_next > 100,
                "{}: `{next}` fits in the line before it: {}",
                path.display(),
                pair[0]
            );
        }
    }
}

#[test]
fn the_first_page_fits_a_terminal_and_says_what_this_is_for() {
    let test = Test::new();
    let page = test.run(&["--help"]).exits(0).stdout;
    assert!(page.lines().next().unwrap().contains("AI models"), "{page}");
    for heading in ["Use tools:", "Make tools:", "Options of every command:"] {
        assert!(page.lines().any(|line| line == heading), "{page}");
    }
    let groups = page
        .lines()
        .take_while(|line| !line.starts_with("Options of"));
    for line in groups.skip(1) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    test.run(&["run", "read_file", "--paht", "x"])
        .exits(2)
        .says("name=value: `paht=…`");
}

#[test]
fn verbs_that_people_try_work() {
    let test = Test::new().file("a.txt", "A");
    assert_eq!(
        test.run(&["call", "read_file", "path=a.txt"])
            .exits(0)
            .stdout,
        "A"
    );
    test.run(&["ls"]).exits(0).shows("read_file");
    test.run(&["bundle", "ls"]).exits(0);
    test.run(&["config", "get", "limits.timeoutMs"])
        .exits(0)
        .shows("60000");
}

/// The commands that a help lists, but for `help` itself.
fn subcommands(help: &str) -> impl Iterator<Item = String> {
    let is_first_page = help.contains("\nUse tools:\n");
    let start = if is_first_page {
        "Use tools:"
    } else {
        "Commands:"
    };
    let lines = help.lines().skip_while(move |line| *line != start).skip(1);
    let lines = lines.take_while(move |line| match is_first_page {
        true => *line != "Options of every command:",
        false => !line.is_empty(),
    });
    // The rest of a description is indented further.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names
        .filter(|name| !name.is_empty() && *name != "help")
        .map(str::to_owned)
}

#[test]
fn colour_is_for_terminals_and_for_who_asks() {
    let test = Test::new();
    assert!(!test.run(&["run", "nothing"]).stderr.contains('\u{1b}'));
    assert!(
        test.run(&["--color", "always", "run", "nothing"])
            .stderr
            .contains("\u{1b}[31;1merror:")
    );
    assert!(
        !test
            .run(&["--color", "never", "list"])
            .stdout
            .contains('\u{1b}')
    );
}

#[test]
fn quiet_says_only_errors_and_verbose_says_more() {
    let test = Test::new().file("a.txt", "A");
    assert_eq!(
        test.run(&["-q", "run", "read_file", "path=a.txt", "--dry-run"])
            .exits(0)
            .stderr,
        ""
    );
    test.run(&["-q", "run", "read_file", "path=none"])
        .exits(1)
        .says("error:");
    test.run(&["-v", "run", "read_file", "path=a.txt"])
        .exits(0)
        .says("execution");
}
