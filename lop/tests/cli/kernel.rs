// SPDX-License-Identifier: GPL-2.0-only
//! The commands around the kernel scheduler, without one: on machines that lack something (fake trees), and with an instance that
//! serves and ends as the real one does but leaves the kernel alone.

use super::*;
use lop_kernel::adapter::{Exit, KernelError, Observer};
use lop_kernel::goal::Follower;
use lop_kernel::instance::{Instance, RunDir};
use lop_kernel::options::Options;
use lop_kernel::requests::Inbox;
use lop_kernel::service::Service;
use lop_kernel::signals::{on_signals, ENDING};
use lop_kernel::status::Status;
use lop_machine::speed::{Speeds, Wish};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

const TREE: [(&str, &str); 11] = [
    ("proc/sys/kernel/osrelease", "6.18.15\n"),
    ("proc/self/status", "CapEff:\t000001ffffffffff\n"),
    ("proc/sys/kernel/random/boot_id", "a-boot\n"),
    ("sys/kernel/btf/vmlinux", ""),
    ("sys/kernel/sched_ext/state", "disabled\n"),
    ("sys/devices/system/cpu/online", "0\n"),
    (POLICY_MIN, "1000000\n"),
    ("sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "2000000\n"),
    ("sys/devices/system/cpu/cpufreq/policy0/cpuinfo_min_freq", "1000000\n"),
    ("sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "2000000\n"),
    ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "ondemand\n"),
];
const POLICY_MIN: &str = "sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq";

/// An instance has two seconds to say how it is, which may be too few on a busy machine: it is asked again then.
fn is_too_late(said: &str) -> bool {
    ["did not answer in time", "does not answer"]
        .iter()
        .any(|late| said.contains(late))
}

/// A machine below `root` and the run folder beside it.
pub struct Machine {
    folder: TempDir,
}

impl Machine {
    /// One that lacks nothing.
    pub fn new() -> Self {
        let machine = Self { folder: folder() };
        TREE.iter().for_each(|(path, text)| machine.write(path, text));
        for (file, text) in [
            ("related_cpus", "0\n"),
            ("affected_cpus", "0\n"),
            ("scaling_driver", "acpi-cpufreq\n"),
        ] {
            machine.write(&format!("sys/devices/system/cpu/cpufreq/policy0/{file}"), text);
        }
        machine
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Lower and upper limit of its CPU.
    fn limits(&self) -> [String; 2] {
        ["min", "max"].map(|limit| {
            let file = format!("sys/devices/system/cpu/cpufreq/policy0/scaling_{limit}_freq");
            std::fs::read_to_string(self.path(&file)).unwrap()
        })
    }

    fn run_dir(&self) -> RunDir {
        RunDir::new(self.path("run"))
    }

    /// `lop` on this machine; CMD follows `--` where there is one.
    pub fn answer(&self, arguments: &[&str]) -> Answer {
        let (run, root) = (self.path("run"), self.folder.path());
        let place = ["--run-dir", run.to_str().unwrap(), "--root", root.to_str().unwrap()];
        let end = arguments
            .iter()
            .position(|word| *word == "--")
            .unwrap_or(arguments.len());
        let arguments = [&arguments[..end], &place, &arguments[end..]].concat();
        loop {
            let answer = answer(self.folder.path(), &arguments);
            if !is_too_late(&answer.stderr) {
                return answer;
            }
        }
    }

    /// Exit code 1 and one line, which says all of this.
    fn refused(&self, arguments: &[&str], expected: &[&str]) {
        let answer = self.answer(arguments);
        assert_eq!(answer.code, 1, "{arguments:?}: {}{}", answer.stdout, answer.stderr);
        let belongs = |line: &str| line.starts_with("  by ") || line.starts_with("lop: hint: ");
        let (first, rest) = answer.stderr.split_once('\n').unwrap_or_default();
        assert!(
            first.starts_with("lop: ") && rest.lines().all(belongs),
            "{arguments:?}: {}",
            answer.stderr
        );
        for part in expected {
            assert!(
                answer.stderr.contains(part),
                "{arguments:?}: no '{part}' in: {}",
                answer.stderr
            );
        }
    }

    /// A status that is watched, a line of JSON for each.
    fn watch(&self) -> Child {
        self.repeating(&["status", "--watch", "--format", "json"])
    }

    fn monitor(&self) -> Child {
        self.repeating(&["start", "--monitor", "0.1"])
    }

    fn repeating(&self, arguments: &[&str]) -> Child {
        std::process::Command::new(assert_cmd::cargo::cargo_bin("lop"))
            .args(arguments)
            .arg("--run-dir")
            .arg(self.path("run"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Starts this test program again as what `role` names.
    fn again(&self, role: &str) -> Child {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("kernel::{role}"), "--nocapture"])
            .env("LOP_TEST_ROLE", role)
            .env("LOP_TEST_ROOT", self.folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// An instance that is attached, as far as anybody can tell.
    pub fn instance(&self) -> Child {
        let mut child = self.again("the_instance");
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "ready"));
        child
    }
}

/// Where this process plays a part for a test: its machine.
fn playing(role: &str) -> Option<Machine> {
    (std::env::var("LOP_TEST_ROLE").ok()? == role).then(|| Machine {
        // The test that started this process owns the folder.
        folder: {
            let folder = tempfile::tempdir_in(std::env::var_os("LOP_TEST_ROOT").unwrap()).unwrap();
            std::os::unix::fs::symlink(std::env::var_os("LOP_TEST_ROOT").unwrap(), folder.path().join("root")).unwrap();
            folder
        },
    })
}

struct Ready;

impl Observer for Ready {
    fn attached(&mut self, _: &Status) -> Result<(), KernelError> {
        println!("\nready");
        Ok(())
    }

    fn note(&mut self, _: &str) {}
}

/// Not a test of its own: an instance without a kernel, which the tests below start in a process of its own.
#[test]
fn the_instance() {
    let Some(machine) = playing("the_instance") else { return };
    let service = Service::open(&RunDir::new(machine.path("root/run"))).unwrap();
    let requests = service.requests();
    let _signals = on_signals(&ENDING, move |_| requests.stop()).unwrap();
    let mut obedient = |options: &Options, inbox: &Inbox, observer: &mut dyn Observer| {
        let mut status = Status::begin(options);
        let mut goals = Follower::begin(options);
        status.aim_at(goals.aim().as_ref());
        observer.attached(&status)?;
        while !inbox.stop_wanted() {
            inbox.wait().map_err(|error| KernelError::new(error.to_string()))?;
            inbox.answer(|| status.clone());
            for request in inbox.goals() {
                goals.choose(request.choice);
                status.aim_at(goals.aim().as_ref());
                request.done();
            }
        }
        Ok(Exit::default())
    };
    let options = Options {
        root: machine.path("root"),
        ..Options::default()
    };
    service.run(&options, &mut obedient, &mut Ready).unwrap();
}

/// Not a test of its own: sets speeds and dies before it can put them back.
#[test]
fn the_killed_one() {
    let Some(machine) = playing("the_killed_one") else {
        return;
    };
    let dir = RunDir::new(machine.path("root/run"));
    dir.create().unwrap();
    let mut speeds = Speeds::open(&machine.path("root"), &dir.speed_journal()).unwrap();
    speeds.apply(0, Wish::High).unwrap();
    std::process::exit(9);
}

/// Without sched_ext, by its configuration.
fn without_sched_ext() -> Machine {
    let machine = Machine::new();
    std::fs::remove_dir_all(machine.path("sys/kernel/sched_ext")).unwrap();
    machine.write("boot/config-6.18.15", "# CONFIG_SCHED_CLASS_EXT is not set\n");
    machine
}

#[test]
fn without_sched_ext_nothing_is_started() {
    let machine = without_sched_ext();
    let lacks = "6.18.15 is built without sched_ext";
    let line = [
        "cannot start: nothing here can put this policy in force\n  by kernel: ",
        lacks,
        "\nlop: hint: 'lop doctor' says how to mend each of them",
    ];
    machine.refused(&["start"], &line);
    machine.refused(&["start", "--daemon"], &line);
    machine.refused(
        &["run", "--enforce", "kernel", "--", "touch", "ran"],
        &["cannot start", lacks, "CONFIG_SCHED_CLASS_EXT=y"],
    );
    assert!(!machine.path("ran").exists());
    assert!(!machine.path("run").exists(), "nothing changed");
}

#[test]
fn a_command_is_not_run_where_its_policy_cannot_be_enforced() {
    let machine = without_sched_ext();
    for list in ["present", "online"] {
        machine.write(&format!("sys/devices/system/cpu/{list}"), "0-1\n");
    }
    machine.refused(
        &["run", "--policy", "spread", "--", "touch", "ran"],
        &[
            "6.18.15 is built without sched_ext",
            "by affinity: spread has nothing to choose from: this machine has one memory domain",
        ],
    );
    machine.refused(
        &[
            "run",
            "--policy",
            "gather",
            "--enforce",
            "affinity",
            "--",
            "touch",
            "ran",
        ],
        &["gather has nothing to choose from"],
    );
    machine.refused(&["run", "--partial", "--", "touch", "ran"], &["cannot start"]);
    let usage = machine.answer(&["run", "--partial", "--enforce", "affinity", "--", "touch", "ran"]);
    assert_eq!(usage.code, 2, "{}", usage.stderr);
    assert!(usage.stderr.contains("--partial: "), "{}", usage.stderr);
    assert!(!machine.path("ran").exists());
}

/// The same on the machine that runs the tests, where its kernel has no sched_ext. With one, the tests in the guest attach.
#[test]
fn on_this_machine_start_says_what_is_missing() {
    if Path::new("/sys/kernel/sched_ext").exists() {
        return;
    }
    let folder = folder();
    let run = folder.path().join("run");
    let answer = answer(folder.path(), &["start", "--run-dir", run.to_str().unwrap()]);
    assert_eq!(answer.code, 1);
    assert!(answer.stderr.starts_with("lop: cannot start"), "{}", answer.stderr);
    assert!(answer.stderr.contains("sched_ext"), "{}", answer.stderr);
    assert_eq!(files_in(folder.path()), Vec::<String>::new());
}

#[test]
fn an_old_kernel_no_rights_and_another_scheduler_are_told() {
    let old = Machine::new();
    std::fs::remove_dir_all(old.path("sys/kernel/sched_ext")).unwrap();
    old.write("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    old.refused(&["start"], &["6.1.0-18-amd64", "needs 6.12 or later"]);

    let user = Machine::new();
    user.write("proc/self/status", "CapEff:\t0000000000000000\n");
    user.refused(&["start"], &["root's rights", "'lop doctor'"]);
    user.refused(&["start", "--enforce", "kernel"], &["root's rights", "sudo"]);

    let taken = Machine::new();
    taken.write("sys/kernel/sched_ext/state", "enabled\n");
    taken.write("sys/kernel/sched_ext/root/ops", "scx_lavd\n");
    taken.refused(&["start"], &["scx_lavd is attached: stop it first"]);
    taken.refused(&["run", "--", "touch", "ran"], &["scx_lavd is attached"]);
    for command in [&["status"][..], &["start", "--monitor", "1"]] {
        taken.refused(command, &["not running; scx_lavd is in charge", "once it has ended"]);
    }
    assert!(!taken.path("ran").exists());
}

#[test]
fn nothing_that_runs_is_said() {
    let machine = Machine::new();
    machine.refused(&["stop"], &["not running"]);
    let way_out = ["not running; the kernel's own scheduler", "'lop start' takes over"];
    for command in [
        &["status"][..],
        &["goal"],
        &["goal", "energy"],
        &["start", "--monitor", "1"],
    ] {
        machine.refused(command, &way_out);
    }
    assert!(!machine.path("run").exists(), "nothing is started");
    let json = machine.answer(&["status", "--format", "json"]);
    assert_eq!(json.code, 1);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json, serde_json::json!({"running": false, "scheduler": null}));

    let restore = machine.answer(&["restore"]);
    assert_eq!(restore.code, 0);
    assert!(restore.stdout.contains("nothing to restore"), "{}", restore.stdout);
}

#[test]
fn a_running_instance_is_shown_guarded_and_stopped() {
    let machine = Machine::new();
    let mut child = machine.instance();
    let pid = format!("pid {}", child.id());

    let page = machine.answer(&["status"]);
    assert_eq!(page.code, 0, "{}", page.stderr);
    assert!(
        page.stdout.contains(&pid) && page.stdout.contains("policy   auto, spare"),
        "{}",
        page.stdout
    );
    let json: Value = serde_json::from_str(&machine.answer(&["status", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["running"], true);
    assert_eq!(json["pid"], child.id());

    // Somebody limits a group while the scheduler is in charge.
    machine.write("sys/fs/cgroup/build/cpu.max", "50000 100000\n");
    let page = machine.answer(&["status"]).stdout;
    assert!(
        page.contains("lost     group /build may use no more than a share"),
        "{page}"
    );
    machine.write("sys/fs/cgroup/build/cpu.max", "max 100000\n");

    machine.refused(&["start"], &["running already", &pid, "lop stop"]);
    machine.refused(&["run", "--", "touch", "ran"], &["running already"]);
    machine.refused(&["restore"], &["is running", "lop stop"]);
    machine.refused(&["amp", "set", "0=1.2GHz"], &["running already", &pid, "lop stop"]);

    let stop = machine.answer(&["stop"]);
    assert_eq!(stop.code, 0, "{}", stop.stderr);
    assert!(
        stop.stdout.contains(&pid) && stop.stdout.contains("are back"),
        "{}",
        stop.stdout
    );
    assert!(child.wait().unwrap().success());
    machine.refused(&["status"], &["not running"]);
    machine.refused(&["stop"], &["not running"]);
}

/// Root's instance before somebody else's eyes; who is not root cannot play both.
#[test]
fn an_ordinary_user_sees_the_status_and_is_told_about_sudo() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let machine = Machine::new();
    std::fs::set_permissions(machine.folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = machine.path("lop");
    // By another process: were it open here, a program that another test starts at that moment would have it open too, and the kernel runs no file that
    // somebody may write.
    let mut copy = std::process::Command::new("cp");
    copy.arg("-p").arg(assert_cmd::cargo::cargo_bin("lop")).arg(&program);
    assert!(copy.status().unwrap().success());
    let once = |command: &str| {
        let (run, root) = (machine.path("run"), machine.folder.path());
        let output = std::process::Command::new(&program)
            .args(command.split(' '))
            .args(["--run-dir", run.to_str().unwrap(), "--root", root.to_str().unwrap()])
            .uid(NOBODY)
            .gid(NOBODY)
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let as_nobody = |command: &str| loop {
        let said = once(command);
        if !is_too_late(&said.2) {
            return said;
        }
    };
    let mut child = machine.instance();
    let (code, said, _) = as_nobody("status");
    assert!(
        code == Some(0) && said.contains(&format!("pid {}", child.id())),
        "{said}"
    );
    let (code, said, _) = as_nobody("goal");
    assert!(code == Some(0) && said.starts_with("balanced"), "{said}");
    for command in ["stop", "restore", "start", "goal energy"] {
        let (code, _, error) = as_nobody(command);
        assert!(code == Some(1) && error.contains("sudo"), "{command}: {error}");
    }
    assert_eq!(machine.answer(&["stop"]).code, 0);
    child.wait().unwrap();
    let (code, _, error) = as_nobody("status");
    assert!(code == Some(1) && error.contains("not running"), "{error}");
}

#[test]
fn stop_names_the_speeds_that_are_not_back() {
    let machine = Machine::new();
    assert_eq!(machine.again("the_killed_one").wait().unwrap().code(), Some(9));
    let mut child = machine.instance();
    let stop = machine.answer(&["stop"]);
    child.wait().unwrap();
    assert_eq!(stop.code, 1);
    for part in [
        "not all speeds: ",
        "policy0/scaling_min_freq (CPU 0)",
        "'lop restore' tries again",
    ] {
        assert!(stop.stderr.contains(part), "no '{part}' in: {}", stop.stderr);
    }
}

#[test]
fn a_damaged_journal_is_named_with_what_to_do() {
    let machine = Machine::new();
    machine.write("run/speeds.journal", "no journal\n");
    machine.refused(
        &["restore"],
        &["run/speeds.journal:1", "look at this file", "by hand, then remove it"],
    );
}

#[test]
fn a_killed_instance_is_nobody() {
    let machine = Machine::new();
    let mut child = machine.instance();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(machine.run_dir().socket().exists(), "it had no time to clean up");
    machine.refused(&["status"], &["not running"]);
    machine.refused(&["stop"], &["not running"]);
    assert_eq!(machine.answer(&["restore"]).code, 0);
}

#[test]
fn a_watched_status_appends_in_a_pipe() {
    let machine = Machine::new();
    let mut instance = machine.instance();
    let said = |watch: Child| {
        let output = watch.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "it ends with what it watches");
        String::from_utf8(output.stderr).unwrap()
    };
    let watch = loop {
        let mut watch = machine.watch();
        let lines: Vec<_> = BufReader::new(watch.stdout.as_mut().unwrap()).lines().take(2).collect();
        if lines.len() < 2 {
            let said = said(watch);
            assert!(is_too_late(&said), "{said}");
            continue;
        }
        for line in lines {
            let status: Value = serde_json::from_str(&line.unwrap()).unwrap();
            assert_eq!(status["pid"], instance.id());
        }
        break watch;
    };
    assert_eq!(machine.answer(&["stop"]).code, 0);
    instance.wait().unwrap();
    let said = said(watch);
    // An instance removes its socket first and frees its lock last.
    let ends = ["not running", "just starting or ending"];
    assert!(
        ends.iter().any(|end| said.contains(end)) || is_too_late(&said),
        "{said}"
    );
}

#[test]
fn a_lock_without_a_socket_is_an_instance_that_starts_or_ends() {
    let machine = Machine::new();
    let _instance = Instance::acquire(&machine.run_dir()).unwrap();
    machine.refused(&["status"], &["just starting or ending", "try again"]);
}

/// What is missing where an answer was too late, is told when the next line is due.
#[test]
fn a_monitor_prints_lines_until_its_scheduler_ends() {
    let machine = Machine::new();
    let mut instance = machine.instance();
    let (mut monitor, lines) = loop {
        let mut monitor = machine.monitor();
        let said = BufReader::new(monitor.stdout.as_mut().unwrap()).lines().take(3);
        let lines: Vec<String> = said.map(Result::unwrap).collect();
        if lines.len() == 3 {
            break (monitor, lines);
        }
        let said = String::from_utf8(monitor.wait_with_output().unwrap().stderr).unwrap();
        assert!(is_too_late(&said), "{said}");
    };
    assert!(lines[0].starts_with("active target   high"), "{lines:?}");
    for line in &lines[1..] {
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["0"; 11], "it did nothing");
    }
    assert_eq!(machine.answer(&["stop"]).code, 0);
    instance.wait().unwrap();
    assert_eq!(monitor.wait().unwrap().code(), Some(0), "it ends with what it watches");
}

#[test]
fn who_repeats_itself_ends_when_nobody_reads() {
    let machine = Machine::new();
    let mut instance = machine.instance();
    for mut repeating in [machine.watch(), machine.monitor()] {
        drop(repeating.stdout.take());
        let output = repeating.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() || is_too_late(&said), "{said}");
    }
    assert_eq!(machine.answer(&["stop"]).code, 0);
    instance.wait().unwrap();
}

#[test]
fn speeds_of_a_killed_scheduler_are_put_back() {
    let machine = Machine::new();
    assert_eq!(machine.again("the_killed_one").wait().unwrap().code(), Some(9));
    let minimum = || std::fs::read_to_string(machine.path(POLICY_MIN)).unwrap();
    assert_eq!(minimum().trim(), "2000000", "a high CPU may not go slower");

    let restore = machine.answer(&["restore"]);
    assert_eq!(restore.code, 0, "{}", restore.stderr);
    assert!(restore.stdout.contains("scaling_min_freq"), "{}", restore.stdout);
    assert_eq!(minimum().trim(), "1000000");
    assert!(machine.answer(&["restore"]).stdout.contains("nothing to restore"));
}

#[test]
fn wrong_options_end_with_2_and_a_way_out() {
    let machine = Machine::new();
    for (arguments, expected) in [
        (&["start", "--policy", "linux"][..], "'lop stop' gives it back"),
        (&["start", "--policy", "hihglow"], "did you mean 'highlow'?"),
        (&["start", "--goal", "blanced"], "did you mean 'balanced'?"),
        (&["goal", "blanced"], "did you mean 'balanced'?"),
        (&["start", "--policy", "simple-sets"], "simple-sets:4"),
        (
            &["start", "--policy", "simple-sets:2", "--spare", "1"],
            "take highlow-spare",
        ),
        (&["start", "--hold", "5ms"], "10ms to 60s"),
        (&["start", "--hold", "50"], "as in 50ms"),
        (&["start", "--spare", "512"], "512 is not in 0..512"),
        (
            &[
                "start",
                "--intensity",
                concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
            ],
            "Cargo.toml:2: expected NAME-NUMBER",
        ),
        (&["start", "--intensity", "none.csv"], "none.csv: No such file"),
        (&["start", "--detached"], "--daemon"),
        (&["start", "--stats", "0"], "expected seconds, from 0.1 to 86400"),
        (&["start", "--stats", "1s"], "expected seconds"),
        (&["start", "--monitor", "0"], "expected seconds"),
        (&["start", "--monitor", "1", "--stats", "1"], "cannot be used with"),
        (
            &["start", "--monitor", "1", "--policy", "highlow"],
            "cannot be used with",
        ),
        (&["run"], "<CMD>"),
        (&["run", "--policy", "linux", "--", "true"], "'lop stop' gives it back"),
        (&["status", "--format", "xml"], "text, json"),
        (&["stop", "now"], "unexpected argument"),
    ] {
        let answer = machine.answer(arguments);
        assert_eq!(answer.code, 2, "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(expected), "{arguments:?}: {}", answer.stderr);
    }
}

/// Speeds come before the kernel is asked for anything, so what they lack is told in the one line.
#[test]
fn a_high_speed_that_cannot_be_had_is_refused_with_the_way_out() {
    let machine = Machine::new();
    machine.write("sys/devices/system/cpu/present", "0\n");
    let before = machine.limits();
    let own = "etc/lopsided/machine.toml";
    for (speed, expected) in [
        ("base", ["nothing tells the base frequency of CPU 0", "cpufreq/boost"]),
        ("efficient", ["; lop machine measure -o ", own]),
    ] {
        let asked = format!("--high-speed {speed}: ");
        let expected = [asked.as_str(), expected[0], expected[1], "--high-speed max"];
        machine.refused(&["start", "--high-speed", speed], &expected);
        machine.refused(&["run", "--high-speed", speed, "--", "touch", "ran"], &expected);
    }
    for (arguments, said) in [
        (&["--high-speed", "turbo"][..], "max, base or efficient"),
        (&["--high-speed", "base", "--no-speeds"], "leave one of both out"),
        (
            &["--high-speed", "base", "--policy", "simple-sets:1"],
            "simple-sets:1 leaves speeds to their governor",
        ),
    ] {
        let answer = machine.answer(&[&["start"], arguments].concat());
        assert_eq!(answer.code, 2, "{}", answer.stderr);
        assert!(answer.stderr.contains("--high-speed"), "{}", answer.stderr);
        assert!(answer.stderr.contains(said), "{}", answer.stderr);
    }
    let bound = [
        "run",
        "--enforce",
        "affinity",
        "--high-speed",
        "base",
        "--",
        "touch",
        "ran",
    ];
    machine.refused(
        &bound,
        &["--high-speed: binding threads leaves speeds to their governor"],
    );
    assert!(!machine.path("ran").exists() && machine.limits() == before);
}

/// /etc/lopsided.toml holds where the command line says nothing. That a fixed set has no spare is told before this machine is asked for anything.
#[test]
fn the_options_that_a_machine_keeps_are_read_and_the_command_line_goes_first() {
    let machine = Machine::new();
    let refused = |arguments: &[&str], parts: &[&str]| {
        let answer = machine.answer(&[&["start"], arguments].concat());
        assert_eq!(answer.code, 2, "{arguments:?}: {}", answer.stderr);
        parts
            .iter()
            .for_each(|part| assert!(answer.stderr.contains(part), "no '{part}' in: {}", answer.stderr));
    };
    machine.write("etc/lopsided.toml", "policy = \"simple-sets:1\"\n");
    refused(&["--spare", "1"], &["--spare: the set of simple-sets:1 never changes"]);
    refused(&["--goal", "energy"], &["--goal: simple-sets:1", "take auto"]);
    refused(&["--goal", "energy", "--policy", "highlow"], &["--goal: highlow"]);
    refused(&["--goal", "fast"], &["auto, energy, balanced or speed"]);
    machine.write("etc/lopsided.toml", "spare = 1\n");
    refused(
        &["--policy", "simple-sets:1"],
        &["--spare: the set of simple-sets:1 never changes"],
    );
    machine.write("etc/lopsided.toml", "# ours\ngoal = \"fast\"\n");
    refused(
        &[],
        &[
            "etc/lopsided.toml:2: goal: ",
            "'fast', expected auto, energy, balanced or speed",
        ],
    );
    machine.write("etc/lopsided.toml", "max-hihg = 2\n");
    refused(&[], &["etc/lopsided.toml:1: ", "max-hihg"]);
}
