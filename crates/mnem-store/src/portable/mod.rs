//! 9. What crosses the border of a store: JSON text here, transcripts and whole stores beside it.

pub mod chat;
pub mod export;
pub mod import;
pub mod json;
pub mod plain;
pub mod stream;

pub use import::import;
pub use stream::Carried;
