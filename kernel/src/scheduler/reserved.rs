// SPDX-License-Identifier: GPL-2.0-only
//! The loader's part of the reserved core: which work is the system's own, where interrupts go, and the description for people.

use super::speeds::SpeedSetter;
use crate::adapter::Observer;
use lop_machine::live::LiveMachine;
use lop_machine::speed::Wish;
use lop_policy::{Config, Reserve, Sched, RESERVE_SPEEDS};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The cgroups, directly below the root, in which systemd keeps itself and the system's services.
const SYSTEM_CGROUPS: [&str; 2] = ["init.scope", "system.slice"];
/// Mount points of the unified hierarchy: alone, or beside older ones.
const CGROUPS: [&str; 2] = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];

/// Ids of the cgroups whose tasks are the system's own work; 0 if there is none with that name.
pub fn system_cgroups(root: &Path) -> [u64; 2] {
    SYSTEM_CGROUPS.map(|name| {
        let found = CGROUPS
            .iter()
            .find_map(|at| fs::metadata(root.join(at).join(name)).ok());
        found.map_or(0, |about| about.ino())
    })
}

/// The reserved CPU at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reserved {
    pub cpu: u32,
    pub speed: Wish,
}

impl Reserved {
    /// `None`: no CPU is reserved.
    pub fn of(sched: &Sched) -> Option<Self> {
        let (cpu, raised) = sched.reserved();
        Some(Self {
            cpu: cpu?,
            speed: speed(&sched.config, raised),
        })
    }
}

/// The speed after so many steps up.
fn speed(config: &Config, raised: u32) -> Wish {
    match raised {
        0 => Wish::Low,
        raised if raised < config.reserve_raises => {
            Wish::Share(config.reserve_permille[raised as usize % RESERVE_SPEEDS])
        }
        _ => Wish::High,
    }
}

/// What is known of a reservation apart from its present state.
#[derive(Debug, Default)]
pub struct Reservation {
    wanted: Option<Reserve>,
    /// The CPU that was reserved at the start.
    first: Option<u32>,
    /// For people: facts that do not change.
    facts: Vec<String>,
    speeds_act: bool,
}

impl Reservation {
    /// To be called once the program is attached: steers interrupts to the CPU that it reserved.
    pub fn begin(
        wanted: Reserve,
        now: Option<Reserved>,
        root: &Path,
        machine: &LiveMachine,
        speeds: &mut SpeedSetter,
    ) -> Self {
        let mut reservation = Self {
            wanted: Some(wanted).filter(|wanted| *wanted != Reserve::Never),
            first: now.map(|reserved| reserved.cpu),
            facts: Vec::new(),
            speeds_act: speeds.acts(),
        };
        if let Some(Reserved { cpu, .. }) = now {
            reservation.facts.push(whose_work(system_cgroups(root)));
            reservation.facts.extend(shared_clock(machine, cpu));
            reservation.facts.push(speeds.steer_interrupts(cpu));
        }
        reservation
    }

    /// For people, one line each; empty if no reserved core was requested.
    pub fn describe(&self, now: Option<Reserved>) -> Vec<String> {
        match (self.wanted, now, self.first) {
            (None, ..) => Vec::new(),
            (_, Some(reserved), _) => [self.state(reserved)].into_iter().chain(self.facts.clone()).collect(),
            (_, None, Some(cpu)) => vec![given_up(cpu)],
            (Some(Reserve::BySize), None, None) => {
                vec![
                    "no core is reserved: fewer than four are online; '--reserve asked' reserves one all the same"
                        .into(),
                ]
            }
            (_, None, None) => vec!["no core is reserved: none would be left for applications".into()],
        }
    }

    fn state(&self, reserved: Reserved) -> String {
        let needs = "since it was more than 90 % busy below that";
        let speed = match (self.speeds_act, reserved.speed) {
            (false, _) => "at the speed that it has: none is set here".to_string(),
            (_, Wish::Low | Wish::Released) => "at its lowest speed".to_string(),
            (_, Wish::Share(permille)) => format!("at {} % of its highest speed, {needs}", (permille + 5) / 10),
            (_, Wish::High) => format!("at its highest speed, {needs}"),
        };
        format!("CPU {} runs the system's own work alone, {speed}", reserved.cpu)
    }

