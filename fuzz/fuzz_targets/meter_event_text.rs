// SPDX-License-Identifier: GPL-2.0-only
//! Any lines as the files of an energy event (configuration, scale, unit): refused with what was found, or a valid scale.
#![no_main]
use libfuzzer_sys::fuzz_target;
use lop_machine::meter::parse::{event_config, event_scale_uj};

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let mut next = || lines.next().unwrap_or("");
    if let Err(message) = event_config(next()) {
        assert!(message.starts_with("found '"));
    }
    match event_scale_uj(next(), next()) {
        Ok(uj) => assert!((1e-9..=1e9).contains(&uj)),
        Err(message) => assert!(message.starts_with("found ")),
    }
});
