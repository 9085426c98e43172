// SPDX-License-Identifier: GPL-2.0-only
//! Calls the native build of the policy as the log says.

use super::Decision;
use anyhow::{Context, Result};
use lop_machine::live::LiveMachine;
use lop_policy::record::{how_stopped, woken, Kind, Record};
use lop_policy::{self as policy, App, Config, CpuBits, CpuPlace, Domains, Env, Policy, Set, Task, CPU_WORDS};
use std::collections::{HashMap, VecDeque};

/// The weight does not affect the compared decisions.
const ANY_WEIGHT: u32 = 100;

pub struct Player {
    policy: Policy,
    world: Told,
    tasks: HashMap<u64, Known>,
    /// By process id.
    apps: HashMap<u32, Process>,
    nr_memory_domains: u32,
}

struct Known {
    task: Box<Task>,
    /// 0: none.
    process: u32,
}

/// Kept as long as one of its threads exists.
struct Process {
    app: Box<App>,
    threads: u32,
}

/// The environment at a call, which only has the kernel's time. Requests for queues are not carried out, so nothing waits.
struct Told {
    now_ns: u64,
    decisions: VecDeque<Decision>,
    /// By CPU, thousandths of a degree Celsius.
    temperatures_mc: HashMap<u32, i32>,
    /// What the present call does with its task; the kernel logs this last.
    put: Option<Decision>,
}

impl Player {
    /// # Errors
    /// The machine is larger than the policy has room for.
    pub fn new(machine: &LiveMachine, config: &Config) -> Result<Self> {
        let mut policy = Policy::new(*config);
        let sched = policy.sched();
        for cpu in &machine.cpus {
            let place = CpuPlace {
                tier: cpu.tier,
                clock_domain: cpu.clock_domain,
                voltage_domain: cpu.voltage_domain,
                memory_domain: cpu.memory_domain,
                node: cpu.node,
                socket: cpu.socket,
                next_sibling: machine.next_sibling(cpu.number) as u16,
                permille: cpu.permille(),
            };
            let number = cpu.number as usize;
            for (what, is, most) in [
                ("CPU", number, policy::MAX_CPUS),
                ("kind of core", cpu.tier.into(), policy::MAX_TIERS),
                ("clock domain", cpu.clock_domain.into(), policy::MAX_CPUS),
                ("voltage domain", cpu.voltage_domain.into(), policy::MAX_CPUS),
                ("memory domain", cpu.memory_domain.into(), policy::MAX_MEMORY_DOMAINS),
                ("node", cpu.node.into(), policy::MAX_NODES),
                ("socket", cpu.socket.into(), policy::MAX_NODES),
            ] {
                anyhow::ensure!(is < most, "{what} {is} is more than the policy has room for ({most})");
            }
            sched.describe_cpu(number, place);
            if cpu.isolated {
                sched.isolate(number);
            }
            if cpu.online {
                sched.online.add(number);
            }
        }
        Ok(Player {
            policy,
            world: Told {
                now_ns: 0,
                decisions: VecDeque::new(),
                temperatures_mc: HashMap::new(),
                put: None,
            },
            tasks: HashMap::new(),
            apps: HashMap::new(),
            nr_memory_domains: machine.nr_memory_domains.into(),
        })
    }

    /// The next decision of the calls so far.
    pub fn next_decision(&mut self) -> Option<Decision> {
        self.world.decisions.pop_front()
    }

    /// # Errors
    /// The record has an unknown task, or an impossible CPU.
    pub fn apply(&mut self, record: &Record) -> Result<()> {
        self.world.now_ns = record.at_ns;
        match record.kind {
            Kind::Exit => {}
            decision if decision.is_decision() => {}
            Kind::Start => {
                if record.value != 0 {
                    self.policy.sched().idle = self.policy.sched().online;
                }
                self.policy.handle().start(&mut self.world, record.at_ns);
            }
            Kind::Task => self.introduce(record)?,
            Kind::Gone => self.part(record.task),
            Kind::Timer => self.policy.handle().timer(&mut self.world, record.at_ns),
            Kind::Idle | Kind::Taken | Kind::Online | Kind::Offline => self.call_for_cpu(record)?,
            Kind::DomainOn | Kind::DomainOff => self.switch_domain(record)?,
            Kind::Temperature => {
                self.world.temperatures_mc.insert(cpu_of(record)?, record.value as i32);
            }
            Kind::Heat => self.policy.handle().rotate_heat(&mut self.world, record.at_ns),
            Kind::Rest => self.policy.handle().end_plans(),
            Kind::Goal => self.set_goal(record)?,
            Kind::Domain => self.set_domain(record)?,
            _ => self.call_for_task(record)?,
        }
        Ok(())
    }

