// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::meter::{Source, Wraps};
use crate::speed::{Compared, Outcome, Seen, Tried, TriedKind, Verdict};
use std::time::Duration;
use tempfile::TempDir;

fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }
    root
}

fn look(root: &Path) -> Report {
    let setup = Setup {
        root: root.to_path_buf(),
        ..Setup::default()
    };
    let scheduler = Finding::new("scheduler", "scheduling in the kernel", State::No).found("none");
    Report::look(&setup, vec![scheduler])
}

fn of<'a>(report: &'a Report, area: &str) -> &'a Finding {
    report.findings.iter().find(|finding| finding.area == area).unwrap()
}

const CPU: &str = "sys/devices/system/cpu";

/// A laptop where everything works.
fn laptop() -> TempDir {
    let policy = |file: &str| format!("{CPU}/cpufreq/policy0/{file}");
    let state = |n: usize, file: &str| format!("{CPU}/cpu0/cpuidle/state{n}/{file}");
    let files = [
        (format!("{CPU}/present"), "0-1"),
        (format!("{CPU}/online"), "0-1"),
        (policy("affected_cpus"), "0 1"),
        (policy("scaling_driver"), "acpi-cpufreq"),
        (policy("scaling_governor"), "ondemand"),
        (policy("scaling_min_freq"), "800000"),
        (policy("scaling_max_freq"), "2400000"),
        (policy("cpuinfo_min_freq"), "800000"),
        (policy("cpuinfo_max_freq"), "2400000"),
        (
            format!("{CPU}/cpu0/cpufreq/scaling_available_governors"),
            "ondemand schedutil",
        ),
        (format!("{CPU}/cpuidle/current_driver"), "intel_idle"),
        (format!("{CPU}/cpuidle/current_governor"), "menu"),
        (state(0, "name"), "POLL"),
        (state(1, "name"), "C1"),
        (state(1, "latency"), "2"),
        (state(2, "name"), "C6"),
        (state(2, "disable"), "1"),
        ("sys/bus/event_source/devices/cpu/type".into(), "4"),
        ("proc/sys/kernel/perf_event_paranoid".into(), "-1"),
        ("sys/class/power_supply/BAT0/type".into(), "Battery"),
        ("sys/class/power_supply/BAT0/status".into(), "Discharging"),
        ("sys/class/power_supply/BAT0/power_now".into(), "9000000"),
    ];
    tree(
        &files
            .iter()
            .map(|(path, text)| (path.as_str(), *text))
            .collect::<Vec<_>>(),
    )
}

#[test]
fn each_kind_of_core_has_its_counters() {
    let root = tree(&[
        ("sys/bus/event_source/devices/cpu_core/type", "4"),
        ("sys/bus/event_source/devices/cpu_core/cpus", "0-7"),
        ("sys/bus/event_source/devices/cpu_atom/type", "10"),
        ("sys/bus/event_source/devices/cpu_atom/cpus", "8-15"),
    ]);
    assert_eq!(
        of(&look(root.path()), "counters").found,
        ["the kernel shows a device for them (cpu_atom of CPUs 8-15; cpu_core of CPUs 0-7); they were not tried"]
    );
}

#[test]
fn a_laptop_with_all_of_it_lacks_nothing() {
    let root = laptop();
    let report = look(root.path());
    for area in ["affinity", "speeds", "idle", "meters", "counters", "paranoid", "rivals"] {
        let finding = of(&report, area);
        assert_eq!(
            (finding.state, finding.costs.len(), finding.mends.len()),
            (State::Yes, 0, 0),
            "{finding:?}"
        );
    }
    assert_eq!(report.usable(), ["affinity", "speeds", "meters"]);
    let speeds = &of(&report, "speeds").found;
    assert!(
        speeds[0].contains("acpi-cpufreq") && speeds[1] == "governors: ondemand schedutil",
        "{speeds:?}"
    );
    assert!(speeds[2].contains("'sudo lop doctor --try'"), "{speeds:?}");
    assert_eq!(
        of(&report, "idle").found,
        ["driver intel_idle, governor menu: POLL, C1 (2 µs), C6 switched off"]
    );
    let meter = of(&report, "meters")
        .found
        .iter()
        .find(|line| line.starts_with("battery"))
        .unwrap();
    assert!(
        meter.contains("yes: battery BAT0 (power); whole system") && meter.contains("readable by everybody"),
        "{meter}"
    );
}

