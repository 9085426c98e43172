/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Per-task state of the adapter, in task storage. */

struct lop_task_state {
	struct lop_task task;
	u64 started_ns;     /* its run time is charged up to here */
	s32 claimed;        /* idle CPU claimed for it on which it has not run yet; LOP_NONE */
	s32 place;          /* CPU at which it is to wait, while it is not queued yet; LOP_NONE */
	u32 speedup_permille; /* measured by the loader or taken from a hint; 0: unknown */
	s32 group;          /* its slot, see lop_env_group(); LOP_NONE */
	u64 group_key;      /* its task group at the last look, see key_of_group(); 0: the root */
	u32 app;            /* 1 + the place of its application in `apps`; 0: none */
	u32 hinted_parallelism; /* parallelism last taken from its hint */
	u32 hinted_length;  /* the same of its length; 0 also if it has one from its creator */
	u32 no_page_at;     /* pages_given when its process was found to have no page */
	u64 waits_at;       /* address of the futex that it waits for, or is about to; 0: none */
	u64 waits_since_ns; /* since_ns of that futex */
	u64 wakes_at;       /* futex on which it is in futex_wake() for one waiter; 0: none */
	u64 woken_at;       /* futex where it was woken, until it wakes a thread there or waits; 0: none */
	bool holds;         /* seen to hold a lock for which others wait */
	bool narrowed;      /* its `allowed` is one CPU while its migration is disabled */
	bool leaves;        /* a plan wants it elsewhere: it is queued again at its next tick */
	bool gone;          /* logged as ended: lop_order() can still find a zombie by its pid */
	bool hinted;        /* something was taken from a hint */
	bool displaced;     /* a higher class took its CPU before its slice was used up */
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
 * Storage for a new task. The kernel's allocator tries its lock and fails if that is held, and a failure here would
 * fail a fork. So this tries again, in a preemptible context, for as long as a lock may reasonably be held.
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
 * Kernel threads usually run for a short time and are no demand (lop_place_kthread()). A thread restricted to one CPU
 * starts there at once, since others wait for it. A kernel thread that used up its slice is a task like any other until
 * it sleeps.
 */
static __always_inline bool is_brief(const struct task_struct *p, const struct lop_task_state *t, u64 enq_flags)
{
	bool used_up = !(enq_flags & (SCX_ENQ_WAKEUP | SCX_ENQ_REENQ)) && !p->scx.slice && !(t && t->displaced);
	return (p->flags & PF_KTHREAD) && !used_up;
}

/* The bits of LOP_RECORD_WAKE. */
static __always_inline u32 what_wakes(const struct lop_task *t)
{
	return (t->brief ? LOP_WOKEN_BRIEF : 0) | (t->system ? LOP_WOKEN_SYSTEM : 0) | (t->ahead ? LOP_WOKEN_AHEAD : 0);
}

/* static_prio of nice 0. */
#define LOP_STATIC_PRIO_NICE_0 120
#define LOP_SCHED_IDLE 5

/* Not from scx.weight, which the kernel rounds to hundredths of the weight of nice 0. */
static __always_inline u32 weight_of_task(const struct task_struct *p)
{
	return p->policy == LOP_SCHED_IDLE ? LOP_WEIGHT_IDLE : lop_weight_of_nice(p->static_prio - LOP_STATIC_PRIO_NICE_0);
}

/* The fields that are read here, of kernels with uclamp: vmlinux.h comes from a kernel without. */
struct uclamp_se___read {
	unsigned int value : 11;
	unsigned int active : 1; /* `value` applies now */
} __attribute__((preserve_access_index));
struct task_struct___clamped {
	struct uclamp_se___read uclamp_req[2]; /* min and max as the task asked */
	struct uclamp_se___read uclamp[2];     /* as limited by its cgroup and the system, while queued or running */
} __attribute__((preserve_access_index));

/* The task's uclamp values, 0 to 1024; on kernels without uclamp those of a task that sets none. */
struct clamps { u32 min, max; };
static __always_inline struct clamps clamps_of(const struct task_struct *p)
{
	const struct task_struct___clamped *about = (const void *)p;
	struct clamps of = { 0, LOP_FULL_SPEED };
	if (!bpf_core_field_exists(about->uclamp_req))
		return of;
	/* The reads start from the task: with a pointer to the field, CO-RE would add the field's offset twice. */
	if (BPF_CORE_READ_BITFIELD(about, uclamp[1].active)) {
		of.min = BPF_CORE_READ_BITFIELD(about, uclamp[0].value);
		of.max = BPF_CORE_READ_BITFIELD(about, uclamp[1].value);
	} else {
		of.min = BPF_CORE_READ_BITFIELD(about, uclamp_req[0].value);
		of.max = BPF_CORE_READ_BITFIELD(about, uclamp_req[1].value);
	}
	return of;
}

/* Speedup x 1000: what the loader knows, clamped to the task's uclamp values. */
static __always_inline u32 clamp_speedup(const struct task_struct *p, const struct lop_task_state *t)
{
	u32 known = t->speedup_permille ? t->speedup_permille : LOP_UNMEASURED_SPEEDUP;
	struct clamps clamps = clamps_of(p);
	return lop_clamp_speedup(known, clamps.min, clamps.max);
}

static __always_inline bool is_per_cpu_kthread(const struct task_struct *p) { return (p->flags & PF_KTHREAD) && p->nr_cpus_allowed == 1; }

/* The policy knows the task: it is counted as active, or is not a kernel thread restricted to one CPU. */
static __always_inline bool is_known(const struct task_struct *p, const struct lop_task_state *t)
{
	return t->task.counted || !is_per_cpu_kthread(p);
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
