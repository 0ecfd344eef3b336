//! `toolcrib new --http` and `--from-curl`: files that check, and credentials that are nowhere.

use serde_json::{Value, json};

use crate::harness::Test;

/// Every file beneath a directory, as one text.
fn everything_in(directory: &std::path::Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => text.push_str(&everything_in(&path)),
            false => text.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap())),
        }
    }
    text
}

#[test]
fn a_curl_command_becomes_a_tool_that_checks_and_says_what_to_type_next() {
    let test = Test::new();
    let command = "curl -sL 'https://api.weatherapi.com/v1/current.json?q=Paris&key=SENTINEL'";
    let ran = test
        .run(&["new", "weather", "--from-curl", command, "--param", "q"])
        .exits(0)
        .says("GET https://api.weatherapi.com/v1/current.json?q=${q}&key=${WEATHERAPI_KEY}")
        .says("toolcrib secret set WEATHERAPI_KEY --host api.weatherapi.com")
        .says("`toolcrib config set --add allowedHosts api.weatherapi.com`")
        .says("toolcrib run weather q=Paris")
        .says("left out  -s: it is about what curl prints")
        .says("shell's history");
    assert_eq!(ran.stdout, "wrote .toolcrib/tools/weather.json\n");
    assert!(!ran.stderr.contains("SENTINEL"), "{ran:?}");
    test.run(&["check", ".toolcrib/tools/weather.json"])
        .exits(0);
    // It is trusted, and what is in its way is the host.
    test.run(&["run", "weather", "q=Paris", "--no-input"])
        .exits(8)
        .says("HOST_NOT_ALLOWED");
    assert!(!everything_in(test.workspace().parent().unwrap()).contains("SENTINEL"));
}

#[test]
fn what_is_listed_already_is_not_asked_for_and_the_line_keeps_what_is_there() {
    let test = Test::new().config("allowedHosts = [\"a.example.com\", \"*.b.example.com\"]\n");
    let made = |name: &str, url: &str| -> Value {
        let command = format!("curl {url}");
        let ran = test.run(&["new", name, "--from-curl", &command, "--json"]);
        ran.exits(0).json()["value"]["allowedHosts"].clone()
    };
    assert_eq!(made("one", "https://a.example.com/x"), Value::Null);
    assert_eq!(made("two", "https://x.b.example.com/x"), Value::Null);
    assert_eq!(
        made("three", "http://127.0.0.1:8080/x"),
        json!(["a.example.com", "*.b.example.com", "127.0.0.1:8080"])
    );
    let line = "`toolcrib config set --add allowedHosts c.example.com`";
    let url = "https://c.example.com/x";
    test.run(&["new", "four", "--from-curl", &format!("curl {url}")])
        .exits(0)
        .says(line);
    let ran = test.run(&["explain", "four"]).exits(0);
    assert!(ran.stdout.contains(line), "{ran:?}");
    let whole = "TOOLCRIB_ALLOWED_HOSTS=a.example.com,*.b.example.com,c.example.com";
    test.run(&["run", "four"]).exits(8).says(line).says(whole);
}

#[test]
fn a_command_comes_from_stdin_or_a_file_too() {
    let command = "curl -u ada:SENTINEL \\\n  https://api.example.com/me\n";
    let test = Test::new().file("command.sh", command);
    let ran = test.run_with_input(&["new", "one", "--from-curl", "-", "--json"], command);
    let value = ran.exits(0).json()["value"].clone();
    assert_eq!(value["secrets"][1]["name"], "EXAMPLE_PASSWORD");
    let ran = test
        .run(&["new", "two", "--from-curl", "@command.sh"])
        .exits(0);
    // Nothing was typed, so nothing is in anybody's history.
    assert!(!ran.stderr.contains("history"), "{ran:?}");
    test.run(&["new", "three", "--from-curl", "@nothing"])
        .exits(2)
        .says("cannot read the command from `nothing`");
}

