//! 2. How objects become bytes: canonical CBOR, a decoder that accepts nothing else, and
//!    bytes that carry the id they hash to.
//!
//! The rules stand in `docs/format/`; they are RFC 8949 section 4.2 with text keys only, no
//! tags, and no simple values but false, true and null. Integers and floats are in the
//! shortest form that holds the value exactly.

pub mod canonical;
pub mod diagnostic;
pub mod encoded;
pub mod strict;

pub use encoded::Encoded;
pub use strict::{DecodeError, Refusal, decode};
