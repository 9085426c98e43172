// SPDX-License-Identifier: MIT OR Apache-2.0
//! No input makes the readers panic: seeds are the files that are known to be good, mutated.

use lop_machine::InputError;
use lop_simulator::workload::{builtin_names, builtin_text, describe, read, rtapp, Spec};
use proptest::prelude::*;

fn tomls() -> Vec<&'static str> {
    let mut texts = vec![include_str!("../data/every-key.toml")];
    texts.extend(builtin_names().into_iter().filter_map(builtin_text));
    texts
}

const JSON: &str = include_str!("../data/every-key.json");

/// Pieces that lead somewhere: values at the edges, keys, brackets.
const PIECES: [&str; 38] = [
    "0",
    "-1",
    "1e308",
    "-0.0",
    "nan",
    "inf",
    "18446744073709551615",
    "9223372036854775807",
    "1000000",
    "\"forever\"",
    "\"all\"",
    "\"any\"",
    "\"main\"",
    "\"worker\"",
    "[]",
    "{}",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "\n",
    "=",
    ",",
    "steps",
    "repeat",
    "fork",
    "lock",
    "count = 0\n",
    "memory = \"mcf\"\n",
    "[memory.mcf]\n",
    "after = [\"main\"]\n",
    "\"run\" : ",
    "\"loop\" : -1,",
    "\"phases\" : {",
    "/*",
    "//",
    "\u{1F600}",
];

/// One edit: where (in thousandths of the text), how much is cut, what is put there.
type Edit = (usize, usize, usize);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    proptest::collection::vec((0..1000usize, 0..12usize, 0..PIECES.len() + 1), 1..6)
}

fn mutate(text: &str, edits: &[Edit]) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for &(at, cut, piece) in edits {
        let start = at * text.len() / 1000;
        let end = (start + cut).min(text.len());
        let new = PIECES.get(piece).copied().unwrap_or("");
        text.splice(start..end, new.chars());
    }
    text.into_iter().collect()
}

/// Values that fit the grammar nearly anywhere, so that what follows the parser is reached too.
const VALUES: [&str; 23] = [
    "0",
    "1",
    "2",
    "7",
    "-1",
    "511",
    "512",
    "1000000",
    "1000001",
    "18446744073709551615",
    "0.5",
    "1e18",
    "1e308",
    "-0.0",
    "\"forever\"",
    "\"all\"",
    "\"main\"",
    "\"worker\"",
    "\"step\"",
    "\"mcf\"",
    "\"m\"",
    "{ mean = 1 }",
    "{ mean = 3, cv = 2 }",
];

/// Byte ranges of the numbers and strings of a text, comments left out.
fn values(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim_start().starts_with(['#', '/', '*']) {
            let bytes = line.as_bytes();
            let mut at = 0;
            while at < bytes.len() {
                let length = match bytes[at] {
                    b'"' => line[at + 1..].find('"').map_or(1, |n| n + 2),
                    b'0'..=b'9' | b'-' => line[at..]
                        .find(|c: char| !"0123456789.-e".contains(c))
                        .unwrap_or(1)
                        .max(1),
                    _ => 0,
                };
                if length > 0 {
                    found.push(start + at..start + at + length);
                }
                at += length.max(1);
            }
        }
        start += line.len();
    }
    found
}

fn replace_values(text: &str, edits: &[(usize, usize)]) -> String {
    let mut text = text.to_string();
    for &(which, new) in edits {
        let ranges = values(&text);
        let range = ranges[which % ranges.len()].clone();
        text.replace_range(range, VALUES[new % VALUES.len()]);
    }
    text
}

/// Whatever comes back, good or bad, must be usable.
fn exercise(result: Result<Spec, InputError>) {
    match result {
        Ok(spec) => {
            let workload = spec.build(1);
            assert!(!workload.starts.is_empty());
            assert!(!describe(&workload).is_empty());
        }
        Err(error) => assert!(!error.message.is_empty()),
    }
}

/// 600 cases of each property; more by the environment (PROPTEST_CASES=200000 takes about a minute).
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases.max(600),
        failure_persistence: None,
        ..default
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn mutated_toml_never_panics(which in 0..11usize, edits in edits()) {
        let texts = tomls();
        exercise(read("w.toml", &mutate(texts[which % texts.len()], &edits)));
    }

    #[test]
    fn mutated_json_never_panics(edits in edits()) {
        exercise(rtapp::read("w.json", &mutate(JSON, &edits)));
    }

    #[test]
    fn toml_with_other_values_never_panics(
        which in 0..11usize,
        edits in proptest::collection::vec((0..10_000usize, 0..VALUES.len()), 1..4),
    ) {
        let texts = tomls();
        exercise(read("w.toml", &replace_values(texts[which % texts.len()], &edits)));
    }

    #[test]
    fn json_with_other_values_never_panics(
        edits in proptest::collection::vec((0..10_000usize, 0..VALUES.len()), 1..4),
    ) {
        exercise(rtapp::read("w.json", &replace_values(JSON, &edits)));
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        exercise(read("w.toml", &text));
        exercise(rtapp::read("w.json", &text));
    }
}

#[test]
fn other_values_reach_what_follows_the_parser() {
    // else the properties above would test the TOML crate only
    let text = builtin_text("barriers").expect("a built-in workload");
    let count = values(text).len();
    let accepted = |new: usize| {
        (0..count)
            .filter(|&which| read("w.toml", &replace_values(text, &[(which, new)])).is_ok())
            .count()
    };
    let total: usize = (0..VALUES.len()).map(accepted).sum();
    assert!(
        total > count,
        "only {total} of {} variants are accepted",
        count * VALUES.len()
    );
}
