// SPDX-License-Identifier: GPL-2.0-only
//! `lop agent --node` as the program that starts it does, on a tree with two memory domains and a pod.

use super::*;
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Stdio};

const POD: &str = "kubepods.slice/kubepods-pod1.slice";

fn machine() -> TempDir {
    let machine = folder();
    let pod = format!("cg/{POD}/cpuset.cpus");
    let mut files = vec![
        ("proc/self/mountinfo".into(), "42 24 0:39 / /cg rw - cgroup2 cgroup2 rw"),
        ("cg/cgroup.controllers".into(), "cpuset cpu"),
        ("cg/kubepods.slice/cpuset.cpus.effective".into(), "0-3"),
        (pod, ""),
        ("sys/devices/system/cpu/present".into(), "0-3"),
        ("sys/devices/system/cpu/online".into(), "0-3"),
    ];
    for cpu in 0..4 {
        let cache = |file: &str| format!("sys/devices/system/cpu/cpu{cpu}/cache/index0/{file}");
        let shared = if cpu < 2 { "0-1" } else { "2-3" };
        files.extend([
            (cache("level"), "3"),
            (cache("type"), "Unified"),
            (cache("shared_cpu_list"), shared),
        ]);
    }
    for (file, text) in files {
        let path = machine.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }
    machine
}

fn cpus(machine: &TempDir) -> String {
    std::fs::read_to_string(machine.path().join("cg").join(POD).join("cpuset.cpus")).unwrap()
}