#[test]
fn a_mistyped_line_is_answered_with_the_right_form() {
    let test = Test::new();
    let url = "https://api.example.com/x";
    for words in [&["curl", "-s", url][..], &["curl"]] {
        test.run(&[&["new", "one", "--from-curl"], words].concat())
            .exits(2)
            .says("quote the whole command");
    }
    test.run_with_input(&["new", "one", "--from-curl", "-"], " \n")
        .exits(2)
        .says("there is no command");
    test.run(&["new", "one", "--http", "--url", url, "--param", "q"])
        .exits(2);
}

#[test]
fn a_hostile_command_runs_nothing_and_says_why() {
    let test = Test::new();
    let marker = test.workspace().join("ran");
    let touch = format!("touch {}", marker.display());
    for command in [
        format!("curl https://a.example.com/$({touch})"),
        format!("curl https://a.example.com/`{touch}`"),
        format!("curl https://a.example.com; {touch}"),
        format!("curl https://a.example.com\n{touch}"),
        format!("curl https://a.example.com | {touch}"),
        format!("curl https://a.example.com && {touch}"),
        format!("curl <({touch}) https://a.example.com"),
        format!("curl -K {} https://a.example.com", marker.display()),
        touch,
        "curl -d @/etc/passwd https://a.example.com".to_owned(),
        "curl -o .toolcrib/config.toml https://a.example.com -k".to_owned(),
    ] {
        let ran = test.run(&["new", "x", "--from-curl", &command]);
        ran.exits(2).says("cannot become a tool");
    }
    assert!(!marker.exists());
    assert!(!test.workspace().join(".toolcrib").exists());
}

#[test]
fn every_reason_is_said_at_once() {
    let ran = Test::new()
        .run(&[
            "new",
            "x",
            "--from-curl",
            "curl -k -F a=b -x p https://a.example.com",
            "--json",
        ])
        .exits(2)
        .json();
    let faults = ran["error"]["details"]["faults"].as_array().unwrap().len();
    assert_eq!(faults, 3, "{ran}");
}

#[test]
fn the_template_checks_for_every_method_and_url() {
    let test = Test::new();
    test.run(&["new", "plain", "--http"])
        .exits(0)
        .says("toolcrib run plain city=…");
    test.run(&["check", "--strict"]).exits(0);
    for method in ["GET", "post", "DELETE", "HEAD"] {
        let name = format!("with-{method}");
        let url = "https://api.example.com/v1/{id}?lang=${lang}&key=SENTINEL";
        let words = ["new", &name, "--http", "--url", url, "--method", method];
        let ran = test.run(&words).exits(0);
        assert!(!ran.stderr.contains("SENTINEL"), "{ran:?}");
    }
    test.run(&["check"]).exits(0);
    let text = everything_in(&test.workspace().join(".toolcrib"));
    assert!(!text.contains("SENTINEL"));
    assert!(text.contains("key=${EXAMPLE_KEY}"), "{text}");
    let shown = test.run(&["show", "with-post", "--json"]).exits(0).json();
    let properties = &shown["inputSchema"]["properties"];
    assert!(
        properties["id"].is_object() && properties["text"].is_object(),
        "{shown}"
    );
}

#[test]
fn input_that_is_not_a_url_or_method_is_refused() {
    let test = Test::new();
    for words in [
        vec!["--http", "--url", "ftp://a.example.com"],
        vec!["--http", "--url", "https://{host}/x"],
        vec!["--http", "--method", "TRACE"],
        vec!["--http", "--method", "GE T"],
        vec!["--http", "--kind", "steps"],
        vec!["--url", "https://a.example.com"],
        vec!["--param", "x"],
        vec!["--http", "--from-curl", "curl https://a.example.com"],
    ] {
        let mut all = vec!["new", "x"];
        all.extend(words);
        test.run(&all).exits(2);
    }
    assert!(!test.workspace().join(".toolcrib").exists());
}
