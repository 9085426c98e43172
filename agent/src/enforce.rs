// SPDX-License-Identifier: GPL-2.0-only
//! Turns what looks see of threads into events for the policy, and the policy's choices into affinities.

use crate::cpus::Cpus;
use crate::plan::Planner;
use crate::qos::Said;
use crate::shadow::{Place, Shadow};
use crate::world::{Hint, Seen, World};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// What is known of a thread.
struct Known {
    started: u64,
    runnable: bool,
    /// Where it may run by its own or its owner's choice.
    allowed: Cpus,
    /// The affinity that it was last given or found with.
    given: Cpus,
    hint: Hint,
}

/// At the end of a run, how many looks follow processes that create others faster than they are found.
const MOST_LAST_LOOKS: u32 = 16;
/// At most how long a process takes to execute another program.
const UNDECIDED: Duration = Duration::from_millis(2);

pub(crate) struct Enforcer {
    shadow: Shadow,
    /// `None` if the policy makes no plans.
    planner: Option<Planner>,
    known: BTreeMap<u32, Known>,
    all: Cpus,
    /// The affinity that the command was started with.
    home: Cpus,
    /// Sets that threads were given. A new thread with one of these has inherited it, not chosen it.
    given: BTreeSet<Cpus>,
    /// How many affinities were changed.
    pub changes: u64,
}

impl Enforcer {
    /// `planner`: for a policy that makes plans. `all`: the online CPUs of the machine. `home`: the CPUs that the command may use.
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

    /// Looks once, tells the policy what changed, and carries out its decisions.
    ///
    /// # Errors
    /// Threads cannot be listed, or a change cannot be recorded beforehand.
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
            let declared = |tid| self.known.get(&tid).map_or(0, |known| known.hint.memory);
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
        let said = world.hint(thread.tid);
        let hint = with(said.unwrap_or_default(), world.said_of(thread.tid));
        if self.known.contains_key(&thread.tid) {
            self.note_choice(world, thread.tid);
        } else {
            let Ok(found) = world.affinity(thread.tid) else { return };
            self.meet(thread, found, hint);
        }
        let Some(known) = self.known.get_mut(&thread.tid) else {
            return;
        };
        // A thread that no longer declares a length is about to end.
        if hint.length != known.hint.length && hint.length != 0 {
            let allowed = known.allowed;
            known.runnable = false;
            known.hint.length = hint.length;
            self.shadow.add_anew(thread.tid, &allowed, hint.length);
        }
        self.shadow.declare(thread.tid, said.map(|hint| hint.parallelism));
        if thread.runnable && !known.runnable {
            known.runnable = true;
            self.shadow.wake(thread.tid, thread.cpu);
        }
        (known.hint.flags, known.hint.memory) = (hint.flags, hint.memory);
        self.shadow.set_hints(thread.tid, hint.flags);
    }

    /// A new thread. An affinity that it inherited from a thread that the agent restricted is not its own choice.
    fn meet(&mut self, thread: &Seen, found: Cpus, hint: Hint) {
        let inherited = self.given.contains(&found);
        let allowed = if inherited { self.home } else { found };
        self.shadow.add(thread.tid, thread.pid, &allowed, hint.length);
        let known = Known {
            started: thread.started,
            runnable: false,
            allowed,
            given: found,
            hint,
        };
        self.known.insert(thread.tid, known);
    }

    /// A choice may stand for a moment only: libomp binds its first thread to each CPU in turn to read the topology. So who has one is asked at each look.
    fn note_choice(&mut self, world: &mut dyn World, tid: u32) {
        let Some(known) = self.known.get(&tid).filter(|known| known.allowed != self.home) else {
            return;
        };
        match world.affinity(tid) {
            Ok(found) if found != known.given => self.chose(tid, found),
            _ => {}
        }
    }

    fn chose(&mut self, tid: u32, found: Cpus) {
        let Some(known) = self.known.get_mut(&tid) else { return };
        (known.allowed, known.given, known.runnable) = (found, found, false);
        let length = known.hint.length;
        self.shadow.add_anew(tid, &found, length);
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

    /// A thread that set its own affinity meanwhile keeps its choice. A thread that is gone is forgotten at the next look.
    fn give(&mut self, world: &mut dyn World, tid: u32, wanted: Cpus) -> io::Result<()> {
        let Some(known) = self.known.get_mut(&tid) else {
            return Ok(());
        };
        let Ok(found) = world.affinity(tid) else { return Ok(()) };
        if found != known.given && !self.given.contains(&found) {
            self.chose(tid, found);
            return Ok(());
        }
        if self.given.insert(wanted) {
            world.note_set(&wanted)?;
        }
        if world.set_affinity(tid, &wanted).is_ok() {
            self.changes += 1;
            known.given = wanted;
        }
        Ok(())
    }

    /// Where a thread should run. The high set applies to all threads; with a plan for memory domains, a thread is limited to its domain. If rules
    /// decide who gets the faster CPUs, each runnable thread is restricted to its kind of CPU. An empty set means no request.
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

    /// A domain without a member of the high set is not used yet.
    fn in_domain(&self, tid: u32, set: Cpus) -> Cpus {
        let own = self.shadow.domain_of(tid).map(|domain| set.and(&domain));
        own.filter(|own| !own.is_empty()).unwrap_or(set)
    }

    fn own_cpus(&self, tid: u32, set: &Cpus) -> Cpus {
        if !self.shadow.ranks() {
            return *set;
        }
        if let Some(cpu) = self.shadow.waits_for(tid) {
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

    /// Gives every thread its own affinity back. Threads that were created since the last look have inherited a set, and so have those created
    /// meanwhile, so it looks again until it finds no new thread. If looks fail, it restores the known threads.
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
            let hint = world.hint(thread.tid).unwrap_or_default();
            if let Ok(found) = world.affinity(thread.tid) {
                self.meet(thread, found, hint);
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

/// A thread's own word on memory counts before a file's.
fn with(own: Hint, file: Said) -> Hint {
    Hint {
        flags: own.flags | file.flags(),
        memory: if own.memory == 0 { file.memory() } else { own.memory },
        ..own
    }
}

#[cfg(test)]
mod tests;
