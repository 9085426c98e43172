// SPDX-License-Identifier: GPL-2.0-only
//! `lop compare` with policies that are put in force from user space. Needs two CPUs: of one there is nothing to take.

use super::*;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// `own`: the CPUs that this shell may use. `bound`: busy until that is one CPU, or until its patience ends.
const SHELL: &str = r#"
own() { while read -r name list; do case $name in Cpus_allowed_list:) cpus=$list;; esac; done < /proc/self/status; }
bound() { left=300000; own; while [ $left -gt 0 ]; do case $cpus in *[-,]*) ;; *) return;; esac; left=$((left - 1)); own; done; }
"#;

const PATIENCE: Duration = Duration::from_secs(600);

/// This machine with a kernel that takes no schedulers.
fn without_sched_ext(folder: &Path) -> PathBuf {
    let root = folder.join("root");
    std::fs::create_dir_all(root.join("sys/kernel")).unwrap();
    std::os::unix::fs::symlink("/proc", root.join("proc")).unwrap();
    std::os::unix::fs::symlink("/sys/devices", root.join("sys/devices")).unwrap();
    root
}

fn compare(folder: &Path, arguments: &[&str], script: &str) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("lop"));
    command
        .args(["compare", "--meter", "none", "--run-dir", "run"])
        .args(arguments)
        .args(["--", "sh", "-c", &format!("{SHELL}{script}")])
        .env("XDG_STATE_HOME", folder.join("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .current_dir(folder);
    command
}

fn ran(mut command: Command) -> Answer {
    answered(&command.output().unwrap())
}

fn cpus_of(pid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap().trim().to_string()
}

/// All CPUs of this process, two or more.
fn all_cpus() -> String {
    let all = cpus_of(std::process::id());
    assert!(all.parse::<u32>().is_err(), "needs two CPUs, may use only {all}");
    all
}

#[test]
fn each_run_is_bound_under_the_policies_that_are_not_linux_and_said_by_whom_and_why() {
    let (folder, all) = (folder(), all_cpus());
    without_sched_ext(folder.path());
    let script = r#"own; [ -z "$LOP_HINT_DIR" ] || bound; echo "${LOP_HINT_DIR:+enforced} $cpus" >> seen"#;
    let options = ["--policy", "linux,highlow", "--runs", "3", "--root", "root"];
    let text = ran(compare(folder.path(), &options, script));
    assert_eq!((text.code, text.stderr.as_str()), (0, ""), "{}", text.stdout);
    let seen = std::fs::read_to_string(folder.path().join("seen")).unwrap();
    let (bound, free): (Vec<&str>, Vec<&str>) = seen.lines().partition(|line| line.starts_with("enforced "));
    let untouched = free.iter().all(|line| *line == format!(" {all}"));
    assert!(free.len() == 3 && untouched, "linux is what it was: {seen}");
    let one = |line: &&str| line.split_once(' ').unwrap().1.parse::<u32>().is_ok();
    assert!(
        bound.len() == 3 && bound.iter().all(one),
        "one busy thread has one CPU: {seen}"
    );
    let json = ran(compare(
        folder.path(),
        &[&options[..], &["--format", "json", "--journal", "journal"]].concat(),
        "true",
    ));
    let journal = std::fs::read_to_string(folder.path().join("journal")).unwrap();
    assert!(journal.contains(r#""reactions_s":{"highlow":0.05}"#), "{journal}");
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    for said in [text.stdout.as_str(), json["enforcement"].as_str().unwrap()] {
        for part in ["affinity of the command's threads", "sched_ext", "10 ms or more"] {
            let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains(part), "no '{part}' in: {said}");
        }
    }
    assert_eq!(files_in(&folder.path().join("run")), Vec::<String>::new());
}

#[test]
fn a_policy_that_no_way_here_can_enforce_is_refused_before_anything_runs() {
    let folder = folder();
    without_sched_ext(folder.path());
    for (policy, way, expected) in [
        ("linux,gather", &[][..], "gather has nothing to choose from"),
        ("linux,highlow", &["--enforce", "kernel"], "sched_ext"),
        ("linux,spread", &["--enforce", "affinity"], "one memory domain"),
        ("linux,simple-sets:9999", &[], "expected at most that many"),
    ] {
        let options = [&["--policy", policy, "--root", "root"], way].concat();
        let answer = ran(compare(folder.path(), &options, "touch ran"));
        let wrong_usage = policy.contains("9999");
        assert_eq!(answer.code, if wrong_usage { 2 } else { 1 }, "{policy} {way:?}");
        let (message, _) = (answer.stderr.as_str(), way);
        assert!(message.contains(expected) && message.contains("policy"), "{message}");
    }
    assert!(!folder.path().join("ran").exists());
}

/// Ends what it started, also when a test fails.
struct Ending(Option<Child>, Option<u32>);

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
        let pid = self.1.and_then(|pid| rustix::process::Pid::from_raw(pid as i32));
        if let Some(pid) = pid {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// Begins a comparison whose fifth command stays, restricted to one CPU; comes back with it and the command's process.
fn begun(folder: &Path) -> (Ending, u32) {
    let script = "echo >> count; [ $(wc -l < count) -lt 5 ] || { echo $$ > pid; mv pid ready; while :; do :; done; }";
    let options = ["--policy", "highlow", "--enforce", "affinity", "--runs", "50"];
    let mut compare = Ending(Some(compare(folder, &options, script).spawn().unwrap()), None);
    let pid = within(PATIENCE, || {
        std::fs::read_to_string(folder.join("ready")).ok()?.trim().parse().ok()
    });
    compare.1 = Some(pid);
    within(PATIENCE, || cpus_of(pid).parse::<u32>().ok());
    (compare, pid)
}

#[test]
fn interrupted_half_way_it_ends_the_command_and_prints_what_was_measured() {
    let folder = folder();
    all_cpus();
    let (mut compare, command) = begun(folder.path());
    let child = compare.0.take().unwrap();
    signal(child.id(), rustix::process::Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("4 rounds") && text.contains("interrupted by signal 15: 4 runs"),
        "{text}"
    );
    assert!(
        !Path::new(&format!("/proc/{command}")).exists(),
        "the command was ended"
    );
    assert_eq!(files_in(&folder.path().join("run")), Vec::<String>::new());
}

#[test]
fn after_a_kill_the_journal_has_the_runs_and_restore_gives_the_cpus_back() {
    let (folder, all) = (folder(), all_cpus());
    let (mut compare, command) = begun(folder.path());
    let mut child = compare.0.take().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(cpus_of(command).parse::<u32>().is_ok(), "it goes on as it was");
    let restored = good(folder.path(), &["restore", "--run-dir", "run"]).stdout;
    assert!(restored.contains("have all their CPUs back: 1"), "{restored}");
    assert_eq!(cpus_of(command), all);
    let journals = folder.path().join("state/lopsided");
    let journal = journals.join(&files_in(&journals)[0]);
    let shown = good(folder.path(), &["compare", "--show", journal.to_str().unwrap()]).stdout;
    assert!(shown.contains("4 rounds"), "{shown}");
}
