//! The commands that only read: log in its forms, changelog, inbox, stats, cat-object, times.

use insta::assert_snapshot;

use crate::terminal::Terminal;

/// A belief on two lines of history, merged with a value of its own.
fn story() -> Terminal {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan Pro --source ticket-1 --author agent");
    t.quietly("mnem remember owner ada -m 'note the owner' --author agent");
    t.quietly("mnem checkout -b side");
    t.quietly(
        "mnem remember plan Team --source call-2 -m 'heard by phone\n\nsecond line' --author bob",
    );
    t.quietly("mnem checkout main");
    t.quietly("mnem remember plan Max --source note-3 -m 'read in a note' --author agent");
    t.quietly("mnem merge side --strategy theirs");
    t.quietly("mnem forget plan -m 'no plan'");
    t
}

#[test]
fn log_of_one_memory() {
    let mut t = story();
    t.run("mnem log plan")
        .run("mnem log plan --oneline")
        .run("mnem log plan --oneline --first-parent")
        .run("mnem log plan --oneline -n 2")
        .run("mnem log side --node plan --oneline")
        .run("mnem log --node plan --oneline")
        .run("mnem log plan -n 1 --json")
        .run("mnem log nobody")
        .run("mnem log --node nobody")
        .run("mnem log plan --graph")
        .run("mnem log --node plan --graph");
    assert_snapshot!(t.transcript());
}

#[test]
fn a_revision_wins_over_a_memory() {
    let mut t = story();
    t.quietly("mnem remember side x -m 'a memory named like a branch'");
    t.quietly("mnem remember HEAD x -m 'a memory named HEAD'");
    t.run("mnem log side --oneline")
        .run("mnem log --node side --oneline")
        .run("mnem log HEAD --oneline -n 1")
        .run("mnem log HEAD --node HEAD --oneline")
        .run("mnem log HEAD~1 --oneline -n 1");
    assert_snapshot!(t.transcript());
}

#[test]
fn log_with_its_lines() {
    let mut t = story();
    t.run("mnem log --graph --oneline")
        .run("mnem log --graph")
        .run("mnem log --graph --oneline --first-parent")
        .run("mnem log --graph --oneline -n 2")
        .run("mnem log --graph -n 0");
    assert_snapshot!(t.transcript());
}

#[test]
fn changelog() {
    let mut t = story();
    t.run("mnem changelog main~3 side")
        .run("mnem changelog side main")
        .run("mnem changelog HEAD HEAD")
        .run("mnem changelog");
    t.quietly("mnem add plan Solo");
    t.quietly("mnem add owner ada --source badge");
    t.run("mnem changelog")
        .run("mnem changelog side")
        .run("mnem changelog nowhere")
        .run("mnem changelog side main --json");
    t.quietly("mnem commit -m x");
    t.quietly("mnem remember owner ada --source badge --event-time 5");
    t.run("mnem changelog HEAD~1 HEAD");
    assert_snapshot!(t.transcript());
}

#[test]
fn inbox() {
    let mut t = Terminal::new();
    t.quietly("mnem init --reproducible --default-branch trunk");
    t.run("mnem inbox");
    t.quietly("mnem remember plan Pro");
    t.quietly("mnem checkout -b guess");
    t.run("mnem inbox");
    t.quietly("mnem remember plan Team --author bob -m 'sketch a guess\n\nin two lines'");
    t.run("mnem inbox").run("mnem inbox --json");
    t.quietly("mnem checkout trunk");
    t.quietly("mnem merge guess");
    t.run("mnem inbox");
    assert_snapshot!(t.transcript());
}

#[test]
fn every_branch_with_its_age() {
    let mut t = Terminal::with_store();
    t.run("mnem status --all-branches");
    let at = 1_792_000_000_000_i64;
    for (name, age, author) in [
        ("main", 5, "alice"),
        ("minutes", 119, "bob"),
        ("hours", 7_199, "someone-else"),
        ("days", 200_000, "c"),
        ("later", -61, "d"),
    ] {
        if name != "main" {
            t.quietly(&format!("mnem checkout -b {name}"));
        }
        t.quietly(&format!("mnem remember {name} x --author {author} --time {}", at - age * 1_000));
    }
    t.run(&format!("mnem status --all-branches --time {at}"))
        .run(&format!("mnem status --all-branches --json --time {at}"));
    assert_snapshot!(t.transcript());
}

#[test]
fn stats() {
    let mut t = Terminal::with_store();
    // What the file takes is the disk's business.
    let stable = |text: String| -> String {
        text.lines()
            .filter(|line| !line.contains("file") && !line.contains("allocated"))
            .fold(String::new(), |all, line| all + line + "\n")
    };
    let empty = t.quietly("mnem stats");
    let mut t = story();
    t.quietly("mnem add draft x");
    let (words, json) = (t.quietly("mnem stats"), t.quietly("mnem stats --json"));
    assert!(words.lines().last().unwrap().starts_with("data file "), "{words}");
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let length = std::fs::metadata(t.path().join(".mnem/store.redb")).unwrap().len();
    assert_eq!(document["file_bytes"], length);
    assert!(document["allocated_bytes"].as_u64().unwrap() > 0);
    assert_snapshot!([empty, words, json].map(stable).concat());
}

