//! `config`: what it says is what its rendering says.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    mnem_fuzz::fuzz::words::config(bytes);
});
