//! Why a stored tool is not offered, or is not there: `explain`, and what `run` says.

use crate::harness::Test;

const HELLO: &str = "name: hello\ndescription: Says hello\nbash: echo hello\ntags: [read]\n";

fn acme() -> Test {
    let test = Test::new().file("hello.yaml", HELLO);
    test.run(&["bundle", "new", "acme"]).exits(0);
    test.run(&["bundle", "add", "acme", "hello.yaml"]).exits(0);
    test
}

fn reasons(test: &Test, tool: &str) -> Vec<String> {
    let told = test.run(&["explain", tool, "--json"]).exits(0).json();
    let reasons = told["reasons"].as_array().unwrap().iter();
    reasons
        .map(|reason| reason.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn every_switch_that_is_off_is_named_with_what_to_type() {
    let test = acme().config("disabledTools = [\"hello\"]");
    test.run(&["disable", "acme/hello@v1"]).exits(0);
    test.run(&["bundle", "disable", "acme"]).exits(0);
    assert_eq!(
        reasons(&test, "acme/hello"),
        [
            "the setting `disabledTools` names it",
            "its bundle `acme` is switched off; `toolcrib bundle enable acme` switches it on",
            "the tool is switched off; `toolcrib enable acme/hello@v1` switches it on",
        ]
    );
    test.run(&["run", "acme/hello"])
        .exits(3)
        .says("disabledTools");
}

#[test]
fn a_tool_of_a_bundle_in_the_bin_is_found_and_says_so() {
    let test = acme();
    test.run(&["bundle", "rm", "acme", "--yes"]).exits(0);
    let expected = "its bundle `acme` is in the bin; `toolcrib bundle restore acme` takes it out";
    assert_eq!(reasons(&test, "acme/hello@v1"), [expected]);
    test.run(&["run", "acme/hello"]).exits(3).says(expected);
}

#[test]
fn of_two_versions_the_older_says_which_one_has_the_name() {
    let test = acme();
    test.run(&["bundle", "add", "acme", "hello.yaml", "--version", "v2"])
        .exits(0);
    let told = test
        .run(&["explain", "acme/hello@v1", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        told["name"],
        "`hello` is its version `v2`; this one is called as `acme/hello@v1`"
    );
    test.run(&["run", "acme/hello@v3"])
        .exits(3)
        .says("`acme/hello` is there as `v2`, `v1`");
}

#[test]
fn a_reference_that_points_at_nothing_says_what_is_near() {
    let test = acme();
    for (reference, hint) in [
        (
            "acm/hello",
            "there is no bundle `acm`; did you mean `acme`?",
        ),
        (
            "other/x",
            "`toolcrib bundle list --all` lists those there are",
        ),
        ("acme/helo", "did you mean `acme/hello`?"),
        (
            "acme/zebra",
            "`toolcrib bundle show acme` lists those it has",
        ),
    ] {
        test.run(&["run", reference]).exits(3).says(hint);
        test.run(&["explain", reference]).exits(3).says(hint);
    }
}

#[test]
fn a_damaged_record_is_found_by_its_name() {
    let test = acme();
    let bundles = std::fs::read_dir(test.home().join("bundles")).unwrap();
    for path in bundles
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
    {
        for file in std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            if !file.ends_with("bundle.json") {
                std::fs::write(file, "{").unwrap();
            }
        }
    }
    for reference in ["acme/hello@v1", "acme/hello", "hello", "+hello"] {
        for verb in ["explain", "run"] {
            test.run(&[verb, reference]).exits(3).says("is damaged (");
        }
    }
}

#[test]
fn explain_says_how_often_a_tool_was_called() {
    let test = acme();
    for _ in 0..2 {
        test.run(&["run", "acme/hello"]).exits(0);
    }
    let told = test.run(&["explain", "hello", "--json"]).exits(0).json();
    assert_eq!(told["callCount"], 2);
    assert!(told["lastCalledAt"].is_string(), "{told}");
    assert!(
        test.run(&["explain", "hello"])
            .exits(0)
            .stdout
            .contains("called    2 times")
    );
}
