// SPDX-License-Identifier: GPL-2.0-only
//! The policy's state in the program's memory: filled in before the program starts, and read for the status.

use super::places;
use super::plan::Order;
use super::program::interface::{self, lop_goal_config, lop_order};
use super::program::skeleton::types;
use super::program::skeleton::BpfSkel;
use super::reserved::Reserved;
use crate::status::{Asked, Member, Reason, Status};
use lop_machine::live::LiveMachine;
use lop_machine::speed::Wish;
use lop_policy::{class, Config, CpuPlace, GoalConfig, Sched, Set, MAX_RUNGS, NONE};
use lop_records::Integers;
use std::collections::BTreeMap;

/// The program's variable and the native build have the same type from the policy's headers.
const _: () = assert!(size_of::<types::lop_sched>() == size_of::<Sched>());

pub fn as_policy(sched: &mut types::lop_sched) -> &mut Sched {
    // The same headers, compiled to the same sizes and alignments.
    unsafe { &mut *std::ptr::from_mut(sched).cast() }
}

/// The program may change it at any moment.
pub fn sched<'a>(skel: &'a BpfSkel<'_>) -> &'a Sched {
    let bss = skel.maps.bss_data.as_ref().expect("the program has variables");
    // As above.
    unsafe { &*std::ptr::from_ref(&bss.lopsided).cast() }
}

/// Fills in configuration and topology before the program is loaded. CPU numbers are below 512, which the reader of the machine has checked.
pub fn configure(sched: &mut Sched, config: &Config, machine: &LiveMachine) {
    sched.config = *config;
    for about in &machine.cpus {
        let cpu = about.number as usize;
        let place = CpuPlace {
            tier: about.tier,
            clock_domain: about.clock_domain,
            voltage_domain: about.voltage_domain,
            memory_domain: about.memory_domain,
            node: about.node,
            socket: about.socket,
            next_sibling: machine.next_sibling(about.number) as u16,
            permille: about.permille(),
        };
        sched.describe_cpu(cpu, place);
        if about.isolated {
            sched.isolate(cpu);
        }
        if about.online {
            sched.online.add(cpu);
        }
    }
}

/// The speeds of online CPUs for the present sets.
pub fn wishes(skel: &BpfSkel<'_>, machine: &LiveMachine) -> BTreeMap<usize, Wish> {
    let sched = sched(skel);
    let (high, green) = (sched.members(Set::High), sched.members(Set::Green));
    let share = |cpu: usize| sched.config.rung[sched.pace.rung[cpu] as usize % MAX_RUNGS].speed_permille;
    let online = machine
        .cpus
        .iter()
        .map(|about| about.number as usize)
        .filter(|&cpu| sched.online.has(cpu));
    let reserved = Reserved::of(sched);
    let wish = |cpu| match (reserved, high.has(cpu), green.has(cpu)) {
        (Some(reserved), ..) if sched.on_reserved_core(cpu as u32) => reserved.speed,
        (_, true, _) => Wish::High,
        (_, false, true) => Wish::Share(share(cpu)),
        (_, false, false) => Wish::Low,
    };
    online.map(|cpu| (cpu, wish(cpu))).collect()
}

/// The program may change the state meanwhile: each number is correct, but together they may be from different moments.
pub fn fill(status: &mut Status, skel: &BpfSkel<'_>, config: &Config, machine: &LiveMachine, speeds_act: bool) {
    let bss = skel.maps.bss_data.as_ref().expect("the program has variables");
    let sched = sched(skel);
    let sum = |what: usize| -> u64 {
        let all = bss.contexts.iter().chain([&bss.timer_context, &bss.hotplug_context]);
        all.map(|c| c.count[what]).sum()
    };
    status.active = sched.active(Set::High);
    status.target = sched.target(Set::High);
    status.spare = config.spare;
    status.max_high = (config.most_high != 0).then_some(config.most_high);
    status.hold_ms = config.hold_ns / 1_000_000;
    status.promotions = sched.membership.promotions;
    status.demotions = sched.membership.demotions;
    status.swaps = sched.heat.swaps;
    status.awaited = awaited(sched, machine);
    status.hinted = bss.any_hint_set;
    status.left_out.room = places::count(skel);
    status.left_out.groups = bss.groups_left_out;
    status.left_out.applications = bss.apps_left_out;
    status.placements.claimed = sum(super::program::interface::lop_count_LOP_COUNT_CLAIMED as usize);
    status.placements.queued = sum(super::program::interface::lop_count_LOP_COUNT_QUEUED as usize);
    status.placements.pinned = sum(super::program::interface::lop_count_LOP_COUNT_PINNED as usize);
    fill_sets(status, sched, machine, speeds_act);
}

