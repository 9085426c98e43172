// SPDX-License-Identifier: GPL-2.0-only
//! Policies as the help lists them, from the table in policy/policies.def.

use lop_compare::enforcement::LINUX;
use lop_policy::{Config, Named};

/// A line for each: its name with its optional suffix (`behind`), and what it does.
pub fn table(behind: impl Fn(Named) -> &'static str) -> String {
    let named = |policy: Named| (format!("{}{}", policy.name(), behind(policy)), policy.about());
    let rows: Vec<(String, &str)> = Named::all().map(named).collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, about): &(String, &str)| format!("  {name:width$}  {about}\n");
    rows.iter().map(line).collect()
}

/// All policies, then the examples of a command that takes one.
pub fn with_table(examples: &str) -> String {
    let behind = |policy| match policy {
        Named::SimpleSets => ":CORES",
        _ => "",
    };
    format!("Policies:\n{}\n{examples}", table(behind))
}

/// Those that `lop compare` takes: what the machine runs by itself, and all others.
pub fn compared() -> Vec<&'static str> {
    std::iter::once(LINUX).chain(Named::names()).collect()
}

/// Those that use what `lop hint` says about threads.
pub fn using_hints() -> String {
    names(Config::uses_hints)
}

/// Those that plan which thread runs in which memory domain, and so use how threads use memory.
pub fn planning() -> String {
    names(Config::plans)
}

fn names(are: fn(&Config) -> bool) -> String {
    let found = Named::all().filter(|policy| are(&policy.config())).map(Named::name);
    found.collect::<Vec<_>>().join(", ")
}
