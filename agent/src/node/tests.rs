// SPDX-License-Identifier: GPL-2.0-only
//! On folders that look like cgroups. What a person sees of `lop agent --node` is in lop/tests/cli/agent.rs.

use super::*;
use std::fs;

/// Eight CPUs in two memory domains, and two pods.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.put("proc/self/mountinfo", "42 24 0:39 / /cg rw - cgroup2 cgroup2 rw");
        machine.put("cg/cgroup.controllers", "cpuset");
        machine.put("sys/devices/system/cpu/present", "0-7");
        machine.put("sys/devices/system/cpu/online", "0-7");
        for cpu in 0..8 {
            let cache = format!("sys/devices/system/cpu/cpu{cpu}/cache/index0");
            machine.put(&format!("{cache}/level"), "3");
            machine.put(&format!("{cache}/type"), "Unified");
            machine.put(&format!("{cache}/shared_cpu_list"), if cpu < 4 { "0-3" } else { "4-7" });
        }
        machine.put("cg/pods/cpuset.cpus.effective", "0-7");
        for group in ["a", "a/box", "b"] {
            machine.put(&format!("cg/pods/{group}/cpuset.cpus"), "");
        }
        machine
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.0.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn set_of(&self, group: &str) -> String {
        fs::read_to_string(self.0.path().join("cg/pods").join(group).join("cpuset.cpus")).unwrap()
    }

    fn begin(&self) -> Node {
        Node::begin(self.0.path(), &self.0.path().join("run")).unwrap()
    }
}

/// What is left, by the last part of each cgroup's path.
fn ask(node: &mut Node, confine: &[(&str, usize)]) -> BTreeMap<String, String> {
    let confine = confine
        .iter()
        .map(|(group, domain)| (format!("pods/{group}"), *domain))
        .collect();
    let request = Request {
        confine,
        ..Request::default()
    };
    let answer = node.serve(&request).unwrap();
    let last = |group: String| group.trim_start_matches("pods/").to_string();
    answer.left.into_iter().map(|(group, why)| (last(group), why)).collect()
}

#[test]
fn a_request_replaces_the_one_before() {
    let machine = Machine::new();
    let mut node = machine.begin();
    assert!(ask(&mut node, &[("a", 0), ("b", 1)]).is_empty());
    assert_eq!(
        (machine.set_of("a"), machine.set_of("b")),
        ("0-3\n".into(), "4-7\n".into())
    );
    assert!(ask(&mut node, &[("a", 1)]).is_empty());
    assert_eq!(
        (machine.set_of("a"), machine.set_of("b")),
        ("4-7\n".into(), "\n".into())
    );
    drop(node);
    assert_eq!(
        (machine.set_of("a"), machine.set_of("a/box")),
        ("\n".into(), "\n".into())
    );
}

#[test]
fn cpus_that_somebody_else_chose_stay() {
    let machine = Machine::new();
    machine.put("cg/pods/b/cpuset.cpus", "2");
    let mut node = machine.begin();
    let left = ask(&mut node, &[("a", 0), ("b", 1)]);
    assert!(
        left["b"].contains("pods/b/cpuset.cpus to 2, as kubelet's static CPU manager does"),
        "{left:?}"
    );
    // Later, and below: then what was given is taken back, so that it does not narrow the other's choice.
    machine.put("cg/pods/a/box/cpuset.cpus", "6-7");
    let left = ask(&mut node, &[("a", 0), ("b", 1)]);
    assert!(left["a"].contains("pods/a/box/cpuset.cpus to 6-7"), "{left:?}");
    assert_eq!(machine.set_of("a"), "\n");
    machine.put("cg/pods/a/box/cpuset.cpus", "");
    assert!(ask(&mut node, &[("a", 0)]).is_empty());
    machine.put("cg/pods/a/cpuset.cpus", "5");
    assert_eq!(ask(&mut node, &[("a", 0)]).len(), 1);
    drop(node);
    assert_eq!(
        ["a", "b", "a/box"].map(|group| machine.set_of(group)),
        ["5\n", "2\n", "\n"]
    );
}

