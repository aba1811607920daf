//! `docs/reference/`, made from the code: the help of every command, an example that was run,
//! and the fields of every answer.
//!
//! `make reference` writes the pages; the test says which of them are not what it would write.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs};

use clap::CommandFactory;
use mnem_git::cli::Cli;
use mnem_git::report::{Answer, schemas};
use serde_json::{Map, Value};

use crate::docs::repository;
use crate::terminal::Terminal;

/// What is typed before the examples: a customer's plan, right, then misread, on two branches.
const STORY: &[&str] = &[
    "mnem remember plan Enterprise --source ticket-4821 --step step-1 --author agent",
    "mnem remember contact ada -m 'note the contact' --author agent",
    "mnem checkout -b callback",
    "mnem remember plan 'Enterprise until May' --source call-17 -m 'confirmed by phone' --author bob",
    "mnem checkout main",
    "mnem remember plan Pro --source billing-note-8842 -m 'reconcile the plan' --author agent",
];

/// What is typed on the page of each command.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("init", &["mnem init notes"]),
    (
        "remember",
        &[
            "mnem remember seats 40 --source ticket-4821 --author agent",
            "mnem remember limits --content-json '{\"seats\": 40}'",
        ],
    ),
    ("forget", &["mnem forget contact -m 'the contact left'"]),
    ("get", &["mnem get plan", "mnem get plan --at callback --json"]),
    ("add", &["mnem add seats 40", "mnem status"]),
    ("rm", &["mnem rm contact", "mnem status"]),
    ("commit", &["mnem add seats 40", "mnem commit -m 'count the seats' --author agent"]),
    ("status", &["mnem status", "mnem status --all-branches"]),
    (
        "log",
        &[
            "mnem log --oneline",
            "mnem log -n 1",
            "mnem log plan --oneline",
            "mnem merge callback --strategy theirs",
            "mnem log --graph --oneline",
        ],
    ),
    ("show", &["mnem show", "mnem show callback --stat"]),
    ("diff", &["mnem diff main callback", "mnem diff main callback --stat"]),
    ("changelog", &["mnem changelog main callback"]),
    ("blame", &["mnem blame plan", "mnem blame plan callback"]),
    ("bisect", &["mnem bisect --node plan --equals '\"Pro\"'"]),
    ("branch", &["mnem branch", "mnem branch trial HEAD~1"]),
    ("inbox", &["mnem inbox"]),
    ("checkout", &["mnem checkout callback", "mnem checkout -b trial"]),
    ("merge", &["mnem merge callback", "mnem merge callback --resolve plan=theirs"]),
    ("unstage", &["mnem add seats 40", "mnem unstage seats"]),
    ("approve", &["mnem remember seats 40 --branch trial", "mnem approve trial --reviewer ada"]),
    ("reject", &["mnem reject callback --reviewer ada --reason 'the note is older than the call'"]),
    ("revert", &["mnem revert HEAD"]),
    ("restore", &["mnem restore plan HEAD~1"]),
    ("undo", &["mnem undo"]),
    ("reflog", &["mnem reflog"]),
    ("demo", &["mnem demo --json"]),
    ("verify", &["mnem verify"]),
    ("fsck", &["mnem fsck"]),
    ("stats", &["mnem stats"]),
    (
        "migrate",
        &["mnem -C old migrate --dry-run", "mnem -C old migrate", "mnem -C old log --oneline"],
    ),
    ("cat-object", &["mnem log -n 1", "mnem cat-object HEAD"]),
    ("export", &["mnem export memory.jsonl", "mnem export --at HEAD~1"]),
    (
        "import",
        &[
            "mnem init notes --reproducible",
            "mnem -C notes remember plan Pro",
            "mnem -C notes export notes.jsonl",
            "mnem import notes.jsonl copy",
        ],
    ),
    ("import-json", &["mnem import-json memory.json", "mnem log -n 1"]),
    ("import-chat", &["mnem import-chat chat.json", "mnem import-chat chat.json"]),
    ("completions", &["mnem completions bash > mnem.bash"]),
];

const CHAT: &str = r#"[
    {"role": "user", "content": "Is my order on its way?"},
    {"role": "assistant", "tool_calls": [{"id": "call-1", "type": "function",
        "function": {"name": "get_reservation_details", "arguments": "{\"reservation_id\": \"4WQ150\"}"}}]},
    {"role": "tool", "tool_call_id": "call-1", "name": "get_reservation_details",
        "content": "{\"reservation_id\": \"4WQ150\", \"status\": \"booked\"}"}
]"#;

const GRAPH: &str = r#"{"type":"entity","name":"ada","entityType":"person","observations":["is the contact"]}
{"type":"relation","from":"ada","to":"billing","relationType":"works in"}
"#;

