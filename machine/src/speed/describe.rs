// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speeds, described for people.

use super::domain::{ClockDomain, Controlled, Knob, Mechanism};
use super::files::format_cpus;
use super::restore::Restored;

/// One line for each distinct text, with all its CPUs, in the order of their first CPUs.
pub(super) fn lines_by_cpus(texts: impl Iterator<Item = (Vec<usize>, String)>) -> Vec<String> {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for (cpus, text) in texts {
        match groups.iter_mut().find(|(known, _)| *known == text) {
            Some((_, members)) => members.extend(cpus),
            None => groups.push((text, cpus)),
        }
    }
    let lines = groups.into_iter().map(|(text, mut cpus)| {
        cpus.sort_unstable();
        format!("{}: {text}", named_cpus(&cpus))
    });
    lines.collect()
}

/// `CPU 3` or `CPUs 0-3` of sorted CPU numbers.
pub(super) fn named_cpus(cpus: &[usize]) -> String {
    let word = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{word} {}", format_cpus(cpus))
}

/// What a change of governor since the start means for speeds, and how to adapt to it.
pub(super) fn governor_text(domain: &ClockDomain, now: &str) -> String {
    let followed = match domain.mechanism {
        Mechanism::Limits => "both scaling limits are still set there",
        Mechanism::Preference => "the energy preference is still set there, unless that is performance",
        _ => "their speeds are not followed",
    };
    format!(
        "governor {now} is in charge now, {} was at the start: {followed}; 'lop stop' and a new start follow it",
        domain.governor
    )
}

/// Describes the mechanism of a clock domain and its notes.
pub(super) fn domain_text(controlled: &Controlled) -> String {
    let domain = &controlled.domain;
    let how = match &domain.mechanism {
        Mechanism::Nothing { reason } => format!("speeds cannot be set: {reason}"),
        Mechanism::Scheduler => "the scheduler asks for speeds itself; nothing is written".into(),
        Mechanism::Setspeed => format!("speeds set by scaling_setspeed, {}", range(domain)),
        Mechanism::Limits => format!("speeds set by scaling_min_freq and scaling_max_freq, {}", range(domain)),
        Mechanism::Preference => format!(
            "the driver chooses between {} and is told an energy preference (energy_performance_preference)",
            range(domain)
        ),
    };
    let mut text = match domain.driver.as_str() {
        "" => how,
        driver => format!("{how} (driver {driver}, governor {})", domain.governor),
    };
    for note in &controlled.notes {
        text.push_str("; ");
        text.push_str(note);
    }
    text
}

fn range(domain: &ClockDomain) -> String {
    match (domain.min_khz, domain.max_khz) {
        (Some(min), Some(max)) if domain.mechanism == Mechanism::Preference => {
            format!("{} and {} MHz", min / 1000, max / 1000)
        }
        (Some(min), Some(max)) => format!("low {} MHz, high {} MHz", min / 1000, max / 1000),
        _ => "speeds unknown".into(),
    }
}

/// Which obstacles to deep idle states are lifted while a CPU is low.
pub(super) fn idle_text(knobs: &[Knob]) -> String {
    let files: Vec<&str> = knobs
        .iter()
        .map(|knob| knob.path.rsplit_once("/cpuidle/").or(knob.path.rsplit_once("/power/")))
        .filter_map(|split| split.map(|(_, file)| file))
        .collect();
    format!(
        "while low, allowed into their deepest idle state ({})",
        files.join(", ")
    )
}

/// What an earlier run left changed, and whether it was restored.
pub(super) fn restored_lines(restored: &Restored) -> Vec<String> {
    let mut lines = Vec::new();
    if !restored.files.is_empty() {
        let count = restored.files.len();
        lines.push(format!("put back {count} files that an earlier run had left changed"));
    }
    let skipped = restored.skipped.iter();
    lines.extend(skipped.map(|skipped| format!("an earlier run's {}: {}", skipped.file.display(), skipped.reason)));
    lines
}
