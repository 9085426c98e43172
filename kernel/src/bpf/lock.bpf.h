/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "hints.bpf.h"
/*
 * Who holds a lock that others wait for, of programs that say nothing: seen where threads wait for a futex and wake one another.
 *
 * A lock is handed over by waking one of those that wait. Who is woken holds it next; if others wait on, it is said of it that it is a lock's
 * holder, before it is placed. It holds the lock until it wakes the next one there, or waits itself. One that is woken and never wakes the next
 * was waiting for something else, a condition or work: so a futex is taken for a lock's from the first time that somebody who was woken
 * there wakes one there. Locks that processes share are seen as far as one process waits for them.
 */

/* The loader found where the kernel's functions have these arguments. */
const volatile bool sees_locks;
const volatile u32 wait_address_at, wake_address_at, wake_count_at;

struct lop_futex_key {
	u64 address;
	u32 process;
	u32 unused;
};
struct lop_futex {
	u64 since_ns;       /* tells it from an earlier one of the same key, which the map forgot */
	u32 waiting;        /* threads that sleep, or are about to */
	bool is_lock;
};

/* What nobody used for longest is forgotten: processes need not take leave. */
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

/* The flags of a thread: what was said of it, and what is seen. */
static __always_inline u32 flags_of(const struct lop_task_state *t, const struct lop_hint_record *said)
{
	return (said ? said->flags : 0) | (t->holds ? LOP_LOCK_HOLDER : 0);
}

lop_subprog bool policy_hears(struct lop_world *c lop_nonnull, struct lop_task_state *t lop_nonnull, u32 flags)
{
	lop_set_hints(&lopsided, c, &t->task, app_of(t), flags, c->now_ns);
	return true;
}

/* Only what is not said anyway changes something. */
static __always_inline void set_hints(struct lop_world *c, struct task_struct *p, struct lop_task_state *t, u32 flags)
{
	if (!((flags ^ t->task.hint.flags) & (LOP_SEQUENTIAL | LOP_LOCK_HOLDER)))
		return;
	tell(LOP_RECORD_SAY, c->now_ns, (u64)p, 0, flags);
	policy_hears(c, t, flags);
}

/* It waits no more at that futex; null: it is forgotten. */
static __always_inline struct lop_futex *count_out(const struct task_struct *p, struct lop_task_state *t)
{
	struct lop_futex *futex = futex_of(p, t->waits_at);
	if (futex && futex->since_ns == t->waits_since_ns)
		lop_atomic_add(&futex->waiting, -1);
	t->waits_at = 0;
	return futex;
}

/* Seen at its end, or later: the kernel leaves a program out where it would interrupt itself. */
static __always_inline void waits_no_more(const struct task_struct *p, struct lop_task_state *t)
{
	if (sees_locks && t->waits_at)
		count_out(p, t);
}

/* A thread is woken, and not placed yet. If by one who wakes there one of those that wait, it holds the lock next. */
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
	set_hints(c, p, t, flags_of(t, hint_of(p)));
	log_end(locked);
}

/* What it waited for came another way: its holder gave up, or those that wait did. */
static __always_inline bool holds_in_vain(const struct task_struct *p, const struct lop_task_state *t)
{
	const struct lop_futex *futex;
	if (!sees_locks || !t->holds)
		return false;
	futex = futex_of(p, t->woken_at);
	return !futex || !futex->waiting;
}

/* The thread that runs here holds it no longer. Interrupts off: the handle is this CPU's. */
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
	set_hints(c, p, t, flags_of(t, hint_of(p)));
	log_end(locked);
	bpf_local_irq_restore(&flags);
}

/* Of a function that is followed here; its order is that of this kernel. */
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
