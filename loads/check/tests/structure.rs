// SPDX-License-Identifier: GPL-2.0-only
//! The structure of each load.

#[path = "../../../hints/tests/common/mod.rs"]
mod listener;

use lop_loads_check::{counts, end_with_hints, run};
use serde_json::Value;
use std::collections::HashSet;

#[test]
fn matmul_shares_rows_as_asked_and_has_the_known_sum() {
    let json = run("matmul", &["--size", "60", "--threads", "4", "--rows", "5-25"]);
    assert_eq!(counts(&json, "threads", "rows"), [5, 5, 25, 25]);
    let even = run("matmul", &["--size", "62", "--threads", "4"]);
    assert_eq!(counts(&even, "threads", "rows"), [16, 16, 15, 15]);

    // By hand: A = B = 0 1 / 1 2, so C = 1 2 / 2 5.
    let two = run("matmul", &["--size", "2", "--threads", "2"]);
    assert_eq!(two["checksum"], "0x000000000000000a");
    assert_eq!(json["wrong_elements"], 0);
    let thrice = run("matmul", &["--size", "2", "--threads", "2", "--repeats", "3"]);
    assert_eq!(thrice["checksum"], "0x000000000000001e", "three times as much");
}

#[test]
fn global_sum_is_the_same_under_lock_and_with_barriers() {
    let short = ["--threads", "4", "--rounds", "105", "--length-instructions", "1e3"];
    let sum = 420 * 419 / 2;
    for percent in ["0", "15", "75", "100"] {
        let json = run("global-sum", &[&short[..], &["--locked-percent", percent]].concat());
        assert_eq!((&json["sum"], &json["barriers"]), (&sum.into(), &0.into()));
    }
    // Almost only the lock: if it let two threads in, an addition would be lost.
    run(
        "global-sum",
        &[
            "--threads",
            "4",
            "--rounds",
            "2e5",
            "--length-instructions",
            "8",
            "--locked-percent",
            "50",
        ],
    );
    for (every, barriers) in [("1", 105), ("10", 10), ("106", 0)] {
        let json = run("global-sum", &[&short[..], &["--barrier-every", every]].concat());
        assert_eq!((&json["sum"], &json["barriers"]), (&sum.into(), &barriers.into()));
    }
}

#[test]
fn parallel_for_covers_each_element_once_under_every_schedule() {
    for schedule in ["static", "dynamic", "guided"] {
        for chunk in ["0", "1", "7"] {
            let size = [
                "--threads",
                "3",
                "--elements",
                "1000",
                "--repeats",
                "5",
                "--element-instructions",
                "40",
            ];
            let json = run(
                "parallel-for",
                &[&size[..], &["--schedule", schedule, "--chunk", chunk]].concat(),
            );
            assert_eq!(json["wrong_elements"], 0, "{schedule} {chunk}");
            let elements = counts(&json, "threads", "elements");
            assert_eq!(elements.iter().sum::<u64>(), 5000, "{schedule} {chunk}");
            match (schedule, chunk) {
                ("static", "0") => assert!(elements.iter().all(|n| (1665..=1670).contains(n)), "{elements:?}"),
                // 143 chunks in turn, so 48, 48 and 47; the last chunk, the second thread's, has 6 elements instead of 7.
                ("static", "7") => assert_eq!(elements, [5 * 336, 5 * 335, 5 * 329]),
                _ => {}
            }
        }
    }
}

#[test]
fn registration_is_split_as_compiled_or_as_asked() {
    let json = run("registration", &["--iteration-instructions", "1e5"]);
    assert_eq!(counts(&json, "threads", "iterations"), [7, 7, 7, 7, 6, 6, 5, 5]);
    assert_eq!(json["iterations"], 50);
    let other = run("registration", &["--iteration-instructions", "1e5", "--split", "3,0,1"]);
    assert_eq!(counts(&other, "threads", "iterations"), [3, 0, 1]);
}

