// SPDX-License-Identifier: GPL-2.0-only
//! Turns what was seen of threads into events of the policy, and the policy's choice into affinities.

use crate::cpus::Cpus;
use crate::plan::Planner;
use crate::shadow::{Place, Shadow};
use crate::world::{Said, Seen, World};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// What is known of a thread.
struct Known {
    pid: u32,
    started: u64,
    runnable: bool,
    /// Where it may run by its own choice or its owner's.
    allowed: Cpus,
    /// What it was last given or found with.
    given: Cpus,
    said: Said,
}

/// A command whose processes go on to create others faster than they are found is left after so many looks.
const MOST_LAST_LOOKS: u32 = 16;
/// A process needs as long, or less, to become another program.
const UNDECIDED: Duration = Duration::from_millis(2);

pub(crate) struct Enforcer {
    shadow: Shadow,
    /// `None`: the policy makes no plans.
    planner: Option<Planner>,
    known: BTreeMap<u32, Known>,
    all: Cpus,
    /// What the command was started with.
    home: Cpus,
    /// Sets that threads were given: a thread that has one inherited it, and did not choose it.
    given: BTreeSet<Cpus>,
    /// Affinities that were changed.
    pub changes: u64,
}

impl Enforcer {
    /// `planner`: for a policy that makes plans. `all`: CPUs of the machine that are online. `home`: those that the command may use.
    pub fn new(shadow: Shadow, planner: Option<Planner>, all: Cpus, home: Cpus) -> Self {
        Self {
            shadow,
            planner,
            known: BTreeMap::new(),
            all,
            home,
            given: BTreeSet::new(),
            changes: 0,
        }
    }

    /// Threads that are counted as active now.
    pub fn active(&self) -> u32 {
        self.shadow.active()
    }

    /// Looks once, tells the policy what changed, and brings about what it wants.
    ///
    /// # Errors
    /// Threads cannot be listed, or what is about to be changed cannot be written down.
    pub fn step(&mut self, world: &mut dyn World) -> io::Result<()> {
        let now_ns = world.now_ns();
        self.shadow.time_is(now_ns);
        if let Some(planner) = &mut self.planner {
            let runnable = self.known.iter().filter(|(_, known)| known.runnable);
            planner.passed(now_ns, runnable.map(|(&tid, _)| tid));
        }
        let seen = world.look()?;
        self.forget_missing(&seen);
        for thread in &seen {
            self.note_sleeping(thread);
        }
        for thread in &seen {
            self.note_thread(world, thread);
        }
        self.shadow.tick();
        if let Some(planner) = &mut self.planner {
            let declared = |tid| self.known.get(&tid).map_or(0, |known| known.said.memory);
            planner.follow(&mut self.shadow, declared);
        }
        self.give_all(world)
    }

    fn forget_missing(&mut self, seen: &[Seen]) {
        let now: BTreeMap<u32, u64> = seen.iter().map(|thread| (thread.tid, thread.started)).collect();
        let gone = |(tid, known): (&u32, &Known)| (now.get(tid) != Some(&known.started)).then_some(*tid);
        let gone: Vec<u32> = self.known.iter().filter_map(gone).collect();
        for tid in gone {
            self.known.remove(&tid);
            self.shadow.remove(tid);
            if let Some(planner) = &mut self.planner {
                planner.forget(tid);
            }
        }
    }

    fn note_sleeping(&mut self, thread: &Seen) {
        match self.known.get_mut(&thread.tid) {
            Some(known) if known.runnable && !thread.runnable => {
                known.runnable = false;
                self.shadow.block(thread.tid);
            }
            _ => {}
        }
    }

    fn note_thread(&mut self, world: &mut dyn World, thread: &Seen) {
        let said = world.said(thread.tid);
        if !self.known.contains_key(&thread.tid) {
            let Ok(found) = world.affinity(thread.tid) else { return };
            self.meet(thread, found, said);
        }
        let Some(known) = self.known.get_mut(&thread.tid) else {
            return;
        };
        // Who says nothing any more is about to end.
        if said.length != known.said.length && said.length != 0 {
            let (pid, allowed) = (known.pid, known.allowed);
            known.runnable = false;
            known.said.length = said.length;
            self.shadow.remove(thread.tid);
            self.shadow.add(thread.tid, pid, &allowed, said.length);
        }
        if thread.runnable && !known.runnable {
            known.runnable = true;
            self.shadow.wake(thread.tid, thread.cpu);
        }
        (known.said.flags, known.said.memory) = (said.flags, said.memory);
        self.shadow.set_hints(thread.tid, said.flags);
    }

