/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "app.bpf.h"
/*
 * Lists of threads with declared lengths, where there are more such threads than CPUs. The loader makes the lists
 * (list.h). It is told when such a thread begins, changes its length or ends, and when CPUs come and go. While each
 * such thread can have a CPU of its own, the loader is not told.
 */

/* 1: the loader was told and has not looked since. */
u32 listing;

static __always_inline void list_anew(void)
{
	if (plans_lists && !listing && !lop_atomic_cas(&listing, 0, 1))
		tell_loader(LOP_RECORD_LIST, bpf_ktime_get_ns(), 0, 0, 0);
}

static __always_inline bool are_listed(u32 threads) { return threads + (lop_has_reserved(&lopsided) ? 1 : 0) > lopsided.nr_open; }

/* Something changed about a thread. That matters only if it declared a length. */
static __always_inline void list_with(const struct lop_task_state *t)
{
	if (plans_lists && t->app && t->task.hint.length && are_listed(app_at(t->app - 1)->declared))
		list_anew();
}

/*
 * A thread now has a length (`change` 1), has none any more (-1), or has another one (0). For a new thread (`is_new`)
 * the loader is told later, since the kernel does not know the thread yet.
 */
static __always_inline void count_declared(const struct lop_task_state *t, s32 change, bool is_new)
{
	u32 before;
	if (!plans_lists || !t->app)
		return;
	before = lop_atomic_add(&app_at(t->app - 1)->declared, change);
	if (!is_new && are_listed(before + (change > 0)))
		list_anew();
}
