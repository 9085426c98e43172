//! The functions of policy.c and those that it calls back.

use super::{App, Config, CpuBits, CpuPlace, GreenOpp, Group, Rank, Sched, Task, Traits};
use std::ffi::c_void;

extern "C" {
    pub(super) fn lop_native_sched_size() -> usize;
    pub(super) fn lop_native_task_size() -> usize;
    pub(super) fn lop_native_config(s: *mut Sched) -> *mut Config;
    pub(super) fn lop_native_members(s: *const Sched, set: u32) -> *const CpuBits;
    pub(super) fn lop_native_size(s: *const Sched, set: u32) -> u32;
    pub(super) fn lop_native_active(s: *const Sched, set: u32) -> u32;
    pub(super) fn lop_native_target(s: *const Sched, set: u32) -> u32;
    pub(super) fn lop_native_promotions(s: *const Sched) -> u64;
    pub(super) fn lop_native_demotions(s: *const Sched) -> u64;
    pub(super) fn lop_native_reserved(s: *const Sched, raised: *mut u32) -> i32;
    pub(super) fn lop_native_on_reserved_core(s: *const Sched, cpu: u32) -> bool;
    pub(super) fn lop_native_swaps(s: *const Sched) -> u64;
    pub(super) fn lop_native_add_cpu(s: *mut Sched, cpu: u32, about: *const CpuPlace);
    pub(super) fn lop_native_isolate(s: *mut Sched, cpu: u32);
    pub(super) fn lop_native_begin_busy(s: *mut Sched, online: *const CpuBits);
    pub(super) fn lop_native_start(s: *mut Sched, world: *mut c_void, now_ns: u64);
    pub(super) fn lop_native_wake(
        s: *mut Sched,
        world: *mut c_void,
        t: *mut Task,
        app: *mut App,
        group: *mut Group,
        last_cpu: u32,
        now_ns: u64,
        claimed: *mut bool,
    ) -> i32;
    pub(super) fn lop_native_place(
        s: *mut Sched,
        world: *mut c_void,
        t: *mut Task,
        app: *mut App,
        last_cpu: u32,
        now_ns: u64,
        claimed: *mut bool,
    ) -> i32;
    pub(super) fn lop_native_enqueue(s: *mut Sched, world: *mut c_void, t: *mut Task, group: *const Group, cpu: u32);
    pub(super) fn lop_native_wait_at_claimed(s: *mut Sched, world: *mut c_void, t: *mut Task, cpu: u32);
    pub(super) fn lop_native_dispatch(s: *mut Sched, world: *mut c_void, cpu: u32) -> bool;
    pub(super) fn lop_native_anything_waits(s: *const Sched, cpu: u32) -> bool;
    pub(super) fn lop_native_started(
        s: *mut Sched,
        world: *mut c_void,
        t: *mut Task,
        app: *mut App,
        cpu: u32,
        now_ns: u64,
    );
    pub(super) fn lop_native_stopped(s: *mut Sched, t: *mut Task, app: *mut App, cpu: u32, runnable: bool, now_ns: u64);
    pub(super) fn lop_native_ended(s: *mut Sched, t: *mut Task, app: *mut App);
    pub(super) fn lop_native_say(
        s: *mut Sched,
        world: *mut c_void,
        t: *mut Task,
        app: *mut App,
        flags: u32,
        now_ns: u64,
    );
    pub(super) fn lop_native_claim_late(s: *mut Sched, world: *mut c_void, t: *mut Task, app: *mut App) -> bool;
    pub(super) fn lop_native_declare_length(t: *mut Task, app: *mut App, length: u32);
    pub(super) fn lop_native_born(t: *mut Task, creator: *mut Task, app: *mut App);
    pub(super) fn lop_native_median_length(app: *const App) -> u32;
    pub(super) fn lop_native_ranks_before(s: *const Sched, a: *const Rank, b: *const Rank) -> bool;
    pub(super) fn lop_native_displaces(a: *const Rank, b: *const Rank) -> bool;
    pub(super) fn lop_native_has_core_by_length(s: *const Sched, cpu: u32) -> bool;
    pub(super) fn lop_native_class_on(s: *const Sched, cpu: u32) -> u32;
    pub(super) fn lop_native_wished_speedup(speedup_permille: u32, min: u32, max: u32) -> u32;
    pub(super) fn lop_native_must_go(s: *const Sched, cpu: u32) -> bool;
    pub(super) fn lop_native_awaited(s: *const Sched) -> *const CpuBits;
    pub(super) fn lop_native_given(s: *const Sched) -> *const CpuBits;
    pub(super) fn lop_native_moves(s: *const Sched) -> u64;
    pub(super) fn lop_native_set_tier_speed(s: *mut Sched, tier: u32, permille: u32);
    pub(super) fn lop_native_dispatch_running(s: *mut Sched, world: *mut c_void, cpu: u32, t: *const Task) -> u32;
    pub(super) fn lop_native_goes_on(s: *mut Sched, world: *mut c_void, t: *const Task, cpu: u32) -> bool;
    pub(super) fn lop_native_came_too_late(s: *const Sched, t: *const Task, cpu: u32) -> bool;
    pub(super) fn lop_native_dequeue(s: *mut Sched, world: *mut c_void, t: *mut Task);
    pub(super) fn lop_native_running(s: *mut Sched, world: *mut c_void, t: *mut Task, now_ns: u64);
    pub(super) fn lop_native_stopping(
        s: *mut Sched,
        world: *mut c_void,
        t: *mut Task,
        group: *const Group,
        cpu: u32,
        ran_ns: u64,
    );
    pub(super) fn lop_native_block(
        s: *mut Sched,
        world: *mut c_void,
        t: *mut Task,
        app: *mut App,
        group: *mut Group,
        now_ns: u64,
    );
    pub(super) fn lop_native_forget(
        s: *mut Sched,
        world: *mut c_void,
        t: *mut Task,
        app: *mut App,
        group: *mut Group,
        now_ns: u64,
    );
    pub(super) fn lop_native_spin(
        s: *mut Sched,
        world: *mut c_void,
        t: *mut Task,
        app: *mut App,
        group: *mut Group,
        spinning: bool,
        now_ns: u64,
    );
    pub(super) fn lop_native_cpu_idle(s: *mut Sched, world: *mut c_void, cpu: u32, idle: bool, now_ns: u64);
    pub(super) fn lop_native_cpu_taken(s: *mut Sched, world: *mut c_void, cpu: u32, taken: bool, now_ns: u64);
    pub(super) fn lop_native_is_short(s: *const Sched) -> bool;
    pub(super) fn lop_native_timer(s: *mut Sched, world: *mut c_void, now_ns: u64);
    pub(super) fn lop_native_rotate_heat(s: *mut Sched, world: *mut c_void, now_ns: u64);
    pub(super) fn lop_native_cpu_offline(s: *mut Sched, world: *mut c_void, cpu: u32, now_ns: u64);
    pub(super) fn lop_native_cpu_online(s: *mut Sched, world: *mut c_void, cpu: u32, now_ns: u64);
    pub(super) fn lop_native_anchor_anew(s: *mut Sched, world: *mut c_void, t: *mut Task, now_ns: u64);
    pub(super) fn lop_native_set_allowed(s: *mut Sched, t: *mut Task, allowed: *const CpuBits);
    pub(super) fn lop_native_set_weight(s: *mut Sched, t: *mut Task, group: *mut Group, weight: u32, now_ns: u64);
    pub(super) fn lop_native_declare(
        s: *mut Sched,
        world: *mut c_void,
        app: *mut App,
        parallelism: u32,
        now_ns: u64,
    ) -> bool;
    pub(super) fn lop_native_config_size() -> usize;
    pub(super) fn lop_native_app_size() -> usize;
    pub(super) fn lop_native_idle(s: *const Sched) -> *const CpuBits;
    pub(super) fn lop_native_online(s: *const Sched) -> *const CpuBits;
    pub(super) fn lop_native_hot(s: *const Sched) -> *const CpuBits;
    pub(super) fn lop_native_warm(s: *const Sched) -> *const CpuBits;
    pub(super) fn lop_native_beside_high(s: *const Sched) -> *const CpuBits;
    pub(super) fn lop_native_beside_busy(s: *const Sched) -> *const CpuBits;
    pub(super) fn lop_native_pinned(s: *const Sched, set: u32) -> *const CpuBits;
    pub(super) fn lop_native_voltage_high(s: *const Sched, domain: u32) -> u32;
    pub(super) fn lop_native_node_high(s: *const Sched, node: u32) -> u32;
    pub(super) fn lop_native_open(s: *const Sched) -> *const CpuBits;
    pub(super) fn lop_native_nr_open(s: *const Sched) -> u32;
    pub(super) fn lop_native_undeclared_apps(s: *const Sched) -> u32;
    pub(super) fn lop_native_declared_sum(s: *const Sched) -> u32;
    pub(super) fn lop_native_timer_at_ns(s: *const Sched) -> u64;
    pub(super) fn lop_native_clock_ns(s: *const Sched) -> u64;
    pub(super) fn lop_native_slice_ns(s: *const Sched) -> u64;
    pub(super) fn lop_native_hold_lock(s: *mut Sched, held: bool);
    pub(super) fn lop_native_waits(s: *mut Sched, queue: u32) -> bool;
    pub(super) fn lop_native_default_hold_ns(transition_ns: u64) -> u64;
    pub(super) fn lop_native_configure(config: *mut Config, policy: u32, hold_ns: u64);
    pub(super) fn lop_native_traits_size() -> usize;
    pub(super) fn lop_native_leave_out(config: *mut Config, machine: *const Traits);
    pub(super) fn lop_native_green_opp(opps: *const GreenOpp, nr_opps: u32, stays_on: bool) -> u32;
    pub(super) fn lop_native_weight_1024(s: *const Sched, t: *const Task, group: *const Group) -> u32;
    pub(super) fn lop_native_weight_of_user(s: *const Sched, t: *const Task, group: *const Group) -> u32;
    pub(super) fn lop_native_group(s: *mut Sched, index: u32) -> *mut Group;
    pub(super) fn lop_native_set_group_weight(s: *mut Sched, group: *mut Group, weight: u32, now_ns: u64);
    pub(super) fn lop_native_group_size() -> usize;
    pub(super) fn lop_native_joiner(s: *const Sched, set: u32, within: *const CpuBits, home_node: i32) -> i32;
    pub(super) fn lop_native_leaver(s: *const Sched, set: u32) -> i32;
}

