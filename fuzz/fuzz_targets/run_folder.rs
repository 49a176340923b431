#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unmissed_fuzz::runs::resume(bytes));
