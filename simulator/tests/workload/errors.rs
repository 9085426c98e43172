// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever is wrong ends with file, line, key and what was expected.

use lop_machine::input::Override;
use lop_simulator::workload::{load, read};

struct Case {
    text: String,
    line: usize,
    key: &'static str,
    says: &'static str,
}

fn case(text: &str, line: usize, key: &'static str, says: &'static str) -> Case {
    Case {
        text: text.to_string(),
        line,
        key,
        says,
    }
}

/// A task with these steps, in line 2, and tables after it.
fn steps(steps: &str, tables: &str, key: &'static str, says: &'static str) -> Case {
    case(&format!("[task.a]\nsteps = [{steps}]\n{tables}"), 2, key, says)
}

fn check(cases: Vec<Case>) {
    for case in cases {
        let error = match read("w.toml", &case.text) {
            Err(error) => error,
            Ok(_) => panic!("accepted:\n{}", case.text),
        };
        let shown = error.to_string();
        assert_eq!(error.line, Some(case.line), "{shown}\n{}", case.text);
        assert_eq!(error.key.as_deref(), Some(case.key), "{shown}\n{}", case.text);
        assert!(
            shown.starts_with("w.toml:") && shown.contains(case.says),
            "{shown}\n{}",
            case.text
        );
        assert!(
            shown.contains("expected") || shown.contains("known") || shown.contains("belongs to"),
            "no way out: {shown}"
        );
    }
}

#[test]
fn numbers_and_types() {
    check(vec![
        steps(
            "{ run_ms = -1 }",
            "",
            "task.a.steps",
            "expected a number from 0, found -1",
        ),
        steps("{ run_ms = nan }", "", "task.a.steps", "found NaN"),
        steps("{ run_s = 2e9 }", "", "task.a.steps", "at most 1e9 s"),
        steps(
            "{ run_ms = \"5\" }",
            "",
            "task.a.steps",
            "expected a number, { mean, cv }",
        ),
        steps(
            "{ run_ms = { mean = 1, min = 2 } }",
            "",
            "task.a.steps",
            "expected { mean, cv }",
        ),
        steps(
            "{ run_ms = { mean = 1, cv = -2 } }",
            "",
            "task.a.steps",
            "coefficient of variation",
        ),
        steps("{ run_ms = { min = 5, max = 3 } }", "", "task.a.steps", "min <= max"),
        steps("{ run_ms = { mean = inf } }", "", "task.a.steps", "found inf"),
        steps(
            "{ repeat = 1000000, steps = [{ run_s = 1001 }] }",
            "",
            "task.a.steps",
            "lasts longer than 1e9 s",
        ),
        steps(
            "{ repeat = 2000000000, steps = [{ run_ms = 1 }] }",
            "",
            "task.a.steps",
            "from 1 to 1000000000",
        ),
        steps("{ timer_ms = 0 }", "", "task.a.steps", "period above 0"),
        steps(
            "{ repeat = 0, steps = [{ run_ms = 1 }] }",
            "",
            "task.a.steps",
            "whole number from 1",
        ),
        steps(
            "{ repeat = \"often\", steps = [{ run_ms = 1 }] }",
            "",
            "task.a.steps",
            "forever",
        ),
        steps(
            "{ run_ms = 1, memory_share = 1.5 }",
            "",
            "task.a.steps",
            "share from 0 to 1",
        ),
        case("scale = 0\n[task.a]\nsteps = []", 1, "scale", "factor above 0"),
        case("duration_s = 0\n[task.a]\nsteps = []", 1, "duration_s", "above 0"),
        case(
            "memory_share = -0.1\n[task.a]\nsteps = []",
            1,
            "memory_share",
            "share from 0 to 1",
        ),
        case(
            "[task.a]\nnice = 20\nsteps = []",
            2,
            "task.a.nice",
            "nice from -20 to 19",
        ),
        case(
            "[task.a]\ncgroup_weight = 0\nsteps = []",
            2,
            "task.a.cgroup_weight",
            "from 1 to 10000",
        ),
        case("[task.a]\ncount = -1\nsteps = []", 2, "task.a.count", "-1"),
        case(
            "[task.a]\ncount = 2000000\nsteps = []",
            2,
            "task.a.count",
            "from 0 to 1000000",
        ),
        case("[task.a]\ncpus = []\nsteps = []", 2, "task.a.cpus", "at least one CPU"),
        case(
            "[task.a]\ncpus = [0, 512]\nsteps = []",
            2,
            "task.a.cpus",
            "from 0 to 511",
        ),
        case("[task.a]\ncpus = [-1]\nsteps = []", 2, "task.a.cpus", "from 0 to 511"),
    ]);
}

