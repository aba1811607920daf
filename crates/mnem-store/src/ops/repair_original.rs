//! The repair of a store of the original: what can be read of it, in a store of this format.
//!
//! Its data file is locked against everybody and read past redb 2, page by page; not a byte of it is
//! written, and it is kept.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::finding::Finding;
use super::fsck::{check, wrong_head};
use super::repair::{Repair, Stage, default_head, save, tidied};
use crate::backend::disk;
use crate::backend::original::carve;
use crate::backend::redb::{CopyOnWrite, Pages, RedbBackend, Settings};
use crate::backend::{BackendError, OriginalBackend};
use crate::error::{Error, ErrorKind, Hint};
use crate::store::config::Config;
use crate::store::engine::{Engine, Place};
use crate::store::lease::LeaseFiles;
use crate::store::original::{Access, DATA_FILE, DataFile};
use crate::store::registry::Registry;
use crate::store::{Environment, FormatVersion, Head, STORE_DIRECTORY, Store, files, network};

/// Repairs the store of format version 1 at a directory. A sound one is refused: it is for
/// [`Store::migrate`], which loses nothing.
pub(super) fn repair_original(
    root: &Path,
    config: &Config,
    environment: &Environment,
    progress: &mut dyn FnMut(Stage),
) -> Result<Repair, Error> {
    let directory = root.join(STORE_DIRECTORY);
    network::check(&directory, environment)?;
    let migrated = || Store::repair(root, environment.clone(), |_| ());
    let data = DataFile::find(root).map_err(|error| match error.kind() {
        ErrorKind::CorruptStore => error.hint(Hint::NothingToSave),
        _ => error,
    })?;
    let Some(data) = data else { return migrated() };
    if Registry::lock().find(&data.identity).is_some() {
        let what = format!("the store at {} is open in this process", root.display());
        return Err(Error::conflict(format!("{what}: close it before it is repaired")));
    }
    let locked = data.lock(Access::Alone, config.format, environment)?;
    let Some(file) = locked else { return migrated() };
    let length = file.with(CopyOnWrite::len).unwrap_or_default();

    let mut findings = match OriginalBackend::open(file.clone(), data.name(), true) {
        Ok(backend) => {
            let place = Place::on_disk(root.to_owned(), DATA_FILE, data.identity.clone());
            let old = Engine::original(backend, place, config.clone(), environment.clone());
            check(&old, |read| progress(Stage::Read(read)))?.findings
        }
        Err(BackendError::Corrupt(why)) => vec![Finding::File(why)],
        Err(error) => return Err(error.into()),
    };
    if findings.iter().all(Finding::is_warning) {
        return Err(OriginalBackend::read_only(format!("the store at {}", root.display())));
    }
    let head = disk::read(&directory.join("HEAD")).ok();
    let head = head.and_then(|text| Head::parse(&String::from_utf8(text).ok()?).ok());

    let unique = u64::from_be_bytes(environment.random()?);
    let path = directory.join(format!("carved-{unique:016x}.redb"));
    let repaired = (|| {
        let backend = RedbBackend::create(&path, environment.random()?, Settings::default())?;
        // What redb wrote when it looked is forgotten: the tables are read as they lie.
        let forgotten = file.with(CopyOnWrite::forget).unwrap_or_else(gone);
        forgotten.map_err(|error| Error::io(format!("cannot read {}", data.name()), error))?;
        let tables = OriginalBackend::open(file.clone(), data.name(), false).ok();
        let read =
            |at, out: &mut [u8]| file.with(|file| file.read_below(at, out)).unwrap_or_else(gone);
        if carve(Pages::new(read, length), tables.as_ref(), &backend)? == 0 {
            let why = findings.first().map(ToString::to_string).unwrap_or_default();
            return Err(Error::corrupt(why).hint(Hint::NothingToSave));
        }
        let rows = "the rows of branches and drafts carry no checksum in format version 1: look \
                    whether they are what they should be";
        findings.push(Finding::Row(rows.into()));
        if tables.is_none() {
            findings.push(Finding::Row("drafts cannot be told from older ones".into()));
        }
        drop(tables);
        let salted = config.salts_from_now_on();
        let new = Config { format: FormatVersion::CURRENT, salted, ..config.clone() };
        let is_head_wrong = head.is_none();
        let default = default_head(&new);
        let place = Place::Memory { head: Mutex::new(head.unwrap_or_else(|| default.clone())) };
        let carved = Store::over(Arc::new(backend), None, place, new, environment.clone());
        let carved = carved.engine()?;
        let is_head_wrong = is_head_wrong || wrong_head(&carved)?.is_some();
        let mut repaired = save(&carved, &directory, findings, progress)?;
        // Whoever opens the store makes what is missing; on a disk that cannot be written, nobody.
        let _ = LeaseFiles::open(&directory);
        if is_head_wrong {
            let unique = u64::from_be_bytes(environment.random()?);
            files::replace(&directory.join("HEAD"), &format!("{}\n", default.render()), unique)?;
            repaired.head = Some(config.default_branch.clone());
        }
        Ok(repaired)
    })();
    let _ = disk::remove(&path); // what stays is named by nothing
    tidied(root, repaired?)
}

/// In a forked child, whose parent has the file.
fn gone() -> io::Result<()> {
    Err(io::ErrorKind::NotConnected.into())
}
