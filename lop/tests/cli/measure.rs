// SPDX-License-Identifier: GPL-2.0-only
//! `lop machine measure` on a machine of one CPU (a fake tree), whose load runs on a CPU of this one. What is measured is this machine's affair.

use super::*;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Stdio};

/// The first CPU that this program may use.
fn own_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap();
    list.trim().split(['-', ',']).next().unwrap().to_string()
}

/// A machine with that CPU alone, which can print, and no frequency driver.
fn machine(folder: &Path) -> PathBuf {
    let cpus = folder.join("root/sys/devices/system/cpu");
    std::fs::create_dir_all(&cpus).unwrap();
    for file in ["present", "online"] {
        std::fs::write(cpus.join(file), own_cpu() + "\n").unwrap();
    }
    std::fs::create_dir_all(folder.join("root/bin")).unwrap();
    symlink("/bin/sh", folder.join("root/bin/sh")).unwrap();
    cpus
}

/// The folder of its cpufreq policy, with two operating points.
fn with_speeds(cpus: &Path) -> PathBuf {
    let policy = cpus.join("cpufreq/policy0");
    std::fs::create_dir_all(&policy).unwrap();
    for (file, text) in [
        ("affected_cpus", own_cpu().as_str()),
        ("related_cpus", own_cpu().as_str()),
        ("scaling_driver", "acpi-cpufreq"),
        ("scaling_governor", "schedutil"),
        ("scaling_available_frequencies", "2000000 1000000"),
        ("cpuinfo_min_freq", "1000000"),
        ("cpuinfo_max_freq", "2000000"),
        ("scaling_min_freq", "1000000"),
        ("scaling_max_freq", "2000000"),
    ] {
        std::fs::write(policy.join(file), format!("{text}\n")).unwrap();
    }
    let cpu = cpus.join(format!("cpu{}", own_cpu()));
    std::fs::create_dir_all(&cpu).unwrap();
    symlink("../cpufreq/policy0", cpu.join("cpufreq")).unwrap();
    policy
}

fn limits(policy: &Path) -> [String; 2] {
    ["scaling_min_freq", "scaling_max_freq"].map(|file| std::fs::read_to_string(policy.join(file)).unwrap())
}

const AS_FOUND: [&str; 2] = ["1000000\n", "2000000\n"];
const MEASURE: [&str; 6] = ["machine", "measure", "--root", "root", "--run-dir", "run"];

#[test]
fn a_machine_is_measured_as_a_person_types_it_and_its_file_is_kept() {
    let folder = folder();
    machine(folder.path());
    let options = ["--seconds", "0.2", "--meter-cmd", "echo 50 W", "-o", "mine.toml"];
    let measure = [&MEASURE[..], &options].concat();
    let measured = good(folder.path(), &measure);
    assert!(
        measured.stdout.contains("measured W") && measured.stdout.contains("rms residual: "),
        "{}",
        measured.stdout
    );
    assert!(
        measured
            .stderr
            .contains("cannot be set, so only its present point, 2000 MHz,"),
        "{}",
        measured.stderr
    );
    assert!(
        measured.stderr.contains("watts by command 'echo 50 W'"),
        "{}",
        measured.stderr
    );
    let shown = good(folder.path(), &["machine", "show", "./mine.toml"]).stdout;
    assert!(shown.starts_with("measured: as measured: 1 CPUs"), "{shown}");
    let again = answer(folder.path(), &measure);
    assert_eq!(again.code, 2);
    assert!(
        again.stderr.contains("exists already") && again.stderr.contains("--force"),
        "{}",
        again.stderr
    );
    good(folder.path(), &[&measure[..], &["--force"]].concat());
}

