//! `toolcrib --version`, for people and for programs.

use crate::harness::Test;

#[test]
fn the_version_for_programs_names_the_build() {
    let test = Test::new();
    let ran = test.run(&["--version", "--json"]).exits(0);
    let told = ran.json();
    assert_eq!(told["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(told["homeFormat"], 1);
    let target = told["target"].as_str().unwrap();
    assert!(target.contains(std::env::consts::ARCH), "{target}");
    let features: Vec<&str> = told["features"]
        .as_array()
        .unwrap()
        .iter()
        .map(|feature| feature.as_str().unwrap())
        .collect();
    assert_eq!(features[..4], ["expr", "home", "tools", "urls"]);
    assert!(told.get("commit").is_some(), "{told}");
    assert_eq!(test.run(&["--json", "-V"]).json(), told);
    // One line, like every document of a program.
    assert_eq!(ran.stdout.lines().count(), 1);
    assert!(!test.home().exists());
}

#[test]
fn the_version_for_people_is_one_line() {
    let version = format!("toolcrib {}\n", env!("CARGO_PKG_VERSION"));
    Test::new().run(&["--version"]).exits(0).prints(&version);
}
