// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tool for LLVM's OpenMP and the library for gcc's say of a program that gives no hints itself, read from its page while it waits at known
//! points.

mod common;

use common::build::{clang, compile, make, sources, succeeds};
use common::program::{Program, Said};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const SPINNING: u32 = 1;
const SEQUENTIAL: u32 = 2;

#[derive(Clone, Copy, PartialEq)]
enum Runtime {
    Libomp,
    Libgomp,
}
use Runtime::{Libgomp, Libomp};

/// The folder of the libraries and of the programs: `openmp-clang`, `openmp-gcc`, `opened` with `openmp.so`, and `tasks`.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let clang = clang();
        let out = make("openmp", &[&format!("CLANG={clang}"), "all", "ompt"]);
        let build = |compiler: &str, name: &str, source: &str, with: &[&str]| {
            compile(compiler, &out.join(name), &sources().join("tests").join(source), with);
        };
        build(&clang, "openmp-clang", "openmp.c", &["-fopenmp", "-pthread"]);
        build("gcc", "openmp-gcc", "openmp.c", &["-O2", "-fopenmp"]);
        build("gcc", "openmp.so", "openmp.c", &["-O2", "-fopenmp", "-shared", "-fPIC"]);
        build("gcc", "opened", "opened.c", &[]);
        build("gcc", "tasks", "tasks.c", &["-O2", "-fopenmp"]);
        out
    })
}

/// A command of gcc's side.
fn preloaded(program: &str) -> Command {
    let mut command = Command::new(built().join(program));
    command
        .env("LD_PRELOAD", built().join("liblopsided-gomp.so"))
        .env("OMP_CANCELLATION", "true");
    command
}

fn start(runtime: Runtime, mode: &str) -> Program {
    let mut command = match runtime {
        Libgomp => preloaded("openmp-gcc"),
        Libomp => Command::new(built().join("openmp-clang")),
    };
    let tool = built().join("liblopsided-ompt.so");
    Program::start(command.arg(mode).env("OMP_TOOL_LIBRARIES", tool))
}

/// So many others, all of which only say these flags.
fn others(number: usize, flags: u32) -> Vec<(u32, u32)> {
    vec![(flags, 0); number]
}

/// None of so many threads says a flag, and the one of them that came last how many there are. A new worker of libgomp says nothing yet.
fn busy((own, others): &Said, threads: u32) -> bool {
    let all = || others.iter().chain([own]);
    all().count() <= threads as usize
        && all().all(|&(flags, _)| flags == 0)
        && all().map(|&(_, declared)| declared).max() == Some(threads)
}

fn regions_are_followed(mut program: Program, paused: u32) {
    program.at("busy", |said| *said == ((0, 4), others(3, 0)));
    program.at("waited-for", |said| *said == ((0, 4), others(3, SPINNING)));
    program.at("between", |said| *said == ((SEQUENTIAL, 0), others(3, SPINNING)));
    program.at("one", |said| *said == ((SEQUENTIAL, 0), others(3, SPINNING)));
    program.at("paused", |said| *said == ((paused, 0), Vec::new()));
    program.ends();
}

/// A thread that gave up its workers is no longer one of libomp's.
#[test]
fn regions_have_a_parallelism_and_between_them_the_program_is_sequential() {
    regions_are_followed(start(Libomp, "regions"), 0);
    regions_are_followed(start(Libgomp, "regions"), SEQUENTIAL);
}

/// As Python opens its modules: nobody else sees the library's symbols, nor those of the libgomp that it brings.
#[test]
fn a_library_that_is_opened_later_is_followed_too() {
    let mut command = preloaded("opened");
    let program = Program::start(command.arg(built().join("openmp.so")).arg("regions"));
    regions_are_followed(program, SEQUENTIAL);
}

/// Two threads start a region of three each: six threads.
#[test]
fn threads_of_nested_regions_add_up() {
    for runtime in [Libomp, Libgomp] {
        let mut program = start(runtime, "nested");
        program.at("nested", |said| busy(said, 6));
        program.at("between", |(own, others)| {
            *own == (SEQUENTIAL, 0) && others.iter().all(|said| *said == (SPINNING, 0))
        });
        program.ends();
    }
}

