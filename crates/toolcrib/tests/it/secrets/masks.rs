//! What masks know.

use serde_json::json;
use toolcrib::Secret;
use toolcrib::secret::Masker;

fn masker(value: &str) -> Masker {
    Masker::of(&[Secret::new(value)])
}

#[test]
fn the_longest_secret_that_starts_first_is_masked() {
    let masker = Masker::of(&[Secret::new("hunter"), Secret::new("hunter2-and-more")]);
    assert_eq!(masker.mask("hunter2-and-more!"), "[REDACTED]!");
    assert_eq!(masker.mask("hunter2-and-less"), "[REDACTED]2-and-less");
}

#[test]
fn nothing_to_look_for_changes_nothing() {
    let masker = Masker::default();
    assert!(masker.is_empty());
    assert_eq!(masker.mask("hunter2"), "hunter2");
}

#[test]
fn values_are_masked_in_texts_keys_and_numbers() {
    let masker = Masker::of(&[Secret::new("hunter2!"), Secret::new("12345678")]);
    let mut value = json!({
        "a": ["x hunter2! y", 5, null, true],
        "hunter2!": {"deep": "hunter2%21"},
        "[REDACTED]": 1,
        "number": 12_345_678,
        "other": 42.5,
    });
    masker.mask_value(&mut value);
    assert_eq!(
        value,
        json!({
            "a": ["x [REDACTED] y", 5, null, true],
            "[REDACTED]": {"deep": "[REDACTED]"},
            "[REDACTED] 2": 1,
            "number": "[REDACTED]",
            "other": 42.5,
        })
    );
}

#[test]
fn a_cut_leaves_no_half_of_a_secret_beside_it() {
    let masker = masker("SENTINEL-7f3a");
    let mark = "\n[toolcrib 0123456789abcdef0123: 77 bytes left out]\n";
    assert_eq!(
        masker.mask(&format!("a SENTINEL-{mark}EL-7f3a b")),
        format!("a [REDACTED]{mark}[REDACTED] b")
    );
    assert_eq!(masker.mask("said: SENTINEL…"), "said: [REDACTED]…");
    assert_eq!(masker.mask("a SEN… b"), "a SEN… b");
    assert_eq!(masker.mask("SENTINEL"), "SENTINEL");
}

#[test]
fn a_private_key_is_masked_line_by_line() {
    let line = |c: char| c.to_string().repeat(64);
    let key = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n{}\n-----END PRIVATE KEY-----\n",
        line('a'),
        line('b')
    );
    let masker = masker(&key);
    assert_eq!(masker.mask(&key), "[REDACTED]");
    let indented = format!("  {}\r\n  {}\r\n", line('a'), line('b'));
    assert_eq!(masker.mask(&indented), "  [REDACTED]\r\n  [REDACTED]\r\n");
}

#[test]
fn a_debug_text_reveals_nothing() {
    assert!(!format!("{:?}", masker("SENTINEL-7f3a")).contains("SENTINEL"));
}

/// Not a benchmark: it distinguishes milliseconds from seconds.
#[test]
fn a_megabyte_takes_no_time_worth_mentioning() {
    let secrets: Vec<Secret> = (0..20)
        .map(|number| Secret::new(format!("a secret of 40 characters \"<&>\" nr {number:05}")))
        .collect();
    let started = std::time::Instant::now();
    let masker = Masker::of(&secrets);
    let built = started.elapsed();
    let text = "an ordinary line of output, a secret of nobody\n".repeat(22_000);
    let started = std::time::Instant::now();
    assert_eq!(masker.mask(&text), text);
    let masked = started.elapsed();
    eprintln!("built in {built:?}, masked 1 MB in {masked:?}");
    assert!(built.as_secs() < 5 && masked.as_secs() < 5);
}
