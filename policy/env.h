/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * What the policy may ask of the world, and nothing else. kernel/ answers with kfuncs, simulator/ in Rust.
 * The includer defines u8 u16 u32 u64 s32 and bool before.
 *
 * `world` is the adapter's handle, one for each context that calls the policy (a CPU, a timer): it begins with the
 * scratch memory of cpuset.h, the rest is the adapter's. Tasks, CPUs and queues are named by the adapter's pointers and by
 * numbers below LOP_MAX_CPUS and LOP_QUEUES.
 */
#define LOP_MAX_CPUS 512
#define LOP_CPU_WORDS (LOP_MAX_CPUS / 64)
#define LOP_NONE (-1)

struct lop_task;
struct lop_world;

enum lop_set { LOP_LOW, LOP_HIGH, LOP_GREEN, LOP_SETS, LOP_OFFLINE = LOP_SETS };

/* Nanoseconds of a clock that never goes back. */
u64 lop_env_now_ns(struct lop_world *world);
/* Starts `t` on `cpu`, which the caller has claimed, as the next to run there. */
void lop_env_insert_local(struct lop_world *world, struct lop_task *t, u32 cpu, u64 slice_ns);
/* Adds `t` to a queue that is kept in order of `vtime_ns`, smallest first. */
void lop_env_insert(struct lop_world *world, struct lop_task *t, u32 queue, u64 slice_ns, u64 vtime_ns);
/* Moves the first task of `queue` that may run on `cpu` to that CPU; false if there is none. */
bool lop_env_take(struct lop_world *world, u32 queue, u32 cpu);
/* Tasks waiting in `queue`. */
u32 lop_env_queued(struct lop_world *world, u32 queue);
/* Makes an idle CPU look for work. */
void lop_env_kick(struct lop_world *world, u32 cpu);
/* The CPU now belongs to `set`: run it at that set's speed (and write the change down where decisions are logged). */
void lop_env_set_changed(struct lop_world *world, u32 cpu, enum lop_set set);
/* Calls lop_timer() at `at_ns`; an earlier request is replaced. */
void lop_env_arm_timer(struct lop_world *world, u64 at_ns);
/* Temperature of the CPU's core in thousandths of a degree Celsius. */
s32 lop_env_temperature_mc(struct lop_world *world, u32 cpu);

#define lop_rule static inline __attribute__((always_inline, unused))

/* A rule with a frame of its own, where one for all would need too much stack. At most five arguments, for BPF. */
#define lop_part static __attribute__((noinline, unused))

/* A bounded loop that the BPF verifier walks once, not once per turn. */
#ifdef bpf_for
#define lop_for(i, from, to) bpf_for(i, from, to)
#elif defined(__BPF__) /* without the kernel's headers: not unrolled, as bpf_for is not */
#define lop_for(i, from, to) _Pragma("clang loop unroll(disable)") for ((i) = (from); (i) < (to); (i)++)
#else
#define lop_for(i, from, to) for ((i) = (from); (i) < (to); (i)++)
#endif

/* Array indices are masked, so that the verifier (and a reader) sees that they stay inside. */
#define lop_cpu_index(cpu) ((cpu) & (LOP_MAX_CPUS - 1))

/* An adapter whose calls never overlap brings plain versions (LOP_ATOMICS_DEFINED): a locked access costs as much as a rule. */
#ifndef LOP_ATOMICS_DEFINED
#define lop_atomic_or(p, v) __sync_fetch_and_or(p, v)
#define lop_atomic_and(p, v) __sync_fetch_and_and(p, v)
#define lop_atomic_add(p, v) __sync_fetch_and_add(p, v)
#define lop_atomic_cas(p, old, new) __sync_val_compare_and_swap(p, old, new)
#endif

lop_rule u64 lop_min(u64 a, u64 b) { return a < b ? a : b; }
lop_rule u64 lop_max(u64 a, u64 b) { return a > b ? a : b; }
lop_rule u64 lop_clamp(u64 x, u64 low, u64 high) { return lop_min(lop_max(x, low), high); }
