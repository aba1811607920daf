//! The engine of Mnemosyne: version control for an AI agent's memory.

pub mod backend;
pub mod codec;
pub mod error;
pub mod id;
pub mod object;
pub mod portable;
pub mod state;

pub use error::{Error, ErrorKind, Hint};
pub use id::{BranchName, CommitId, NodeId, NodeVersionId, ObjectId, StateId};
