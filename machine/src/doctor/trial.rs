// SPDX-License-Identifier: MIT OR Apache-2.0
//! The outcome of trying the speeds, for people: whether requests act, and if not, why, and what to do about it.

use super::checks::{boot_words, text, NO_SPEEDS, UNTRIED};
use super::{Finding, State};
use crate::live::format_cpu_list;
use crate::speed::{Compared, Outcome, Seen, Tried, TriedKind, Verdict};
use serde_json::{json, Value};
use std::path::Path;

/// A trial, or why there was none.
pub type Trial = Result<Tried, String>;

/// Replaces what the driver's files suggested by what was tried.
pub(super) fn add(finding: &mut Finding, root: &Path, trial: &Trial) {
    finding.found.retain(|line| line != UNTRIED);
    let tried = match trial {
        Ok(tried) => tried,
        Err(reason) => return finding.found.push(format!("speed requests were not tried: {reason}")),
    };
    if tried.kinds.is_empty() {
        finding
            .found
            .push("no CPU's speed can be set: there is nothing to try".into());
    }
    finding.state = state(finding.state, tried);
    finding.found.extend(tried.kinds.iter().map(told));
    for kind in &tried.kinds {
        let Ok(outcome) = &kind.outcome else { continue };
        let why = is_lacking(outcome).then(|| why(root, &kind.driver)).unzip();
        for (lines, line) in [
            (&mut finding.costs, cost(outcome.verdict)),
            (&mut finding.found, why.0),
            (&mut finding.mends, why.1),
        ] {
            lines.extend(line.filter(|line| !lines.contains(line)));
        }
    }
    finding.found.extend(tried.notes.iter().cloned());
}

fn is_lacking(outcome: &Outcome) -> bool {
    matches!(outcome.verdict, Verdict::Ignored | Verdict::Partly)
}

/// The state after the trial; kinds that could not be tried do not change it.
fn state(believed: State, tried: &Tried) -> State {
    let outcomes = tried.kinds.iter().filter_map(|kind| kind.outcome.as_ref().ok());
    let verdicts: Vec<Verdict> = outcomes.map(|outcome| outcome.verdict).collect();
    let all = |wanted| verdicts.iter().all(|verdict| *verdict == wanted);
    match () {
        () if verdicts.is_empty() || all(Verdict::Act) => believed,
        () if all(Verdict::Ignored) => State::No,
        () => State::Partly,
    }
}

fn told(kind: &TriedKind) -> String {
    let cpus = kind.cpus.iter().filter_map(|&cpu| u32::try_from(cpu).ok());
    let place = match kind.cpus.len() {
        1 => format!("CPU {}", kind.cpu),
        _ => format!("CPUs {}, tried on CPU {}", format_cpu_list(cpus), kind.cpu),
    };
    let what = match &kind.outcome {
        Err(reason) => format!("speed requests could not be tried: {reason}"),
        Ok(outcome) => outcome_told(outcome, &kind.driver),
    };
    format!("{place}: {what}")
}

fn outcome_told(outcome: &Outcome, driver: &str) -> String {
    let alone = compared_told(&outcome.alone);
    match (outcome.verdict, &outcome.together) {
        (Verdict::Act, _) => format!("speed requests act: {alone}"),
        (Verdict::Partly, _) => format!("speed requests act in part: {alone}"),
        (Verdict::Together, Some(together)) => format!(
            "speed requests act only where all CPUs are asked for the same, so they share a clock of which driver {driver} says \
             nothing: {}; alone {alone}",
            compared_told(together)
        ),
        (Verdict::Ignored | Verdict::Together, _) => format!("speed requests are ignored: {alone}"),
    }
}

/// Work per second relative to the low request, and the frequencies that the driver showed.
fn compared_told(compared: &Compared) -> String {
    let Compared { low, high } = compared;
    let at = |seen: &Seen| format!("{:.2} at {} GHz", seen.work, ghz(seen.asked_khz));
    let shown = match (low.shown_khz, high.shown_khz) {
        (Some(low), Some(high)) => format!(" (scaling_cur_freq {} and {} GHz)", ghz(low), ghz(high)),
        _ => String::new(),
    };
    format!("{}, {}{shown}", at(low), at(high))
}

/// `0.8`, `1.05`
fn ghz(khz: u32) -> String {
    let text = format!("{:.2}", f64::from(khz) / 1e6);
    text.strip_suffix('0').map_or(text.clone(), str::to_string)
}

fn cost(verdict: Verdict) -> Option<String> {
    let cost = match verdict {
        Verdict::Act => return None,
        Verdict::Ignored => NO_SPEEDS,
        Verdict::Together => {
            "a CPU is slow only while all that share its clock are: few CPUs at high speed keep the others fast"
        }
        Verdict::Partly => {
            "high and low CPUs differ less in speed than requested: less is saved, and work on low CPUs is faster"
        }
    };
    Some(cost.to_string())
}