    /// To be called when the program has given up the reservation.
    pub fn end(&self, speeds: &mut SpeedSetter, observer: &mut dyn Observer) {
        let Some(cpu) = self.first else { return };
        observer.note(&given_up(cpu));
        speeds.release_interrupts(observer);
    }
}

fn given_up(cpu: u32) -> String {
    format!("CPU {cpu} is reserved no longer: it was more than 90 % busy at its highest speed, or went offline")
}

fn whose_work(cgroups: [u64; 2]) -> String {
    let named = SYSTEM_CGROUPS.iter().zip(cgroups).filter(|(_, number)| *number != 0);
    let names: Vec<&str> = named.map(|(name, _)| *name).collect();
    let daemons = match names.len() {
        0 => "nothing else, as no cgroup init.scope or system.slice tells daemons from applications".to_string(),
        _ => format!("what runs in the cgroups {}", names.join(" and ")),
    };
    format!("the system's own work: threads of the kernel that may move, and {daemons}")
}

/// Linux runs CPUs that share a clock at the highest speed that any of them requests.
fn shared_clock(machine: &LiveMachine, cpu: u32) -> Option<String> {
    let about = machine.cpus.iter().find(|about| about.number == cpu)?;
    let others = machine
        .cpus
        .iter()
        .filter(|other| other.clock_domain == about.clock_domain && other.core != about.core);
    let others: Vec<u32> = others.map(|other| other.number).collect();
    (!others.is_empty()).then(|| {
        format!(
            "its clock is that of CPUs {} too: it runs as fast as the fastest of them",
            crate::status::ranges(&others)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reservation(wanted: Reserve, first: Option<u32>, speeds_act: bool) -> Reservation {
        Reservation {
            wanted: Some(wanted),
            first,
            facts: vec!["fact".into()],
            speeds_act,
        }
    }

    #[test]
    fn it_says_what_holds_now() {
        let at = |speed| Some(Reserved { cpu: 3, speed });
        for (reservation, now, said) in [
            (
                reservation(Reserve::Asked, Some(3), true),
                at(Wish::Low),
                "alone, at its lowest speed",
            ),
            (
                reservation(Reserve::Asked, Some(3), true),
                at(Wish::High),
                "at its highest speed",
            ),
            (
                reservation(Reserve::Asked, Some(3), true),
                at(Wish::Share(555)),
                "alone, at 56 % of its highest speed",
            ),
            (
                reservation(Reserve::Asked, Some(3), false),
                at(Wish::Low),
                "none is set here",
            ),
            (
                reservation(Reserve::Asked, Some(3), true),
                None,
                "CPU 3 is reserved no longer",
            ),
            (reservation(Reserve::BySize, None, true), None, "'--reserve asked'"),
            (reservation(Reserve::Asked, None, true), None, "none would be left"),
        ] {
            let lines = reservation.describe(now);
            assert!(lines[0].contains(said), "{lines:?}");
            assert_eq!(lines.len() == 2, now.is_some(), "{lines:?}");
        }
        assert!(Reservation::default().describe(None).is_empty());
    }

    #[test]
    fn a_step_is_a_speed_between_the_lowest_and_the_highest() {
        let mut config = Config {
            reserve_raises: 2,
            ..Config::default()
        };
        config.reserve_permille[..3].copy_from_slice(&[400, 700, 1000]);
        let speeds = [0, 1, 2].map(|raised| speed(&config, raised));
        assert_eq!(speeds, [Wish::Low, Wish::Share(700), Wish::High]);
    }

    #[test]
    fn system_processes_are_those_of_systemds_cgroups() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(system_cgroups(root.path()), [0, 0]);
        assert!(whose_work([0, 0]).contains("nothing else"));
        let slice = root.path().join("sys/fs/cgroup/unified/system.slice");
        fs::create_dir_all(&slice).unwrap();
        let number = fs::metadata(&slice).unwrap().ino();
        assert_eq!(system_cgroups(root.path()), [0, number]);
        assert!(whose_work([0, number]).ends_with("what runs in the cgroups system.slice"));
    }
}
