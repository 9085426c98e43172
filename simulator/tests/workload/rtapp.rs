// SPDX-License-Identifier: MIT OR Apache-2.0
//! rt-app's JSON: what each key becomes, and what is refused.

use lop_machine::input::Override;
use lop_simulator::workload::*;

fn parse(text: &str) -> Spec {
    rtapp::read("w.json", text).unwrap_or_else(|e| panic!("{e}"))
}

fn program<'a>(workload: &'a Workload, name: &str) -> &'a Program {
    workload
        .programs
        .iter()
        .find(|p| p.name == name)
        .unwrap_or_else(|| panic!("no task {name}"))
}

const US: u64 = 1000;

fn run(us: u64) -> Step {
    Step::Run {
        work: Amount::Fixed(us * US),
        class: 0,
    }
}

#[test]
fn a_task_loops_for_ever_by_default() {
    let spec = parse(r#"{ "tasks" : { "t" : { "run" : 10, "sleep" : 20 } } }"#);
    let workload = spec.build(1);
    let expected = [
        Step::Repeat { times: None, end: 4 },
        run(10),
        Step::Sleep(Amount::Fixed(20 * US)),
        Step::EndRepeat { start: 0 },
    ];
    assert_eq!(program(&workload, "t").steps, expected);
    assert_eq!(workload.duration_ns, Some(60_000_000_000));
    assert_eq!(
        spec.notes,
        ["tasks loop for ever and no duration is given: runs for 60 s"]
    );
}

#[test]
fn comments_trailing_commas_bare_keys_and_repeated_keys() {
    let text = r#"{
        /* what workgen repairs */
        "tasks" : {
            "t" : {
                "loop" : 1,
                "suspend", // without a value
                "run" : 1,
                "run" : 2,
                "resume" : "t",
            },
        },
    }"#;
    let workload = parse(text).build(1);
    let expected = [
        Step::Wait {
            condition: 0,
            mutex: None,
        },
        run(1),
        run(2),
        Step::Broadcast(0),
    ];
    assert_eq!(program(&workload, "t").steps, expected);
    assert_eq!(workload.conditions[0].name, "t");
    assert!(!workload.conditions[0].counting, "a resume that finds nobody is lost");
}

#[test]
fn phases_run_in_order_each_as_often_as_it_says() {
    let text = r#"{ "tasks" : { "t" : { "loop" : 2, "phases" : {
        "a" : { "loop" : 3, "run" : 1 },
        "b" : { "run" : 2 },
        "b" : { "run" : 3 }
    } } } }"#;
    let expected = [
        Step::Repeat { times: Some(2), end: 7 },
        Step::Repeat { times: Some(3), end: 4 },
        run(1),
        Step::EndRepeat { start: 1 },
        run(2),
        run(3),
        Step::EndRepeat { start: 0 },
    ];
    assert_eq!(program(&parse(text).build(1), "t").steps, expected);
}

