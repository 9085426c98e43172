// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the OpenMP tool says of a program that gives no hints itself, read from its page while it waits at known points.

mod common;

use common::{listen, Page};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const SPINNING: u32 = 1;
const SEQUENTIAL: u32 = 2;
/// A thread on its way to a barrier may take long to get there.
const PATIENCE: Duration = Duration::from_secs(300);

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().into()
}

/// The folder of the tool and of the program `openmp`.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let hints = Path::new(env!("CARGO_MANIFEST_DIR"));
        let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("openmp");
        let clang = succeeds(&mut Command::new(hints.join("../scripts/clang.sh")));
        let make = [
            "-C",
            hints.to_str().unwrap(),
            &format!("OUT={}", out.display()),
            &format!("CLANG={clang}"),
            "ompt",
        ];
        succeeds(Command::new("make").args(make));
        let flags = [
            "-std=c11",
            "-D_GNU_SOURCE",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fopenmp",
            "-pthread",
            "-o",
        ];
        let program = out.join("openmp");
        succeeds(
            Command::new(clang)
                .args(flags)
                .arg(program)
                .arg(hints.join("tests/openmp.c")),
        );
        out
    })
}

struct Program {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    folder: tempfile::TempDir,
}

/// The first thread, or the one that waits for an answer; what it says, and what the others say, in order: flags and parallelism.
type Said = ((u32, u32), Vec<(u32, u32)>);

impl Program {
    fn start(mode: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        listen(folder.path());
        let mut child = Command::new(built().join("openmp"))
            .arg(mode)
            .env("LOP_HINT_DIR", folder.path())
            .env("OMP_TOOL_LIBRARIES", built().join("liblopsided-ompt.so"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines, folder }
    }

    fn says(&self, thread: u32) -> Said {
        let mut records = Page::read(self.folder.path(), self.child.id()).1;
        records.retain(|record| record[0] != 0);
        let (own, others): (Vec<_>, Vec<_>) = records.iter().partition(|record| record[6] == thread);
        assert_eq!(own.len(), 1, "of thread {thread}: {records:?}");
        let says = |record: &[u32; 16]| (record[1], record[4]);
        let mut others: Vec<_> = others.into_iter().map(says).collect();
        others.sort_unstable();
        (says(own[0]), others)
    }

    /// The program is there, and before long says that.
    fn at(&mut self, place: &str, wanted: impl Fn(&Said) -> bool) {
        let line = self.lines.next().expect("the program goes on").unwrap();
        let (found, thread) = line.split_once(' ').unwrap();
        assert_eq!(found, place);
        let (thread, ends) = (thread.parse().unwrap(), Instant::now() + PATIENCE);
        loop {
            let said = self.says(thread);
            if wanted(&said) {
                break;
            }
            assert!(Instant::now() < ends, "{place}: {said:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
        self.child.stdin.as_ref().unwrap().write_all(b"\n").unwrap();
    }

    fn ends(mut self) {
        assert!(self.lines.next().is_none());
        assert!(self.child.wait().unwrap().success());
    }
}

/// So many others, all of which only say these flags.
fn others(number: usize, flags: u32) -> Vec<(u32, u32)> {
    vec![(flags, 0); number]
}

#[test]
fn regions_have_a_parallelism_and_between_them_the_program_is_sequential() {
    let mut program = Program::start("regions");
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
    let mut program = Program::start("nested");
    program.at("nested", |(own, others)| {
        let flags = others.iter().map(|(flags, _)| flags).chain([&own.0]);
        let declared = others.iter().map(|(_, declared)| declared).chain([&own.1]);
        others.len() == 5 && flags.max() == Some(&0) && declared.max() == Some(&6)
    });
    program.at("between", |(own, others)| {
        *own == (SEQUENTIAL, 0) && others.iter().all(|said| said.0 == SPINNING)
    });
    program.ends();
}

#[test]
fn who_runs_a_task_at_a_barrier_does_not_spin() {
    let mut program = Program::start("tasks");
    program.at("task", |(own, others)| {
        own.0 == 0 && others.len() == 1 && others[0].0 == SPINNING
    });
    program.ends();
}

#[test]
fn with_several_initial_threads_none_is_sequential() {
    let mut program = Program::start("two-initial");
    program.at("two", |(own, others)| {
        let declared = others.iter().map(|(_, declared)| declared).chain([&own.1]);
        own.0 == 0 && others.len() == 4 && others.iter().all(|said| said.0 == 0) && declared.max() == Some(&5)
    });
    program.at("not-alone", |(own, _)| *own == (0, 0));
    program.at("alone", |(own, _)| *own == (SEQUENTIAL, 0));
    program.ends();
}
