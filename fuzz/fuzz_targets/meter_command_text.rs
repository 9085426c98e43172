// SPDX-License-Identifier: GPL-2.0-only
//! Any text as the output of a meter's command: refused with what was expected, or a finite number.
#![no_main]
use libfuzzer_sys::fuzz_target;
use lop_machine::meter::parse::{command_line, Said};

fuzz_target!(|text: &str| match command_line(text) {
    Ok(Said::PowerW(value) | Said::EnergyJ(value)) => {
        assert!(value >= 0.0);
        assert_eq!(text.trim_end_matches('\n').lines().count(), 1);
    }
    Err(message) => assert!(message.contains("expected one line of a number and a unit")),
});
