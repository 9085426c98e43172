// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever is wrong ends with file, line, key and what was expected.

#[path = "../../../machine/tests/cases/mod.rs"]
mod cases;

use cases::{check, check_replacements, rows};
use lop_machine::input::Override;
use lop_simulator::workload::{load, read};

/// The error for a workload file names this line and key, contains `says`, and tells the way out.
fn refuse(text: &str, line: &str, key: &str, says: &str) {
    let line = line.parse().expect("a line number");
    let error = check(read("w.toml", text), text, Some(line), key, says);
    let message = &error.message;
    assert_eq!(error.file, "w.toml");
    let ways_out = ["expected", "known", "belongs to"];
    assert!(ways_out.iter().any(|way| message.contains(way)), "no way out: {error}");
}

/// Rows of whole files: text, line, key, part of the message.
fn refused(table: &str) {
    for [text, line, key, says] in rows(table) {
        refuse(&text, &line, &key, &says);
    }
}

/// Rows of the steps of one task and a part of the message.
fn refused_steps(table: &str) {
    for [steps, says] in rows(table) {
        refuse(&format!("[task.a]\nsteps = [{steps}]\n"), "2", "task.a.steps", &says);
    }
}

#[test]
fn numbers_and_types() {
    refused_steps(
        r#"
{ run_ms = -1 } | expected a number from 0, found -1
{ run_ms = nan } | found NaN
{ run_s = 2e9 } | at most 1e9 s
{ run_ms = "5" } | expected a number, { mean, cv }
{ run_ms = { mean = 1, min = 2 } } | expected { mean, cv }
{ run_ms = { mean = 1, cv = -2 } } | coefficient of variation
{ run_ms = { min = 5, max = 3 } } | min <= max
{ run_ms = { mean = inf } } | found inf
{ repeat = 1000000, steps = [{ run_s = 1001 }] } | lasts longer than 1e9 s
{ repeat = 2000000000, steps = [{ run_ms = 1 }] } | from 1 to 1000000000
{ timer_ms = 0 } | period above 0
{ timer_ms = { min = 0, max = 5 } } | period above 0
{ repeat = 0, steps = [{ run_ms = 1 }] } | whole number from 1
{ repeat = "often", steps = [{ run_ms = 1 }] } | forever
{ run_ms = 1, memory_share = 1.5 } | share from 0 to 1
"#,
    );
    refused(
        r#"
scale = 0\n[task.a]\nsteps = [] | 1 | scale | factor above 0
duration_s = 0\n[task.a]\nsteps = [] | 1 | duration_s | above 0
memory_share = -0.1\n[task.a]\nsteps = [] | 1 | memory_share | share from 0 to 1
[task.a]\nnice = 20\nsteps = [] | 2 | task.a.nice | nice from -20 to 19
[task.a]\ncgroup_weight = 0\nsteps = [] | 2 | task.a.cgroup_weight | from 1 to 10000
[task.a]\ncount = -1\nsteps = [] | 2 | task.a.count | -1
[task.a]\ncount = 2000000\nsteps = [] | 2 | task.a.count | from 0 to 1000000
[task.a]\ncpus = []\nsteps = [] | 2 | task.a.cpus | at least one CPU
[task.a]\ncpus = [0, 512]\nsteps = [] | 2 | task.a.cpus | from 0 to 511
[task.a]\ncpus = [-1]\nsteps = [] | 2 | task.a.cpus | from 0 to 511
"#,
    );
}

