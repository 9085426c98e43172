// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler from elsewhere, such as that of a cluster, is asked where applications go, while time and energy stay those of the simulation.

use super::application::Application;
use super::Fleet;
use std::ops::Range;

/// Decides where applications go. All that happens is told in its order.
pub trait Scheduler {
    /// `None`: nothing has room for it. Then it is asked again with the same number, once an application has left. A machine that is off is on from
    /// now on.
    fn place(&mut self, arrival: &Arrival) -> Option<Place>;
    /// An application that was placed.
    fn leaves(&mut self, number: u32);
    /// A machine without applications.
    fn switched_off(&mut self, machine: u32);
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    /// From 0, in order of arrival.
    pub number: u32,
    pub cores: u32,
    /// Misses of the last-level cache per 1,000 instructions.
    pub mpki: f64,
}

/// Numbers from 0: of the machine, and of a memory domain in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub machine: u32,
    /// `None`: the one with most idle cores, as the kernel does with what is new. Whoever fits the machine but none of its domains is there, too.
    pub domain: Option<u32>,
}

pub(super) struct Asked<'a> {
    scheduler: &'a mut dyn Scheduler,
    /// Domains by machine.
    machines: Vec<Range<u32>>,
    /// Cores by domain; below 0 where one spans two.
    idle: Vec<i64>,
}

impl<'a> Asked<'a> {
    pub fn new(scheduler: &'a mut dyn Scheduler, fleet: &Fleet) -> Self {
        let mut idle = Vec::new();
        let machines = fleet.machines().map(|(_, model)| {
            let first = idle.len() as u32;
            idle.extend(model.domains.iter().copied().map(i64::from));
            first..idle.len() as u32
        });
        let machines = machines.collect();
        Self {
            scheduler,
            machines,
            idle,
        }
    }

    /// The number of a domain.
    ///
    /// # Panics
    /// The scheduler names a machine or a domain that does not exist, or where there is no room.
    pub fn place(&mut self, number: u32, application: &Application) -> Option<u32> {
        let place = self.scheduler.place(&Arrival {
            number,
            cores: application.cores,
            mpki: application.memory_use.mpki,
        })?;
        let domains = self.machines[place.machine as usize].clone();
        let (asked, idle) = (i64::from(application.cores), |domain: &u32| self.idle[*domain as usize]);
        let most_idle = domains.clone().rev().max_by_key(idle).expect("a machine has domains");
        let domain = place.domain.map_or(most_idle, |domain| domains.start + domain);
        assert!(
            domains.contains(&domain),
            "application {number}: no such domain: {place:?}"
        );
        let room = match place.domain {
            Some(_) => idle(&domain),
            None => domains.map(|domain| idle(&domain)).sum(),
        };
        assert!(
            asked <= room,
            "application {number} asks for {asked} cores, and goes where {room} are left: {place:?}"
        );
        Some(domain)
    }

    pub fn add(&mut self, domain: u32, cores: u32) {
        self.idle[domain as usize] -= i64::from(cores);
    }

    pub fn remove(&mut self, domain: u32, number: u32, cores: u32) {
        self.idle[domain as usize] += i64::from(cores);
        self.scheduler.leaves(number);
    }

    pub fn set_off(&mut self, machine: u32) {
        self.scheduler.switched_off(machine);
    }
}
