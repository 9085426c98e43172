// SPDX-License-Identifier: GPL-2.0-only
//! A journal of speeds, which root reads back: refused with a line, or one that only names files of CPUs and survives writing.
#![no_main]
use libfuzzer_sys::fuzz_target;
use lop_machine::speed::Journal;

fuzz_target!(|input: &str| match Journal::parse("speeds.journal", input) {
    Ok(journal) => {
        for path in journal.entries.keys() {
            assert!(path.starts_with("sys/devices/system/cpu/") && !path.contains(".."));
        }
        assert_eq!(Journal::parse("speeds.journal", &journal.to_text()), Ok(journal));
    }
    Err(error) => assert!(error.line.is_some()),
});