/// CPUs that run something which others wait for, from the state that CPUs share.
fn awaited(sched: &Sched, machine: &LiveMachine) -> Vec<u32> {
    let runs_one = |cpu: &u32| {
        let on = &sched.fast.on[*cpu as usize];
        on.since_ns > 0 && u32::from(on.rank.class) == class::AWAITED
    };
    machine.cpus.iter().map(|about| about.number).filter(runs_one).collect()
}

fn fill_sets(status: &mut Status, sched: &Sched, machine: &LiveMachine, speeds_act: bool) {
    let sets = &mut status.sets;
    *sets = crate::status::Sets::default();
    let mut surplus = sched.size(Set::High).saturating_sub(status.target);
    let mut level = sched.size(Set::High);
    for about in &machine.cpus {
        let (cpu, at) = (about.number, about.number as usize);
        let member = |reason, asked| Member {
            cpu,
            reason,
            khz: current_khz(cpu),
            asked: if speeds_act { asked } else { Asked::Nothing },
        };
        if !sched.online.has(at) {
            sets.offline.push(cpu);
        } else if sched.members(Set::High).has(at) {
            let reason = reason(sched, cpu, &mut surplus, &mut level);
            sets.high.push(member(reason, Asked::Top));
        } else if sched.members(Set::Green).has(at) {
            let reason = match sched.pace.tasks[at] {
                0 if sched.config.light => Reason::Left,
                0 => Reason::Background,
                tasks => Reason::Home { tasks },
            };
            sets.green.push(member(reason, Asked::Green));
        } else {
            sets.low.push(cpu);
        }
    }
}

/// Why a CPU is a member: idle members beyond the target are held for a while, and other idle ones are spare.
fn reason(sched: &Sched, cpu: u32, surplus: &mut u32, level: &mut u32) -> Reason {
    let at = cpu as usize;
    let anchored = sched.membership.anchored[at];
    if anchored > 0 {
        return Reason::Pinned { tasks: anchored };
    }
    if sched.taken.has(at) {
        return Reason::Taken;
    }
    if !sched.idle.has(at) {
        return Reason::Busy;
    }
    if *surplus == 0 {
        return Reason::Spare;
    }
    *surplus -= 1;
    let nth = *level;
    *level = level.saturating_sub(1);
    if nth == 1 {
        return Reason::Recent;
    }
    Reason::Held {
        for_ms: sched
            .due_at_ns(Set::High, nth)
            .saturating_sub(now_ns())
            .div_ceil(1_000_000),
    }
}

// SAFETY: three numbers of four bytes.
unsafe impl Integers for lop_order {}

/// An order in the program's format.
pub fn order(order: Order) -> lop_order {
    let (kind, thread, place) = match order {
        Order::Domain { thread, domain } => (interface::lop_order_kind_LOP_ORDER_DOMAIN, thread, domain),
        Order::Speedup { thread, permille } => (interface::lop_order_kind_LOP_ORDER_SPEEDUP, thread, permille as i32),
        Order::On { domain } => (interface::lop_order_kind_LOP_ORDER_ON, 0, domain as i32),
        Order::Off { domain } => (interface::lop_order_kind_LOP_ORDER_OFF, 0, domain as i32),
        Order::Rest => (interface::lop_order_kind_LOP_ORDER_REST, 0, NONE),
    };
    lop_order { kind, thread, place }
}

// SAFETY: four numbers of eight bytes.
unsafe impl Integers for lop_goal_config {}

/// What changes with the goal in the program's format.
pub fn goal(goal: GoalConfig) -> lop_goal_config {
    lop_goal_config {
        spare: goal.spare,
        last_hold_ns: goal.last_hold_ns,
        keeps_kind: goal.keeps_kind,
        domains: goal.domains,
    }
}

pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn current_khz(cpu: u32) -> Option<u64> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}
