//! Transcripts: what is learnt, from which call, and what a second reading adds.

use mnem_store::ops::log::LogOptions;
use mnem_store::portable::chat::{ChatOptions, ChatReport, Rule, import_chat, import_chat_watched};
use mnem_store::portable::json;
use mnem_store::{Content, ErrorKind, Store};

use crate::support::{id, in_memory};

fn options(keep_all: bool) -> ChatOptions {
    ChatOptions {
        transcript: "run".into(),
        rules: None,
        keep_all,
        author: "agent".into(),
        time: Some(7),
    }
}

fn call(call_id: &str, name: &str, arguments: &str) -> String {
    let arguments = serde_json::to_string(arguments).unwrap();
    format!(
        r#"{{"role": "assistant", "content": null, "tool_calls":
            [{{"id": "{call_id}", "type": "function", "function": {{"name": "{name}", "arguments": {arguments}}}}}]}}"#
    )
}

fn result(call_id: &str, name: &str, content: &str) -> String {
    let content = serde_json::to_string(content).unwrap();
    format!(
        r#"{{"role": "tool", "tool_call_id": "{call_id}", "name": "{name}", "content": {content}}}"#
    )
}

/// A user, a reservation, the same again, flights of which the day stands in the call, an error,
/// the reservation changed.
fn transcript() -> Vec<String> {
    vec![
        r#"{"role": "user", "content": "hello"}"#.into(),
        call("c1", "get_user_details", r#"{"user_id": "ada"}"#),
        result("c1", "get_user_details", r#"{"name": "Ada", "reservations": ["R1"]}"#),
        call("c2", "get_reservation_details", r#"{"reservation_id": "R1"}"#),
        result(
            "c2",
            "get_reservation_details",
            r#"{"reservation_id": "R1", "user_id": "ada", "cabin": "economy"}"#,
        ),
        call("c2", "get_reservation_details", r#"{"reservation_id": "R1"}"#),
        result(
            "c2",
            "get_reservation_details",
            r#"{"cabin": "economy", "reservation_id": "R1", "user_id": "ada"}"#,
        ),
        call("c3", "search_direct_flight", r#"{"date": "2024-05-20"}"#),
        result(
            "c3",
            "search_direct_flight",
            r#"[[{"flight_number": "F1"}], {"flight_number": "F2", "date": "2024-05-21"}]"#,
        ),
        call("c4", "calculate", r#"{"expression": "1 + 1"}"#),
        result("c4", "calculate", "2"),
        call("c5", "update_reservation", r#"{"reservation_id": "R1"}"#),
        result(
            "c5",
            "update_reservation",
            r#"{"reservation_id": "R1", "user_id": "ada", "cabin": "business"}"#,
        ),
    ]
}

fn read(
    store: &Store,
    messages: &[String],
    keep_all: bool,
) -> Result<ChatReport, mnem_store::Error> {
    let messages = json::parse(&format!("[{}]", messages.join(","))).unwrap();
    import_chat(store, &messages, &options(keep_all))
}

fn commits(store: &Store) -> usize {
    store.log(&LogOptions::default()).unwrap().len()
}

#[test]
fn the_progress_counts_messages() {
    let store = in_memory();
    let messages = json::parse(&format!("[{}]", transcript().join(","))).unwrap();
    let mut seen = Vec::new();
    import_chat_watched(&store, &messages, &options(false), |read| seen.push(read)).unwrap();
    let all = transcript().len() as u64;
    assert_eq!(seen, (1..=all).collect::<Vec<_>>());
    seen.clear();
    import_chat_watched(&store, &messages, &options(false), |read| seen.push(read)).unwrap();
    assert!(seen.is_empty(), "everything was read before");
}

#[test]
fn each_result_that_taught_something_is_one_commit() {
    let store = in_memory();
    let report = read(&store, &transcript(), false).unwrap();
    assert_eq!((report.results, report.commits, report.written), (6, 4, 5));
    assert_eq!((report.unchanged, report.passed_over, report.before), (1, 1, 0));
    let ids: Vec<_> = store
        .snapshot()
        .unwrap()
        .versions("", None, None)
        .unwrap()
        .into_iter()
        .map(|(id, _)| id.to_string())
        .collect();
    assert_eq!(
        ids,
        [
            "flight:F1:2024-05-20",
            "flight:F2:2024-05-21",
            "reservation:R1",
            "transcript:run",
            "user:ada"
        ]
    );
    let flight = store.snapshot().unwrap().get(&id("flight:F1:2024-05-20")).unwrap().unwrap();
    assert_eq!(flight.content.to_string(), r#"{"date":"2024-05-20","flight_number":"F1"}"#);
    let user = store.blame(&id("user:ada"), None).unwrap().node;
    assert_eq!(user.content.as_map().unwrap().get("user_id"), Some(&Content::text("ada")));
    assert_eq!(user.provenance.agent_step.as_deref(), Some("run#2"));
    assert_eq!(user.provenance.source.as_deref(), Some("get_user_details"));
    assert_eq!(
        user.provenance.tool_call.as_deref(),
        Some(r#"get_user_details({"user_id":"ada"})"#)
    );
}

#[test]
fn blame_names_the_call_that_taught_and_not_the_one_that_read_again() {
    let store = in_memory();
    read(&store, &transcript()[..9], false).unwrap();
    let blame = store.blame(&id("reservation:R1"), None).unwrap();
    assert_eq!(blame.node.provenance.agent_step.as_deref(), Some("run#4"));
    read(&store, &transcript(), false).unwrap();
    let blame = store.blame(&id("reservation:R1"), None).unwrap();
    assert_eq!(blame.node.provenance.agent_step.as_deref(), Some("run#12"));
}

#[test]
fn a_second_reading_adds_nothing_and_a_longer_transcript_its_tail() {
    let (whole, parts) = (in_memory(), in_memory());
    read(&whole, &transcript(), false).unwrap();
    for length in 0..=transcript().len() {
        let report = read(&parts, &transcript()[..length], false).unwrap();
        assert_eq!(report.before, (length as u64).saturating_sub(1));
    }
    let before = commits(&whole);
    let again = read(&whole, &transcript(), false).unwrap();
    assert_eq!((again.commits, again.written, commits(&whole)), (0, 0, before));
    let memory = |store: &Store| {
        let memory = store.snapshot().unwrap().memory("", None).unwrap();
        memory.into_values().map(|node| (node.id.clone(), node.content.clone())).collect::<Vec<_>>()
    };
    assert_eq!(memory(&whole), memory(&parts));
}

#[test]
fn the_record_follows_to_the_end_of_a_transcript() {
    let store = in_memory();
    let mut messages = transcript();
    messages.push(r#"{"role": "assistant", "content": "done"}"#.into());
    read(&store, &messages, false).unwrap();
    let record = store.snapshot().unwrap().get(&id("transcript:run")).unwrap().unwrap();
    let read_to = record.content.as_map().unwrap().get("messages").unwrap().to_string();
    assert_eq!((read_to.as_str(), commits(&store)), ("14", 5));
}

#[test]
fn a_changed_beginning_is_refused_before_anything_is_written() {
    let store = in_memory();
    read(&store, &transcript(), false).unwrap();
    let head = store.head_commit().unwrap();
    let mut changed = transcript();
    changed[0] = r#"{"role": "user", "content": "goodbye"}"#.into();
    changed.push(result("c9", "get_reservation_details", r#"{"reservation_id": "R9"}"#));
    for messages in [&changed[..], &transcript()[..5]] {
        let error = read(&store, messages, false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRef);
        assert_eq!(store.head_commit().unwrap(), head);
    }
}

#[test]
fn what_names_no_entity_is_kept_when_asked() {
    let store = in_memory();
    let report = read(&store, &transcript(), true).unwrap();
    assert_eq!(report.passed_over, 0);
    let sum = store.snapshot().unwrap().get(&id("c4")).unwrap().unwrap();
    assert_eq!(sum.content.to_string(), "2");
}

#[test]
fn rules_come_from_a_table() {
    let table =
        json::parse(r#"[{"entity": "hotel", "id": ["name", "room"], "arguments": ["room"]}]"#)
            .unwrap();
    let options = ChatOptions { rules: Some(Rule::table(&table).unwrap()), ..options(false) };
    let messages = [
        call("c", "rooms", r#"{"room": 7}"#),
        result("c", "rooms", r#"{"name": "a:b", "free": true}"#),
    ];
    let messages = json::parse(&format!("[{}]", messages.join(","))).unwrap();
    let store = in_memory();
    import_chat(&store, &messages, &options).unwrap();
    assert!(store.snapshot().unwrap().get(&id("hotel:a%3Ab:7")).unwrap().is_some());

    for (rules, what) in [
        ("{}", "rules are a list of maps"),
        ("[1]", "rules[0]: a rule is a map"),
        (r#"[{"entity": "e", "id": []}]"#, "rules[0]: entity and id must not be empty"),
        (r#"[{"entity": "e", "id": ["a"], "args": []}]"#, "rules[0]: unknown key"),
        (
            r#"[{"entity": "e", "id": ["a"], "arguments": ["b"]}]"#,
            "rules[0]: arguments names \"b\"",
        ),
    ] {
        let error = Rule::table(&json::parse(rules).unwrap()).unwrap_err();
        assert!(error.to_string().starts_with(what), "{error}");
    }
}

#[test]
fn what_would_be_no_node_id_is_passed_over_and_the_rest_is_read() {
    let store = in_memory();
    let long = format!(r#"{{"reservation_id": "{}"}}"#, "x".repeat(2_000));
    let good = |name: &str| format!(r#"{{"reservation_id": "{name}"}}"#);
    let messages = [
        result("", "get", &good("R1")),
        result("", "get", &long),
        result("", "get", &good("R2")),
        result("", "sum", "3"),
    ];
    let report = read(&store, &messages, false).unwrap();
    assert_eq!((report.commits, report.passed_over), (3, 2));
    let again = read(&store, &messages, false).unwrap();
    assert_eq!((again.commits, again.before), (0, 4));

    // Kept, they stand under their step.
    let store = in_memory();
    read(&store, &messages, true).unwrap();
    assert!(store.snapshot().unwrap().get(&id("run#1")).unwrap().is_some());
    assert_eq!(
        store.snapshot().unwrap().get(&id("run#3")).unwrap().unwrap().content.to_string(),
        "3"
    );
}

#[test]
fn what_is_no_transcript_is_refused() {
    for (messages, name, what) in [
        (r#""hello""#, "run", "a transcript is a list of messages"),
        (r#"[{"role": "user"}, 1]"#, "run", "messages[1] is no message"),
        (r#"[{"content": "hello"}]"#, "run", "messages[0] is no message"),
        ("[]", "", "the name of a transcript must not be empty"),
    ] {
        let store = in_memory();
        let options = ChatOptions { transcript: name.into(), ..options(false) };
        let error = import_chat(&store, &json::parse(messages).unwrap(), &options).unwrap_err();
        assert!(error.to_string().starts_with(what), "{error}");
        assert_eq!(store.head_commit().unwrap(), None);
    }
}