/// Why requests are ignored, and what to do about it.
fn why(root: &Path, driver: &str) -> (String, String) {
    let cpuinfo = text(root, "proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo
        .lines()
        .find(|line| line.starts_with("flags"))
        .unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
    let setup =
        "in the firmware's setup leave power management to the operating system (HPE: OS Control Mode; Dell: OS DBPM)";
    let (why, mend) = match driver {
        _ if has("hypervisor") || root.join("sys/hypervisor/type").exists() => (
            "this is a virtual machine: its host chooses the speeds and ignores requests from here",
            "run Lopsided on the host of this virtual machine".to_string(),
        ),
        "pcc-cpufreq" => (
            "with driver pcc-cpufreq the firmware chooses the speeds",
            setup.to_string(),
        ),
        "acpi-cpufreq" if has("hwp") => (
            "the processor chooses by itself (HWP) and heeds driver intel_pstate only, not acpi-cpufreq",
            with_intel_pstate(root),
        ),
        _ => (
            "the cause is not known; usually the firmware keeps control of the speeds",
            match other_mode(driver, has("cppc")) {
                Some(option) => format!("{setup}; or boot with {option}, another mode of the driver"),
                None => setup.to_string(),
            },
        ),
    };
    (why.to_string(), mend)
}

fn with_intel_pstate(root: &Path) -> String {
    let words = boot_words(root);
    match words.iter().find(|word| word.starts_with("intel_pstate=")) {
        Some(word) => format!("boot without {word}"),
        None => "boot with intel_pstate=active".into(),
    }
}

/// The kernel option that switches the driver to its other mode (Documentation/admin-guide/pm/).
fn other_mode(driver: &str, is_amd_with_cppc: bool) -> Option<&'static str> {
    match driver {
        "intel_pstate" => Some("intel_pstate=passive"),
        "intel_cpufreq" => Some("intel_pstate=active"),
        "amd-pstate-epp" | "amd_pstate_epp" => Some("amd_pstate=passive"),
        "amd-pstate" | "amd_pstate" => Some("amd_pstate=active"),
        "acpi-cpufreq" if is_amd_with_cppc => Some("amd_pstate=active"),
        _ => None,
    }
}

