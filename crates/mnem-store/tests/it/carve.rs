//! What a repair takes for a row in the pages of a file that is not opened any more.

use mnem_store::backend::local_key;
use mnem_store::store::local::LocalEdit;
use mnem_store::{BranchName, Environment, InitOptions, Store};

use crate::damage::{Disk, sealed};
use crate::support::{environment, put};

const PAGE: usize = 4096;

/// A leaf as redb writes one, with one row.
fn leaf(key: &[u8], value: &[u8]) -> Vec<u8> {
    let ends = [12 + key.len(), 12 + key.len() + value.len()];
    let ends = ends.map(|end| u32::try_from(end).unwrap().to_le_bytes());
    [&[1, 0, 1, 0], ends.as_flattened(), key, value].concat()
}

#[test]
fn what_stands_in_a_value_is_no_row() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::init(directory.path(), &InitOptions::default(), environment()).unwrap();
    let commit = put(&store, "plan", "pro");
    put(&store, "plan", "team");
    let planted = leaf(b"planted", &sealed("refs", b"planted", commit.as_bytes()));
    // A row this large is a leaf of its own, whose first page holds the beginning of the value.
    let mut value = vec![b'.'; PAGE - (12 + local_key("vectors", b"v").len())];
    value.extend(&planted);
    value.resize(6 * PAGE, b'.');
    let edit = LocalEdit { owner: "vectors".into(), key: b"v".to_vec(), value: Some(value) };
    store.local_edit(&[edit]).unwrap();
    let before = store.branches().unwrap();
    store.close();
    let disk = Disk(directory);
    let mut bytes = std::fs::read(disk.file("store.redb")).unwrap();
    let places: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&planted)).collect();
    assert!(!places.is_empty() && places.iter().all(|at| at % PAGE == 0), "{places:?}");
    bytes[..PAGE].fill(0xa5);
    std::fs::write(disk.file("store.redb"), bytes).unwrap();
    let environment = Environment { host: "repairs".into(), ..environment() };
    Store::repair(disk.root(), environment, |_| ()).unwrap();
    let store = disk.open();
    assert_eq!(store.branches().unwrap(), before);
    assert!(!before.contains_key(&BranchName::new("planted").unwrap()));
}