#[test]
fn memory_uses() {
    let table = "[memory.x]\nmpki = 1\ncpi0 = 1\nmlp = 1\ncache_sensitivity = 0\n[task.a]\nsteps = []";
    let with = |good: &str, bad: &str, line, key, says| case(&table.replacen(good, bad, 1), line, key, says);
    check(vec![
        with(
            "mpki = 1",
            "mpki = -1",
            2,
            "memory.x.mpki",
            "mpki = -1, expected 0 to 1000",
        ),
        with("mpki = 1", "mpki = nan", 2, "memory.x.mpki", "expected 0 to 1000"),
        with("mpki = 1", "mpki = \"many\"", 2, "memory.x.mpki", "expected a number"),
        with("mpki = 1", "", 1, "memory.x", "expected a number `mpki`"),
        with("cpi0 = 1", "cpi0 = 0", 3, "memory.x.cpi0", "expected 0.01 to 100"),
        with("cpi0 = 1", "cpi = 1", 3, "memory.x.cpi", "unknown field `cpi`"),
        with("mlp = 1", "mlp = 0.5", 4, "memory.x.mlp", "expected 1 to 100"),
        with(
            "sensitivity = 0",
            "sensitivity = 11",
            5,
            "memory.x.cache_sensitivity",
            "expected 0 to 10",
        ),
        case(
            "[task.a]\nmemory = \"soplx\"\nsteps = [{ run_ms = 1 }]",
            2,
            "task.a.memory",
            "no memory use is named 'soplx'; known: soplex, sphinx",
        ),
        case(
            "[task.a]\nmemory = \"mcf\"\nmemory_share = 0.5\nsteps = []",
            2,
            "task.a.memory",
            "either `memory` or `memory_share`, found both",
        ),
        steps(
            "{ run_ms = 1, memory = \"x\" }",
            "",
            "task.a.steps",
            "no memory use is named 'x'",
        ),
        steps(
            "{ run_ms = 1, memory = \"mcf\", memory_share = 0 }",
            "",
            "task.a.steps",
            "found both",
        ),
        steps(
            "{ sleep_ms = 1, memory = \"mcf\" }",
            "",
            "task.a.steps",
            "`memory` belongs to",
        ),
        steps("{ memory = \"mcf\" }", "", "task.a.steps", "a step without an action"),
        case(
            "[loop.l]\niterations = 1\nwork_us = 1\nparties = 1\nmemory = \"x\"\n[task.a]\nsteps = []",
            5,
            "loop.l.memory",
            "no memory use is named 'x'",
        ),
        case(
            "[task.a]\nsteps = [{ pool = \"p\" }]\n[pool.p]\nslots = 1\nphases = 1\nwork_s = 1\nmemory = \"x\"",
            7,
            "pool.p.memory",
            "no memory use is named 'x'",
        ),
    ]);
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
    check(vec![
        case(
            "[task.a]\nsteps = []\ncolour = 1",
            3,
            "task.a.colour",
            "unknown field `colour`",
        ),
        case("[tusk.a]\nsteps = []", 1, "tusk.a", "unknown field `tusk`"),
        steps("{ rnu_ms = 1 }", "", "task.a.steps", "unknown field `rnu_ms`"),
        steps(
            "{ lock = \"m\" }",
            "",
            "task.a.steps",
            "no mutex is named 'm'; expected a table [mutex.m]",
        ),
        steps("{ lock = \"m\" }", "[mutex.n]\n", "task.a.steps", "known: n"),
        steps("{ barrier = \"b\" }", "", "task.a.steps", "no barrier is named 'b'"),
        steps("{ fork = \"b\" }", "", "task.a.steps", "no task is named 'b'; known: a"),
        steps("{ signal = \"c\" }", "", "task.a.steps", "no condition is named 'c'"),
        steps("{ loop = \"l\" }", "", "task.a.steps", "no loop is named 'l'"),
        steps("{ pool = \"p\" }", "", "task.a.steps", "no pool is named 'p'"),
        steps("{ join = \"nobody\" }", "", "task.a.steps", "no task is named 'nobody'"),
        steps("{ join = \"a\" }", "", "task.a.steps", "never forks"),
        case(
            "[task.a]\napp = \"x\"\nsteps = []",
            2,
            "task.a.app",
            "no app is named 'x'",
        ),
        case(
            "[task.a]\nafter = [\"x\"]\nsteps = []",
            2,
            "task.a.after",
            "no task is named 'x'",
        ),
        case(
            "[task.all]\nsteps = [{ run_ms = 1 }]",
            1,
            "task.all",
            "expected another name",
        ),
        case(
            "[barrier.b]\nparties = 1\nwaiting = \"doze\"\n[task.a]\nsteps = []",
            3,
            "barrier.b.waiting",
            "doze",
        ),
    ]);
}

