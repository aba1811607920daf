//! Making a store, finding one, opening one.

use std::fs;
use std::io::{self, ErrorKind as IoKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::Store;
use super::config::{self, Config};
use super::engine::{self, Engine, LOCK_FILE, Place, STORE_DIRECTORY};
use super::environment::Environment;
use super::files::{self, Identity};
use super::format::FormatVersion;
use super::head::Head;
use super::lease::{self, HOLDER_FILE, LeaseFiles, Leased, WANT_FILE};
use super::leftovers;
use super::network;
use super::original::{self, Access, DataFile};
use super::registry::Registry;
use super::writer::Writer;
use crate::backend::Backend;
use crate::backend::descriptor::Descriptor;
use crate::backend::disk;
use crate::backend::memory::MemoryBackend;
use crate::backend::redb::{RedbBackend, Settings};
use crate::error::{Error, ErrorKind, Hint};
use crate::graph::KnownBases;
use crate::id::BranchName;

/// The data file of a new store.
pub(crate) const DATA_FILE: &str = "store.redb";
pub(crate) const CONFIG_FILE: &str = "config";
pub(crate) const HEAD_FILE: &str = "HEAD";

/// How a new store is to be.
#[derive(Clone, Debug)]
pub struct InitOptions {
    /// The branch a fresh HEAD names.
    pub default_branch: BranchName,
    /// Whether ids depend on the content alone: no salts.
    pub reproducible: bool,
}

impl Default for InitOptions {
    fn default() -> Self {
        Self {
            default_branch: BranchName::from_stored(config::DEFAULT_BRANCH),
            reproducible: false,
        }
    }
}

impl Store {
    /// Makes a store in a directory, which is made too when it is missing, and opens it.
    ///
    /// The store is built beside its place and renamed into it, so that there is never half a
    /// store. Refused where one exists at the directory or above: stores do not nest.
    pub fn init(
        directory: &Path,
        options: &InitOptions,
        environment: Environment,
    ) -> Result<Self, Error> {
        BranchName::new(options.default_branch.as_str())?;
        let head = Head::Attached(options.default_branch.clone());
        let (store, ()) = Self::make(directory, environment, |_| Ok((options.clone(), head, ())))?;
        Ok(store)
    }

    /// The same, with what `fill` publishes, and HEAD where it says. When it fails nothing is
    /// left behind.
    pub(crate) fn make<T>(
        directory: &Path,
        environment: Environment,
        fill: impl FnOnce(Arc<dyn Backend>) -> Result<(InitOptions, Head, T), Error>,
    ) -> Result<(Self, T), Error> {
        let place =
            |error| Error::io(format!("cannot make a store in {}", directory.display()), error);
        let root = absolute(directory).map_err(place)?;
        if let Some(found) = nearest(&root) {
            return Err(exists(&found, &root));
        }
        if let Some(file) = root.ancestors().find(|path| path.is_file()) {
            let message =
                format!("cannot make a store in {}: {} is a file", root.display(), file.display());
            return Err(Error::new(ErrorKind::Io, message).hint(Hint::Directory));
        }
        network::check(&root, &environment)?;
        leftovers::remove_new_stores(&root);
        let unique = u64::from_be_bytes(environment.random()?);
        let scaffold = Scaffold {
            new: root.ancestors().take_while(|path| !path.exists()).map(Path::to_owned).collect(),
            beside: root.join(format!("{STORE_DIRECTORY}.new-{unique:016x}")),
        };
        for directory in scaffold.new.iter().rev() {
            match disk::create_directory(directory) {
                Err(error) if error.kind() != IoKind::AlreadyExists => return Err(place(error)),
                _ => {} // another made it meanwhile
            }
            // Its name must last as long as what is acknowledged in it.
            directory.parent().map_or(Ok(()), files::sync_directory).map_err(place)?;
        }
        let (told, lock) = build(&scaffold.beside, &environment, fill)?;
        // Nobody renames a directory there in which a file is open.
        if cfg!(windows) {
            lock.take(drop);
        }
        match disk::rename(&scaffold.beside, &root.join(STORE_DIRECTORY)) {
            // Another made one meanwhile.
            Err(_) if nearest(&root).is_some() => return Err(exists(&root, &root)),
            renamed => renamed.map_err(place)?,
        }
        drop(scaffold);
        lock.take(|lock| drop(lock.unlock()));
        files::sync_directory(&root).map_err(place)?;
        Ok((Self::open_at(root, environment)?, told))
    }

    /// Opens the store at a directory, which must exist, or the nearest one above it.
    pub fn open(directory: &Path, environment: Environment) -> Result<Self, Error> {
        Self::open_at(Self::discover(directory)?, environment)
    }

    /// The directory, here or above, that contains a store. A name that is mistyped must not lead to
    /// the store above it.
    pub fn discover(directory: &Path) -> Result<PathBuf, Error> {
        let start = absolute(directory)
            .map_err(|error| Error::io(format!("cannot read {}", directory.display()), error))?;
        if matches!(start.try_exists(), Ok(false)) {
            let message = format!("{} does not exist, so no store is there", directory.display());
            return Err(Error::new(ErrorKind::NoStore, message).hint(Hint::Init));
        }
        nearest(&start).ok_or_else(|| {
            let mut links = start.ancestors().map(|directory| directory.join(STORE_DIRECTORY));
            if let Some(link) = links.find(|path| path.is_symlink()) {
                let message = format!("{} is a link that leads to no directory", link.display());
                return Error::new(ErrorKind::NoStore, message).hint(Hint::CheckPermissions);
            }
            let message = format!("no mnemosyne store at or above {}", start.display());
            Error::new(ErrorKind::NoStore, message).hint(Hint::Init)
        })
    }

    /// A new store in memory, gone when its last handle is closed.
    pub fn in_memory(options: &InitOptions, environment: Environment) -> Result<Self, Error> {
        BranchName::new(options.default_branch.as_str())?;
        let backend = Arc::new(MemoryBackend::default());
        let head = Mutex::new(Head::Attached(options.default_branch.clone()));
        let config = new_config(options, None);
        Ok(Self::over(backend, None, Place::Memory { head }, config, environment))
    }

    /// A new store in memory over a backend of the caller's, for tests.
    #[cfg(feature = "test-support")]
    pub fn over_backend(
        backend: Arc<dyn Backend>,
        options: &InitOptions,
        environment: Environment,
    ) -> Self {
        let head = Mutex::new(Head::Attached(options.default_branch.clone()));
        Self::over(backend, None, Place::Memory { head }, new_config(options, None), environment)
    }

    /// A store whose objects are in a backend.
    pub(crate) fn over(
        backend: Arc<dyn Backend>,
        lease: Option<Arc<Leased>>,
        place: Place,
        config: Config,
        environment: Environment,
    ) -> Self {
        let (objects, writer) = Writer::new(backend, lease, environment.cache_bytes);
        let known_bases = KnownBases::default();
        let was_killed = false;
        let engine =
            Engine { place, config, objects, environment, writer, known_bases, was_killed };
        let busy_timeout = engine.environment.busy_timeout;
        Self::of(Arc::new(engine), None, busy_timeout)
    }

    /// Opens a store of the original, to be read. Nothing is made or changed.
    fn open_original(
        root: PathBuf,
        config: Config,
        environment: Environment,
    ) -> Result<Self, Error> {
        let busy_timeout = environment.busy_timeout;
        let Some(data) = DataFile::find(&root)? else {
            return Self::open_at(root, environment);
        };
        let identity = data.identity.clone();
        if let Some(engine) = Registry::lock().find(&identity) {
            return Ok(Self::of(engine, None, busy_timeout));
        }
        let Some(backend) = data.open(Access::Shared, config.format, &environment)? else {
            return Self::open_at(root, environment);
        };
        let mut registry = Registry::lock();
        if let Some(engine) = registry.find(&identity) {
            return Ok(Self::of(engine, None, busy_timeout));
        }
        let place = Place::on_disk(root, original::DATA_FILE, identity.clone());
        let engine = Arc::new(Engine::original(backend, place, config, environment));
        registry.enter(identity, &engine);
        Ok(Self::of(engine, None, busy_timeout))
    }

    pub(crate) fn open_at(root: PathBuf, environment: Environment) -> Result<Self, Error> {
        let directory = root.join(STORE_DIRECTORY);
        let config = read_config(&directory)?;
        network::check(&directory, &environment)?;
        if config.format == FormatVersion::V1 {
            return Self::open_original(root, config, environment);
        }
        let engine = config
            .engine
            .clone()
            .ok_or_else(|| Error::corrupt("the store's config has no engine"))?;
        if engine != config::Engine::current(&engine.data_file) {
            let message = format!(
                "the store at {} is held by {} {}, which this release cannot open",
                root.display(),
                engine.backend,
                engine.file_format
            );
            return Err(Error::new(ErrorKind::FormatVersion, message).hint(Hint::Upgrade));
        }
        let files = Descriptor::open(|| LeaseFiles::open(&directory))?;
        let identity =
            files.with(LeaseFiles::identity).unwrap_or_else(|| Err(engine::gone(&root)))?;
        let busy_timeout = environment.busy_timeout;

        let mut registry = Registry::lock();
        if let Some(engine) = registry.find(&identity) {
            engine.check_place().map_err(|error| match error.kind() {
                ErrorKind::NoStore => moved(&root, &error),
                _ => error,
            })?;
            return Ok(Self::of(engine, None, busy_timeout));
        }
        let options = lease::Options {
            data: directory.join(&engine.data_file),
            root: root.clone(),
            host: environment.host.clone(),
            busy_timeout,
            waiting: Arc::clone(&environment.waiting),
            idle: environment.idle,
            examine: environment.examine,
            index_commits: environment.index_commits,
            check: {
                let (root, identity, config) = (root.clone(), identity.clone(), config.clone());
                Box::new(move || check_unchanged(&root, &identity, &config))
            },
        };
        let leased = Leased::new(files, options);
        let place = Place::on_disk(root, LOCK_FILE, identity.clone());
        let backend = Arc::clone(&leased) as Arc<dyn Backend>;
        let store = Self::over(backend, Some(leased), place, config, environment);
        registry.enter(identity, &store.engine()?);
        drop(registry);
        // Not under the registry: another process may hold the store for a while. What is opened to
        // be examined may be too damaged to say where its branches are.
        if !store.engine()?.environment.examine {
            store.branches()?;
        }
        Ok(store)
    }
}

/// The directory of a store was moved while handles of it are open.
fn moved(root: &Path, gone: &Error) -> Error {
    let message = format!(
        "cannot open the store at {}: it was moved while this process had it open, and {gone}; close \
         the handles that were opened there",
        root.display()
    );
    Error::new(ErrorKind::Conflict, message).hint(Hint::Reopen)
}

/// Refuses when the store at a path is no longer the one that was opened there.
fn check_unchanged(root: &Path, identity: &Identity, config: &Config) -> Result<(), Error> {
    engine::check_place(root, LOCK_FILE, identity)?;
    let now = read_config(&root.join(STORE_DIRECTORY))?;
    if now.format == config.format && now.engine == config.engine {
        return Ok(());
    }
    let message = format!("the store at {} has changed its format; open it again", root.display());
    Err(Error::new(ErrorKind::FormatVersion, message).hint(Hint::Reopen))
}

fn new_config(options: &InitOptions, engine: Option<config::Engine>) -> Config {
    Config {
        format: FormatVersion::CURRENT,
        default_branch: options.default_branch.clone(),
        salted: !options.reproducible,
        engine,
    }
}

/// What a store that is being made leaves when it is not finished. Dropped, it is taken away;
/// a directory that holds anything else stays.
struct Scaffold {
    /// The store, until it is renamed into its place.
    beside: PathBuf,
    /// Directories that were not there before, the innermost first.
    new: Vec<PathBuf>,
}

impl Drop for Scaffold {
    fn drop(&mut self) {
        // The first error is the one to tell.
        let _ = disk::remove_files(&self.beside);
        for directory in &self.new {
            let _ = disk::remove_directory(directory);
        }
    }
}

/// Writes every file of a new store into a directory that does not exist yet. Its `lock` is locked
/// from before there is a data file until this is dropped: whoever finds it free knows that nobody
/// makes the store any more.
fn build<T>(
    directory: &Path,
    environment: &Environment,
    fill: impl FnOnce(Arc<dyn Backend>) -> Result<(InitOptions, Head, T), Error>,
) -> Result<(T, Descriptor<fs::File>), Error> {
    let failed = |error| Error::io(format!("cannot write {}", directory.display()), error);
    disk::create_directory(directory).map_err(failed)?;
    let lock_path = directory.join(LOCK_FILE);
    let lock = Descriptor::open(|| {
        let lock = disk::open_or_create(&lock_path)?;
        lock.lock().map(|()| lock)
    });
    let lock = lock.and_then(|lock| files::sync(&lock_path).map(|()| lock)).map_err(failed)?;
    let backend = RedbBackend::create(
        &directory.join(DATA_FILE),
        environment.random()?,
        Settings::default(),
    )?;
    // Whoever fills it has closed it when this returns.
    let (options, head, told) = fill(Arc::new(backend))?;
    let config = new_config(&options, Some(config::Engine::current(DATA_FILE)));
    for (name, text) in [
        (HEAD_FILE, format!("{}\n", head.render())),
        (WANT_FILE, String::new()),
        (HOLDER_FILE, String::new()),
        (CONFIG_FILE, config.render()),
    ] {
        files::write_synced(&directory.join(name), text.as_bytes()).map_err(failed)?;
    }
    files::sync_directory(directory).map_err(failed)?;
    Ok((told, lock))
}

/// Why no store is made where something is.
fn exists(found: &Path, wanted: &Path) -> Error {
    let directory = found.join(STORE_DIRECTORY);
    match read_config(&directory) {
        // Made by another program: the sentence says so.
        Err(error) if error.kind() == ErrorKind::NoStore => {
            Error::new(ErrorKind::StoreExists, error.to_string())
        }
        _ => {
            let mut message = format!("a store already exists at {}", directory.display());
            if found != wanted {
                message = format!("{message}, above {}", wanted.display());
            }
            Error::new(ErrorKind::StoreExists, message).hint(Hint::OtherStore)
        }
    }
}

/// The absolute path without `..`: what is above a path is told by its text, and `here/../there` is
/// not below `here`. An empty path is here.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let mut absolute = PathBuf::new();
    for component in std::path::absolute(path)?.components() {
        if component == Component::ParentDir {
            // Above a link is what is above the directory that it leads to.
            absolute = fs::canonicalize(&absolute).unwrap_or(absolute);
            absolute.pop();
        } else {
            absolute.push(component);
        }
    }
    Ok(absolute)
}

