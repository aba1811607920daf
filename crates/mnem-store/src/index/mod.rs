//! 5. What is derived from commits and kept in their records: generation, first-parent height
//!    and a skip link. The walk over the objects is the truth; a record only makes it shorter.

pub mod position;

pub(crate) use position::below;
pub use position::{Position, derive, position};
