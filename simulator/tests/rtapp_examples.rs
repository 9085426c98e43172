// SPDX-License-Identifier: MIT OR Apache-2.0
//! rt-app's own examples load. They are not ours to keep: LOP_RTAPP_EXAMPLES names a directory with them, and
//! scripts/rtapp-examples.sh fetches them from the Debian package and prints it.

use lop_simulator::workload::rtapp;
use std::path::{Path, PathBuf};

fn json_files(directory: &Path, into: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    for entry in entries {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            json_files(&path, into);
        } else if path.extension().is_some_and(|e| e == "json") {
            into.push(path);
        }
    }
}

/// Files that hold one section only, for rt-app's merge.py: no workloads by themselves.
fn is_section(path: &Path) -> bool {
    path.parent().is_some_and(|p| p.ends_with("merge"))
        && ["global.json", "resources.json"]
            .iter()
            .any(|name| path.ends_with(name))
}

#[test]
fn every_installed_example_loads() {
    let Some(directory) = std::env::var_os("LOP_RTAPP_EXAMPLES") else {
        assert!(
            std::env::var_os("CI").is_none(),
            "LOP_RTAPP_EXAMPLES is not set; run: LOP_RTAPP_EXAMPLES=$(scripts/rtapp-examples.sh) cargo test -p lop-simulator"
        );
        println!("skipped: LOP_RTAPP_EXAMPLES is not set (scripts/rtapp-examples.sh prints a directory for it)");
        return;
    };
    let mut files = Vec::new();
    json_files(Path::new(&directory), &mut files);
    files.sort();
    assert!(files.len() >= 20, "only {} examples in {directory:?}", files.len());
    let mut failures = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a readable example");
        match (rtapp::read(&path.display().to_string(), &text), is_section(&path)) {
            (Ok(spec), false) => {
                let workload = spec.build(1);
                assert!(!workload.starts.is_empty(), "{}", path.display());
                println!(
                    "{}: {} programs, notes {:#?}",
                    path.display(),
                    workload.programs.len(),
                    spec.notes
                );
            }
            (Err(e), true) if e.message.contains("tasks") => {}
            (Ok(_), true) => failures.push(format!("{}: a section alone was taken for a workload", path.display())),
            (Err(e), _) => failures.push(e.to_string()),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
