// SPDX-License-Identifier: GPL-2.0-only
//! User space's side of the BPF program: fills in the machine and the configuration, loads, attaches, reads and detaches it.

use super::above::Attached;
use super::locks::Locks;
use super::pages::Loaded;
use super::plan::Order;
use super::reserved::{system_cgroups, Reserved};
use super::{libbpf_log, places, state};
use crate::adapter::{EndedBy, KernelError};
use crate::hints::run_program;
use crate::options::Options;
use crate::status::Status;
use crate::support;
use anyhow::Context;
use libbpf_rs::{Iter, MapHandle, OpenObject, RingBuffer, RingBufferBuilder};
use lop_machine::live::LiveMachine;
use lop_machine::speed::{perf_of_permille, Wish, LOW_PERF, RELEASED_PERF};
use lop_policy::record::Record;
use lop_policy::{rules, Config, Domains, GoalConfig, GreenWork, Reserve, Sched, MAX_NODES, NO_TEMPERATURE};
use scx_utils::{scx_ops_attach, scx_ops_load, scx_ops_open, uei_exited, uei_read, UserExitInfo};
use skeleton::{BpfSkel, BpfSkelBuilder};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io::Read;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::rc::Rc;

#[allow(clippy::all, clippy::pedantic)]
pub(super) mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/bpf_skel.rs"));
}

#[allow(
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    dead_code,
    clippy::all,
    clippy::pedantic
)]
pub(super) mod interface {
    include!(concat!(env!("OUT_DIR"), "/bpf_intf.rs"));
}

/// Room for the records of a minute of heavy work with every decision logged.
const DECISION_BYTES: u32 = 1 << 26;
/// Added to the governor's rate limit, for the difference between its clock and ours.
const MARGIN_NS: u64 = 10_000;
/// How often a speed is requested again, beyond the requests that are needed.
const REPEATS: u32 = 2;

/// How speeds are set.
pub struct SpeedWishes {
    /// CPUs whose governor accepts the program's requests, and the request of each while it is high, in 1024ths of its capacity.
    pub asked_by_kernel: Vec<(usize, u32)>,
    /// How many requests take the governor to the top.
    pub requests_to_top: u32,
    /// The governor drops requests that come sooner after a change.
    pub rate_limit_ns: u64,
    /// Whether user space sets some speeds and so must be told of changes. Otherwise not, since telling wakes the loader, which is demand.
    pub told: bool,
}

/// Records that the loader takes before it looks for requests again. Without a bound it takes records for as long as tasks make them faster than a log
/// is written, and no request is answered.
const MOST_RECORDS: usize = 256;

/// What the loader reads for the rules of the program.
#[derive(Clone, Copy)]
pub struct Readings {
    /// Cache misses of threads.
    pub misses: bool,
    /// Temperatures of cores.
    pub heat: bool,
}

/// How a program that did not fail ended.
pub enum Ended {
    Stopped,
    Restart,
}

/// Loaded, and attached from [`Program::attach`] to [`Program::detach`] or the drop.
pub struct Program {
    link: Attached,
    locks: Locks,
    ring: RingBuffer<'static>,
    arrived: Rc<RefCell<Vec<Record>>>,
    skel: BpfSkel<'static>,
    config: Config,
    shows_exit: bool,
}

fn refused(what: &str, error: &anyhow::Error) -> KernelError {
    KernelError::new(format!("{what}: {error:#}")).dump(libbpf_log::said())
}

impl Program {
    /// # Errors
    /// The kernel refuses the program; the error carries what libbpf and the verifier said.
    pub fn load(
        options: &Options,
        machine: &LiveMachine,
        config: Config,
        wishes: &SpeedWishes,
        readings: Readings,
        pages: Option<BorrowedFd<'_>>,
    ) -> Result<Self, KernelError> {
        libbpf_log::listen(options.verbose > 1);
        scx_utils::try_set_rlimit_infinity();
        let locks = Locks::look(config.rules & rules::PHASES != 0);
        let skel = open_and_load(options, machine, wishes, readings, &config, &locks, pages)
            .map_err(|error| refused("the kernel does not take the scheduler's program", &error))?;
        let arrived = Rc::new(RefCell::new(Vec::new()));
        let ring =
            listen_to(&skel, &arrived).map_err(|error| refused("the program's records cannot be read", &error))?;
        Ok(Self {
            link: Attached(None),
            locks,
            ring,
            arrived,
            skel,
            config,
            shows_exit: options.verbose > 0,
        })
    }

