// SPDX-License-Identifier: GPL-2.0-only
//! Any text as an experiment: refused with the file's name, or an experiment with something to run. Files that it names are not opened.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    |text: &str| match lop_simulator::experiment::read("fuzz.toml", text, None) {
        Ok(experiment) => assert!(!experiment.policies.is_empty() && experiment.runs > 0),
        Err(error) => assert!(error.to_string().starts_with("fuzz.toml")),
    }
);
