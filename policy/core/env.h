/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
/*
 * All that the policy may ask of the world. kernel/ answers with kfuncs, simulator/ in Rust. The includer defines u8
 * u16 u32 u64 s32 s64 and bool first.
 * `world` is the adapter's handle, one for each context that calls the policy (a CPU, a timer). It holds the scratch
 * memory of cpuset.h and what the adapter adds. Tasks are pointers of the adapter; CPUs and queues are numbers below
 * LOP_MAX_CPUS and LOP_QUEUES.
 */
#define LOP_MAX_CPUS 512
#define LOP_CPU_WORDS (LOP_MAX_CPUS / 64)
#define LOP_NONE (-1)
#define LOP_NO_TIME (~0ULL)

/* An adapter that implements these functions in the same program declares them static. */
#ifndef LOP_ENV
#define LOP_ENV
#endif

struct lop_task;
struct lop_world;
struct lop_sched;
struct lop_group;

enum lop_set { LOP_LOW, LOP_HIGH, LOP_GREEN, LOP_OFFLINE };
#define LOP_SET_SLOTS 4

/* Nanoseconds of a monotonic clock. */
LOP_ENV u64 lop_env_now_ns(struct lop_world *world);
/* Starts `t` next on `cpu`, which the caller has claimed. */
LOP_ENV void lop_env_insert_local(struct lop_world *world, struct lop_task *t, u32 cpu, u64 slice_ns);
/* Adds `t` to a queue that is ordered by `vtime_ns`, smallest first. `t` may arrive there after the call that asked. */
LOP_ENV void lop_env_insert(struct lop_world *world, struct lop_task *t, u32 queue, u64 slice_ns, u64 vtime_ns);
/*
 * Moves to `cpu` the first task of `queue` that may run there, if its virtual time is not after `until_ns`
 * (LOP_NO_TIME: any time); false if there is none. With a limit, an adapter may examine only the first few thousand
 * tasks.
 */
LOP_ENV bool lop_env_take(struct lop_world *world, u32 queue, u32 cpu, u64 until_ns);
/*
 * Moves to `cpu` the first task of `queue` that may run there and was queued at `before_ns` or earlier
 * (lop_task.queued_at_ns); false if there is none. An adapter without each task's age may keep two age groups: it takes
 * only tasks that have waited for LOP_WAIT_MIN_NS, and each soon after LOP_WAIT_MAX_NS, whatever its place in the queue. For that it is
 * called again and again from LOP_WAIT_MIN_NS on.
 */
LOP_ENV bool lop_env_take_overdue(struct lop_world *world, u32 queue, u32 cpu, u64 before_ns);
/* Number of tasks in `queue` now. */
LOP_ENV u32 lop_env_queued(struct lop_world *world, u32 queue);
/* Virtual time of the first task in `queue` now; LOP_NO_TIME if there is none. */
LOP_ENV u64 lop_env_first_ns(struct lop_world *world, u32 queue);
/* Makes an idle CPU look for work. */
LOP_ENV void lop_env_kick(struct lop_world *world, u32 cpu);
/* Makes a busy CPU call lop_dispatch() as if the slice of its task were over. */
LOP_ENV void lop_env_preempt(struct lop_world *world, u32 cpu);
/*
 * The CPU now belongs to `set`: run it at that set's speed, unless it is on the reserved core (lop_on_reserved_core()).
 * Log the change where decisions are logged.
 */
LOP_ENV void lop_env_set_changed(struct lop_world *world, u32 cpu, enum lop_set set);
/* The CPU is on the reserved core: run it at the speed chosen for that core, `raised` steps up, whatever its set. */
LOP_ENV void lop_env_reserved_speed(struct lop_world *world, u32 cpu, u32 raised);
/* Calls lop_timer() at `at_ns`. Replaces an earlier request. */
LOP_ENV void lop_env_arm_timer(struct lop_world *world, u64 at_ns);
/* The parent group with this number. The adapter stores the groups. */
LOP_ENV struct lop_group *lop_env_group(const struct lop_sched *s, s32 number);
/* Temperature of the CPU's core in thousandths of a degree Celsius; LOP_NO_TEMPERATURE, which is below absolute zero: it has no sensor. */
#define LOP_NO_TEMPERATURE -1000000
LOP_ENV s32 lop_env_temperature_mc(struct lop_world *world, u32 cpu);

