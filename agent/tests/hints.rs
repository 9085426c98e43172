// SPDX-License-Identifier: GPL-2.0-only
//! What a running program says by liblopsided moves its threads. The machine is made up of two CPUs of this one: of two kinds, of two memory domains, or
//! equal. The threads never sleep, and the program reports what the kernel lets each of them use. Every state is awaited, so a busy machine may be late.

#[path = "../../hints/tests/common/build.rs"]
mod build;

use build::{clang, compile, make, sources};
use lop_agent::{Affinity, Cpus, Options};
use lop_policy::Named;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// `enum order` of busy.c.
#[derive(Clone, Copy)]
enum Order {
    Spinning,
    Sequential,
    LockHolder,
    Length,
    Memory,
    Parallelism,
    Child,
    Exit,
}

const SLOT_BYTES: u64 = 32;
const SLOTS: u64 = 8;
/// A state counts if it lasts so long: four looks of the agent, which are at most 250 ms apart and at which turns on a fast CPU end, or three plans.
/// Without a hint it ends before that.
const TURNS: Duration = Duration::from_secs(1);
const PLANS: Duration = Duration::from_secs(3);
/// In that time every thread has reported anew so often, and at least once from one look of the test to the next that counts.
const LOOKS: u32 = 10;
const BETWEEN: Duration = Duration::from_millis(4);
const PATIENCE: Duration = Duration::from_secs(300);

/// The folder of liblopsided, its tool for OpenMP, and the programs `busy` and `busy-openmp`.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let clang = clang();
        let out = make("agent-hints", &[&format!("CLANG={clang}"), "all", "ompt"]);
        let path = out.display();
        let (folder, found) = (format!("-L{path}"), format!("-Wl,-rpath,{path}"));
        for (name, openmp) in [("busy", "-pthread"), ("busy-openmp", "-fopenmp")] {
            let source = sources().join("../agent/tests/busy.c");
            let with = ["-O2", openmp, &folder, "-llopsided", &found];
            compile(&clang, &out.join(name), &source, &with);
        }
        out
    })
}

/// Two CPUs of this machine, and the folder of a made-up machine that has these alone. `files`: a file of each CPU, and what it says.
struct Machine {
    cpus: [u32; 2],
    root: TempDir,
}

impl Machine {
    fn new(files: &[(&str, [&str; 2])]) -> Self {
        let status = std::fs::read_to_string("/proc/self/status").expect("/proc is mounted");
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let usable = Cpus::parse(list.expect("a list of CPUs")).unwrap();
        // The program reports 64 bits.
        let usable: Vec<u32> = usable.iter().filter(|&cpu| cpu < 64).collect();
        assert!(
            usable.len() >= 2,
            "needs two CPUs with numbers below 64, may use of those only {usable:?}"
        );
        let machine = Self {
            cpus: [usable[0], usable[1]],
            root: tempfile::tempdir().unwrap(),
        };
        std::os::unix::fs::symlink("/proc", machine.root.path().join("proc")).unwrap();
        let both: Cpus = machine.cpus.into_iter().collect();
        machine.write("present", &both.to_string());
        machine.write("online", &both.to_string());
        for (cpu, n) in machine.cpus.into_iter().zip(0..) {
            for (file, says) in files {
                machine.write(&format!("cpu{cpu}/{file}"), &says[n].replace("{n}", &cpu.to_string()));
            }
        }
        machine
    }

    /// The first CPU is twice as fast.
    fn of_two_kinds() -> Self {
        Self::new(&[("cpu_capacity", ["1024", "512"])])
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.root.path().join("sys/devices/system/cpu").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }

    fn only(&self, n: usize) -> u64 {
        1 << self.cpus[n]
    }

    fn both(&self) -> u64 {
        self.only(0) | self.only(1)
    }

    /// Runs the command, whose last word is one of the programs, with so many threads under the policy, while `watch` looks at it.
    fn run(&self, policy: Named, command: &[&str], threads: u32, watch: impl FnOnce(&Board<'_>)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board");
        let board = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .unwrap();
        board.set_len(SLOTS * SLOT_BYTES).unwrap();
        let options = Options {
            root: self.root.path().to_path_buf(),
            run_dir: Some(folder.path().join("run")),
            tell: |sentence| panic!("{sentence}"),
            ..Options::new(policy.into())
        };
        let mut affinity = Affinity::new(options).unwrap();
        let (program, before) = command.split_last().unwrap();
        let program = built().join(program);
        let command: Vec<_> = before.iter().map(AsRef::as_ref).chain([program.as_os_str()]).collect();
        let mut busy = Command::new(command[0]);
        busy.args(&command[1..]).arg(threads.to_string()).arg(&path);
        std::thread::scope(|scope| {
            let runs = scope.spawn(move || affinity.run(busy).unwrap());
            // Its end is the end of the program, also where a test fails.
            let has_ended = || runs.is_finished();
            let board = Board {
                file: board,
                has_ended: &has_ended,
            };
            watch(&board);
            drop(board);
            assert!(runs.join().unwrap().success());
        });
    }
}

struct Board<'a> {
    file: File,
    /// The program, or the agent.
    has_ended: &'a dyn Fn() -> bool,
}

