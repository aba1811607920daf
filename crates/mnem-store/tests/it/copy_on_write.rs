//! Storage over a file that must not change: it answers as if it were written, and is not.

use std::fs::{self, File};
use std::io::Write;

use mnem_store::backend::redb::{CopyOnWrite, Settings};
use mnem_store::backend::storage::CrashStorage;
use mnem_store::backend::{Backend, BackendError, Batch, Expected, Outcome, RedbBackend};
use mnem_store::codec::Encoded;
use mnem_store::object::StateNode;
use mnem_store::object::state::Leaf;
use mnem_store::{BranchName, CommitId};
use proptest::prelude::*;

use crate::support::config;

#[derive(Clone, Debug)]
enum Step {
    Write(u64, Vec<u8>),
    Length(u64),
}

/// Places around the borders of pages.
fn place() -> impl Strategy<Value = u64> {
    (0_u64..5, -3_i64..4).prop_map(|(page, by)| (page * 4096).saturating_add_signed(by))
}

fn step() -> impl Strategy<Value = Step> {
    let data = (any::<u8>(), 0_usize..9_000).prop_map(|(byte, len)| vec![byte; len]);
    prop_oneof![
        3 => (place(), data).prop_map(|(at, data)| Step::Write(at, data)),
        1 => place().prop_map(Step::Length),
    ]
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn it_reads_as_bytes_that_are_written(
        len in 0_usize..20_000,
        steps in proptest::collection::vec(step(), 1..12),
        reads in proptest::collection::vec((place(), 0_usize..9_000), 1..8),
    ) {
        let bytes: Vec<u8> = (0..len).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&bytes).unwrap();
        let storage = CopyOnWrite::new(File::open(file.path()).unwrap()).unwrap();
        let mut expected = bytes.clone();
        for step in steps {
            match step {
                Step::Write(at, data) => {
                    storage.write_at(at, &data).unwrap();
                    let at = usize::try_from(at).unwrap();
                    if !data.is_empty() && expected.len() < at + data.len() {
                        expected.resize(at + data.len(), 0);
                    }
                    if !data.is_empty() {
                        expected[at..at + data.len()].copy_from_slice(&data);
                    }
                }
                Step::Length(len) => {
                    storage.set_len(len);
                    expected.resize(usize::try_from(len).unwrap(), 0);
                }
            }
            prop_assert_eq!(storage.len(), expected.len() as u64);
            prop_assert_eq!(storage.is_empty(), expected.is_empty());
            for (at, len) in &reads {
                let mut out = vec![1; *len];
                let range = usize::try_from(*at).unwrap()..usize::try_from(*at).unwrap() + len;
                match (storage.read_at(*at, &mut out), expected.get(range)) {
                    (Ok(()), Some(there)) => prop_assert_eq!(&out[..], there),
                    (Err(error), None) => {
                        prop_assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
                    }
                    (answer, there) => prop_assert!(false, "{:?} {:?}", answer, there.is_some()),
                }
            }
        }
        prop_assert_eq!(fs::read(file.path()).unwrap(), bytes);
    }
}

#[test]
fn no_offset_overflows() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let storage = CopyOnWrite::new(File::open(file.path()).unwrap()).unwrap();
    let error = storage.write_at(u64::MAX, b"ab").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert!(storage.read_at(u64::MAX, &mut [0; 2]).is_err());
}

/// A store whose writer was killed is repaired in memory, and its file stays as it is.
#[test]
fn a_killed_writers_file_is_read_and_left_alone() {
    let disk = CrashStorage::default();
    let name = BranchName::new("main").unwrap();
    let (state, object) = Encoded::state(StateNode::Leaf(Leaf::default()));
    let commit = CommitId::from(object.id());
    let killed = {
        let place = disk.clone();
        let settings = Settings::default();
        let backend =
            RedbBackend::create_on("disk", move || Ok(place.clone()), [7; 16], settings).unwrap();
        let mut batch = Batch::default();
        batch.object(object);
        batch.reference(name.clone(), Expected::Absent, Some(commit));
        backend.publish(&batch).unwrap();
        // Open, as a killed process leaves it.
        disk.bytes()
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.redb");
    fs::write(&path, &killed).unwrap();
    let open = {
        let path = path.clone();
        move || CopyOnWrite::new(File::open(&path)?)
    };
    let backend = RedbBackend::open_on("copy", open, Settings::default()).unwrap();
    {
        let view = backend.view().unwrap();
        assert_eq!(view.reference(&name).unwrap(), Some(commit));
        assert!(matches!(view.object(&state.into()).unwrap(), Outcome::Present(_)));
    }
    drop(backend);
    assert_eq!(fs::read(&path).unwrap(), killed);

    // What redb refuses on a disk, it refuses here.
    fs::write(&path, b"").unwrap();
    let open = move || CopyOnWrite::new(File::open(&path)?);
    let error = RedbBackend::open_on("copy", open, Settings::default()).unwrap_err();
    assert!(matches!(error, BackendError::Corrupt(_)), "{error}");
}
