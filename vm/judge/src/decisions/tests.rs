// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use lop_policy::{Config, Named};
use serde_json::{json, Value};

const ALL: u64 = 0b1111;

/// Four equal CPUs, the last offline, one spare, hold 10 ms, no rules for fast cores.
fn begin() -> Value {
    begin_with(&[0; 4], 0)
}

/// CPUs of these kinds, the fourth offline; `rules` as in `enum lop_rules`.
fn begin_with(tiers: &[u32], rules: u32) -> Value {
    let cpu = |number: usize| {
        json!({"number": number, "online": number != 3, "tier": tiers[number], "capacity": 1024 >> tiers[number], "max_khz": null,
            "core": number, "clock_domain": number, "voltage_domain": 0, "memory_domain": 0, "socket": 0, "node": 0})
    };
    let cpus: Vec<Value> = (0..tiers.len()).map(cpu).collect();
    let config = Config {
        nr_cpus: cpus.len() as u32,
        spare: 1,
        rules,
        hot_mc: i32::MAX,
        migration_ns: 20_000,
        reserve_raises: 1,
        ..Config::of(Named::Highlow, 10_000_000)
    };
    json!({
        "machine": {"cpus": cpus, "nr_tiers": tiers.iter().max().unwrap() + 1, "nr_cores": cpus.len(), "nr_clock_domains": cpus.len(),
            "nr_voltage_domains": 1, "nr_memory_domains": 1, "nr_nodes": 1, "nr_sockets": 1, "transition_ns": 0, "notes": []},
        "config": serde_json::to_value(config).unwrap()
    })
}

fn end(lost_records: u64, unordered_calls: u64) -> Value {
    json!({"end": {"lost_records": lost_records, "unordered_calls": unordered_calls}})
}

fn record(kind: &str, at_ns: u64, task: u64, cpu: i32, value: u32) -> Value {
    json!({"kind": kind, "at_ns": at_ns, "task": task, "cpu": cpu, "value": value})
}

fn cpus(kind: &str, task: u64, mask: u64) -> Value {
    thread(kind, task, 0, mask)
}

fn thread(kind: &str, task: u64, process: u32, mask: u64) -> Value {
    json!({"kind": kind, "at_ns": 0, "task": task, "cpu": 0, "value": process, "words": [mask, 0, 0, 0, 0, 0, 0, 0]})
}

/// A log of so many CPUs online: target 1, so CPU 0 alone is high. All are idle when task 70 wakes, so CPU 1 joins (target 2), and 70 is placed where it
/// ran last. The rest follows.
fn log(begin: Value, online: i32, tasks: &[Value], rest: &[Value]) -> Vec<Value> {
    let mut lines = vec![begin, record("start", 1000, 0, 0, 0)];
    lines.extend((0..online).map(|cpu| record("set", 1000, 0, cpu, (cpu == 0).into())));
    lines.extend_from_slice(tasks);
    lines.extend((0..online).map(|cpu| record("idle", 2000, 0, cpu, 1)));
    lines.push(record("wake", 3000, 70, 0, 0));
    lines.push(record("set", 3000, 0, 1, 1));
    lines.push(record("placed", 3000, 70, 0, 1));
    lines.extend_from_slice(rest);
    lines.push(end(0, 0));
    lines
}

/// Worked out by hand from the rules of `policy/`: the target is active + 1; of the CPUs that have been out longest, the lowest number joins; the last
/// to join leaves after 10 ms.
fn good() -> Vec<Value> {
    log(
        begin(),
        3,
        &[cpus("task", 70, ALL), cpus("task", 80, 0b0100)],
        &[
            record("idle", 3500, 0, 0, 0),
            record("wake", 4000, 80, 0, 0),
            record("set", 4000, 0, 2, 1), // pinned to CPU 2, which is low: promoted
            record("placed", 4000, 80, 2, 1),
            record("idle", 4500, 0, 2, 0),
            record("block", 5000, 80, 0, 0),
            record("idle", 5000, 0, 2, 1),
            record("timer", 10_004_999, 0, 0, 0), // 1 ns too early
            record("timer", 10_005_000, 0, 0, 0),
            record("set", 10_005_000, 0, 2, 0), // it joined last
            record("online", 11_000_000, 0, 3, 0),
            record("set", 11_000_000, 0, 3, 0),
            record("offline", 12_000_000, 0, 0, 0),
            record("set", 12_000_000, 0, 0, 3), // a member goes offline, and another CPU joins
            record("set", 12_000_000, 0, 2, 1), // it left before CPU 3 came
            record("forget", 13_000_000, 70, 0, 0),
            record("gone", 13_000_000, 70, 0, 0),
            record("exit", 14_000_000, 0, 0, 0),
        ],
    )
}

