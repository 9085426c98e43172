#![no_main]
//! Trial
use libfuzzer_sys::fuzz_target;
fuzz_target!(|text: &str| {
    let _ = lop_machine::input::parse::<toml::Table>("fuzz.toml", text);
});
