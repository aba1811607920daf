//! `HEAD`: what is read is rendered to the same line.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    mnem_fuzz::fuzz::words::head(bytes);
});