/// With each construct the compiler calls another function of its runtime.
#[test]
fn every_construct_that_starts_a_region_does() {
    for runtime in [Libomp, Libgomp] {
        let mut program = start(runtime, "starts");
        let loops = [
            "static",
            "dynamic",
            "nonmonotonic-dynamic",
            "guided",
            "nonmonotonic-guided",
        ];
        let chosen_late = ["runtime", "nonmonotonic-runtime", "any-runtime"];
        for place in loops
            .into_iter()
            .chain(chosen_late)
            .chain(["reduction", "sections", "number-of-before"])
        {
            program.at(place, |said| busy(said, 2));
        }
        program.ends();
    }
}

/// But for dependences in libomp, which does not report that.
#[test]
fn who_waits_at_the_end_of_a_construct_spins() {
    for runtime in [Libomp, Libgomp] {
        let mut program = start(runtime, "waits");
        let shared = ["static", "dynamic", "reduction", "sections"];
        let alone = ["single", "copied", "barrier", "taskwait", "dependence", "taskgroup"];
        for place in shared.into_iter().chain(alone) {
            let reported = runtime == Libgomp || place != "dependence";
            program.at(place, |(own, others)| {
                own.0 == 0 && others.len() == 1 && (others[0].0 == SPINNING) == reported
            });
        }
        program.ends();
    }
}

/// Only with libgomp: with libomp 19 the program hangs, also without a tool.
#[test]
fn a_cancelled_region_ends_as_others_do() {
    let mut program = start(Libgomp, "cancelled");
    for place in ["dynamic", "sections", "barrier"] {
        program.at(place, |(own, others)| {
            own.0 == 0 && others.len() == 1 && others[0].0 == SPINNING
        });
    }
    program.at("between", |said| *said == ((SEQUENTIAL, 0), others(1, SPINNING)));
    program.ends();
}

#[test]
fn who_runs_a_task_at_a_barrier_does_not_spin() {
    for runtime in [Libomp, Libgomp] {
        let mut program = start(runtime, "tasks");
        program.at("task", |(own, others)| {
            own.0 == 0 && others.len() == 1 && others[0].0 == SPINNING
        });
        program.ends();
        let mut program = start(runtime, "taskloop");
        program.at("taskloop", |said| busy(said, 2));
        program.ends();
    }
}

/// The program judges itself.
#[test]
fn tasks_compute_as_they_do_without_the_library() {
    succeeds(&mut preloaded("tasks"));
    succeeds(preloaded("tasks").env_remove("LD_PRELOAD"));
}

#[test]
fn with_several_initial_threads_none_is_sequential() {
    for runtime in [Libomp, Libgomp] {
        let mut program = start(runtime, "two-initial");
        program.at("two", |said| busy(said, 5));
        program.at("not-alone", |(own, others)| {
            *own == (0, 0) && others.iter().all(|said| said.1 == 0)
        });
        program.at("alone", |(own, _)| *own == (SEQUENTIAL, 0));
        program.ends();
    }
}

#[test]
fn the_teams_of_a_league_are_a_region_if_they_run_at_the_same_time() {
    let mut program = start(Libomp, "teams");
    program.at("teams", |said| *said == ((0, 2), others(1, 0)));
    program.at("between", |said| *said == ((SEQUENTIAL, 0), others(1, SPINNING)));
    program.ends();
    let mut program = start(Libgomp, "team-by-team");
    program.at("team", |said| busy(said, 3));
    program.at("team", |said| busy(said, 3));
    program.at("between", |said| *said == ((SEQUENTIAL, 0), others(2, SPINNING)));
    program.ends();
}

#[test]
fn a_forked_process_is_outside_of_all_regions() {
    for runtime in [Libomp, Libgomp] {
        let mut program = start(runtime, "forked");
        program.at("child", |said| *said == ((SEQUENTIAL, 0), Vec::new()));
        program.at("parent", |(own, _)| *own == (0, 3));
        program.ends();
    }
}
