//! The policy's state in the program's memory: filled before it starts, read for the status.

use super::native::{self, GREEN, HIGH};
use super::places;
use super::plan::Order;
use super::program::interface::{self, lop_order};
use super::program::skeleton::types;
use super::program::skeleton::BpfSkel;
use super::program::Config;
use super::reserved::Reserved;
use crate::options::Reserve;
use crate::status::{Asked, Member, Reason, Status};
use lop_machine::live::LiveMachine;
use lop_machine::speed::Wish;
use std::collections::BTreeMap;
use std::mem::MaybeUninit;

fn add(set: &mut types::lop_cpus, cpu: u32) {
    set.word[cpu as usize / 64] |= 1 << (cpu % 64);
}

fn has(set: &types::lop_cpus, cpu: u32) -> bool {
    set.word[cpu as usize / 64] >> (cpu % 64) & 1 == 1
}

/// Configuration and topology, before the program is loaded. CPU numbers are below 512, as the reader of the machine checks.
pub fn configure(sched: &mut types::lop_sched, config: &Config, machine: &LiveMachine) {
    let to = &mut sched.config;
    to.nr_cpus = machine.cpus.len() as u32;
    to.sizing = match (config.fixed_size, config.all_high) {
        (Some(_), _) => types::lop_sizing::LOP_SIZE_FIXED,
        (None, true) => types::lop_sizing::LOP_SIZE_ALL,
        (None, false) => types::lop_sizing::LOP_SIZE_BY_DEMAND,
    };
    to.fixed_size = config.fixed_size.unwrap_or(0);
    to.spare = config.spare;
    to.most_high = config.most_high;
    to.transition_ns = config.transition_ns;
    to.hold_ns = config.hold_ns;
    to.last_hold_ns = config.last_hold_ns;
    to.slice_min_ns = config.slice_min_ns;
    to.slice_max_ns = config.slice_max_ns;
    to.period_ns = config.period_ns;
    to.hot_mc = i32::MAX;
    to.rules = config.rules;
    to.migration_ns = config.migration_ns;
    to.grace_ns = config.grace_ns;
    to.turn_ns = config.turn_ns;
    to.domains = config.domains;
    to.only_known = MaybeUninit::new(config.only_known);
    to.specialise = MaybeUninit::new(config.specialise);
    to.reserve = match config.reserve {
        Reserve::Never => types::lop_reserve::LOP_RESERVE_NEVER,
        Reserve::BySize => types::lop_reserve::LOP_RESERVE_BY_SIZE,
        Reserve::Asked => types::lop_reserve::LOP_RESERVE_ASKED,
    };
    to.reserve_raises = config.reserve_raises;
    to.reserve_window_ns = config.reserve_window_ns;
    describe(sched, machine);
}

fn describe(sched: &mut types::lop_sched, machine: &LiveMachine) {
    let top = &mut sched.topology;
    top.nr_nodes = machine.nr_nodes;
    top.nr_tiers = machine.nr_tiers;
    top.nr_memory_domains = machine.nr_memory_domains;
    top.nr_sockets = machine.nr_sockets;
    for about in &machine.cpus {
        let cpu = about.number as usize;
        let siblings = machine.siblings(about.number);
        let at = siblings.iter().position(|&s| s == about.number).unwrap_or(0);
        top.tier[cpu] = about.tier;
        top.tier_permille[usize::from(about.tier)] = about.permille();
        top.voltage_domain[cpu] = about.voltage_domain;
        top.memory_domain[cpu] = about.memory_domain;
        top.node[cpu] = about.node;
        top.socket[cpu] = about.socket;
        top.next_sibling[cpu] = siblings[(at + 1) % siblings.len()] as u16;
        add(&mut top.cpus, about.number);
        if about.isolated {
            add(&mut top.isolated, about.number);
        }
        add(&mut top.tier_cpus[usize::from(about.tier)], about.number);
        add(&mut top.voltage_cpus[usize::from(about.voltage_domain)], about.number);
        add(&mut top.memory_cpus[usize::from(about.memory_domain)], about.number);
        add(&mut top.node_cpus[usize::from(about.node)], about.number);
        if about.online {
            add(&mut sched.online, about.number);
        }
    }
}

/// The speeds that go with the sets as they are now, of CPUs that are online.
pub fn wishes(skel: &BpfSkel<'_>, machine: &LiveMachine) -> BTreeMap<usize, Wish> {
    let sched = &skel.maps.bss_data.as_ref().expect("the program has variables").lopsided;
    let online = machine
        .cpus
        .iter()
        .map(|about| about.number)
        .filter(|&cpu| has(&sched.online, cpu));
    let wish = |cpu| match has(&sched.set[HIGH].cpus, cpu) || has(&sched.set[GREEN].cpus, cpu) {
        true => Wish::High,
        false => Wish::Low,
    };
    online.map(|cpu| (cpu as usize, wish(cpu))).collect()
}

