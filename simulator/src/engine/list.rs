// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads of declared length, when they are more than CPUs: each time one is created or ends, the policy chooses the CPU that each of them waits for
//! (policy/fast/list.h). A task that runs on another CPU loses it and is queued anew, as in a kernel.

use super::policy::Policy;
use super::task::State;
use super::time::{Kind, OwnEvent};
use super::world::World;
use lop_policy::{Config, Listed, Planner, MAX_LISTED, NONE};

pub(super) struct Listing {
    planner: Planner,
    /// By application: a `OwnEvent::List` event is pending.
    due: Vec<bool>,
}

impl Listing {
    /// `None`: this policy has no lists.
    pub fn new(config: &Config, nr_apps: usize) -> Option<Self> {
        config.lists().then(|| Self {
            planner: Planner::default(),
            due: vec![false; nr_apps],
        })
    }
}

impl World<'_, Policy> {
    /// A thread of declared length of this application is created, or has ended: lists are made anew once all events of this instant have happened.
    pub(super) fn list_soon(&mut self, app: u16) {
        let Some(listing) = &mut self.scheduler.listing else {
            return;
        };
        if !std::mem::replace(&mut listing.due[usize::from(app)], true) {
            self.time.after(0, Kind::Scheduler(OwnEvent::List), u32::from(app));
        }
    }

    pub(super) fn list(&mut self, app: u16) {
        let Some(mut listing) = self.scheduler.listing.take() else {
            return;
        };
        listing.due[usize::from(app)] = false;
        let elsewhere = self.put_on_lists(&mut listing.planner, app);
        self.queue_anew(&elsewhere);
        self.scheduler.listing = Some(listing);
    }

    /// Returns the CPUs whose tasks have to move.
    fn put_on_lists(&mut self, planner: &mut Planner, app: u16) -> Vec<u32> {
        let (handle, now_ns) = (self.scheduler.handle, self.time.now_ns);
        let of_app = &self.scheduler.apps[usize::from(app)];
        let reserved = handle.reserved().0;
        let cpus: Vec<u32> = (0..self.cores.cpus.len() as u32)
            .filter(|&cpu| Some(cpu) != reserved)
            .collect();
        let may_wait = |id: &u32| {
            let task = &self.work.tasks[*id as usize];
            task.app == app && task.state != State::Exited && task.policy.hint.length > 0 && !task.policy.restricted
        };
        let mut ids: Vec<u32> = (0..self.work.tasks.len() as u32).filter(may_wait).collect();
        ids.sort_by_key(|&id| self.work.tasks[id as usize].serial);
        let several = if ids.len() > cpus.len() {
            ids.len().min(MAX_LISTED)
        } else {
            0
        };
        let listed = |&id: &u32| {
            let task = &self.work.tasks[id as usize];
            let cpu = task.on_cpu.or(task.policy.listed.checked_sub(1));
            Listed {
                left: handle.listed_left(&task.policy, of_app, now_ns),
                core: cpus
                    .iter()
                    .position(|&other| Some(other) == cpu)
                    .map_or(NONE, |core| core as i32),
                wanted_core: NONE,
            }
        };
        let mut threads: Vec<Listed> = ids[..several].iter().map(listed).collect();
        let permille: Vec<u32> = cpus.iter().map(|&cpu| handle.work_ns(cpu, 1000) as u32).collect();
        planner.list(&mut threads, &permille, handle.least_gain(of_app));
        let wanted = threads.iter().map(|thread| cpus[thread.wanted_core as usize] as i32);
        let mut elsewhere = vec![];
        for (id, cpu) in ids.into_iter().zip(wanted.chain(std::iter::repeat(NONE))) {
            let task = &mut self.work.tasks[id as usize];
            if handle.put_on_list(&mut task.policy, cpu) {
                elsewhere.extend(task.on_cpu);
            }
        }
        elsewhere
    }
}
