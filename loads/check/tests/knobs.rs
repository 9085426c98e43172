// SPDX-License-Identifier: GPL-2.0-only
//! The table of knobs in loads/README.md lists every option of every load, with values that the load accepts.

use lop_loads_check::{end, short};
use std::collections::{BTreeMap, BTreeSet};

/// For each load, the examples of the table as words: `--waiting`, `adaptive`, ..
fn examples() -> BTreeMap<String, Vec<Vec<String>>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let text = std::fs::read_to_string(file).unwrap();
    let section = text
        .split("\n## ")
        .find(|section| section.starts_with("Knobs\n"))
        .unwrap();
    let mut examples: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let mut spans = line.split('`').skip(1).step_by(2);
        let (load, option) = (spans.next().unwrap(), spans.next().unwrap());
        let words = option.split(' ').map(String::from).collect();
        examples.entry(load.into()).or_default().push(words);
    }
    examples
}

/// The options that `--help` lists besides the common ones, each with its present value, which is in brackets.
fn options(help: &str) -> BTreeMap<String, String> {
    let mut lines = help.lines().peekable();
    let mut options = BTreeMap::new();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("  --").and_then(|rest| rest.strip_suffix(" VALUE")) else {
            continue;
        };
        let told = lines.peek().and_then(|line| line.strip_suffix(']')?.rsplit_once('['));
        let (_, value) = told.unwrap_or_else(|| panic!("no value of --{name}: {help}"));
        options.insert(format!("--{name}"), value.to_string());
    }
    options
}

/// 1e5 as 100000.
fn same(value: &str, told: &str) -> bool {
    match (value.parse::<f64>(), told.parse::<f64>()) {
        (Ok(value), Ok(told)) => value == told,
        _ => value == told,
    }
}

#[test]
fn the_table_has_every_option_of_every_load() {
    let examples = examples();
    assert_eq!(examples.len(), 10);
    for (load, _) in short() {
        let listed: BTreeSet<String> = options(&end(load, &["--help"]).stdout).into_keys().collect();
        let named = examples[load]
            .iter()
            .flatten()
            .filter(|word| word.starts_with("--"))
            .cloned();
        assert_eq!(named.collect::<BTreeSet<_>>(), listed, "{load}");
    }
}

/// Options before `--help` are read first, so the help shows their values.
#[test]
fn every_load_takes_the_values_of_the_table() {
    let examples = examples();
    for (load, _) in short() {
        for words in &examples[load] {
            let arguments: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
            let help = end(load, &arguments);
            assert_eq!((help.code, help.stderr.as_str()), (0, ""), "{load} {words:?}");
            let options = options(&help.stdout);
            for pair in words.chunks(2) {
                let told = &options[&pair[0]];
                assert!(same(&pair[1], told), "{load} {pair:?}: {told}");
            }
        }
    }
}

/// Of the study `sequential-phases`, by the same names and in the same order; structure.rs shows what each does.
#[test]
fn the_simulated_ways_of_waiting_exist_natively() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/experiments/sequential-phases.toml"
    );
    let study: toml::Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
    let sweeps = study["sweep"].as_array().unwrap();
    let waiting = sweeps
        .iter()
        .find(|sweep| sweep["point"].as_str() == Some("waiting"))
        .unwrap();
    let values = waiting["values"].as_array().unwrap();
    let names: Vec<&str> = values.iter().map(|value| value["label"].as_str().unwrap()).collect();
    let help = end("half-sequential", &["--help"]).stdout;
    let (names, last) = (&names[..names.len() - 1], names[names.len() - 1]);
    let listed = format!("how threads wait for each other: {} or {last} [", names.join(", "));
    assert!(help.contains(&listed), "no '{listed}' in: {help}");
}