/// What C calls back: `world` is the pointer to the trait object that `with_world!` made.
mod callbacks {
    use super::super::{Env, Set, Task, World};
    use std::ffi::c_void;

    unsafe fn env<'a>(world: *mut c_void) -> &'a mut dyn Env {
        &mut *(*world.cast::<World<'a>>()).env
    }
    #[no_mangle]
    unsafe extern "C" fn lop_env_now_ns(world: *mut c_void) -> u64 {
        env(world).now_ns()
    }
    #[no_mangle]
    unsafe extern "C" fn lop_env_insert_local(world: *mut c_void, t: *mut Task, cpu: u32, slice_ns: u64) {
        env(world).insert_local((*t).id, cpu, slice_ns)
    }
    #[no_mangle]
    unsafe extern "C" fn lop_env_insert(world: *mut c_void, t: *mut Task, queue: u32, slice_ns: u64, vtime_ns: u64) {
        env(world).insert((*t).id, queue, slice_ns, vtime_ns)
    }
    #[no_mangle]
    unsafe extern "C" fn lop_env_take(world: *mut c_void, queue: u32, cpu: u32, until_ns: u64) -> bool {
        env(world).take(queue, cpu, until_ns)
    }
    #[no_mangle]
    unsafe extern "C" fn lop_env_take_overdue(world: *mut c_void, queue: u32, cpu: u32, before_ns: u64) -> bool {
        env(world).take_overdue(queue, cpu, before_ns)
    }
    #[no_mangle]
    unsafe extern "C" fn lop_env_queued(world: *mut c_void, queue: u32) -> u32 {
        env(world).queued(queue)
    }
    #[no_mangle]
    unsafe extern "C" fn lop_env_first_ns(world: *mut c_void, queue: u32) -> u64 {
        env(world).first_ns(queue)
    }
    #[no_mangle]
    unsafe extern "C" fn lop_env_kick(world: *mut c_void, cpu: u32) {
        env(world).kick(cpu)
    }
    #[no_mangle]
    unsafe extern "C" fn lop_env_preempt(world: *mut c_void, cpu: u32) {
        env(world).preempt(cpu)
    }
    #[no_mangle]
    unsafe extern "C" fn lop_env_set_changed(world: *mut c_void, cpu: u32, set: u32) {
        env(world).set_changed(cpu, Set::from_raw(set))
    }
    #[no_mangle]
    unsafe extern "C" fn lop_env_reserved_speed(world: *mut c_void, cpu: u32, raised: u32) {
        env(world).reserved_speed(cpu, raised)
    }
    #[no_mangle]
    unsafe extern "C" fn lop_env_arm_timer(world: *mut c_void, at_ns: u64) {
        env(world).arm_timer(at_ns)
    }
    #[no_mangle]
    unsafe extern "C" fn lop_env_temperature_mc(world: *mut c_void, cpu: u32) -> i32 {
        env(world).temperature_mc(cpu)
    }
}
