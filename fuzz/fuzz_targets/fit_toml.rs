// SPDX-License-Identifier: GPL-2.0-only
//! Any text as measured watts to fit: refused with the file's name, or a fit that can be printed.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| match lop_machine::fit("fuzz.toml", text) {
    Ok(fit) => assert!(!fit.to_string().is_empty()),
    Err(error) => assert!(error.to_string().starts_with("fuzz.toml")),
});
