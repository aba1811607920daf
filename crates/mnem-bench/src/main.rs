//! Counts and ratios of the engine, printed.

fn main() {}
