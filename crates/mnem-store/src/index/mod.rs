//! 5. What is derived from commits and kept in their records: generation, first-parent height, a
//!    skip link, and the nodes it changed. The walk over the objects is the truth; a record only
//!    makes it shorter.

pub mod changes;
pub mod line;
pub mod position;

pub use crate::backend::Position;
pub use changes::{Changed, changes_on_line, changes_within, last_change, never_changed};
pub use line::{at_height, is_on_line, is_recorded};
pub(crate) use position::below;
pub use position::{changes_of, derive, follows, position};