    pub fn config(&self) -> Config {
        self.config
    }

    /// # Errors
    /// Another scheduler is in charge, or the kernel refuses.
    pub fn attach(&mut self, root: &Path) -> Result<(), KernelError> {
        let skel = &mut self.skel;
        let link = scx_ops_attach!(skel, lopsided_ops).map_err(|error| {
            let exit = self.exit_info();
            match (exit.failed, support::attached(root)) {
                (Some(why), _) => KernelError::new(why).dump(exit.dump),
                (None, Some(other)) => KernelError::new(format!("{other} is attached")).mend("stop it first"),
                (None, None) => refused("the kernel does not attach the scheduler", &error),
            }
        })?;
        self.link = Attached(Some(link));
        self.locks.attach(&mut self.skel);
        Ok(())
    }

    /// Its side of the pages of hints.
    ///
    /// # Errors
    /// No descriptor is free.
    pub fn pages(&self) -> std::io::Result<Loaded> {
        let progs = &self.skel.progs;
        Ok(Loaded {
            pages: MapHandle::try_from(&self.skel.maps.lop_pages).map_err(std::io::Error::other)?,
            name: progs.lop_page_name.as_fd().try_clone_to_owned()?,
            given: progs.lop_page_given.as_fd().try_clone_to_owned()?,
        })
    }

    /// Whether holders of locks are seen, or why not; `None` if no rule uses them.
    pub fn lock_holders(&self) -> Option<String> {
        self.locks.describe()
    }

    pub fn exited(&self) -> bool {
        let skel = &self.skel;
        uei_exited!(skel, uei)
    }