#[test]
fn every_event_and_property() {
    let spec = rtapp::read("every-key.json", include_str!("../data/every-key.json")).unwrap_or_else(|e| panic!("{e}"));
    let workload = spec.build(1);
    assert_eq!(
        (workload.name.as_str(), workload.duration_ns),
        ("every-key", Some(5_000_000_000))
    );
    let worker = program(&workload, "worker");
    assert_eq!(worker.nice, -5);
    assert_eq!(worker.cpus, Some([0, 3].into()));
    let expected = [
        Step::Repeat {
            times: Some(4),
            end: 21,
        },
        run(100),
        run(200),
        Step::Run {
            work: Amount::Fixed(250),
            class: 1,
        },
        Step::Sleep(Amount::Fixed(2_000_000)),
        Step::Timer {
            timer: 0,
            period: Amount::Fixed(10_000_000),
        },
        Step::Timer {
            timer: 1,
            period: Amount::Fixed(5_000_000),
        },
        Step::Lock(0),
        Step::Wait {
            condition: 0,
            mutex: Some(0),
        },
        Step::Signal(0),
        Step::Wait {
            condition: 0,
            mutex: Some(0),
        },
        Step::Unlock(0),
        Step::Signal(0),
        Step::Broadcast(0),
        Step::Broadcast(0),
        Step::Barrier(0),
        Step::Wait {
            condition: 1,
            mutex: None,
        },
        Step::Broadcast(2),
        Step::Fork { program: 1, count: 1 },
        Step::Yield,
        Step::EndRepeat { start: 0 },
    ];
    assert_eq!(worker.steps, expected);
    assert_eq!(workload.memory_shares, [0.0, 1.0]);
    // two instances of worker and one use by other
    assert_eq!(workload.barriers[0].parties, 3);
    let names: Vec<(&str, u32)> = (workload.starts.iter())
        .map(|s| (workload.programs[s.program as usize].name.as_str(), s.count))
        .collect();
    assert_eq!(names, [("worker", 2), ("other", 1)]);
    assert_eq!(workload.starts[0].at, Amount::Fixed(500 * US));
    assert_eq!(
        program(&workload, "other").cpus,
        Some([0, 1, 2].into()),
        "the CPUs of all phases"
    );
    let notes = spec.notes.join("\n");
    for part in [
        "runtime",
        "mem is",
        "iorun is",
        "SCHED_FIFO",
        "SCHED_IDLE",
        "util_min",
        "taskgroup",
        "deadline",
        "binding",
        "phases on different CPUs",
        "priority and policy of phases",
        "timer 'tick'",
        "relative timers",
    ] {
        assert!(notes.contains(part), "no note about {part} in\n{notes}");
    }
}

#[test]
fn the_old_form() {
    let text = r#"{
        "tasks" : {
            "a" : { "exec" : 1000, "period" : 5000, "lock_order" : ["m", "go"],
                    "resources" : { "m" : { "duration" : 300 }, "go" : { "access" : ["x"] } } },
            "b" : { "exec" : 100, "period" : 5000, "sleep" : false, "lock_order" : ["w"],
                    "resources" : { "w" : { "duration" : 0, "access" : ["x"] } } }
        },
        "resources" : { "w" : { "type" : "wait" }, "go" : { "type" : "signal", "target" : "w" } },
        "global" : { "duration" : 1 }
    }"#;
    let workload = parse(text).build(1);
    let a = [
        Step::Repeat { times: None, end: 8 },
        Step::Lock(0),
        run(300),
        Step::Unlock(0),
        Step::Signal(0),
        run(700),
        Step::Timer {
            timer: 0,
            period: Amount::Fixed(5_000_000),
        },
        Step::EndRepeat { start: 0 },
    ];
    assert_eq!(program(&workload, "a").steps, a);
    let b = [
        Step::Repeat { times: None, end: 6 },
        Step::Lock(1),
        Step::Wait {
            condition: 0,
            mutex: Some(1),
        },
        Step::Unlock(1),
        run(100),
        Step::EndRepeat { start: 0 },
    ];
    assert_eq!(program(&workload, "b").steps, b);
}