/// CPU 0 is fast, CPU 1 slow; both tasks are alone in their processes, so the one on the slow CPU moves when the other blocks.
fn sequential() -> Vec<Value> {
    log(
        begin_with(&[0, 1], 1),
        2,
        &[thread("task", 70, 7, ALL), thread("task", 80, 8, ALL)],
        &[
            record("idle", 3100, 0, 0, 0),
            record("started", 3100, 70, 0, 0),
            record("wake", 4000, 80, 0, 0),
            record("placed", 4000, 80, 1, 1),
            record("idle", 4100, 0, 1, 0),
            record("started", 4100, 80, 1, 0), // as much awaited as the other, which stays
            record("stopped", 5000, 70, 0, 0),
            record("block", 5000, 70, 0, 0),
            record("idle", 5100, 0, 0, 1),
            record("preempt", 5100, 0, 1, 0),
            record("stopped", 5200, 80, 1, 1),
            record("enqueue", 5200, 80, 1, 0),
            record("queued", 5200, 80, 0, 0), // in the queue of CPU 0
            record("idle", 5300, 0, 0, 0),
            record("started", 5300, 80, 0, 0),
            record("exit", 6000, 0, 0, 0),
        ],
    )
}

/// Before Linux 7.0, a task that has claimed CPU 0 waits in that CPU's queue, 0, and not in the common one, 512.
#[test]
fn who_claimed_a_cpu_waits_there() {
    let mut log = good();
    let placed = log.iter().position(|line| line["kind"] == "placed").unwrap();
    log.insert(placed + 1, record("enqueue", 3000, 70, 0, 1));
    log.insert(placed + 2, record("queued", 3000, 70, 0, 0));
    log.insert(placed + 4, record("started", 3500, 70, 0, 0));
    assert_eq!(play(&log).unwrap().difference, None);
    log[placed + 1]["value"] = json!(0);
    assert!(play(&log).unwrap().difference.is_some());
}

/// One spare more: the last CPU joins. Plans for memory domains, or none of them, are no change of a goal.
#[test]
fn a_goal_that_changes_decides_from_then_on() {
    let goal = |words: &[u64]| {
        let mut goal = record("goal", 3600, 0, 0, 0);
        goal["words"] = json!(words);
        goal
    };
    let changed = |words: &[u64]| {
        log(
            begin(),
            3,
            &[cpus("task", 70, ALL)],
            &[record("idle", 3500, 0, 0, 0), goal(words), record("set", 3600, 0, 2, 1)],
        )
    };
    let outcome = play(&changed(&[2, 1_000_000_000, 0, 0])).unwrap();
    assert_eq!(outcome.difference, None);
    let same = play(&changed(&[1, 1_000_000_000, 0, 0])).unwrap();
    assert!(same.difference.is_some());
    for words in [
        &[2, 1_000_000_000, 0, 1][..],
        &[2, 1_000_000_000, 0, 3],
        &[2, 1_000_000_000, 0],
    ] {
        assert!(play(&changed(words)).is_err(), "{words:?}");
    }
}

/// What it is from bit 32 on is in `cpu`: no clock began 4.3 s before a log of microseconds.
#[test]
fn a_clock_that_began_before_time_is_refused() {
    let mut log = log(
        begin(),
        3,
        &[cpus("task", 70, ALL), record("clock", 1500, 70, 0, 1500)],
        &[],
    );
    assert_eq!(play(&log).unwrap().difference, None);
    let clock = log.iter().position(|line| line["kind"] == "clock").unwrap();
    log[clock]["cpu"] = json!(1);
    assert!(play(&log).is_err());
}

/// A task of which its owner says that nobody waits for it gets a green core (set 2), and one that the log does not say it of a high one.
#[test]
fn what_nobody_waits_for_is_played_too() {
    let mut begin = begin();
    let config = &mut begin["config"];
    (config["green"], config["nr_rungs"]) = (json!("paced"), json!(1));
    config["rung"][0] = json!({"tier": 0, "speed_permille": 500, "rate_permille": 500});
    let mut log = log(
        begin,
        3,
        &[cpus("task", 70, ALL), record("background", 1500, 70, 0, 1)],
        &[],
    );
    let joins = log
        .iter()
        .position(|line| line["at_ns"] == 3000 && line["kind"] == "set")
        .unwrap();
    log[joins]["value"] = json!(2);
    log[joins + 1]["cpu"] = json!(1);
    assert_eq!(play(&log).unwrap().difference, None);
    log.retain(|line| line["kind"] != "background");
    assert!(play(&log).unwrap().difference.is_some());
}

