// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use flate2::write::GzEncoder;
use std::io::Write;
use tempfile::TempDir;

/// A tree of these files.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}

const ROOTS_RIGHTS: (&str, &str) = ("proc/self/status", "Name:\tlop\nCapEff:\t000001ffffffffff\n");
const BTF: (&str, &str) = ("sys/kernel/btf/vmlinux", "");

fn release_file(release: &'static str) -> (&'static str, &'static str) {
    ("proc/sys/kernel/osrelease", release)
}

fn only_missing(root: &TempDir) -> Missing {
    let mut missing = missing(root.path());
    assert_eq!(missing.len(), 1, "{missing:?}");
    missing.remove(0)
}

#[test]
fn a_machine_with_all_of_it_lacks_nothing() {
    let root = tree(&[
        release_file("6.18.15\n"),
        ("sys/kernel/sched_ext/state", "disabled\n"),
        ("sys/kernel/security/lockdown", "none [integrity] confidentiality\n"),
        BTF,
        ROOTS_RIGHTS,
    ]);
    assert_eq!(missing(root.path()), []);
}

#[test]
fn no_scheduler_is_taken_beside_isolcpus() {
    let with = |isolated| {
        tree(&[
            release_file("7.2.13\n"),
            ("sys/kernel/sched_ext/state", "disabled\n"),
            ("sys/devices/system/cpu/isolated", isolated),
            ("sys/fs/cgroup/cpuset.cpus.isolated", "2-3\n"),
            BTF,
            ROOTS_RIGHTS,
        ])
    };
    assert!(only_missing(&with("2-3\n")).what.contains("isolcpus=2-3,"));
    assert_eq!(missing(with("\n").path()), [], "partitions alone");
}

#[test]
fn a_kernel_whose_types_are_wrong_is_known_by_its_release() {
    let with = |release| {
        tree(&[
            release_file(release),
            ("sys/kernel/sched_ext/state", "disabled\n"),
            BTF,
            ROOTS_RIGHTS,
        ])
    };
    for release in ["7.1.13+deb13-amd64", "7.2.12+deb13-cloud-amd64"] {
        let missing = only_missing(&with(release));
        assert!(
            missing.what.contains(release) && missing.what.contains("wrongly"),
            "{missing:?}"
        );
        assert_eq!(missing.mend, "boot a kernel of 7.3 or later");
    }
    for release in [
        "7.2.12+deb14-amd64",
        "7.3.4+deb13-amd64",
        "6.18.15+deb13-amd64",
        "7.2.1",
    ] {
        assert_eq!(missing(with(release).path()), [], "{release}");
    }
}

#[test]
fn an_old_kernel_is_told_from_one_built_without() {
    let without = "CONFIG_BPF=y\n# CONFIG_SCHED_CLASS_EXT is not set\n";
    for (release, config, what, mend) in [
        ("5.15.0-91-generic", "", "needs 6.12 or later", "6.16 or later"),
        ("6.11.9", without, "needs 6.12 or later", "6.16 or later"),
        (
            "6.12.0",
            without,
            "is built without sched_ext",
            "CONFIG_SCHED_CLASS_EXT=y",
        ),
        (
            "7.0.1",
            without,
            "is built without sched_ext",
            "CONFIG_SCHED_CLASS_EXT=y",
        ),
        ("odd", without, "is built without sched_ext", "CONFIG_SCHED_CLASS_EXT=y"),
    ] {
        let path = format!("boot/config-{release}");
        let root = tree(&[release_file(release), (&path, config), BTF, ROOTS_RIGHTS]);
        let missing = only_missing(&root);
        assert!(missing.what.contains(what), "{release}: {missing:?}");
        assert!(missing.what.contains(release), "{release}: {missing:?}");
        assert!(missing.mend.contains(mend), "{release}: {missing:?}");
    }
}

#[test]
fn a_kernel_built_with_it_is_not_said_to_be_without() {
    let with = ("boot/config-6.16.0", "CONFIG_SCHED_CLASS_EXT=y\n");
    let root = tree(&[release_file("6.16.0"), with, BTF, ROOTS_RIGHTS]);
    let missing = only_missing(&root);
    assert!(missing.what.contains("is built with sched_ext"), "{missing:?}");
    assert!(missing.mend.contains("on the host"), "{missing:?}");
}

#[test]
fn without_a_configuration_it_only_seems_so() {
    let root = tree(&[release_file("6.16.0"), BTF, ROOTS_RIGHTS]);
    assert!(only_missing(&root).what.contains("seems built without"));
}

