// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever is done to a good tree, reading it yields a consistent machine or an error that names a file.

use super::*;
use proptest::prelude::*;
use proptest::sample::Index;

/// Contents that break careless readers.
const CONTENTS: [&str; 18] = [
    "",
    "0",
    "-1",
    "1",
    "7",
    "0-3",
    "0-511",
    "0-8191",
    "3-0",
    "0,",
    "0 1 2",
    "x",
    "1e9",
    "4294967295",
    "9223372036854775807",
    "18446744073709551616",
    "Unified",
    "\u{0}\u{7f}é",
];

#[derive(Debug, Clone)]
enum Damage {
    Drop(Index),
    Replace(Index, Index),
    /// Gives one file the contents of another.
    Swap(Index, Index),
    Truncate(Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let pair = || (any::<Index>(), any::<Index>());
    prop_oneof![
        2 => any::<Index>().prop_map(Damage::Drop),
        3 => pair().prop_map(|(at, with)| Damage::Replace(at, with)),
        3 => pair().prop_map(|(at, with)| Damage::Swap(at, with)),
        1 => pair().prop_map(|(at, length)| Damage::Truncate(at, length)),
    ]
}

type Files = Vec<(String, String)>;

fn apply(files: &mut Files, damage: &Damage) {
    if files.is_empty() {
        return;
    }
    let len = files.len();
    match damage {
        Damage::Drop(at) => {
            files.remove(at.index(len));
        }
        Damage::Replace(at, with) => files[at.index(len)].1 = CONTENTS[with.index(CONTENTS.len())].to_string(),
        Damage::Swap(at, with) => files[at.index(len)].1 = files[with.index(len)].1.clone(),
        Damage::Truncate(at, length) => {
            let value = &mut files[at.index(len)].1;
            let keep = length.index(value.chars().count() + 1);
            *value = value.chars().take(keep).collect();
        }
    }
}

fn check(files: &Files) {
    let text: String = files
        .iter()
        .map(|(path, value)| format!("{path} = {value}\n"))
        .collect();
    match live::read_tree(&tree(&text)) {
        Ok(machine) => check_invariants(&machine),
        Err(error) => assert!(
            error.file.contains("sys/devices/") && !error.message.is_empty(),
            "{error}"
        ),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn damaged_trees_are_read_or_refused(which in any::<Index>(), damages in prop::collection::vec(damage(), 1..12)) {
        // Without the big server, which would only make each case slower.
        let small: Vec<_> = FIXTURES.iter().filter(|(name, _)| *name != "server-512").collect();
        let tree = tree(small[which.index(small.len())].1);
        let mut files: Files = tree.files().map(|(path, value)| (path.to_string(), value.to_string())).collect();
        for damage in &damages {
            apply(&mut files, damage);
        }
        check(&files);
    }
}

#[test]
fn every_file_may_be_missing() {
    for (name, text) in FIXTURES.iter().filter(|(name, _)| !name.starts_with("server")) {
        let tree = tree(text);
        let files: Files = tree
            .files()
            .map(|(path, value)| (path.to_string(), value.to_string()))
            .collect();
        for missing in 0..files.len() {
            let mut files = files.clone();
            let (path, _) = files.remove(missing);
            let text: String = files
                .iter()
                .map(|(path, value)| format!("{path} = {value}\n"))
                .collect();
            let read = live::read_tree(&super::tree(&text));
            let needed = path.ends_with("cpu/present") || path.ends_with("cpu/online");
            assert_eq!(read.is_err(), needed, "{name} without {path}: {read:?}");
            check(&files);
        }
    }
}