#[test]
fn an_empty_machine_can_do_nothing_and_everything_has_a_mend() {
    let root = tree(&[]);
    let report = look(root.path());
    assert!(report.usable().is_empty());
    let lacks = |finding: &&Finding| !["scheduler", "rivals"].contains(&finding.area);
    for finding in report.findings.iter().filter(lacks) {
        assert_eq!(finding.state, State::No, "{finding:?}");
        assert!(!finding.found.is_empty() && !finding.mends.is_empty(), "{finding:?}");
    }
    assert!(text(&report).starts_with("Nothing of this can be used here; 'lop simulate' works on any machine.\n"));
}

#[test]
fn what_is_there_in_part_says_what_that_costs() {
    let root = laptop();
    let change = |path: &str, text: &str| std::fs::write(root.path().join(path), text).unwrap();
    change("proc/sys/kernel/perf_event_paranoid", "2\n");
    change("sys/class/power_supply/BAT0/status", "Charging\n");
    change(&format!("{CPU}/cpuidle/current_driver"), "haltpoll\n");
    let report = look(root.path());
    for (area, state, found, mend) in [
        (
            "paranoid",
            State::Partly,
            "is 2: root may count",
            "sysctl kernel.perf_event_paranoid=0",
        ),
        ("idle", State::Partly, "haltpoll", "run there"),
        ("meters", State::No, "perf: no:", "perf: sudo modprobe rapl"),
    ] {
        let finding = of(&report, area);
        assert_eq!(finding.state, state, "{finding:?}");
        assert!(
            finding.found[0].contains(found) && finding.mends[0].contains(mend),
            "{finding:?}"
        );
        assert_eq!(finding.costs.len(), 1, "{finding:?}");
    }
    let battery = of(&report, "meters")
        .mends
        .iter()
        .find(|mend| mend.starts_with("battery"))
        .unwrap();
    assert!(battery.contains("unplug"), "{battery}");
}

#[test]
fn a_counter_that_begins_anew_says_how_long_one_may_look_away() {
    let found = Found {
        source: Source {
            kind: MeterKind::Powercap,
            name: "powercap package-0".into(),
            whole_system: false,
            update_period: Some(Duration::from_millis(1)),
            only_ratios: false,
        },
        permission: "root".into(),
        wraps: Some(Wraps {
            after: Duration::from_millis(131_065),
            most_w: 500.0,
            read_every: Duration::from_millis(13_107),
        }),
    };
    assert_eq!(
        checks::meters(&[Ok(found.clone())]).found,
        ["powercap: yes: powercap package-0; processor, new every 1 ms, readable by root; at its most, 500 W, a counter begins anew after \
          131 s, so it is read every 13.1 s"]
    );
    let json = meter_json(MeterKind::Powercap, &Ok(found));
    assert_eq!(json["wraps_after_s"], 131.065);
}

/// A missing meter is not reported as one that needs root.
#[test]
fn the_right_to_count_costs_what_there_is_to_count() {
    for (level, power, costs) in [
        ("2", false, 1),
        ("2", true, 2),
        ("1", false, 1),
        ("4", false, 2),
        ("4", true, 3),
    ] {
        let root = tree(&[("proc/sys/kernel/perf_event_paranoid", level)]);
        if power {
            std::fs::create_dir_all(root.path().join("sys/bus/event_source/devices/power")).unwrap();
        }
        let finding = checks::paranoid(root.path());
        assert_eq!(
            (finding.state, finding.costs.len()),
            (State::Partly, costs),
            "{finding:?}"
        );
        assert_eq!(
            finding.costs.iter().any(|cost| cost.contains("meter perf")),
            power,
            "{finding:?}"
        );
    }
}

#[test]
fn text_is_as_wide_as_a_terminal_but_for_what_is_to_be_copied() {
    for root in [laptop(), tree(&[])] {
        let text = text(&look(root.path()));
        let shown = root.path().display().to_string();
        for line in text.lines().filter(|line| !line.contains(&shown)) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(
            text.contains("\nno      scheduling in the kernel\n        none\n"),
            "{text}"
        );
    }
}