    /// Readable when there are records.
    pub fn records_fd(&self) -> BorrowedFd<'_> {
        // Valid as long as the ring, which `self` owns.
        unsafe { BorrowedFd::borrow_raw(self.ring.epoll_fd()) }
    }

    /// The next records, [`MOST_RECORDS`] at most; with more, [`Self::records_fd`] stays readable.
    pub fn records(&self) -> Vec<Record> {
        // The callback drops unknown records; consuming itself does not fail.
        self.ring.consume_raw_n(MOST_RECORDS);
        self.arrived.take()
    }

    /// All records that are left, once the program is detached.
    pub fn last_records(&self) -> Vec<Record> {
        self.ring.consume_raw();
        self.arrived.take()
    }

    /// Restores the kernel's own scheduler and returns how the program ended.
    ///
    /// # Errors
    /// It ended with an error of its own; with the exit dump.
    pub fn detach(&mut self) -> Result<Ended, KernelError> {
        self.locks.detach();
        self.link.end();
        let exit = self.exit_info();
        match exit.failed {
            Some(why) => Err(KernelError::new(why)
                .dump(exit.dump)
                .ended_by(exit.ended_by)
                .mend("the kernel's own scheduler is back")),
            None if exit.restart => Ok(Ended::Restart),
            None => {
                if self.shows_exit {
                    eprintln!("lop: {}", exit.reason);
                }
                Ok(Ended::Stopped)
            }
        }
    }

    fn exit_info(&self) -> ExitInfo {
        let skel = &self.skel;
        let info: UserExitInfo = uei_read!(skel, uei);
        let raw = &skel.maps.data_data.as_ref().expect("the program has data").uei;
        let text = |bytes: &[std::os::raw::c_char]| {
            // The kernel writes strings that end within the array.
            let text = unsafe { CStr::from_ptr(bytes.as_ptr()) };
            text.to_string_lossy().into_owned()
        };
        let (reason, message) = (text(&raw.reason), text(&raw.msg));
        let why = match message.is_empty() {
            true => reason.clone(),
            false => format!("{reason} ({message})"),
        };
        let orderly = raw.kind <= scx_utils::ScxExitKind::UnregKern as i32;
        ExitInfo {
            restart: info.should_restart(),
            ended_by: ended_by(raw.kind),
            failed: (!orderly).then_some(why),
            reason,
            dump: dump_text(),
        }
    }

    /// How many records were lost for lack of room, and how many calls may be out of order in the log.
    pub fn log_faults(&self) -> (u64, u64) {
        let bss = self.skel.maps.bss_data.as_ref().expect("the program has variables");
        (bss.lost_records, bss.unordered_calls)
    }

    /// The speeds for the present sets.
    pub fn wishes(&self, machine: &LiveMachine) -> BTreeMap<usize, Wish> {
        state::wishes(&self.skel, machine)
    }

    pub fn reserved(&self) -> Option<Reserved> {
        Reserved::of(self.sched())
    }

    /// The policy's state, which the program may change at any moment.
    pub fn sched(&self) -> &Sched {
        state::sched(&self.skel)
    }

    /// Every thread that plans may move.
    ///
    /// # Errors
    /// The kernel does not run the program that looks.
    pub fn look(&self) -> Result<Vec<interface::lop_look>, KernelError> {
        let read = || -> anyhow::Result<Vec<u8>> {
            let link = self.skel.links.lop_look.as_ref().context("it is not attached")?;
            let mut bytes = Vec::new();
            Iter::new(link)?.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(|error| refused("the threads cannot be looked at", &error))?;
        let looks = bytes.chunks_exact(std::mem::size_of::<interface::lop_look>());
        // Any bytes are a valid one, which need not be aligned.
        let read = |one: &[u8]| unsafe { std::ptr::read_unaligned(one.as_ptr().cast()) };
        Ok(looks.map(read).collect())
    }

    /// Carries out an order. Does nothing for a thread that has ended.
    ///
    /// # Errors
    /// The kernel does not run the program.
    pub fn order(&self, order: Order) -> Result<(), KernelError> {
        run_program(self.skel.progs.lop_order.as_fd(), &mut state::order(order))
            .map_err(|error| refused("a plan cannot be carried out", &error.into()))
    }

    /// Takes the configuration of another goal, of which `goal` is the change, and asks the kernel's governor for the new speeds.
    ///
    /// # Errors
    /// The kernel does not run the program.
    pub fn set_goal(&mut self, config: Config, goal: GoalConfig, wishes: &SpeedWishes) -> Result<(), KernelError> {
        let bss = self.skel.maps.bss_data.as_mut().expect("the program has variables");
        set_high_perf(bss, wishes);
        run_program(self.skel.progs.lop_goal.as_fd(), &mut state::goal(goal))
            .map_err(|error| refused("the goal cannot be changed", &error.into()))?;
        self.config = config;
        Ok(())
    }

    /// Lets the policy swap CPUs by these temperatures, in thousandths of a degree Celsius by CPU. A CPU that is not among them has no sensor.
    ///
    /// # Errors
    /// The kernel does not run the program.
    pub fn swap_by(&mut self, temperatures_mc: &BTreeMap<u32, i32>) -> Result<(), KernelError> {
        let bss = self.skel.maps.bss_data.as_mut().expect("the program has variables");
        for (cpu, place) in (0..).zip(&mut bss.temperature_mc) {
            *place = temperatures_mc.get(&cpu).copied().unwrap_or(NO_TEMPERATURE);
        }
        run_program(self.skel.progs.lop_heat.as_fd(), &mut 0u32)
            .map_err(|error| refused("CPUs cannot be swapped for heat", &error.into()))
    }

    /// Makes the program report again when a task runs.
    pub fn read_heat_no_more(&mut self) {
        let bss = self.skel.maps.bss_data.as_mut().expect("the program has variables");
        bss.reads_heat = 0;
    }

    /// Makes the program report again when a thread runs that is worth a plan.
    pub fn look_no_more(&mut self) {
        let bss = self.skel.maps.bss_data.as_mut().expect("the program has variables");
        bss.looking = 0;
    }

    /// Fills in the present sets, counters and reasons.
    pub fn fill(&self, status: &mut Status, machine: &LiveMachine, speeds_act: bool) {
        state::fill(status, &self.skel, &self.config, machine, speeds_act);
    }
}

/// From `enum scx_exit_kind`.
fn ended_by(kind: i32) -> EndedBy {
    use scx_utils::ScxExitKind::{ErrorStall, SysRq};
    match kind {
        kind if kind == SysRq as i32 => EndedBy::SysRq,
        kind if kind == ErrorStall as i32 => EndedBy::Watchdog,
        _ => EndedBy::Itself,
    }
}

