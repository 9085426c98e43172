// SPDX-License-Identifier: GPL-2.0-only
//! Any bytes as a recording: refused with the file's name, or one that survives writing and reading, and whose workload can be read.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| match lop_trace::read("fuzz.trace", bytes) {
    Ok(trace) => {
        let again = lop_trace::write(&trace).expect("what was read can be written");
        assert_eq!(
            lop_trace::read("fuzz.trace", &again).expect("what was written can be read"),
            trace
        );
        match lop_trace::to_workload("fuzz.trace", &trace, "fuzz") {
            // Sums of arbitrary times may exceed the longest workload, which is then refused.
            Ok((text, summary)) => match lop_simulator::workload::read("fuzz.toml", &text) {
                Ok(spec) => assert!(spec.build(1).programs.len() >= summary.tasks),
                Err(error) => assert!(error.to_string().starts_with("fuzz.toml")),
            },
            Err(error) => assert!(error.to_string().starts_with("fuzz.trace")),
        }
    }
    Err(error) => assert!(error.to_string().starts_with("fuzz.trace")),
});