#[test]
fn memory_uses() {
    const GOOD: &str = "[memory.x]\nmpki = 1\ncpi0 = 1\nmlp = 1\ncache_sensitivity = 0\n[task.a]\nsteps = []";
    let table = r#"
mpki = 1 | mpki = -1 | 2 | memory.x.mpki | mpki = -1, expected 0 to 1000
mpki = 1 | mpki = nan | 2 | memory.x.mpki | expected 0 to 1000
mpki = 1 | mpki = "many" | 2 | memory.x.mpki | expected a number
mpki = 1 |  | 1 | memory.x | expected a number `mpki`
cpi0 = 1 | cpi0 = 0 | 3 | memory.x.cpi0 | expected 0.01 to 100
cpi0 = 1 | cpi = 1 | 3 | memory.x.cpi | unknown field `cpi`
mlp = 1 | mlp = 0.5 | 4 | memory.x.mlp | expected 1 to 100
sensitivity = 0 | sensitivity = 11 | 5 | memory.x.cache_sensitivity | expected 0 to 10
"#;
    check_replacements(GOOD, table, |text| read("w.toml", text));
    refused_steps(
        r#"
{ run_ms = 1, memory = "x" } | no memory use is named 'x'
{ run_ms = 1, memory = "mcf", memory_share = 0 } | found both
{ sleep_ms = 1, memory = "mcf" } | `memory` belongs to
{ memory = "mcf" } | a step without an action
"#,
    );
    refused(
        r#"
[task.a]\nmemory = "soplx"\nsteps = [{ run_ms = 1 }] | 2 | task.a.memory | no memory use is named 'soplx'; known: soplex, sphinx
[task.a]\nmemory = "mcf"\nmemory_share = 0.5\nsteps = [] | 2 | task.a.memory | either `memory` or `memory_share`, found both
[loop.l]\niterations = 1\nwork_us = 1\nparties = 1\nmemory = "x"\n[task.a]\nsteps = [] | 5 | loop.l.memory | no memory use is named 'x'
[task.a]\nsteps = [{ pool = "p" }]\n[pool.p]\nslots = 1\nphases = 1\nwork_s = 1\nmemory = "x" | 7 | pool.p.memory | no memory use is named 'x'
"#,
    );
}

/// One figure of a built-in use may be set by itself.
#[test]
fn memory_uses_are_overridden() {
    let set = |value: &str| {
        let change = Override {
            key: "memory.mcf.mpki".into(),
            value: value.into(),
        };
        load("mix-3", &[change])
    };
    let workload = set("7").unwrap().build(1);
    let mcf = workload.memory_uses.values().find(|u| u.name == "mcf").unwrap();
    assert_eq!((mcf.mpki, mcf.cpi0), (7.0, 1.2));
    let error = set("-7").unwrap_err();
    assert_eq!(error.key.as_deref(), Some("memory.mcf.mpki"), "{error}");
}

#[test]
fn unknown_keys_and_names() {
    refused_steps(
        r#"
{ rnu_ms = 1 } | unknown field `rnu_ms`
{ lock = "m" } | no mutex is named 'm'; expected a table [mutex.m]
{ barrier = "b" } | no barrier is named 'b'
{ fork = "b" } | no task is named 'b'; known: a
{ signal = "c" } | no condition is named 'c'
{ loop = "l" } | no loop is named 'l'
{ pool = "p" } | no pool is named 'p'
{ join = "nobody" } | no task is named 'nobody'
{ join = "a" } | never forks
"#,
    );
    refused(
        r#"
[task.a]\nsteps = []\ncolour = 1 | 3 | task.a.colour | unknown field `colour`
[tusk.a]\nsteps = [] | 1 | tusk.a | unknown field `tusk`
[task.a]\nsteps = [{ lock = "m" }]\n[mutex.n] | 2 | task.a.steps | known: n
[task.a]\napp = "x"\nsteps = [] | 2 | task.a.app | no app is named 'x'
[task.a]\nafter = ["x"]\nsteps = [] | 2 | task.a.after | no task is named 'x'
[task.all]\nsteps = [{ run_ms = 1 }] | 1 | task.all | expected another name
[barrier.b]\nparties = 1\nwaiting = "doze"\n[task.a]\nsteps = [] | 3 | barrier.b.waiting | doze
"#,
    );
}

#[test]
fn steps_that_do_not_fit_together() {
    refused_steps(
        r#"
{ run_ms = 1, sleep_ms = 1 } | two actions in one step
{ count = 1 } | without an action
{ run_ms = 1, count = 2 } | `count` belongs to `fork`
{ repeat = 2 } | expected `steps` beside `repeat`
{ repeat = 2, steps = [] } | at least one step
{ run_ms = 1, steps = [] } | `steps` belongs to `repeat`
{ yield = false } | expected true
"#,
    );
}

