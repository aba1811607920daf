//! What an engine is given at open: the time, random bytes, the machine's name, and how long to wait.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use uuid::Builder;

use crate::backend::cache::DEFAULT_CACHE_BYTES;
use crate::backend::redb::INDEX_COMMITS;
use crate::error::Error;
use crate::id::NodeId;

/// How long an open waits for another process, unless told otherwise.
pub const DEFAULT_BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long after its last write a store is kept, unless told otherwise.
pub const DEFAULT_IDLE: Duration = Duration::from_secs(1);

/// The time, as the engine sees it.
pub trait Clock: Send + Sync + Debug {
    /// Now, in Unix milliseconds.
    fn now(&self) -> i64;
}

/// Random bytes, as the engine draws them.
pub trait Entropy: Send + Sync + Debug {
    /// Fills the buffer.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error>;
}

/// Told of a call that waits.
pub trait Waiting: Send + Sync + Debug {
    /// Asked every 50 milliseconds or so by a call that waits for another process or thread: an
    /// error ends the wait, and is what the call fails with.
    fn check(&self) -> Result<(), Error>;

    /// The data file of a process that was killed is being repaired: how much of it is done,
    /// from 0 on, and 1 when it is over.
    fn repairing(&self, done: f64);
}

/// Who waits is not interrupted, and nobody is told.
#[derive(Clone, Copy, Debug)]
struct Patient;

impl Waiting for Patient {
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    fn repairing(&self, _: f64) {}
}

/// What an engine is given at open.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The time of records, and of commits whose maker gives none.
    pub clock: Arc<dyn Clock>,
    /// Salts, ids of new nodes, names of temporary files.
    pub entropy: Arc<dyn Entropy>,
    /// The name of this machine, for who waits for the store.
    pub host: String,
    /// How long the calls of a handle that is opened with this wait for another process.
    pub busy_timeout: Duration,
    /// Told of whoever waits.
    pub waiting: Arc<dyn Waiting>,
    /// The kind of file system that a directory is on, as the system names it: `ext4`, `nfs4`.
    /// None where that is not known.
    pub file_system: fn(&Path) -> Option<String>,
    /// How many bytes the file system that a directory is on has free for this process. None where
    /// that is not known.
    pub free_bytes: fn(&Path) -> Option<u64>,
    /// Open a store also on a file system of the network, where two machines may both believe
    /// that they hold it.
    pub allow_network: bool,
    /// How long after its last write a store is kept open for no other process.
    pub idle: Duration,
    /// How many bytes of decoded objects are kept.
    pub cache_bytes: u64,
    /// How many commits wait for the index before it is written out.
    pub index_commits: u64,
    /// Open the store to be looked at, whatever its state: every page of the data file is checked,
    /// however large it is, and nothing is written to it.
    pub examine: bool,
}

impl Environment {
    /// The defaults around a clock and a source of randomness.
    pub fn new(clock: impl Clock + 'static, entropy: impl Entropy + 'static) -> Self {
        Self {
            clock: Arc::new(clock),
            entropy: Arc::new(entropy),
            host: "this-machine".into(),
            busy_timeout: DEFAULT_BUSY_TIMEOUT,
            waiting: Arc::new(Patient),
            file_system: |_| None,
            free_bytes: |_| None,
            allow_network: false,
            idle: DEFAULT_IDLE,
            cache_bytes: DEFAULT_CACHE_BYTES,
            index_commits: INDEX_COMMITS,
            examine: false,
        }
    }

    /// An environment for tests and examples: the clock ticks one millisecond each time it is
    /// read, from the first of January 2026 on, and what looks random is the same in every run.
    /// An idle store is kept for a minute: closing it changes its file, which tests compare.
    #[cfg(feature = "test-support")]
    pub fn fixed() -> Self {
        let environment =
            Self::new(fixed::Ticking(1_767_225_600_000.into()), fixed::Seeded(1.into()));
        Self { idle: Duration::from_secs(60), ..environment }
    }

    /// Random bytes.
    pub fn random<const N: usize>(&self) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// A node id that no other node has: a version 7 UUID (RFC 9562), so ids made later sort later.
    pub fn new_node_id(&self) -> Result<NodeId, Error> {
        let millis = u64::try_from(self.clock.now()).unwrap_or(0);
        let random = self.random()?;
        Ok(NodeId::from_stored(
            Builder::from_unix_timestamp_millis(millis, &random).into_uuid().to_string(),
        ))
    }
}

/// What [`Environment::fixed`] is made of.
#[cfg(feature = "test-support")]
mod fixed {
    use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

    use super::{Clock, Entropy};
    use crate::error::Error;

    #[derive(Debug)]
    pub(super) struct Ticking(pub(super) AtomicI64);

    impl Clock for Ticking {
        fn now(&self) -> i64 {
            self.0.fetch_add(1, Ordering::Relaxed)
        }
    }

    #[derive(Debug)]
    pub(super) struct Seeded(pub(super) AtomicU64);

    impl Entropy for Seeded {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
            for chunk in bytes.chunks_mut(8) {
                // SplitMix64 (Steele, Lea and Flood, 2014).
                let mut z = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                for (byte, random) in chunk.iter_mut().zip((z ^ (z >> 31)).to_le_bytes()) {
                    *byte = random;
                }
            }
            Ok(())
        }
    }
}
