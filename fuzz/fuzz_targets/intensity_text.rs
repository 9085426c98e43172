// SPDX-License-Identifier: GPL-2.0-only
//! Any text as a recording of intensity: refused with the file's name, or one whose programs have at most as many misses as instructions.
#![no_main]
use libfuzzer_sys::fuzz_target;
use lop_machine::intensity::Intensities;

fuzz_target!(|text: &str| match Intensities::parse("fuzz.csv", text) {
    Ok(found) => {
        assert!(!found.is_empty());
        for line in text.lines() {
            let thread = line.split(',').find_map(|field| field.trim().rsplit_once('-'));
            if let Some(counts) = thread.and_then(|(name, _)| found.of(name)) {
                assert!((0.0..=1000.0).contains(&counts.mpki()));
            }
        }
    }
    Err(error) => assert!(error.starts_with("fuzz.csv:")),
});
