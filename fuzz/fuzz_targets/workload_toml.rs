// SPDX-License-Identifier: GPL-2.0-only
//! Any text as a workload: refused with the file's name, or one that can be built for a seed.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| match lop_simulator::workload::read("fuzz.toml", text) {
    Ok(spec) => assert!(!spec.build(1).programs.is_empty()),
    Err(error) => assert!(error.to_string().starts_with("fuzz.toml")),
});
