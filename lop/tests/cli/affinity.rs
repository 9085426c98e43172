// SPDX-License-Identifier: GPL-2.0-only
//! `lop run` on this machine by affinities, whatever its kernel can do.

use super::*;
use std::process::{Child, Command, Stdio};

/// Burns CPU time for so many turns of the shell's loop.
const BURN: &str = "burn() { n=0; while [ $n -lt $1 ]; do n=$((n+1)); done; }";

fn command(folder: &TempDir, arguments: &[&str], script: &str) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("lop"));
    let run_dir = folder.path().join("run");
    command
        .args(["run", "--enforce", "affinity", "--run-dir", run_dir.to_str().unwrap()])
        .args(arguments)
        .args(["--", "sh", "-c", &format!("{BURN}; {script}")])
        .stdin(Stdio::null())
        .current_dir(folder.path());
    command
}

/// As in the kernel's way: it is told that there are not so many.
#[test]
fn a_set_larger_than_the_machine_is_cut_and_that_is_told() {
    let folder = folder();
    let run = |policy: &str| command(&folder, &["--policy", policy], "true").output().unwrap();
    let told = |policy: &str| String::from_utf8_lossy(&run(policy).stderr).contains("this machine has no more CPUs");
    assert!(told("simple-sets:9999") && !told("simple-sets:1"));
}

#[test]
fn the_exit_code_of_the_command_is_passed_on_and_nothing_is_left() {
    let folder = folder();
    for (script, code) in [("true", 0), ("exit 7", 7), ("kill -TERM $$", 128 + 15)] {
        let output = command(&folder, &["--policy", "highlow"], script).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{script}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains("lost by affinity: ") && said.lines().count() == 1,
            "{said}"
        );
    }
    assert_eq!(files_in(&folder.path().join("run")), Vec::<String>::new());
    let missing = answer(
        folder.path(),
        &[
            "run",
            "--enforce",
            "affinity",
            "--run-dir",
            "run",
            "--",
            "/no/such/command",
        ],
    );
    assert_eq!(missing.code, 127);
}

/// As with sudo and time: options behind the command are the command's.
#[test]
fn a_command_needs_no_dashes_before_it() {
    let folder = folder();
    for before in [
        &["run", "--enforce", "affinity", "--run-dir", "run"][..],
        &["record", "-o", "out.trace"],
        &["workload", "record", "-o", "out.toml"],
    ] {
        let answer = answer(
            folder.path(),
            &[before, &["sh", "-c", "exit $(($# + 5))", "sh", "--force", "-x"]].concat(),
        );
        assert_eq!(answer.code, 7, "{before:?}: {}", answer.stderr);
        assert!(!answer.stderr.contains("Usage"), "{before:?}: {}", answer.stderr);
    }
    let typo = answer(folder.path(), &["run", "--polcy", "highlow", "true"]);
    assert_eq!(typo.code, 2);
    assert!(typo.stderr.contains("'--polcy'"), "{}", typo.stderr);
}

/// Some services and scripts ignore SIGCHLD, and what they start inherits it.
#[test]
fn who_ignores_its_children_still_hears_how_the_command_ended() {
    use std::os::unix::process::CommandExt;
    let folder = folder();
    let ignoring = |command: &mut Command| {
        // SAFETY: signal(2) may be called between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGCHLD, libc::SIG_IGN);
                Ok(())
            })
        };
        command.output().unwrap()
    };
    let run = ignoring(&mut command(&folder, &["--policy", "highlow"], "exit 7"));
    assert_eq!(run.status.code(), Some(7), "{}", String::from_utf8_lossy(&run.stderr));
    let mut compare = Command::new(assert_cmd::cargo::cargo_bin("lop"));
    compare.args(["compare", "--meter", "none", "--runs", "2", "--journal"]);
    let compared = ignoring(compare.arg(folder.path().join("journal")).args(["--", "true"]));
    assert!(
        compared.status.success(),
        "{}",
        String::from_utf8_lossy(&compared.stderr)
    );
}

#[test]
fn it_tells_what_it_loses_and_in_more_words_what_it_took() {
    let folder = folder();
    let output = command(&folder, &["-v", "--policy", "reserved-core"], "true")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    for part in [
        "lost by affinity: what starts and stops between two looks, 10 to 500 ms apart, is not seen; ",
        "not moved to the reserved core",
        "of one CPU",
    ] {
        assert!(said.contains(part), "no '{part}' in: {said}");
    }
}

