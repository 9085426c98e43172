// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the TOML schema to a draft: names to indices, units to ns, steps flat.

use super::draft::*;
use super::memory::{self, MemoryUses};
use super::model::*;
use super::pools::{self, PoolContext};
use super::quantity::{amount, share, to_ns, waiting, whole};
use super::schema::*;
use lop_machine::{InputError, MAX_CPUS};
use lop_policy::MemoryClass;
use std::collections::HashMap;
use toml::Spanned;

type Names<'a> = HashMap<&'a str, u32>;

/// Resolves a file that was read.
pub(super) fn compile(file: &File, source: Source, default_name: &str) -> Result<Draft, InputError> {
    let name = file.name.as_deref().unwrap_or(default_name);
    let mut draft = Draft::new(name, &file.description);
    draft.workload.duration_ns = optional(source, "duration_s", &file.duration_s, |&s| match to_ns(s, 1e9) {
        Ok(0) => Err("expected a duration above 0".to_string()),
        other => other,
    })?;
    let mut compiler = Compiler::new(file, source)?;
    compiler.apps(&mut draft)?;
    compiler.synchronisation(&mut draft)?;
    compiler.programs(&mut draft)?;
    compiler.starts(&mut draft)?;
    compiler.pools(&mut draft)?;
    draft.workload.memory_shares = compiler.classes.shares;
    draft.workload.memory_uses = compiler.classes.uses;
    Ok(draft)
}

/// Checks a value, if there is one, and adds its place to the error.
fn optional<T, R>(
    source: Source,
    key: &str,
    value: &Option<Spanned<T>>,
    check: impl Fn(&T) -> Result<R, String>,
) -> Result<Option<R>, InputError> {
    value
        .as_ref()
        .map(|value| required(source, key, value, check))
        .transpose()
}

fn required<T, R>(
    source: Source,
    key: &str,
    value: &Spanned<T>,
    check: impl Fn(&T) -> Result<R, String>,
) -> Result<R, InputError> {
    check(value.get_ref()).map_err(|message| source.error(value.span().start, key, message))
}

fn names<T>(map: &indexmap::IndexMap<String, T>) -> Names<'_> {
    map.keys()
        .enumerate()
        .map(|(index, name)| (name.as_str(), index as u32))
        .collect()
}

struct Compiler<'a> {
    file: &'a File,
    source: Source<'a>,
    scale: f64,
    /// Memory share of work that names none.
    memory_share: f64,
    memory_uses: MemoryUses,
    classes: Classes,
    tasks: Names<'a>,
    barriers: Names<'a>,
    mutexes: Names<'a>,
    conditions: Names<'a>,
    loops: Names<'a>,
    pools: Names<'a>,
    apps: Names<'a>,
}

/// How work uses memory, as the file has it.
#[derive(Debug, Clone, Copy)]
enum OnMemory<'a> {
    /// Share of its time for which it waits for memory.
    Share(f64),
    /// Like the application of this name.
    Like(&'a Spanned<String>),
}

/// Common state while the steps of a task are flattened.
struct Flattening<'f> {
    on_memory: OnMemory<'f>,
    key: &'f str,
    timers: HashMap<&'f str, u16>,
    steps: Vec<Step>,
    offsets: Vec<usize>,
}

impl<'a> Compiler<'a> {
    fn new(file: &'a File, source: Source<'a>) -> Result<Self, InputError> {
        let scale = optional(source, "scale", &file.scale, |&s| match s.is_finite() && s > 0.0 {
            true => Ok(s),
            false => Err(format!("expected a factor above 0, found {s}")),
        })?;
        let memory_share = optional(source, "memory_share", &file.memory_share, |&m| share(m))?;
        Ok(Self {
            file,
            source,
            scale: scale.unwrap_or(1.0),
            memory_share: memory_share.unwrap_or(0.0),
            memory_uses: memory::known(&source, &file.memory)?,
            classes: Classes::default(),
            tasks: names(&file.task),
            barriers: names(&file.barrier),
            mutexes: names(&file.mutex),
            conditions: names(&file.condition),
            loops: names(&file.loops),
            pools: names(&file.pool),
            apps: names(&file.app),
        })
    }