#[test]
fn what_cannot_be_is_told_and_nothing_is_written() {
    let machine = Machine::new();
    let mut node = machine.begin();
    machine.put("cg/pods/cpuset.cpus.effective", "0-5");
    for (group, domain, why) in [
        ("a", 2, "no memory domain 2: this machine has 2"),
        ("a", 1, "may use CPUs 0-5 only"),
        ("gone", 0, "gone/cpuset.cpus: No such file"),
        ("../a", 0, "expected the path of a cgroup below the mount point"),
    ] {
        let left = ask(&mut node, &[(group, domain)]);
        assert!(left[group].contains(why), "{left:?}");
        assert_eq!(machine.set_of("a"), "\n");
    }
}

/// One miss in 50 instructions each time it is read; says what is counted.
#[derive(Default)]
struct Fake(BTreeSet<PathBuf>);

impl CountsCgroups for Fake {
    fn read(&mut self, folder: &Path) -> Result<Option<Counts>, String> {
        let counts = Counts {
            misses: 1,
            instructions: 50,
        };
        match folder.exists() {
            true => Ok((!self.0.insert(folder.to_path_buf())).then_some(counts)),
            false => Err("it is not there".into()),
        }
    }

    fn keep(&mut self, wanted: &dyn Fn(&Path) -> bool) {
        self.0.retain(|folder| wanted(folder));
    }
}

#[test]
fn a_cgroup_is_counted_from_one_request_to_the_next() {
    let machine = Machine::new();
    let mut node = machine.begin();
    node.counters = Box::new(Fake::default());
    let mut count = |groups: &[&str]| {
        let count = groups.iter().map(ToString::to_string).collect();
        let request = Request {
            count,
            ..Request::default()
        };
        let answer = node.serve(&request).unwrap();
        let counted = answer.counted.into_iter();
        let counted: Vec<_> = counted.map(|(group, of)| (group, of.misses, of.instructions)).collect();
        (counted, answer.left)
    };
    assert_eq!(count(&["pods/a"]).0, []);
    assert_eq!(count(&["pods/a", "pods/b"]).0, [("pods/a".to_string(), 1, 50)]);
    assert_eq!(count(&["pods/b"]).0, [("pods/b".to_string(), 1, 50)]);
    let (counted, left) = count(&["pods/a", "pods/gone", "../a"]);
    assert_eq!(counted, []);
    assert_eq!(left["pods/gone"], "it is not there");
    assert!(left["../a"].starts_with("expected the path of a cgroup"));
}

#[test]
fn a_cgroup_that_went_has_nothing_to_give_back() {
    let machine = Machine::new();
    let mut node = machine.begin();
    ask(&mut node, &[("b", 1)]);
    fs::remove_dir_all(machine.0.path().join("cg/pods/b")).unwrap();
    assert!(ask(&mut node, &[]).is_empty());
    assert_eq!(node.end(), Ok(()));
}

/// CPUs 0 to 3 are not known to share a cache while they are offline. All but CPU 5 of the others are isolated.
#[test]
fn a_domain_keeps_its_number_while_its_cpus_are_offline_or_isolated() {
    let machine = Machine::new();
    let mut node = machine.begin();
    let mut domains = |online: &str, isolated: &str| {
        machine.put("sys/devices/system/cpu/online", online);
        machine.put("sys/devices/system/cpu/isolated", isolated);
        node.serve(&Request::default()).unwrap().domains
    };
    assert_eq!(domains("3-7", ""), ["3", "4-7"]);
    assert_eq!(domains("4-7", ""), ["", "4-7"]);
    assert_eq!(domains("0-1,3-7", ""), ["0-1,3", "4-7"]);
    assert_eq!(domains("0-7", "4,6-7"), ["0-3", "5"]);
    assert_eq!(domains("0-7", "0-3"), ["", "4-7"]);
    let left = ask(&mut node, &[("a", 0), ("b", 1)]);
    assert_eq!(left["a"], "all CPUs of memory domain 0 are offline or isolated");
    assert_eq!(
        (left.len(), machine.set_of("a"), machine.set_of("b")),
        (1, "\n".into(), "4-7\n".into())
    );
}

