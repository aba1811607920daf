//! Exports that anybody may have made.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use mnem_store::codec::encoded::hash;
use mnem_store::ops::Finding;
use mnem_store::portable::{Carried, import};
use mnem_store::{Error, ErrorKind, Store};
use serde_json::Value;

use super::{Answer, is_one_sentence};
use crate::hex::unhex;
use crate::support::environment;

/// A stream is a sound store, which exports itself as a stream that makes the same store; or it is
/// refused, and nothing is left of it. Tried as it is, and with ids, counts and the hash at its end
/// made true, so that what is damaged is not found by its hash alone.
pub fn import_stream(bytes: &[u8]) -> Answer {
    if let Some(mended) = mended(bytes) {
        carried(&mended);
    }
    carried(bytes)
}

fn carried(bytes: &[u8]) -> Answer {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("a");
    let (store, carried) = match imported(bytes, &place) {
        Ok(imported) => imported,
        Err(error) => {
            let kinds = [ErrorKind::CorruptStore, ErrorKind::FormatVersion];
            assert!(kinds.contains(&error.kind()), "{error}");
            assert!(is_one_sentence(&error), "{error}");
            let left: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
            assert!(left.is_empty(), "{left:?} after {error}");
            return Answer::Refused;
        }
    };
    let found = store.fsck(|_| ()).unwrap();
    let findings: Vec<_> = found.findings.iter().filter(|found| !found.is_warning()).collect();
    assert_eq!(findings, Vec::<&Finding>::new());
    assert_eq!((found.nodes, found.states, found.commits), {
        (carried.nodes, carried.states, carried.commits)
    });
    for tip in store.branches().unwrap().values() {
        let snapshot = store.snapshot_at(&tip.to_string()).unwrap();
        assert_eq!(snapshot.memory("", None).unwrap().len() as u64, snapshot.count().unwrap());
    }
    let (exported, told) = exported(&store);
    assert_eq!(told, carried);
    let (again, _) = imported(&exported, &directory.path().join("b")).unwrap();
    assert_eq!(again.branches().unwrap(), store.branches().unwrap());
    assert_eq!(again.head().unwrap(), store.head().unwrap());
    assert!(self::exported(&again).0 == exported, "another export of the same");
    Answer::Accepted
}

fn imported(bytes: &[u8], place: &Path) -> Result<(Store, Carried), Error> {
    import(&mut &*bytes, place, environment(), |_| ())
}

fn exported(store: &Store) -> (Vec<u8>, Carried) {
    let mut stream = Vec::new();
    let carried = store.export(&mut stream, |_| ()).unwrap();
    (stream, carried)
}

/// The lines with true ids, and an end that is true of them; none when they are no JSON.
fn mended(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut lines: Vec<Value> = Vec::new();
    let mut counts: BTreeMap<&str, u64> =
        ["nodes", "states", "commits", "branches"].map(|what| (what, 0)).into();
    // An object that was changed is one that others name by another id.
    let mut renamed: BTreeMap<String, String> = BTreeMap::new();
    for line in str::from_utf8(bytes).ok()?.lines() {
        let mut line = line.to_owned();
        for (old, new) in &renamed {
            line = line.replace(old, new);
        }
        let mut line: Value = serde_json::from_str(&line).ok()?;
        let object = line.as_object_mut()?;
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        let counted = match (text("type").as_deref(), text("kind").as_deref()) {
            (Some("end"), _) => continue,
            (Some("branch"), _) => Some("branches"),
            (Some("object"), Some("memory_node")) => Some("nodes"),
            (Some("object"), Some("state")) => Some("states"),
            (Some("object"), Some("commit")) => Some("commits"),
            _ => None,
        };
        if let Some(count) = counted.and_then(|what| counts.get_mut(what)) {
            *count += 1;
        }
        if let (Some(id), Some(digits)) = (text("id"), text("bytes"))
            && digits.len() % 2 == 0
            && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        {
            let true_id = hash(&unhex(&digits)).to_string();
            if id.len() == true_id.len() && id != true_id {
                renamed.insert(id, true_id.clone());
            }
            object.insert("id".into(), true_id.into());
        }
        lines.push(line);
    }
    let mut text = String::new();
    for line in lines {
        writeln!(text, "{line}").unwrap();
    }
    let blake3 = hash(text.as_bytes()).to_string();
    let end = serde_json::json!({"type": "end", "counts": counts, "blake3": blake3});
    writeln!(text, "{end}").unwrap();
    Some(text.into_bytes())
}