    /// Whichever of `share` and `memory` is given, otherwise `default`.
    fn on_memory<'v>(
        &self,
        share_value: &Option<Spanned<f64>>,
        memory: &'v Option<Spanned<String>>,
        default: OnMemory<'v>,
        key: &str,
    ) -> Result<OnMemory<'v>, InputError> {
        let given = optional(self.source, key, share_value, |&m| share(m))?;
        match (given, memory) {
            (None, None) => Ok(default),
            (Some(share), None) => Ok(OnMemory::Share(share)),
            (None, Some(name)) => Ok(OnMemory::Like(name)),
            (Some(_), Some(name)) => {
                let message = "expected either `memory` or `memory_share`, found both";
                Err(self.source.error(name.span().start, key, message))
            }
        }
    }

    fn class(&mut self, on_memory: OnMemory, offset: usize, key: &str) -> Result<u16, InputError> {
        let source = self.source;
        let class = match on_memory {
            OnMemory::Share(share) => self.classes.intern(share),
            OnMemory::Like(name) => match self.memory_uses.get(name.get_ref().as_str()) {
                Some(memory_use) => self.classes.intern_use(memory_use),
                None => {
                    let known: Vec<&str> = self.memory_uses.keys().map(String::as_str).collect();
                    let message = format!(
                        "no memory use is named '{}'; known: {} (or add a table [memory.{0}])",
                        name.get_ref(),
                        known.join(", ")
                    );
                    return Err(source.error(name.span().start, key, message));
                }
            },
        };
        class.ok_or_else(|| source.error(offset, key, "expected at most 65536 different memory shares"))
    }

    /// Tasks that name no application belong to application 0.
    fn apps(&self, draft: &mut Draft) -> Result<(), InputError> {
        let source = self.source;
        if self.file.app.len() >= usize::from(u16::MAX) {
            return Err(source.error_in_file("expected at most 65534 applications"));
        }
        let name = draft.workload.name.clone();
        draft.workload.apps.push(App {
            name,
            declared_parallelism: None,
            shares_memory: false,
            memory_class: MemoryClass::Unknown,
            system: false,
        });
        for (name, raw) in &self.file.app {
            let key = format!("app.{name}.parallelism");
            let declared = optional(source, &key, &raw.get_ref().parallelism, |&n| {
                whole(n, 1, MAX_TASKS.into(), "tasks")
            })?;
            draft.workload.apps.push(App {
                name: name.clone(),
                declared_parallelism: declared.map(|n| n as u32),
                shares_memory: raw.get_ref().shares_memory,
                memory_class: match raw.get_ref().memory_class {
                    None => MemoryClass::Unknown,
                    Some(RawMemoryClass::VeryLow) => MemoryClass::VeryLow,
                    Some(RawMemoryClass::Moderate) => MemoryClass::Moderate,
                    Some(RawMemoryClass::Intensive) => MemoryClass::Intensive,
                },
                system: raw.get_ref().system,
            });
        }
        Ok(())
    }

    fn app(&self, name: &Option<Spanned<String>>, key: &str) -> Result<u16, InputError> {
        match name {
            // Application 0 has no name.
            Some(name) => Ok(self.find(&self.apps, name, "app", key)? as u16 + 1),
            None => Ok(0),
        }
    }

    fn find(&self, names: &Names, name: &Spanned<String>, table: &str, key: &str) -> Result<u32, InputError> {
        names.get(name.get_ref().as_str()).copied().ok_or_else(|| {
            let mut known: Vec<&str> = names.keys().copied().collect();
            known.sort_unstable();
            let more = if known.len() > 12 { ", ..." } else { "" };
            known.truncate(12);
            let known = match known.is_empty() {
                true => format!("expected a table [{table}.{}]", name.get_ref()),
                false => format!("known: {}{more}", known.join(", ")),
            };
            let message = format!("no {table} is named '{}'; {known}", name.get_ref());
            self.source.error(name.span().start, key, message)
        })
    }

    fn waiting(&self, raw: &Option<Spanned<RawWaiting>>, key: &str) -> Result<Waiting, InputError> {
        Ok(optional(self.source, key, raw, |&w| waiting(w))?.unwrap_or(Waiting::Block))
    }

    fn synchronisation(&mut self, draft: &mut Draft) -> Result<(), InputError> {
        let file = self.file;
        for (name, raw) in &file.barrier {
            let key = format!("barrier.{name}");
            let barrier = raw.get_ref();
            let parties = self.parties(&barrier.parties, &key)?;
            let waiting = self.waiting(&barrier.waiting, &key)?;
            draft.barrier_places.push(Place {
                offset: barrier.parties.span().start,
                key: format!("{key}.parties"),
            });
            draft.workload.barriers.push(Barrier {
                name: name.clone(),
                parties,
                waiting,
            });
        }
        for (name, raw) in &file.mutex {
            let waiting = self.waiting(&raw.get_ref().waiting, &format!("mutex.{name}"))?;
            draft.workload.mutexes.push(Mutex {
                name: name.clone(),
                waiting,
            });
        }
        for (name, raw) in &file.condition {
            let condition = raw.get_ref();
            let waiting = self.waiting(&condition.waiting, &format!("condition.{name}"))?;
            draft.workload.conditions.push(Condition {
                name: name.clone(),
                waiting,
                counting: condition.counting,
            });
        }
        for (name, raw) in &file.loops {
            self.parallel_loop(draft, name, raw.get_ref())?;
        }
        Ok(())
    }

    fn parties(&self, raw: &Spanned<u64>, key: &str) -> Result<u32, InputError> {
        required(self.source, key, raw, |&n| whole(n, 1, MAX_TASKS.into(), "parties")).map(|n| n as u32)
    }

    fn parallel_loop(&mut self, draft: &mut Draft, name: &str, raw: &RawLoop) -> Result<(), InputError> {
        let source = self.source;
        let key = format!("loop.{name}");
        let iterations = required(source, &key, &raw.iterations, |&n| {
            whole(n, 1, 1_000_000_000, "iterations")
        })? as u64;
        let work_ns = required(source, &key, &raw.work_us, |&us| to_ns(us, 1e3 * self.scale))?;
        if work_ns as f64 * iterations as f64 > 1e18 {
            return Err(source.error(
                raw.work_us.span().start,
                &key,
                "expected at most 1e9 s of work in all iterations",
            ));
        }
        let schedule = match &raw.schedule {
            Some(schedule) => required(source, &key, schedule, |&s| schedule_of(s))?,
            None => Schedule::Static,
        };
        let default = OnMemory::Share(self.memory_share);
        let on_memory = self.on_memory(&raw.memory_share, &raw.memory, default, &key)?;
        let class = self.class(on_memory, raw.iterations.span().start, &key)?;
        let parties = self.parties(&raw.parties, &key)?;
        draft.loop_places.push(Place {
            offset: raw.parties.span().start,
            key: format!("{key}.parties"),
        });
        let name = name.to_string();
        draft.workload.loops.push(ParallelLoop {
            name,
            iterations,
            work_ns,
            class,
            parties,
            schedule,
        });
        Ok(())
    }

    fn programs(&mut self, draft: &mut Draft) -> Result<(), InputError> {
        let file = self.file;
        for (name, raw) in &file.task {
            let key = format!("task.{name}");
            if name == "all" || name == "any" {
                let message = "`join` uses this word as a keyword; expected another name";
                return Err(self.source.error(raw.span().start, &key, message));
            }
            let program = self.program(draft, name, raw.get_ref(), &key)?;
            draft.workload.programs.push(program);
            draft.program_places.push(Place {
                offset: raw.span().start,
                key,
            });
        }
        Ok(())
    }

    fn program(&mut self, draft: &mut Draft, name: &str, raw: &RawTask, key: &str) -> Result<Program, InputError> {
        let source = self.source;
        let nice = optional(source, key, &raw.nice, |&n| whole(n, -20, 19, "nice"))?.unwrap_or(0) as i8;
        let length = optional(source, key, &raw.length, |&n| whole(n, 1, 1 << 30, "a length"))?;
        let weight = optional(source, key, &raw.cgroup_weight, |&n| whole(n, 1, 10_000, "a weight"))?;
        let default = OnMemory::Share(self.memory_share);
        let mut flattening = Flattening {
            on_memory: self.on_memory(&raw.memory_share, &raw.memory, default, key)?,
            key,
            timers: HashMap::new(),
            steps: Vec::with_capacity(raw.steps.len()),
            offsets: Vec::with_capacity(raw.steps.len()),
        };
        self.flatten(&raw.steps, &mut flattening, 0)?;
        draft.step_offsets.push(flattening.offsets);
        if let Some(highest) = raw
            .cpus
            .iter()
            .flat_map(|cpus| cpus.get_ref())
            .max_by_key(|cpu| *cpu.get_ref())
        {
            draft.pins.push(Pin {
                cpu: u16::try_from(*highest.get_ref()).unwrap_or(u16::MAX),
                missing: source.error(highest.span().start, &format!("{key}.cpus"), ""),
            });
        }
        Ok(Program {
            name: name.to_string(),
            app: self.app(&raw.app, key)?,
            nice,
            cgroup_weight: weight.unwrap_or(100) as u32,
            cpus: raw.cpus.as_ref().map(|cpus| self.cpus(cpus, key)).transpose()?,
            length: length.unwrap_or(0) as u32,
            steps: flattening.steps,
        })
    }

    fn cpus(&self, raw: &Spanned<Vec<Spanned<i64>>>, key: &str) -> Result<std::collections::BTreeSet<u16>, InputError> {
        if raw.get_ref().is_empty() {
            return Err(self.source.error(
                raw.span().start,
                key,
                "expected at least one CPU (leave the key out for all)",
            ));
        }
        let cpu = |n: &Spanned<i64>| required(self.source, key, n, |&n| whole(n, 0, MAX_CPUS as i128 - 1, "a CPU"));
        raw.get_ref().iter().map(|n| cpu(n).map(|n| n as u16)).collect()
    }

    fn flatten<'f>(
        &mut self,
        raw: &'f [Spanned<RawStep>],
        into: &mut Flattening<'f>,
        depth: usize,
    ) -> Result<(), InputError> {
        for step in raw {
            let offset = step.span().start;
            self.modifiers(step.get_ref(), offset, into.key)?;
            match &step.get_ref().action {
                Action::Repeat(times) => self.repeat(step, times, into, depth)?,
                _ => {
                    let step = self.step(step.get_ref(), offset, into)?;
                    into.steps.push(step);
                    into.offsets.push(offset);
                }
            }
        }
        Ok(())
    }

    fn repeat<'f>(
        &mut self,
        step: &'f Spanned<RawStep>,
        times: &Spanned<RawTimes>,
        into: &mut Flattening<'f>,
        depth: usize,
    ) -> Result<(), InputError> {
        let offset = step.span().start;
        if depth >= MAX_NESTING {
            let message = format!("expected at most {MAX_NESTING} repeats inside each other");
            return Err(self.source.error(offset, into.key, message));
        }
        let times = match *times.get_ref() {
            RawTimes::Forever => None,
            RawTimes::Times(n) => Some(n),
        };
        let start = into.steps.len() as u32;
        into.steps.push(Step::Repeat { times, end: 0 });
        into.offsets.push(offset);
        self.flatten(step.get_ref().steps.as_deref().unwrap_or(&[]), into, depth + 1)?;
        into.steps.push(Step::EndRepeat { start });
        into.offsets.push(offset);
        let end = into.steps.len() as u32;
        into.steps[start as usize] = Step::Repeat { times, end };
        Ok(())
    }

    /// Refuses keys that the action of a step does not accept.
    fn modifiers(&self, step: &RawStep, offset: usize, key: &str) -> Result<(), InputError> {
        let refuse = |message: &str| Err(self.source.error(offset, key, message));
        let verb = match &step.action {
            Action::Name(verb, _) => Some(*verb),
            _ => None,
        };
        if step.count.is_some() && verb != Some(Verb::Fork) {
            return refuse("`count` belongs to `fork`");
        }
        if step.mutex.is_some() && verb != Some(Verb::Wait) {
            return refuse("`mutex` belongs to `wait`");
        }
        if step.memory_share.is_some() && !matches!(step.action, Action::Run(..)) {
            return refuse("`memory_share` belongs to `run_ms` (and `run_us`, `run_s`)");
        }
        if step.memory.is_some() && !matches!(step.action, Action::Run(..)) {
            return refuse("`memory` belongs to `run_ms` (and `run_us`, `run_s`)");
        }
        if step.timer.is_some() && !matches!(step.action, Action::Timer(..)) {
            return refuse("`timer` belongs to `timer_ms` (and `timer_us`, `timer_s`)");
        }
        match (&step.action, &step.steps) {
            (Action::Repeat(_), None) => refuse("expected `steps` beside `repeat`"),
            (Action::Repeat(_), Some(steps)) if steps.is_empty() => refuse("expected at least one step to repeat"),
            (Action::Repeat(_), Some(_)) | (_, None) => Ok(()),
            (_, Some(_)) => refuse("`steps` belongs to `repeat`"),
        }
    }

    fn step<'f>(&mut self, raw: &'f RawStep, offset: usize, into: &mut Flattening<'f>) -> Result<Step, InputError> {
        let (source, key) = (self.source, into.key);
        match &raw.action {
            Action::Run(value, unit) => {
                let work = required(source, key, value, |&v| amount(v, unit * self.scale))?;
                let on_memory = self.on_memory(&raw.memory_share, &raw.memory, into.on_memory, key)?;
                Ok(Step::Run {
                    work,
                    class: self.class(on_memory, offset, key)?,
                })
            }
            Action::Sleep(value, unit) => Ok(Step::Sleep(required(source, key, value, |&v| amount(v, *unit))?)),
            Action::Timer(value, unit) => {
                let period = required(source, key, value, |&v| match amount(v, *unit)? {
                    Amount::Fixed(0) | Amount::Uniform { min_ns: 0, .. } => {
                        Err("expected a period above 0".to_string())
                    }
                    period => Ok(period),
                })?;
                let name = raw.timer.as_ref().map_or("", |name| name.get_ref().as_str());
                let timer = timer_number(&mut into.timers, name)
                    .ok_or_else(|| source.error(offset, key, "expected at most 65536 timers in one task"))?;
                Ok(Step::Timer { timer, period })
            }
            Action::Name(verb, name) => self.named(*verb, name, raw, key),
            Action::Yield => Ok(Step::Yield),
            Action::Repeat(_) => Err(source.error(offset, key, "expected a plain step")),
        }
    }

    fn named(&self, verb: Verb, name: &Spanned<String>, raw: &RawStep, key: &str) -> Result<Step, InputError> {
        let find = |names: &Names, table: &str| self.find(names, name, table, key);
        Ok(match verb {
            Verb::Lock => Step::Lock(find(&self.mutexes, "mutex")?),
            Verb::Unlock => Step::Unlock(find(&self.mutexes, "mutex")?),
            Verb::Barrier => Step::Barrier(find(&self.barriers, "barrier")?),
            Verb::Signal => Step::Signal(find(&self.conditions, "condition")?),
            Verb::Broadcast => Step::Broadcast(find(&self.conditions, "condition")?),
            Verb::Loop => Step::Loop(find(&self.loops, "loop")?),
            Verb::Pool => Step::Pool(find(&self.pools, "pool")?),
            Verb::Wait => {
                let mutex = raw
                    .mutex
                    .as_ref()
                    .map(|m| self.find(&self.mutexes, m, "mutex", key))
                    .transpose()?;
                Step::Wait {
                    condition: find(&self.conditions, "condition")?,
                    mutex,
                }
            }
            Verb::Fork => {
                let count = optional(self.source, key, &raw.count, |&n| {
                    whole(n, 1, MAX_TASKS.into(), "tasks")
                })?;
                Step::Fork {
                    program: find(&self.tasks, "task")?,
                    count: count.unwrap_or(1) as u32,
                }
            }
            Verb::Join => Step::Join(match name.get_ref().as_str() {
                "all" => Join::All,
                "any" => Join::Any,
                _ => Join::Program(find(&self.tasks, "task")?),
            }),
        })
    }

    fn starts(&mut self, draft: &mut Draft) -> Result<(), InputError> {
        let file = self.file;
        let mut index_of: HashMap<u32, u32> = HashMap::new();
        let mut pending = Vec::new();
        for (program, (name, raw)) in file.task.iter().enumerate() {
            let key = format!("task.{name}");
            let task = raw.get_ref();
            let count = optional(self.source, &key, &task.count, |&n| {
                whole(n, 0, MAX_TASKS.into(), "tasks")
            })?
            .unwrap_or(1);
            if count == 0 {
                self.refuse_start_keys(task, &key)?;
                continue;
            }
            index_of.insert(program as u32, draft.workload.starts.len() as u32);
            pending.push((task, key.clone()));
            draft.workload.starts.push(Start {
                program: program as u32,
                count: count as u32,
                at: self.start_time(task, &key)?,
                after: Vec::new(),
                arrivals: task.arrivals.as_ref().map(|a| self.arrivals(a, &key)).transpose()?,
            });
        }
        for (start, (task, key)) in pending.iter().enumerate() {
            for name in &task.after {
                let program = self.find(&self.tasks, name, "task", key)?;
                let index = index_of.get(&program).copied().ok_or_else(|| {
                    let message = format!(
                        "'{}' does not start by itself (count = 0); expected a task that does",
                        name.get_ref()
                    );
                    self.source.error(name.span().start, key, message)
                })?;
                draft.workload.starts[start].after.push(index);
            }
        }
        Ok(())
    }

    fn refuse_start_keys(&self, task: &RawTask, key: &str) -> Result<(), InputError> {
        let spans = [
            task.start_s.as_ref().map(Spanned::span),
            task.start_ms.as_ref().map(Spanned::span),
            task.start_us.as_ref().map(Spanned::span),
            task.after.first().map(Spanned::span),
            task.arrivals.as_ref().map(Spanned::span),
        ];
        match spans.into_iter().flatten().next() {
            Some(span) => {
                let message = "a task with count = 0 is started by others; expected no start time of its own";
                Err(self.source.error(span.start, key, message))
            }
            None => Ok(()),
        }
    }

    fn start_time(&self, task: &RawTask, key: &str) -> Result<Amount, InputError> {
        let units = [(&task.start_s, 1e9), (&task.start_ms, 1e6), (&task.start_us, 1e3)];
        Ok(self.one_of(units, key, "start")?.unwrap_or(Amount::Fixed(0)))
    }

    /// The amount, given in exactly one of three units.
    fn one_of(
        &self,
        units: [(&Option<Spanned<RawAmount>>, f64); 3],
        key: &str,
        what: &str,
    ) -> Result<Option<Amount>, InputError> {
        let mut found = None;
        for (value, unit) in units {
            let Some(value) = value else { continue };
            let amount = required(self.source, key, value, |&v| amount(v, unit))?;
            if found.replace(amount).is_some() {
                let message = format!("the {what} is given twice; expected one unit");
                return Err(self.source.error(value.span().start, key, message));
            }
        }
        Ok(found)
    }

    fn arrivals(&self, raw: &Spanned<RawArrivals>, key: &str) -> Result<Arrivals, InputError> {
        let value = raw.get_ref();
        let key = format!("{key}.arrivals");
        let units = [(&value.every_s, 1e9), (&value.every_ms, 1e6), (&value.every_us, 1e3)];
        let every = self.one_of(units, &key, "interval")?.ok_or_else(|| {
            self.source.error(
                raw.span().start,
                &key,
                "expected an interval (`every_s`, `every_ms` or `every_us`)",
            )
        })?;
        let limit = optional(self.source, &key, &value.limit, |&n| {
            whole(n, 1, MAX_TASKS.into(), "arrivals")
        })?;
        Ok(Arrivals {
            every,
            limit: limit.map(|n| n as u64),
        })
    }

    fn pools(&mut self, draft: &mut Draft) -> Result<(), InputError> {
        let file = self.file;
        for (name, raw) in &file.pool {
            let key = format!("pool.{name}");
            let pool = raw.get_ref();
            let default = OnMemory::Share(self.memory_share);
            let on_memory = self.on_memory(&pool.memory_share, &pool.memory, default, &key)?;
            let class = self.class(on_memory, raw.span().start, &key)?;
            let app = self.app(&pool.app, &key)?;
            let context = PoolContext {
                source: self.source,
                programs: &self.tasks,
                class,
                app,
                scale: self.scale,
            };
            pools::add(draft, name, raw, &context)?;
        }
        Ok(())
    }
}

fn schedule_of(raw: RawSchedule) -> Result<Schedule, String> {
    let chunk = |n: u64| whole(n, 1, 1_000_000_000, "a chunk").map(|n| n as u64);
    Ok(match raw {
        RawSchedule::Static => Schedule::Static,
        RawSchedule::Dynamic(n) => Schedule::Dynamic { chunk: chunk(n)? },
        RawSchedule::Guided(n) => Schedule::Guided { chunk: chunk(n)? },
    })
}

/// Number of a timer within its program, by name.
pub(super) fn timer_number<'n>(timers: &mut HashMap<&'n str, u16>, name: &'n str) -> Option<u16> {
    if let Some(&number) = timers.get(name) {
        return Some(number);
    }
    let number = u16::try_from(timers.len()).ok()?;
    timers.insert(name, number);
    Some(number)
}
