// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The functions of policy/core/env.h, answered by the caller's [`Env`].

use super::record::{Kind, Recorder};
use super::{ffi, group_at, Group, PolicyHandle, Sched, Set, Task};
use std::ffi::{c_char, CStr};
use std::mem::MaybeUninit;

/// The world as policy/core/env.h describes it. Tasks are named by `Task::id`.
pub trait Env {
    fn now_ns(&mut self) -> u64;
    fn insert_local(&mut self, task: u32, cpu: u32, slice_ns: u64);
    fn insert(&mut self, task: u32, queue: u32, slice_ns: u64, vtime_ns: u64);
    /// Takes the first task that may run on `cpu`, if its virtual time is not after `until_ns`; `u64::MAX`: any time.
    fn take(&mut self, queue: u32, cpu: u32, until_ns: u64) -> bool;
    /// Takes the first task that may run on `cpu` and was queued at `before_ns` or earlier.
    fn take_overdue(&mut self, queue: u32, cpu: u32, before_ns: u64) -> bool;
    fn queued(&mut self, queue: u32) -> u32;
    /// Virtual time of the first task that waits there; `u64::MAX` if none does.
    fn first_ns(&mut self, queue: u32) -> u64;
    fn kick(&mut self, cpu: u32);
    /// Makes a busy CPU ask what to run, as if the slice there were over.
    fn preempt(&mut self, cpu: u32);
    fn set_changed(&mut self, cpu: u32, set: Set);
    /// `cpu` is on the reserved core: run it at that core's speed, `raised` steps up. Only called where a core is
    /// reserved.
    fn reserved_speed(&mut self, _cpu: u32, _raised: u32) {}
    fn arm_timer(&mut self, at_ns: u64);
    /// Thousandths of a degree Celsius; [`crate::NO_TEMPERATURE`]: the CPU has no sensor. Only called for heat rotation.
    fn temperature_mc(&mut self, _cpu: u32) -> i32 {
        0
    }
}

/// `struct lop_world`, followed by the Env that answers the rules.
#[repr(C)]
pub(crate) struct Call<'a> {
    scratch: MaybeUninit<ffi::lop_world>,
    env: *mut (dyn Env + 'a),
    policy: PolicyHandle,
}

impl<'a> Call<'a> {
    pub fn new(policy: PolicyHandle, env: &mut (dyn Env + 'a)) -> Self {
        Self {
            scratch: MaybeUninit::uninit(),
            env,
            policy,
        }
    }
    /// Valid as long as `self` and its Env.
    pub fn world(&mut self) -> *mut ffi::lop_world {
        std::ptr::from_mut(self).cast()
    }
}

unsafe fn env<'a>(world: *mut ffi::lop_world) -> &'a mut dyn Env {
    &mut *(*world.cast::<Call<'a>>()).env
}
/// `None`: calls are not recorded.
unsafe fn recorder<'a>(world: *mut ffi::lop_world) -> Option<&'a mut Recorder> {
    (*world.cast::<Call<'a>>()).policy.recorder()
}
#[no_mangle]
unsafe extern "C" fn lop_env_now_ns(world: *mut ffi::lop_world) -> u64 {
    env(world).now_ns()
}
#[no_mangle]
unsafe extern "C" fn lop_env_insert_local(world: *mut ffi::lop_world, t: *mut Task, cpu: u32, slice_ns: u64) {
    if let Some(recorder) = recorder(world) {
        recorder.put(Kind::Placed, cpu as i32, 1);
    }
    env(world).insert_local((*t).id, cpu, slice_ns)
}
#[no_mangle]
unsafe extern "C" fn lop_env_insert(
    world: *mut ffi::lop_world,
    t: *mut Task,
    queue: u32,
    slice_ns: u64,
    vtime_ns: u64,
) {
    if let Some(recorder) = recorder(world) {
        recorder.put(Kind::Queued, 0, queue);
    }
    env(world).insert((*t).id, queue, slice_ns, vtime_ns)
}
#[no_mangle]
unsafe extern "C" fn lop_env_take(world: *mut ffi::lop_world, queue: u32, cpu: u32, until_ns: u64) -> bool {
    env(world).take(queue, cpu, until_ns)
}
#[no_mangle]
unsafe extern "C" fn lop_env_take_overdue(world: *mut ffi::lop_world, queue: u32, cpu: u32, before_ns: u64) -> bool {
    env(world).take_overdue(queue, cpu, before_ns)
}
#[no_mangle]
unsafe extern "C" fn lop_env_queued(world: *mut ffi::lop_world, queue: u32) -> u32 {
    env(world).queued(queue)
}
#[no_mangle]
unsafe extern "C" fn lop_env_first_ns(world: *mut ffi::lop_world, queue: u32) -> u64 {
    env(world).first_ns(queue)
}
#[no_mangle]
unsafe extern "C" fn lop_env_kick(world: *mut ffi::lop_world, cpu: u32) {
    env(world).kick(cpu)
}
#[no_mangle]
unsafe extern "C" fn lop_env_preempt(world: *mut ffi::lop_world, cpu: u32) {
    if let Some(recorder) = recorder(world) {
        recorder.push(Kind::Preempt, 0, cpu as i32, 0);
    }
    env(world).preempt(cpu)
}
#[no_mangle]
unsafe extern "C" fn lop_env_set_changed(world: *mut ffi::lop_world, cpu: u32, set: Set) {
    if let Some(recorder) = recorder(world) {
        recorder.push(Kind::Set, 0, cpu as i32, set as u32);
    }
    env(world).set_changed(cpu, set)
}
#[no_mangle]
unsafe extern "C" fn lop_env_reserved_speed(world: *mut ffi::lop_world, cpu: u32, raised: u32) {
    if let Some(recorder) = recorder(world) {
        recorder.push(Kind::Reserved, 0, cpu as i32, raised);
    }
    env(world).reserved_speed(cpu, raised)
}
#[no_mangle]
unsafe extern "C" fn lop_env_arm_timer(world: *mut ffi::lop_world, at_ns: u64) {
    env(world).arm_timer(at_ns)
}
#[no_mangle]
unsafe extern "C" fn lop_env_temperature_mc(world: *mut ffi::lop_world, cpu: u32) -> i32 {
    let temperature_mc = env(world).temperature_mc(cpu);
    if let Some(recorder) = recorder(world) {
        recorder.temperature(cpu, temperature_mc);
    }
    temperature_mc
}
/// A native `lop_assert` failed: a state that contradicts itself must decide nothing more.
#[no_mangle]
unsafe extern "C" fn lop_broken(what: *const c_char, file: *const c_char, line: u32) {
    let text = |text: *const c_char| CStr::from_ptr(text).to_string_lossy();
    eprintln!("lop: policy/{}:{line}: not so: {}", text(file), text(what));
    std::process::abort();
}
#[no_mangle]
unsafe extern "C" fn lop_env_group(s: *mut Sched, number: i32) -> *mut Group {
    group_at(s, number as usize)
}