/// As if CPU 0 and CPU 1 had a last-level cache each.
#[test]
fn a_policy_that_makes_plans_tells_what_it_goes_by() {
    let folder = folder();
    let root = folder.path().join("root");
    let write = |file: &str, text: &str| {
        let path = root.join("sys/devices/system/cpu").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    };
    for (file, text) in [("present", "0-1"), ("online", "0-1")] {
        write(file, text);
    }
    for cpu in ["0", "1"] {
        for (file, text) in [("level", "3"), ("type", "Unified"), ("shared_cpu_list", cpu)] {
            write(&format!("cpu{cpu}/cache/index0/{file}"), text);
        }
    }
    std::os::unix::fs::symlink("/proc", root.join("proc")).unwrap();
    std::fs::write(
        folder.path().join("perf.csv"),
        "sh-1,30,,cache-misses\nsh-1,2000,,instructions\n",
    )
    .unwrap();
    std::fs::write(
        folder.path().join("qos.json"),
        r#"{ "sh": { "qos": "QOS_BACKGROUND", "profile": "MEMORY_BOUND", "period": 16000000 } }"#,
    )
    .unwrap();
    let options = [
        "--policy",
        "spread",
        "--root",
        "root",
        "--intensity",
        "perf.csv",
        "--qos",
        "qos.json",
    ];
    let output = command(&folder, &options, "exit 7").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(7), "{said}");
    for part in [
        "lost by affinity: ",
        "plan: ",
        "(--intensity)",
        "declared (by liblopsided or --qos)",
        "--qos: without effect here: QOS_BACKGROUND, period\n",
    ] {
        assert!(said.contains(part), "no '{part}' in: {said}");
    }
    let refused = command(&folder, &["--policy", "specialise", "--root", "root"], "true")
        .output()
        .unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains("specialise has nothing to choose from: this machine has one kind of core"),
        "{said}"
    );
}

/// CPUs that the process may use.
fn cpus_of(pid: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap().trim().to_string()
}

/// Two that are always busy, and a cap of one CPU.
#[test]
fn a_cap_holds_however_many_want_to_run() {
    let folder = folder();
    assert!(cpus_of(std::process::id()).parse::<u32>().is_err(), "needs two CPUs");
    let script = "burn 100000000 & echo $! > pid; mv pid ready; burn 100000000";
    let options = ["--policy", "highlow", "--max-high", "1"];
    let mut run = Ending(command(&folder, &options, script).spawn().unwrap(), None);
    let patience = Duration::from_secs(600);
    let read = || {
        std::fs::read_to_string(folder.path().join("ready"))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    let pid: u32 = within(patience, read);
    run.1 = Some(pid);
    within(patience, || cpus_of(pid).parse::<u32>().ok());
    std::thread::sleep(Duration::from_millis(500));
    assert!(cpus_of(pid).parse::<u32>().is_ok(), "it has {}", cpus_of(pid));
    // The command first: its children end with the group they are in.
    signal(run.0.id(), rustix::process::Signal::TERM);
    run.0.wait().unwrap();
}

/// Ends what it started, also when a test fails.
struct Ending(Child, Option<u32>);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let pid = self.1.and_then(|pid| rustix::process::Pid::from_raw(pid as i32));
        if let Some(pid) = pid {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

#[test]
fn a_killed_run_leaves_its_command_running_and_restore_gives_its_cpus_back() {
    let folder = folder();
    let all = cpus_of(std::process::id());
    assert!(
        all.parse::<u32>().is_err(),
        "needs two CPUs: of {all} there is nothing to take"
    );
    let script = "echo $$ > pid; mv pid ready; burn 100000000";
    let mut run = Ending(
        command(&folder, &["--policy", "highlow"], script).spawn().unwrap(),
        None,
    );
    let patience = Duration::from_secs(600);
    let pid: u32 = within(patience, || {
        std::fs::read_to_string(folder.path().join("ready"))
            .ok()?
            .trim()
            .parse()
            .ok()
    });
    run.1 = Some(pid);
    within(patience, || cpus_of(pid).parse::<u32>().ok());
    let restore = || good(folder.path(), &["restore", "--run-dir", "run"]).stdout;
    assert!(restore().contains("nothing to restore"), "it is alive");
    run.0.kill().unwrap();
    run.0.wait().unwrap();
    assert!(cpus_of(pid).parse::<u32>().is_ok(), "it goes on as it was");
    assert!(restore().contains("have all their CPUs back: 1"));
    assert_eq!(cpus_of(pid), all);
    assert!(restore().contains("nothing to restore"));
}

#[test]
fn what_cannot_be_slowed_is_refused() {
    let folder = folder();
    let amp = |arguments: &[&str]| answer(folder.path(), &[&["amp"], arguments, &["--run-dir", "run"]].concat());
    for (wrong, expected) in [
        ("0=5%", "10% to 100%"),
        ("0", "CPUS=SPEED"),
        ("511=50%", "CPU 511 is not online"),
    ] {
        let refused = amp(&["set", wrong]);
        assert_eq!(refused.code, 2, "{wrong}: {}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{wrong}: {}", refused.stderr);
    }
    assert!(amp(&["show"]).stdout.contains("no CPU is slowed"));
}

/// Whether the kernel lets this process have real-time threads: root in a container may lack the right, others may have it.
fn has_real_time() -> bool {
    let tried = std::thread::spawn(|| {
        let lowest = libc::sched_param { sched_priority: 1 };
        // SAFETY: the parameters are read only; of this thread, which ends at once.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &lowest) == 0 }
    });
    tried.join().unwrap()
}

/// Makes CPUs fast again, also when a test fails.
struct Slow<'a>(&'a Path);

impl Slow<'_> {
    fn amp(&self, arguments: &[&str]) -> Answer {
        answer(self.0, &[&["amp"], arguments, &["--run-dir", "run"]].concat())
    }

    fn shown(&self) -> String {
        self.amp(&["show"]).stdout
    }
}

