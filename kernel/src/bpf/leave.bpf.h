/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* What waits for a CPU that goes offline. */

/* Nowhere that is online may it run, as far as it is known by now. */
static __always_inline bool is_stranded(const struct lop_task_state *t)
{
	return !lop_cpus_meet(&t->task.allowed, &lopsided.online);
}

/*
 * What waits in a queue while a CPU goes. A task that counted on it finds another member. One that may run nowhere else is given to
 * the CPU: the kernel asks no scheduler on behalf of a CPU that is going, but what it finds there it runs and so pushes away, to
 * where it decides by its own rules. Left in the queue it would keep the CPU from going.
 */
static __noinline void leave_cpu(u32 queue, u32 cpu)
{
	struct task_struct *p;
	bpf_for_each(scx_dsq, p, queue, 0) {
		struct lop_task_state *t = state_of(p);
		unsigned long flags = 0;
		bool locked;
		if (!t || t->task.anchor != (s32)cpu)
			continue;
		if (is_stranded(t)) {
			scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL_ON | cpu, 0);
			continue;
		}
		locked = log_begin_open(&flags);
		tell(LOP_RECORD_ANCHOR, hotplug_context.now_ns, (u64)p, (s32)cpu, 0);
		lop_anchor_anew(&lopsided, &hotplug_context, &t->task, hotplug_context.now_ns);
		log_end_open(locked, &flags);
	}
}
