//! Parameters, and what models see of them.

use serde_json::{Value, json};

use super::{fails, fields, output, published, tool, value};

/// A tool that prints its one parameter, which has these further fields.
fn with_parameter(fields: &str) -> String {
    format!("bash: printf '<%s>' {{X}}\nparameters:\n  X:\n    description: Anything\n{fields}")
}

/// What models get of a tool with four parameters, by what `schema-generation` says.
fn generated(says: &str) -> Value {
    let yaml = format!(
        "bash: 'echo {{S}} {{N}} {{B}} {{A}}'\nparameters:\n  S: {{type: string, description: Of S, default: x, examples: [eg]}}\n  \
         N: {{type: number, description: Of N}}\n  B: {{type: boolean, description: Of B}}\n  A: {{type: array, description: Of A}}\n\
         function-calling:\n  schema-generation:\n{says}"
    );
    published(&tool(&yaml))
}

fn mapped(from: &str, to: &str) -> Value {
    generated(&format!("    parameter-mapping:\n      {from}: {to}\n"))["inputSchema"]["properties"]
        .clone()
}

fields! {
    "parameters.*.type" an_argument_has_the_type_of_its_parameter {
        let test = tool(&with_parameter("    type: number\n"));
        assert_eq!(value(&test, &["X=2.5"])["output"], "<2.5>");
        fails(&test, &["X=two"], "INVALID_ARGUMENTS", "/X` must be of type number");
        // As a text it would be one word.
        assert_eq!(output(&with_parameter("    type: array\n"), &[r#"X=["a","b"]"#]), "<a><b>");
    }
    "parameters.*.description" a_parameter_has_its_description {
        let shown = published(&tool(&with_parameter("")));
        assert_eq!(shown["inputSchema"]["properties"]["X"]["description"], "Anything");
    }
    "parameters.*.required" a_required_parameter_must_be_given {
        fails(&tool(&with_parameter("    required: true\n")), &[], "INVALID_ARGUMENTS", "/X` is required");
        assert_eq!(output(&with_parameter("    required: false\n"), &[]), "<>");
    }
    "parameters.*.default" a_default_takes_the_place_of_what_is_not_given {
        let yaml = with_parameter("    default: default value\n");
        assert_eq!(output(&yaml, &[]), "<default value>");
        assert_eq!(output(&yaml, &["X=given"]), "<given>");
    }
    "parameters.*.validation.minimum" a_number_below_the_minimum_is_refused {
        let test = tool(&with_parameter("    type: number\n    validation: {minimum: 1}\n"));
        fails(&test, &["X=0"], "INVALID_ARGUMENTS", "1 or more");
        assert_eq!(value(&test, &["X=1"])["output"], "<1>");
    }
    "parameters.*.validation.maximum" a_number_above_the_maximum_is_refused {
        let test = tool(&with_parameter("    type: number\n    validation: {maximum: 100}\n"));
        fails(&test, &["X=100.5"], "INVALID_ARGUMENTS", "100 or less");
        assert_eq!(value(&test, &["X=100"])["output"], "<100>");
    }
    "parameters.*.validation.pattern" a_text_that_does_not_match_is_refused {
        let test = tool(&with_parameter("    validation: {pattern: '^[a-z]+$'}\n"));
        fails(&test, &["X=abc1"], "INVALID_ARGUMENTS", "must match");
        fails(&test, &["X=abc\n"], "INVALID_ARGUMENTS", "must match");
        assert_eq!(value(&test, &["X=abc"])["output"], "<abc>");
    }
    "parameters.*.transform" a_value_is_transformed {
        let yaml = with_parameter("    transform: value.toLowerCase()\n");
        assert_eq!(output(&yaml, &["X=LoUd; $(ID)"]), "<loud; $(id)>");
    }
    "parameters.*.format" a_format_is_how_a_value_appears {
        assert_eq!(output(&with_parameter("    format: '--param={value}'\n"), &["X=a b"]), "<--param=a b>");
        let optional = with_parameter("    required: false\n    format: '--param={value}'\n");
        assert_eq!(output(&optional, &[]), "<>");
    }
    "parameters.*.examples" examples_are_published {
        let shown = published(&tool(&with_parameter("    examples: [example1, example2]\n")));
        assert_eq!(shown["inputSchema"]["properties"]["X"]["examples"], json!(["example1", "example2"]));
    }
    "parameters.*.detailed-help" detailed_help_is_for_people {
        let test = tool(&with_parameter("    detailed-help: |\n      Detailed help text.\n      Two lines.\n"));
        let shown = test.run(&["show", "t"]).exits(0).stdout;
        assert!(shown.contains("Detailed help text.\n  Two lines."), "{shown}");
        assert!(!published(&test)["inputSchema"].to_string().contains("Detailed"));
    }
    "parameters.*.security.escape-shell" a_value_is_shell_text_only_if_the_file_says_so_and_a_person_agrees {
        assert_eq!(output(&with_parameter("    security: {escape-shell: true}\n"), &["X=a; echo b"]), "<a; echo b>");
        let raw = tool(&with_parameter("    security: {escape-shell: false}\n"));
        fails(&raw, &["X=a; echo b"], "APPROVAL_UNAVAILABLE", "escape-shell");
        assert_eq!(value(&raw, &["X=a; echo b", "--yes"])["output"], "<a>b");
    }
    "function-calling.schema-generation.parameter-mapping.string" texts_are_published_as_texts {
        assert_eq!(mapped("string", "string")["S"]["type"], "string");
        let other = "bash: echo\nfunction-calling: {schema-generation: {parameter-mapping: {string: number}}}\n";
        fails(&tool(other), &[], "TOOL_UNAVAILABLE", "string");
    }
    "function-calling.schema-generation.parameter-mapping.number" numbers_are_published_as_mapped {
        assert_eq!(mapped("number", "number")["N"]["type"], "number");
        assert_eq!(mapped("number", "integer")["N"]["type"], "integer");
    }
    "function-calling.schema-generation.parameter-mapping.boolean" booleans_are_published_as_mapped {
        assert_eq!(mapped("boolean", "boolean")["B"]["type"], "boolean");
        assert_eq!(mapped("boolean", "string")["B"]["type"], "string");
    }
    "function-calling.schema-generation.parameter-mapping.array" lists_are_published_as_mapped {
        assert_eq!(mapped("array", "array")["A"]["type"], "array");
        assert_eq!(mapped("array", "string")["A"]["type"], "string");
    }
    "function-calling.schema-generation.include-descriptions" descriptions_are_published_or_not {
        let with = generated("    include-descriptions: true\n");
        assert_eq!(with["inputSchema"]["properties"]["N"]["description"], "Of N");
        let without = generated("    include-descriptions: false\n");
        assert!(!without["inputSchema"].to_string().contains("Of N"), "{without}");
    }
    "function-calling.schema-generation.include-defaults" defaults_are_published_or_not_and_count_all_the_same {
        let with = generated("    include-defaults: true\n");
        assert_eq!(with["inputSchema"]["properties"]["S"]["default"], "x");
        let without = generated("    include-defaults: false\n");
        assert!(without["inputSchema"]["properties"]["S"].get("default").is_none(), "{without}");
        let yaml = "bash: echo {S}\nparameters: {S: {description: A text, default: x}}\n\
                    function-calling: {schema-generation: {include-defaults: false}}\n";
        assert_eq!(output(yaml, &[]), "x");
    }
    "function-calling.schema-generation.example-generation" examples_of_calls_are_made_up_or_not {
        let with = "bash: echo {S}\nparameters: {S: {description: A text, examples: [eg]}}\n\
                    function-calling: {schema-generation: {example-generation: true}}\n";
        assert_eq!(published(&tool(with))["examples"], json!([{"S": "eg"}]));
        let without = with.replace("example-generation: true", "example-generation: false");
        assert_ne!(published(&tool(&without))["examples"], json!([{"S": "eg"}]));
    }
}
