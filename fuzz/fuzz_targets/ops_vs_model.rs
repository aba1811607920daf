//! Histories of every verb beside plain dicts.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    mnem_fuzz::histories::script::replay(bytes);
});
