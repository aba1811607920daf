//! 6. Commits as a graph: the order of a log, ancestors, merge bases.

pub mod ancestors;
pub mod merge_base;
pub mod virtual_base;
pub mod walk;

pub use ancestors::{is_ancestor, not_behind};
pub use merge_base::{merge_bases, merge_bases_of};
pub use virtual_base::{Bases, KnownBases, VirtualBase};
pub use walk::{FirstParents, Walk};
