//! A tool's own tests.

use super::{fields, tool};

/// A tool that prints its parameter and writes it to a file, with one test.
fn with_test(test: &str) -> crate::harness::Test {
    tool(&format!(
        "bash: echo {{X}} | tee out.txt\nparameters: {{X: {{description: A text, default: nothing}}}}\ntests:\n  - name: basic-test\n{test}"
    ))
}

fields! {
    "tests[].name" a_test_goes_by_its_name {
        let test = with_test("    parameters: {X: a}\n");
        test.run(&["test", "t:basic-test"]).exits(0).says("1 passed");
        test.run(&["test", "t:another"]).exits(3);
    }
    "tests[].description" a_test_that_fails_says_what_it_is_about {
        let ran = with_test("    description: Test basic functionality\n    expected: {exit-code: 9}\n").run(&["test"]).exits(1);
        assert!(ran.stdout.contains("Test basic functionality"), "{ran:?}");
    }
    "tests[].parameters.*" a_test_has_arguments {
        with_test("    parameters: {X: test value}\n    expected: {output-contains: test value}\n").run(&["test"]).exits(0);
        with_test("    expected: {output-contains: test value}\n").run(&["test"]).exits(1);
    }
    "tests[].expected.exit-code" a_test_expects_an_exit_code {
        with_test("    expected: {exit-code: 0}\n").run(&["test"]).exits(0);
        with_test("    expected: {exit-code: 1}\n").run(&["test"]).exits(1);
    }
    "tests[].expected.output-contains" a_test_expects_output {
        with_test("    expected: {output-contains: thing}\n").run(&["test"]).exits(0);
        with_test("    expected: {output-contains: Success}\n").run(&["test"]).exits(1);
    }
    "tests[].expected.file-exists" a_test_expects_a_file {
        with_test("    expected: {file-exists: out.txt}\n").run(&["test"]).exits(0);
        with_test("    expected: {file-exists: other.txt}\n").run(&["test"]).exits(1);
    }
    "tests[].cleanup" a_test_is_cleaned_up_after {
        let cleaned = with_test("    cleanup: [rm out.txt]\n").run(&["test", "--json"]).exits(0).json();
        assert_eq!(cleaned["value"]["tests"][0]["cleanup"], serde_json::json!([]));
        let failed = with_test("    cleanup: [rm other.txt]\n").run(&["test", "--json"]).json();
        assert!(failed["value"]["tests"][0]["cleanup"].to_string().contains("other.txt"), "{failed}");
    }
}