#[test]
fn locks() {
    refused(
        r#"
[task.a]\nsteps = [{ lock = "m" }, { run_ms = 1 }]\n[mutex.m] | 2 | task.a.steps | mutex 'm' is never unlocked
[task.a]\nsteps = [{ unlock = "m" }]\n[mutex.m] | 2 | task.a.steps | unlocked without being held
[task.a]\nsteps = [{ lock = "m" }, { lock = "m" }]\n[mutex.m] | 2 | task.a.steps | locked while it is held
[task.a]\nsteps = [{ repeat = 2, steps = [{ lock = "m" }] }, { unlock = "m" }]\n[mutex.m] | 2 | task.a.steps | as it found it
[task.a]\nsteps = [{ lock = "m" }, { repeat = 2, steps = [{ unlock = "m" }] }]\n[mutex.m] | 2 | task.a.steps | as it found it
[task.a]\nsteps = [{ wait = "c", mutex = "m" }]\n[mutex.m]\n[condition.c] | 2 | task.a.steps | 'm' is not held
[mutex.m]\n[task.a]\nsteps = [\n  { run_ms = 1 },\n  { lock = "m" },\n] | 5 | task.a.lock | never unlocked
"#,
    );
}

#[test]
fn parties() {
    refused(
        r#"
[barrier.b]\nparties = 0\n[task.a]\nsteps = [{ barrier = "b" }] | 2 | barrier.b.parties | from 1
[task.a]\ncount = 3\nsteps = [{ barrier = "b" }]\n[barrier.b]\nparties = 4 | 5 | barrier.b.parties | 4 parties, but at most 3 tasks
[task.a]\nsteps = [{ repeat = 2, steps = [{ fork = "b", count = 2 }, { join = "all" }] }]\n[task.b]\ncount = 0\nsteps = [{ barrier = "b" }]\n[barrier.b]\nparties = 5 | 7 | barrier.b.parties | at most 4 tasks
[task.a]\nsteps = [{ loop = "l" }]\n[loop.l]\niterations = 5\nwork_us = 1\nparties = 2 | 6 | loop.l.parties | at most 1 tasks
"#,
    );
}

#[test]
fn forks_that_reach_a_barrier_count() {
    let text = "[task.a]\nsteps = [{ repeat = 2, steps = [{ fork = \"b\", count = 2 }] }, { join = \"all\" }]\n\
                [task.b]\ncount = 0\nsteps = [{ barrier = \"b\" }]\n[barrier.b]\nparties = 4";
    assert!(read("w.toml", text).is_ok());
}

#[test]
fn cycles() {
    refused(
        r#"
[task.a]\nafter = ["b"]\nsteps = [{ run_ms = 1 }]\n[task.b]\nafter = ["a"]\nsteps = [] | 1 | task.a | cycle: a after b after a
[task.a]\nsteps = [{ fork = "a" }] | 2 | task.a.steps | cycle: a starts a
[task.a]\nsteps = [{ fork = "b" }]\n[task.b]\ncount = 0\nsteps = [{ run_ms = 1 }, { fork = "a" }] | 2 | task.a.steps | cycle: a starts b starts a
[task.a]\nsteps = [{ pool = "p" }]\n[pool.p]\nslots = 1\nitems = [{ stages = ["a"] }] | 2 | task.a.steps | cycle: a starts pool p starts a
[task.a]\nsteps = [{ pool = "p" }]\n[task.s]\ncount = 0\nsteps = []\n[pool.p]\nslots = 1\nitems = [\n{ name = "x", stages = ["s"], after = ["y"] },\n{ name = "y", stages = ["s"], after = ["x"] },\n] | 9 | pool.p.name | cycle: x after y after x
"#,
    );
}

#[test]
fn empty_and_endless() {
    refused_steps(
        r#"
{ repeat = "forever", steps = [{ run_ms = 1 }] } | duration_s
{ repeat = 2000000, steps = [{ yield = true }] } | take no time
"#,
    );
    refused(
        r#"
[task.a]\nsteps = [] | 1 | task.a | at least one step
[task.a]\ncount = 0\nsteps = [{ run_ms = 1 }] | 1 | task.a | starts by itself
[task.a]\narrivals = { every_ms = 1 }\nsteps = [{ run_ms = 1 }] | 1 | task.a | expected `limit`, or `duration_s`
duration_s = 1\n[task.a]\narrivals = { every_ms = 0 }\nsteps = [{ run_ms = 1 }] | 2 | task.a | interval above 0
[task.a]\narrivals = { limit = 1 }\nsteps = [{ run_ms = 1 }] | 2 | task.a.arrivals | every_ms
"#,
    );
    let error = read("w.toml", "").unwrap_err();
    assert!(error.to_string().contains("expected at least one task"), "{error}");
}