#define lop_rule static inline __attribute__((always_inline, unused))

/*
 * A rule with a stack frame of its own, where one frame for all rules would be too large. The BPF verifier can check it
 * alone, for any argument, and then accepts each call at once. So it masks its indices, takes at most five arguments,
 * marks pointers that are never null with lop_nonnull, and returns a number.
 */
#ifndef lop_subprog
#define lop_subprog static __attribute__((noinline, unused))
#define lop_nonnull
#endif

/* A bounded loop that the BPF verifier walks once, not once per iteration. */
#ifdef bpf_for
#define lop_for(i, from, to) bpf_for(i, from, to)
#elif defined(__BPF__) /* without the kernel's headers: not unrolled, like bpf_for */
#define lop_for(i, from, to) _Pragma("clang loop unroll(disable)") for ((i) = (from); (i) < (to); (i)++)
#else
#define lop_for(i, from, to) for ((i) = (from); (i) < (to); (i)++)
#endif

/* A few iterations, of a number that the compiler knows: too few to pay for the calls that a loop costs in BPF. */
#ifdef __BPF__
#define lop_for_few(i, from, to) _Pragma("clang loop unroll(full)") for ((i) = (from); (i) < (to); (i)++)
#else
#define lop_for_few(i, from, to) for ((i) = (from); (i) < (to); (i)++)
#endif

/* Over the words of a set of CPUs. An adapter that knows how many words its machine needs defines a shorter loop. */
#ifndef lop_for_words
#define lop_for_words(i) lop_for(i, 0, LOP_CPU_WORDS)
#endif

/* The compiler forgets what it knows about `x`. */
#define lop_opaque(x) __asm__ volatile("" : "+r"(x))

/* Array indices are masked, so that the verifier (and a reader) sees that they are in bounds. */
#define lop_cpu_index(cpu) ((cpu) & (LOP_MAX_CPUS - 1))
#define lop_set_index(set) ((u32)(set) & (LOP_SET_SLOTS - 1))

/*
 * An adapter whose calls never overlap defines plain versions (LOP_ATOMICS_DEFINED): a locked access costs as much as a
 * rule. Each result counts as used, so that compilers for BPF emit the fetching form: it is the only one that the
 * kernel orders on arm64, and rules write and then check whether another CPU has written.
 */
#ifndef LOP_ATOMICS_DEFINED
#define lop_ordered(atomic)                       \
	({                                        \
		__typeof__(atomic) lop_before = atomic; \
		lop_opaque(lop_before);           \
		lop_before;                       \
	})
#define lop_atomic_or(p, v) lop_ordered(__sync_fetch_and_or(p, v))
#define lop_atomic_and(p, v) lop_ordered(__sync_fetch_and_and(p, v))
#define lop_atomic_add(p, v) lop_ordered(__sync_fetch_and_add(p, v))
#define lop_atomic_cas(p, old, new) __sync_val_compare_and_swap(p, old, new)
#endif

/*
 * What must hold between two calls, and, where calls never overlap, between two steps of one call. The native build
 * stops where it does not hold, and says where. For BPF it is a comment, because another CPU may be between two steps.
 */
#ifndef lop_assert
#define lop_assert(holds) ((void)sizeof((holds) ? 1 : 0))
#endif

/* 1 if a < b, else 0, for numbers below 2^63. No branch: the BPF verifier would follow it both ways in each iteration. */
lop_rule u64 lop_less(u64 a, u64 b)
{
	u64 difference = a - b;
	lop_opaque(difference);
	return difference >> 63;
}

lop_rule u64 lop_min(u64 a, u64 b) { return a < b ? a : b; }
lop_rule u64 lop_max(u64 a, u64 b) { return a > b ? a : b; }
/* Compares virtual times, which wrap around: light tasks alone take days to do that. No two are half the range apart. */
lop_rule bool lop_before(u64 a, u64 b) { return (s64)(a - b) < 0; }
lop_rule u64 lop_earlier(u64 a, u64 b) { return lop_before(a, b) ? a : b; }
lop_rule u64 lop_later(u64 a, u64 b) { return lop_before(a, b) ? b : a; }
lop_rule u64 lop_clamp(u64 x, u64 low, u64 high) { return lop_min(lop_max(x, low), high); }