#[test]
fn cat_object() {
    let mut t = story();
    let log: serde_json::Value = serde_json::from_str(&t.quietly("mnem log -n 1 --json")).unwrap();
    let commit = log["commits"][0]["id"].as_str().unwrap().to_owned();
    let state = log["commits"][0]["state"].as_str().unwrap().to_owned();
    let leaf = t.quietly(&format!("mnem cat-object {state} --json"));
    let leaf: serde_json::Value = serde_json::from_str(&leaf).unwrap();
    let node = leaf["nodes"]["owner"].as_str().unwrap().to_owned();
    for id in [commit, state, node] {
        t.run(&format!("mnem cat-object {}", &id[..7]))
            .run(&format!("mnem cat-object {id} --json"));
    }
    t.run("mnem cat-object abc").run("mnem cat-object plan").run("mnem cat-object 00000000");
    assert_snapshot!(t.transcript());
}

#[test]
fn cat_object_of_a_tree_and_of_text_that_drives_a_terminal() {
    let mut t = Terminal::with_store();
    for number in 0..20 {
        t.quietly(&format!("mnem add user-{number:02} 'é\u{1b}[2J\u{202e}\n'"));
    }
    t.quietly("mnem commit -m twenty");
    let log: serde_json::Value = serde_json::from_str(&t.quietly("mnem log -n 1 --json")).unwrap();
    let state = log["commits"][0]["state"].as_str().unwrap().to_owned();
    t.run(&format!("mnem cat-object {state}")).run(&format!("mnem cat-object {state} --json"));
    let root: serde_json::Value =
        serde_json::from_str(&t.quietly(&format!("mnem cat-object {state} --json"))).unwrap();
    let leaf = root["branch"]["children"]["31"]["id"].as_str().unwrap().to_owned();
    let leaf: serde_json::Value =
        serde_json::from_str(&t.quietly(&format!("mnem cat-object {leaf} --json"))).unwrap();
    let node = leaf["nodes"]["user-10"].as_str().unwrap().to_owned();
    t.run(&format!("mnem cat-object {node}"));
    assert_snapshot!(t.transcript());
}

/// What the reflog prints names that moment, on both sides of the hour that comes twice.
#[test]
fn a_time_of_the_reflog_can_be_typed() {
    let mut t = Terminal::with_store();
    t.set("TZ", "Europe/Berlin");
    for (plan, time) in [("summer", "00:30:00.250"), ("winter", "01:30:00.250")] {
        t.quietly(&format!("mnem remember plan {plan} --time 2026-10-25T{time}Z"));
    }
    t.run("mnem reflog").run("mnem reflog --utc -n 1").run("mnem reflog -n 0");
    for time in ["2026-10-25 02:30:00.25+02:00", "2026-10-25 02:30:00.25+01:00"] {
        assert!(t.transcript().contains(time), "{}", t.transcript());
        t.run(&format!("mnem get plan --at '@{{{time}}}'"));
    }
    t.run("mnem get plan --at '@{2026-10-25 02:30:00.25[Europe/Berlin]}'");
    assert_snapshot!(t.transcript());
}

#[test]
fn times_are_local_unless_utc_is_asked_for() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan x --time 2026-10-17T18:29:55Z");
    t.quietly("mnem remember plan y --time 2026-12-17T18:29:55Z");
    let dates = |t: &mut Terminal, line: &str| -> Vec<String> {
        let text = t.quietly(line);
        text.lines().filter_map(|line| line.strip_prefix("Date:   ")).map(str::to_owned).collect()
    };
    assert_eq!(dates(&mut t, "mnem log"), ["2026-12-17 18:29:55Z", "2026-10-17 18:29:55Z"]);
    // The rule of the zone itself, so that the machine needs no table of zones.
    t.set("TZ", "CET-1CEST,M3.5.0,M10.5.0/3");
    assert_eq!(
        dates(&mut t, "mnem log"),
        ["2026-12-17 19:29:55+01:00", "2026-10-17 20:29:55+02:00"]
    );
    assert_eq!(dates(&mut t, "mnem log --utc"), ["2026-12-17 18:29:55Z", "2026-10-17 18:29:55Z"]);
    assert!(t.quietly("mnem blame plan").contains("  2026-12-17 19:29:55+01:00\n"));
    assert!(t.quietly("mnem --utc blame plan").contains("  2026-12-17 18:29:55Z\n"));
    t.set("TZ", "no such zone");
    assert_eq!(dates(&mut t, "mnem log -n 1"), ["2026-12-17 18:29:55Z"]);
}

#[test]
fn cat_object_shows_the_salt_in_both_forms() {
    let mut t = Terminal::new();
    t.quietly("mnem init");
    let staged = t.quietly("mnem add plan x");
    let node = staged.trim_end().rsplit(' ').next().unwrap().to_owned();
    let document = t.quietly(&format!("mnem cat-object {node} --json"));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let salt = document["salt"].as_str().unwrap();
    assert_eq!(salt.len(), 32);
    let words = t.quietly(&format!("mnem cat-object {node}"));
    assert!(words.contains(&format!("\"salt\": h'{salt}'")), "{words}");
}
