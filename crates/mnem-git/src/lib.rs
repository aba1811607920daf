//! The `mnem` command. A library with a thin main, so that the wheel ships the command too.

pub mod system;
