// SPDX-License-Identifier: GPL-2.0-only
//! The process tree of a shell on this machine, really restricted to CPUs. Needs two CPUs; with one there is nothing to choose.
//! The shell polls until it has what it should have, so that a busy machine may be late.

use lop_agent::{Affinity, AgentError, Cpus, Options, Report};
use lop_machine::intensity::Intensities;
use lop_policy::{Named, PolicyName};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// `await NAME COUNT` is busy until it may use that many CPUs, or until its patience ends (a minute and more), and then reports how many it has.
/// `apart PROCESS` does the same until both may use one CPU each, and different ones.
const SCRIPT: &str = r#"
of() { while read -r name list; do case $name in Cpus_allowed_list:) cpus=$list;; esac; done < /proc/$1/status; }
own() { of self; }
count() { n=0; IFS=,; for part in $1; do n=$((n + ${part#*-} - ${part%-*} + 1)); done; unset IFS; }
await() { left=300000; own; count "$cpus"; while [ $n -ne $2 ] && [ $left -gt 0 ]; do left=$((left - 1)); own; count "$cpus"; done
  echo "$1 $cpus" > "$1.new"; mv "$1.new" "$1"; }
apart() { left=100000; while [ $left -gt 0 ]; do left=$((left - 1)); of $1; other=$cpus; own
  case $other,$cpus in *-*|*,*,*|$cpus,$other) ;; *) break;; esac; done; echo "$other $cpus" > apart; }
"#;

struct Ran {
    code: Option<i32>,
    report: Report,
    folder: TempDir,
}

/// The CPUs that this process may use; there must be two or more, regardless of CPU quotas.
fn needs_two_cpus() -> Cpus {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let cpus = Cpus::parse(list.expect("a list of CPUs")).unwrap();
    assert!(cpus.iter().count() >= 2, "needs two CPUs, may use only {cpus}");
    cpus
}

fn options(folder: &TempDir, rules: PolicyName) -> Options {
    Options {
        run_dir: Some(folder.path().join("run")),
        tell: |sentence| panic!("{sentence}"),
        ..Options::new(rules)
    }
}

fn shell(folder: &TempDir, script: &str) -> Command {
    let mut command = Command::new("sh");
    std::fs::write(folder.path().join("await.sh"), SCRIPT).unwrap();
    let script = format!(". ./await.sh\n{script}");
    command.args(["-c", &script]).current_dir(folder.path());
    command
}

fn run(rules: PolicyName, script: &str) -> Ran {
    needs_two_cpus();
    let folder = tempfile::tempdir().unwrap();
    let mut affinity = Affinity::new(options(&folder, rules)).unwrap();
    let status = affinity.run(shell(&folder, script)).unwrap();
    Ran {
        code: status.code(),
        report: affinity.report(),
        folder,
    }
}

/// How many CPUs `await` reported.
fn count(folder: &TempDir, name: &str) -> usize {
    let told = std::fs::read_to_string(folder.path().join(name)).unwrap();
    let list = told.strip_prefix(name).unwrap();
    Cpus::parse(list).unwrap().iter().count()
}

#[test]
fn a_busy_thread_has_one_cpu_and_a_second_one_brings_another() {
    let ran = run(
        Named::Highlow.into(),
        "await one 1; (while :; do :; done) & await two 2; kill $!; wait; exit 5",
    );
    assert_eq!(ran.code, Some(5));
    assert_eq!((count(&ran.folder, "one"), count(&ran.folder, "two")), (1, 2));
}

/// With the spare there are always two CPUs, so nothing changes to wait for: the loop gives the first look its time.
#[test]
fn a_spare_is_kept_for_what_comes_next() {
    let script = "n=0; while [ $n -lt 300000 ]; do n=$((n + 1)); done; await two 2";
    let ran = run(Named::HighlowSpare.into(), script);
    assert_eq!(count(&ran.folder, "two"), 2);
    assert!(ran.report.looks > 0, "{:?}", ran.report);
}

/// Orphans are followed, and whatever is alive at the end has its CPUs back.
#[test]
fn a_background_process_is_followed_and_freed_at_the_end() {
    let script = "(sh -c '. ./await.sh; await orphan 1; while [ -e orphan ] && [ ! -e ended ]; do sleep 0.05; done; own; echo \"after $cpus\" > new; mv new after' &)
        while [ ! -e orphan ]; do sleep 0.05; done; exit 3";
    let ran = run(Named::Highlow.into(), script);
    assert_eq!((ran.code, count(&ran.folder, "orphan")), (Some(3), 1));
    std::fs::write(ran.folder.path().join("ended"), "").unwrap();
    let end = Instant::now() + Duration::from_secs(600);
    while !ran.folder.path().join("after").exists() {
        assert!(Instant::now() < end, "it does not end");
        std::thread::sleep(Duration::from_millis(25));
    }
    assert!(count(&ran.folder, "after") > 1);
}

/// As if each of two CPUs had its own last-level cache: once planned, two busy processes that a recording knows have one CPU each, but not before.
#[test]
fn spread_gives_two_busy_processes_a_memory_domain_each() {
    let two: Cpus = needs_two_cpus().iter().take(2).collect();
    let (root, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink("/proc", root.path().join("proc")).unwrap();
    let write = |file: String, text: &str| {
        let path = root.path().join("sys/devices/system/cpu").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    };
    for file in ["present", "online"] {
        write(file.into(), &two.to_string());
    }
    for cpu in two.iter() {
        let cache = format!("cpu{cpu}/cache/index0");
        write(format!("{cache}/level"), "3");
        write(format!("{cache}/type"), "Unified");
        write(format!("{cache}/shared_cpu_list"), &cpu.to_string());
    }
    let recording = "sh-1,20,,cache-misses,1,100,,\nsh-1,1000,,instructions,1,100,,\n";
    let mut affinity = Affinity::new(Options {
        root: root.path().to_path_buf(),
        intensity: Some(Arc::new(Intensities::parse("recording", recording).unwrap())),
        ..options(&folder, Named::Spread.into())
    })
    .unwrap();
    assert!(affinity.plans_by().unwrap().contains("declared ("));
    let script = "(while [ ! -e apart ]; do :; done) & apart $!; wait";
    affinity.run(shell(&folder, script)).unwrap();
    let told = std::fs::read_to_string(folder.path().join("apart")).unwrap();
    let mut found: Vec<u32> = told.split_whitespace().filter_map(|cpu| cpu.parse().ok()).collect();
    found.sort_unstable();
    assert_eq!(found, two.iter().collect::<Vec<_>>(), "{told}");
}

/// A zombie whose living parent never reaps it is no reason to look again at once, and need not be waited for.
#[test]
fn children_that_nobody_asks_for_are_left_alone() {
    let ran = run(Named::Highlow.into(), "true & sh -c 'exit 3' & exec sleep 1");
    assert_eq!(ran.code, Some(0));
    let looks_at_most = ran.report.wall.as_millis() as u64 / 10 + 2;
    assert!((1..looks_at_most).contains(&ran.report.looks), "{:?}", ran.report);
}

/// A tree like this machine's, with only this process in `proc`.
fn fake_root() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let cpu = root.path().join("sys/devices/system/cpu");
    std::fs::create_dir_all(&cpu).unwrap();
    std::fs::create_dir(root.path().join("proc")).unwrap();
    for file in ["present", "online"] {
        std::fs::write(cpu.join(file), "0-1\n").unwrap();
    }
    root
}

#[test]
fn where_children_are_not_named_the_command_is_not_run() {
    let (root, folder) = (fake_root(), tempfile::tempdir().unwrap());
    let mut affinity = Affinity::new(Options {
        root: root.path().to_path_buf(),
        ..options(&folder, Named::Highlow.into())
    })
    .unwrap();
    let error = affinity.run(shell(&folder, "echo > ran")).unwrap_err();
    assert!(matches!(error, AgentError::Setup(_)), "{error}");
    let error = error.to_string();
    assert!(
        error.contains("children: ") && error.contains("CONFIG_PROC_CHILDREN"),
        "{error}"
    );
    assert!(!folder.path().join("ran").exists());
    assert_eq!(
        std::fs::read_dir(folder.path().join("run")).unwrap().count(),
        0,
        "nothing is left"
    );
}

static TOLD: Mutex<String> = Mutex::new(String::new());

/// If something cannot be read while the command runs, this is reported and the command goes on.
#[test]
fn a_command_that_cannot_be_followed_any_more_goes_on_and_that_is_said() {
    let (root, folder) = (fake_root(), tempfile::tempdir().unwrap());
    let own = std::process::id().to_string();
    let proc = root.path().join("proc");
    std::os::unix::fs::symlink(Path::new("/proc").join(&own), proc.join(&own)).unwrap();
    // It can be opened but not read.
    std::fs::create_dir(proc.join("loadavg")).unwrap();
    let mut affinity = Affinity::new(Options {
        root: root.path().to_path_buf(),
        tell: |sentence| TOLD.lock().unwrap().push_str(sentence),
        ..options(&folder, Named::Highlow.into())
    })
    .unwrap();
    assert_eq!(
        affinity.run(shell(&folder, "sleep 0.2; exit 4")).unwrap().code(),
        Some(4)
    );
    let told = TOLD.lock().unwrap();
    assert!(told.contains("no longer restricted to CPUs"), "{told}");
}
