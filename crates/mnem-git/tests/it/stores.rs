//! Which store is meant, what state it is in, and what time it is.

use std::fs;

use insta::assert_snapshot;

use crate::terminal::Terminal;

#[test]
fn the_option_beats_the_environment_beats_the_directory() {
    let mut t = Terminal::with_store();
    for name in ["one", "two"] {
        let mut other = Terminal::new();
        other.set("MNEM_STORE", "");
        let path = t.path().join("..").join(format!("{}-{name}", t.path().display()));
        fs::create_dir_all(&path).unwrap();
        let place = shlex::try_quote(path.to_str().unwrap()).unwrap().into_owned();
        other.quietly(&format!("mnem -C {place} init"));
        other.quietly(&format!("mnem -C {place} remember which {name}"));
    }
    t.quietly("mnem remember which here");
    let place = |name: &str| format!("{}-{name}", t.path().display());
    let (one, two) = (place("one"), place("two"));
    assert_eq!(t.quietly("mnem get which"), "\"here\"\n");
    t.set("MNEM_STORE", &one);
    assert_eq!(t.quietly("mnem get which"), "\"one\"\n");
    assert_eq!(t.quietly(&format!("mnem -C {two} get which")), "\"two\"\n");
    assert_eq!(t.quietly(&format!("mnem get which -C {two}")), "\"two\"\n");
    fs::create_dir_all(t.path().join("a/b")).unwrap();
    assert_eq!(t.quietly("mnem -C a/b get which"), "\"here\"\n");
    for path in [one, two] {
        fs::remove_dir_all(path).unwrap();
    }
}

#[test]
fn without_a_store() {
    let mut t = Terminal::new();
    t.run("mnem status").run("mnem remember plan x --json").run("mnem -C missing log");
    assert_snapshot!(t.transcript());
}

#[test]
fn verify() {
    let mut t = Terminal::with_store();
    t.run("mnem verify");
    t.quietly("mnem remember plan x");
    t.run("mnem verify").run("mnem verify --json");
    assert_snapshot!(t.transcript());
}

#[test]
fn verify_finds_a_changed_byte() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember plan 'the customer is on the Enterprise plan'");
    t.quietly("mnem remember owner alice");
    let path = t.path().join(".mnem/store.redb");
    let mut data = fs::read(&path).unwrap();
    let word = b"Enterprise";
    let places: Vec<_> = (0..data.len()).filter(|at| data[*at..].starts_with(word)).collect();
    assert!(!places.is_empty());
    for at in places {
        data[at] = b'e';
    }
    fs::write(&path, data).unwrap();
    t.run("mnem verify").run("mnem get plan").run("mnem get owner").run("mnem verify --json");
    assert_snapshot!(t.transcript());
}

#[test]
fn damaged_and_foreign_stores() {
    let cases: [(&str, &str, Option<&[u8]>); 6] = [
        ("no config", "config", None),
        ("another program's config", "config", Some(b"name = theirs\n")),
        ("a newer format", "config", Some(b"format_version = 9\nhash_algo = blake3\n")),
        ("the original's format", "config", Some(b"format_version = 1\nhash_algo = blake3\n")),
        ("junk in HEAD", "HEAD", Some(b"junk\x1b\n")),
        ("an empty data file", "store.redb", Some(b"")),
    ];
    let mut whole = String::new();
    for (what, file, bytes) in cases {
        let mut t = Terminal::with_store();
        t.quietly("mnem remember plan x");
        let path = t.path().join(".mnem").join(file);
        match bytes {
            Some(bytes) => fs::write(path, bytes).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        t.run("mnem log --oneline");
        whole += &format!("# {what}\n{}", t.transcript());
    }
    assert_snapshot!(whole);
}

#[test]
fn time_is_fixed_in_either_form() {
    let mut t = Terminal::with_store();
    t.quietly("mnem remember a 1 --time 2026-10-17T18:29:55+02:00");
    t.quietly("mnem add a 2");
    t.quietly("mnem commit -m x --time -1");
    t.quietly("mnem remember a 3 --time 253402300800000 ");
    t.run("mnem log");
    assert_snapshot!(t.transcript());
}
