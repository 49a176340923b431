#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unmissed_fuzz::read_tree_model(bytes));
