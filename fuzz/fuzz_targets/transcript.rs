//! Transcripts: read again they add nothing, in parts they teach the same.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    mnem_fuzz::fuzz::transcripts::transcript(bytes);
});
