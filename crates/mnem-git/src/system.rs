//! The machine's clock, randomness and environment, which the engine is given.

use std::time::{SystemTime, UNIX_EPOCH};

use mnem_store::{Clock, Entropy, Environment, Error, ErrorKind};

/// The author when nobody says who writes.
pub const UNKNOWN_AUTHOR: &str = "unknown";

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}

/// The machine's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
        getrandom::fill(bytes).map_err(|error| {
            Error::new(ErrorKind::Io, format!("the system gives no random bytes: {error}"))
        })
    }
}

/// What an engine is given on this machine.
pub fn environment() -> Environment {
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    Environment { host, ..Environment::new(SystemClock, SystemEntropy) }
}

/// Who writes: as said, else `MNEM_AUTHOR`, else `unknown`.
pub fn author(said: Option<&str>) -> String {
    said.map(str::to_owned)
        .or_else(|| std::env::var("MNEM_AUTHOR").ok().filter(|name| !name.is_empty()))
        .unwrap_or_else(|| UNKNOWN_AUTHOR.to_owned())
}
