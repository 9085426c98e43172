/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "hints.bpf.h"
/*
 * Finds the holders of contended locks, in programs that give no hints, from futex_wait() and futex_wake().
 *
 * A lock is handed over by waking one of its waiters, and the woken thread holds it next. If others still wait there,
 * the policy gets LOP_LOCK_HOLDER for the woken thread before it is placed. The thread holds the lock until it wakes
 * the next waiter there, or waits itself. A thread that is woken and never wakes the next one waited for something
 * else, a condition or work. So a futex counts as a lock once a thread that was woken there has woken one there. Locks
 * shared by processes are tracked in each process separately, by the waiters of that process.
 */

/* Set if the loader has found the positions of these arguments in the kernel's functions. */
const volatile bool sees_locks;
const volatile u32 wait_address_at, wake_address_at, wake_count_at;

struct lop_futex_key {
	u64 address;
	u32 process;
	u32 unused;
};
struct lop_futex {
	u64 since_ns;       /* tells it from an earlier entry with the same key, which the map evicted */
	u32 waiting;        /* threads that sleep here or are about to */
	bool is_lock;
};

/* LRU: evicts the futex that was used least recently, since processes do not report when they are done with one. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct lop_futex_key);
	__type(value, struct lop_futex);
} futexes SEC(".maps");

static __always_inline struct lop_futex *futex_of(const struct task_struct *p, u64 address)
{
	struct lop_futex_key key = { .address = address, .process = (u32)p->tgid };
	return bpf_map_lookup_elem(&futexes, &key);
}

static __always_inline struct lop_futex *new_futex_of(const struct task_struct *p, u64 address)
{
	struct lop_futex_key key = { .address = address, .process = (u32)p->tgid };
	struct lop_futex first = {};
	struct lop_futex *futex = bpf_map_lookup_elem(&futexes, &key);
	if (futex)
		return futex;
	first.since_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&futexes, &key, &first, BPF_NOEXIST);
	return bpf_map_lookup_elem(&futexes, &key);
}

/* The flags of a thread: those of its hint, and LOP_LOCK_HOLDER if it is seen to hold a lock. */
static __always_inline u32 flags_of(const struct lop_task_state *t, const struct lop_hint_record *hint)
{
	return (hint ? READ_ONCE(hint->flags) & LOP_HINT_FLAGS : 0) | (t->holds ? LOP_LOCK_HOLDER : 0);
}

lop_subprog bool policy_set_hints(struct lop_world *c lop_nonnull, struct lop_task_state *t lop_nonnull, u32 flags)
{
	lop_set_hints(&lopsided, c, &t->task, app_of(t), flags, c->now_ns);
	return true;
}

/* Calls the policy only if one of these flags has changed. LOP_SPINNING goes to lop_spin(). */
static __always_inline void set_hints(struct lop_world *c, struct task_struct *p, struct lop_task_state *t, u32 flags)
{
	if (!((flags ^ t->task.hint.flags) & (LOP_SEQUENTIAL | LOP_LOCK_HOLDER | LOP_BACKGROUND)))
		return;
	tell(LOP_RECORD_HINTS, c->now_ns, (u64)p, 0, flags);
	policy_set_hints(c, t, flags);
}

/* The thread no longer waits at its futex. Null: the map has evicted it. */
static __always_inline struct lop_futex *count_out(const struct task_struct *p, struct lop_task_state *t)
{
	struct lop_futex *futex = futex_of(p, t->waits_at);
	if (futex && futex->since_ns == t->waits_since_ns)
		lop_atomic_add(&futex->waiting, -1);
	t->waits_at = 0;
	return futex;
}

/*
 * Called at the end of a wait, before the next wait and at exit: the kernel skips a BPF program that would recurse on
 * its CPU, so the end of a wait may be missed.
 */
static __always_inline void waits_no_more(const struct task_struct *p, struct lop_task_state *t)
{
	if (sees_locks && t->waits_at)
		count_out(p, t);
}

/*
 * A thread was woken and is not placed yet. If its waker is in futex_wake() on the futex where it waits, the thread
 * holds the lock next.
 */
static __always_inline void hand_over(struct lop_world *c, struct task_struct *p, struct lop_task_state *t)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	const struct lop_task_state *by;
	const struct lop_futex *futex;
	bool locked;
	if (!sees_locks || !t->waits_at)
		return;
	by = state_of(waker);
	if (!by || by->wakes_at != t->waits_at || waker->tgid != p->tgid)
		return;
	t->woken_at = t->waits_at;
	futex = count_out(p, t);
	t->holds = futex && futex->is_lock && futex->waiting;
	if (!t->holds)
		return;
	locked = log_begin();
	set_hints(c, p, t, flags_of(t, hint_of(p, t)));
	log_end(locked);
}

/*
 * No thread waits any longer for the lock that this one is seen to hold (the waiters gave up), or the map has evicted
 * its futex.
 */
static __always_inline bool holds_in_vain(const struct task_struct *p, const struct lop_task_state *t)
{
	const struct lop_futex *futex;
	if (!sees_locks || !t->holds)
		return false;
	futex = futex_of(p, t->woken_at);
	return !futex || !futex->waiting;
}

/*
 * The thread that runs here no longer holds the lock. Interrupts are disabled, since the policy's handle belongs to
 * this CPU.
 */
static __always_inline void let_go(struct task_struct *p, struct lop_task_state *t)
{
	struct lop_world *c;
	unsigned long flags;
	bool locked;
	t->woken_at = 0;
	if (!t->holds)
		return;
	t->holds = false;
	bpf_local_irq_save(&flags);
	c = begin_here();
	locked = log_begin();
	set_hints(c, p, t, flags_of(t, hint_of(p, t)));
	log_end(locked);
	bpf_local_irq_restore(&flags);
}

/* Argument of a traced kernel function. Its position depends on the kernel. */
static __always_inline u64 argument(void *ctx, u32 at)
{
	u64 value = 0;
	bpf_get_func_arg(ctx, at, &value);
	return value;
}

SEC("fentry/futex_wait")
int lop_waits(void *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct lop_task_state *t = state_of(p);
	u64 address = argument(ctx, wait_address_at);
	struct lop_futex *futex;
	if (!t || !address)
		return 0;
	let_go(p, t);
	waits_no_more(p, t);
	futex = new_futex_of(p, address);
	if (!futex)
		return 0;
	lop_atomic_add(&futex->waiting, 1);
	t->waits_since_ns = futex->since_ns;
	t->waits_at = address;
	return 0;
}

SEC("fexit/futex_wait")
int lop_waited(void *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct lop_task_state *t = state_of(p);
	if (t)
		waits_no_more(p, t);
	return 0;
}

SEC("fentry/futex_wake")
int lop_wakes(void *ctx)
{
	struct task_struct *p = bpf_get_current_task_btf();
	u64 address = argument(ctx, wake_address_at);
	struct lop_task_state *t;
	struct lop_futex *futex;
	if (!address || (u32)argument(ctx, wake_count_at) != 1)
		return 0;
	t = state_of(p);
	if (!t)
		return 0;
	t->wakes_at = address;
	if (t->woken_at != address)
		return 0;
	futex = futex_of(p, address);
	if (futex)
		futex->is_lock = true;
	let_go(p, t);
	return 0;
}

SEC("fexit/futex_wake")
int lop_woke(void *ctx)
{
	struct lop_task_state *t = state_of(bpf_get_current_task_btf());
	if (t)
		t->wakes_at = 0;
	return 0;
}
