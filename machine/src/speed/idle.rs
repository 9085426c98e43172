// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that keep a CPU from its deepest idle state; they are lifted while it is low.

use super::domain::{Knob, CPU_FOLDER};
use super::files::{number_after, Files};

/// The files to change while `cpu` is low; empty if there is no obstacle, or if it cannot be changed.
pub(super) fn idle_knobs(files: &dyn Files, cpu: usize) -> Vec<Knob> {
    let Some(deepest) = deepest_state(files, cpu) else {
        return Vec::new();
    };
    let knobs = [disabled(files, &deepest), latency_limit(files, cpu, &deepest)];
    knobs
        .into_iter()
        .flatten()
        .filter(|knob| files.writable(&knob.path).is_ok())
        .collect()
}

/// Folder of the deepest state that is meant to be used on this platform; states that the driver turned off stay off.
fn deepest_state(files: &dyn Files, cpu: usize) -> Option<String> {
    let folder = format!("{CPU_FOLDER}/cpu{cpu}/cpuidle");
    let names = files.list(&folder).ok()?;
    let mut states: Vec<usize> = names.iter().filter_map(|name| number_after(name, "state")).collect();
    states.sort_unstable();
    let folders = states.into_iter().rev().map(|state| format!("{folder}/state{state}"));
    let mut meant = folders.filter(|state| {
        let by_default = files.read_trimmed(&format!("{state}/default_status"));
        !by_default.is_ok_and(|status| status == "disabled")
    });
    meant.next()
}

fn disabled(files: &dyn Files, state: &str) -> Option<Knob> {
    let path = format!("{state}/disable");
    (files.read_trimmed(&path).ok()? != "0").then(|| while_low(path, "0"))
}

/// The limit reads 0 if there is none, n/a if no latency is allowed, else the microseconds that a wakeup may take.
fn latency_limit(files: &dyn Files, cpu: usize, deepest: &str) -> Option<Knob> {
    let path = format!("{CPU_FOLDER}/cpu{cpu}/power/pm_qos_resume_latency_us");
    let limit = files.read_trimmed(&path).ok()?;
    let stands_in_the_way = match limit.as_str() {
        "0" => false,
        "n/a" => true,
        limit_us => limit_us.parse::<u64>().ok()? < latency_us(files, deepest)?,
    };
    stands_in_the_way.then(|| while_low(path, "0"))
}

fn latency_us(files: &dyn Files, state: &str) -> Option<u64> {
    files.read_trimmed(&format!("{state}/latency")).ok()?.parse().ok()
}

fn while_low(path: String, low: &str) -> Knob {
    Knob {
        path,
        high: None,
        low: Some(low.into()),
        ..Knob::default()
    }
}
