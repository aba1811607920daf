//! How long a call waits for another process.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How often who waits looks whether to go on.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

thread_local! {
    /// What the handle that is used on this thread said.
    static PATIENCE: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Says how long the calls of this thread wait from now on: each handle has its own patience,
/// and the engine that waits is shared.
pub(crate) fn be_patient(patience: Duration) {
    PATIENCE.set(Some(patience));
}

/// What was said to this thread: for another that goes on with its work.
pub(crate) fn patience() -> Option<Duration> {
    PATIENCE.get()
}

/// One call that waits.
pub(crate) struct Wait {
    patience: Duration,
    waited: Duration,
    moment: Instant,
    looked: Instant,
    /// How often this process had got the store when it was last looked at.
    acquired: u64,
}

impl Wait {
    /// Begins now.
    pub(super) fn begin(otherwise: Duration) -> Self {
        let moment = Instant::now();
        let patience = patience().unwrap_or(otherwise);
        Self { patience, waited: Duration::ZERO, moment, looked: moment, acquired: 0 }
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// Whether it has waited for as long as it may. Time that is the doing of no other process,
    /// and that of a repair, does not count.
    pub(super) fn is_over(&mut self, does_count: bool) -> bool {
        let now = Instant::now();
        if does_count {
            self.waited += now - self.moment;
        }
        self.moment = now;
        self.waited >= self.patience
    }

    /// Counts anew where this process had the store meanwhile: then others lend it as they
    /// should, and the wait is for its own threads.
    pub(super) fn count_from(&mut self, acquired: u64) {
        if self.acquired != acquired {
            (self.acquired, self.waited) = (acquired, Duration::ZERO);
        }
    }

    /// Whether it is time to look whether to go on.
    pub(super) fn is_time_to_look(&mut self) -> bool {
        let is_time = self.looked.elapsed() >= LOOK;
        if is_time {
            self.looked = Instant::now();
        }
        is_time
    }
}
