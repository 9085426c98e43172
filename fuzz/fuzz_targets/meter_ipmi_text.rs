// SPDX-License-Identifier: GPL-2.0-only
//! Any text as the output of an IPMI tool: refused, or watts above 0.
#![no_main]
use libfuzzer_sys::fuzz_target;
use lop_machine::meter::parse::dcmi_watts;

fuzz_target!(|text: &str| match dcmi_watts(text) {
    Ok(watts) => assert!(watts > 0.0 && watts.is_finite()),
    Err(message) => assert!(!message.is_empty()),
});