#[test]
fn rules_for_fast_cores_are_played_too() {
    let outcome = play(&sequential()).unwrap();
    assert_eq!(outcome.difference, None);
    assert_eq!((outcome.calls, outcome.decisions), (16, 7));
}

/// CPU 0 is fast, and 70 computes there. 80, on CPU 1, declares that others wait for it, and takes CPU 0. At nice 19, it has been charged 1365 ms when
/// its turn ends, so 70 gets the core back and 80 does not take it again. At nice 0 it would, after 70 has also had 20 ms.
fn of_two_users() -> Vec<Value> {
    let user = |at_ns, task, user, weight| record("user", at_ns, task, user, weight);
    let moves = |at_ns: u64, from: (u64, i32), to: (u64, i32)| {
        [
            record("preempt", at_ns, 0, from.1, 0),
            record("stopped", at_ns + 100, from.0, from.1, 1),
            record("enqueue", at_ns + 100, from.0, from.1, 0),
            record("preempt", at_ns + 100, 0, to.1, 0),
            record("queued", at_ns + 100, from.0, 0, to.1 as u32),
            record("stopped", at_ns + 200, to.0, to.1, 1),
            record("enqueue", at_ns + 200, to.0, to.1, 0),
            record("preempt", at_ns + 200, 0, from.1, 0),
            record("queued", at_ns + 200, to.0, 0, from.1 as u32),
            record("started", at_ns + 300, from.0, to.1, 0),
            record("started", at_ns + 300, to.0, from.1, 0),
        ]
    };
    let mut lines = sequential()[..17].to_vec();
    lines[0] = begin_with(&[0, 1], 1 | 8);
    lines[4] = thread("task", 70, 0, ALL);
    lines[5] = thread("task", 80, 0, ALL);
    lines.insert(8, user(2500, 70, 1000, 1024));
    lines.insert(14, user(3500, 80, 1001, 15));
    lines.push(record("hints", 5000, 80, 0, 2));
    lines.extend(moves(5000, (80, 1), (70, 0)));
    lines.push(record("timer", 20_010_000, 0, 0, 0));
    lines.extend(moves(20_010_000, (70, 1), (80, 0)));
    lines.push(record("hints", 20_020_000, 80, 0, 0));
    lines.push(record("hints", 20_030_000, 80, 0, 2));
    lines.push(record("timer", 40_020_000, 0, 0, 0));
    lines.push(record("exit", 40_030_000, 0, 0, 0));
    lines.push(end(0, 0));
    lines
}

/// If both belonged to one user, the last claim would succeed; if 80 weighed as much as the other, it would get its turn at the end.
#[test]
fn who_pays_for_a_task_is_played_too() {
    assert_eq!(play(&of_two_users()).unwrap().difference, None);
    let mutations: [fn(&mut Vec<Value>); 2] = [
        |lines| lines.retain(|line| line["kind"] != "user"),
        |lines| lines[14]["value"] = json!(1024),
    ];
    for (number, mutate) in mutations.into_iter().enumerate() {
        let mut lines = of_two_users();
        mutate(&mut lines);
        assert!(play(&lines).unwrap().difference.is_some(), "{number}");
    }
}

/// Without the input of the rule, the task would not have moved; nor if its thread were one of two, nor with an unknown process. The preemption and
/// its CPU must match, too.
#[test]
fn what_the_rules_decide_by_has_to_be_in_the_log() {
    type Mutation = fn(&mut Vec<Value>);
    let mutations: [Mutation; 7] = [
        |lines| lines.retain(|line| line["kind"] != "preempt"),
        |lines| {
            let at = find(lines, "preempt", 5100);
            lines[at]["cpu"] = json!(0);
        },
        |lines| lines.retain(|line| !(line["kind"] == "started" && line["at_ns"] == 4100)),
        |lines| lines.retain(|line| !(line["kind"] == "stopped" && line["at_ns"] == 5000)),
        |lines| lines[5]["value"] = json!(0),
        |lines| lines[0]["config"]["rules"] = json!(0),
        |lines| {
            lines.insert(6, thread("task", 81, 8, ALL));
            lines.insert(20, record("placed", 4500, 81, 1, 0));
            lines.insert(20, record("wake", 4500, 81, 1, 0));
        },
    ];
    for (number, mutate) in mutations.into_iter().enumerate() {
        let mut lines = sequential();
        mutate(&mut lines);
        assert!(play(&lines).unwrap().difference.is_some(), "{number}");
    }
}

