// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the OpenMP tool says of a program that gives no hints itself, read from its page while it waits at known points.

mod common;

use common::build::{clang, compile, make, sources};
use common::program::Program;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const SPINNING: u32 = 1;
const SEQUENTIAL: u32 = 2;

/// The folder of the tool and of the program `openmp`.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let clang = clang();
        let out = make("openmp", &[&format!("CLANG={clang}"), "ompt"]);
        let source = sources().join("tests/openmp.c");
        compile(&clang, &out.join("openmp"), &source, &["-fopenmp", "-pthread"]);
        out
    })
}

fn start(mode: &str) -> Program {
    let mut command = Command::new(built().join("openmp"));
    let tool = built().join("liblopsided-ompt.so");
    Program::start(command.arg(mode).env("OMP_TOOL_LIBRARIES", tool))
}

/// So many others, all of which only say these flags.
fn others(number: usize, flags: u32) -> Vec<(u32, u32)> {
    vec![(flags, 0); number]
}

#[test]
fn regions_have_a_parallelism_and_between_them_the_program_is_sequential() {
    let mut program = start("regions");
    program.at("busy", |said| *said == ((0, 4), others(3, 0)));
    program.at("waited-for", |said| *said == ((0, 4), others(3, SPINNING)));
    program.at("between", |said| *said == ((SEQUENTIAL, 0), others(3, SPINNING)));
    program.at("one", |said| *said == ((SEQUENTIAL, 0), others(3, SPINNING)));
    program.at("paused", |said| *said == ((0, 0), Vec::new()));
    program.ends();
}

/// Two threads start a region of three each: six threads, as the one of them said that came last.
#[test]
fn threads_of_nested_regions_add_up() {
    let mut program = start("nested");
    program.at("nested", |(own, others)| {
        let flags = others.iter().map(|(flags, _)| flags).chain([&own.0]);
        let declared = others.iter().map(|(_, declared)| declared).chain([&own.1]);
        others.len() == 5 && flags.max() == Some(&0) && declared.max() == Some(&6)
    });
    program.at("between", |(own, others)| {
        *own == (SEQUENTIAL, 0) && others.iter().all(|said| *said == (SPINNING, 0))
    });
    program.ends();
}

#[test]
fn who_runs_a_task_at_a_barrier_does_not_spin() {
    let mut program = start("tasks");
    program.at("task", |(own, others)| {
        own.0 == 0 && others.len() == 1 && others[0].0 == SPINNING
    });
    program.ends();
}

#[test]
fn with_several_initial_threads_none_is_sequential() {
    let mut program = start("two-initial");
    program.at("two", |(own, others)| {
        let declared = others.iter().map(|(_, declared)| declared).chain([&own.1]);
        own.0 == 0 && others.len() == 4 && others.iter().all(|said| said.0 == 0) && declared.max() == Some(&5)
    });
    program.at("not-alone", |(own, others)| {
        *own == (0, 0) && others.iter().all(|said| said.1 == 0)
    });
    program.at("alone", |(own, _)| *own == (SEQUENTIAL, 0));
    program.ends();
}

#[test]
fn the_teams_of_a_league_are_a_region() {
    let mut program = start("teams");
    program.at("teams", |said| *said == ((0, 2), others(1, 0)));
    program.at("between", |said| *said == ((SEQUENTIAL, 0), others(1, SPINNING)));
    program.ends();
}

#[test]
fn a_forked_process_is_outside_of_all_regions() {
    let mut program = start("forked");
    program.at("child", |said| *said == ((SEQUENTIAL, 0), Vec::new()));
    program.at("parent", |(own, _)| *own == (0, 3));
    program.ends();
}
