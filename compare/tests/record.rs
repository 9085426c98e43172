// SPDX-License-Identifier: MIT OR Apache-2.0
//! The recorder on real commands.

use lop_compare::record::{Event, Process};
use lop_compare::{record, to_workload, RecordError, RecordOptions, Recording};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

const NOBODY: u32 = 65534;
/// Longer than any machine needs; a test only waits this long if something is broken.
const PATIENCE: Duration = Duration::from_secs(600);

fn words<S: AsRef<str>>(command: &[S]) -> Vec<OsString> {
    command.iter().map(|word| word.as_ref().into()).collect()
}

fn recorded<S: AsRef<str>>(command: &[S]) -> Recording {
    let options = RecordOptions {
        linger: PATIENCE,
        ..RecordOptions::default()
    };
    let recording = record(&words(command), &options).expect("recording");
    assert_is_sound(&recording);
    recording
}

fn sh(script: &str) -> Recording {
    recorded(&["sh", "-c", script])
}

/// Checks what holds for every recording.
fn assert_is_sound(recording: &Recording) {
    assert_eq!(
        recording.cpu_ns,
        recording.processes.iter().map(|process| process.cpu_ns).sum::<u64>()
    );
    for (index, process) in recording.processes.iter().enumerate() {
        assert_eq!(process.parent.is_none(), index == 0, "{process:?}");
        assert!(process.start_ns <= process.end_ns, "{process:?}");
        assert_eq!(
            process.cpu_ns,
            process.segments.iter().map(|segment| segment.cpu_ns).sum::<u64>()
        );
        assert_eq!(
            process.segments.last().map(|segment| &segment.event),
            Some(&Event::Exit)
        );
        assert!(!is_own_zombie(process.tid), "{process:?}");
    }
    assert_workload_fits(recording);
}

fn is_own_zombie(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut fields = after_name.split_whitespace();
    fields.next() == Some("Z") && fields.next() == Some(&std::process::id().to_string())
}

fn steps(task: &toml::Value) -> impl Iterator<Item = &toml::Table> {
    task["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| step.as_table().expect("a table"))
}

/// The workload file is TOML, forks every task once, and has the recorded CPU time.
fn assert_workload_fits(recording: &Recording) {
    let text = to_workload(recording, "trial");
    let workload: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let tasks = workload["task"].as_table().expect("tasks");
    assert_eq!(tasks.len(), recording.processes.len());
    let all_steps = || tasks.values().flat_map(steps);
    let mut forked: Vec<&str> = all_steps().filter_map(|step| step.get("fork")?.as_str()).collect();
    forked.sort_unstable();
    let mut expected: Vec<&str> = tasks
        .iter()
        .filter(|(_, task)| task["count"].as_integer() == Some(0))
        .map(|(name, _)| name.as_str())
        .collect();
    expected.sort_unstable();
    assert_eq!(forked, expected);
    assert_eq!(expected.len(), tasks.len() - 1);
    let run_ms: f64 = all_steps().filter_map(|step| step.get("run_ms")?.as_float()).sum();
    let cpu_ms = recording.cpu_ns as f64 / 1e6;
    assert!(
        (run_ms - cpu_ms).abs() <= 0.02 * cpu_ms + 0.001 * tasks.len() as f64,
        "{run_ms} {cpu_ms}"
    );
}

fn named<'a>(recording: &'a Recording, program: &str) -> Vec<&'a Process> {
    recording
        .processes
        .iter()
        .filter(|process| process.program == program)
        .collect()
}

fn reaped(process: &Process) -> Vec<(bool, usize)> {
    let event = |event: &Event| match *event {
        Event::WaitEnd {
            named,
            reaped: Some(child),
        } => Some((named, child)),
        _ => None,
    };
    process
        .segments
        .iter()
        .filter_map(|segment| event(&segment.event))
        .collect()
}

fn compile(directory: &Path, name: &str, source: &Path) -> String {
    let program = directory.join(name);
    let status = Command::new("cc")
        .arg("-pthread")
        .arg("-o")
        .arg(&program)
        .arg(source)
        .status()
        .expect("a C compiler");
    assert!(status.success());
    program.to_str().expect("UTF-8").to_string()
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

/// A copy of this test program that everybody may run. Beside it, `PROGRAMS` has the C programs, which other users may not read here. Another
/// process copies it: if it were open for writing here, a process that another test starts at that moment would inherit it, and the kernel runs no
/// file that is open for writing.
fn public_copy(directory: &Path) -> PathBuf {
    let copy = directory.join("tests");
    let copied = Command::new("cp")
        .arg(std::env::current_exe().expect("own path"))
        .arg(&copy)
        .status();
    assert!(copied.expect("cp").success());
    for path in [directory, &copy] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }
    copy
}