impl Drop for Board<'_> {
    fn drop(&mut self) {
        self.ask(0, Order::Exit, 0);
    }
}

impl Board<'_> {
    fn word(&self, slot: u64, n: u64) -> u32 {
        let mut bytes = [0; 4];
        self.file.read_exact_at(&mut bytes, slot * SLOT_BYTES + 4 * n).unwrap();
        u32::from_ne_bytes(bytes)
    }

    fn long(&self, slot: u64, n: u64) -> u64 {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, slot * SLOT_BYTES + 8 * n).unwrap();
        u64::from_ne_bytes(bytes)
    }

    fn ask(&self, slot: u64, order: Order, value: u32) {
        let write = |n: u64, word: u32| {
            self.file
                .write_all_at(&word.to_ne_bytes(), slot * SLOT_BYTES + 4 * n)
                .unwrap()
        };
        write(1, order as u32);
        write(2, value);
        write(0, self.word(slot, 0) + 1);
    }

    /// There is something to wait for.
    fn goes_on(&self, ends: Instant, what: impl Fn() -> String) {
        assert!(!(self.has_ended)(), "the program has ended: {}", what());
        assert!(Instant::now() < ends, "{}", what());
    }

    /// Asks and waits until it is done.
    fn tell(&self, slot: u64, order: Order, value: u32) {
        self.ask(slot, order, value);
        let ends = Instant::now() + PATIENCE;
        while self.word(slot, 3) != self.word(slot, 0) {
            self.goes_on(ends, || format!("thread {slot} does not carry it out"));
            std::thread::sleep(BETWEEN);
        }
    }

    /// Waits until what the first `threads` threads may use is as `wanted`, all the time for so long.
    fn awaits(&self, threads: u64, long: Duration, what: &str, wanted: impl Fn(&[u64]) -> bool) {
        let ends = Instant::now() + PATIENCE;
        let rounds = || (0..threads).map(|slot| self.long(slot, 3)).collect::<Vec<_>>();
        let (mut before, mut since, mut looks) = (rounds(), Instant::now(), 0);
        while looks == 0 || !long.is_zero() && (looks < LOOKS || since.elapsed() < long) {
            std::thread::sleep(BETWEEN);
            let cpus: Vec<u64> = (0..threads).map(|slot| self.long(slot, 2)).collect();
            self.goes_on(ends, || format!("{what}: the threads may use {cpus:x?}"));
            // Twice, so that a round began and ended meanwhile.
            let now = rounds();
            if !wanted(&cpus) {
                (since, looks) = (Instant::now(), 0);
            } else if now.iter().zip(&before).all(|(now, before)| *now >= before + 2) {
                (before, looks) = (now, looks + 1);
            }
        }
    }

    fn settles(&self, what: &str, wanted: &[u64]) {
        self.awaits(wanted.len() as u64, TURNS, what, |cpus| cpus == wanted);
    }
}

/// Two threads have the fast CPU in turn, until one says something.
fn hints_decide_who_is_fast(command: &[&str]) {
    let machine = Machine::of_two_kinds();
    let [fast, slow] = [machine.only(0), machine.only(1)];
    machine.run(Named::Phase, command, 2, |board| {
        let turns = || {
            for wanted in [[fast, slow], [slow, fast], [fast, slow]] {
                board.awaits(2, Duration::ZERO, "in turn", |cpus| cpus == wanted);
            }
        };
        turns();
        for (order, said, wanted) in [
            (Order::Spinning, "SPINNING", [slow, fast]),
            (Order::Sequential, "SEQUENTIAL", [fast, slow]),
            (Order::LockHolder, "LOCK_HOLDER", [fast, slow]),
        ] {
            for slot in [0, 1] {
                board.tell(slot, order, 1);
                let wanted = if slot == 0 { wanted } else { [wanted[1], wanted[0]] };
                board.settles(&format!("{slot} says {said}"), &wanted);
                board.tell(slot, order, 0);
            }
            turns();
        }
    });
}