struct Agent {
    child: Child,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Agent {
    fn begin(machine: &TempDir) -> Self {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "ulimit -Sn 99 && exec \"$0\" agent --node --run-dir run --root ."])
            .arg(assert_cmd::cargo::cargo_bin("lop"))
            .current_dir(machine.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, answers }
    }

    fn ask(&mut self, request: &str) -> Value {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{request}\n").as_bytes()).unwrap();
        serde_json::from_str(&self.answers.next().unwrap().unwrap()).unwrap()
    }

    /// With the pod in memory domain 1.
    fn confined(machine: &TempDir) -> Self {
        let mut agent = Self::begin(machine);
        let answer = agent.ask(&serde_json::json!({"confine": {POD: 1}}).to_string());
        assert_eq!(
            answer,
            serde_json::json!({"domains": ["0-1", "2-3"], "cgroups": "./cg", "counted": {}, "left": {}})
        );
        assert_eq!(cpus(machine), "2-3\n");
        agent
    }

    /// Its exit code, and what it said.
    fn ends(mut self) -> (Option<i32>, String) {
        drop(self.child.stdin.take());
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn however_it_ends_the_cgroups_have_their_cpus_back() {
    let machine = machine();
    assert_eq!(Agent::confined(&machine).ends(), (Some(0), String::new()));
    assert_eq!(cpus(&machine), "\n");

    let agent = Agent::confined(&machine);
    signal(agent.child.id(), Signal::TERM);
    let mut agent = agent;
    assert_eq!(agent.child.wait().unwrap().code(), Some(0));
    assert_eq!(cpus(&machine), "\n");

    let mut agent = Agent::confined(&machine);
    agent
        .child
        .stdin
        .as_mut()
        .unwrap()
        .write_all(b"{\"confine\": 3}\n")
        .unwrap();
    let (code, said) = agent.ends();
    assert_eq!(code, Some(2));
    assert!(
        said.starts_with("lop: standard input:2: invalid type: integer `3`, expected a map"),
        "{said}"
    );
    assert_eq!(cpus(&machine), "\n");
}

#[test]
fn after_kill_9_restore_or_the_next_start_gives_them_back() {
    let machine = machine();
    let killed = || {
        let mut agent = Agent::confined(&machine);
        agent.child.kill().unwrap();
        agent.child.wait().unwrap();
        assert_eq!(cpus(&machine), "2-3\n");
    };
    let restore = || good(machine.path(), &["restore", "--run-dir", "run", "--root", "."]).stdout;
    killed();
    assert_eq!(restore(), "cgroups that have all their CPUs back: 1\n");
    assert_eq!(cpus(&machine), "\n");
    assert!(restore().starts_with("nothing to restore"));

    killed();
    let mut next = Agent::begin(&machine);
    next.ask("{}");
    assert_eq!(cpus(&machine), "\n");
    // One that runs needs no help, and no second one.
    next.ask(&serde_json::json!({"confine": {POD: 0}}).to_string());
    assert!(restore().starts_with("nothing to restore"));
    assert_eq!(cpus(&machine), "0-1\n");
    let (code, said) = Agent::begin(&machine).ends();
    assert_eq!(
        (code, said.as_str()),
        (Some(1), "lop: run: another 'lop agent --node' runs\n")
    );
    next.ends();
    assert_eq!(cpus(&machine), "\n");
}

/// A pod whose cpuset.cpus cannot be read, parked CPUs, and a journal of speeds that makes no sense.
#[test]
fn restore_puts_back_what_it_can_and_says_all_that_it_cannot() {
    let machine = machine();
    let mut agent = Agent::confined(&machine);
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    let file = machine.path().join("cg").join(POD).join("cpuset.cpus");
    let away = machine.path().join("away");
    std::fs::rename(&file, &away).unwrap();
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let entry = serde_json::json!({"boot_id": boot_id.trim(), "switched_on": false});
    std::fs::write(machine.path().join("run/partition.journal"), entry.to_string()).unwrap();
    std::fs::write(machine.path().join("run/speeds.journal"), "nonsense\n").unwrap();
    let restore = || answer(machine.path(), &["restore", "--run-dir", "run", "--root", "."]);
    let first = restore();
    assert_eq!(first.code, 1);
    assert_eq!(
        first.stdout,
        "cgroups that have all their CPUs back: 0\nCPUs that were parked are open again\n"
    );
    assert!(
        first
            .stderr
            .starts_with(&format!("lop: ./cg/{POD}/cpuset.cpus: No such file"))
            && first.stderr.contains("\nlop: run/speeds.journal"),
        "{}",
        first.stderr
    );
    std::fs::rename(&away, &file).unwrap();
    std::fs::remove_file(machine.path().join("run/speeds.journal")).unwrap();
    assert_eq!(restore().stdout, "cgroups that have all their CPUs back: 1\n");
    assert_eq!(cpus(&machine), "\n");
}

/// Nor is an error told twice.
#[test]
fn one_that_cannot_be_restored_is_told_and_tried_again() {
    let machine = machine();
    let agent = Agent::confined(&machine);
    let file = machine.path().join("cg").join(POD).join("cpuset.cpus");
    std::fs::remove_file(&file).unwrap();
    let (code, said) = agent.ends();
    assert_eq!(code, Some(1));
    assert_eq!(
        said,
        format!("lop: ./cg/{POD}/cpuset.cpus: No such file or directory (os error 2)\nlop: hint: 'lop restore' tries again, as does the next 'lop agent --node'\n")
    );
    let mut next = Agent::begin(&machine);
    assert!(next.ask("{}")["left"][POD].as_str().unwrap().contains("No such file"));
    std::fs::write(&file, "2-3\n").unwrap();
    assert_eq!(next.ask("{}")["left"], serde_json::json!({}));
    assert_eq!(cpus(&machine), "\n");
    assert_eq!(next.ends(), (Some(0), String::new()));
}

/// Counters of cgroups are files, two for each CPU.
#[test]
fn it_may_open_as_many_files_as_the_hard_limit_lets_it() {
    let agent = Agent::confined(&machine());
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", agent.child.id())).unwrap();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let words: Vec<&str> = files.unwrap().split_whitespace().collect();
    assert!(words[0] == words[1] && words[0] != "99", "{words:?}");
}

#[test]
fn without_cpuset_it_says_what_to_do() {
    let machine = machine();
    std::fs::write(machine.path().join("cg/cgroup.controllers"), "memory\n").unwrap();
    let (code, said) = Agent::begin(&machine).ends();
    assert_eq!(code, Some(1));
    assert!(
        said.contains("cgroup.controllers has no cpuset ('memory'): ") && said.contains("cgroup_no_v1=cpuset"),
        "{said}"
    );
}
