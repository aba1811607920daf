//! import-chat: a transcript becomes memory.

use insta::assert_snapshot;

use crate::terminal::Terminal;

/// A conversation in which a reservation is read, changed and read again.
fn messages(number: usize) -> String {
    let call = |id: &str, name: &str, arguments: &str| {
        serde_json::json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
        ]})
    };
    let result = |id: &str, content: &str| serde_json::json!({"role": "tool", "tool_call_id": id, "content": content});
    let all = [
        serde_json::json!({"role": "user", "content": "Where am I sitting?"}),
        call("c1", "get_reservation", "{\"reservation_id\": \"K4T9\"}"),
        result("c1", "{\"reservation_id\": \"K4T9\", \"seat\": \"12A\"}"),
        call("c2", "change_seat", "{\"reservation_id\": \"K4T9\", \"seat\": \"3C\"}"),
        result("c2", "{\"reservation_id\": \"K4T9\", \"seat\": \"3C\"}"),
        call("c3", "get_reservation", "{\"reservation_id\": \"K4T9\"}"),
        result("c3", "{\"reservation_id\": \"K4T9\", \"seat\": \"3C\"}"),
        call("c4", "think", "{}"),
        result("c4", "the seat is changed"),
    ];
    serde_json::to_string(&all[..number]).unwrap()
}

#[test]
fn import_chat() {
    let mut t = Terminal::with_store();
    t.write("support-17.json", messages(4));
    t.run("mnem import-chat support-17.json --author agent");
    t.write("support-17.json", messages(9));
    t.run("mnem import-chat support-17.json --author agent")
        .run("mnem import-chat support-17.json")
        .run("mnem log --oneline")
        .run("mnem blame reservation:K4T9")
        .run("mnem verify");
    t.write("support-17.json", messages(9).replace("12A", "12B"));
    t.run("mnem import-chat support-17.json")
        .run("mnem import-chat support-17.json --transcript again --keep-all --json");
    assert_snapshot!(t.transcript());
}

#[test]
fn a_map_of_messages_and_rules_of_ones_own() {
    let mut t = Terminal::with_store();
    t.write("rules.json", r#"[{"entity": "seat", "id": ["seat"]}]"#);
    t.pipe(
        format!("{{\"messages\": {}}}", messages(9)),
        "mnem import-chat - --transcript piped --rules rules.json",
    )
    .run("mnem show --stat")
    .run("mnem show");
    assert_snapshot!(t.transcript());
}

#[test]
fn transcripts_that_are_refused() {
    let mut t = Terminal::with_store();
    t.write("text.json", "\"no list\"");
    t.write("broken.json", "[{]");
    t.write("latin.json", b"\"caf\xe9\"");
    t.write("good.json", "[]");
    t.write("rules.json", r#"[{"entity": "seat"}]"#);
    t.run("mnem import-chat missing.json")
        .run("mnem import-chat text.json")
        .run("mnem import-chat broken.json")
        .run("mnem import-chat latin.json")
        .pipe("[]", "mnem import-chat -")
        .run("mnem import-chat good.json --rules rules.json")
        .run("mnem import-chat good.json --rules text.json")
        .run("mnem log");
    assert_snapshot!(t.transcript());
}
