//! Trees that were damaged: what is not refused is canonical.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    mnem_fuzz::fuzz::objects::decode_state_node(bytes);
});