/// Compiles a C program of ours; the copy that runs as another user gets it precompiled.
fn program(directory: &Path, name: &str) -> String {
    match std::env::var("LOP_TEST_PROGRAMS") {
        Ok(compiled) => format!("{compiled}/{name}"),
        Err(_) => compile(directory, name, &source(&format!("{name}.c"))),
    }
}

fn assert_passed(output: &Output, tests: usize) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains(&format!(" {tests} passed")),
        "{text}"
    );
}

#[test]
fn a_build_with_make() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().to_str().expect("UTF-8");
    fs::write(
        directory.path().join("Makefile"),
        "CFLAGS = -O2\nall: a.o b.o c.o\n\tcc -o all a.o b.o c.o && sleep 0.01\n",
    )
    .expect("write");
    for (name, text) in [
        ("a", "int b(void); int c(void); int main(void) { return b() + c(); }"),
        ("b", "int b(void) { return 0; }"),
        ("c", "int c(void) { return 0; }"),
    ] {
        fs::write(
            directory.path().join(format!("{name}.c")),
            format!("#include <stdio.h>\n#include <stdlib.h>\n{text}\n"),
        )
        .expect("write");
    }
    let recording = recorded(&[
        "env",
        "-u",
        "MAKEFLAGS",
        "-u",
        "MFLAGS",
        "make",
        "-s",
        "-j2",
        "-C",
        path,
    ]);
    assert_eq!((recording.exit_code, recording.killed_leftovers), (0, 0));
    let (cpu, kernel) = (recording.cpu_ns as f64, recording.rusage_cpu_ns as f64);
    assert!(cpu > 0.0 && kernel > 0.0, "{cpu} {kernel}");
    let compilers = named(&recording, "cc1");
    assert_eq!(compilers.len(), 3);
    for compiler in compilers {
        let driver = &recording.processes[compiler.parent.expect("parent")];
        assert!(["cc", "gcc"].contains(&driver.program.as_str()), "{driver:?}");
        assert!(compiler.cpu_ns > 0 && compiler.start_ns >= driver.start_ns && compiler.end_ns <= driver.end_ns);
        assert!(!reaped(driver).is_empty());
    }
    let make = &recording.processes[0];
    assert_eq!((make.program.as_str(), reaped(make).len()), ("make", 4));
    assert!(reaped(make).iter().all(|&(named, _)| !named));
    assert!(to_workload(&recording, "trial").contains("{ join = \"any\" }"));
    assert!(to_workload(&recording, "trial").contains("# Source files compiled: 3 "));
}

#[test]
fn public_waits_by_name() {
    let directory = tempfile::tempdir().expect("directory");
    let recording = recorded(&[program(directory.path(), "named_wait")]);
    assert_eq!(recording.exit_code, 7);
    assert_eq!(reaped(&recording.processes[0]), [(true, 2), (true, 3), (false, 1)]);
    assert!(recording.processes[1..]
        .iter()
        .all(|process| process.parent == Some(0) && !process.thread));
}

/// The writer begins when its sibling, the reader, sleeps in `read`.
const PIPELINE: &str = "(
        state=
        read -r own rest < /proc/self/stat
        until [ \"$state\" = S ]; do
            read -r children < /proc/$$/task/$$/children
            for child in $children; do
                [ $child = $own ] || read -r pid name state rest < /proc/$child/stat
            done
        done
        sleep 0.05; echo x
    ) | (read line; sleep 0.01; test $line = x)";

#[test]
fn public_pipeline() {
    let recording = sh(PIPELINE);
    assert_eq!(recording.exit_code, 0);
    let sleeps = named(&recording, "sleep");
    assert_eq!(sleeps.len(), 2);
    let shells: Vec<usize> = sleeps.iter().map(|sleep| sleep.parent.expect("parent")).collect();
    assert!(shells[0] != shells[1] && shells.iter().all(|&shell| recording.processes[shell].parent == Some(0)));
    assert_eq!(reaped(&recording.processes[0]).len(), 2);
    assert!(to_workload(&recording, "trial").contains("{ wait = \"pipe-"));
    assert!(recording.wall_ns >= 60_000_000);
}

