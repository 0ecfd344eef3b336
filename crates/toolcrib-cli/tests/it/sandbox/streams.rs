//! What goes in and what comes out.

use std::io::Write as _;
use std::process::{Output, Stdio};

use super::{LEVELS, bash, ends};
use crate::harness::Test;

/// Bytes of every value, in an order that no encoding has.
fn bytes() -> Vec<u8> {
    (0..300_000u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect()
}

fn with_input(test: &Test, words: &[&str], input: Vec<u8>) -> Output {
    let mut child = test
        .command()
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that does not read is not a failure.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

#[test]
fn input_and_both_outputs_pass_through_byte_for_byte() {
    let test = Test::new();
    for level in LEVELS {
        let run = bash(
            &["--isolation", level],
            "cat > /tmp/tcs; cat /tmp/tcs; cat /tmp/tcs >&2; rm /tmp/tcs",
        );
        let output = with_input(&test, &run, bytes());
        assert_eq!(output.status.code(), Some(0), "{level}");
        assert!(output.stdout == bytes(), "{level}");
        assert!(output.stderr == bytes(), "{level}");
    }
}

#[test]
fn the_standard_streams_can_be_opened_by_name() {
    let test = Test::new();
    for level in LEVELS {
        let code = "cat /dev/stdin > /dev/stdout; echo err > /dev/stderr; echo more > /dev/fd/2";
        let ran = test.run_with_input(&bash(&["--isolation", level], code), "in\n");
        assert_eq!(
            (ran.stdout.as_str(), ran.stderr.as_str()),
            ("in\n", "err\nmore\n"),
            "{level}"
        );
    }
}

#[test]
fn a_file_is_input_like_any_other() {
    let test = Test::new().file("in.txt", "from a file\n");
    let outside = test.workspace().parent().unwrap().join("input");
    std::fs::write(&outside, "from outside\n").unwrap();
    for (path, text) in [
        (test.workspace().join("in.txt"), "from a file\n"),
        (outside, "from outside\n"),
    ] {
        let input = std::fs::File::open(path).unwrap();
        let mut command = test.command();
        let output = command.args(["sandbox", "--", "cat"]).stdin(input).output();
        assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap(), text);
    }
}

#[test]
fn a_command_that_does_not_read_its_input_ends_all_the_same() {
    let output = with_input(
        &Test::new(),
        &["sandbox", "--", "true"],
        vec![b'x'; 4 << 20],
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn an_input_that_stays_open_keeps_nothing_waiting() {
    let test = Test::new();
    let mut child = test
        .command()
        .args(["sandbox", "--", "true"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let _open = child.stdin.take();
    assert_eq!(ends(&mut child), Some(0));
}

#[test]
fn without_input_there_is_none() {
    let test = Test::new();
    let output = with_input(
        &test,
        &["--no-input", "sandbox", "--", "cat"],
        b"secret".to_vec(),
    );
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), &b""[..])
    );
}

#[test]
fn much_output_comes_through_whole() {
    let test = Test::new();
    let output = test
        .command()
        .args(bash(&[], "head -c 100M /dev/zero"))
        .output()
        .unwrap();
    assert_eq!(
        (output.status.code(), output.stdout.len()),
        (Some(0), 100 << 20)
    );
}
