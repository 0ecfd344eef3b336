//! What `--help` says, word for word.

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
    }
}

/// The commands that a help lists, but for `help` itself.
fn subcommands(help: &str) -> impl Iterator<Item = String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
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
