// SPDX-License-Identifier: GPL-2.0-only
//! Parking CPUs and giving them back.

use super::fake::Fake;
use super::*;

fn cpus(text: &str) -> Cpus {
    Cpus::parse(text).unwrap()
}

#[test]
fn cpus_are_parked_and_given_back_with_no_write_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::new("cpu cpuset memory", "memory");
    let mut partition = fake.open(&folder).unwrap();
    assert!(journal(folder.path()).exists(), "recorded beforehand");
    assert_eq!(fake.log(), ["cgroup.subtree_control=+cpuset", "mkdir lopsided"]);
    assert_eq!(partition.park(&cpus("1-3")), Ok(true));
    assert_eq!(fake.log(), [format!("{CPUS}=1-3"), format!("{PARTITION}=isolated")]);
    assert_eq!(partition.park(&cpus("1-3")), Ok(false));
    assert_eq!(fake.log(), [""; 0], "nothing to change");
    partition.park(&cpus("2-3")).unwrap();
    assert_eq!(fake.log(), [format!("{CPUS}=2-3")]);
    partition.park(&cpus("1-2")).unwrap();
    assert_eq!(
        fake.log(),
        [format!("{CPUS}=2"), format!("{CPUS}=1-2")],
        "what opens goes first"
    );
    partition.park(&cpus("3")).unwrap();
    assert_eq!(
        fake.log(),
        [
            "cpuset.cpus.partition=member",
            "cpuset.cpus=3",
            "cpuset.cpus.partition=isolated"
        ]
        .map(|line| format!("{NAME}/{line}"))
    );
    partition.park(&Cpus::default()).unwrap();
    assert_eq!(fake.log(), [format!("{PARTITION}=member")]);
    assert_eq!(partition.park(&Cpus::default()), Ok(false));
    partition.park(&cpus("3")).unwrap();
    assert_eq!(fake.get(PARTITION).unwrap(), "isolated");
    partition.close().unwrap();
    partition.close().unwrap();
    assert!(!fake.exists(NAME) && !journal(folder.path()).exists());
    assert_eq!(fake.get(CONTROLLED).unwrap(), "memory", "as it was found");
}

#[test]
fn what_was_switched_on_by_others_or_is_used_by_them_stays() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::new("cpuset", "cpuset");
    fake.open(&folder).unwrap().close().unwrap();
    assert_eq!(fake.get(CONTROLLED).unwrap(), "cpuset");
    let fake = Fake::new("cpuset", "");
    let mut partition = fake.open(&folder).unwrap();
    fake.refuse(CONTROLLED, io::ErrorKind::ResourceBusy);
    partition.close().unwrap();
    assert!(!fake.exists(NAME) && !journal(folder.path()).exists());
}

#[test]
fn the_next_start_takes_over_what_a_killed_run_left() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::new("cpuset", "");
    let mut killed = fake.open(&folder).unwrap();
    killed.park(&cpus("1")).unwrap();
    std::mem::forget(killed);
    assert_eq!(fake.get(PARTITION).unwrap(), "isolated");
    let mut next = fake.open(&folder).unwrap();
    assert_eq!(fake.get(PARTITION).unwrap(), MEMBER, "nothing is parked");
    next.close().unwrap();
    assert_eq!(fake.get(CONTROLLED).unwrap(), "", "the first had switched it on");
    // Undone by lop restore instead of the next start.
    let mut killed = fake.open(&folder).unwrap();
    killed.park(&cpus("1")).unwrap();
    std::mem::forget(killed);
    assert_eq!(remove_left(&fake, &journal(folder.path())), Ok(true));
    assert!(!fake.exists(NAME));
    assert_eq!(remove_left(&fake, &journal(folder.path())), Ok(false));
}

#[test]
fn a_journal_of_another_boot_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::new("cpuset", "cpuset");
    fs::write(journal(folder.path()), r#"{"boot_id":"another","switched_on":true}"#).unwrap();
    assert_eq!(remove_left(&fake, &journal(folder.path())), Ok(true));
    assert_eq!(fake.get(CONTROLLED).unwrap(), "cpuset", "not switched off");
    fs::write(journal(folder.path()), "{").unwrap();
    assert!(remove_left(&fake, &journal(folder.path()))
        .unwrap_err()
        .contains("partition.journal"));
}

#[test]
fn the_mend_is_by_where_cgroup_v1_has_the_controller() {
    for (v1, mend) in [
        (
            "#subsys_name\thierarchy\ncpuset\t3\t1\t1\n",
            "boot with cgroup_no_v1=cpuset",
        ),
        ("#subsys_name\thierarchy\ncpuset\t0\t1\t1\n", "if cgroup v1 has it"),
        (
            "#subsys_name\thierarchy\ncpu\t3\t1\t1\n",
            "boot a kernel with CONFIG_CPUSETS=y",
        ),
    ] {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc")).unwrap();
        std::fs::write(root.path().join("proc/cgroups"), v1).unwrap();
        let lack = where_cpuset_is(
            root.path(),
            Lack::new("no cpuset", "if cgroup v1 has it, one thing, else another"),
        );
        assert!(lack.mend.contains(mend), "{}", lack.mend);
    }
}

#[test]
fn what_the_kernel_does_not_take_is_told_with_its_own_words_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::new("cpu memory", "");
    let missing = fake.open(&folder).err().unwrap();
    assert!(
        missing.contains("'cpu memory'") && missing.contains("cgroup_no_v1=cpuset"),
        "{missing}"
    );
    let fake = Fake::new("cpuset", "");
    fake.refuse(NAME, io::ErrorKind::PermissionDenied);
    let denied = fake.open(&folder).err().unwrap();
    assert!(denied.contains("/cg/lopsided") && denied.contains("sudo"), "{denied}");
    assert_eq!(fake.get(CONTROLLED).unwrap(), "");
    let fake = Fake::new("cpuset", "");
    fake.claim(cpus("2"));
    let mut partition = fake.open(&folder).unwrap();
    let invalid = partition.park(&cpus("1-2")).unwrap_err();
    assert!(
        invalid.contains("isolated invalid (Cpu list in cpuset.cpus not exclusive)"),
        "{invalid}"
    );
    assert!(
        invalid.contains("AllowedCPUs=") && invalid.contains("lop run --enforce affinity"),
        "{invalid}"
    );
    drop(partition);
    assert!(!fake.exists(NAME) && !journal(folder.path()).exists());
}

#[test]
fn a_cgroup_of_that_name_with_processes_is_somebody_elses() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::new("cpuset", "");
    fake.make(NAME).unwrap();
    fake.put(PROCESSES, "1234\n");
    let refused = fake.open(&folder).err().unwrap();
    assert!(refused.contains("/cg/lopsided: it has processes"), "{refused}");
    assert!(fake.exists(NAME) && !journal(folder.path()).exists());
}