#[test]
fn what_is_wrong_is_named_with_line_and_key() {
    let cases = [
        (
            "{\"tasks\" : {\n\"t\" : { \"run\" : 1, \"speed\" : 3 }}}",
            2,
            "tasks.t.speed",
            "unknown key",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"run\" : -5 }}}",
            2,
            "tasks.t.run",
            "us of work as a whole number from 0",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"run\" : \"5\" }}}",
            2,
            "tasks.t.run",
            "found a string",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"run\" : 1.5 }}}",
            2,
            "tasks.t.run",
            "found 1.5",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"run\" : 1,\n\"cpus\" : [600] }}}",
            3,
            "tasks.t.cpus",
            "from 0 to 511",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"run\" : 1,\n\"cpus\" : [] }}}",
            3,
            "tasks.t.cpus",
            "at least one CPU",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"run\" : 1,\n\"loop\" : 0 }}}",
            3,
            "tasks.t.loop",
            "expected -1",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"run\" : 1,\n\"loop\" : 1, \"loop\" : 2 }}}",
            3,
            "tasks.t.loop",
            "given twice",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"run\" : 1,\n\"policy\" : \"BEST\" }}}",
            3,
            "tasks.t.policy",
            "unknown policy 'BEST'",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"run\" : 1,\n\"priority\" : 40 }}}",
            3,
            "tasks.t.priority",
            "from -20 to 19",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"loop\" : 1,\n\"lock\" : \"m\" }}}",
            3,
            "tasks.t.lock",
            "never unlocked",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"run\" : 1,\n\"unlock\" : \"m\" }}}",
            3,
            "tasks.t.unlock",
            "without being held",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"run\" : 1,\n\"fork\" : \"x\" }}}",
            3,
            "tasks.t.fork",
            "no task is named 'x'",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"run\" : 1,\n\"fork\" : \"t\" }}}",
            3,
            "tasks.t.fork",
            "cycle: t starts t",
        ),
        ("{\"tasks\" : {\n\"t\" : { \"loop\" : 3 }}}", 2, "tasks.t", "no events"),
        (
            "{\"tasks\" : {\n\"t\" : { \"yield\" : \"\" }}}",
            2,
            "tasks.t.loop",
            "take no time",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"timer\" : { \"ref\" : \"x\", \"perod\" : 1 }}}}",
            2,
            "tasks.t.timer.perod",
            "unknown key",
        ),
        ("{\"tasks\" : {},\n\"globl\" : {}}", 2, "globl", "unknown section"),
        (
            "{\"tasks\" : {},\n\"global\" : { \"speed\" : 1 }}",
            2,
            "global.speed",
            "unknown key",
        ),
        (
            "{\"tasks\" : {},\n\"global\" : { \"duration\" : 0 }}",
            2,
            "global.duration",
            "expected -1",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"instance\" : -1, \"run\" : 1 }}}",
            2,
            "tasks.t.instance",
            "from 0 to 1000000",
        ),
        (
            "{\"tasks\" : {\n\"t\" : { \"loop\" : 1,\n\"barrier\" : \"b\", \"run\" : 1, \"barrier1\" : \"b\" }}}",
            3,
            "tasks.t.barrier",
            "2 parties, but at most 1 tasks",
        ),
    ];
    for (text, line, key, says) in cases {
        let error = rtapp::read("w.json", text).expect_err(text);
        let shown = error.to_string();
        assert_eq!(
            (error.line, error.key.as_deref()),
            (Some(line), Some(key)),
            "{shown}\n{text}"
        );
        assert!(shown.contains(says), "{shown}");
    }
}

#[test]
fn broken_json_is_named_with_its_line() {
    for (text, line, says) in [
        ("", 1, "expected an object"),
        ("{\n\"tasks\" : {", 2, "found the end of the file"),
        ("{\n\"tasks\" 5 }", 2, "expected ','"),
        ("{ \"tasks\" : {} }\n{}", 2, "nothing after"),
        ("{\n/* never closed", 2, "no JSON"),
        ("{\n\"a\" : 'x' }", 2, ""),
    ] {
        let error = rtapp::read("w.json", text).expect_err(text);
        assert_eq!(error.line, Some(line), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let deep = "[".repeat(100_000);
    let error = rtapp::read("w.json", &format!("{{ \"tasks\" : {deep}")).unwrap_err();
    assert!(error.to_string().contains("at most 32 levels"), "{error}");
}

#[test]
fn overrides_of_an_rt_app_file_are_refused() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/every-key.json");
    assert!(load(path, &[]).is_ok());
    let set = Override {
        key: "duration_s".into(),
        value: "1".into(),
    };
    let error = load(path, &[set]).unwrap_err().to_string();
    assert!(
        error.contains("duration_s") && error.contains("edit the file"),
        "{error}"
    );
}