    /// A thread that was created since: what it inherited from one that the agent bound is not its own choice.
    fn meet(&mut self, thread: &Seen, found: Cpus, said: Said) {
        let inherited = self.given.contains(&found);
        let allowed = if inherited { self.home } else { found };
        self.shadow.add(thread.tid, thread.pid, &allowed, said.length);
        let known = Known {
            pid: thread.pid,
            started: thread.started,
            runnable: false,
            allowed,
            given: found,
            said,
        };
        self.known.insert(thread.tid, known);
    }

    fn give_all(&mut self, world: &mut dyn World) -> io::Result<()> {
        let tids: Vec<u32> = self.known.keys().copied().collect();
        for tid in tids {
            let known = &self.known[&tid];
            let wanted = self.wanted(tid, &known.allowed);
            if wanted != known.given {
                self.give(world, tid, wanted)?;
            }
        }
        Ok(())
    }

    /// Who bound itself meanwhile keeps what it chose. A thread that is gone is forgotten at the next look.
    fn give(&mut self, world: &mut dyn World, tid: u32, wanted: Cpus) -> io::Result<()> {
        let Some(known) = self.known.get_mut(&tid) else {
            return Ok(());
        };
        let Ok(found) = world.affinity(tid) else { return Ok(()) };
        if found != known.given && !self.given.contains(&found) {
            known.allowed = found;
            known.given = found;
            let (pid, length) = (known.pid, known.said.length);
            known.runnable = false;
            self.shadow.remove(tid);
            self.shadow.add(tid, pid, &found, length);
            return Ok(());
        }
        if self.given.insert(wanted) {
            world.note_set(&wanted)?;
        }
        known.given = wanted;
        if world.set_affinity(tid, &wanted).is_ok() {
            self.changes += 1;
        }
        Ok(())
    }

    /// Where a thread is to run. Sets hold for all; by a plan for memory domains a thread has those of its domain. Where some CPUs are faster and rules
    /// say who gets them, each runnable thread has its kind of CPU, or, by a list, its CPU. An empty set asks for nothing.
    fn wanted(&self, tid: u32, allowed: &Cpus) -> Cpus {
        let members = self.shadow.members();
        let set = match members.is_empty() {
            true => self.all.without(&self.shadow.reserved().into_iter().collect()),
            false => members,
        };
        let wanted = self.own_cpus(tid, &self.in_domain(tid, set)).and(allowed);
        if wanted.is_empty() {
            *allowed
        } else {
            wanted
        }
    }

    /// A domain without a member has none of the thread's work yet.
    fn in_domain(&self, tid: u32, set: Cpus) -> Cpus {
        let own = self.shadow.domain_of(tid).map(|domain| set.and(&domain));
        own.filter(|own| !own.is_empty()).unwrap_or(set)
    }

    fn own_cpus(&self, tid: u32, set: &Cpus) -> Cpus {
        if !self.shadow.ranks() {
            return *set;
        }
        let alone = self.shadow.listed_at(tid).or_else(|| self.shadow.waits_for(tid));
        if let Some(cpu) = alone {
            return std::iter::once(cpu).collect();
        }
        match self.shadow.place(tid) {
            Some(Place::Runs(cpu)) => {
                let mut cpus = self.shadow.kind_of(cpu).and(set);
                cpus.insert(cpu);
                cpus
            }
            Some(Place::Blocked | Place::Waits) | None => *set,
        }
    }

    /// Gives every thread back what it had. What was created since the last look inherited a set too, and so did what is created while these are given
    /// back: it is over when a look behind the last one finds nobody new. A world that cannot be looked at any more has those that are known.
    pub fn restore(&mut self, world: &mut dyn World) {
        for _ in 0..MOST_LAST_LOOKS {
            let found = self.meet_new(world);
            let freed = self.give_back(world);
            if world.is_undecided() {
                sleep(UNDECIDED);
            } else if !found && !freed {
                break;
            }
        }
    }

    fn meet_new(&mut self, world: &mut dyn World) -> bool {
        let Ok(seen) = world.look() else { return false };
        self.forget_missing(&seen);
        let mut any = false;
        for thread in &seen {
            if self.known.contains_key(&thread.tid) {
                continue;
            }
            let said = world.said(thread.tid);
            if let Ok(found) = world.affinity(thread.tid) {
                self.meet(thread, found, said);
                any = true;
            }
        }
        any
    }

    fn give_back(&mut self, world: &mut dyn World) -> bool {
        let mut any = false;
        for (tid, known) in &mut self.known {
            if known.given != known.allowed && world.set_affinity(*tid, &known.allowed).is_ok() {
                known.given = known.allowed;
                any = true;
            }
        }
        any
    }
}

#[cfg(test)]
mod tests;
