// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who gets how much of which CPU: nice values, cgroup weights, affinity.

mod common;
use common::*;
use lop_simulator::workload::Workload;
use lop_simulator::TraceEvent;

const FAIR: [&str; 3] = [PERFORMANCE, "highlow", "highlow-spare"];

/// Shares of the CPU time of all, by task.
fn shares(workload: &Workload, cores: u16, name: &str) -> Vec<f64> {
    let times = cpu_time_ns(&run_traced(&machine(cores), workload, name));
    let all: u64 = times.iter().sum();
    times.iter().map(|&ns| ns as f64 / all as f64).collect()
}

/// Weights 100 * 1.25^-nice: 305 and 100 and 33.
#[test]
fn nice_values_divide_a_core_by_weight() {
    let workload = toml(
        r#"
        duration_s = 20
        [task.eager]
        nice = -5
        steps = [{ run_s = 100 }]
        [task.plain]
        steps = [{ run_s = 100 }]
        [task.nice]
        nice = 5
        steps = [{ run_s = 100 }]
        "#,
    );
    for name in FAIR {
        let found = shares(&workload, 1, name);
        for (share, weight) in found.iter().zip([305.0, 100.0, 33.0]) {
            assert!((share - weight / 438.0).abs() < 0.01, "{name}: {found:?}");
        }
    }
}

/// Two groups, of weight 300 with three tasks and of weight 50 with one: six sevenths and one seventh.
#[test]
fn cgroups_divide_a_core_by_weight_whatever_their_number_of_tasks() {
    let workload = toml(
        r#"
        duration_s = 20
        [app.big]
        [app.small]
        [task.big]
        app = "big"
        count = 3
        cgroup_weight = 300
        steps = [{ run_s = 100 }]
        [task.small]
        app = "small"
        cgroup_weight = 50
        steps = [{ run_s = 100 }]
        "#,
    );
    for name in FAIR {
        let found = shares(&workload, 1, name);
        let big: f64 = found[..3].iter().sum();
        assert!((big - 300.0 / 350.0).abs() < 0.01, "{name}: {found:?}");
        assert!((found[0] - found[1]).abs() < 0.01, "{name}: {found:?}");
    }
}

/// Five tasks on two cores, one of them of weight 33: the others share what it leaves.
#[test]
fn weights_hold_over_several_cores() {
    let workload = toml(
        r#"
        duration_s = 20
        [task.plain]
        count = 4
        steps = [{ run_s = 100 }]
        [task.nice]
        nice = 5
        steps = [{ run_s = 100 }]
        "#,
    );
    for name in FAIR {
        let found = shares(&workload, 2, name);
        for (share, weight) in found.iter().zip([100.0, 100.0, 100.0, 100.0, 33.0]) {
            assert!((share - weight / 433.0).abs() < 0.01, "{name}: {found:?}");
        }
    }
}

/// Whoever comes late does not make up for it, and who ran alone meanwhile is not punished for that.
#[test]
fn time_alone_on_a_core_is_not_paid_back() {
    let workload = toml(
        r#"
        duration_s = 3
        [task.steady]
        steps = [{ run_s = 100 }]
        [task.late]
        start_s = 2
        steps = [{ run_s = 100 }]
        "#,
    );
    for name in FAIR {
        let times = cpu_time_ns(&run_traced(&machine(1), &workload, name));
        assert!(times[1].abs_diff(500 * MS) < 15 * MS, "{name}: {times:?}");
    }
}

/// Four equal tasks on two cores, one of them pinned: half a core each.
#[test]
fn a_pinned_task_gets_its_share_beside_free_ones() {
    let workload = toml(
        r#"
        duration_s = 10
        [task.pinned]
        cpus = [0]
        steps = [{ run_s = 100 }]
        [task.free]
        count = 3
        steps = [{ run_s = 100 }]
        "#,
    );
    for name in FAIR {
        let times = cpu_time_ns(&run_traced(&machine(2), &workload, name));
        for time in &times {
            assert!(time.abs_diff(5000 * MS) < 250 * MS, "{name}: {times:?}");
        }
    }
}

#[test]
fn tasks_run_only_where_they_may() {
    let workload = toml(
        r#"
        [task.pinned]
        cpus = [3]
        steps = [{ repeat = 20, steps = [{ run_ms = 2 }, { sleep_ms = 1 }] }]
        [task.either]
        count = 3
        cpus = [0, 2]
        steps = [{ repeat = 20, steps = [{ run_ms = 3 }, { sleep_ms = 1 }] }]
        [task.free]
        count = 2
        steps = [{ repeat = 30, steps = [{ run_ms = 2 }, { sleep_ms = 2 }] }]
        "#,
    );
    for name in policy_names() {
        let outcome = run_traced(&machine(4), &workload, name);
        let mut starts = 0;
        for event in &outcome.trace {
            let TraceEvent::Start { task, cpu, .. } = *event else {
                continue;
            };
            starts += 1;
            match outcome.task_names[task as usize].as_str() {
                "pinned" => assert_eq!(cpu, 3, "{name}"),
                "either" => assert!(cpu == 0 || cpu == 2, "{name}: {cpu}"),
                _ => {}
            }
        }
        assert!(starts >= 20 + 60 + 60, "{name}: {starts}");
    }
}

/// All pinned to one core of four: it takes the sum, at full speed where the policy promotes it.
#[test]
fn pinned_work_waits_for_its_core() {
    let workload = toml(
        r#"
        [task.pinned]
        count = 3
        cpus = [2]
        steps = [{ run_ms = 40 }]
        "#,
    );
    for name in FAIR {
        assert_eq!(run(&machine(4), &workload, name).time_ns, 120 * MS, "{name}");
    }
}

#[test]
fn a_cpu_that_is_not_there_is_reported_by_name() {
    let workload = toml("[task.t]\ncpus = [1, 4]\nsteps = [{ run_ms = 1 }]");
    for name in policy_names() {
        let error = try_run(&machine(4), &workload, name).unwrap_err().to_string();
        assert!(
            error.contains("'t' is pinned to CPU 4") && error.contains("CPUs 0 to 3"),
            "{name}: {error}"
        );
    }
}
