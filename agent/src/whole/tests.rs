// SPDX-License-Identifier: GPL-2.0-only
//! Four CPUs, and a kernel that tells how many tasks want to run.

use super::*;
use crate::partition::fake::{Fake, OFFLINE};
use lop_policy::{Named, PolicyName};
use std::fs;
use tempfile::TempDir;

const MIN: &str = "sys/devices/system/cpu/cpufreq/policy3/scaling_min_freq";
const MAX: &str = "sys/devices/system/cpu/cpufreq/policy3/scaling_max_freq";
const ONLINE: &str = "sys/devices/system/cpu/online";
const CPUS: &str = "lopsided/cpuset.cpus";
const PARTITION: &str = "lopsided/cpuset.cpus.partition";

struct Bench {
    folder: TempDir,
    groups: Fake,
    eyes: Eyes,
    hands: Hands,
    all: Cpus,
}

fn write(folder: &TempDir, file: &str, text: &str) {
    let path = folder.path().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Governor schedutil on the CPU of number 3.
fn four_cpus() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("proc/loadavg", "0 0 0 1/100 1"),
        ("sys/devices/system/cpu/present", "0-3"),
        (ONLINE, "0-3"),
        (MIN, "1000000"),
        (MAX, "2000000"),
    ] {
        write(&folder, file, &format!("{text}\n"));
    }
    for (file, text) in [("related_cpus", "3"), ("scaling_governor", "schedutil")] {
        write(
            &folder,
            &format!("sys/devices/system/cpu/cpufreq/policy3/{file}"),
            &format!("{text}\n"),
        );
    }
    folder
}

impl Bench {
    fn new(sizes: &Sizes) -> Self {
        let folder = four_cpus();
        let machine = live::read(folder.path()).unwrap();
        let layout = Layout::of(&machine, &Amp::default());
        let groups = Fake::new("cpuset", "");
        let speeds = Speeds::open_for(Asker::UserSpace, folder.path(), &folder.path().join("speeds.journal")).unwrap();
        Self {
            eyes: Eyes::new(Demand::open(folder.path()).unwrap(), &layout, sizes),
            hands: Hands::new(groups.open(&folder).unwrap(), Some(speeds)),
            all: layout.all(),
            groups,
            folder,
        }
    }

    fn of(rules: PolicyName) -> Self {
        Self::new(&Sizes::new(rules))
    }

    /// Looks at this time, with this many runnable tasks, and returns the parked CPUs.
    fn look(&mut self, at_ms: u64, tasks: u32) -> String {
        // The observer runs, too.
        write(&self.folder, "proc/loadavg", &format!("0 0 0 {}/100 1\n", tasks + 1));
        let now = Duration::from_millis(at_ms);
        self.eyes.look(now).unwrap();
        self.hands
            .bring_about(&self.eyes.shadow.members(), &self.all, now)
            .unwrap();
        self.hands.partition.parked().to_string()
    }

    fn khz(&self) -> [String; 2] {
        [MIN, MAX].map(|file| {
            fs::read_to_string(self.folder.path().join(file))
                .unwrap()
                .trim()
                .to_string()
        })
    }
}

#[test]
fn as_many_cpus_are_open_as_tasks_want_and_more_at_once_when_they_are_more() {
    let mut bench = Bench::of(Named::Highlow.into());
    assert_eq!(bench.look(0, 0), "1-3", "one is high from the start");
    let one = bench.look(1000, 1);
    assert_eq!(Cpus::parse(&one).unwrap().iter().count(), 3, "{one}");
    assert_eq!(bench.groups.get(CPUS), Some(one.clone()));
    assert_eq!(bench.groups.get(PARTITION).unwrap(), "isolated");
    bench.groups.log();
    assert_eq!(bench.look(3000, 1), one);
    assert_eq!(bench.groups.log(), [""; 0], "it is so already");
    let three = bench.look(3010, 3);
    assert_eq!(Cpus::parse(&three).unwrap().iter().count(), 1, "{three}");
    assert_eq!(bench.look(3020, 9), "", "more tasks than CPUs");
    assert_eq!(bench.groups.get(PARTITION).unwrap(), "member");
    // One again: the others leave after the hold time, 10 ms.
    assert_eq!(bench.look(9000, 1), "");
    let one = bench.look(9020, 1);
    assert_eq!(Cpus::parse(&one).unwrap().iter().count(), 3, "{one}");
    // Nothing runs for more than a second: the set is empty, and the last CPU stays open.
    bench.look(12_000, 0);
    assert_eq!(bench.look(15_000, 0), one);
    assert!(bench.eyes.shadow.members().is_empty());
}

