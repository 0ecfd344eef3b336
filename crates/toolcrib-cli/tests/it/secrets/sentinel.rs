//! A sentinel secret leaks from tools in every way they have; then every byte that was printed and every file of the home is
//! searched for it, in every form.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::keeps;
use crate::harness::{Ran, Test};

/// With what is escaped in JSON, in URLs and in HTML, and is another in both alphabets of base64.
const SENTINEL: &str = "SENTINEL-7f3a\"é>/?~~+x";

/// What must be nowhere: independent of how the product makes its list.
fn forms() -> Vec<(&'static str, String)> {
    let percent = |upper: bool| {
        SENTINEL.bytes().fold(String::new(), |mut out, byte| {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'~' => out.push(byte.into()),
                byte if upper => out += &format!("%{byte:02X}"),
                byte => out += &format!("%{byte:02x}"),
            }
            out
        })
    };
    let json = serde_json::to_string(SENTINEL).unwrap();
    let json = json.trim_matches('"').to_owned();
    let ascii = json.replace('é', "\\u00e9");
    let middle = |before: &str| {
        let text = STANDARD.encode(format!("{before}{SENTINEL}"));
        text[(before.len() * 8).div_ceil(6)..text.len() - 4].to_owned()
    };
    let beginning = |before: &str| {
        let text = STANDARD.encode(format!("{before}SENTINEL-7f3a"));
        text[(before.len() * 8).div_ceil(6)..(before.len() + 13) * 8 / 6].to_owned()
    };
    vec![
        ("plain", SENTINEL.to_owned()),
        // Nothing else of this test is named like it.
        ("its beginning", "SENTINEL-7".to_owned()),
        ("JSON", json),
        ("JSON in ASCII", ascii),
        ("base64", STANDARD.encode(SENTINEL)),
        ("base64 for URLs", URL_SAFE.encode(SENTINEL)),
        ("base64 at one", middle("a")),
        ("base64 at two", middle("ab")),
        ("base64 at five", middle("user:")),
        // Of whatever begins like it.
        ("its beginning in base64", beginning("")),
        ("its beginning in base64 at one", beginning("a")),
        ("its beginning in base64 at two", beginning("ab")),
        ("percent", percent(true)),
        ("percent, lower case", percent(false)),
        (
            "hexadecimal",
            SENTINEL.bytes().map(|byte| format!("{byte:02x}")).collect(),
        ),
    ]
}

fn search(place: &str, bytes: &[u8]) {
    for (form, text) in forms() {
        let found = bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes());
        assert!(
            !found,
            "{form} is in {place}: {}",
            String::from_utf8_lossy(bytes)
        );
    }
}

pub(super) fn search_files(directory: &Path, searched: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "secrets") {
                search_files(&path, searched);
            }
        } else {
            let shown = path.display().to_string();
            search(&shown, &std::fs::read(&path).unwrap());
            searched.push(shown);
        }
    }
}

#[track_caller]
pub(super) fn is_clean(ran: Ran) -> Ran {
    search("stdout", ran.stdout.as_bytes());
    search("stderr", ran.stderr.as_bytes());
    ran
}

/// Tools that print what they find in files, so that nothing of it is in their own definitions.
const TOOLS: &[(&str, &str)] = &[
    ("plain", "cat key.txt; cat key.txt >&2"),
    ("indented", "sed 's/^/  key: /' key.txt"),
    (
        "encoded",
        "base64 -w0 key.txt; echo; printf user: | cat - key.txt | base64 -w0; cat forms.txt",
    ),
    (
        "chunks",
        "head -c 8185 /dev/zero | tr '\\0' x; cat key.txt; head -c 8180 /dev/zero | tr '\\0' y; cat key.txt",
    ),
    (
        "slowly",
        "for n in 1 2 3 4 5 6 7 8 9 10 11; do cut -c$n key.txt | tr -d '\\n'; sleep 0.01; done; cut -c12- key.txt",
    ),
    ("failing", "cat key.txt >&2; exit 3"),
    ("hanging", "cat key.txt; cat key.txt >&2; sleep 60"),
    ("halved", "cat key.txt; head -c 14 key.txt; sleep 60"),
    (
        "much",
        "yes \"$(cat key.txt)\" | head -n 1600 | tr -d '\\n'",
    ),
];

