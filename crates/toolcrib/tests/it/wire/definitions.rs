//! Provider definitions.

use serde_json::{Value, json};
use toolcrib::model::hidden::{hides_something, is_hidden};
use toolcrib::wire::{Definitions, Provider, definition, definitions, mcp_tool};
use toolcrib::{Effects, Schema, ToolSpec, WireName};

use super::{LOOSE, STRICT, dropped, execute_bash, losses, lowered, search, strict_rules, tool};
use crate::golden;

/// S3's "Format Examples", as they stand there.
const S3_OPENAI: &str = r#"{
  "type": "function",
  "function": {
    "name": "execute_bash",
    "description": "Execute a bash command...",
    "parameters": {
      "type": "object",
      "properties": {
        "command": {
          "type": "string",
          "description": "The bash command to execute"
        }
      },
      "required": ["command"]
    }
  }
}"#;
const S3_ANTHROPIC: &str = r#"{
  "name": "execute_bash",
  "description": "Execute a bash command...",
  "input_schema": {
    "type": "object",
    "properties": {
      "command": {
        "type": "string",
        "description": "The bash command to execute"
      }
    },
    "required": ["command"]
  }
}"#;
const S3_MCP: &str = r#"{
  "name": "execute_bash",
  "description": "Execute a bash command...",
  "inputSchema": {
    "type": "object",
    "properties": {
      "command": {
        "type": "string",
        "description": "The bash command to execute"
      }
    },
    "required": ["command"]
  },
  "type": "tool"
}"#;

#[test]
fn the_seeds_formats_verbatim() {
    let made = |provider| definition(&execute_bash(), provider, &LOOSE).unwrap().tool;
    let seed = |text| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(made(Provider::OpenAi), seed(S3_OPENAI));
    assert_eq!(made(Provider::Ollama), seed(S3_OPENAI));
    assert_eq!(made(Provider::Anthropic), seed(S3_ANTHROPIC));
    assert_eq!(made(Provider::Mcp), seed(S3_MCP));
    // S2: the function without S1's and S3's wrapper.
    assert_eq!(made(Provider::OpenAiFunctions), seed(S3_OPENAI)["function"]);
}

#[test]
fn the_seeds_tool_for_every_provider() {
    for provider in Provider::ALL {
        let made = definition(&execute_bash(), provider, &LOOSE).unwrap();
        assert_eq!(made.losses, [], "{provider}");
        golden::assert_json(&format!("wire/seed_{provider}.json"), &made.tool);
    }
}

#[test]
fn a_nasty_schema_for_every_provider() {
    for provider in Provider::ALL {
        let made = definitions([&search()], provider, &LOOSE);
        golden::assert_json(&format!("wire/search_{provider}.json"), &json!(made));
    }
    let made = definitions([&search()], Provider::OpenAi, &STRICT);
    strict_rules::assert_strict(&made.tools[0]["function"]["parameters"]);
    golden::assert_json("wire/search_openai_strict.json", &json!(made));
    let made = definitions([&search()], Provider::OpenAiResponses, &STRICT);
    strict_rules::assert_strict(&made.tools[0]["parameters"]);
    golden::assert_json("wire/search_openai-responses_strict.json", &json!(made));
}

/// Lowering loses constraints; it must not refuse what the tool accepts.
#[test]
fn arguments_that_fit_the_tool_fit_every_definition() {
    let spec = search();
    let calls = [
        json!({"query": "x", "mode": "text", "fuzzy": true}),
        json!({"query": "x", "mode": "regex", "flags": ["i"], "fuzzy": 2, "limit": 5, "sort": "date"}),
        json!({"query": "x", "mode": "text", "since": 12, "range": {"from": "2026-01-01"},
            "filter": {"field": "a", "value": 1, "and": [{"field": "b", "and": []}]}}),
    ];
    for call in &calls {
        let Value::Object(args) = call.clone() else {
            unreachable!("an object")
        };
        assert!(
            spec.input_schema.check_arguments(args, &[]).is_ok(),
            "{call}"
        );
        for provider in Provider::ALL {
            let (schema, _) = lowered(spec.input_schema.as_value().clone(), provider, &LOOSE);
            let validator = jsonschema::validator_for(&schema).unwrap();
            let faults: Vec<String> = validator
                .iter_errors(call)
                .map(|fault| fault.to_string())
                .collect();
            assert_eq!(faults, [""; 0], "{provider}: {call}");
        }
    }
}

#[test]
fn one_bad_tool_does_not_spoil_the_list() {
    let open =
        json!({"type": "object", "properties": {"any": {"type": "object"}}, "required": ["any"]});
    let (good, bad, last) = (
        execute_bash(),
        tool("bad", open),
        tool("last", json!({"type": "object"})),
    );
    let made = definitions([&good, &bad, &last], Provider::OpenAi, &STRICT);
    let names: Vec<&str> = made
        .tools
        .iter()
        .filter_map(|tool| tool["function"]["name"].as_str())
        .collect();
    assert_eq!(names, ["execute_bash", "last"]);
    assert_eq!(made.dropped[0].tool, "bad");
    assert!(
        made.dropped[0].reason.contains("(at `/properties/any`)"),
        "{:?}",
        made.dropped
    );
}