struct ExitInfo {
    restart: bool,
    ended_by: EndedBy,
    failed: Option<String>,
    reason: String,
    dump: String,
}

fn dump_text() -> String {
    let Ok(dump) = scx_utils::UEI_DUMP_PTR_MUTEX.lock() else {
        return String::new();
    };
    if dump.ptr.is_null() {
        return String::new();
    }
    unsafe { CStr::from_ptr(dump.ptr) }.to_string_lossy().into_owned()
}

fn open_and_load(
    options: &Options,
    machine: &LiveMachine,
    wishes: &SpeedWishes,
    readings: Readings,
    config: &Config,
    locks: &Locks,
    pages: Option<BorrowedFd<'_>>,
) -> anyhow::Result<BpfSkel<'static>> {
    // The object lives as long as the process: the skeleton borrows it, and only few are ever created.
    let object: &'static mut MaybeUninit<OpenObject> = Box::leak(Box::new(MaybeUninit::uninit()));
    let builder = BpfSkelBuilder::default();
    let mut skel = scx_ops_open!(builder, object, lopsided_ops, None)?;
    set_flags(&mut skel, options);
    locks.prepare(&mut skel);
    if let Some(pages) = pages {
        skel.maps.lop_pages.reuse_fd(pages)?;
        skel.maps
            .bss_data
            .as_mut()
            .expect("the program has variables")
            .pages_given = 1;
    }
    skel.progs.lop_look.set_autoload(config.plans());
    skel.progs.lop_order.set_autoload(config.plans());
    skel.progs.lop_goal.set_autoload(options.goal.is_some());
    skel.progs.lop_heat.set_autoload(readings.heat);
    places::make(&mut skel, &options.root, options.places, config.rules != 0)?;
    let rodata = skel.maps.rodata_data.as_mut().expect("the program has constants");
    let last_cpu = machine.cpus.iter().map(|c| c.number).max().unwrap_or(0);
    let last_queue = (2 * u32::from(machine.nr_memory_domains)).saturating_sub(1);
    let needed = last_cpu.max(last_queue) / 64 + 1;
    rodata.nr_words = options.cpu_words.unwrap_or(needed).max(needed);
    rodata.ranks = config.rules != 0;
    rodata.plans_domains = config.domains != Domains::AsCome;
    rodata.plans = config.plans();
    rodata.measures = readings.misses;
    rodata.reserves = config.reserve != Reserve::Never;
    rodata.paces = config.green == GreenWork::Paced;
    rodata.places_light = config.light;
    rodata.makes_room = config.room;
    rodata.senses = readings.heat;
    for (rung, perf) in config.rung.iter().zip(&mut rodata.rung_perf) {
        *perf = perf_of_permille(rung.speed_permille);
    }
    for (&permille, perf) in config.reserve_permille.iter().zip(&mut rodata.reserved_perf) {
        *perf = perf_of_permille(permille);
    }
    rodata.has_nodes = config.rules != 0 && machine.nr_nodes > 1;
    (rodata.node_bits, rodata.node_numbers) = nodes(machine);
    rodata.caps = config.most_high != 0;
    rodata.isolates = !machine.isolated().is_empty();
    rodata.system_cgroups = system_cgroups(&options.root);
    rodata.fail_after_ns = options.fail_after.map_or(0, |time| time.as_nanos() as u64);
    rodata.fail_at_start = options.fail_after.is_some_and(|time| time.is_zero());
    rodata.tell_decisions = options.decisions.is_some();
    rodata.tell_speeds = wishes.told;
    rodata.sets_speeds = wishes.told || !wishes.asked_by_kernel.is_empty();
    rodata.low_perf = LOW_PERF;
    rodata.repeat_ns = wishes.rate_limit_ns + wishes.rate_limit_ns / 8 + MARGIN_NS;
    rodata.asks_in_steps = wishes.requests_to_top > 1;
    rodata.asks_in_all = wishes.requests_to_top + REPEATS;
    rodata.partial = options.partial;
    if options.decisions.is_some() {
        skel.maps.records.set_max_entries(DECISION_BYTES)?;
    }
    let bss = skel.maps.bss_data.as_mut().expect("the program has variables");
    state::configure(state::as_policy(&mut bss.lopsided), config, machine);
    set_high_perf(bss, wishes);
    for &(cpu, _) in &wishes.asked_by_kernel {
        bss.asks_speed[cpu] = 1;
        bss.asked_perf[cpu] = RELEASED_PERF;
    }
    Ok(scx_ops_load!(skel, lopsided_ops, uei)?)
}

