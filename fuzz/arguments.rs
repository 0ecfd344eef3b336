//! Any schema and any arguments: the schema is refused or bounded, the arguments accepted or
//! refused with pointers, and checking twice gives the same answer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolcrib::{CallRequest, Schema};

fuzz_target!(|data: (&str, &str)| {
    let (schema, args) = data;
    if let Ok(value) = serde_json::from_str::<Value>(args) {
        let _ = CallRequest::from_json(value);
    }
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return };
    let Ok(schema) = Schema::stored(schema) else { return };
    let Ok(Value::Object(args)) = serde_json::from_str::<Value>(args) else { return };
    if let Ok(checked) = schema.check_arguments(args, &[]) {
        let again = schema.check_arguments(checked.clone(), &[]);
        assert_eq!(again.as_ref(), Ok(&checked), "normalising is not stable");
        let _ = schema.masked(&checked, &[]);
    }
});
