// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machines and fits of `data/machines`, embedded at build time.

include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

/// Names of the built-in machines, in alphabetical order.
pub fn builtin_names() -> Vec<&'static str> {
    MACHINES.iter().map(|(name, _)| *name).collect()
}

/// TOML text of a built-in machine.
pub fn builtin_text(name: &str) -> Option<&'static str> {
    find(MACHINES, name)
}

/// Names of the machines whose watts were fitted, in alphabetical order.
pub fn builtin_fit_names() -> Vec<&'static str> {
    FITS.iter().map(|(name, _)| *name).collect()
}

/// TOML text of the fit of a built-in machine, for [`crate::fit`].
pub fn builtin_fit_text(name: &str) -> Option<&'static str> {
    find(FITS, name)
}

fn find(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