#[test]
fn a_compressed_configuration_is_read() {
    let root = tree(&[release_file("6.16.0"), BTF, ROOTS_RIGHTS]);
    let mut file = GzEncoder::new(
        std::fs::File::create(root.path().join("proc/config.gz")).unwrap(),
        flate2::Compression::fast(),
    );
    file.write_all(b"# CONFIG_SCHED_CLASS_EXT is not set\n").unwrap();
    file.finish().unwrap();
    assert!(only_missing(&root).what.contains("is built without"));
}

#[test]
fn what_else_may_be_missing_is_named() {
    let ext = ("sys/kernel/sched_ext/state", "disabled\n");
    let locked = ("sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
    let nobody = ("proc/self/status", "CapEff:\t0000000000000000\n");
    for (files, what, mend) in [
        (
            &[ext, ROOTS_RIGHTS][..],
            "/sys/kernel/btf/vmlinux",
            "CONFIG_DEBUG_INFO_BTF=y",
        ),
        (&[ext, BTF, locked, ROOTS_RIGHTS], "locked down", "lockdown=integrity"),
        (&[ext, BTF, nobody], "root's rights", "sudo"),
    ] {
        let missing = only_missing(&tree(files));
        assert!(missing.what.contains(what), "{missing:?}");
        assert!(missing.mend.contains(mend), "{missing:?}");
    }
}

#[test]
fn bpf_rights_need_not_be_all_of_roots() {
    for (capabilities, enough) in [
        ("0000000000200000", true),
        ("000000c000000000", true),
        ("0000008000000000", false),
        ("0000004000000000", false),
    ] {
        let status = format!("CapEff:\t{capabilities}\n");
        let root = tree(&[("proc/self/status", &status)]);
        assert_eq!(privilege(root.path()).is_none(), enough, "{capabilities}");
    }
}

#[test]
fn an_attached_scheduler_has_its_name() {
    let with = |state: &str| {
        tree(&[
            ("sys/kernel/sched_ext/state", state),
            ("sys/kernel/sched_ext/root/ops", "scx_lavd\n"),
        ])
    };
    assert_eq!(attached(with("enabled\n").path()).as_deref(), Some("scx_lavd"));
    assert_eq!(attached(with("enabling\n").path()).as_deref(), Some("scx_lavd"));
    assert_eq!(attached(with("disabled\n").path()), None);
    assert_eq!(attached(tree(&[]).path()), None);
}

/// A limit must not be ignored silently.
#[test]
fn a_limit_of_cpu_time_keeps_it_from_starting_unless_one_does_without() {
    for (file, limited) in [
        ("sys/fs/cgroup/a.slice/b.service/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/unified/a.slice/b.service/cpu.max", "1000 100000\n"),
        (
            "sys/fs/cgroup/cpu,cpuacct/a.slice/b.service/cpu.cfs_quota_us",
            "50000\n",
        ),
    ] {
        let root = tree(&[
            ("sys/kernel/sched_ext/state", "disabled\n"),
            ("sys/fs/cgroup/a.slice/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/a.slice/cpu.cfs_quota_us", "-1\n"),
            BTF,
            ROOTS_RIGHTS,
        ]);
        let mut options = Options {
            root: root.path().to_path_buf(),
            ..Options::default()
        };
        assert_eq!(lacks(&options), [], "{file}");
        let file = root.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, limited).unwrap();
        let found = lacks(&options);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].what.contains("a.slice/b.service may use"), "{found:?}");
        assert!(found[0].mend.contains("--ignore-cpu-max"), "{found:?}");
        options.ignore_cpu_max = true;
        assert_eq!(lacks(&options), []);
    }
}

#[test]
fn limited_groups_are_counted() {
    let root = tree(&[
        ("sys/fs/cgroup/b/cpu.max", "1 100000\n"),
        ("sys/fs/cgroup/a/cpu.max", "1 100000\n"),
        ("sys/fs/cgroup/a/c/cpu.max", "1 100000\n"),
        ("sys/fs/cgroup/d/cpu.max", "damaged\n"),
    ]);
    let found = limits(root.path()).unwrap();
    assert!(found.what.starts_with("group /a and 2 more"), "{found:?}");
}

/// A user with a delegated group created one with that name.
#[test]
fn the_name_of_a_group_is_not_for_the_terminal_to_obey() {
    let root = tree(&[("sys/fs/cgroup/\u{1b}[2J\r/cpu.max", "1 100000\n")]);
    let found = limits(root.path()).unwrap();
    assert!(found.what.starts_with(r"group /\u{1b}[2J\r may use"), "{found:?}");
}
