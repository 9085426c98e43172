//! The native build of the policy, called as the log says.

use super::{Change, Config, Kind, Record};
use anyhow::{Context, Result};
use lop_machine::live::LiveMachine;
use lop_simulator::policy::{self, CpuBits, CpuPlace, Env, Policy, Set, Task, CPU_WORDS};
use std::collections::{HashMap, VecDeque};

/// Weights decide nothing about sets.
const ANY_WEIGHT: u32 = 100;

pub struct Player {
    policy: Policy,
    world: Told,
    tasks: HashMap<u64, Box<Task>>,
}

/// The world as the kernel had it at a call: its time. What the policy asks for of queues is not done: nothing waits.
struct Told {
    now_ns: u64,
    changes: VecDeque<Change>,
}

impl Player {
    pub fn new(machine: &LiveMachine, config: &Config) -> Self {
        let policy = Policy::new(native(config, machine.cpus.len()));
        for cpu in &machine.cpus {
            let siblings = machine.siblings(cpu.number);
            let at = siblings.iter().position(|&sibling| sibling == cpu.number).unwrap_or(0);
            let place = CpuPlace {
                tier: cpu.tier,
                voltage_domain: cpu.voltage_domain,
                memory_domain: cpu.memory_domain,
                node: cpu.node,
                socket: cpu.socket,
                next_sibling: siblings[(at + 1) % siblings.len()] as u16,
            };
            policy.handle().add_cpu(cpu.number as usize, place);
        }
        let online = machine.cpus.iter().filter(|cpu| cpu.online);
        policy
            .handle()
            .begin_busy(&CpuBits::of(online.map(|cpu| cpu.number as usize)));
        Player {
            policy,
            world: Told {
                now_ns: 0,
                changes: VecDeque::new(),
            },
            tasks: HashMap::new(),
        }
    }

    /// The next change that calls made and nobody asked for yet.
    pub fn next_change(&mut self) -> Option<Change> {
        self.world.changes.pop_front()
    }

    /// # Errors
    /// The record names a task that is not known, or a CPU that cannot be.
    pub fn apply(&mut self, record: &Record) -> Result<()> {
        self.world.now_ns = record.at_ns;
        match record.kind {
            Kind::Set | Kind::Exit => {}
            Kind::Start => self.policy.handle().start(&mut self.world, record.at_ns),
            Kind::Task | Kind::Allowed | Kind::Gone => self.note_task(record)?,
            Kind::Wake | Kind::Enqueue | Kind::Block | Kind::Forget | Kind::Anchor => self.call_for_task(record)?,
            Kind::Timer => self.policy.handle().timer(&mut self.world, record.at_ns),
            Kind::Idle | Kind::Taken | Kind::Online | Kind::Offline => self.call_for_cpu(record)?,
        }
        Ok(())
    }

    fn note_task(&mut self, record: &Record) -> Result<()> {
        let policy = self.policy.handle();
        if record.kind == Kind::Gone {
            self.tasks.remove(&record.task);
            return Ok(());
        }
        let words: [u64; CPU_WORDS] = record.words.clone().try_into().ok().context("no set of CPUs")?;
        if record.kind == Kind::Task {
            self.tasks.insert(record.task, Box::new(Task::new(0, ANY_WEIGHT)));
        }
        let task = known(&mut self.tasks, record.task)?;
        // It lives in `tasks`, and only here is it used.
        unsafe { policy.set_allowed(task, &CpuBits { word: words }) };
        Ok(())
    }

    fn call_for_task(&mut self, record: &Record) -> Result<()> {
        let policy = self.policy.handle();
        let task = known(&mut self.tasks, record.task)?;
        if record.kind == Kind::Wake {
            task.brief = record.value != 0;
        }
        let task: *mut Task = task;
        let (world, at_ns) = (&mut self.world, record.at_ns);
        let none = std::ptr::null_mut();
        // It lives in `tasks`, and only here is it used.
        unsafe {
            match record.kind {
                Kind::Wake => {
                    policy.place(world, task, cpu_of(record)?, at_ns);
                }
                Kind::Enqueue => {
                    policy.dequeue(task);
                    policy.enqueue(world, task, std::ptr::null(), cpu_of(record)?);
                }
                Kind::Block => policy.block(world, task, none, std::ptr::null_mut(), at_ns),
                Kind::Forget => policy.forget(task, none, std::ptr::null_mut(), at_ns),
                _ => policy.anchor_anew(world, task, at_ns),
            }
        }
        Ok(())
    }

    fn call_for_cpu(&mut self, record: &Record) -> Result<()> {
        let (policy, world) = (self.policy.handle(), &mut self.world);
        let (cpu, yes, at_ns) = (cpu_of(record)?, record.value != 0, record.at_ns);
        match record.kind {
            Kind::Idle => policy.cpu_idle(world, cpu, yes, at_ns),
            Kind::Taken => policy.cpu_taken(world, cpu, yes, at_ns),
            Kind::Online => policy.cpu_online(world, cpu, at_ns),
            _ => policy.cpu_offline(world, cpu, at_ns),
        }
        Ok(())
    }
}

fn known(tasks: &mut HashMap<u64, Box<Task>>, task: u64) -> Result<&mut Task> {
    let found = tasks.get_mut(&task);
    found
        .map(Box::as_mut)
        .with_context(|| format!("task {task} was not introduced"))
}

fn cpu_of(record: &Record) -> Result<u32> {
    let cpu = u32::try_from(record.cpu).ok();
    cpu.filter(|cpu| (*cpu as usize) < policy::MAX_CPUS)
        .with_context(|| format!("CPU {} is none", record.cpu))
}

/// No set of green cores, no heat and no reserved core: the kernel's build has none of them.
fn native(config: &Config, nr_cpus: usize) -> policy::Config {
    policy::Config {
        nr_cpus: nr_cpus as u32,
        sizing: u32::from(config.fixed_size.is_some()),
        fixed_size: config.fixed_size.unwrap_or(0),
        spare: config.spare,
        green: false,
        transition_ns: config.transition_ns,
        hold_ns: config.hold_ns,
        last_hold_ns: config.last_hold_ns,
        slice_min_ns: config.slice_min_ns,
        slice_max_ns: config.slice_max_ns,
        period_ns: config.period_ns,
        heat_period_ns: 0,
        hot_mc: i32::MAX,
        // The kernel's program is built without the rules that choose who gets the fast cores, plan memory domains or reserve a core.
        ..policy::Config::default()
    }
}

impl Env for Told {
    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }
    fn insert_local(&mut self, _task: u32, _cpu: u32, _slice_ns: u64) {}
    fn insert(&mut self, _task: u32, _queue: u32, _slice_ns: u64, _vtime_ns: u64) {}
    fn take(&mut self, _queue: u32, _cpu: u32) -> bool {
        false
    }
    fn take_overdue(&mut self, _queue: u32, _cpu: u32, _before_ns: u64) -> bool {
        false
    }
    fn queued(&mut self, _queue: u32) -> u32 {
        0
    }
    fn first_ns(&mut self, _queue: u32) -> u64 {
        u64::MAX
    }
    fn kick(&mut self, _cpu: u32) {}
    fn preempt(&mut self, _cpu: u32) {}
    fn set_changed(&mut self, cpu: u32, set: Set) {
        self.changes.push_back(Change { cpu, set: set as u32 });
    }
    fn arm_timer(&mut self, _at_ns: u64) {}
    fn temperature_mc(&mut self, _cpu: u32) -> i32 {
        0
    }
}