#[test]
fn a_spare_and_a_cap_are_the_policys() {
    let parked = |sizes: &Sizes, tasks| Cpus::parse(&Bench::new(sizes).look(0, tasks)).unwrap().iter().count();
    assert_eq!(parked(&Sizes::new(Named::HighlowSpare.into()), 1), 2);
    assert_eq!(parked(&Sizes::new(PolicyName::simple_sets(3)), 1), 1);
    let capped = Sizes {
        max_high: Some(2),
        ..Sizes::new(Named::Highlow.into())
    };
    assert_eq!(parked(&capped, 4), 2);
}

/// Rebuilding scheduling domains is expensive: parking waits for its share of time, opening never does.
#[test]
fn parking_is_put_off_and_opening_is_not() {
    let mut bench = Bench::of(Named::Highlow.into());
    bench.look(0, 1);
    bench.hands.park_at = Duration::from_millis(5000);
    assert_eq!(bench.look(100, 4), "");
    assert!(bench.hands.spent > Duration::ZERO, "opening is paid for before parking");
    assert!(
        bench.hands.park_at >= Duration::from_millis(5000),
        "and brings nothing forward"
    );
    bench.look(200, 1);
    assert_eq!(bench.look(300, 1), "", "wanted, and put off");
    assert_ne!(bench.look(5200, 1), "");
    assert_eq!(bench.hands.spent, Duration::ZERO);
}

/// Under schedutil speeds must be set: the governor would leave an open CPU slow, and nothing in the kernel requests more.
#[test]
fn speeds_follow_the_sets_under_schedutil_too_and_come_back() {
    let mut bench = Bench::of(Named::Highlow.into());
    bench.look(0, 1);
    assert_eq!(bench.khz(), ["1000000", "1000000"], "CPU 3 is parked");
    bench.look(100, 4);
    assert_eq!(bench.khz(), ["2000000", "2000000"]);
    bench.hands.speeds.as_mut().unwrap().restore();
    assert_eq!(bench.khz(), ["1000000", "2000000"]);
}

#[test]
fn members_say_why_they_are_in_the_set() {
    let mut bench = Bench::of(Named::HighlowSpare.into());
    bench.look(0, 1);
    let is = |bench: &Bench| bench.eyes.members().into_iter().map(|(_, is)| is).collect::<Vec<_>>();
    let two = is(&bench);
    assert!(
        two.len() == 2 && two.contains(&MemberIs::Busy) && two.contains(&MemberIs::Spare),
        "{two:?}"
    );
    bench.look(10, 3);
    bench.look(20, 1);
    let four = is(&bench);
    let held = four
        .iter()
        .filter(|is| matches!(is, MemberIs::Held(for_) if *for_ > Duration::ZERO))
        .count();
    assert_eq!((four.len(), held), (4, 2), "{four:?}");
    assert_eq!(bench.eyes.shadow.facts().target, 2);
}

#[test]
fn policies_about_threads_are_not_for_the_whole_machine() {
    let options = WholeOptions {
        sizes: Sizes::new(Named::LongestFirst.into()),
        speeds: false,
        high_speed: HighSpeed::Max,
        root: PathBuf::from("/"),
        run_dir: PathBuf::from("/nowhere"),
        speed_journal: PathBuf::from("/nowhere"),
    };
    let refused = Whole::begin(&options).err().unwrap().to_string();
    assert!(
        refused.contains("'longest-first'") && refused.contains("which thread runs where"),
        "{refused}"
    );
}

#[test]
fn a_cpu_whose_time_a_thread_takes_is_never_parked() {
    let slowed = |way| {
        let mut amp = Amp::default();
        amp.set(1, amp::Slowed { share: 0.5, way });
        none_held_by_threads(&amp)
    };
    assert_eq!(slowed(amp::Way::LimitKhz(1_200_000)), Ok(()));
    let refused = slowed(amp::Way::Duty).unwrap_err();
    assert!(
        refused.contains("CPU 1") && refused.contains("lop amp reset"),
        "{refused}"
    );
}

/// The same machine, set up by [`Whole`] itself.
struct Machine {
    folder: TempDir,
    groups: Fake,
    options: WholeOptions,
}

impl Machine {
    fn new() -> Self {
        let folder = four_cpus();
        Self {
            groups: Fake::new("cpuset", ""),
            options: WholeOptions {
                sizes: Sizes::new(Named::Highlow.into()),
                speeds: true,
                high_speed: HighSpeed::Max,
                root: folder.path().to_path_buf(),
                run_dir: folder.path().join("run"),
                speed_journal: folder.path().join("run/speeds.journal"),
            },
            folder,
        }
    }

