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

/// One call that waits.
pub(crate) struct Wait {
    patience: Duration,
    waited: Duration,
    moment: Instant,
    looked: Instant,
}

impl Wait {
    /// Begins now.
    pub(super) fn begin(otherwise: Duration) -> Self {
        let moment = Instant::now();
        let patience = PATIENCE.get().unwrap_or(otherwise);
        Self { patience, waited: Duration::ZERO, moment, looked: moment }
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// Whether it has waited for as long as it may. The time of a repair does not count.
    pub(super) fn is_over(&mut self, is_repairing: bool) -> bool {
        let now = Instant::now();
        if !is_repairing {
            self.waited += now - self.moment;
        }
        self.moment = now;
        self.waited >= self.patience
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
