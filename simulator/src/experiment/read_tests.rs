// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

const GOOD: &str = r#"id = "study"
title = "A study"
machine = "phenom-9750"
workload = "kernel-build"
policies = ["linux:performance", "highlow"]
seed = 7
runs = 3

[set]
"workload.pool.build.slots" = 2
machine.cpufreq.ondemand_period_ms = 100

[[sweep]]
point = "jobs"
key = "workload.pool.build.slots"
values = [1, 2.5, { value = 4, label = "four", set = { "linux.placement" = "random" } }]

[[sweep]]
point = "machine"
key = "machine"
values = ["phenom-9750", "here/own.toml"]
"#;

#[test]
fn assumptions_have_two_ends_that_say_something() {
    let assumed = |high: &str| {
        let table = format!(
            "[[assumed]]\nwhat = \"slots\"\nsource = \"none\"\nlow = {{ \"workload.pool.build.slots\" = 1 }}\nhigh = {high}\n"
        );
        read("study.toml", &format!("{GOOD}{table}"), None)
    };
    let study = assumed("{ \"workload.pool.build.slots\" = 8 }").unwrap();
    let values = |ends: &[Vec<Setting>; 2]| ends.clone().map(|end| end[0].value.clone());
    assert_eq!(values(&study.assumed[0].ends), ["1", "8"]);
    // What a run takes stays, and an end comes after what sweeps set.
    assert!(study.last.is_empty());
    assert_eq!(study.at_end(&study.assumed[0].ends[1]).last, study.assumed[0].ends[1]);
    for (high, expected) in [
        ("{}", "26: assumed.high: expected at least one setting"),
        ("{ \"slots\" = 3 }", "unknown key 'slots'"),
    ] {
        let error = assumed(high).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_whole_file_is_read() {
    let study = read("study.toml", GOOD, Some(Path::new("folder"))).unwrap();
    assert_eq!((study.id.as_str(), study.seed, study.runs), ("study", 7, 3));
    assert_eq!((study.nr_points(), study.nr_simulations()), (6, 36));
    let keys: Vec<String> = study
        .settings
        .iter()
        .map(|s| format!("{} = {}", s.key, s.value))
        .collect();
    assert_eq!(
        keys,
        [
            "machine.cpufreq.ondemand_period_ms = 100",
            "workload.pool.build.slots = 2"
        ]
    );
    assert_eq!(study.settings[1].origin.line, Some(10));
    let labels: Vec<String> = study.sweeps[0].values.iter().map(|v| v.label.to_string()).collect();
    assert_eq!(labels, ["1", "2.5", "four"]);
    let own = &study.sweeps[0].values[2].settings[0];
    assert_eq!(
        (own.key.to_string().as_str(), own.value.as_str()),
        ("linux.placement", "\"random\"")
    );
    let Change::Machine(own) = &study.sweeps[1].values[1].change else {
        panic!("no machine")
    };
    assert_eq!(
        (own.name.as_str(), own.target.as_str()),
        ("here/own.toml", "folder/here/own.toml")
    );
}

#[test]
fn a_range_stands_for_its_numbers() {
    let labels = |values: &str| -> Result<Vec<String>, InputError> {
        let text = GOOD.replacen("[1, 2.5, {", &format!("[{values}, {{"), 1);
        let study = read("study.toml", &text, None)?;
        Ok(study.sweeps[0]
            .values
            .iter()
            .map(|value| value.label.to_string())
            .collect())
    };
    assert_eq!(labels("{ from = 5, to = 7 }, 9").unwrap(), ["5", "6", "7", "9", "four"]);
    assert_eq!(labels("{ from = 2, to = 2, text = \"n#\" }").unwrap(), ["n2", "four"]);
    for (values, expected) in [
        ("{ from = 2, to = 1 }", "from 2 to 1, expected 1 to"),
        ("{ from = 0, to = 9223372036854775807 }", "expected 1 to 100000 values"),
        ("{ from = 1, to = 2, text = \"n\" }", "'n', expected a text with #"),
        ("1, { from = 1, to = 2 }", "value '1' is given twice"),
    ] {
        let error = labels(values).unwrap_err().to_string();
        assert!(error.contains(expected), "{values}: {error}");
    }
}

#[test]
fn what_varies_is_a_sweep_of_several_values() {
    let varied = |line: &str| read("study.toml", &GOOD.replacen("runs = 3", line, 1), None);
    assert_eq!(varied("vary = \"jobs\"").unwrap().varied.as_deref(), Some("jobs"));
    let error = varied("vary = \"watts\"").unwrap_err().to_string();
    assert!(
        error.contains("7: vary: 'watts', expected the point of a sweep"),
        "{error}"
    );
}

/// Replaces one line of the good file and returns the error.
fn broken(line: &str, replacement: &str) -> InputError {
    assert!(GOOD.contains(line), "no line '{line}'");
    read("study.toml", &GOOD.replacen(line, replacement, 1), None).unwrap_err()
}

#[test]
fn faults_are_named_with_line_and_key() {
    let table = [
        ("seed = 7", "seed = -1", 6, "seed", "expected a whole number from 0"),
        ("seed = 7", "seed = 'x'", 6, "seed", "invalid type"),
        ("seed = 7", "sede = 7", 6, "sede", "unknown field `sede`"),
        ("runs = 3", "runs = 0", 7, "runs", "from 1 to 10000"),
        ("runs = 3", "runs = nan", 7, "runs", "invalid type"),
        ("id = \"study\"", "id = \"../x\"", 1, "id", "expected a name"),
        ("\"highlow\"]", "\"highlov\"]", 5, "policies", "did you mean 'highlow'?"),
        ("\"highlow\"]", "\"linux:performance\"]", 5, "policies", "named twice"),
        (
            "[\"linux:performance\", \"highlow\"]",
            "[]",
            5,
            "policies",
            "at least one policy",
        ),
        (
            "\"workload.pool",
            "\"worklod.pool",
            10,
            "set.worklod.pool.build.slots",
            "unknown key",
        ),
        (
            "key = \"machine\"",
            "key = \"machines\"",
            20,
            "sweep.key",
            "unknown key 'machines'",
        ),
        (
            "\"linux.placement\" = \"random\"",
            "\"linux.placement\" = 3",
            16,
            "set.linux.placement",
            "unknown placement",
        ),
        (
            "values = [1, 2.5,",
            "values = [1, 1,",
            16,
            "sweep.values",
            "value '1' is given twice",
        ),
        (
            "values = [1, 2.5,",
            "values = [1, nan,",
            16,
            "sweep.values",
            "finite number",
        ),
        (
            "values = [1, 2.5,",
            "values = [1, [2],",
            16,
            "sweep.values",
            "found array",
        ),
        (
            "values = [\"phenom-9750\", \"here/own.toml\"]",
            "values = []",
            21,
            "sweep.values",
            "at least one value",
        ),
        (
            "values = [\"phenom-9750\",",
            "values = [3,",
            21,
            "sweep.values",
            "name of a machine",
        ),
        (
            "runs = 3",
            "runs = 3\nclasses = \"machine\"",
            8,
            "classes",
            "sweep of three values",
        ),
        (
            "runs = 3",
            "classes = \"cores\"",
            7,
            "classes",
            "'cores', expected the point",
        ),
        (
            "point = \"machine\"",
            "point = \"jobs\"",
            19,
            "sweep.point",
            "swept twice",
        ),
    ];
    for (line, replacement, at, key, expected) in table {
        let error = broken(line, replacement);
        assert_eq!(
            (error.line, error.key.as_deref()),
            (Some(at), Some(key)),
            "{replacement}: {error}"
        );
        assert!(error.message.contains(expected), "{replacement}: {error}");
    }
}

/// The judged policy is one of those that run; what is left out is a sweep's.
#[test]
fn what_is_judged_and_left_out_has_to_be_there() {
    let with = |judge: &str, left_out: &str| {
        let text = GOOD.replace("runs = 3", &format!("runs = 3\njudge = \"{judge}\""));
        read("study.toml", &format!("{text}\n[[leave_out]]\n{left_out}\n"), None)
    };
    let study = with("highlow", "jobs = [\"four\"]\nmachine = [\"phenom-9750\"]").unwrap();
    assert_eq!(study.judged, Some(study.policies[1].clone()));
    assert_eq!(study.left_out.len(), 1);
    for (judge, left_out, expected) in [
        ("auto", "jobs = [\"four\"]", "'auto', expected one of the policies"),
        ("highlow", "slots = [\"four\"]", "'slots', expected the name of a sweep"),
        ("highlow", "jobs = [\"4\"]", "'4', expected a value of sweep 'jobs'"),
    ] {
        let error = with(judge, left_out).unwrap_err();
        assert!(error.message.contains(expected) && error.line.is_some(), "{error}");
    }
}

#[test]
fn sweeps_that_explode_are_refused() {
    let values: Vec<String> = (0..400).map(|n| n.to_string()).collect();
    let sweep = |n: u32| {
        format!(
            "\n[[sweep]]\npoint='p{n}'\nkey='workload.k{n}'\nvalues=[{}]\n",
            values.join(",")
        )
    };
    let error = read(
        "study.toml",
        &format!("{GOOD}{}{}{}", sweep(1), sweep(2), sweep(3)),
        None,
    )
    .unwrap_err();
    assert!(error.message.contains("more than 100000 points"), "{error}");
}

#[test]
fn settings_and_machines_that_a_sweep_would_override_are_refused() {
    let mut study = read("study.toml", GOOD, None).unwrap();
    let error = study
        .add_setting(Setting::from_argument("workload.pool.build.slots=3").unwrap())
        .unwrap_err();
    assert!(error.message.contains("sweeps this as 'jobs'"), "{error}");
    assert!(study.set_machine(Reference::given("i7-940", "--machine")).is_err());
    study.set_workload(Reference::given("bursts", "--workload")).unwrap();
    assert_eq!(study.workload.name, "bursts");
}

mod mutated {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        /// Any text is read or refused with a message, without a panic.
        #[test]
        fn files_never_panic(at in 0..GOOD.len(), cut in 0usize..12, insert in "[\\[\\]{}=\"'.,0-9a-z\n -]{0,8}") {
            let end = (at + cut).min(GOOD.len());
            let text = format!("{}{insert}{}", &GOOD[..at], &GOOD[end..]);
            match read("study.toml", &text, None) {
                Ok(study) => prop_assert!(study.nr_points() >= 1 && !study.policies.is_empty()),
                Err(error) => prop_assert!(!error.message.is_empty() && error.file == "study.toml"),
            }
        }
    }
}

#[test]
fn placements_are_counted_where_they_are_random() {
    let asked = GOOD.replace("runs = 3", "runs = 3\nevery_placement = true");
    let error = read("x.toml", &asked, None).unwrap_err();
    assert_eq!(
        (error.line, error.key.as_deref()),
        (Some(8), Some("every_placement")),
        "{error}"
    );
    assert!(error.message.contains("expected 'random'"), "{error}");
    assert!(super::super::load_builtin("memory-domains").unwrap().every_placement);
    assert!(!read("x.toml", GOOD, None).unwrap().every_placement);
}
