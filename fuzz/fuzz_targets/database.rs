#![no_main]
#[path = "../targets.rs"]
#[allow(dead_code, reason = "each program runs one target")]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::database(data));
