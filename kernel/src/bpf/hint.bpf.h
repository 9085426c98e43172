/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Passes hints (hints.bpf.h) to the policy. */

/* Lengths are compared within one application only. */
static __always_inline void declare_length(struct task_struct *p, struct lop_task_state *t, struct lop_app *app, u32 length, u64 now_ns)
{
	if (!app || length == t->task.hint.length)
		return;
	tell(LOP_RECORD_LENGTH, now_ns, (u64)p, 0, length);
	lop_declare_length(&t->task, app, length);
}

/* Applies the length that the forking thread declared for its next child. It counts for one child only. */
static __always_inline void inherit(struct task_struct *p, struct lop_task_state *t)
{
	struct task_struct *creator = bpf_get_current_task_btf();
	struct lop_task_state *of_creator = state_of(creator);
	struct lop_hint_record *hint = of_creator ? hint_of(creator, of_creator) : 0;
	u32 length = hint ? READ_ONCE(hint->next_length) : 0;
	unsigned long flags = 0;
	bool locked;
	if (!length)
		return;
	locked = log_begin_open(&flags);
	declare_length(p, t, app_of(t), length, bpf_ktime_get_ns());
	hint->next_length = 0;
	log_end_open(locked, &flags);
}

/*
 * The parallelism of its application, by the thread that declared last; 0: it says nothing any longer. What root said counts until that thread ends, whatever
 * other threads say themselves.
 */
static __always_inline void declare(struct lop_world *c, struct task_struct *p, struct lop_task_state *t, struct lop_app *app, u32 parallelism)
{
	struct lop_app_state *about = app_at(t->app - 1);
	bool is_own = about->declarer == (u32)p->pid, by_root = root_hint_of(p);
	if (is_own || (parallelism && (by_root || !about->declarer || !about->by_root))) {
		tell(LOP_RECORD_DECLARE, c->now_ns, (u64)p, 0, parallelism);
		if (!lop_declare(&lopsided, c, app, parallelism, c->now_ns))
			return;
		about->declarer = parallelism ? (u32)p->pid : 0;
		about->by_root = by_root;
	}
	t->hinted_parallelism = parallelism;
}

/* The thread declares a parallelism, and the one that counted has ended. */
static __always_inline bool declares_again(const struct lop_task_state *t, u32 parallelism)
{
	return parallelism && !app_at(t->app - 1)->declarer;
}

/* Tells the policy what has changed in the hint of a thread. Null: it has none any longer. */
static __always_inline void take_over(struct lop_world *c, struct task_struct *p, struct lop_task_state *t, const struct lop_hint_record *hint)
{
	struct lop_app *app = app_of(t);
	u32 flags = flags_of(t, hint), changed = flags ^ t->task.hint.flags;
	u32 parallelism = hint ? READ_ONCE(hint->parallelism) : 0, length = hint ? READ_ONCE(hint->length) : 0;
	if (length != t->hinted_length)
		declare_length(p, t, app, length, c->now_ns);
	t->hinted_length = length;
	set_hints(c, p, t, flags);
	if (changed & LOP_SPINNING) {
		tell(LOP_RECORD_SPIN, c->now_ns, (u64)p, 0, flags & LOP_SPINNING);
		lop_spin(&lopsided, c, &t->task, app, group_of(t), flags & LOP_SPINNING, c->now_ns);
	}
	if (app && (parallelism != t->hinted_parallelism || declares_again(t, parallelism)))
		declare(c, p, t, app, parallelism);
	t->hinted = hint;
}

/* The hint of a thread about its application ends with the thread. */
static __always_inline void withdraw_hint(struct lop_world *c, struct task_struct *p, struct lop_task_state *t)
{
	struct lop_app *app = app_of(t);
	if (!app)
		return;
	keep_no_children(p, t);
	if (t->hinted_parallelism)
		declare(c, p, t, app, 0);
}

/*
 * Reads the hint of a thread when it starts to run and when it is charged in dispatch: at the end of its slice, or when
 * lop_hint_apply() preempts it.
 */
static __always_inline void read_hint(struct lop_world *c, struct task_struct *p, struct lop_task_state *t)
{
	const struct lop_hint_record *hint = hint_of(p, t);
	bool in_vain = holds_in_vain(p, t), locked;
	if (!hint && !t->hinted && !in_vain)
		return;
	locked = log_begin();
	if (in_vain) {
		t->holds = false;
		set_hints(c, p, t, flags_of(t, hint));
	}
	if (hint || t->hinted)
		take_over(c, p, t, hint);
	log_end(locked);
}

/* At each tick of a running thread: what it says now is read at the end of its slice, which comes at once. */
static __always_inline void hear(struct task_struct *p, struct lop_task_state *t)
{
	const struct lop_hint_record *hint = may_have_page(t) ? hint_of(p, t) : 0;
	if (hint && flags_of(t, hint) != t->task.hint.flags)
		scx_bpf_task_set_slice(p, 0);
}

/*
 * User space runs this after it has written a hint. A running thread is preempted, so that its hint is read at once.
 * Any other thread's hint is read when it starts to run.
 */
SEC("syscall")
int lop_hint_apply(struct lop_hint_args *args)
{
	struct task_struct *p = bpf_task_from_vpid(args->thread);
	if (!p)
		return -ESRCH;
	any_hint_set = true;
	if (scx_bpf_task_running(p))
		kick(scx_bpf_task_cpu(p), SCX_KICK_PREEMPT);
	bpf_task_release(p);
	return 0;
}
