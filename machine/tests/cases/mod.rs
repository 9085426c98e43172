// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of faulty inputs: one case a line, ` | ` between its columns, `\n` for a line break inside a column.
#![allow(dead_code)] // No single test file uses all of it.

use lop_machine::InputError;

#[track_caller]
pub fn rows<const N: usize>(table: &str) -> Vec<[String; N]> {
    let row = |line: &str| {
        let columns: Vec<String> = line.split(" | ").map(|column| column.replace("\\n", "\n")).collect();
        columns
            .try_into()
            .unwrap_or_else(|_| panic!("expected {N} columns: {line}"))
    };
    table.trim().lines().map(row).collect()
}

/// The error for `input` names this line and key, and its message contains `says`.
#[track_caller]
pub fn check<T>(result: Result<T, InputError>, input: &str, line: Option<usize>, key: &str, says: &str) -> InputError {
    let error = result.err().unwrap_or_else(|| panic!("accepted:\n{input}"));
    assert_eq!(
        (error.line, error.key.as_deref()),
        (line, Some(key)),
        "{error}\n{input}"
    );
    assert!(error.message.contains(says), "expected '{says}': {error}\n{input}");
    error
}

/// Each row says what of the good text is replaced, by what, and the line, the key and a part of the message of the error.
#[track_caller]
pub fn check_replacements<T>(good: &str, table: &str, read: impl Fn(&str) -> Result<T, InputError>) {
    for [old, new, line, key, says] in rows(table) {
        assert!(good.contains(&old), "'{old}' is not in the good text");
        let line = line.parse().expect("a line number");
        check(read(&good.replacen(&old, &new, 1)), &new, Some(line), &key, &says);
    }
}
