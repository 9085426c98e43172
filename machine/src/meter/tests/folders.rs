// SPDX-License-Identifier: MIT OR Apache-2.0
//! Meters on folders that look like a machine, with real files and programs.

use crate::meter::{find, find_with, open, MeterKind, Setup};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(root.path(), path, text);
    }
    root
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Another process writes it. If it were open for writing here, a process that another test starts at that moment would inherit it, and the
/// kernel runs no file that is open for writing.
fn program(root: &Path, path: &str, text: &str) {
    write(root, path, "");
    let line = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line]).arg(root.join(path)).arg(text);
    assert!(shell.status().unwrap().success());
}

fn setup(root: &TempDir) -> Setup {
    Setup {
        root: root.path().to_path_buf(),
        ..Setup::default()
    }
}

#[test]
fn an_empty_machine_has_none() {
    let root = tree(&[]);
    let found = find(root.path());
    assert_eq!(found.len(), MeterKind::ALL.len());
    for (kind, result) in MeterKind::ALL.into_iter().zip(found) {
        assert_eq!(result.unwrap_err().kind, kind);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let root = tree(&[("sys/class/powercap/intel-rapl:0/name", "package-0\n")]);
    std::fs::create_dir_all(root.path().join("sys/class/powercap/intel-rapl:0/max_energy_range_uj")).unwrap();
    let error = find(root.path()).remove(1).unwrap_err();
    assert!(
        error.what.ends_with("intel-rapl:0/max_energy_range_uj") && error.reason.contains("not a regular file"),
        "{error}"
    );
}

#[test]
fn a_zone_is_read_while_it_counts() {
    let root = tree(&[
        ("sys/class/powercap/intel-rapl:0/name", "package-0\n"),
        ("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n"),
        ("sys/class/powercap/intel-rapl:0/energy_uj", "0\n"),
    ]);
    let (ends, begin) = (AtomicBool::new(false), Instant::now());
    // The upper and the lower bound of what the file shows.
    let (at_most, at_least) = (AtomicU64::new(0), AtomicU64::new(0));
    let file = root.path().join("sys/class/powercap/intel-rapl:0/energy_uj");
    let next = root.path().join("next");
    // Replaced as a whole, so that no reader sees half of it.
    let count = || {
        while !ends.load(Ordering::SeqCst) && begin.elapsed() < Duration::from_secs(600) {
            let uj = begin.elapsed().as_micros() as u64 * 10;
            std::fs::write(&next, format!("{uj}\n")).unwrap();
            at_most.store(uj, Ordering::SeqCst);
            std::fs::rename(&next, &file).unwrap();
            at_least.store(uj, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(count);
        // If the counting thread gets no CPU for two seconds, as on a busy machine, the counter stands still.
        let meter = loop {
            match open(Some(MeterKind::Powercap), &setup(&root)) {
                Ok(meter) => break meter,
                Err(errors) => assert!(errors[0].reason.contains("stands still"), "{}", errors[0]),
            }
        };
        let first = at_least.load(Ordering::SeqCst);
        let before_uj = meter.total_uj().unwrap();
        let first = first..=at_most.load(Ordering::SeqCst);
        while at_least.load(Ordering::SeqCst) < first.end() + 1_000_000 {
            assert!(begin.elapsed() < Duration::from_secs(600), "nobody counts");
            std::thread::sleep(Duration::from_millis(5));
        }
        let last = at_least.load(Ordering::SeqCst);
        let used_uj = meter.used_since_uj(before_uj).unwrap();
        let last = last..=at_most.load(Ordering::SeqCst);
        ends.store(true, Ordering::SeqCst);
        let between = last.start() - first.end()..=last.end() - first.start();
        assert!(between.contains(&used_uj), "{used_uj} uJ, expected {between:?}");
    });
}

/// Repeats a call that timed out, as it may on a busy machine.
fn in_time<T, E: std::fmt::Display>(asked: impl Fn() -> Result<T, E>) -> Result<T, E> {
    loop {
        match asked() {
            Err(error) if error.to_string().contains("no answer within") => {}
            said => return said,
        }
    }
}

#[test]
fn a_server_is_asked_by_its_own_tool() {
    let root = tree(&[("dev/ipmi0", "")]);
    let reading =
        "#!/bin/sh\n[ \"$*\" = 'dcmi power reading' ] || exit 9\necho '  Instantaneous power reading:   120 Watts'\n";
    program(root.path(), "usr/bin/ipmitool", reading);
    let found = in_time(|| find(root.path()).remove(4)).unwrap();
    assert_eq!(found.source.name, "ipmi system power by ipmitool");
    assert!(found.source.whole_system);
}

#[test]
fn a_command_is_run_by_the_shell_and_ended_in_time() {
    let once = |command: &str| {
        let setup = Setup {
            command: Some(command.into()),
            ..Setup::default()
        };
        open(Some(MeterKind::Command), &setup).map_err(|errors| errors[0].to_string())
    };
    let with = |command: &str| in_time(|| once(command));
    let meter = with("echo $((40 + 2)) W").unwrap();
    assert_eq!(meter.source().name, "command 'echo $((40 + 2)) W'");
    for (command, reason) in [
        ("echo 3 W; echo 4 W", "expected one line"),
        ("echo oh >&2; exit 4", "exit code 4: oh"),
        ("kill -9 $$", "ended by a signal"),
        ("no-such-meter-anywhere", "exit code 127"),
    ] {
        let error = with(command).err().unwrap();
        assert!(error.contains(reason), "{command}: {error}");
    }
    // The child of the shell holds the pipe, and must not be waited for.
    let root = tree(&[]);
    let waited = root.path().join("waited");
    let error = once(&format!("(sleep 600; echo > '{}'); echo 3 W", waited.display()))
        .err()
        .unwrap();
    assert!(error.contains("no answer within 5 s"), "{error}");
    assert!(!waited.exists());
}

#[test]
fn a_laptop_has_a_battery_and_a_model_makes_any_machine_modelled() {
    let root = tree(&[
        ("sys/class/power_supply/BAT0/type", "Battery\n"),
        ("sys/class/power_supply/BAT0/status", "Discharging\n"),
        ("sys/class/power_supply/BAT0/power_now", "8000000\n"),
        ("proc/stat", "cpu  1 1 1 1\ncpu0 100 0 0 100\n"),
    ]);
    let setup = Setup {
        model: Some(crate::load("phenom-9750", &[]).unwrap()),
        ..setup(&root)
    };
    let found = find_with(&setup);
    assert_eq!(found[3].as_ref().unwrap().source.name, "battery BAT0 (power)");
    assert!(found[6]
        .as_ref()
        .unwrap()
        .source
        .name
        .contains("1 of its 4 CPUs in use"));
}

#[test]
fn this_machine_can_be_modelled() {
    let setup = Setup {
        model: Some(crate::load("server-2x64", &[]).unwrap()),
        ..Setup::default()
    };
    let meter = open(Some(MeterKind::Modelled), &setup).unwrap();
    let before_uj = meter.total_uj().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(
        meter.used_since_uj(before_uj).unwrap() > 1_000_000,
        "more than 1 J in 0.3 s by a server's model"
    );
}