#[test]
fn names_are_unique_in_a_list() {
    let first = execute_bash();
    let second = ToolSpec {
        bundle: toolcrib::Slug::parse("other").unwrap(),
        ..execute_bash()
    };
    let made = definitions([&first, &second], Provider::Mcp, &LOOSE);
    assert_eq!(made.tools.len(), 1);
    assert_eq!(made.dropped[0].tool, "execute_bash");
    assert!(
        made.dropped[0].reason.contains("`other/execute-bash@v1`"),
        "{:?}",
        made.dropped
    );
}

/// OpenAI: `^[a-zA-Z0-9_-]{1,64}$`, Anthropic: the same or `{1,128}`, MCP: more.
#[test]
fn wire_names_suit_every_provider() {
    let every: String = ('!'..='~').collect();
    for name in [
        "a",
        "read_file",
        "-",
        "_",
        &every,
        &"x".repeat(200),
        "天気",
        "a b",
    ] {
        let name = WireName::fit(name);
        assert!((1..=64).contains(&name.as_str().len()), "{name}");
        assert!(
            name.as_str()
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)),
            "{name}"
        );
    }
}

#[test]
fn long_descriptions_are_cut_for_openai_alone() {
    let spec = ToolSpec {
        description: "word ".repeat(300),
        ..execute_bash()
    };
    for provider in Provider::ALL {
        let made = definition(&spec, provider, &LOOSE).unwrap();
        let function = made.tool.get("function").unwrap_or(&made.tool);
        let description = function["description"].as_str().unwrap();
        if matches!(
            provider,
            Provider::OpenAi | Provider::OpenAiFunctions | Provider::OpenAiResponses
        ) {
            assert_eq!(description, format!("{}…", "word ".repeat(204).trim_end()));
            assert!(description.chars().count() <= 1024);
            assert_eq!(made.losses[0].pointer, "");
        } else {
            assert_eq!(description, spec.description);
            assert_eq!(made.losses, []);
        }
    }
}

#[test]
fn mcp_reports_title_output_and_effects_when_they_are_known() {
    let spec = ToolSpec {
        title: Some("Shell".to_owned()),
        output_schema: Some(
            Schema::output(
                json!({"type": "object", "properties": {"exitCode": {"type": "integer"}}}),
            )
            .unwrap()
            .into(),
        ),
        effects: Effects::READ.and(Effects::RUN),
        ..execute_bash()
    };
    golden::assert_json(
        "wire/mcp_full.json",
        &definition(&spec, Provider::Mcp, &LOOSE).unwrap().tool,
    );
    let hints = |effects| {
        definition(
            &ToolSpec {
                effects,
                ..execute_bash()
            },
            Provider::Mcp,
            &LOOSE,
        )
        .unwrap()
        .tool["annotations"]
            .clone()
    };
    assert_eq!(hints(Effects::READ), json!({"readOnlyHint": true}));
    assert_eq!(
        hints(Effects::WRITE),
        json!({"readOnlyHint": false, "destructiveHint": true})
    );
    assert_eq!(hints(Effects::UNKNOWN), Value::Null);
}

#[test]
fn mcp_leaves_out_an_output_schema_that_is_not_an_object() {
    let spec = ToolSpec {
        output_schema: Some(Schema::output(json!({"type": "string"})).unwrap().into()),
        ..execute_bash()
    };
    let made = definition(&spec, Provider::Mcp, &LOOSE).unwrap();
    assert_eq!(made.tool.get("outputSchema"), None);
    assert!(
        made.losses[0]
            .reason
            .starts_with("the output schema is left out"),
        "{:?}",
        made.losses
    );
}

#[test]
fn mcp_says_which_draft_when_it_is_not_the_usual_one() {
    let of = |draft: &str| {
        lowered(
            json!({"$schema": draft, "type": "object"}),
            Provider::Mcp,
            &LOOSE,
        )
        .0
    };
    assert_eq!(
        of("https://json-schema.org/draft/2020-12/schema"),
        json!({"type": "object", "properties": {}})
    );
    assert_eq!(
        of("http://json-schema.org/draft-07/schema#")["$schema"],
        "http://json-schema.org/draft-07/schema#"
    );
}

#[test]
fn a_tool_without_parameters_has_empty_properties() {
    // Gemini takes no empty object; `gemini.rs` says what it gets.
    for provider in Provider::ALL
        .into_iter()
        .filter(|provider| *provider != Provider::Gemini)
    {
        assert_eq!(
            lowered(json!({"type": "object"}), provider, &LOOSE).0,
            json!({"type": "object", "properties": {}}),
            "{provider}"
        );
    }
    assert_eq!(
        lowered(json!({"type": "object"}), Provider::OpenAi, &STRICT).0,
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false})
    );
}