pub(super) fn json(trial: &Trial) -> Value {
    let kind = |kind: &TriedKind| {
        let mut object = json!({ "cpus": kind.cpus, "cpu": kind.cpu, "driver": kind.driver });
        match &kind.outcome {
            Ok(outcome) => {
                object["verdict"] = json!(outcome.verdict);
                object["alone"] = json!(outcome.alone);
                object["together"] = json!(outcome.together);
            }
            Err(reason) => object["error"] = json!(reason),
        }
        object
    };
    match trial {
        Ok(tried) => json!({ "kinds": tried.kinds.iter().map(kind).collect::<Vec<Value>>(), "notes": tried.notes }),
        Err(reason) => json!({ "error": reason }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::Compared;

    fn compared(high_work: f64) -> Compared {
        let seen = |asked_khz, shown_khz, work| Seen {
            asked_khz,
            shown_khz: Some(shown_khz),
            work,
        };
        Compared {
            low: seen(800_000, 799_000, 1.0),
            high: seen(3_200_000, 3_193_000, high_work),
        }
    }

    fn kind(cpus: &[usize], driver: &str, verdict: Verdict, high_work: f64) -> TriedKind {
        let together = (verdict == Verdict::Together).then(|| compared(3.9));
        TriedKind {
            cpus: cpus.to_vec(),
            cpu: cpus[0],
            driver: driver.into(),
            outcome: Ok(Outcome {
                verdict,
                alone: compared(high_work),
                together,
            }),
        }
    }

    fn finding(files: &[(&str, &str)], trial: &Trial) -> Finding {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut finding = Finding::new("speeds", "speeds (cpufreq)", State::Yes).found(UNTRIED);
        add(&mut finding, root.path(), trial);
        finding
    }

    fn tried(kinds: Vec<TriedKind>) -> Trial {
        Ok(Tried {
            kinds,
            notes: Vec::new(),
        })
    }

    #[test]
    fn requests_that_act_say_by_how_much() {
        let finding = finding(&[], &tried(vec![kind(&[0, 1, 2], "intel_pstate", Verdict::Act, 3.9)]));
        assert_eq!(finding.state, State::Yes);
        assert_eq!(
            finding.found,
            ["CPUs 0-2, tried on CPU 0: speed requests act: 1.00 at 0.8 GHz, 3.90 at 3.2 GHz (scaling_cur_freq 0.8 and 3.19 GHz)"]
        );
        assert_eq!((finding.costs.len(), finding.mends.len()), (0, 0));
    }

    #[test]
    fn each_known_reason_has_its_way_out() {
        let (guest, hwp) = (
            ("proc/cpuinfo", "flags\t: fpu hypervisor\n"),
            ("proc/cpuinfo", "flags\t: fpu hwp\n"),
        );
        let disabled = ("proc/cmdline", "quiet intel_pstate=disable");
        type Files<'a> = &'a [(&'a str, &'a str)];
        let cases: [(Files, &str, &str, &str); 8] = [
            (&[guest], "acpi-cpufreq", "virtual machine", "on the host"),
            (&[("sys/hypervisor/type", "xen")], "x", "virtual machine", "on the host"),
            (&[], "pcc-cpufreq", "firmware chooses", "OS Control Mode"),
            (&[hwp], "acpi-cpufreq", "HWP", "boot with intel_pstate=active"),
            (
                &[hwp, disabled],
                "acpi-cpufreq",
                "HWP",
                "boot without intel_pstate=disable",
            ),
            (
                &[],
                "amd-pstate-epp",
                "cause is not known",
                "boot with amd_pstate=passive",
            ),
            (
                &[("proc/cpuinfo", "flags: cppc")],
                "acpi-cpufreq",
                "not known",
                "boot with amd_pstate=active",
            ),
            (&[], "cppc_cpufreq", "not known", "firmware's setup"),
        ];
        for (files, driver, why, mend) in cases {
            let finding = finding(files, &tried(vec![kind(&[0], driver, Verdict::Ignored, 1.0)]));
            assert_eq!(finding.state, State::No);
            assert!(
                finding.found[0].starts_with("CPU 0: speed requests are ignored: 1.00 at 0.8 GHz, 1.00 at"),
                "{finding:?}"
            );
            assert!(
                finding.found[1].contains(why) && finding.mends[0].contains(mend),
                "{finding:?}"
            );
            assert_eq!((finding.costs.len(), finding.mends.len()), (1, 1), "{finding:?}");
        }
    }

    #[test]
    fn kinds_that_differ_make_it_partly_and_say_each_thing_once() {
        let trial = tried(vec![
            kind(&[0, 1], "acpi-cpufreq", Verdict::Together, 1.0),
            kind(&[2], "acpi-cpufreq", Verdict::Ignored, 1.0),
            kind(&[3], "acpi-cpufreq", Verdict::Ignored, 1.0),
        ]);
        let finding = finding(&[], &trial);
        assert_eq!(finding.state, State::Partly);
        assert!(
            finding.found[0].contains("act only where all CPUs are asked for the same"),
            "{finding:?}"
        );
        assert!(
            finding.found[0].contains("3.90 at 3.2 GHz") && finding.found[0].contains("; alone 1.00"),
            "{finding:?}"
        );
        assert_eq!(
            (finding.found.len(), finding.costs.len(), finding.mends.len()),
            (4, 2, 1),
            "{finding:?}"
        );
    }

    #[test]
    fn what_was_not_tried_leaves_it_as_it_was() {
        let refused = TriedKind {
            outcome: Err("scaling_max_freq: cannot write it".into()),
            ..kind(&[1], "x", Verdict::Act, 2.0)
        };
        for (trial, said) in [
            (
                tried(vec![refused]),
                "CPU 1: speed requests could not be tried: scaling_max_freq",
            ),
            (tried(vec![]), "nothing to try"),
            (Err("no right".into()), "not tried: no right"),
        ] {
            let finding = finding(&[], &trial);
            assert_eq!(finding.state, State::Yes);
            assert!(
                finding.found.len() == 1 && finding.found[0].contains(said),
                "{finding:?}"
            );
        }
    }

    #[test]
    fn json_has_numbers_and_reasons() {
        let mut trial = tried(vec![kind(&[0, 1], "x", Verdict::Together, 1.0)]).unwrap();
        trial.kinds.push(TriedKind {
            outcome: Err("no".into()),
            ..kind(&[2], "x", Verdict::Act, 2.0)
        });
        let json = json(&Ok(trial));
        assert_eq!(json["kinds"][0]["verdict"], "together");
        assert_eq!(
            json["kinds"][0]["together"]["high"],
            json!({ "asked_khz": 3_200_000, "shown_khz": 3_193_000, "work": 3.9 })
        );
        assert_eq!(
            json["kinds"][1],
            json!({ "cpus": [2], "cpu": 2, "driver": "x", "error": "no" })
        );
        assert_eq!(super::json(&Err("no right".into())), json!({ "error": "no right" }));
    }
}
