//! What every command is given: where the store is, what time it is, how to answer.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mnem_store::ops::Meta;
use mnem_store::store::FormatVersion;
use mnem_store::store::revision::parse_time;
use mnem_store::{BranchName, Clock, Environment, Error, Hint, Store, Waiting};

use crate::error::Failure;
use crate::output::{Output, Progress, option};
use crate::system;

/// The options of all commands.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Context {
    /// Use the store at or above PATH [default: `MNEM_STORE`, then this directory]
    #[arg(short = 'C', value_name = "PATH", global = true)]
    pub directory: Option<PathBuf>,
    /// Read and write the branch NAME; HEAD and what is staged stay as they are
    #[arg(long = "branch", value_name = "NAME", global = true)]
    pub on_branch: Option<String>,
    /// Print one JSON document, also for an error
    #[arg(long, global = true)]
    pub json: bool,
    /// Print times in UTC instead of local time
    #[arg(long, global = true)]
    pub utc: bool,
    /// Take TIME for now: Unix milliseconds or ISO 8601
    #[arg(long, value_name = "TIME", global = true, value_parser = time, allow_negative_numbers = true)]
    pub time: Option<i64>,
}

/// Who writes.
#[derive(Clone, Debug, clap::Args)]
pub struct Author {
    /// Who writes [default: `MNEM_AUTHOR`, then "unknown"]
    #[arg(long, value_name = "NAME")]
    pub author: Option<String>,
}

impl Author {
    /// The author's name.
    pub fn name(&self) -> String {
        system::author(self.author.as_deref())
    }
}

#[derive(Debug)]
struct FixedClock(i64);

impl Clock for FixedClock {
    fn now(&self) -> i64 {
        self.0
    }
}

/// Shows how far the repair of a store is, once it takes a while.
#[derive(Debug, Default)]
struct Watched(Mutex<Option<Repair>>);

#[derive(Debug)]
struct Repair {
    begun: Instant,
    bar: Option<Progress>,
}

/// A repair that is shorter than this is not worth a word.
const SHORT: Duration = Duration::from_millis(200);

impl Waiting for Watched {
    /// An interrupt ends the command by itself.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    fn repairing(&self, done: f64) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if done >= 1.0 {
            *slot = None;
            return;
        }
        let repair = slot.get_or_insert_with(|| Repair { begun: Instant::now(), bar: None });
        if repair.begun.elapsed() >= SHORT {
            let bar = repair.bar.get_or_insert_with(|| {
                Progress::of("percent repaired: the store was not closed", 100)
            });
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to 100
            bar.at((done.max(0.0) * 100.0) as u64);
        }
    }
}

impl Context {
    /// Where to look for the store, or to make one: `-C`, else `MNEM_STORE`, else here.
    pub fn directory(&self) -> PathBuf {
        let said = self.directory.clone();
        said.or_else(|| std::env::var_os("MNEM_STORE").filter(|p| !p.is_empty()).map(Into::into))
            .unwrap_or_else(|| Path::new(".").to_owned())
    }

    /// Where a store is made: at a path that is given, below `-C` where that is given too; else
    /// where one would be looked for.
    pub fn new_place(&self, path: Option<PathBuf>) -> PathBuf {
        match (path, &self.directory) {
            (Some(path), Some(base)) => base.join(path),
            (Some(path), None) => path,
            (None, _) => self.directory(),
        }
    }

    /// This machine, its clock stopped by `--time`, and a person who is told of a repair.
    pub fn environment(&self) -> Environment {
        let mut environment = system::environment();
        environment.waiting = Arc::new(Watched::default());
        if let Some(time) = self.time {
            environment.clock = Arc::new(FixedClock(time));
        }
        environment
    }

    /// The store; with `--branch` a handle that is bound to that branch, which must exist.
    pub fn open(&self) -> Result<Store, Failure> {
        let store = self.open_on_head()?;
        let Some(name) = &self.on_branch else { return Ok(store) };
        let branch = BranchName::from_stored(name.as_str());
        if !store.branches()?.contains_key(&branch) {
            let error = Error::not_found(format!("no branch named {name:?}"));
            return Err(error.hint(Hint::ListBranches).into());
        }
        Ok(store.on(&branch, &system::author(None))?)
    }

    /// The same for a command that teaches something new: a branch that is missing is made at
    /// the default branch's commit, and its name comes back too.
    pub fn open_to_write(&self, author: &Author) -> Result<(Store, Option<String>), Failure> {
        let store = self.open_on_head()?;
        let Some(name) = &self.on_branch else { return Ok((store, None)) };
        let branch = BranchName::from_stored(name.as_str());
        let is_new = !store.branches()?.contains_key(&branch);
        if is_new {
            BranchName::new(name.as_str()).map_err(|error| Failure::argument(&error))?;
        }
        let bound = store.on(&branch, &author.name())?;
        Ok((bound, is_new.then(|| name.clone())))
    }

    fn open_on_head(&self) -> Result<Store, Failure> {
        let store = Store::open(&self.directory(), self.environment())?;
        self.advise(&store)?;
        Ok(store)
    }

    /// Says what helps the store as a whole.
    pub fn advise(&self, store: &Store) -> Result<(), Failure> {
        if store.was_killed()? {
            let what = "the program that wrote this store was killed; what it had written is here";
            let is_old = store.format_version()? == FormatVersion::V1;
            let hint = if is_old { Hint::Migrate } else { Hint::Killed };
            Output::new(self.json).at(self.directory.as_deref()).advise(what, hint.text());
        }
        Ok(())
    }

    /// A command on the same branch.
    pub fn bound(&self, command: String) -> String {
        match &self.on_branch {
            Some(branch) => format!("{command} {}", option("--branch", branch)),
            None => command,
        }
    }

    /// Who writes, why and when.
    pub fn meta(&self, message: impl Into<String>, author: &Author) -> Meta {
        Meta { time: self.time, ..Meta::new(message, author.name()) }
    }
}

/// A time as it is typed.
pub fn time(text: &str) -> Result<i64, String> {
    parse_time(text).ok_or_else(|| {
        "neither Unix milliseconds nor an ISO 8601 time such as 2026-10-17T18:29:55Z".into()
    })
}
