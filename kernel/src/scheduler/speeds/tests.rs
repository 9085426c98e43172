// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::options::{Named, PolicyName};
use crate::status::Status;
use lop_machine::speed::HighSpeed;
use std::path::PathBuf;
use tempfile::TempDir;

const FOLDER: &str = "sys/devices/system/cpu/cpufreq/policy0";

/// A machine with one CPU, in a folder.
struct Machine(TempDir);

impl Machine {
    fn with(governor: &str) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.write("sys/devices/system/cpu/online", "0");
        for (file, text) in [
            ("affected_cpus", "0"),
            ("related_cpus", "0"),
            ("scaling_driver", "acpi-cpufreq"),
            ("scaling_governor", governor),
            ("scaling_min_freq", "1000000"),
            ("scaling_max_freq", "2000000"),
            ("scaling_setspeed", "1000000"),
        ] {
            machine.write(&format!("{FOLDER}/{file}"), text);
        }
        machine
    }

    /// One whose watts are estimated, so that goals differ.
    fn with_watts() -> Self {
        let machine = Self::with("ondemand");
        machine.write("sys/devices/system/cpu/present", "0");
        for (limit, khz) in [("min", "800000"), ("max", "4600000")] {
            machine.write(&format!("{FOLDER}/scaling_{limit}_freq"), khz);
            machine.write(&format!("{FOLDER}/cpuinfo_{limit}_freq"), khz);
            machine.write(
                &format!("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_{limit}_freq"),
                khz,
            );
        }
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }

    fn minimum(&self) -> String {
        std::fs::read_to_string(self.path(FOLDER).join("scaling_min_freq")).unwrap()
    }

    fn options(&self, partial: bool) -> Options {
        Options {
            root: self.0.path().to_path_buf(),
            partial,
            speed_journal: self.path("run/speeds.journal"),
            ..Options::default()
        }
    }

    fn options_for(&self, goal: Goal) -> Options {
        Options {
            goal: Some(goal),
            ..self.options(false)
        }
    }

    fn setter(&self, partial: bool) -> SpeedSetter {
        SpeedSetter::open(&self.options(partial), &mut Notes::default()).unwrap()
    }
}

/// Remembers its notes.
#[derive(Default)]
struct Notes(Vec<String>);

impl Observer for Notes {
    fn attached(&mut self, _: &Status) -> Result<(), KernelError> {
        Ok(())
    }

    fn note(&mut self, line: &str) {
        self.0.push(line.to_string());
    }
}

fn joins_high(cpu: i32) -> Record {
    Record {
        kind: Kind::Speed,
        at_ns: 0,
        task: 0,
        cpu,
        value: 1,
        words: Vec::new(),
    }
}

#[test]
fn a_partial_scheduler_sets_speeds_by_schedutil_only() {
    for (governor, partial, acts, minimum) in [
        ("ondemand", false, true, "2000000\n"),
        ("ondemand", true, false, "1000000\n"),
        ("userspace", true, false, "1000000\n"),
        ("schedutil", true, true, "1000000\n"),
    ] {
        let machine = Machine::with(governor);
        let mut setter = machine.setter(partial);
        assert_eq!(setter.acts(), acts, "{governor}");
        assert_eq!(setter.writes(), governor != "schedutil" && !partial, "{governor}");
        let by_kernel = setter.wishes().asked_by_kernel;
        let expected = if governor == "schedutil" {
            vec![(0, 1024)]
        } else {
            vec![]
        };
        assert_eq!(by_kernel, expected, "{governor}");
        setter.follow(&[joins_high(0)], &mut Notes::default());
        assert_eq!(machine.minimum(), minimum, "{governor}");
        let says_why = setter.describe().iter().any(|line| line.contains("with --partial"));
        assert_eq!(says_why, partial && governor != "schedutil", "{governor}");
    }
}

