// SPDX-License-Identifier: GPL-2.0-only
//! `lop machine live` on trees of other machines and on this one.

use super::*;

/// A text that stands for the files of a machine.
fn fixture(name: &str) -> String {
    format!(
        "{}/../machine/tests/live/trees/{name}.sysfs",
        env!("CARGO_MANIFEST_DIR")
    )
}

#[test]
fn the_table_has_a_row_for_each_cpu_then_notes() {
    let folder = folder();
    let text = good(
        folder.path(),
        &["machine", "live", "--root", &fixture("desktop-offline")],
    )
    .stdout;
    assert!(
        text.starts_with("8 CPUs (3 offline), 1 socket, 1 node, 6 cores, 1 kind, 4 clock domains,"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let row = |cpu: &str| {
        let words = |line: &str| line.split_whitespace().map(str::to_string).collect::<Vec<_>>();
        text.lines()
            .map(words)
            .find(|w| w.first().is_some_and(|w| w == cpu))
            .unwrap()
    };
    // CPU, kind, capacity, MHz, core, clock, voltage, memory, socket, node
    assert_eq!(row("2"), ["2", "0", "1024", "3600", "2", "1", "1", "1", "0", "0"]);
    assert_eq!(
        row("3"),
        ["3", "0", "1024", "-", "3", "1", "1", "1", "0", "0", "offline"]
    );
    let notes = text.split_once("What could not be read\n").unwrap().1;
    assert!(
        notes.contains("CPU 3,6-7") && notes.contains("Voltage domains"),
        "{notes}"
    );
}

#[test]
fn json_has_the_same() {
    let folder = folder();
    let machine = json(
        folder.path(),
        &[
            "machine",
            "live",
            "--format",
            "json",
            "--root",
            &fixture("laptop-hybrid"),
        ],
    );
    for (key, count) in [
        ("nr_tiers", 3),
        ("nr_cores", 16),
        ("nr_clock_domains", 16),
        ("nr_voltage_domains", 3),
        ("nr_memory_domains", 2),
        ("nr_nodes", 1),
        ("nr_sockets", 1),
        ("transition_ns", 100_000),
    ] {
        assert_eq!(machine[key], count, "{key}");
    }
    assert_eq!(machine["cpus"].as_array().unwrap().len(), 22);
    let expected = serde_json::json!({
        "number": 21, "online": true, "isolated": false, "tier": 2, "capacity": 533, "max_khz": 2_500_000, "core": 15,
        "clock_domain": 15, "voltage_domain": 2, "memory_domain": 1, "socket": 0, "node": 0
    });
    assert_eq!(machine["cpus"][21], expected);
    assert!(machine["notes"].as_array().unwrap().iter().all(Value::is_string));
}

#[test]
fn this_machine_has_a_cpu_that_is_online() {
    let machine = json(folder().path(), &["machine", "live", "--format", "json"]);
    assert!(machine["cpus"]
        .as_array()
        .unwrap()
        .iter()
        .any(|cpu| cpu["online"] == true));
}

#[test]
fn a_folder_is_a_root_and_errors_name_its_files() {
    let folder = folder();
    let cpus = folder.path().join("sys/devices/system/cpu");
    std::fs::create_dir_all(&cpus).unwrap();
    let live = || answer(folder.path(), &["machine", "live", "--root", "."]);
    let missing = live();
    assert_eq!((missing.code, missing.stdout.as_str()), (1, ""));
    assert!(
        missing.stderr.starts_with("lop: ./sys/devices/system/cpu/present: "),
        "{}",
        missing.stderr
    );
    assert!(
        missing.stderr.contains("mount sysfs") && missing.stderr.contains("lop: hint: "),
        "{}",
        missing.stderr
    );
    std::fs::write(cpus.join("present"), "0-1\n").unwrap();
    std::fs::write(cpus.join("online"), "0-9x\n").unwrap();
    let wrong = live();
    assert_eq!(wrong.code, 1);
    assert!(
        wrong.stderr.contains("cpu/online: found '0-9x', expected a list"),
        "{}",
        wrong.stderr
    );
    std::fs::write(cpus.join("online"), "0-1\n").unwrap();
    assert!(live().stdout.starts_with("2 CPUs, "));
}

#[test]
fn a_text_that_lists_no_files_is_refused_with_its_line() {
    let folder = folder();
    std::fs::write(folder.path().join("own.sysfs"), "# mine\nnothing\n").unwrap();
    let answer = answer(folder.path(), &["machine", "live", "--root", "own.sysfs"]);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains("own.sysfs:2: expected"), "{}", answer.stderr);
}

/// What is simulated as `this` is what is written but for the speed, which is measured anew, and has the CPUs that are online here.
#[test]
fn this_machine_is_simulated_by_its_name() {
    let folder = folder();
    let toml = good(folder.path(), &["machine", "live", "--toml"]).stdout;
    std::fs::write(folder.path().join("written.toml"), &toml).unwrap();
    let speeds = (0..toml.matches("[[kind]]").count()).map(|kind| format!("--set=machine.kind.{kind}.speed=1"));
    let speeds: Vec<String> = speeds.collect();
    let result = |machine: &str| {
        let arguments = [
            "simulate",
            "-m",
            machine,
            "-w",
            "bursts",
            "-p",
            "linux,auto",
            "--format",
            "json",
        ];
        let speeds: Vec<&str> = speeds.iter().map(String::as_str).collect();
        json(folder.path(), &[&arguments[..], &speeds].concat())["results"].clone()
    };
    assert_eq!(result("this"), result("./written.toml"));
    let drawn = good(folder.path(), &["machine", "show", "this"]).stdout;
    assert!(drawn.contains("Watts are assumed"), "{drawn}");
    let refused = answer(folder.path(), &["machine", "live", "--toml", "--format", "json"]);
    assert_eq!(refused.code, 2);
}

#[test]
fn isolated_cpus_are_marked() {
    let folder = folder();
    let write = |path: &str, text: &str| {
        let path = folder.path().join("root").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("sys/devices/system/cpu/present", "0-1\n");
    write("sys/devices/system/cpu/online", "0-1\n");
    write("sys/fs/cgroup/cpuset.cpus.isolated", "1\n");
    let text = good(folder.path(), &["machine", "live", "--root", "root"]).stdout;
    let marked = |cpu: &str| {
        text.lines()
            .any(|line| line.trim_start().starts_with(cpu) && line.ends_with("isolated"))
    };
    assert!(marked("1 ") && !marked("0 "), "{text}");
}

/// The machine with this processor lends its watts to every command that writes a machine file, unless another is named.
#[test]
fn a_machine_file_and_its_note_name_the_donor_of_watts() {
    let folder = folder();
    let tree = std::fs::read_to_string(fixture("laptop-hybrid")).unwrap();
    let known = format!("{tree}\n[proc]\ncpuinfo = model name\t: Intel(R) Core(TM) Ultra 7 155H\n");
    std::fs::write(folder.path().join("known"), known).unwrap();
    let own = "laptop-three-kinds, the same processor";
    let other = "phenom-9750, another processor";
    let unknown = fixture("laptop-hybrid");
    for (arguments, donor) in [
        (&["live", "--toml", "--root", "known"][..], own),
        (&["capture", "--root", "known"], own),
        (&["capture", "--root", "known", "--watts-of", "phenom-9750"], other),
        (&["capture", "--root", &unknown], other),
    ] {
        let captured = good(folder.path(), &[&["machine"], arguments].concat());
        let name = donor.split(',').next().unwrap();
        assert!(
            captured.stdout.contains(&format!("watts_of = \"{name}\"")),
            "{arguments:?}: {}",
            captured.stdout
        );
        assert!(
            captured.stderr.contains(&format!("(watts of {donor})")),
            "{arguments:?}: {}",
            captured.stderr
        );
    }
}
