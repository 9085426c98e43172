// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's program on simulated CPUs that run concurrently, in interleavings drawn from seeds: `interleave/`. The result depends on the seed only.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs seeds from 1 on: what it printed, and whether all seeds were green.
fn interleave(last: &str, log: Option<&str>) -> (String, bool) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/interleave.sh");
    let mut command = Command::new(script);
    command.args(["1", last, "20000"]).env_remove("LOP_INTERLEAVE_LOG");
    command.envs(log.map(|value| ("LOP_INTERLEAVE_LOG", value)));
    let run = command.output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    (said, run.status.success())
}

/// Faults that it finds are in `scripts/mutants.tsv`: with this many seeds, each fault fails at least one. A log changes no run.
#[test]
fn no_cpu_and_no_wakeup_is_lost() {
    let (plain, green) = interleave("2400", None);
    assert!(green, "{}", plain.rfind("seed ").map_or(&plain[..], |at| &plain[at..]));
    let (log, _) = interleave("40", Some("1"));
    let (notes, others): (Vec<&str>, Vec<&str>) = log.lines().partition(|line| line.contains(" ns, CPU "));
    assert_eq!(others, plain.lines().take(2 * 40).collect::<Vec<_>>());
    for what in ["wakes task", "waits in queue", "kicks CPU", "goes offline"] {
        assert!(notes.iter().any(|line| line.contains(what)), "no '{what}'");
    }
}

fn text(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Names of the fields of a structure in C, without those of structures inside it.
fn fields(header: &str, name: &str) -> BTreeSet<String> {
    let body = header.split_once(&format!("struct {name} {{\n")).unwrap().1;
    let body = body.split_once("\n}").unwrap().0;
    let outer = |line: &str| match (line.find('{'), line.rfind('}')) {
        (Some(_), Some(end)) => line[end + 1..].to_string(),
        _ => line.trim().split_once(' ').unwrap().1.to_string(),
    };
    body.lines()
        .map(|line| line.split("/*").next().unwrap().trim_end())
        .map(outer)
        .flat_map(|names| {
            names
                .trim_end_matches(';')
                .split(',')
                .map(last_word)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// `task_struct *group_leader` and `uclamp_req[2]` without what is no name.
fn last_word(declared: &str) -> String {
    let word = declared.trim().rsplit([' ', '*']).next().unwrap();
    word.split('[').next().unwrap().to_string()
}

/// The native build knows no other fields of a task but those of the program's own structures, so these are all that it reads. Each stands in the
/// README, with the states that scenes draw, and the program does read it.
#[test]
fn readme_lists_the_fields_of_a_task_that_the_program_reads() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut read = fields(&text(here.join("tests/interleave/scx/common.bpf.h")), "task_struct");
    for of_the_model in ["mask", "model"] {
        assert!(read.remove(of_the_model), "{read:?}");
    }
    let readme = text(here.join("tests/interleave/README.md"));
    let table = readme.split_once("## What the program reads of a task").unwrap().1;
    let named = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let named: BTreeSet<String> = named
        .flat_map(|line| {
            line.split(" |")
                .next()
                .unwrap()
                .split(',')
                .map(|name| name.trim_matches([' ', '`']).to_string())
                .collect::<Vec<_>>()
        })
        .collect();
    let files = std::fs::read_dir(here.join("src/bpf")).unwrap();
    let program: String = files.map(|file| text(file.unwrap().path())).collect();
    let own = program
        .split("struct ")
        .filter(|part| part.starts_with("task_struct___"));
    let own: BTreeSet<&str> = own
        .filter_map(|part| part.split_once(" {\n").map(|(name, _)| name))
        .filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .collect();
    assert!(own.contains("task_struct___clamped"), "{own:?}");
    read.extend(own.into_iter().flat_map(|name| fields(&program, name)));
    assert_eq!(read, named);
    for field in &read {
        let uses = [format!("->{field}"), format!(", {field}"), format!("({field}")];
        assert!(
            uses.iter().any(|used| program.contains(used.as_str())) || field == "migration_disabled",
            "nothing reads {field}"
        );
    }
    assert!(program.contains("is_migration_disabled(p)"));
}
