use serde_json::json;

use super::*;

fn document<'a>(format: Format, text: &'a str) -> Document<'a> {
    let key = match format {
        Format::Json => "mcpServers",
        Format::Yaml => "extensions",
        Format::Toml => "mcp_servers",
    };
    Document { text, format, key }
}

fn server() -> Map<String, Value> {
    match json!({"command": "/bin/toolcrib", "args": ["mcp", "--workspace", "/p"]}) {
        Value::Object(server) => server,
        _ => unreachable!(),
    }
}

/// Text that only the new or only the old version contains.
fn changed(old: &str, new: &str) -> (Vec<String>, Vec<String>) {
    let lines = |text: &str| -> Vec<String> { text.split('\n').map(str::to_owned).collect() };
    let (old, new) = (lines(old), lines(new));
    let less = |one: &[String], other: &[String]| {
        let mut left = other.to_vec();
        let mut gone = Vec::new();
        for line in one {
            match left.iter().position(|known| known == line) {
                Some(at) => drop(left.remove(at)),
                None => gone.push(line.clone()),
            }
        }
        gone
    };
    (less(&old, &new), less(&new, &old))
}

#[test]
fn json_keeps_comments_commas_indentation_and_order() {
    let text = "// mine\n{\n    \"z\": 1, // one\n    \"mcpServers\": {\n        // the other\n        \"other\": {\n            \"command\": \"npx\",\n        },\n    },\n    \"a\": [1, 2,],\n}\n";
    let new = document(Format::Json, text)
        .with("toolcrib", &server())
        .unwrap();
    assert_eq!(
        new,
        "// mine\n{\n    \"z\": 1, // one\n    \"mcpServers\": {\n        // the other\n        \"other\": {\n            \"command\": \"npx\",\n        },\n        \"toolcrib\": {\n            \"command\": \"/bin/toolcrib\",\n            \"args\": [\"mcp\", \"--workspace\", \"/p\"],\n        },\n    },\n    \"a\": [1, 2,],\n}\n"
    );
    let known = document(Format::Json, &new).servers().unwrap();
    assert_eq!(known["toolcrib"], Value::Object(server()));
    assert_eq!(
        document(Format::Json, &new)
            .without("toolcrib", true)
            .unwrap(),
        text
    );
}

#[test]
fn json_keeps_line_endings_tabs_and_the_byte_order_mark() {
    let text = "\u{feff}{\r\n\t\"mcpServers\": {\r\n\t\t\"other\": {\r\n\t\t\t\"command\": \"npx\"\r\n\t\t}\r\n\t}\r\n}\r\n";
    let new = document(Format::Json, text)
        .with("toolcrib", &server())
        .unwrap();
    assert!(new.starts_with("\u{feff}{\r\n\t\"mcpServers\""));
    assert_eq!(
        new.matches('\n').count(),
        new.matches("\r\n").count(),
        "{new:?}"
    );
    assert!(
        new.contains("\r\n\t\t\"toolcrib\": {\r\n\t\t\t\"command\""),
        "{new:?}"
    );
    assert_eq!(
        document(Format::Json, &new)
            .without("toolcrib", true)
            .unwrap(),
        text
    );
}

#[test]
fn json_that_is_empty_or_has_no_servers_gets_them() {
    for text in [
        "",
        "\n",
        "{}",
        "{\n}\n",
        "// nothing yet\n",
        "{\"mcpServers\": {}}",
    ] {
        let new = document(Format::Json, text)
            .with("toolcrib", &server())
            .unwrap();
        let known = document(Format::Json, &new).servers().unwrap();
        assert_eq!(
            known["toolcrib"],
            Value::Object(server()),
            "{text:?}: {new}"
        );
        let back = document(Format::Json, &new)
            .without("toolcrib", true)
            .unwrap();
        assert!(
            document(Format::Json, &back).servers().unwrap().is_empty(),
            "{back}"
        );
    }
    assert!(
        document(Format::Json, "// kept\n")
            .with("t", &server())
            .unwrap()
            .starts_with("// kept\n")
    );
}