    fn introduce(&mut self, record: &Record) -> Result<()> {
        let mut task = Task::new(0, ANY_WEIGHT);
        task.user_weight = 0; // until the program looks its user up
        let known = Known {
            task: Box::new(task),
            process: record.value,
        };
        self.tasks.insert(record.task, known);
        if record.value != 0 {
            let begin = || Process {
                app: Box::new(App::new(0)),
                threads: 0,
            };
            self.apps.entry(record.value).or_insert_with(begin).threads += 1;
        }
        self.call_for_task(record)
    }

    fn part(&mut self, task: u64) {
        let process = self.tasks.remove(&task).map_or(0, |known| known.process);
        let Some(about) = self.apps.get_mut(&process) else {
            return;
        };
        about.threads -= 1;
        if about.threads == 0 {
            self.apps.remove(&process);
        }
    }

    /// The record's memory domain, which the machine must have.
    fn domain_of(&self, record: &Record) -> Result<i32> {
        let domain = record.value;
        anyhow::ensure!(domain < self.nr_memory_domains, "memory domain {domain} is none");
        Ok(domain as i32)
    }

    fn switch_domain(&mut self, record: &Record) -> Result<()> {
        let (domain, on) = (self.domain_of(record)?, record.kind == Kind::DomainOn);
        self.policy
            .handle()
            .set_domain_on(&mut self.world, domain, on, record.at_ns);
        Ok(())
    }

    fn set_goal(&mut self, record: &Record) -> Result<()> {
        let goal = record.goal().context("no configuration of a goal")?;
        let as_come = |domains| domains == Domains::AsCome as u64;
        let before = self.policy.sched().config.domains as u64;
        anyhow::ensure!(
            as_come(goal.domains) == as_come(before),
            "a goal changes whether memory domains are planned"
        );
        self.policy.handle().set_goal(&mut self.world, &goal, record.at_ns);
        Ok(())
    }

    fn set_domain(&mut self, record: &Record) -> Result<()> {
        let domain = match record.value as i32 {
            policy::NONE => policy::NONE,
            _ => self.domain_of(record)?,
        };
        let cpu = cpu_of(record)?;
        let known = introduced(&mut self.tasks, record.task)?;
        if self.policy.handle().set_domain(&mut known.task, domain, cpu) {
            self.world.decisions.push_back(Decision::Leaves);
        }
        Ok(())
    }