#[test]
fn steps_that_do_not_fit_together() {
    check(vec![
        steps(
            "{ run_ms = 1, sleep_ms = 1 }",
            "",
            "task.a.steps",
            "two actions in one step",
        ),
        steps("{ count = 1 }", "", "task.a.steps", "without an action"),
        steps(
            "{ run_ms = 1, count = 2 }",
            "",
            "task.a.steps",
            "`count` belongs to `fork`",
        ),
        steps("{ repeat = 2 }", "", "task.a.steps", "expected `steps` beside `repeat`"),
        steps("{ repeat = 2, steps = [] }", "", "task.a.steps", "at least one step"),
        steps(
            "{ run_ms = 1, steps = [] }",
            "",
            "task.a.steps",
            "`steps` belongs to `repeat`",
        ),
        steps("{ yield = false }", "", "task.a.steps", "expected true"),
    ]);
}

#[test]
fn locks() {
    const M: &str = "[mutex.m]\n";
    check(vec![
        steps(
            "{ lock = \"m\" }, { run_ms = 1 }",
            M,
            "task.a.steps",
            "mutex 'm' is never unlocked",
        ),
        steps("{ unlock = \"m\" }", M, "task.a.steps", "unlocked without being held"),
        steps(
            "{ lock = \"m\" }, { lock = \"m\" }",
            M,
            "task.a.steps",
            "locked while it is held",
        ),
        steps(
            "{ repeat = 2, steps = [{ lock = \"m\" }] }, { unlock = \"m\" }",
            M,
            "task.a.steps",
            "as it found it",
        ),
        steps(
            "{ lock = \"m\" }, { repeat = 2, steps = [{ unlock = \"m\" }] }",
            M,
            "task.a.steps",
            "as it found it",
        ),
        steps(
            "{ wait = \"c\", mutex = \"m\" }",
            "[mutex.m]\n[condition.c]\n",
            "task.a.steps",
            "'m' is not held",
        ),
        case(
            "[mutex.m]\n[task.a]\nsteps = [\n  { run_ms = 1 },\n  { lock = \"m\" },\n]",
            5,
            "task.a.lock",
            "never unlocked",
        ),
    ]);
}

#[test]
fn parties() {
    check(vec![
        case(
            "[barrier.b]\nparties = 0\n[task.a]\nsteps = [{ barrier = \"b\" }]",
            2,
            "barrier.b.parties",
            "from 1",
        ),
        case(
            "[task.a]\ncount = 3\nsteps = [{ barrier = \"b\" }]\n[barrier.b]\nparties = 4",
            5,
            "barrier.b.parties",
            "4 parties, but at most 3 tasks",
        ),
        case(
            "[task.a]\nsteps = [{ repeat = 2, steps = [{ fork = \"b\", count = 2 }, { join = \"all\" }] }]\n\
             [task.b]\ncount = 0\nsteps = [{ barrier = \"b\" }]\n[barrier.b]\nparties = 5",
            7,
            "barrier.b.parties",
            "at most 4 tasks",
        ),
        case(
            "[task.a]\nsteps = [{ loop = \"l\" }]\n[loop.l]\niterations = 5\nwork_us = 1\nparties = 2",
            6,
            "loop.l.parties",
            "at most 1 tasks",
        ),
    ]);
}

#[test]
fn forks_that_reach_a_barrier_count() {
    let text = "[task.a]\nsteps = [{ repeat = 2, steps = [{ fork = \"b\", count = 2 }] }, { join = \"all\" }]\n\
                [task.b]\ncount = 0\nsteps = [{ barrier = \"b\" }]\n[barrier.b]\nparties = 4";
    assert!(read("w.toml", text).is_ok());
}

#[test]
fn cycles() {
    check(vec![
        case(
            "[task.a]\nafter = [\"b\"]\nsteps = [{ run_ms = 1 }]\n[task.b]\nafter = [\"a\"]\nsteps = []",
            1,
            "task.a",
            "cycle: a after b after a",
        ),
        case("[task.a]\nsteps = [{ fork = \"a\" }]", 2, "task.a.steps", "cycle: a starts a"),
        case(
            "[task.a]\nsteps = [{ fork = \"b\" }]\n[task.b]\ncount = 0\nsteps = [{ run_ms = 1 }, { fork = \"a\" }]",
            2,
            "task.a.steps",
            "cycle: a starts b starts a",
        ),
        case(
            "[task.a]\nsteps = [{ pool = \"p\" }]\n[pool.p]\nslots = 1\nitems = [{ stages = [\"a\"] }]",
            2,
            "task.a.steps",
            "cycle: a starts pool p starts a",
        ),
        case(
            "[task.a]\nsteps = [{ pool = \"p\" }]\n[task.s]\ncount = 0\nsteps = []\n[pool.p]\nslots = 1\nitems = [\n\
             { name = \"x\", stages = [\"s\"], after = [\"y\"] },\n{ name = \"y\", stages = [\"s\"], after = [\"x\"] },\n]",
            9,
            "pool.p.name",
            "cycle: x after y after x",
        ),
    ]);
}

