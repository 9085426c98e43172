// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of knobs in loads/README.md: what it says to set in the twin of each native load is there to be set, and changes the workload.

use lop_machine::input::Override;
use lop_simulator::workload::{self, Workload};
use std::path::Path;

/// A row of the table: the load's option, the workload, its keys. Rows whose twin has no such knob have no keys.
struct Row {
    option: String,
    workload: String,
    keys: Vec<Override>,
}

/// What stands between backquotes.
fn spans(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn rows() -> Vec<Row> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../loads/README.md");
    let text = std::fs::read_to_string(file).unwrap();
    let section = text
        .split("\n## ")
        .find(|section| section.starts_with("Knobs\n"))
        .unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').collect();
        let [_, load, option, workload, keys, _] = cells[..] else {
            panic!("expected four cells: {line}")
        };
        let workload = spans(workload).first().map_or(String::new(), |name| name.to_string());
        let key = |span: &str| {
            let (key, value) = span
                .split_once(" = ")
                .unwrap_or_else(|| panic!("no KEY = VALUE: {line}"));
            Override {
                key: key.into(),
                value: value.into(),
            }
        };
        Row {
            option: format!("{load}{option}"),
            keys: if workload.is_empty() {
                vec![]
            } else {
                spans(keys).into_iter().map(key).collect()
            },
            workload,
        }
    };
    section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(row)
        .collect()
}

fn built(name: &str, keys: &[Override]) -> Result<Workload, String> {
    workload::load(name, keys)
        .map(|spec| spec.build(1))
        .map_err(|error| error.to_string())
}

#[test]
fn every_key_of_a_twin_changes_the_workload() {
    let rows = rows();
    assert!(rows.len() > 40, "{}", rows.len());
    for row in rows.iter().filter(|row| !row.workload.is_empty()) {
        assert!(!row.keys.is_empty(), "{}: no key", row.option);
        let with_all = built(&row.workload, &row.keys).unwrap_or_else(|error| panic!("{}: {error}", row.option));
        for (index, key) in row.keys.iter().enumerate() {
            let mut others = row.keys.clone();
            others.remove(index);
            let changes = built(&row.workload, &others).map_or(true, |without| without != with_all);
            assert!(changes, "{}: {} changes nothing", row.option, key.key);
        }
    }
}