/// A flag, a length and a parallelism reach the policy; a log cannot have them for a task without a process.
#[test]
fn what_is_said_is_played() {
    let mut lines = sequential();
    let at = find(&lines, "stopped", 5000);
    let said = ["spin", "hints", "length", "declare", "ended", "dequeue"];
    lines.splice(at..at, said.map(|kind| record(kind, 4900, 80, 0, 0)));
    assert_eq!(play(&lines).unwrap().difference, None);
    lines[at] = record("spin", 4900, 80, 0, 1); // the fast core is not given to a spinning task
    assert!(play(&lines).unwrap().difference.is_some());
    for kind in ["length", "declare"] {
        let mut lines = sequential();
        lines[5]["value"] = json!(0);
        lines.insert(at, record(kind, 4900, 80, 0, 2));
        assert!(format!("{:#}", play(&lines).unwrap_err()).contains("process"));
    }
}

/// Two memory domains of two CPUs, and plans that assign threads to them.
fn planned() -> Vec<Value> {
    let mut begin = begin();
    begin["machine"]["nr_memory_domains"] = json!(2);
    for cpu in 0..4 {
        begin["machine"]["cpus"][cpu]["memory_domain"] = json!(cpu / 2);
    }
    begin["config"]["domains"] = json!("gather");
    log(
        begin,
        3,
        &[cpus("task", 70, ALL), cpus("task", 80, ALL)],
        &[
            record("idle", 3500, 0, 0, 0),
            record("started", 3500, 70, 0, 0),
            record("domain", 4000, 70, 0, 1), // the second one, and it runs in the first
            record("leaves", 4000, 70, 0, 0),
            record("enqueue", 4500, 70, 0, 0),
            record("set", 4500, 0, 2, 1), // the one CPU there that is online is high for it
            record("placed", 4500, 70, 2, 1), // and idle
            record("idle", 4600, 0, 2, 0),
            record("idle", 4600, 0, 0, 1),
            record("started", 4700, 70, 2, 0),
            record("timer", 10_004_500, 0, 0, 0),
            record("set", 10_004_500, 0, 1, 0), // a surplus of one for 10 ms; it joined after CPU 0
            record("domain-off", 11_000_000, 0, 0, 0),
            record("set", 11_000_000, 0, 0, 0),
            record("wake", 12_000_000, 80, 0, 0), // one CPU that is on does not suffice for two tasks
            record("set", 12_000_000, 0, 1, 1),   // it left before CPU 0
            record("set", 12_000_000, 0, 0, 1),   // target 3
            record("placed", 12_000_000, 80, 0, 1),
            record("domain", 13_000_000, 70, 2, u32::MAX), // in any
            record("rest", 13_000_000, 0, 0, 0),
            record("exit", 14_000_000, 0, 0, 0),
        ],
    )
}

/// One of three CPUs is reserved: CPU 0, as none is slower. Task 70 is the system's own work and never ends, so after 100 ms at the low speed and
/// 100 ms at the high speed the CPU becomes an ordinary one.
fn reserved() -> Vec<Value> {
    let mut begin = begin();
    begin["config"]["sizing"] = json!("all");
    begin["config"]["reserve"] = json!("asked");
    vec![
        begin,
        record("start", 1000, 0, 0, 0),
        record("reserved", 1000, 0, 0, 0),
        record("set", 1000, 0, 1, 1),
        record("set", 1000, 0, 2, 1),
        record("set", 1000, 0, 0, 0),
        cpus("task", 70, ALL),
        cpus("task", 80, ALL),
        record("idle", 2000, 0, 0, 1),
        record("idle", 2000, 0, 1, 1),
        record("idle", 2000, 0, 2, 1),
        record("wake", 3000, 70, 1, 2), // the system's own
        record("placed", 3000, 70, 0, 1),
        record("idle", 3100, 0, 0, 0),
        record("started", 3100, 70, 0, 0),
        record("wake", 4000, 80, 1, 0),
        record("placed", 4000, 80, 1, 1),
        record("timer", 100_001_000, 0, 0, 0),
        record("reserved", 100_001_000, 0, 0, 1),
        record("timer", 200_001_000, 0, 0, 0),
        record("set", 200_001_000, 0, 0, 1),
        record("exit", 300_000_000, 0, 0, 0),
        end(0, 0),
    ]
}