impl Drop for Slow<'_> {
    fn drop(&mut self) {
        self.amp(&["reset"]);
    }
}

/// Where no real-time thread may be, that is said and nothing is slow.
#[test]
fn a_share_of_time_is_taken_until_it_is_given_back_or_its_taker_is_killed() {
    let folder = folder();
    let slow = Slow(folder.path());
    let own = lop_agent::Cpus::parse(&cpus_of(std::process::id())).unwrap();
    let cpu = own.iter().next().unwrap();
    let set = |share: &str| slow.amp(&["set", &format!("{cpu}={share}")]);
    let first = set("90%");
    if !has_real_time() {
        assert_eq!(first.code, 1, "{}", first.stdout);
        assert!(first.stderr.contains("no real-time thread: "), "{}", first.stderr);
        assert!(slow.shown().contains("no CPU is slowed"));
        return;
    }
    assert_eq!(first.code, 0, "{}", first.stderr);
    let words: Vec<&str> = first.stdout.split_whitespace().collect();
    assert_eq!(words[..4], ["CPU", &cpu.to_string(), "90", "%"]);
    assert!(first.stdout.contains("costs power"), "{}", first.stdout);
    assert_eq!(slow.shown(), first.stdout);
    let again = set("80%");
    assert!(again.stdout.contains("80 %"), "{}{}", again.stdout, again.stderr);
    // Who takes the time is killed: nothing is slow any more.
    let pid = std::fs::read_to_string(folder.path().join("run/amp.lock")).unwrap();
    signal(pid.trim().parse().unwrap(), rustix::process::Signal::KILL);
    within(Duration::from_secs(600), || {
        slow.shown().contains("no CPU is slowed").then_some(())
    });
    assert_eq!(set("90%").code, 0);
    assert!(slow.amp(&["reset"]).stdout.contains("1 CPU"));
    assert!(slow.shown().contains("no CPU is slowed"));
    assert!(slow.amp(&["reset"]).stdout.contains("no CPU was slowed"));
}

/// What lost its parent and has ended is buried, also if nobody saw it alive. The command's own parent is lop.
#[test]
fn no_dead_process_is_left_to_lie_while_the_command_runs() {
    let folder = folder();
    let script = "i=0; while [ $i -lt 50 ]; do (true &); i=$((i+1)); done
        left=30000; while [ $left -gt 0 ]; do
        read -r children < /proc/$PPID/task/$PPID/children; [ \"$children\" = \"$$\" ] && exit 0
        left=$((left-1)); sleep 0.02; done; echo \"$children\" >&2; exit 9";
    let output = command(&folder, &["--policy", "highlow"], script).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "children beside the command: {said}");
}

/// A tree whose CPU has a frequency that can be limited; the folder of its cpufreq.
fn with_a_frequency(root: &Path) -> std::path::PathBuf {
    let cpus = root.join("sys/devices/system/cpu");
    let policy = cpus.join("cpufreq/policy0");
    std::fs::create_dir_all(&policy).unwrap();
    std::fs::write(cpus.join("online"), "0\n").unwrap();
    for (name, text) in [
        ("related_cpus", "0\n"),
        ("cpuinfo_min_freq", "800000\n"),
        ("cpuinfo_max_freq", "2000000\n"),
        ("scaling_max_freq", "2000000\n"),
    ] {
        std::fs::write(policy.join(name), text).unwrap();
    }
    policy
}

