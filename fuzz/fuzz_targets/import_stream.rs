//! Exports: a sound store, or nothing.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    mnem_fuzz::fuzz::streams::import_stream(bytes);
});