const STEPS: &str = "description: Passes it on\nsteps:\n  - name: get\n    bash: cat key.txt\n    output:\n      mode: stream\n      stream-callback: console\n  - name: use\n    bash: \"printf '%s' {get.output} | wc -c\"\ntags: [read, run]\n";

fn scene() -> Test {
    let printed: String = forms()
        .iter()
        .filter(|(form, _)| !form.starts_with("its ") && !form.contains(" at "))
        .map(|(_, text)| format!("{text}\n"))
        .collect();
    let around = ["", "a", "ab", "user:"].iter().flat_map(|before| {
        let after = ["", "z", "zz", "\n"].iter();
        after.map(move |after| STANDARD.encode(format!("{before}{SENTINEL}{after}")) + "\n")
    });
    let printed = printed + &around.collect::<String>();
    let json = serde_json::json!({"key": SENTINEL, "again": serde_json::json!({"key": SENTINEL}).to_string()});
    let mut test = Test::new()
        .config("[limits]\nmaxOutputBytes = 20000\n")
        .file("key.txt", SENTINEL)
        .file("forms.txt", printed)
        .file("key.json", json.to_string())
        .file("../.toolcrib/tools/steps.yaml", STEPS);
    for (name, script) in TOOLS {
        let quoted = script.replace('\'', "''");
        let tool = format!("description: Leaks\nbash: '{quoted}'\ntags: [read, run]\n");
        test = test.file(&format!("../.toolcrib/tools/{name}.yaml"), tool);
    }
    keeps(&test, "KEY", SENTINEL);
    test
}

/// SEC-001.
#[test]
fn a_sentinel_is_found_nowhere() {
    let test = scene();
    let run = |words: &[&str]| is_clean(test.run(words));
    let mut masked = 0;
    for (name, _) in TOOLS {
        for flags in [&[][..], &["--stream", "--json"]] {
            let hangs = ["hanging", "halved"].contains(name);
            let time: &[&str] = if hangs { &["--timeout", "600ms"] } else { &[] };
            let words = [&["run", name, "--yes", "-v"][..], flags, time].concat();
            let ran = run(&words);
            masked += usize::from(format!("{}{}", ran.stdout, ran.stderr).contains("[REDACTED]"));
        }
    }
    run(&["run", "plain", "--yes", "--json"]).exits(0);
    run(&["run", "plain", "--yes", "--stream"]).exits(0);
    assert!(masked >= TOOLS.len(), "{masked} of the runs printed a mask");
    // Data flows inside of a tool as it is: the second step counts the bytes of what the first one printed.
    let ran = run(&["run", "steps", "--yes", "--json"]).exits(0);
    let length = SENTINEL.len().to_string();
    assert_eq!(
        ran.json()["value"]["stdout"].as_str().unwrap().trim(),
        length,
        "{ran:?}"
    );

    search_files(&test.home(), &mut Vec::new());
}