    fn call_for_task(&mut self, record: &Record) -> Result<()> {
        let policy = self.policy.handle();
        let known = introduced(&mut self.tasks, record.task)?;
        if record.kind == Kind::Wake {
            note_woken(&mut known.task, record.value)?;
        }
        let app = self.apps.get_mut(&known.process);
        let app = app.map_or(std::ptr::null_mut(), |about| &raw mut *about.app);
        let task = &raw mut *known.task;
        let (world, at_ns, value) = (&mut self.world, record.at_ns, record.value);
        let no_group = std::ptr::null_mut();
        // The pointers are to entries of `tasks` and `apps`, which are only used here.
        unsafe {
            match record.kind {
                Kind::Wake => {
                    let (cpu, claimed) = policy.place(world, task, app, cpu_of(record)?, at_ns);
                    world.decisions.push_back(Decision::Placed { cpu, claimed });
                }
                Kind::Enqueue => {
                    match value {
                        0 => policy.enqueue(world, task, no_group, cpu_of(record)?),
                        _ => policy.wait_at_claimed(world, task, cpu_of(record)?),
                    }
                    let put = world.put.take();
                    world.decisions.extend(put);
                }
                Kind::Dequeue => policy.dequeue(world, task),
                Kind::Started => {
                    (*task).policy().speedup_permille = value;
                    policy.running(world, task, cpu_of(record)?, at_ns);
                    policy.started(world, task, app, cpu_of(record)?, at_ns);
                }
                Kind::Ran => policy.stopping(world, task, no_group, cpu_of(record)?, value.into()),
                Kind::Stopped => {
                    (*task).policy().ahead = value & how_stopped::AHEAD != 0;
                    policy.stopped(task, app, cpu_of(record)?, value & how_stopped::RUNNABLE != 0, at_ns);
                }
                Kind::Block => policy.block(world, task, app, no_group, at_ns),
                Kind::Ended => policy.ended(task, app),
                Kind::Forget => {
                    policy.forget(world, task, app, no_group, at_ns);
                    policy.pace_exits(world, task, at_ns);
                }
                Kind::Length => {
                    let app = app.as_mut().context("a thread of no process declares a length")?;
                    policy::declare_length(&mut *task, app, value);
                }
                Kind::Hints => policy.set_hints(world, task, app, value, at_ns),
                Kind::Spin => policy.spin(world, task, app, no_group, value != 0, at_ns),
                Kind::Declare => {
                    let app = app.as_mut().context("no process declares its parallelism")?;
                    policy.declare(world, app, value, at_ns);
                }
                Kind::User => {
                    (*task).policy().user = u32::try_from(record.cpu).context("no user has a number below 0")?;
                    (*task).policy().user_weight = value;
                }
                Kind::Speedup => (*task).policy().speedup_permille = value,
                Kind::Shares => {
                    let nodes = policy::MAX_NODES as u32;
                    anyhow::ensure!(value <= nodes, "node {} is none", value - 1);
                    let app = app.as_mut().context("no process shares memory")?;
                    app.share_memory(value as i32 - 1);
                }
                Kind::Exits => policy.pace_exits(world, task, at_ns),
                Kind::Late => _ = policy.claim_late(world, task, app),
                Kind::Clock => {
                    let age_ns = u64::from(record.cpu.cast_unsigned()) << 32 | u64::from(value);
                    let clock_ns = at_ns.checked_sub(age_ns).context("its clock began before time")?;
                    (*task).policy().clock_ns = clock_ns;
                }
                Kind::Background => (*task).policy().nobody_waits = value != 0,
                Kind::Anchor => policy.anchor_anew(world, task, at_ns),
                Kind::Task | Kind::Allowed => policy.set_allowed(task, &cpus_of(record)?),
                other => anyhow::bail!("{other:?} is not about a task"),
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

fn introduced(tasks: &mut HashMap<u64, Known>, task: u64) -> Result<&mut Known> {
    tasks
        .get_mut(&task)
        .with_context(|| format!("task {task} was not introduced"))
}

fn note_woken(task: &mut Task, how: u32) -> Result<()> {
    let known = woken::BRIEF | woken::SYSTEM | woken::AHEAD;
    anyhow::ensure!(how & !known == 0, "no task wakes as {how}");
    task.brief = how & woken::BRIEF != 0;
    task.system = how & woken::SYSTEM != 0;
    task.ahead = how & woken::AHEAD != 0;
    Ok(())
}

fn cpus_of(record: &Record) -> Result<CpuBits> {
    let word: [u64; CPU_WORDS] = record.words.clone().try_into().ok().context("no set of CPUs")?;
    Ok(CpuBits { word })
}

fn cpu_of(record: &Record) -> Result<u32> {
    let cpu = u32::try_from(record.cpu).ok();
    cpu.filter(|cpu| (*cpu as usize) < policy::MAX_CPUS)
        .with_context(|| format!("CPU {} is none", record.cpu))
}

impl Env for Told {
    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }
    fn insert_local(&mut self, _task: u32, cpu: u32, _slice_ns: u64) {
        let cpu = cpu as i32;
        self.put = Some(Decision::Placed { cpu, claimed: true });
    }
    fn insert(&mut self, _task: u32, queue: u32, _slice_ns: u64, _vtime_ns: u64) {
        self.put = Some(Decision::Queued { queue });
    }
    fn take(&mut self, _queue: u32, _cpu: u32, _until_ns: u64) -> bool {
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
    fn preempt(&mut self, cpu: u32) {
        self.decisions.push_back(Decision::Preempt { cpu: cpu as i32 });
    }
    fn set_changed(&mut self, cpu: u32, set: Set) {
        let (cpu, set) = (cpu as i32, set as u32);
        self.decisions.push_back(Decision::Set { cpu, set });
    }
    fn reserved_speed(&mut self, cpu: u32, raised: u32) {
        let cpu = cpu as i32;
        self.decisions.push_back(Decision::Reserved { cpu, raised });
    }
    fn arm_timer(&mut self, _at_ns: u64) {}
    fn temperature_mc(&mut self, cpu: u32) -> i32 {
        self.temperatures_mc.get(&cpu).copied().unwrap_or(0)
    }
}
