/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Which tasks run on the reserved core, and how the loader hears that it is given up. */

/*
 * Ids of cgroups directly below the root whose tasks are the system's own work: systemd's init.scope and system.slice,
 * where they exist. 0: none.
 */
#define LOP_SYSTEM_CGROUPS 2
const volatile u64 system_cgroups[LOP_SYSTEM_CGROUPS];
/* The loader knows that a core is reserved. */
bool told_reserved;

/*
 * Id of the ancestor directly below the root of the task's cgroup, or of that cgroup itself. 0: the task is in the
 * root.
 */
static __always_inline u64 first_cgroup(struct task_struct *p)
{
	struct cgroup *own = BPF_CORE_READ(p, cgroups, dfl_cgrp), *first;
	if (BPF_CORE_READ(own, level) < 1)
		return 0;
	first = BPF_CORE_READ(own, ancestors[1]);
	return BPF_CORE_READ(first, kn, id);
}

/* Kernel threads, which affinity rules keep where they belong, and the processes of the system's cgroups. */
static __always_inline bool is_system(struct task_struct *p)
{
	u64 cgroup;
	if (p->flags & PF_KTHREAD)
		return true;
	cgroup = first_cgroup(p);
	return cgroup && (cgroup == system_cgroups[0] || cgroup == system_cgroups[1]);
}

/* Checked at each wakeup, since the task's cgroup may have changed. */
static __always_inline void note_system(struct task_struct *p, struct lop_task *t)
{
	if (reserves && !t->counted)
		t->system = is_system(p);
}

/* The reservation was given up: the loader reports that and restores the interrupt affinities. */
static __always_inline void tell_given_up(struct lop_world *c)
{
	if (!told_reserved || lop_has_reserved(&lopsided))
		return;
	told_reserved = false;
	tell_loader(LOP_RECORD_GIVEN_UP, c->now_ns, 0, (s32)lopsided.reserved.cpu, 0);
}
