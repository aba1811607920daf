//! The engine of Mnemosyne: version control for an AI agent's memory.
//!
//! Folders are layers, in reading order; a layer uses those before it.
//!
//! | layer | what it is about |
//! | --- | --- |
//! | [`key`] | the ids that adapters make of their keys |
//! | [`object`] | what is stored: nodes, states, commits |
//! | [`codec`] | how objects become bytes, and back |
//! | [`backend`] | where bytes live |
//! | [`state`] | a state as an ordered map, stored as a tree |
//! | [`index`] | what is derived from commits |
//! | [`graph`] | commits as a graph |
//! | [`store`] | an open store |
//! | [`ops`] | the verbs |
//! | [`portable`] | in and out |
//!
//! The engine has no terminal, no environment, no network and no model. Time and randomness are
//! given to it when a store is opened.

pub mod backend;
pub mod codec;
pub mod error;
pub mod graph;
pub mod id;
pub mod index;
pub mod key;
pub mod object;
pub mod ops;
pub mod portable;
pub mod state;
pub mod store;

pub use error::{Error, ErrorKind, Hint, Stale};
pub use id::{BranchName, CommitId, NodeId, NodeVersionId, ObjectId, StateId};
pub use object::{Commit, Content, ContentKind, MemoryNode, Provenance};
pub use store::{Clock, Entropy, Environment, Head, InitOptions, Snapshot, Store, Waiting};