#[test]
fn who_spins_gives_the_fast_cpu_away_and_who_is_waited_for_gets_it() {
    hints_decide_who_is_fast(&["busy"]);
}

/// There the threads have other numbers, and write these into their records.
#[test]
fn threads_of_another_pid_namespace_are_found() {
    let unshare: &[&str] = match rustix::process::geteuid().is_root() {
        true => &["unshare", "--pid", "--fork"],
        false => &["unshare", "--user", "--map-root-user", "--pid", "--fork"],
    };
    let tried = Command::new(unshare[0]).args(&unshare[1..]).arg("true").output();
    assert!(
        tried.as_ref().is_ok_and(|tried| tried.status.success()),
        "needs unshare of util-linux, and the right to make PID namespaces: CAP_SYS_ADMIN as root, else user namespaces \
         (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone): {tried:?}"
    );
    hints_decide_who_is_fast(&[unshare, &["busy"]].concat());
}

#[test]
fn the_longer_thread_has_the_fast_cpu_and_a_child_the_length_that_was_said_before() {
    let machine = Machine::of_two_kinds();
    let [fast, slow] = [machine.only(0), machine.only(1)];
    machine.run(Named::LongestFirst, &["busy"], 2, |board| {
        for (lengths, wanted) in [
            ([1000, 10], [fast, slow]),
            ([10, 1000], [slow, fast]),
            ([1000, 10], [fast, slow]),
        ] {
            board.tell(0, Order::Length, lengths[0]);
            board.tell(1, Order::Length, lengths[1]);
            board.settles("lengths", &wanted);
        }
    });
    machine.run(Named::LongestFirst, &["busy"], 1, |board| {
        board.tell(0, Order::Length, 1000);
        board.settles("alone", &[fast]);
        board.tell(0, Order::Child, 1);
        board.settles("the child's is the longer one", &[slow, fast]);
    });
}

/// However the four threads were paired, one of these three declarations takes a pair apart.
#[test]
fn threads_that_say_they_are_intensive_have_a_memory_domain_each() {
    let cache = "cache/index0";
    let machine = Machine::new(&[
        (&format!("{cache}/level"), ["3", "3"]),
        (&format!("{cache}/type"), ["Unified", "Unified"]),
        (&format!("{cache}/shared_cpu_list"), ["{n}", "{n}"]),
    ]);
    machine.run(Named::Spread, &["busy"], 4, |board| {
        for other in 1..4 {
            for slot in 0..4 {
                board.tell(slot, Order::Memory, if slot == 0 || slot == other { 3 } else { 1 });
            }
            let apart = |cpus: &[u64]| cpus[0] ^ cpus[other as usize] == machine.both() && cpus[0].count_ones() == 1;
            board.awaits(4, PLANS, "apart", apart);
        }
    });
}

#[test]
fn the_high_set_has_the_declared_parallelism() {
    let machine = Machine::new(&[]);
    machine.run(Named::Highlow, &["busy"], 1, |board| {
        let one = |cpus: &[u64]| cpus[0].count_ones() == 1;
        board.awaits(1, TURNS, "one that is busy", one);
        board.tell(0, Order::Parallelism, 2);
        board.settles("two are declared", &[machine.both()]);
        board.tell(0, Order::Parallelism, 0);
        board.awaits(1, TURNS, "none is declared", one);
    });
}

/// The worker spins, so without the tool it has the fast CPU in turn with the thread that it waits for. That the first thread is SEQUENTIAL or that the
/// other is SPINNING would suffice for the rest: hints/tests/openmp.rs shows which the tool says.
#[test]
fn an_openmp_program_is_on_the_fast_cpu_between_its_regions() {
    let machine = Machine::of_two_kinds();
    let [fast, slow] = [machine.only(0), machine.only(1)];
    let program = ["env", "OMP_WAIT_POLICY=active", "busy-openmp"];
    machine.run(Named::Phase, &program, 2, |board| {
        for wanted in [fast, slow, fast] {
            board.awaits(1, Duration::ZERO, "in turn", |cpus| *cpus == [wanted]);
        }
    });
    let tool = format!("OMP_TOOL_LIBRARIES={}", built().join("liblopsided-ompt.so").display());
    let program = ["env", "OMP_WAIT_POLICY=active", &tool, "busy-openmp"];
    machine.run(Named::Phase, &program, 2, |board| {
        board.settles("with the tool", &[fast])
    });
}
