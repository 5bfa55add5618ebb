#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenslice_fuzz::ptd::run(bytes));