#[test]
fn a_root_whose_alternatives_are_not_objects_is_dropped() {
    let schema = json!({"type": "object", "anyOf": [{"type": "string"}, {"type": "array"}]});
    for provider in [
        Provider::OpenAi,
        Provider::Anthropic,
        Provider::Ollama,
        Provider::Mcp,
    ] {
        assert!(dropped(schema.clone(), provider, &LOOSE).contains("its root is not an object"));
    }
}

#[test]
fn top_level_alternatives_are_merged_with_a_loss() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "not": {"required": ["c"]}});
    let (schema, losses) = lowered(schema, Provider::Anthropic, &LOOSE);
    assert_eq!(
        schema,
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}})
    );
    let pointers: Vec<&str> = losses.iter().map(|(pointer, _)| pointer.as_str()).collect();
    assert_eq!(pointers, ["/anyOf", "/not"]);
    assert!(
        losses
            .iter()
            .all(|(_, reason)| reason.contains("Toolcrib still enforces")),
        "{losses:?}"
    );
}

#[test]
fn top_level_all_of_is_merged_and_requires_all() {
    let schema = json!({"type": "object", "allOf": [
        {"$ref": "#/$defs/Paged"}, {"properties": {"q": {"type": "string"}}, "required": ["q"]}],
        "$defs": {"Paged": {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}}});
    assert_eq!(
        lowered(schema, Provider::OpenAi, &LOOSE),
        (
            json!({"type": "object", "properties": {"page": {"type": "integer"}, "q": {"type": "string"}},
                "required": ["page", "q"]}),
            vec![]
        )
    );
}

#[test]
fn openai_receives_what_arrays_hold() {
    let schema = json!({"type": "object", "properties": {"a": {"type": ["array", "null"]}}});
    let mut told = schema.clone();
    told["properties"]["a"]["items"] = json!({});
    for provider in [Provider::OpenAi, Provider::Anthropic] {
        assert_eq!(lowered(schema.clone(), provider, &LOOSE).0, told);
    }
}

#[test]
fn anthropic_is_spared_parameters_it_cannot_name() {
    let schema = json!({"type": "object", "properties": {"filter[id]": {"type": "string"}, "a.b-c_1": {"type": "string"}}});
    let (plain, losses) = lowered(schema.clone(), Provider::Anthropic, &LOOSE);
    assert_eq!(plain["properties"], json!({"a.b-c_1": {"type": "string"}}));
    assert_eq!(losses[0].0, "/properties/filter[id]");
    let mut required = schema.clone();
    required["required"] = json!(["filter[id]"]);
    assert!(
        dropped(required, Provider::Anthropic, &LOOSE).contains("`filter[id]` cannot be named")
    );
    assert_eq!(lowered(schema.clone(), Provider::OpenAi, &LOOSE).0, schema);
}

#[test]
fn long_chains_of_definitions_do_not_overflow_the_stack() {
    let mut definitions = serde_json::Map::new();
    for level in 0..3_000 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({"properties": {"a": next}}));
    }
    definitions.insert("d3000".to_owned(), json!({"type": "string"}));
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "required": ["a"], "$defs": definitions});
    assert!(dropped(schema.clone(), Provider::Ollama, &LOOSE).contains("too deep"));
    assert!(dropped(schema.clone(), Provider::OpenAi, &STRICT).contains("too deep"));
    assert_eq!(losses(schema, Provider::Anthropic, &LOOSE), [""; 0]);
}

#[test]
fn the_batch_serializes_for_rest() {
    let made = Definitions::default();
    assert_eq!(
        json!(made),
        json!({"tools": [], "losses": [], "dropped": []})
    );
}

#[test]
fn no_definition_has_hidden_characters() {
    let sly = "Adds\u{e0041}\u{202e} two\u{200b} 👩\u{200d}🚀\u{1b}";
    let schema = json!({"type": "object", "title": sly, "properties": {
        "a": {"type": "string", "description": sly, "enum": ["x", "\r\n"]},
        "b": {"type": "object", "description": sly, "properties": {"c": {"type": "string", "description": sly}}},
    }, "required": ["a", "b"]});
    let mut spec = ToolSpec::new(
        WireName::fit("add"),
        sly,
        Schema::stored(schema.clone()).unwrap(),
    );
    spec.title = Some(sly.to_owned());
    spec.output_schema = Some(Schema::stored(schema).unwrap().into());
    let mut texts = Vec::new();
    for provider in Provider::ALL {
        for options in [&LOOSE, &STRICT] {
            texts.push(
                definition(&spec, provider, options)
                    .unwrap()
                    .tool
                    .to_string(),
            );
        }
    }
    texts.push(String::from_utf8(mcp_tool(&spec, None).unwrap().json).unwrap());
    for text in texts {
        assert!(!hides_something(&text), "{text}");
        assert!(!text.contains("u001b"), "{text}");
        assert!(text.contains("Adds two 👩\u{200d}🚀"), "{text}");
    }
    // Its other constraints stay as they are.
    assert!(spec.description.contains(is_hidden));
}