#[test]
fn each_point_is_measured_without_a_meter_and_limits_are_as_before() {
    let folder = folder();
    let policy = with_speeds(&machine(folder.path()));
    let options = ["--seconds", "0.05", "--meter", "none"];
    let measured = good(folder.path(), &[&MEASURE[..], &options].concat());
    let point = |mhz: &str| measured.stdout.lines().filter(|line| line.contains(mhz)).count();
    assert_eq!((point(" 1000.0 "), point(" 2000.0 ")), (2, 2), "{}", measured.stdout);
    assert!(!measured.stdout.contains("measured W"), "{}", measured.stdout);
    assert!(
        measured.stderr.contains("watts are assumed, those of phenom-9750"),
        "{}",
        measured.stderr
    );
    assert_eq!(limits(&policy), AS_FOUND);
    assert!(!folder.path().join("run/speeds.journal").exists());
}

#[test]
fn without_a_meter_the_machine_with_this_processor_lends_its_watts() {
    let folder = folder();
    machine(folder.path());
    let proc = folder.path().join("root/proc");
    std::fs::create_dir_all(&proc).unwrap();
    std::fs::write(proc.join("cpuinfo"), "model name\t: AMD EPYC 7763 64-Core Processor\n").unwrap();
    let options = ["--seconds", "0.05", "--meter", "none"];
    let measured = good(folder.path(), &[&MEASURE[..], &options].concat());
    assert!(
        measured.stderr.contains("watts are assumed, those of server-2x64"),
        "{}",
        measured.stderr
    );
}

/// Between operating points the driver would choose for itself.
#[test]
fn a_processor_that_chooses_speeds_is_held_at_each_point() {
    let folder = folder();
    let policy = with_speeds(&machine(folder.path()));
    for (file, text) in [
        ("scaling_driver", "intel_pstate"),
        ("scaling_governor", "powersave"),
        ("energy_performance_preference", "balance_performance"),
        ("energy_performance_available_preferences", "performance power"),
    ] {
        std::fs::write(policy.join(file), format!("{text}\n")).unwrap();
    }
    let options = ["--seconds", "0.05", "--meter", "none"];
    let measured = good(folder.path(), &[&MEASURE[..], &options].concat());
    assert!(measured.stdout.contains(" 1000.0 "), "{}", measured.stdout);
    assert!(!measured.stderr.contains("cannot be set"), "{}", measured.stderr);
    assert_eq!(limits(&policy), AS_FOUND);
}

/// Ends it whatever happens.
struct Measuring(Child);

impl Drop for Measuring {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn who_interrupts_a_measurement_gets_the_limits_back() {
    let folder = folder();
    let policy = with_speeds(&machine(folder.path()));
    let options = ["--seconds", "3600", "--meter", "none", "-o", "mine.toml"];
    let mut measuring = std::process::Command::new(assert_cmd::cargo::cargo_bin("lop"));
    measuring
        .current_dir(folder.path())
        .args(MEASURE)
        .args(options)
        .stderr(Stdio::piped());
    let mut measuring = Measuring(measuring.spawn().unwrap());
    within(Duration::from_secs(60), || {
        (limits(&policy)[1] == "1000000\n").then_some(())
    });
    signal(measuring.0.id(), rustix::process::Signal::INT);
    let status = measuring.0.wait().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(measuring.0.stderr.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(
        said.contains("interrupted; speeds are as before, nothing was written"),
        "{said}"
    );
    assert_eq!(limits(&policy), AS_FOUND);
    assert_eq!(files_in(&folder.path().join("run")), [""; 0]);
    assert!(!folder.path().join("mine.toml").exists());
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_is_measured() {
    let folder = folder();
    machine(folder.path());
    for (options, said) in [
        (["--seconds", "0"], "expected a number of seconds from 0.05 to 3600"),
        (["--meter", "modelled"], "measures nothing"),
        (["-o", "missing/mine.toml"], "there is no folder"),
        (["--watts-of", "nothing"], "'nothing': unknown machine"),
    ] {
        let refused = answer(folder.path(), &[&MEASURE[..], &options].concat());
        assert_eq!(refused.code, 2, "{options:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(said), "{options:?}: {}", refused.stderr);
    }
}
