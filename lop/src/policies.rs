// SPDX-License-Identifier: GPL-2.0-only
//! Policies as help lists them: the table of policy/policies.def.

use lop_compare::enforcement::LINUX;
use lop_policy::Named;

/// A line for each: its name with its optional suffix (`behind`), and what it is.
pub fn table(behind: impl Fn(Named) -> &'static str) -> String {
    let named = |policy: Named| (format!("{}{}", policy.name(), behind(policy)), policy.about());
    let rows: Vec<(String, &str)> = Named::all().map(named).collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, about): &(String, &str)| format!("  {name:width$}  {about}\n");
    rows.iter().map(line).collect()
}

/// All policies, then the examples of a command that puts one in force.
pub fn with_table(examples: &str) -> String {
    let behind = |policy| match policy {
        Named::SimpleSets => ":CORES",
        _ => "",
    };
    format!("Policies:\n{}\n{examples}", table(behind))
}

/// Those that `lop compare` compares: what the machine runs by itself, and all.
pub fn compared() -> Vec<&'static str> {
    std::iter::once(LINUX).chain(Named::names()).collect()
}

/// Those that use what `lop hint` says of threads.
pub fn hearing() -> String {
    let heard = Named::all()
        .filter(|policy| policy.config().hears_hints())
        .map(Named::name);
    heard.collect::<Vec<_>>().join(", ")
}