#[test]
fn a_limit_of_frequency_is_set_and_put_back() {
    let folder = folder();
    let policy = with_a_frequency(folder.path());
    let limit = || std::fs::read_to_string(policy.join("scaling_max_freq")).unwrap();
    let place = ["--run-dir", "run", "--root", "."];
    let set = good(folder.path(), &[&["amp", "set", "0=1.2GHz"], &place[..]].concat());
    assert_eq!(limit().trim(), "1200000");
    assert!(
        set.stdout.contains("60 %  limit of frequency, 1.200 GHz"),
        "{}",
        set.stdout
    );
    // Of another CPU that has no frequency: nothing of it, and what was set before holds.
    std::fs::write(folder.path().join("sys/devices/system/cpu/online"), "0-1\n").unwrap();
    let refused = answer(folder.path(), &[&["amp", "set", "1=1GHz"], &place[..]].concat());
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(
        refused
            .stderr
            .contains("only the CPUs of the earlier 'lop amp set' are slow"),
        "{}",
        refused.stderr
    );
    assert_eq!(limit().trim(), "1200000");
    let doctor = answer(folder.path(), &[&["doctor"], &place[..]].concat()).stdout;
    assert!(doctor.contains("CPU 0 is slowed by hand to 60 %"), "{doctor}");
    good(folder.path(), &[&["amp", "reset"], &place[..]].concat());
    let doctor = answer(folder.path(), &[&["doctor"], &place[..]].concat()).stdout;
    assert!(!doctor.contains("slowed by hand"), "{doctor}");
    assert_eq!(limit().trim(), "2000000");
    assert!(!folder.path().join("run/amp.journal.lock").exists());

    // 'lop restore' leaves what a person wants, and puts back what a 'set' left that was killed before it wrote down what it did.
    good(folder.path(), &[&["amp", "set", "0=1.2GHz"], &place[..]].concat());
    let restore = || good(folder.path(), &[&["restore"], &place[..]].concat()).stdout;
    assert!(restore().contains("lop amp reset"));
    assert_eq!(limit().trim(), "1200000");
    let state = folder.path().join("run/amp.json");
    assert!(state.exists());
    // What says which CPUs are slow cannot be read: the journal can.
    std::fs::write(&state, "{").unwrap();
    let shown = answer(folder.path(), &[&["amp", "show"], &place[..]].concat());
    assert!(shown.code == 1 && shown.stderr.contains("amp.json") && shown.stderr.contains("lop amp reset"));
    let reset = good(folder.path(), &[&["amp", "reset"], &place[..]].concat());
    assert!(reset.stdout.contains("amp.json"), "{}", reset.stdout);
    assert!(!state.exists());
    good(folder.path(), &[&["amp", "set", "0=1.2GHz"], &place[..]].concat());
    std::fs::remove_file(&state).unwrap();
    assert!(restore().contains("an interrupted 'lop amp set' left"));
    assert_eq!(limit().trim(), "2000000");
    assert!(restore().contains("nothing to restore"));
}

/// A CPU that is offline shows no limit: whoever puts it back says so in the same words, and tries again.
#[test]
fn what_cannot_be_put_back_is_told_by_all_in_the_same_words() {
    let folder = folder();
    let policy = with_a_frequency(folder.path());
    let place = ["--run-dir", "run", "--root", "."];
    good(folder.path(), &[&["amp", "set", "0=1.2GHz"], &place[..]].concat());
    let limit = policy.join("scaling_max_freq");
    std::fs::rename(&limit, policy.join("away")).unwrap();
    let refused = |command: &[&str]| {
        let answer = answer(folder.path(), &[command, &place[..]].concat());
        assert_eq!(answer.code, 1, "{command:?}: {}", answer.stdout);
        answer.stderr
    };
    let words = |told: &str| {
        let from = told.find("1 file could not be put back yet: left ").expect(told);
        told[from..].lines().next().unwrap().to_string()
    };
    let reset = refused(&["amp", "reset"]);
    assert!(
        words(&reset).contains("policy0/scaling_max_freq: cannot read it"),
        "{reset}"
    );
    assert!(reset.contains("'lop amp reset' tries again"), "{reset}");
    // What 'lop amp set' left that was killed, and what 'lop start' left: 'lop restore' puts both back.
    std::fs::remove_file(folder.path().join("run/amp.json")).unwrap();
    assert_eq!(words(&refused(&["restore"])), words(&reset));
    std::fs::rename(
        folder.path().join("run/amp.journal"),
        folder.path().join("run/speeds.journal"),
    )
    .unwrap();
    let restore = refused(&["restore"]);
    assert_eq!(words(&restore), words(&reset));
    assert!(restore.contains("as does the next 'lop start'"), "{restore}");
    std::fs::rename(policy.join("away"), &limit).unwrap();
    good(folder.path(), &[&["restore"], &place[..]].concat());
    assert_eq!(std::fs::read_to_string(&limit).unwrap().trim(), "2000000");
}