#[test]
fn plans_and_a_reserved_core_are_played_too() {
    for (lines, calls, decisions) in [(planned(), 17, 13), (reserved(), 10, 8)] {
        let outcome = play(&lines).unwrap();
        assert_eq!(outcome.difference, None);
        assert_eq!((outcome.calls, outcome.decisions), (calls, decisions));
    }
}

/// Each order, property of a woken task, setting and decision matters: without it, or with another value, the rest of the log does not follow.
#[test]
fn what_plans_and_a_reserved_core_decide_by_has_to_be_in_the_log() {
    type Mutation = (fn() -> Vec<Value>, &'static str, u64, fn(&mut Vec<Value>, usize));
    let remove: fn(&mut Vec<Value>, usize) = |lines, at| drop(lines.remove(at));
    let mutations: [Mutation; 14] = [
        (planned, "domain", 4000, remove),
        (planned, "domain", 4000, |lines, at| lines[at]["value"] = json!(0)),
        (planned, "domain", 4000, |lines, at| lines[at]["cpu"] = json!(2)),
        (planned, "leaves", 4000, remove),
        (planned, "domain-off", 11_000_000, remove),
        (planned, "domain-off", 11_000_000, |lines, at| {
            lines[at]["value"] = json!(1)
        }),
        (planned, "domain-off", 11_000_000, |lines, at| {
            lines[at]["kind"] = json!("domain-on")
        }),
        (planned, "start", 1000, |lines, _| {
            lines[0]["config"]["domains"] = json!("as-come")
        }),
        (reserved, "wake", 3000, |lines, at| lines[at]["value"] = json!(0)),
        (reserved, "reserved", 100_001_000, remove),
        (reserved, "timer", 100_001_000, remove),
        (reserved, "idle", 3100, remove),
        (reserved, "start", 1000, |lines, _| {
            lines[0]["config"]["reserve"] = json!("never")
        }),
        (reserved, "start", 1000, |lines, _| {
            lines[0]["config"]["reserve_raises"] = json!(2)
        }),
    ];
    for (number, (log, kind, at_ns, mutate)) in mutations.into_iter().enumerate() {
        let mut lines = log();
        let at = find(&lines, kind, at_ns);
        mutate(&mut lines, at);
        assert!(
            play(&lines).unwrap().difference.is_some(),
            "{number}: {kind} at {at_ns}"
        );
    }
}

/// Faulty records are refused with their line and the reason.
#[test]
fn what_no_program_can_have_written_is_refused() {
    type Mutation = (fn() -> Vec<Value>, &'static str, &'static str, Value, &'static str);
    let mutations: [Mutation; 11] = [
        (planned, "domain", "value", json!(2), "memory domain 2 is none"),
        (planned, "domain", "cpu", json!(512), "CPU 512 is none"),
        (planned, "domain", "task", json!(90), "task 90 was not introduced"),
        (
            planned,
            "domain-off",
            "value",
            json!(u32::MAX),
            "memory domain 4294967295 is none",
        ),
        (planned, "domain-off", "value", json!(-1), "invalid value"),
        (planned, "rest", "kind", json!("restless"), "unknown variant `restless`"),
        (planned, "rest", "kind", json!("speed"), "asks something of the loader"),
        (planned, "rest", "at_ns", Value::Null, "invalid type"),
        (reserved, "wake", "value", json!(8), "no task wakes as 8"),
        (reserved, "task", "words", json!([1, 2]), "no set of CPUs"),
        (reserved, "task", "words", json!("all"), "invalid type"),
    ];
    for (log, kind, field, value, expected) in mutations {
        let mut lines = log();
        let at = lines.iter().position(|line| line["kind"] == kind).unwrap();
        lines[at][field] = value;
        refused_at(&lines, at, expected);
    }
    for (field, value, expected) in [
        ("domains", json!("apart"), "unknown variant `apart`"),
        ("reserve", json!("perhaps"), "unknown variant `perhaps`"),
        ("room", Value::Null, "invalid type"),
    ] {
        let mut lines = planned();
        lines[0]["config"][field] = value;
        refused_at(&lines, 0, expected);
    }
    for (field, value) in [
        ("number", 512),
        ("tier", 16),
        ("memory_domain", 256),
        ("node", 64),
        ("socket", 64),
    ] {
        let mut lines = planned();
        lines[0]["machine"]["cpus"][1][field] = json!(value);
        refused_at(&lines, 0, "is more than the policy has room for");
    }
}

fn refused_at(lines: &[Value], at: usize, expected: &str) {
    let error = format!("{:#}", play(lines).unwrap_err());
    assert!(error.contains(expected), "{error}");
    assert!(error.starts_with(&format!("line {}", at + 1)), "{error}");
}

fn play(lines: &[Value]) -> Result<Outcome> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    replay(text.as_bytes())
}

/// Index of the first line with this kind and time.
fn find(lines: &[Value], kind: &str, at_ns: u64) -> usize {
    let wanted = |line: &&Value| line["kind"] == kind && line["at_ns"] == at_ns;
    lines.iter().position(|line| wanted(&line)).unwrap()
}

#[test]
fn a_log_that_follows_the_rules_is_the_same_step_by_step() {
    let outcome = play(&good()).unwrap();
    assert_eq!(outcome.difference, None);
    assert_eq!((outcome.calls, outcome.decisions, outcome.loads), (15, 11, 1));
}

#[test]
fn each_mutation_is_found_at_its_line() {
    type Mutation = (&'static str, u64, fn(&mut Vec<Value>, usize));
    let mutations: [Mutation; 8] = [
        ("set", 3000, |lines, at| lines[at]["cpu"] = json!(2)),
        ("placed", 3000, |lines, at| lines[at]["cpu"] = json!(1)),
        ("placed", 4000, |lines, at| lines[at]["value"] = json!(0)),
        ("set", 4000, |lines, at| lines[at]["value"] = json!(0)),
        ("set", 12_000_000, |lines, at| lines.swap(at, at + 1)),
        ("timer", 10_004_999, |lines, at| {
            lines.insert(at + 1, record("set", 10_004_999, 0, 2, 0))
        }),
        ("idle", 3500, |lines, at| {
            lines.insert(at + 1, record("set", 3500, 0, 3, 1))
        }),
        ("set", 10_005_000, |lines, at| drop(lines.remove(at))),
    ];
    for (kind, at_ns, mutate) in mutations {
        let mut lines = good();
        let at = find(&lines, kind, at_ns);
        mutate(&mut lines, at);
        let difference = play(&lines).unwrap().difference;
        let line = difference.as_ref().map_or(0, |difference| difference.line);
        assert!((at + 1..=at + 2).contains(&line), "{kind} at {at_ns}: {difference:?}");
    }
}

/// If a call is left out, the sets differ from the kernel's.
#[test]
fn a_missing_call_is_a_difference() {
    let good = good();
    for (kind, at_ns) in [("wake", 3000), ("block", 5000), ("online", 11_000_000), ("start", 1000)] {
        let mut lines = good.clone();
        lines.remove(find(&good, kind, at_ns));
        assert!(play(&lines).unwrap().difference.is_some(), "{kind} at {at_ns}");
    }
}

#[test]
fn a_program_that_is_loaded_again_begins_anew() {
    let twice = [good(), good()].concat();
    let outcome = play(&twice).unwrap();
    assert_eq!((outcome.loads, outcome.decisions, outcome.difference), (2, 22, None));
}

#[test]
fn what_is_no_whole_log_is_refused() {
    let cut = &good()[..22];
    let without_task: Vec<Value> = good().into_iter().filter(|line| line["kind"] != "task").collect();
    let ended = |lost, unordered| {
        let mut lines = good();
        *lines.last_mut().unwrap() = end(lost, unordered);
        lines
    };
    for (lines, expected) in [
        (cut.to_vec(), "does not end"),
        (without_task, "task 70 was not introduced"),
        (ended(3, 0), "3 records were lost"),
        (ended(0, 2), "2 calls were made out of order"),
        (good()[1..].to_vec(), "no machine"),
        (vec![begin(), end(0, 0)], "no calls"),
        (vec![json!({"kind": "dance"})], "none of a log"),
        (vec![begin(), begin()], "no end"),
    ] {
        let error = format!("{:#}", play(&lines).unwrap_err());
        assert!(error.contains(expected), "{error}");
    }
}