/// The nearest directory, here or above, that contains a `.mnem/`.
fn nearest(start: &Path) -> Option<PathBuf> {
    start.ancestors().find(|directory| directory.join(STORE_DIRECTORY).is_dir()).map(Path::to_owned)
}

pub(crate) fn read_config(directory: &Path) -> Result<Config, Error> {
    let path = directory.join(CONFIG_FILE);
    let foreign = |what| {
        if is_ours(directory) {
            let message = format!("{} {what}, and the rest of a store is there", path.display());
            return Error::corrupt(message).hint(Hint::Config);
        }
        let message = format!(
            "{} was made by another program: it has no config of a mnemosyne store",
            directory.display()
        );
        Error::new(ErrorKind::NoStore, message).hint(Hint::OtherProgram)
    };
    let text = match disk::read(&path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == IoKind::NotFound => return Err(foreign("is missing")),
        Err(error) => return Err(Error::io(format!("cannot read {}", path.display()), error)),
    };
    if !Config::is_ours(&text) {
        return Err(foreign("does not say what the store is"));
    }
    Config::parse(&text).map_err(|error| match error.kind() {
        ErrorKind::CorruptStore => {
            Error::corrupt(format!("{}: {error}", path.display())).hint(Hint::Config)
        }
        _ => error,
    })
}

/// Whether a directory without a config of ours has what a store has beside it.
fn is_ours(directory: &Path) -> bool {
    let has = |name: &str| directory.join(name).is_file();
    has(HEAD_FILE) && (has(DATA_FILE) || has(HOLDER_FILE))
}
