//! Where secrets are out of reach of what tools run.

use std::fs;

use crate::harness::Test;

use super::{VALUE, keeps};

const ENVIRONMENT: &str =
    "description: Prints its environment\nbash: env\nenvironment:\n  inherit: true\ntags: [read]\n";

#[test]
fn programs_inherit_neither_the_name_nor_the_value_of_a_stored_secret() {
    let test = Test::new()
        .file("../.toolcrib/tools/surroundings.yaml", ENVIRONMENT)
        .variable("PATH", "/usr/bin:/bin")
        .variable("HARMLESS", VALUE)
        .variable("LONGER", "x=SENTINEL-7f3a;y")
        .variable("WEATHER", "sunny")
        .variable("OTHER", "passed on");
    let before = test.run(&["run", "surroundings", "--yes"]).exits(0).stdout;
    assert!(
        before.contains("WEATHER=sunny") && before.contains("HARMLESS="),
        "{before}"
    );
    keeps(&test, "WEATHER", VALUE);
    let after = test.run(&["run", "surroundings", "--yes"]).exits(0).stdout;
    assert!(after.contains("OTHER=passed on"), "{after}");
    for name in ["WEATHER", "HARMLESS", "LONGER", "REDACTED", "TOOLCRIB_HOME"] {
        assert!(!after.contains(name), "{name}: {after}");
    }
}

/// SEC-007: what the sandbox hides, and what a rule denies, is denied to file tools and programs alike.
#[test]
fn keys_environments_and_the_store_itself_are_out_of_reach() {
    let test = Test::new()
        .file("../.ssh/id_ed25519", "KEY-OF-ADA")
        .file(".env", "PASSWORD=hunter2")
        .variable("SERVER_SIDE", "server-side-only")
        .config(
            "[[rules]]\nname = \"env-files\"\npath = [\"**/.env\"]\nreason = \"it has passwords in it\"\n",
        );
    keeps(&test, "KEY", VALUE);
    let store = test.home().join("secrets");
    let commands = [
        "cat ~/.ssh/id_ed25519".to_owned(),
        // No rule knows this one.
        "cd; cat .s*/id*".to_owned(),
        "cat /proc/1/environ /proc/$PPID/environ".to_owned(),
        "grep -rh . /proc/[0-9]*/environ".to_owned(),
        format!("cat {}/*", store.display()),
        format!("find {} -type f -exec cat {{}} +", test.home().display()),
        "cat .env".to_owned(),
    ];
    for command in &commands {
        let ran = test.run(&[
            "run",
            "shell",
            &format!("command={command}"),
            "--yes",
            "--json",
        ]);
        for secret in [
            "KEY-OF-ADA",
            "server-side-only",
            VALUE,
            "hunter2",
            "REDACTED",
        ] {
            assert!(!ran.stdout.contains(secret), "{command}: {secret} {ran:?}");
        }
    }
    test.run(&["run", "read_file", "path=.env"])
        .exits(5)
        .says("env-files");
    test.run(&["run", "shell", "command=cat .env", "--yes"])
        .exits(5)
        .says("env-files");
    for path in ["../.ssh/id_ed25519", "../home/secrets"] {
        let ran = test.run(&["run", "read_file", &format!("path={path}")]);
        assert_ne!(ran.code, 0, "{ran:?}");
    }
}

#[test]
fn a_home_inside_the_workspace_does_not_give_its_secrets_away() {
    let test = Test::new();
    let home = test.workspace().join("data");
    let words = |rest: &[&'static str]| -> Vec<String> {
        let mut words = vec!["--home".to_owned(), home.display().to_string()];
        words.extend(rest.iter().map(|word| (*word).to_owned()));
        words
    };
    let run = |rest: &[&'static str], input: &str| {
        let words = words(rest);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        test.run_with_input(&words, input)
    };
    run(&["secret", "set", "KEY"], VALUE).exits(0);
    for rest in [
        &[
            "run",
            "shell",
            "command=cat data/secrets/*",
            "--yes",
            "--json",
        ][..],
        &[
            "run",
            "shell",
            "command=rev data/secrets/[0-9a-f]*",
            "--yes",
            "--json",
        ],
    ] {
        let ran = run(rest, "");
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            !told.contains("SENTINEL") && !told.contains("LENITNES"),
            "{told}"
        );
    }
    // File tools do not reach it either, and do not say what is there.
    let listed = run(
        &["run", "list_directory", "path=data/secrets", "--json"],
        "",
    )
    .json();
    assert_eq!(listed["error"]["code"], "PERMISSION_DENIED", "{listed}");
    let file = fs::read_dir(home.join("secrets")).unwrap().next();
    let file = file.unwrap().unwrap().file_name().into_string().unwrap();
    for encoding in ["utf-8", "base64"] {
        let path = format!("path=data/secrets/{file}");
        let home = home.display().to_string();
        let words = [
            "--home",
            &home,
            "run",
            "read_file",
            &path,
            &format!("encoding={encoding}"),
        ];
        let ran = test.run(&words);
        assert!(
            ran.code != 0 || ran.stdout.contains("[REDACTED]"),
            "{ran:?}"
        );
        assert!(!ran.stdout.contains("SENTINEL"), "{ran:?}");
    }
}
