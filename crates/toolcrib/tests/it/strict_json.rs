//! JSON as bodies and replies may have it: read as `serde_json` reads it, but for what two readers could understand differently.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolcrib::model::json::{StrictJsonError, read_bounded, read_strict};

fn refused(text: &str) -> StrictJsonError {
    match read_strict(text.as_bytes()) {
        Ok(value) => panic!("{text} was read as {value}"),
        Err(error) => error,
    }
}

#[test]
fn a_key_twice_is_refused_at_any_depth() {
    for (text, pointer) in [
        (r#"{"a":1,"a":1}"#, "/a"),
        (r#"{"a":1,"\u0061":2}"#, "/a"),
        (r#"{"x":{"y":[0,{"a":1,"b":2,"a":3}]}}"#, "/x/y/1/a"),
        (r#"[{"":0,"":0}]"#, "/0/"),
        (r#"{"a/b":{"c~d":1,"c~d":1}}"#, "/a~1b/c~0d"),
    ] {
        let error = refused(text);
        assert_eq!(error.pointer, pointer, "{text}");
        assert!(error.problem.contains("twice"), "{error}");
    }
    // The same key in two objects is not a fault.
    assert!(read_strict(br#"[{"a":1},{"a":{"a":2}}]"#).is_ok());
}

#[test]
fn a_number_that_would_change_is_refused() {
    for (text, pointer) in [
        ("1e400", ""),
        ("[-1e400]", "/0"),
        ("18446744073709551616", ""),
        ("-9223372036854775809", ""),
        (
            r#"{"a":[1,-2,3.5,1e19,"9\"9",18446744073709551616]}"#,
            "/a/5",
        ),
        (
            r#"{"99999999999999999999":[99999999999999999999]}"#,
            "/99999999999999999999/0",
        ),
        ("123456789012345678901234567890", ""),
    ] {
        assert_eq!(refused(text).pointer, pointer, "{text}");
    }
    for (text, value) in [
        ("18446744073709551615", json!(u64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("9223372036854775808", json!(9_223_372_036_854_775_808_u64)),
        ("1e19", json!(1e19)),
        ("1E+300", json!(1e300)),
        ("-0", json!(-0.0)),
        ("0.1", json!(0.1)),
    ] {
        assert_eq!(read_strict(text.as_bytes()).unwrap(), value, "{text}");
    }
}

/// Numbers that may be rounded, below a name of half a body: a reader that keeps the place of each needs hundreds of gigabytes.
#[test]
fn large_numbers_below_a_long_name_cost_no_more_than_small_ones() {
    let name = "k".repeat(2_000_000);
    let numbers = vec!["1e20"; 400_000].join(",");
    let body = format!(r#"{{"{name}":[{numbers}]}}"#);
    let begun = std::time::Instant::now();
    let value = read_strict(body.as_bytes()).unwrap();
    assert_eq!(value[&name][399_999], json!(1e20));
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());

    let body = format!(r#"{{"{name}":[{numbers},18446744073709551616]}}"#);
    let error = refused(&body);
    assert!(error.pointer.ends_with("…/400000"), "{}", error.pointer);
    assert!(
        error.to_string().len() < 1024,
        "{}",
        error.to_string().len()
    );
}

#[test]
fn what_is_said_of_a_fault_is_bounded_however_long_the_names_are() {
    let name = "n/~é".repeat(50_000);
    for inner in ["1e400", "[1,]", r#""\ud800""#, "{\"x\":1,\"x\":2}", "tru"] {
        let error = refused(&format!(r#"{{"{name}":{inner}}}"#));
        assert!(error.pointer.len() < 600, "{}", error.pointer.len());
        assert!(
            error.to_string().len() < 1200,
            "{}",
            error.to_string().len()
        );
    }
    let twice = format!(r#"{{"{name}":1,"{name}":2}}"#);
    assert!(refused(&twice).to_string().len() < 1200);
    let deep = format!(
        "{}1e400{}",
        r#"{"long-name-of-a-level":"#.repeat(120),
        "}".repeat(120)
    );
    let error = refused(&deep);
    assert!(
        (500..600).contains(&error.pointer.len()),
        "{}",
        error.pointer
    );
}

#[test]
fn input_that_is_not_json_is_refused_with_its_place() {
    for (text, pointer) in [
        ("", ""),
        (" ", ""),
        ("{", ""),
        ("nul", ""),
        ("NaN", ""),
        ("Infinity", ""),
        ("01", ""),
        ("+1", ""),
        (".5", ""),
        ("'a'", ""),
        ("{} {}", ""),
        ("1 2", ""),
        ("[1,]", "/1"),
        (r#"{"a":1,}"#, ""),
        (r#"{"a":tru}"#, "/a"),
        (r#"{"a":"\ud800"}"#, "/a"),
        (r#"{"a":"\udc00\ud800"}"#, "/a"),
        (r#"{"\ud800":1}"#, ""),
        ("{\"a\":\"\u{1}\"}", "/a"),
        ("{\"a\":\"tab\there\"}", "/a"),
        ("\u{feff}{}", ""),
        ("// c\n{}", ""),
    ] {
        assert_eq!(refused(text).pointer, pointer, "{text}");
    }
    assert!(read_strict(b"\"\xff\"").is_err());
    assert!(read_strict(b"\"\xed\xa0\x80\"").is_err());
    assert!(read_strict(b"{}\0").is_err());
}

#[test]
fn nesting_has_an_end() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read_strict(nested(127).as_bytes()).is_ok());
    for depth in [128, 129, 1_000_000] {
        assert!(read_strict(nested(depth).as_bytes()).is_err(), "{depth}");
    }
    let objects = format!("{}1{}", "{\"a\":".repeat(5000), "}".repeat(5000));
    assert!(read_strict(objects.as_bytes()).is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            proptest::collection::vec((".{0,6}", inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn sound_json_is_read_as_everybody_reads_it(value in any_json(), pretty in any::<bool>()) {
        let text = match pretty {
            true => serde_json::to_string_pretty(&value).unwrap(),
            false => value.to_string(),
        };
        let plain: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read_strict(text.as_bytes()).unwrap(), plain);
    }

    #[test]
    fn what_is_taken_is_what_everybody_takes(text in r#"[\[\]{}:,"a0-9.eE+\-\\u tnrf]{0,24}"#) {
        if let Ok(value) = read_strict(text.as_bytes()) {
            prop_assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap());
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = read_strict(&bytes);
    }
}

#[test]
fn data_of_others_is_read_as_serde_json_does_within_a_bound_of_memory() {
    for text in [
        r#"{"a":1,"a":{"b":2}}"#,
        "18446744073709551616",
        "[1e300,null]",
    ] {
        let read: Value = serde_json::from_str(text).unwrap();
        assert_eq!(read_bounded(text.as_bytes()).unwrap(), read, "{text}");
    }
    let lists = format!("[{}]", vec!["[1]"; 200_000].join(","));
    let error = read_bounded(lists.as_bytes()).unwrap_err();
    assert!(error.problem.contains("64 MB of memory"), "{error}");
}