#[test]
fn speeds_that_were_tried_and_ignored_are_of_no_use_and_a_boot_has_its_command() {
    let root = laptop();
    std::fs::create_dir_all(root.path().join("etc")).unwrap();
    std::fs::write(root.path().join("etc/os-release"), "ID=fedora\n").unwrap();
    std::fs::write(root.path().join("proc/cpuinfo"), "flags: hwp\n").unwrap();
    let mut report = look(root.path());
    assert_eq!(report.json()["speed_trial"], Value::Null);
    let at = |asked_khz| Seen {
        asked_khz,
        shown_khz: None,
        work: 1.0,
    };
    let outcome = Outcome {
        verdict: Verdict::Ignored,
        alone: Compared {
            low: at(800_000),
            high: at(2_400_000),
        },
        together: None,
    };
    let kind = TriedKind {
        cpus: vec![0, 1],
        cpu: 0,
        driver: "acpi-cpufreq".into(),
        outcome: Ok(outcome),
    };
    report.add_trial(
        root.path(),
        Ok(Tried {
            kinds: vec![kind],
            notes: Vec::new(),
        }),
    );
    assert_eq!(report.usable(), ["affinity", "meters"]);
    let speeds = of(&report, "speeds");
    assert_eq!(
        speeds.commands,
        ["sudo grubby --update-kernel=ALL --args=intel_pstate=active"]
    );
    assert!(!speeds.found.iter().any(|line| line.contains("--try")), "{speeds:?}");
    assert_eq!(report.json()["speed_trial"]["kinds"][0]["verdict"], "ignored");
}

#[test]
fn json_has_findings_and_every_meter() {
    let json = look(laptop().path()).json();
    assert_eq!(json["usable"], json!(["affinity", "speeds", "meters"]));
    assert_eq!(json["machine"]["cpus"].as_array().unwrap().len(), 2);
    assert_eq!(json["findings"][1]["state"], "yes");
    let meters = json["meters"].as_array().unwrap();
    assert_eq!(meters.len(), 8);
    assert_eq!(
        (&meters[3]["kind"], &meters[3]["usable"]),
        (&json!("battery"), &json!(true))
    );
    assert_eq!(meters[3]["update_period_s"], Value::Null);
    assert!(meters[0]["mend"].as_str().unwrap().contains("modprobe"));
    assert!(look(tree(&[]).path()).json()["machine"]["error"].is_string());
}

/// The kernel keeps 15 characters of a name. Kernel threads and this program are not rivals.
#[test]
fn who_else_places_work_or_sets_speeds_is_named_with_what_ends_it() {
    let root = tree(&[
        ("proc/1/comm", "systemd"),
        ("proc/77/comm", "scx_loader"),
        ("proc/78/comm", "power-profiles-"),
        ("proc/79/comm", "lop"),
        ("proc/sys/kernel/osrelease", "6.18.0"),
        ("run/tlp/last_pwr", "0"),
    ]);
    let finding = of(&look(root.path()), "rivals").clone();
    assert_eq!(finding.state, State::Partly);
    assert_eq!(
        finding.mends,
        [
            "sudo systemctl stop scx_loader.service",
            "sudo systemctl stop power-profiles-daemon.service",
            "sudo systemctl stop tlp.service"
        ]
    );
    assert_eq!((finding.found.len(), finding.costs.len()), (3, 1), "{finding:?}");
    std::fs::write(root.path().join("proc/77/comm"), "scx_lavd\n").unwrap();
    assert!(rivals::rivals(root.path()).found[0].starts_with("a sched_ext scheduler: "));
}

#[test]
fn isolated_cpus_are_named() {
    let root = laptop();
    let told = |root: &TempDir| of(&look(root.path()), "affinity").found.join("\n");
    assert!(!told(&root).contains("isolated"));
    std::fs::create_dir_all(root.path().join("sys/fs/cgroup")).unwrap();
    std::fs::write(root.path().join("sys/fs/cgroup/cpuset.cpus.isolated"), "1\n").unwrap();
    assert!(told(&root).contains("isolated: CPUs 1,"), "{}", told(&root));
}
