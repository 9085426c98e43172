// SPDX-License-Identifier: GPL-2.0-only
//! Any text as an rt-app file: refused with the file's name, or a workload that can be built for a seed.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    |text: &str| match lop_simulator::workload::rtapp::read("fuzz.json", text) {
        Ok(spec) => assert!(!spec.build(1).programs.is_empty()),
        Err(error) => assert!(error.to_string().starts_with("fuzz.json")),
    }
);
