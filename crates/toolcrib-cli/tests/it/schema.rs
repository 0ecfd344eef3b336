//! `toolcrib schema`.

use crate::harness::Test;

#[test]
fn one_tool_is_an_object_and_all_are_a_list_in_every_format() {
    let test = Test::new();
    assert_eq!(
        test.run(&["schema", "read_file"]).exits(0).json()["type"],
        "object"
    );
    for provider in toolcrib::wire::Provider::ALL {
        let provider = provider.as_str();
        let one = test
            .run(&["schema", "read_file", "--provider", provider])
            .exits(0)
            .json();
        let all = test
            .run(&["schema", "--provider", provider])
            .exits(0)
            .json();
        let all = all.as_array().unwrap();
        // Without those that cannot run here: `web_search` has no provider.
        assert_eq!(all.len(), 24);
        assert!(all.contains(&one), "{provider}");
    }
    assert_eq!(
        test.run(&["schema"]).exits(0).json()[0]["name"],
        "apply_patch"
    );
}

#[test]
fn losses_are_said_and_kept_off_stdout() {
    let ran = Test::new()
        .run(&["schema", "read_file", "--provider", "openai", "--strict"])
        .exits(0)
        .says("default");
    assert_eq!(ran.json()["function"]["strict"], true);
    Test::new()
        .run(&["schema", "--provider", "opnai"])
        .exits(2)
        .says("openai");
    Test::new().run(&["schema", "nothing"]).exits(3);
}
