// SPDX-License-Identifier: GPL-2.0-only
//! Runs the loads for their tests and reads what they print.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Every load except the one that LOP_LOADS_WITHOUT names, with arguments that make it end soon.
pub fn short() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let without = std::env::var("LOP_LOADS_WITHOUT").unwrap_or_default();
    SHORT.into_iter().filter(move |(load, _)| *load != without)
}

const SHORT: [(&str, &[&str]); 10] = [
    ("matmul", &["--size", "60", "--threads", "4"]),
    ("global-sum", &["--rounds", "50", "--length-instructions", "1e3"]),
    ("parallel-for", &["--elements", "1e4", "--element-instructions", "100"]),
    ("registration", &["--iteration-instructions", "1e5"]),
    (
        "half-sequential",
        &["--threads", "3", "--pairs", "4", "--pair-instructions", "1e6"],
    ),
    (
        "one-and-many",
        &[
            "--threads",
            "3",
            "--one-instructions",
            "1e6",
            "--many-instructions",
            "1e6",
        ],
    ),
    (
        "coupled",
        &["--threads", "3", "--intervals", "20", "--interval-instructions", "3e4"],
    ),
    ("chase", &["--buffer-mib", "1", "--laps", "1"]),
    ("stream", &["--buffer-mib", "1", "--laps", "2", "--threads", "2"]),
    (
        "fork-storm",
        &["--slots", "2", "--jobs", "8", "--mean-instructions", "1e5"],
    ),
];

/// How a load ended.
pub struct Ended {
    /// Exit code; -1 if a signal ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// The JSON object on standard output, which must contain nothing else.
    ///
    /// # Panics
    /// The output is not such an object.
    pub fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON: {error}: {}\n{}", self.stdout, self.stderr));
        assert!(value.is_object(), "no object: {value}");
        value
    }
}

/// The folder of the loads: LOP_LOADS_DIR, or where scripts/loads.sh puts them, which is then called once.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        if let Some(folder) = std::env::var_os("LOP_LOADS_DIR") {
            return folder.into();
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/loads.sh");
        let built = Command::new(script)
            .stderr(Stdio::inherit())
            .output()
            .expect("scripts/loads.sh cannot be started");
        assert!(built.status.success(), "scripts/loads.sh failed");
        let said = String::from_utf8(built.stdout).expect("a path in UTF-8");
        said.lines().last().expect("scripts/loads.sh names the folder").into()
    })
}

/// Runs a load to its end, for at most five minutes: a load that waits for a lost wakeup must not hold up all tests.
///
/// # Panics
/// It cannot be started.
pub fn end(load: &str, arguments: &[&str]) -> Ended {
    end_with_hints(load, arguments, None)
}

/// The same, with hints in this folder.
///
/// # Panics
/// It cannot be started.
pub fn end_with_hints(load: &str, arguments: &[&str], hints: Option<&Path>) -> Ended {
    let output = Command::new("timeout")
        .arg("300")
        .arg(folder().join(load))
        .args(arguments)
        .env_remove("LOP_HINT_DIR")
        .envs(hints.map(|folder| ("LOP_HINT_DIR", folder)))
        .output()
        .unwrap_or_else(|error| panic!("{load} cannot be started: {error}"));
    Ended {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs a load that must succeed, and returns what it printed.
///
/// # Panics
/// It failed, wrote to standard error or found its result wrong.
pub fn run(load: &str, arguments: &[&str]) -> Value {
    let ended = end(load, arguments);
    assert_eq!(ended.code, 0, "{load} {arguments:?}: {}", ended.stderr);
    assert_eq!(ended.stderr, "", "{load} {arguments:?}");
    let json = ended.json();
    assert_eq!(json["correct"], true, "{load} {arguments:?}: {json}");
    json
}

/// The member `key` of each element of the array `list`, as whole numbers.
///
/// # Panics
/// There is no such array, or an element without the member.
pub fn counts(json: &Value, list: &str, key: &str) -> Vec<u64> {
    let elements = json[list].as_array().unwrap_or_else(|| panic!("no {list}: {json}"));
    let count = |element: &Value| element[key].as_u64().unwrap_or_else(|| panic!("no {key}: {element}"));
    elements.iter().map(count).collect()
}
