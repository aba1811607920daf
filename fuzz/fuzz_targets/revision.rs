//! Revisions: a commit by which the steps after it go, or a sentence.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    mnem_fuzz::fuzz::words::revision(bytes);
});