/// What a terminal shows of some commands.
fn example(lines: &[&str]) -> String {
    let mut t =
        if lines[0].starts_with("mnem init") { Terminal::new() } else { Terminal::with_store() };
    if !lines[0].starts_with("mnem init") {
        for line in STORY {
            t.quietly(line);
        }
    }
    t.write("chat.json", CHAT);
    t.write("memory.json", GRAPH);
    drop(t.original("old"));
    let mut text = String::new();
    for line in lines {
        // An example of an id is one that the reader has just seen.
        let line = if let Some(start) = line.strip_suffix("cat-object HEAD") {
            let log: Value = serde_json::from_str(&t.quietly("mnem log -n 1 --json")).unwrap();
            format!("{start}cat-object {}", &log["commits"][0]["id"].as_str().unwrap()[..12])
        } else {
            (*line).to_owned()
        };
        if let Some((typed, _)) = line.split_once(" > ") {
            t.quietly(typed);
            writeln!(text, "$ {line}").unwrap();
            continue;
        }
        t.forget_transcript();
        t.run(&line);
        for shown in t.transcript().lines() {
            // Both streams reach a terminal; the exit code does not show.
            if !shown.starts_with("? ") {
                let shown = shown.strip_prefix("! ").unwrap_or(shown).replace("[DIR]", "~");
                writeln!(text, "{}", disk(&shown)).unwrap();
            }
        }
    }
    text
}

/// What a file takes is the disk's business, so the page shows the words alone.
fn disk(line: &str) -> String {
    if line.starts_with("data file") {
        "data file       ... bytes, ... on the disk".into()
    } else if line.starts_with("The data file took") {
        "The data file took ... bytes and takes ...".into()
    } else {
        line.into()
    }
}

fn pages() -> BTreeMap<String, String> {
    let made = "<!-- Made from the code: `make reference` -->\n";
    let mut pages = BTreeMap::new();
    let about = Cli::command().get_long_about().unwrap().to_string();
    let mut index = format!("{made}# Commands\n\n{about}\n\n| | |\n| --- | --- |\n");
    let examples: BTreeMap<_, _> = EXAMPLES.iter().copied().collect();
    let (answers, shapes) = schemas();
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        let about = command.get_about().unwrap().to_string();
        writeln!(index, "| [{name}]({name}.md) | {about} |").unwrap();
        let Some(lines) = examples.get(name) else { panic!("mnem {name} has no example") };
        let help = Terminal::new().quietly(&format!("mnem {name} --help"));
        let (help, _) = help.split_once("Global options:").unwrap();
        let mut page = format!("{made}# mnem {name}\n\n```text\n{}\n```\n", help.trim_end());
        page += "\n[Options of every command](README.md#options-of-every-command)\n";
        write!(page, "\n## Example\n\n```console\n{}```\n", example(lines)).unwrap();
        assert!(answers.iter().any(|answer| answer.command == name), "mnem {name} has no schema");
        write!(page, "\nWith `--json`: [its fields](json.md#{name}).\n").unwrap();
        pages.insert(format!("{name}.md"), page);
    }
    index += "\n[The fields of every `--json` answer](json.md)\n";
    let options = Terminal::new().quietly("mnem --help");
    let options = options.split_once("Options:").unwrap().1.trim_end();
    write!(index, "\n## Options of every command\n\n```text\nOptions:{options}\n```\n").unwrap();
    pages.insert("README.md".into(), index);
    pages.insert("json.md".into(), format!("{made}{}", fields(&answers, &shapes)));
    pages
}

fn fields(answers: &[Answer], shapes: &Map<String, Value>) -> String {
    let mut page = String::from(
        "# JSON\n\nWith `--json`, every command prints one document. Its `schema` names the \
         command and the version of\nthe fields below: it is raised when a field changes its \
         meaning or goes, not when one is added.\n\nAn error is such a document on standard \
         error, with the command `error`: `code`, `message` and `hint`,\nwhich may be null. Times \
         are Unix milliseconds; ids of objects are 64 hexadecimal digits.\n\n# Answers\n",
    );
    for answer in answers {
        let (name, version) = (answer.command, answer.version);
        write!(page, "\n## {name}\n\nVersion {version}. ").unwrap();
        shape(&mut page, answer.schema.as_value());
    }
    page += "\n# Shapes\n";
    for (name, schema) in shapes {
        write!(page, "\n## {name}\n\n").unwrap();
        shape(&mut page, schema);
    }
    page
}

/// What a shape is, and its fields; of one that comes in several forms, those of each.
fn shape(page: &mut String, schema: &Value) {
    if let Some(text) = schema["description"].as_str() {
        writeln!(page, "{}", text.replace('\n', " ")).unwrap();
    }
    if schema.get("$ref").is_some() {
        writeln!(page, "The fields of {}.", kind(schema)).unwrap();
    }
    table(page, schema);
    for form in schema["oneOf"].as_array().into_iter().flatten() {
        let what = form["description"].as_str().unwrap_or_default();
        writeln!(page, "\n{what}").unwrap();
        table(page, form);
    }
}

fn table(page: &mut String, schema: &Value) {
    let Some(properties) = schema["properties"].as_object() else { return };
    page.push_str("\n| field | type | |\n| --- | --- | --- |\n");
    for (name, field) in properties {
        let text = field["description"].as_str().unwrap_or_default().replace('\n', " ");
        writeln!(page, "| `{name}` | {} | {text} |", kind(field)).unwrap();
    }
}

fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(value) = schema.get("const") {
        return format!("`{}`", value.as_str().unwrap());
    }
    if let Some(options) = schema["anyOf"].as_array() {
        return options.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Value::String(name) => named(name, schema),
        Value::Array(names) => {
            let names = names.iter().map(|name| named(name.as_str().unwrap(), schema));
            names.collect::<Vec<_>>().join(" or ")
        }
        _ => "any".into(),
    }
}

fn named(name: &str, schema: &Value) -> String {
    match name {
        "array" => format!("list of {}", kind(&schema["items"])),
        "object" => format!("map to {}", kind(&schema["additionalProperties"])),
        name => name.into(),
    }
}

/// Whether an answer has the fields that the schemas say, and no others.
pub fn conforms(command: &str, document: &Value) -> Result<(), String> {
    let (answers, shapes) = schemas();
    let answer = answers.iter().find(|answer| answer.command == command);
    let schema = answer.ok_or_else(|| format!("{command} has no schema"))?.schema.as_value();
    let mut body = document.as_object().unwrap().clone();
    body.remove("schema");
    check(&Value::Object(body), schema, &shapes)
}

fn check(value: &Value, schema: &Value, shapes: &Map<String, Value>) -> Result<(), String> {
    if let Some(reference) = schema["$ref"].as_str() {
        return check(value, &shapes[reference.rsplit('/').next().unwrap()], shapes);
    }
    if let Some(options) = schema["anyOf"].as_array() {
        let fits = |option| check(value, option, shapes).is_ok();
        return if options.iter().any(fits) { Ok(()) } else { Err(format!("{value} fits none")) };
    }
    if let Some(expected) = schema.get("const").filter(|expected| *expected != value) {
        return Err(format!("{value} is not {expected}"));
    }
    let named = match &schema["type"] {
        Value::String(name) => vec![name.as_str()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if !named.is_empty() && !named.contains(&is) {
        return Err(format!("{value} is {is}, not {named:?}"));
    }
    for item in value.as_array().into_iter().flatten() {
        check(item, &schema["items"], shapes)?;
    }
    let Some(object) = value.as_object() else { return Ok(()) };
    let mut form = schema.clone();
    if let Some(forms) = schema["oneOf"].as_array() {
        // The form whose constants the value has; its fields stand beside the common ones.
        let fits = |candidate: &&Value| {
            let fields = candidate["properties"].as_object().into_iter().flatten();
            fields
                .filter_map(|(name, field)| Some((name, field.get("const")?)))
                .all(|(name, expected)| object.get(name) == Some(expected))
        };
        let found = forms.iter().find(fits).ok_or_else(|| format!("{value} has no form"))?;
        let mut properties = schema["properties"].as_object().cloned().unwrap_or_default();
        properties.extend(found["properties"].as_object().cloned().unwrap_or_default());
        form["properties"] = properties.into();
        form["required"] = [&schema["required"], &found["required"]]
            .into_iter()
            .flat_map(|names| names.as_array().cloned().unwrap_or_default())
            .collect();
    }
    for name in form["required"].as_array().into_iter().flatten() {
        if !object.contains_key(name.as_str().unwrap()) {
            return Err(format!("{name} is missing"));
        }
    }
    for (name, inner) in object {
        match (form["properties"].get(name), form.get("additionalProperties")) {
            (Some(field), _) | (None, Some(field)) => {
                check(inner, field, shapes).map_err(|problem| format!("{name}: {problem}"))?;
            }
            // Any JSON value says nothing of its fields.
            (None, None) if form["properties"].is_null() => {}
            (None, None) => return Err(format!("{name} is not in the schema")),
        }
    }
    Ok(())
}

#[test]
fn the_pages_are_current() {
    let directory = repository().join("docs/reference");
    let pages = pages();
    if env::var_os("MNEM_WRITE_REFERENCE").is_some() {
        let _ = fs::remove_dir_all(&directory); // there may be none
        fs::create_dir_all(&directory).unwrap();
        for (name, page) in &pages {
            fs::write(directory.join(name), page).unwrap();
        }
    }
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        found.insert(name, fs::read_to_string(&path).unwrap());
    }
    let names = |pages: &BTreeMap<String, String>| pages.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&pages), "`make reference` writes the pages");
    for (name, page) in &pages {
        assert!(found[name] == *page, "docs/reference/{name} is old: `make reference` writes it");
    }
}

#[test]
fn a_document_that_is_not_as_the_schema_says_is_seen() {
    let told = serde_json::json!({"transcript": "t"});
    assert!(conforms("import-chat", &told).unwrap_err().contains("is missing"));
    for (document, problem) in [
        (serde_json::json!({"shell": 1, "script": ""}), "not [\"string\"]"),
        (serde_json::json!({"shell": "", "script": "", "more": 1}), "not in the schema"),
        (serde_json::json!({"shell": "", "script": null}), "is null"),
    ] {
        let error = conforms("completions", &document).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
    assert!(conforms("nothing", &told).is_err());
}