#[test]
fn empty_and_endless() {
    check(vec![
        case("[task.a]\nsteps = []", 1, "task.a", "at least one step"),
        case(
            "[task.a]\ncount = 0\nsteps = [{ run_ms = 1 }]",
            1,
            "task.a",
            "starts by itself",
        ),
        steps(
            "{ repeat = \"forever\", steps = [{ run_ms = 1 }] }",
            "",
            "task.a.steps",
            "duration_s",
        ),
        steps(
            "{ repeat = 2000000, steps = [{ yield = true }] }",
            "",
            "task.a.steps",
            "take no time",
        ),
        case(
            "[task.a]\narrivals = { every_ms = 1 }\nsteps = [{ run_ms = 1 }]",
            1,
            "task.a",
            "expected `limit`, or `duration_s`",
        ),
        case(
            "duration_s = 1\n[task.a]\narrivals = { every_ms = 0 }\nsteps = [{ run_ms = 1 }]",
            2,
            "task.a",
            "interval above 0",
        ),
        case(
            "[task.a]\narrivals = { limit = 1 }\nsteps = [{ run_ms = 1 }]",
            2,
            "task.a.arrivals",
            "every_ms",
        ),
    ]);
    let error = read("w.toml", "").unwrap_err();
    assert!(error.to_string().contains("expected at least one task"), "{error}");
}

#[test]
fn sizes() {
    check(vec![
        case(
            "[task.a]\ncount = 1000\nsteps = [{ fork = \"b\", count = 1001 }]\n[task.b]\ncount = 0\nsteps = [{ run_ms = 1 }]",
            4,
            "task.b",
            "expected at most 1000000",
        ),
        case(
            "duration_s = 1000\n[task.a]\narrivals = { every_us = 1 }\nsteps = [{ run_ms = 1 }]",
            2,
            "task.a",
            "expected at most 1000000",
        ),
    ]);
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
    let pool = |body: &str, line, key, says| {
        case(
            &format!("[task.a]\nsteps = [{{ pool = \"p\" }}]\n[pool.p]\n{body}"),
            line,
            key,
            says,
        )
    };
    check(vec![
        pool("slots = 0\nphases = 1\nwork_s = 1", 4, "pool.p.slots", "slots from 1"),
        pool("slots = 1", 3, "pool.p", "expected `phases` and `work_s`"),
        pool(
            "slots = 1\nphases = 2000000\nwork_s = 1",
            5,
            "pool.p.phases",
            "from 1 to 1000000",
        ),
        pool("slots = 1\nphases = 2\nwork_s = 0", 6, "pool.p.work_s", "above 0"),
        pool("slots = 1\nphases = 2\nwork_s = nan", 6, "pool.p.work_s", "found NaN"),
        pool(
            "slots = 1\nphases = 2\nwork_s = 1\ncv = -1",
            7,
            "pool.p.cv",
            "coefficient",
        ),
        pool(
            "slots = 1\nphases = 2\nwork_s = 1\nserial_tail = 2",
            7,
            "pool.p.serial_tail",
            "share",
        ),
        pool(
            "slots = 1\nphases = 2\nitems = []",
            5,
            "pool.p.phases",
            "belongs to a drawn pool",
        ),
        pool("slots = 1\nitems = []", 5, "pool.p.items", "1 to 1000000 items"),
        pool(
            "slots = 1\nitems = [{ stages = [\"x\"] }]",
            5,
            "pool.p.items",
            "no task is named 'x'",
        ),
        pool(
            "slots = 1\nitems = [{ stages = [] }]",
            5,
            "pool.p.items",
            "at least one stage",
        ),
        pool(
            "slots = 1\nphases = 9\nwork_s = 1\n[pool.p.graph]\ndirectories = 4\nstages = { sh = 0.5, cc = 0.5 }",
            8,
            "pool.p.graph.directories",
            "expected at least one object in each",
        ),
        pool(
            "slots = 1\nphases = 9\nwork_s = 1\n[pool.p.graph]\ndirectories = 1\nstages = { sh = 0.5, cc = 0.6 }",
            9,
            "pool.p.graph.stages",
            "add up to 1",
        ),
    ]);
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
