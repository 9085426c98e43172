/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Who runs on the reserved core, and its end. */

/*
 * Cgroups directly below the root whose tasks are the system's own work, by number (init.scope and system.slice of systemd, as far as they
 * are there). 0: none.
 */
#define LOP_SYSTEM_CGROUPS 2
const volatile u64 system_cgroups[LOP_SYSTEM_CGROUPS];
/* The loader knows of a reserved core. */
bool told_reserved;

/* The cgroup directly below the root that the task is in or below of; 0: it is in the root. */
static __always_inline u64 first_cgroup(struct task_struct *p)
{
	struct cgroup *own = BPF_CORE_READ(p, cgroups, dfl_cgrp), *first;
	if (BPF_CORE_READ(own, level) < 1)
		return 0;
	first = BPF_CORE_READ(own, ancestors[1]);
	return BPF_CORE_READ(first, kn, id);
}

/* Threads of the kernel, which rules about affinity keep where they belong, and the system's processes. */
static __always_inline bool is_system(struct task_struct *p)
{
	u64 cgroup;
	if (p->flags & PF_KTHREAD)
		return true;
	cgroup = first_cgroup(p);
	return cgroup && (cgroup == system_cgroups[0] || cgroup == system_cgroups[1]);
}

/* Told when it wakes: what it belongs to may have changed since. */
static __always_inline void note_system(struct task_struct *p, struct lop_task *t)
{
	if (reserves && !t->counted)
		t->system = is_system(p);
}

/* The reservation was given up: the loader says so, and lets interrupts go where they went before. */
static __always_inline void tell_given_up(struct lop_world *c)
{
	if (!told_reserved || lop_has_reserved(&lopsided))
		return;
	told_reserved = false;
	tell_loader(LOP_RECORD_GIVEN_UP, c->now_ns, 0, (s32)lopsided.reserved.cpu, 0);
}