/// The program changes it at any moment: each number is true, together they may be of two moments.
pub fn fill(status: &mut Status, skel: &BpfSkel<'_>, config: &Config, machine: &LiveMachine, speeds_act: bool) {
    let bss = skel.maps.bss_data.as_ref().expect("the program has variables");
    let sched = &bss.lopsided;
    let sum = |what: usize| -> u64 {
        let all = bss.contexts.iter().chain([&bss.timer_context, &bss.hotplug_context]);
        all.map(|c| c.count[what]).sum()
    };
    status.active = sched.set[HIGH].demand as u32;
    status.target = native::high_target(sched);
    status.spare = config.spare;
    status.max_high = (config.most_high != 0).then_some(config.most_high);
    status.hold_ms = config.hold_ns / 1_000_000;
    status.promotions = sched.promotions;
    status.demotions = sched.demotions;
    status.swaps = sched.swaps;
    status.awaited = awaited(sched, machine);
    status.hinted = bss.hints_are_said;
    status.left_out.room = places::room(skel);
    status.left_out.groups = bss.groups_left_out;
    status.left_out.applications = bss.apps_left_out;
    status.placements.claimed = sum(super::program::interface::lop_count_LOP_COUNT_CLAIMED as usize);
    status.placements.queued = sum(super::program::interface::lop_count_LOP_COUNT_QUEUED as usize);
    status.placements.pinned = sum(super::program::interface::lop_count_LOP_COUNT_BOUND as usize);
    fill_sets(status, sched, machine, speeds_act);
}

/// Where something runs that others wait for, as CPUs tell one another.
fn awaited(sched: &types::lop_sched, machine: &LiveMachine) -> Vec<u32> {
    let runs_one = |cpu: &u32| {
        let on = &sched.on[*cpu as usize];
        on.since_ns > 0 && on.rank.class == native::AWAITED
    };
    machine.cpus.iter().map(|about| about.number).filter(runs_one).collect()
}

fn fill_sets(status: &mut Status, sched: &types::lop_sched, machine: &LiveMachine, speeds_act: bool) {
    let sets = &mut status.sets;
    *sets = crate::status::Sets::default();
    let mut surplus = sched.set[HIGH].size.saturating_sub(status.target);
    let mut level = sched.set[HIGH].size;
    for about in &machine.cpus {
        let cpu = about.number;
        let member = |reason, asked| Member {
            cpu,
            reason,
            khz: current_khz(cpu),
            asked: if speeds_act { asked } else { Asked::Nothing },
        };
        if !has(&sched.online, cpu) {
            sets.offline.push(cpu);
        } else if has(&sched.set[HIGH].cpus, cpu) {
            let reason = reason(sched, cpu, &mut surplus, &mut level);
            sets.high.push(member(reason, Asked::Top));
        } else if has(&sched.set[GREEN].cpus, cpu) {
            sets.green.push(member(Reason::Busy, Asked::Green));
        } else {
            sets.low.push(cpu);
        }
    }
}

/// Idle members beyond the target are held for a while, the others are spare.
fn reason(sched: &types::lop_sched, cpu: u32, surplus: &mut u32, level: &mut u32) -> Reason {
    let anchored = sched.anchored[cpu as usize];
    if anchored > 0 {
        return Reason::Pinned { tasks: anchored };
    }
    if has(&sched.taken, cpu) {
        return Reason::Taken;
    }
    if !has(&sched.idle, cpu) {
        return Reason::Busy;
    }
    if *surplus == 0 {
        return Reason::Spare;
    }
    *surplus -= 1;
    let at = *level;
    *level = level.saturating_sub(1);
    if at == 1 {
        return Reason::Recent;
    }
    Reason::Held {
        for_ms: native::high_due_ns(sched, at)
            .saturating_sub(now_ns())
            .div_ceil(1_000_000),
    }
}

/// An order as the program reads it.
pub fn order(order: Order) -> lop_order {
    let (kind, thread, place) = match order {
        Order::Domain { thread, domain } => (interface::lop_order_kind_LOP_ORDER_DOMAIN, thread, domain),
        Order::Cpu { thread, cpu } => (interface::lop_order_kind_LOP_ORDER_CPU, thread, cpu),
        Order::Speedup { thread, permille } => (interface::lop_order_kind_LOP_ORDER_SPEEDUP, thread, permille as i32),
        Order::On { domain } => (interface::lop_order_kind_LOP_ORDER_ON, 0, domain as i32),
        Order::Off { domain } => (interface::lop_order_kind_LOP_ORDER_OFF, 0, domain as i32),
        Order::Rest => (interface::lop_order_kind_LOP_ORDER_REST, 0, native::NONE),
        Order::List { thread, cpu } => (interface::lop_order_kind_LOP_ORDER_LIST, thread, cpu),
    };
    lop_order { kind, thread, place }
}

/// The CPU that is reserved now, if one is.
pub fn reserved(sched: &types::lop_sched) -> Option<Reserved> {
    // Written by C as a bool, and zero before.
    let reserving = unsafe { sched.reserving.assume_init() };
    reserving.then_some(Reserved {
        cpu: sched.reserved_cpu,
        raised: sched.reserve_raised > 0,
    })
}

pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn current_khz(cpu: u32) -> Option<u64> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}
