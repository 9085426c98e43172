// SPDX-License-Identifier: GPL-2.0-only
//! Any text as a machine: refused with the file's name, or a machine that can be drawn.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| match lop_machine::read("fuzz.toml", text) {
    Ok(machine) => {
        assert!((1..=lop_machine::MAX_CPUS).contains(&machine.cpus.len()));
        assert!(machine.top_speed().is_finite() && machine.top_speed() > 0.0);
        assert!(!lop_machine::draw(&machine).is_empty());
    }
    Err(error) => assert!(error.to_string().starts_with("fuzz.toml")),
});
