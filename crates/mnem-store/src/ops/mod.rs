//! 8. The verbs, one a file.

pub mod bisect;
pub mod blame;
pub mod checkout;
pub mod commit;
pub mod diff;
pub mod finding;
pub mod fsck;
pub mod inbox;
pub mod log;
pub mod merge;
pub mod migrate;
pub mod reflog;
pub mod remove;
pub mod repair;
mod repair_original;
pub mod restore;
pub mod revert;
mod salvage;
mod settle;
pub mod statistics;
pub mod time_travel;
pub mod undo;
pub mod verify;
pub mod write;

pub use bisect::{Bisection, Flip, NodeTest};
pub use blame::Blame;
pub use commit::Committed;
pub use diff::{ChangeKind, DiffTarget, NodeChange};
pub use finding::Finding;
pub use fsck::Fsck;
pub use log::NodeEvent;
pub use merge::{
    Conflict, ConflictKind, MergeOptions, MergeOutcome, Resolution, Resolver, Strategy,
    StructuralOnly, Verdict,
};
pub use migrate::{Migrated, Phase};
pub use repair::{Repair, Stage};
pub use revert::RevertOutcome;
pub use statistics::Statistics;
pub use undo::{UndoOutcome, Undone};
pub use verify::Verified;
pub use write::{Changes, Meta};
