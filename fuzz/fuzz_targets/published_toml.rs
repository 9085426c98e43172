// SPDX-License-Identifier: GPL-2.0-only
//! Any text as published figures: refused with the file's name, or tables with at least one figure each.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| match lop_report::published::read("fuzz.toml", text) {
    Ok(tables) => assert!(tables.iter().all(|table| !table.figures.is_empty())),
    Err(error) => assert!(error.to_string().starts_with("fuzz.toml")),
});
