/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* What the adapter keeps of a task. */

struct lop_task_state {
	struct lop_task task;
	u64 started_ns;     /* charged up to here while it runs */
	s32 claimed;        /* idle CPU claimed for it that it has not come to; LOP_NONE */
	s32 place;          /* where it was decided to wait, not queued yet; LOP_NONE */
	u32 speedup_permille; /* as the loader measured it, or has it from a hint; 0: unknown */
	s32 group;          /* its slot, see lop_env_group(); LOP_NONE */
	u64 group_key;      /* the task group that it was in when last looked at; 0: the root */
	u32 app;            /* 1 + its place in `apps`; 0: none */
	u32 said_parallelism; /* as last taken over from its hint */
	u64 waits_at;       /* address of the futex that it sleeps for, or is about to; 0: none. So below */
	u64 waits_since_ns; /* which futex that was */
	u64 wakes_at;       /* it wakes one of those that wait there at this moment */
	u64 woken_at;       /* it was woken there, and since then woke nobody there and waited for nothing */
	bool holds;         /* seen as the holder of a lock that others wait for */
	bool narrowed;      /* allowed is one CPU while it may not migrate */
	bool leaves;        /* it runs, or waits, where a plan does not want it any more, and is queued anew at its next tick */
	bool gone;          /* the log of decisions says that it is: a process that nobody waits for can still be found by its number */
	bool displaced;     /* a higher class took its CPU, with something left of its slice */
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

/*
 * Storage for a task that is new. The kernel's allocator takes no lock that is held at this moment and says no instead, and a
 * fork would fail for it: tried again, while the task may be preempted, for as long as a lock may well be held.
 */
#define LOP_STORAGE_TRIES 10000
#define LOP_STORAGE_PATIENCE_NS (50 * 1000 * 1000ull)
static __noinline struct lop_task_state *new_state_of(struct task_struct *p)
{
	u64 begin_ns = bpf_ktime_get_ns();
	struct lop_task_state *t = 0;
	int n;
	bpf_for(n, 0, LOP_STORAGE_TRIES) {
		t = bpf_task_storage_get(&task_states, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (t || bpf_ktime_get_ns() - begin_ns > LOP_STORAGE_PATIENCE_NS)
			break;
	}
	return t;
}

/*
 * Threads of the kernel do what is short, as a rule, and are no demand (lop_place_kthread()); those of one CPU run there at once, since
 * others wait for them. One that used up its slice is a task like any other until it sleeps.
 */
static __always_inline bool is_brief(const struct task_struct *p, const struct lop_task_state *t, u64 enq_flags)
{
	bool used_up = !(enq_flags & (SCX_ENQ_WAKEUP | SCX_ENQ_REENQ)) && !p->scx.slice && !(t && t->displaced);
	return (p->flags & PF_KTHREAD) && !used_up;
}

/* What the log of decisions says of one that wakes. */
static __always_inline u32 what_wakes(const struct lop_task *t)
{
	return (t->brief ? LOP_WOKEN_BRIEF : 0) | (t->system ? LOP_WOKEN_SYSTEM : 0);
}

/* Nice 0 as the kernel keeps priorities. */
#define LOP_STATIC_PRIO_NICE_0 120
#define LOP_SCHED_IDLE 5

/* What the kernel tells of it is in whole hundredths of nice 0. */
static __always_inline u32 weight_of_task(const struct task_struct *p)
{
	return p->policy == LOP_SCHED_IDLE ? LOP_WEIGHT_IDLE : lop_weight_of_nice(p->static_prio - LOP_STATIC_PRIO_NICE_0);
}

/* As far as they are read, of kernels that have uclamp: the types here are of one without. */
struct uclamp_se___read {
	unsigned int value : 11;
	unsigned int active : 1; /* the value counts now */
} __attribute__((preserve_access_index));
struct task_struct___clamped {
	struct uclamp_se___read uclamp_req[2]; /* least and most, as the task asked */
	struct uclamp_se___read uclamp[2];     /* and as far as its cgroup and the system let it, while it is queued or runs */
} __attribute__((preserve_access_index));

/* What it gains from speed, x 1000: as the loader knows it, within what its owner says by uclamp. */
static __always_inline u32 wished_speedup(const struct task_struct *p, const struct lop_task_state *t)
{
	u32 known = t->speedup_permille ? t->speedup_permille : LOP_UNMEASURED_SPEEDUP;
	const struct task_struct___clamped *about = (const void *)p;
	u32 min, max;
	if (!bpf_core_field_exists(about->uclamp_req))
		return known;
	/* From the task on: of a pointer to the field the offset of the field would be added twice. */
	if (BPF_CORE_READ_BITFIELD(about, uclamp[1].active)) {
		min = BPF_CORE_READ_BITFIELD(about, uclamp[0].value);
		max = BPF_CORE_READ_BITFIELD(about, uclamp[1].value);
	} else {
		min = BPF_CORE_READ_BITFIELD(about, uclamp_req[0].value);
		max = BPF_CORE_READ_BITFIELD(about, uclamp_req[1].value);
	}
	return lop_wished_speedup(known, min, max);
}

static __always_inline bool is_bound(const struct task_struct *p) { return (p->flags & PF_KTHREAD) && p->nr_cpus_allowed == 1; }

/* The policy has heard of it: it is active, or visits. */
static __always_inline bool is_known(const struct task_struct *p, const struct lop_task_state *t)
{
	return t->task.counted || !is_bound(p);
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