#[test]
fn the_journal_has_what_is_given_and_no_more() {
    let machine = Machine::new();
    let journal = machine.0.path().join("run/node.journal");
    let lines = || {
        let text = fs::read_to_string(&journal).unwrap();
        let lines: Vec<String> = text.lines().skip(1).map(String::from).collect();
        lines
    };
    let mut node = machine.begin();
    assert!(!journal.exists());
    ask(&mut node, &[("a", 0), ("b", 1)]);
    assert_eq!(lines(), ["0-3 pods/a", "4-7 pods/b"]);
    // Killed now, the cgroup may have either.
    ask(&mut node, &[("a", 1), ("b", 1)]);
    assert_eq!(lines(), ["0-3 pods/a", "4-7 pods/a", "4-7 pods/b"]);
    ask(&mut node, &[("b", 0)]);
    assert_eq!(lines(), ["0-3 pods/b", "4-7 pods/b"]);
    node.end().unwrap();
    assert!(!journal.exists());
}

/// A folder where the new journal is to be written is in its way, as a full disk would be.
#[test]
fn what_the_journal_cannot_take_is_not_written() {
    let machine = Machine::new();
    let mut node = machine.begin();
    ask(&mut node, &[("a", 0)]);
    let before = fs::read_to_string(machine.0.path().join("run/node.journal")).unwrap();
    let new = machine.0.path().join("run/node.new");
    fs::create_dir(&new).unwrap();
    let left = ask(&mut node, &[("a", 0), ("b", 1)]);
    assert!(left["b"].contains("node.journal: Is a directory"), "{left:?}");
    assert_eq!(
        (left.len(), machine.set_of("a"), machine.set_of("b")),
        (1, "0-3\n".into(), "\n".into())
    );
    assert_eq!(
        fs::read_to_string(machine.0.path().join("run/node.journal")).unwrap(),
        before
    );
    fs::remove_dir(new).unwrap();
    assert!(ask(&mut node, &[("a", 0), ("b", 1)]).is_empty());
    assert_eq!(machine.set_of("b"), "4-7\n");
}

#[test]
fn what_cannot_be_given_back_is_said_once_and_left_to_the_next() {
    let machine = Machine::new();
    let mut node = machine.begin();
    ask(&mut node, &[("a", 0), ("b", 1)]);
    let file = machine.0.path().join("cg/pods/a/cpuset.cpus");
    fs::remove_file(&file).unwrap();
    let failed = node.end().unwrap_err();
    assert!(
        failed.len() == 1 && failed[0].contains("pods/a/cpuset.cpus: No such file"),
        "{failed:?}"
    );
    assert_eq!(machine.set_of("b"), "\n");
    assert_eq!(node.end(), Ok(()));
    drop(node);
    // It keeps nobody from beginning.
    let mut next = machine.begin();
    assert!(ask(&mut next, &[("b", 1)])["a"].contains("pods/a/cpuset.cpus: No such file"));
    assert_eq!(machine.set_of("b"), "4-7\n");
    fs::write(&file, "0-3\n").unwrap();
    assert!(ask(&mut next, &[("b", 1)]).is_empty());
    assert_eq!(machine.set_of("a"), "\n");
}

#[test]
fn a_journal_of_another_boot_is_no_reason_to_write() {
    let machine = Machine::new();
    machine.put("cg/pods/b/cpuset.cpus", "4-7");
    machine.put("run/node.journal", "another boot\n4-7 pods/b");
    drop(machine.begin());
    assert_eq!(machine.set_of("b"), "4-7\n");
    let boot = crate::folder::boot_id();
    machine.put("run/node.journal", &format!("{boot}\n4-7"));
    let error = Node::begin(machine.0.path(), &machine.0.path().join("run"))
        .err()
        .unwrap();
    assert!(
        error.contains("node.journal:2: expected CPUs and a cgroup, found '4-7'"),
        "{error}"
    );
}