/// Threads that have ended leave the length behind.
#[test]
fn threads_declare_their_lengths_by_the_library() {
    let hints = tempfile::tempdir().unwrap();
    listener::listen(hints.path());
    let arguments = ["--iteration-instructions", "1e5", "--split", "9,9,9"];
    let ended = end_with_hints("registration", &arguments, Some(hints.path()));
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    let names = std::fs::read_dir(hints.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pids: Vec<u32> = names
        .filter_map(|name| name.strip_suffix(".hints")?.parse().ok())
        .collect();
    assert_eq!(pids.len(), 1);
    let page = listener::Page::read(hints.path(), pids[0]);
    let (first, others) = page.used().split_first().unwrap();
    assert_eq!((first[2], first[6]), (0, pids[0]));
    assert!((1..=3).contains(&others.len()));
    assert!(others.iter().all(|record| (record[2], record[6]) == (9, 0)));
}

fn half_sequential(waiting: &str, spin_us: &str) -> Value {
    let short = [
        "--threads",
        "3",
        "--pairs",
        "10",
        "--pair-instructions",
        "4e6",
        "--waiting",
        waiting,
    ];
    run("half-sequential", &[&short[..], &["--spin-us", spin_us]].concat())
}

fn total(json: &Value, key: &str) -> u64 {
    counts(json, "threads", key).iter().sum()
}

#[test]
fn the_ways_of_waiting_differ_in_what_is_seen_but_not_in_the_result() {
    // Way of waiting, how long it spins, whether it sleeps, whether it raises SPINNING.
    let ways = [
        ("busy-wait", "0", false, false),
        ("adaptive", "0", true, false),
        ("adaptive", "1e9", false, false),
        ("spin-then-notify", "0", false, true),
        ("spin-then-notify", "1e9", false, false),
        ("block", "0", true, false),
    ];
    let results = ways.map(|(way, spin_us, sleeps, says)| {
        let json = half_sequential(way, spin_us);
        assert!(total(&json, "waits") > 0, "{way} {spin_us}");
        assert_eq!(total(&json, "sleeps") > 0, sleeps, "{way} {spin_us}: {json}");
        assert_eq!(total(&json, "flags_left"), 0, "{way} {spin_us}: {json}");
        assert_eq!(total(&json, "flags_raised") > 0, says, "{way} {spin_us}: {json}");
        let phases = json["phases"].as_array().unwrap();
        let seen = phases
            .iter()
            .filter(|phase| phase["spinners_at_end"].as_u64() > Some(0))
            .count();
        assert_eq!(seen > 0, says, "{way} {spin_us}: {json}");
        json["checksum"].clone()
    });
    assert!(results.iter().all(|checksum| *checksum == results[0]), "{results:?}");
}

#[test]
fn half_sequential_alternates() {
    let json = half_sequential("block", "0");
    let phases = json["phases"].as_array().unwrap();
    assert_eq!(phases.len(), 20);
    for (index, phase) in phases.iter().enumerate() {
        assert_eq!(phase["name"], ["sequential", "parallel"][index % 2]);
        if index > 0 {
            assert!(phase["started_ms"].as_f64() >= phases[index - 1]["ended_ms"].as_f64());
        }
    }
    for (threads, percent) in [("1", "50"), ("2", "0"), ("2", "100")] {
        let short = ["--pairs", "3", "--pair-instructions", "1e5", "--threads", threads];
        run(
            "half-sequential",
            &[&short[..], &["--sequential-percent", percent]].concat(),
        );
    }
}

#[test]
fn one_and_many_are_two_processes() {
    let json = run(
        "one-and-many",
        &[
            "--threads",
            "3",
            "--one-instructions",
            "1e6",
            "--many-instructions",
            "1e6",
        ],
    );
    let applications = json["applications"].as_array().unwrap();
    assert_ne!(applications[0]["process"], applications[1]["process"]);
    assert_eq!(applications[0]["name"], "one");
    assert_eq!(applications[1]["name"], "many");
    assert_eq!(counts(&applications[0], "threads", "thread"), [0]);
    assert_eq!(counts(&applications[1], "threads", "thread"), [0, 1, 2]);
}

#[test]
fn coupled_meets_at_each_barrier_in_every_way() {
    for way in ["busy-wait", "adaptive", "spin-then-notify", "block"] {
        let short = [
            "--threads",
            "3",
            "--intervals",
            "20",
            "--interval-instructions",
            "3e4",
            "--waiting",
            way,
        ];
        for percent in ["0", "30", "100"] {
            let json = run("coupled", &[&short[..], &["--bandwidth-percent", percent]].concat());
            assert_eq!(total(&json, "last_at_barrier"), 20, "{way} {percent}");
        }
    }
}

#[test]
fn chase_and_stream_meet_as_many_lines_as_asked() {
    for load in ["chase", "stream"] {
        for mpki in [0.5, 10.0, 40.0] {
            let text = mpki.to_string();
            let json = run(
                load,
                &[
                    "--buffer-mib",
                    "1",
                    "--laps",
                    "2",
                    "--threads",
                    "2",
                    "--intensity-mpki",
                    &text,
                ],
            );
            let (lines, instructions) = (
                json["lines_of_thread"].as_f64().unwrap(),
                json["instructions_of_thread"].as_f64().unwrap(),
            );
            assert_eq!(lines, 2.0 * 1024.0 * 1024.0 / 64.0);
            let found = lines * 1000.0 / instructions;
            // A turn has about 25 instructions, and one more or less may run.
            assert!((found / mpki - 1.0).abs() < 0.2, "{load}: {found} for {mpki}");
        }
    }
}

fn fork_storm(more: &[&str]) -> Value {
    let short = ["--slots", "3", "--mean-instructions", "2e4"];
    run("fork-storm", &[&short[..], more].concat())
}

/// The largest number of intervals that overlap at any time.
fn most_at_a_time(jobs: &[Value]) -> usize {
    let time = |job: &Value, key: &str| job[key].as_f64().unwrap();
    let at = |moment: f64| {
        let running = |job: &&Value| time(job, "started_ms") <= moment && moment < time(job, "ended_ms");
        jobs.iter().filter(running).count()
    };
    jobs.iter().map(|job| at(time(job, "started_ms"))).max().unwrap()
}

#[test]
fn fork_storm_keeps_to_its_slots_and_ends_serially() {
    for chain in ["single", "make"] {
        let json = fork_storm(&["--jobs", "40", "--chain", chain]);
        let jobs = json["jobs"].as_array().unwrap();
        assert_eq!(jobs.len(), 41, "40 and the serial end");
        assert!(most_at_a_time(jobs) <= 3);
        assert_eq!(json["most_running"], 3);
        assert_eq!(json["failed_jobs"], 0);
        let pool_ended = json["phases"][0]["ended_ms"].as_f64();
        assert!(jobs[40]["started_ms"].as_f64() >= pool_ended);
        assert!(jobs[..40].iter().all(|job| job["ended_ms"].as_f64() <= pool_ended));
    }
}

#[test]
fn fork_storm_draws_lengths_from_its_seed() {
    let lengths = |seed: &str| {
        counts(
            &fork_storm(&["--jobs", "200", "--chain", "single", "--seed", seed]),
            "jobs",
            "instructions",
        )
    };
    let first = lengths("1");
    assert_eq!(first, lengths("1"));
    assert_ne!(first, lengths("2"));
    // All work is jobs * mean: 2 % for make, 3 % for the end, 95 % for jobs, each rounded down to turns.
    let all: u64 = first[..200].iter().sum();
    assert!((3_800_000 - 800..=3_800_000).contains(&all), "{all}");
    assert!((120_000 - 4..=120_000).contains(&first[200]));
    assert!(first.iter().collect::<HashSet<_>>().len() > 100);
}

/// The coefficient of variation of a lognormal distribution without its far tail, since there are only 300 strata.
#[test]
fn fork_storm_lengths_vary_as_asked() {
    for (asked, least, most) in [("0", 0.0, 0.001), ("0.5", 0.45, 0.52), ("1", 0.85, 1.1)] {
        let json = fork_storm(&["--jobs", "300", "--chain", "single", "--variation", asked]);
        let lengths = counts(&json, "jobs", "instructions");
        let jobs = &lengths[..300];
        let mean = jobs.iter().sum::<u64>() as f64 / 300.0;
        let variance = jobs.iter().map(|&n| (n as f64 - mean).powi(2)).sum::<f64>() / 300.0;
        let found = variance.sqrt() / mean;
        assert!((least..=most).contains(&found), "{asked}: {found}");
    }
}
