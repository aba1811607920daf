//! Bytes as an object: what is decoded is encoded to the same bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    mnem_fuzz::fuzz::objects::decode_object(bytes);
});
