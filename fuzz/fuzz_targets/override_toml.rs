// SPDX-License-Identifier: GPL-2.0-only
//! The first line KEY=VALUE as `--set`, the rest as the file that it changes: refused, or still valid TOML.
#![no_main]
use libfuzzer_sys::fuzz_target;
use lop_machine::input::{apply_overrides, Override};

fuzz_target!(|input: &str| {
    let Some((set, text)) = input.split_once('\n') else {
        return;
    };
    let Some((key, value)) = set.split_once('=') else {
        return;
    };
    let change = Override {
        key: key.trim_start_matches(['#', ' ']).to_string(),
        value: value.to_string(),
    };
    match apply_overrides("fuzz.toml", text, &[change]) {
        Ok(changed) => drop(lop_machine::read("fuzz.toml", &changed)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