#[test]
fn public_threads() {
    let directory = tempfile::tempdir().expect("directory");
    let recording = recorded(&[program(directory.path(), "threads")]);
    let threads: Vec<&Process> = recording.processes.iter().filter(|process| process.thread).collect();
    assert_eq!(
        (recording.exit_code, threads.len(), recording.processes.len()),
        (0, 3, 4)
    );
    assert!(
        threads
            .iter()
            .all(|thread| thread.parent == Some(0) && thread.cpu_ns >= 25_000_000),
        "{threads:?}"
    );
    let text = to_workload(&recording, "trial");
    assert!(
        (1..4).all(|thread| text.contains(&format!("{{ join = \"p{thread}-threads\" }}"))),
        "{text}"
    );
}

#[test]
fn a_thread_that_executes_a_program() {
    let directory = tempfile::tempdir().expect("directory");
    let recording = recorded(&[program(directory.path(), "threads"), "/bin/true".into()]);
    assert_eq!((recording.exit_code, recording.processes.len()), (0, 2));
    assert_eq!(recording.processes[0].program, "true");
}

#[test]
fn exit_codes_and_signals_are_passed_on() {
    assert_eq!(sh("exit 42").exit_code, 42);
    assert_eq!(sh("kill -TERM $$").exit_code, 128 + libc::SIGTERM);
    assert_eq!(sh("kill -KILL $$").exit_code, 128 + libc::SIGKILL);
    // Signals reach their handlers, and stopping and continuing works.
    assert_eq!(sh("trap 'exit 5' USR1; kill -USR1 $$; exit 6").exit_code, 5);
    assert_eq!(
        sh("sleep 0.05 & kill -STOP $!; sleep 0.02; kill -CONT $!; wait $!").exit_code,
        0
    );
}

/// It begins to sleep when its parent is no longer the shell.
const ORPHAN: &str = "(
        parent=$$
        while [ $parent = $$ ]; do read -r pid name state parent rest < /proc/self/stat; done
        sleep 0.2; true
    ) & exit 3";

#[test]
fn an_orphan_is_followed_to_its_end() {
    let recording = sh(ORPHAN);
    assert_eq!((recording.exit_code, recording.killed_leftovers), (3, 0));
    let sleep = named(&recording, "sleep")[0];
    assert!(sleep.end_ns > recording.processes[0].end_ns && sleep.end_ns - sleep.start_ns >= 200_000_000);
}

#[test]
fn what_lingers_is_killed() {
    let options = RecordOptions {
        linger: Duration::from_millis(100),
        ..RecordOptions::default()
    };
    let recording = record(&words(&["sh", "-c", "sleep 600 & exit 0"]), &options).expect("recording");
    assert_eq!((recording.exit_code, recording.killed_leftovers), (0, 1));
    assert_is_sound(&recording);
}

#[test]
fn an_interrupted_recording_kills_the_tree() {
    let flag = Arc::new(AtomicBool::new(false));
    let options = RecordOptions {
        interrupt: Some(flag.clone()),
        ..RecordOptions::default()
    };
    let directory = tempfile::tempdir().expect("directory");
    let mark = directory.path().join("pid");
    let script = format!("sleep 600 & echo $! > {}; wait", mark.display());
    let raise = std::thread::spawn(move || {
        let begin = Instant::now();
        let written = || {
            fs::read_to_string(&mark)
                .ok()
                .and_then(|text| text.trim().parse::<i32>().ok())
        };
        while written().is_none() && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        flag.store(true, Ordering::Relaxed);
        written()
    });
    let error = record(&words(&["sh", "-c", &script]), &options).expect_err("interrupted");
    assert!(matches!(error, RecordError::Interrupted) && error.exit_code() == 130);
    let sleeper = raise.join().expect("thread").expect("process number");
    let status = fs::read_to_string(format!("/proc/{sleeper}/status")).unwrap_or_default();
    assert!(
        !status.contains("Name:\tsleep") || status.contains("State:\tZ"),
        "{status}"
    );
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn ctrl_c_leaves_nothing_running() {
    if let Ok(mark) = std::env::var("LOP_TEST_MARK") {
        // A shell starts background jobs with SIGINT ignored, which is inherited.
        // SAFETY: the default action needs no handler.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        sh(&format!("echo $$ > {mark}; exec sleep 600"));
        return;
    }
    let directory = tempfile::tempdir().expect("directory");
    let mark = directory.path().join("pid");
    let mut recorder = Command::new(std::env::current_exe().expect("own path"))
        .args(["--exact", "ctrl_c_leaves_nothing_running"])
        .env("LOP_TEST_MARK", &mark)
        .spawn()
        .expect("run");
    let status = || fs::read_to_string(format!("/proc/{}/status", fs::read_to_string(&mark).ok()?.trim())).ok();
    wait_until("sleep", || {
        status().is_some_and(|status| status.contains("Name:\tsleep"))
    });
    // SAFETY: a signal to our own child, which has not been waited for.
    unsafe { libc::kill(recorder.id() as i32, libc::SIGINT) };
    let end = recorder.wait().expect("wait");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&end), Some(libc::SIGINT));
    wait_until("the end of sleep", || {
        status().is_none_or(|status| !status.contains("Name:\tsleep") || status.contains("State:\tZ"))
    });
}

