// SPDX-License-Identifier: GPL-2.0-only
//! Any text as a file of Sched QoS: refused with its line, or one that can be asked for every name that is in it.
#![no_main]
use libfuzzer_sys::fuzz_target;
use lop_agent::qos::Qos;

fuzz_target!(|text: &str| match Qos::parse("fuzz.json", text) {
    Ok(qos) => {
        assert!(qos.without_effect(true).is_superset(&qos.without_effect(false)));
        let words: Vec<&str> = text.split('"').take(16).collect();
        for program in &words {
            for thread in &words {
                assert_eq!(qos.of(program, thread), qos.of(program, thread));
            }
        }
    }
    Err(error) => assert!(error.line.is_some()),
});
