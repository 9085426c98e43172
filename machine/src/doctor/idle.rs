// SPDX-License-Identifier: MIT OR Apache-2.0
//! Idle states: which ones exist, and whether the kernel's command line disables some.

use super::checks::{boot_words, text, CPUS};
use super::{Finding, State};
use std::path::Path;

/// Judged by the first CPU that has idle states.
pub fn idle(root: &Path) -> Finding {
    let finding = |state| Finding::new("idle", "idle states (cpuidle)", state);
    let driver =
        text(root, &format!("{CPUS}/cpuidle/current_driver")).filter(|driver| !driver.is_empty() && driver != "none");
    let governor = ["current_governor", "current_governor_ro"]
        .iter()
        .find_map(|file| text(root, &format!("{CPUS}/cpuidle/{file}")));
    let states: Vec<String> = (0..).map_while(|n| idle_state(root, n)).collect();
    let taken: Vec<String> = boot_words(root).into_iter().filter(|word| takes_states(word)).collect();
    let (Some(driver), false) = (driver, states.is_empty()) else {
        let finding = finding(State::No)
            .found("the kernel knows no idle states here: a CPU with nothing to do halts, no more")
            .costs("a CPU that is not needed saves little, and nobody sees how deeply it sleeps");
        return mended(finding, &taken);
    };
    let governor = governor.unwrap_or_else(|| "unknown".into());
    let found = format!("driver {driver}, governor {governor}: {}", states.join(", "));
    // Every kernel has polling and one halt state.
    let deep = driver != "haltpoll" && states.len() > 2;
    match (deep, taken.is_empty()) {
        (true, true) => finding(State::Yes).found(found),
        (true, false) => {
            let finding = finding(State::Partly).found(found);
            let costs = "states that are deeper still are not used: a CPU that is not needed saves less than it could";
            mended(finding.costs(costs), &taken)
        }
        (false, _) => {
            let finding = finding(State::Partly).found(found);
            let costs = "no deep state is seen: a CPU that is not needed saves what halting saves";
            mended(finding.costs(costs), &taken)
        }
    }
}

/// If the command line disables states, the fix is to remove those words; else it is to look where states may be hidden.
fn mended(finding: Finding, taken: &[String]) -> Finding {
    if taken.is_empty() {
        return finding.mend(
            "in a virtual machine the host's states count: run there; on hardware allow C-states in the firmware",
        );
    }
    let words = taken.join(", ");
    let finding = finding.found(format!("taken away by the kernel's command line: {words}"));
    taken
        .iter()
        .fold(finding, |finding, word| finding.mend(format!("boot without {word}")))
}

/// Whether this word of the command line disables idle states (Documentation/admin-guide/kernel-parameters.txt).
fn takes_states(word: &str) -> bool {
    /// More states than any processor has: no limit.
    const ALL_STATES: u32 = 9;
    let Some((name, value)) = word.split_once('=') else {
        return word == "nohlt";
    };
    // The kernel treats a dash in a parameter's name as an underscore.
    match (name.replace('-', "_").as_str(), value) {
        ("idle", "poll" | "halt") => true,
        ("cpuidle.off", value) => value != "0",
        ("intel_idle.max_cstate" | "processor.max_cstate", value) => {
            value.parse().is_ok_and(|state: u32| state < ALL_STATES)
        }
        _ => false,
    }
}

fn idle_state(root: &Path, n: usize) -> Option<String> {
    let folder = format!("{CPUS}/cpu0/cpuidle/state{n}");
    let name = text(root, &format!("{folder}/name"))?;
    let latency = text(root, &format!("{folder}/latency")).map_or(String::new(), |us| format!(" ({us} µs)"));
    let off = text(root, &format!("{folder}/disable")).is_some_and(|value| value != "0");
    Some(format!("{name}{latency}{}", if off { " switched off" } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_take_states_are_told_from_others() {
        for (word, takes) in [
            ("idle=poll", true),
            ("idle=halt", true),
            ("idle=nomwait", false),
            ("intel_idle.max_cstate=0", true),
            ("intel-idle.max-cstate=1", true),
            ("processor.max_cstate=1", true),
            ("processor.max_cstate=9", false),
            ("processor.max_cstate=x", false),
            ("cpuidle.off=1", true),
            ("cpuidle.off=0", false),
            ("cpuidle_haltpoll.force=1", false),
            ("nohlt", true),
            ("quiet", false),
        ] {
            assert_eq!(takes_states(word), takes, "{word}");
        }
    }

    fn look(driver: &str, states: usize, words: &str) -> Finding {
        let root = tempfile::tempdir().unwrap();
        let put = |path: String, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put(format!("{CPUS}/cpuidle/current_driver"), driver);
        for n in 0..states {
            put(format!("{CPUS}/cpu0/cpuidle/state{n}/name"), "C");
        }
        put("proc/cmdline".into(), &format!("quiet {words} splash\n"));
        idle(root.path())
    }

    #[test]
    fn who_took_states_away_is_named_with_what_gives_them_back() {
        for (driver, states, words, state, mends) in [
            ("none", 0, "idle=poll", State::No, &["boot without idle=poll"][..]),
            (
                "acpi_idle",
                2,
                "processor.max_cstate=1 intel_idle.max_cstate=0",
                State::Partly,
                &[
                    "boot without processor.max_cstate=1",
                    "boot without intel_idle.max_cstate=0",
                ],
            ),
            (
                "intel_idle",
                3,
                "intel_idle.max_cstate=2",
                State::Partly,
                &["boot without intel_idle.max_cstate=2"],
            ),
        ] {
            let finding = look(driver, states, words);
            assert_eq!(
                (finding.state, finding.mends.as_slice()),
                (
                    state,
                    &mends.iter().map(|mend| mend.to_string()).collect::<Vec<_>>()[..]
                )
            );
            let told = format!("taken away by the kernel's command line: {}", words.replace(' ', ", "));
            assert_eq!(finding.found.last(), Some(&told));
            assert_eq!(finding.costs.len(), 1);
        }
        let finding = look("intel_idle", 3, "");
        assert_eq!(
            (finding.state, finding.found.len(), finding.mends.len()),
            (State::Yes, 1, 0)
        );
    }
}