#[test]
fn commands_that_cannot_run() {
    let failure = |command: &[&str]| record(&words(command), &RecordOptions::default()).expect_err("no recording");
    let missing = failure(&["no-such-command-here"]);
    assert_eq!(missing.exit_code(), 127);
    assert!(
        missing.to_string().contains("no-such-command-here") && missing.to_string().contains("No such file"),
        "{missing}"
    );
    assert_eq!(failure(&["/"]).exit_code(), 126);
    assert_eq!(failure(&["a\0b"]).exit_code(), 126);
    assert!(matches!(failure(&[]), RecordError::NoCommand));
}

#[test]
fn as_an_unprivileged_user() {
    let directory = tempfile::tempdir().expect("directory");
    let copy = public_copy(directory.path());
    for name in ["named_wait", "threads"] {
        compile(directory.path(), name, &source(&format!("{name}.c")));
    }
    let mut command = Command::new(copy);
    command
        .arg("public_")
        .current_dir("/")
        .env("LOP_TEST_PROGRAMS", directory.path());
    // SAFETY: geteuid has no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    assert_passed(&command.output().expect("run"), 3);
}

/// "Fail `ptrace` with EPERM, allow the rest", as in containers.
fn forbid_ptrace() -> std::io::Result<()> {
    let instruction = |code: u32, jf: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf,
        k,
    };
    let mut program = [
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_ptrace as u32),
        instruction(
            libc::BPF_RET | libc::BPF_K,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
        ),
        instruction(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: prctl on a filter that outlives the call.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    };
    done.then_some(()).ok_or_else(std::io::Error::last_os_error)
}

#[test]
fn where_tracing_is_denied() {
    if std::env::var_os("LOP_TEST_DENIED").is_none() {
        let mut command = Command::new(std::env::current_exe().expect("own path"));
        command
            .args(["--exact", "where_tracing_is_denied"])
            .env("LOP_TEST_DENIED", "1");
        // SAFETY: prctl only between fork and exec.
        unsafe { command.pre_exec(forbid_ptrace) };
        return assert_passed(&command.output().expect("run"), 1);
    }
    let error = record(&words(&["true"]), &RecordOptions::default()).expect_err("denied");
    assert!(matches!(error, RecordError::TracingDenied { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("ptrace") && (text.contains("SYS_PTRACE") || text.contains("ptrace_scope")),
        "{text}"
    );
    assert_eq!(error.exit_code(), 1);
}

#[test]
fn the_recording_that_ships_is_of_a_real_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/workloads/recorded-build.toml");
    let text = fs::read_to_string(path).expect("recording");
    assert!(text.len() <= 600_000);
    let workload: toml::Table = text.parse().expect("TOML");
    let tasks = workload["task"].as_table().expect("tasks");
    assert!(tasks.keys().filter(|name| name.ends_with("-cc1")).count() >= 100);
    let seconds = |step: &toml::Table| step.get("run_ms")?.as_float().map(|ms| ms / 1e3);
    let run_s: f64 = tasks.values().flat_map(steps).filter_map(seconds).sum();
    let header = text.lines().find_map(|line| {
        line.strip_prefix("# CPU time: ")?
            .split(' ')
            .next()?
            .parse::<f64>()
            .ok()
    });
    let cpu_s = header.expect("CPU time in the header");
    assert!((run_s - cpu_s).abs() <= 0.02 * cpu_s, "{run_s} {cpu_s}");
}
