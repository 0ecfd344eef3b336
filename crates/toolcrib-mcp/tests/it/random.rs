//! Whatever comes, there is no panic, and every request gets exactly one answer.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::stage::{Client, EVERYTHING, modern};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop_oneof![
            "[a-z/]{0,12}",
            Just("2026-07-28".to_owned()),
            Just("2.0".to_owned()),
            any::<String>()
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((member(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn member() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "name",
            "arguments",
            "cursor",
            "uri",
            "_meta",
            "level",
            "notifications",
            "params",
            "method",
            "id",
            "inputResponses",
            "requestState",
            "progressToken",
            "toolsListChanged",
            "requestId",
            "io.modelcontextprotocol/protocolVersion",
            "io.modelcontextprotocol/clientCapabilities",
        ])
        .prop_map(str::to_owned),
        "[a-z]{0,4}",
    ]
}

fn method() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "initialize",
            "ping",
            "tools/list",
            "tools/call",
            "prompts/list",
            "prompts/get",
            "resources/list",
            "resources/read",
            "resources/templates/list",
            "resources/subscribe",
            "resources/unsubscribe",
            "completion/complete",
            "logging/setLevel",
            "server/discover",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ]
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(test)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_gets_exactly_one_answer(
        requests in prop::collection::vec((method(), prop::option::of(any_json()), any::<bool>()), 1..20),
        begun in any::<bool>(),
    ) {
        run(async {
            let mut client = Client::new(EVERYTHING);
            if begun {
                client.initialize(json!({"elicitation": {}})).await;
            }
            let count = requests.len();
            for (id, (method, params, is_modern)) in requests.into_iter().enumerate() {
                let mut request = json!({"jsonrpc": "2.0", "id": id, "method": method});
                match params {
                    Some(params) if is_modern && params.is_object() => request = modern(id, &method, params),
                    Some(params) => request["params"] = params,
                    None => {}
                }
                client.send(request).await;
            }
            let mut ids: Vec<_> = client
                .finish()
                .await
                .iter()
                .filter(|it| it.get("result").is_some() || it.get("error").is_some())
                .map(|it| it["id"].as_u64().unwrap())
                .collect();
            ids.sort_unstable();
            assert_eq!(ids, (0..count as u64).collect::<Vec<_>>());
        });
    }

    #[test]
    fn any_json_and_any_bytes_leave_the_connection_usable(
        values in prop::collection::vec(any_json(), 0..10),
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        run(async {
            let mut client = Client::new(EVERYTHING);
            for value in values {
                client.send(value).await;
            }
            client.send_raw(&bytes).await;
            client.send_raw(b"\n").await;
            client.send(json!({"jsonrpc": "2.0", "id": "the last", "method": "ping"})).await;
            let rest = client.finish().await;
            let last = rest.iter().filter(|it| it["id"] == "the last").count();
            assert_eq!(last, 1);
        });
    }
}
