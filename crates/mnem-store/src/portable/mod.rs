//! 9. What crosses the border of a store: JSON text here, transcripts and whole stores beside it.

pub mod chat;
pub mod json;