#[test]
fn another_entry_of_the_name_is_replaced_in_its_place() {
    let text = "{\n  \"mcpServers\": {\n    \"toolcrib\": {\"command\": \"old\"}, // why\n    \"z\": {}\n  }\n}";
    let new = document(Format::Json, text)
        .with("toolcrib", &server())
        .unwrap();
    let known = document(Format::Json, &new).servers().unwrap();
    assert_eq!(known.keys().collect::<Vec<_>>(), ["toolcrib", "z"]);
    assert!(new.contains("// why") && !new.contains("old"), "{new}");
}

#[test]
fn text_that_is_not_what_it_should_be_is_refused_with_its_line() {
    for (format, text, why) in [
        (Format::Json, "{\n  \"mcpServers\": {\n", "line"),
        (Format::Json, "{'mcpServers': {}}", "not JSON"),
        (Format::Json, "{mcpServers: {}}", "not JSON"),
        (Format::Json, "[]", "not an object"),
        (Format::Json, "{\"mcpServers\": []}", "not a table"),
        (
            Format::Json,
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
            "twice",
        ),
        (
            Format::Json,
            "{\"mcpServers\": {\"a\": {}, \"a\": {}}}",
            "twice",
        ),
        (Format::Toml, "a = 1\nb = = 2\n", "line 2"),
        (Format::Toml, "mcp_servers = 1\n", "not a table"),
    ] {
        let said = document(format, text).servers().unwrap_err();
        assert!(said.contains(why), "{text:?}: {said}");
        assert!(
            document(format, text).with("toolcrib", &server()).is_err(),
            "{text:?}"
        );
    }
    let deep = "[".repeat(100_000);
    assert!(document(Format::Json, &deep).servers().is_err());
}

#[test]
fn toml_keeps_comments_order_and_line_endings() {
    let text = "# mine\nmodel = \"o\" # best\n\n[mcp_servers.other]\ncommand = 'npx'\nargs = [ \"-y\",\n  \"x\" ]\n\n[tui]\ntheme = \"dark\"\n";
    for text in [
        text.to_owned(),
        text.replace('\n', "\r\n"),
        format!("\u{feff}{text}"),
    ] {
        let new = document(Format::Toml, &text)
            .with("toolcrib", &server())
            .unwrap();
        let known = document(Format::Toml, &new).servers().unwrap();
        assert_eq!(known["toolcrib"], Value::Object(server()), "{new}");
        let (gone, _) = changed(&text, &new);
        assert!(gone.is_empty(), "{gone:?}\n{new}");
        assert_eq!(
            document(Format::Toml, &new)
                .without("toolcrib", true)
                .unwrap(),
            text
        );
    }
    let mixed = "a = 1\r\nb = 2\n";
    let said = document(Format::Toml, mixed)
        .with("toolcrib", &server())
        .unwrap_err();
    assert!(said.contains("Windows"), "{said}");
}

#[test]
fn toml_in_its_other_spellings_takes_a_server_too() {
    for text in [
        "",
        "a = 1",
        "mcp_servers = { other = { command = \"x\" } }\n",
        "[mcp_servers]\nother = { command = \"x\" }\n",
        "mcp_servers.other.command = \"x\"\n",
        "[mcp_servers.toolcrib]\ncommand = \"old\"\n[mcp_servers.toolcrib.env]\nA = \"b\"\n",
        "[mcp_servers.\"a b\"]\ncommand = \"x\"\n",
    ] {
        let new = document(Format::Toml, text)
            .with("toolcrib", &server())
            .unwrap();
        let known = document(Format::Toml, &new).servers();
        assert_eq!(
            known.unwrap()["toolcrib"],
            Value::Object(server()),
            "{text:?}: {new}"
        );
        assert!(!new.contains("old"));
    }
}
