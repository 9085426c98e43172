/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* What the adapter keeps of a task. */

struct lop_task_state {
	struct lop_task task;
	u64 started_ns;     /* charged up to here while it runs */
	s32 claimed;        /* idle CPU claimed for it that it has not come to; LOP_NONE */
	s32 place;          /* where it was decided to wait, not queued yet; LOP_NONE */
	s32 group;          /* index in lopsided.groups; LOP_NONE */
	u64 group_key;      /* the task group that it was in when last looked at; 0: the root */
	bool narrowed;      /* allowed is one CPU while it may not migrate */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lop_task_state);
} task_states SEC(".maps");

static __always_inline struct lop_task_state *state_of(struct task_struct *p)
{
	return bpf_task_storage_get(&task_states, p, 0, 0);
}

/* Kernel threads of one CPU run where they are and are no demand. */
static __always_inline bool is_bound_kthread(const struct task_struct *p)
{
	return (p->flags & PF_KTHREAD) && p->nr_cpus_allowed == 1;
}

#define read_word(n)                                                                                                  \
	if (bpf_core_type_size(struct cpumask) > (n) * 8)                                                             \
		allowed->word[n] = mask->bits[n];                                                                     \
	else                                                                                                          \
		allowed->word[n] = 0

static __always_inline void read_mask(struct lop_cpus *allowed, const struct cpumask *mask)
{
	read_word(0);
	read_word(1);
	read_word(2);
	read_word(3);
	read_word(4);
	read_word(5);
	read_word(6);
	read_word(7);
}