    fn begin(&self) -> Whole {
        Whole::begin_on(&self.options, &|| Ok(Box::new(self.groups.clone()))).unwrap()
    }

    /// CPUs come and go.
    fn online(&self, list: &str) {
        self.listed_later(list)();
    }

    /// The kernel removes a CPU from cpusets before it removes it from its list; calling the returned function does the latter.
    fn listed_later(&self, list: &str) -> impl FnOnce() + Send + 'static {
        self.groups.online(Cpus::parse(list).unwrap());
        let is_online = Cpus::parse(list).unwrap().has(3);
        let (here, away) = (
            self.folder.path().join("sys/devices/system/cpu/cpufreq/policy3"),
            self.folder.path().join("asleep"),
        );
        match is_online {
            true => drop(fs::rename(away, here)),
            false => drop(fs::rename(here, away)),
        }
        let (file, next) = (self.folder.path().join(ONLINE), self.folder.path().join("next"));
        let text = format!("{list}\n");
        move || {
            // Replaced as a whole, so that no reader sees half of it.
            fs::write(&next, text).unwrap();
            fs::rename(&next, &file).unwrap();
        }
    }

    fn tasks_want(&self, tasks: u32) {
        write(&self.folder, "proc/loadavg", &format!("0 0 0 {}/100 1\n", tasks + 1));
    }

    /// Steps until CPUs came or went.
    fn until_changed(whole: &mut Whole) {
        let end = Instant::now() + Duration::from_secs(600);
        while whole.step().unwrap() != Step::CpusChanged {
            assert!(Instant::now() < end, "nothing was noticed");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// No CPU of the partition is online.
fn is_refused(groups: &Fake) -> bool {
    groups.get(PARTITION).is_some_and(|answer| answer.contains(OFFLINE))
}

#[test]
fn a_cpu_that_goes_offline_while_parked_is_left_out_and_comes_back() {
    let machine = Machine::new();
    let mut whole = machine.begin();
    machine.tasks_want(1);
    whole.step().unwrap();
    assert_eq!(whole.parked().to_string(), "1-3");
    // First one CPU of three is wanted, then the others. The only one left to park is offline, so the kernel refuses.
    machine.groups.when_offline(machine.listed_later("0-2"));
    machine.tasks_want(3);
    assert_eq!(whole.step().unwrap(), Step::CpusChanged, "refused, and no error");
    assert!(is_refused(&machine.groups));
    let left = whole.end();
    assert!(
        left.len() == 1 && left.iter().all(|line| line.contains("policy3")),
        "{left:?}"
    );

    let mut whole = machine.begin();
    assert_eq!(
        (whole.all().to_string(), whole.offline().to_string()),
        ("0-2".into(), "3".into())
    );
    machine.tasks_want(1);
    whole.step().unwrap();
    assert_eq!(
        (whole.parked().to_string(), machine.groups.get(PARTITION).unwrap()),
        ("1-2".into(), "isolated".into())
    );
    // All except the open one go offline, and all come back.
    machine.online("0");
    Machine::until_changed(&mut whole);
    whole.end();
    let mut whole = machine.begin();
    assert_eq!(
        (whole.all().to_string(), whole.offline().to_string()),
        ("0".into(), "1-3".into())
    );
    whole.step().unwrap();
    assert_eq!(whole.parked(), Cpus::default());
    machine.online("0-3");
    Machine::until_changed(&mut whole);
    whole.end();
    let mut whole = machine.begin();
    whole.step().unwrap();
    assert_eq!(
        (whole.parked().to_string(), whole.offline()),
        ("1-3".into(), Cpus::default())
    );

    assert_eq!(whole.end(), [""; 0]);
    let read = |file: &str| fs::read_to_string(machine.folder.path().join(file)).unwrap();
    assert_eq!((read(MIN).trim(), read(MAX).trim()), ("1000000", "2000000"), "as found");
    assert_eq!(
        (
            machine.groups.get(CPUS),
            machine.groups.get("cgroup.subtree_control").unwrap()
        ),
        (None, String::new())
    );
    assert!(!journal(&machine.options.run_dir).exists() && !machine.options.speed_journal.exists());
}

#[test]
fn a_refusal_that_no_cpu_explains_ends_it() {
    let machine = Machine::new();
    machine.groups.claim(Cpus::parse("2").unwrap());
    let mut whole = machine.begin();
    machine.tasks_want(1);
    let refused = whole.step().unwrap_err().to_string();
    assert!(
        refused.contains("not exclusive") && refused.contains("AllowedCPUs="),
        "{refused}"
    );
}
