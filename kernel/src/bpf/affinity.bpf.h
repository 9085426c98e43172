/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* The affinity that the policy knows follows migrations that are disabled and CPUs that come and go. */

/*
 * Whether the affinity known to the policy may be outdated: the task could not migrate, or CPUs that are not isolated
 * went offline or came back.
 */
static __always_inline bool is_outdated(const struct lop_task_state *t)
{
	return t->narrowed || (isolates && (t->task.bound || is_stranded(t)));
}

/* The task is bound to isolated CPUs because no other CPU of its affinity was online, and now one is. */
static __always_inline bool is_bound_no_more(const struct task_struct *p, const struct lop_task_state *t)
{
	struct lop_cpus *allowed = &contexts[lop_cpu_index(bpf_get_smp_processor_id())].candidates;
	if (!isolates || !t->task.bound)
		return false;
	read_mask(allowed, p->cpus_ptr);
	return lop_cpus_meet(allowed, &lopsided.open);
}

/* While migration is disabled, the task's CPU is its only allowed one. */
static __always_inline void follow_affinity(struct lop_world *c, struct task_struct *p, struct lop_task_state *t)
{
	bool narrow = is_migration_disabled(p) && p->nr_cpus_allowed > 1;
	struct lop_cpus *allowed = &c->candidates;
	struct lop_cpus none = {};
	bool locked;
	if (!narrow && !is_outdated(t))
		return;
	t->narrowed = narrow;
	*allowed = none;
	if (narrow)
		lop_cpus_add(allowed, lop_cpu_index((u32)scx_bpf_task_cpu(p)));
	else
		read_mask(allowed, p->cpus_ptr);
	locked = log_begin();
	lop_set_allowed(&lopsided, &t->task, allowed);
	tell_cpus(LOP_RECORD_ALLOWED, c->now_ns, (u64)p, 0, &t->task.allowed);
	log_end(locked);
}