/// A bit for each node by the kernel's number, and the policy's number of each. No bits if some node has a higher number than the program reads.
fn nodes(machine: &LiveMachine) -> (u64, [u8; MAX_NODES]) {
    let mut found = (0, [0; MAX_NODES]);
    for (number, of_kernel) in machine.node_numbers.iter().enumerate() {
        match of_kernel.map(|of_kernel| of_kernel as usize) {
            None => {}
            Some(of_kernel) if of_kernel < MAX_NODES => {
                found.0 |= 1 << of_kernel;
                found.1[of_kernel] = number as u8;
            }
            Some(_) => return (0, [0; MAX_NODES]),
        }
    }
    found
}

/// Writes what each CPU requests of the kernel's governor while it is high.
fn set_high_perf(bss: &mut skeleton::types::bss, wishes: &SpeedWishes) {
    for &(cpu, high_perf) in &wishes.asked_by_kernel {
        bss.high_perf[cpu] = high_perf;
    }
}

fn set_flags(skel: &mut skeleton::OpenBpfSkel<'_>, options: &Options) {
    let ops = skel.struct_ops.lopsided_ops_mut();
    ops.flags |= *scx_utils::compat::SCX_OPS_ENQ_MIGRATION_DISABLED;
    if let Some(time) = options.watchdog {
        ops.timeout_ms = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    }
    if options.partial {
        ops.flags |= *scx_utils::compat::SCX_OPS_SWITCH_PARTIAL;
    }
    if !has_callback("cgroup_set_weight") {
        ops.cgroup_set_weight = std::ptr::null_mut();
    }
    if !reports_limits() {
        ops.cgroup_set_bandwidth = std::ptr::null_mut();
    }
}

fn has_callback(name: &str) -> bool {
    matches!(scx_utils::compat::struct_has_field("sched_ext_ops", name), Ok(true))
}

/// Whether the kernel reports limits of CPU time as they are set (Linux 6.17).
pub fn reports_limits() -> bool {
    has_callback("cgroup_set_bandwidth")
}

fn listen_to(skel: &BpfSkel<'static>, arrived: &Rc<RefCell<Vec<Record>>>) -> anyhow::Result<RingBuffer<'static>> {
    let sink = arrived.clone();
    let mut builder = RingBufferBuilder::new();
    builder.add(&skel.maps.records, move |bytes: &[u8]| {
        sink.borrow_mut().extend(Record::from_bytes(bytes));
        0
    })?;
    Ok(builder.build()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes 2 and 0 of the kernel are 0 and 1 here; 1 has no CPU.
    #[test]
    fn nodes_are_numbered_as_the_policy_has_them() {
        let of = |numbers: &[Option<u32>]| {
            let root = tempfile::tempdir().unwrap();
            let cpus = root.path().join("sys/devices/system/cpu");
            std::fs::create_dir_all(&cpus).unwrap();
            std::fs::write(cpus.join("present"), "0\n").unwrap();
            std::fs::write(cpus.join("online"), "0\n").unwrap();
            let mut machine = lop_machine::live::read(root.path()).unwrap();
            machine.node_numbers = numbers.to_vec();
            nodes(&machine)
        };
        let (bits, numbers) = of(&[Some(2), Some(0), None]);
        assert_eq!((bits, numbers[0], numbers[2]), (0b101, 1, 0));
        assert_eq!(of(&[Some(2), Some(64)]).0, 0);
    }

    #[test]
    fn sysrq_and_the_watchdog_end_it_from_outside() {
        use scx_utils::ScxExitKind::{Error, ErrorBPF, ErrorStall, SysRq, Unreg, UnregKern};
        for kind in [Unreg, UnregKern, Error, ErrorBPF] {
            assert_eq!(ended_by(kind as i32), EndedBy::Itself);
        }
        assert_eq!(ended_by(SysRq as i32), EndedBy::SysRq);
        assert_eq!(ended_by(ErrorStall as i32), EndedBy::Watchdog);
    }
}