/// SEC-001, by what file tools read and callers say.
#[test]
fn a_sentinel_in_arguments_and_files_is_found_nowhere() {
    let test = scene();
    let run = |words: &[&str]| is_clean(test.run(words));
    run(&["run", "read_file", "path=key.txt"])
        .exits(0)
        .prints("[REDACTED]");
    run(&["run", "read_file", "path=key.json", "--json"]).exits(0);
    run(&["run", "read_file", "path=key.json", "--shape", "mcp"]).exits(0);
    let encoded = run(&[
        "run",
        "read_file",
        "path=key.txt",
        "encoding=base64",
        "--json",
    ])
    .exits(0);
    assert!(encoded.stdout.contains("[REDACTED]"), "{encoded:?}");

    // In arguments: of calls that run, are refused, planned, asked about, repeated.
    let content = format!("content=key {SENTINEL}\n");
    let write = ["run", "write_file", "path=new.txt", &content];
    run(&[&write[..], &["--call-id", "mine"]].concat()).exits(0);
    run(&[&write[..], &["--call-id", "mine", "--json"]].concat()).exits(0);
    let written = std::fs::read_to_string(test.workspace().join("new.txt")).unwrap();
    assert_eq!(
        written,
        format!("key {SENTINEL}\n"),
        "what runs is not masked"
    );
    let overwrite = ["run", "write_file", "path=new.txt", "content=without\n"];
    run(&[&overwrite[..], &["--dry-run"]].concat()).exits(0);
    run(&[&overwrite[..], &["--dry-run", "--json"]].concat()).exits(0);
    run(&[&overwrite[..], &["--wait-approval", "100ms"]].concat()).exits(6);
    let command = format!("command=git push origin 'x-key: {SENTINEL}'");
    run(&["run", "shell", &command, "--wait-approval", "100ms"]).exits(6);
    run(&[
        "run",
        "shell",
        &command,
        "--wait-approval",
        "100ms",
        "--json",
        "--stream",
    ])
    .exits(6);
    run(&[
        "run",
        "shell",
        &format!("command=cat {SENTINEL}"),
        "nonsense=1",
    ])
    .exits(4);
    run(&["run", "read_file", &format!("path={SENTINEL}")]).exits(1);
    run(&["run", SENTINEL]).exits(3);
    let grant = format!("command=curl -H 'x-key: {SENTINEL}' **");
    run(&["grants", "add", "shell", &grant, "--yes"]).exits(2);
    let shape = serde_json::json!({"command": {"argv": ["git", "push", SENTINEL]}}).to_string();
    run(&["grants", "add", "shell", "--shape", &shape, "--yes"]).exits(4);

    for words in [
        &["calls", "list", "--limit", "500", "--json"][..],
        &["calls", "list", "--limit", "500"],
        &["approvals", "list", "--all", "--json"],
        &["approvals", "list", "--all"],
        &["grants", "list", "--json"],
        &["secret", "list", "--json"],
        &["secret", "list"],
        &["doctor"],
        &["doctor", "--json"],
        &["list", "--json"],
        &["config", "show"],
    ] {
        run(words);
    }
    let mut searched = Vec::new();
    search_files(&test.home(), &mut searched);
    for part in ["calls/", "calls/ids/", "approvals/"] {
        let is_there = searched.iter().any(|path| path.contains(part));
        assert!(is_there, "nothing of {part} was searched: {searched:?}");
    }
}

#[test]
fn the_output_of_tests_is_masked() {
    let tool = "description: Leaks\nbash: printf 'SENTI%s' 'NEL-7f3a'\ntags: [read]\ntests:\n  - name: leaks\n    expected:\n      output-contains: nothing of this\n";
    let test = Test::new().file(".toolcrib/tools/leaks.yaml", tool);
    keeps(&test, "KEY", "SENTINEL-7f3a");
    for flags in [&[][..], &["--json"]] {
        let ran = test.run(&[&["test"][..], flags].concat());
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            told.contains("[REDACTED]") && !told.contains("SENTINEL-7f3a"),
            "{told}"
        );
    }
}

#[test]
fn an_answer_given_elsewhere_runs_what_was_asked_with_the_secret_in_it() {
    let test = scene();
    let content = format!("content=key {SENTINEL}\n");
    std::fs::write(test.workspace().join("old.txt"), "old\n").unwrap();
    let child = test
        .command()
        .args([
            "run",
            "write_file",
            "path=old.txt",
            &content,
            "--wait-approval",
            "60s",
        ])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let id = crate::terminal::until("a question", || {
        let listed = is_clean(test.run(&["approvals", "list", "--json"])).json();
        Some(listed[0]["id"].as_str()?.to_owned())
    });
    let shown = is_clean(test.run(&["approvals", "show", &id]).exits(0));
    assert!(shown.stdout.contains("[REDACTED]"), "{shown:?}");
    // An edit beside the mask would make the mask a value.
    is_clean(
        test.run(&[
            "approvals",
            "approve",
            &id,
            "--set",
            "content=new [REDACTED]",
        ])
        .exits(4),
    );
    is_clean(
        test.run(&[
            "approvals",
            "approve",
            &id,
            "--set",
            &format!("content={SENTINEL}!"),
        ])
        .exits(4),
    );
    is_clean(
        test.run(&["approvals", "approve", &id, "--set", "path=other.txt"])
            .exits(0),
    );
    is_clean(Ran::of(child.wait_with_output().unwrap()).exits(0));
    let written = std::fs::read_to_string(test.workspace().join("other.txt")).unwrap();
    assert_eq!(written, format!("key {SENTINEL}\n"));
    search_files(&test.home(), &mut Vec::new());
}