/// A CPU that falls and rises within a second is not changed; one that stays low is changed once.
#[test]
fn a_processor_that_chooses_is_told_to_save_after_a_second() {
    let machine = Machine::with("powersave");
    machine.write(&format!("{FOLDER}/scaling_driver"), "intel_pstate");
    let preference = format!("{FOLDER}/energy_performance_preference");
    machine.write(&preference, "balance_performance");
    machine.write(
        &format!("{FOLDER}/energy_performance_available_preferences"),
        "performance power",
    );
    let mut setter = machine.setter(false);
    let began = Instant::now();
    for (seconds, wish, told, waits) in [
        (0.0, Some(Wish::High), "performance", false),
        (1.0, Some(Wish::Low), "performance", true),
        (1.9, Some(Wish::High), "performance", false),
        (2.0, Some(Wish::Low), "performance", true),
        (2.5, Some(Wish::Low), "performance", true),
        (2.9, None, "performance", true),
        (3.0, None, "power", false),
        (3.2, Some(Wish::High), "performance", false),
    ] {
        let wishes = wish.map(|wish| (0, wish)).into_iter().collect();
        setter.set_at(began + Duration::from_secs_f64(seconds), wishes, &mut Notes::default());
        let now = std::fs::read_to_string(machine.path(&preference)).unwrap();
        assert_eq!((now.trim(), setter.due_in().is_some()), (told, waits), "at {seconds} s");
    }
}

/// 1.5 of 2 GHz: limits follow the sets, schedutil gets a request for 4/5 of three quarters, and it fails if files are left alone.
#[test]
fn high_cpus_have_the_speed_that_was_asked_for() {
    let opened = |governor: &str, partial| {
        let machine = Machine::with(governor);
        machine.write(&format!("{FOLDER}/cpuinfo_max_freq"), "2000000");
        machine.write(&format!("{FOLDER}/base_frequency"), "1500000");
        let options = Options {
            high_speed: Some(HighSpeed::Base),
            ..machine.options(partial)
        };
        let setter = SpeedSetter::open(&options, &mut Notes::default());
        (machine, setter)
    };
    let (machine, setter) = opened("ondemand", false);
    let mut setter = setter.unwrap();
    setter.follow(&[joins_high(0)], &mut Notes::default());
    assert_eq!(machine.minimum(), "1500000\n");
    for partial in [false, true] {
        let (_, setter) = opened("schedutil", partial);
        assert_eq!(setter.unwrap().wishes().asked_by_kernel, [(0, 614)]);
    }
    let refused = opened("ondemand", true).1.err().unwrap().to_string();
    assert!(
        refused.contains("--high-speed base: speeds of CPU 0 cannot be set: with --partial"),
        "{refused}"
    );
}

/// By estimated watts a CPU of 0.8 to 4.6 GHz takes least for energy below its highest speed; under ondemand the other goals leave it that. The CPU stays high, and
/// what is put back is what was found.
#[test]
fn a_high_cpu_changes_its_speed_with_the_goal() {
    let machine = Machine::with_watts();
    let with = |goal| machine.options_for(goal);
    let mut notes = Notes::default();
    let mut setter = SpeedSetter::open(&with(Goal::Speed), &mut notes).unwrap();
    setter.follow(&[joins_high(0)], &mut notes);
    let mut energy = String::new();
    for (goal, is_highest) in [(Goal::Energy, false), (Goal::Balanced, true), (Goal::Energy, false)] {
        setter.follow_goal(&with(goal), &mut notes);
        assert_eq!(
            machine.minimum() == "4600000\n",
            is_highest,
            "{goal}, {:?}",
            setter.of_goal()
        );
        assert_eq!(setter.of_goal().is_none(), is_highest, "{goal}");
        energy = machine.minimum();
    }
    let asked = Options {
        high_speed: Some(HighSpeed::Max),
        ..with(Goal::Speed)
    };
    setter.follow_goal(&asked, &mut notes);
    assert_eq!(
        machine.minimum(),
        energy,
        "a speed that was asked for goes before the goal"
    );
    assert_eq!((setter.restore().failed, notes.0), (vec![], vec![]));
    assert_eq!(machine.minimum(), "800000\n");
}

#[test]
fn a_high_cpu_whose_files_refuse_is_named_with_the_goal() {
    let machine = Machine::with_watts();
    let mut notes = Notes::default();
    let mut setter = SpeedSetter::open(&machine.options_for(Goal::Speed), &mut notes).unwrap();
    setter.follow(&[joins_high(0)], &mut notes);
    // The file is a folder now, so that root cannot write it either.
    let lowest = machine.path(FOLDER).join("scaling_min_freq");
    std::fs::remove_file(&lowest).unwrap();
    std::fs::create_dir(&lowest).unwrap();
    setter.follow_goal(&machine.options_for(Goal::Energy), &mut notes);
    let said = setter.of_goal().unwrap();
    for part in [
        "least energy per work; but CPU 0 keeps its former high speed: ",
        "scaling_min_freq",
    ] {
        assert!(said.contains(part), "no '{part}' in: {said}");
    }
    assert!(
        notes.0.len() == 1 && said.ends_with(&notes.0[0]),
        "{said}: {:?}",
        notes.0
    );
}

