//! Opening: one engine for one store, whatever the way to it.

use std::time::Duration;

use mnem_store::backend::redb::{RedbBackend, Settings};
use mnem_store::{BranchName, Environment, ErrorKind, InitOptions, Store};

use crate::support::{environment, id, put};

#[test]
fn every_open_of_a_store_is_the_same_store() {
    let directory = tempfile::tempdir().unwrap();
    let options = InitOptions::default();
    let first = Store::init(&directory.path().join("deep"), &options, environment()).unwrap();
    let below = directory.path().join("deep/below/it");
    std::fs::create_dir_all(&below).unwrap();
    let second = Store::open(&below, environment()).unwrap();
    put(&first, "a", "1");
    assert_eq!(second.snapshot().unwrap().count().unwrap(), 1);
    put(&second, "b", "1");
    assert_eq!(first.snapshot().unwrap().count().unwrap(), 2);
    first.create_branch(&BranchName::new("side").unwrap(), None, "t").unwrap();
    second.checkout("side", false).unwrap();
    assert_eq!(first.head().unwrap().render(), "ref: side");
    first.close();
    put(&second, "c", "1");
    drop(second);
    let again = Store::open(&directory.path().join("deep"), environment()).unwrap();
    assert_eq!(again.snapshot().unwrap().count().unwrap(), 3);
    assert_eq!(again.head().unwrap().render(), "ref: side");
}

#[cfg(unix)]
#[test]
fn a_link_to_a_store_is_that_store() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("place");
    let store = Store::init(&place, &InitOptions::default(), environment()).unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&place, &link).unwrap();
    let linked = Store::open(&link, environment()).unwrap();
    put(&linked, "a", "1");
    assert!(store.snapshot().unwrap().get(&id("a")).unwrap().is_some());
}

#[test]
fn a_data_file_that_another_holds_is_busy() {
    let directory = tempfile::tempdir().unwrap();
    drop(Store::init(directory.path(), &InitOptions::default(), environment()).unwrap());
    let data = directory.path().join(".mnem/store.redb");
    let holder = RedbBackend::open(&data, Settings::default()).unwrap();
    let quick = Environment { busy_timeout: Duration::from_millis(1), ..environment() };
    let error = Store::open(directory.path(), quick).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().starts_with("another process holds the store at "), "{error}");
    drop(holder);
    put(&Store::open(directory.path(), environment()).unwrap(), "a", "1");
}

#[test]
fn a_store_in_memory_is_gone_with_its_handle() {
    let open = || Store::in_memory(&InitOptions::default(), environment()).unwrap();
    let (first, second) = (open(), open());
    put(&first, "a", "1");
    assert_eq!(second.head_commit().unwrap(), None);
    assert_eq!(first.root(), None);
}

#[test]
fn what_init_was_told() {
    let directory = tempfile::tempdir().unwrap();
    let trunk = BranchName::new("trunk").unwrap();
    let options = InitOptions { default_branch: trunk.clone(), reproducible: true };
    let stores = ["one", "two"]
        .map(|name| Store::init(&directory.path().join(name), &options, environment()).unwrap());
    assert_eq!(stores[0].head().unwrap().render(), "ref: trunk");
    assert_eq!(stores[0].default_branch().unwrap(), trunk);
    // Ids depend on the content alone.
    let at = |store: &Store| {
        let meta = mnem_store::ops::Meta { time: Some(5), ..crate::support::meta("m") };
        let changes = [(id("a"), Some(crate::support::note("a", "1")))].into();
        store.write(changes, &meta).unwrap()
    };
    assert_eq!(at(&stores[0]), at(&stores[1]));
    let salted = Store::in_memory(&InitOptions::default(), environment()).unwrap();
    assert_ne!(at(&salted), stores[0].head_commit().unwrap().unwrap());
}