#[test]
fn sizes() {
    refused(
        r#"
[task.a]\ncount = 1000\nsteps = [{ fork = "b", count = 1001 }]\n[task.b]\ncount = 0\nsteps = [{ run_ms = 1 }] | 4 | task.b | expected at most 1000000
duration_s = 1000\n[task.a]\narrivals = { every_us = 1 }\nsteps = [{ run_ms = 1 }] | 2 | task.a | expected at most 1000000
"#,
    );
    let nested = |depth: usize| {
        let (open, close) = ("{ repeat = 1, steps = [".repeat(depth), "]}".repeat(depth));
        read("w.toml", &format!("[task.a]\nsteps = [{open}{{ run_us = 1 }}{close}]"))
    };
    assert!(nested(32).is_ok());
    assert!(nested(33).unwrap_err().to_string().contains("at most 32"));
    assert!(nested(100_000).unwrap_err().to_string().contains("max recursion depth"));
}

#[test]
fn pools() {
    let table = r#"
slots = 0\nphases = 1\nwork_s = 1 | 4 | pool.p.slots | slots from 1
slots = 1 | 3 | pool.p | expected `phases` and `work_s`
slots = 1\nphases = 2000000\nwork_s = 1 | 5 | pool.p.phases | from 1 to 1000000
slots = 1\nphases = 2\nwork_s = 0 | 6 | pool.p.work_s | above 0
slots = 1\nphases = 2\nwork_s = nan | 6 | pool.p.work_s | found NaN
slots = 1\nphases = 2\nwork_s = 1\ncv = -1 | 7 | pool.p.cv | coefficient
slots = 1\nphases = 2\nwork_s = 1\nserial_tail = 2 | 7 | pool.p.serial_tail | share
slots = 1\nphases = 2\nitems = [] | 5 | pool.p.phases | belongs to a drawn pool
slots = 1\nitems = [] | 5 | pool.p.items | 1 to 1000000 items
slots = 1\nitems = [{ stages = ["x"] }] | 5 | pool.p.items | no task is named 'x'
slots = 1\nitems = [{ stages = [] }] | 5 | pool.p.items | at least one stage
slots = 1\nphases = 9\nwork_s = 1\n[pool.p.graph]\ndirectories = 4\nstages = { sh = 0.5, cc = 0.5 } | 8 | pool.p.graph.directories | expected at least one object in each
slots = 1\nphases = 9\nwork_s = 1\n[pool.p.graph]\ndirectories = 1\nstages = { sh = 0.5, cc = 0.6 } | 9 | pool.p.graph.stages | add up to 1
"#;
    for [body, line, key, says] in rows(table) {
        let text = format!("[task.a]\nsteps = [{{ pool = \"p\" }}]\n[pool.p]\n{body}");
        refuse(&text, &line, &key, &says);
    }
}

#[test]
fn files_and_names() {
    let error = load("no-such", &[]).unwrap_err().to_string();
    assert!(
        error.contains("no-such") && error.contains("kernel-build-graph"),
        "{error}"
    );
    let error = load("no-such.toml", &[]).unwrap_err().to_string();
    assert!(error.starts_with("no-such.toml: cannot be read"), "{error}");
    let set = Override {
        key: "pool.build.slots".into(),
        value: "0".into(),
    };
    let error = load("kernel-build", &[set]).unwrap_err().to_string();
    assert!(error.contains("pool.build.slots: expected slots from 1"), "{error}");
}

#[test]
fn a_file_of_100_megabytes_is_refused_unread() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("big.toml");
    std::fs::File::create(&path).unwrap().set_len(100 << 20).unwrap();
    let error = load(path.to_str().unwrap(), &[]).unwrap_err().to_string();
    assert!(error.contains("expected at most"), "{error}");
}

#[test]
fn what_is_odd_but_harmless_is_noted() {
    let spec = read(
        "w.toml",
        "[task.a]\nsteps = [{ run_ms = 1 }]\n[task.b]\ncount = 0\nsteps = [{ run_ms = 1 }]",
    )
    .unwrap();
    assert_eq!(spec.notes, ["never started by anything: b"]);
}