#[test]
fn a_governor_that_changed_is_a_reason_to_open_speeds_again() {
    let machine = Machine::with("schedutil");
    let left_alone = Options {
        speeds: false,
        ..machine.options(false)
    };
    let left_alone = SpeedSetter::open(&left_alone, &mut Notes::default()).unwrap();
    let setter = machine.setter(false);
    assert!(!setter.has_changed_governor());
    machine.write(&format!("{FOLDER}/scaling_governor"), "performance");
    assert!(setter.has_changed_governor());
    assert!(!left_alone.has_changed_governor());
    drop(setter);
    assert!(!machine.setter(false).has_changed_governor());
}

#[test]
fn governors_are_looked_at_once_after_the_last_change_of_the_goal() {
    let mut governors = LateGovernors::default();
    let begin = Instant::now();
    assert!(governors.due_in(begin).is_none() && !governors.take_due(begin));
    governors.look_after(begin);
    let second = begin + Duration::from_secs(1);
    governors.look_after(second);
    assert_eq!(governors.due_in(second), Some(GOVERNORS_AFTER));
    assert!(!governors.take_due(begin + GOVERNORS_AFTER));
    assert!(governors.take_due(second + GOVERNORS_AFTER));
    assert!(governors.due_in(second).is_none() && !governors.take_due(second + GOVERNORS_AFTER));
}

#[test]
fn another_governor_is_said_when_somebody_asks() {
    let machine = Machine::with("ondemand");
    let setter = machine.setter(false);
    machine.write(&format!("{FOLDER}/scaling_governor"), "performance");
    let said = setter.describe();
    assert!(said[0].contains("governor performance is in charge now"), "{said:?}");
}

#[test]
fn a_damaged_journal_is_named_with_a_way_out_that_works() {
    let machine = Machine::with("ondemand");
    machine.write("run/speeds.journal", "no journal");
    let opened = SpeedSetter::open(&machine.options(false), &mut Notes::default());
    let error = opened.err().unwrap().to_string();
    for part in [
        "run/speeds.journal:1",
        "look at this file",
        "then remove it",
        "--no-speeds",
    ] {
        assert!(error.contains(part), "no '{part}' in: {error}");
    }
    assert!(!error.contains("lop restore"), "which refuses the same file: {error}");
}

/// A run that was killed has raised a minimum; the next one sets no speeds.
#[test]
fn a_start_that_leaves_speeds_alone_puts_back_what_a_dead_one_changed() {
    for (policy, speeds) in [(Named::HighlowSpare.into(), false), (PolicyName::simple_sets(1), true)] {
        let machine = Machine::with("ondemand");
        let mut killed = machine.setter(false);
        killed.follow(&[joins_high(0)], &mut Notes::default());
        assert_eq!(machine.minimum(), "2000000\n");
        std::mem::forget(killed);
        // The lock would have vanished with its process.
        std::fs::remove_file(machine.path("run/speeds.journal.lock")).unwrap();
        let options = Options {
            policy,
            speeds,
            ..machine.options(false)
        };
        let mut notes = Notes::default();
        SpeedSetter::open(&options, &mut notes).unwrap();
        assert_eq!(machine.minimum(), "1000000\n", "{policy} {speeds} {:?}", notes.0);
    }
}

#[test]
fn a_damaged_journal_keeps_nobody_from_leaving_speeds_alone() {
    let machine = Machine::with("ondemand");
    machine.write("run/speeds.journal", "no journal");
    let options = Options {
        speeds: false,
        ..machine.options(false)
    };
    let mut notes = Notes::default();
    SpeedSetter::open(&options, &mut notes).unwrap();
    assert!(
        notes.0.iter().any(|line| line.contains("run/speeds.journal:1")),
        "{:?}",
        notes.0
    );
}

/// Sets as in `enum lop_set`; above bit 8 the speed of a home, as the program writes it.
#[test]
fn a_record_says_which_speed() {
    let wished = |value| {
        wish(&Record {
            kind: Kind::Speed,
            at_ns: 0,
            task: 0,
            cpu: 3,
            value,
            words: Vec::new(),
        })
    };
    for (value, expected) in [
        (0, Wish::Low),
        (1, Wish::High),
        (2 | 441 << 8, Wish::Share(441)),
        (3, Wish::Released),
    ] {
        assert_eq!(wished(value), Some((3, expected)));
    }
}
