/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
/*
 * Records of what an adapter tells the policy, and of what the policy decides. The log of decisions has them in the order in
 * which the calls were made; played against a native build, the same calls lead to the same decisions.
 */

enum lop_record_kind {
	/*
	 * Asks the loader to set `cpu` to the speed of the set in the lowest 8 bits of `value`. Above these: for a green
	 * CPU its share of its highest frequency, x 1000.
	 */
	LOP_RECORD_SPEED,
	LOP_RECORD_GIVEN_UP,  /* `cpu` is no longer reserved */
	LOP_RECORD_LOOK,      /* a thread that is worth a plan runs */
	LOP_RECORD_WARMS,     /* a task runs while no temperature is read */
	LOP_RECORD_ISOLATED,  /* the set of isolated CPUs may have changed */
	LOP_RECORD_LIMIT,     /* a cgroup has got a finite limit of CPU time */
	LOP_RECORD_EXIT,      /* the program has ended */
	/* Only while decisions are logged. First decisions of the policy, each after the call that led to it. */
	LOP_RECORD_SET,       /* `cpu` belongs to the set `value` now */
	LOP_RECORD_PLACED,    /* lop_wake() chose `cpu`, `value`: claimed; or lop_enqueue() starts `task` there, claimed */
	LOP_RECORD_QUEUED,    /* lop_enqueue() put `task` in the queue `value` */
	LOP_RECORD_PREEMPT,   /* preempts what runs on `cpu` */
	LOP_RECORD_RESERVED,  /* `cpu` is on the reserved core, whose speed is raised by `value` steps */
	LOP_RECORD_LEAVES,    /* after lop_set_domain(): `task` is elsewhere and has to leave */
	/* Then calls of the policy, in the order in which they were made. `value` with an adjective is a flag. */
	LOP_RECORD_START,     /* lop_start(), `value`: all online CPUs are idle; the kernel reports that later, CPU by CPU */
	/*
	 * Task `task` (its address, the only name for its whole life) may use the CPUs in `words`. `value`: 1 + the
	 * place of its application; 0: it has none.
	 */
	LOP_RECORD_TASK,
	LOP_RECORD_ALLOWED,   /* the affinity of `task` is now `words` */
	LOP_RECORD_USER,      /* lop_belong() of `task` to the user `cpu`, with the weight `value` */
	LOP_RECORD_BACKGROUND, /* lop_task.nobody_waits of `task` is now `value` */
	LOP_RECORD_GONE,      /* `task` no longer exists */
	LOP_RECORD_CLOCK,     /* lop_task.clock_ns of `task`, which wakes next, is so many ns ago: `cpu` << 32 | `value` */
	LOP_RECORD_WAKE,      /* lop_wake(), last on `cpu`, `value`: bits of enum lop_woken */
	LOP_RECORD_ENQUEUE,   /* lop_enqueue() at `cpu`; if `value`, lop_wait_at_claimed(), `cpu` is claimed */
	LOP_RECORD_DEQUEUE,
	LOP_RECORD_STARTED,   /* lop_running(), lop_started() on `cpu`, `value`: gain from speed x 1000 */
	LOP_RECORD_RAN,       /* lop_stopping() on `cpu`, `value`: ns; only where work is paced, as only virtual times follow from it elsewhere */
	LOP_RECORD_STOPPED,   /* lop_stopped() on `cpu`, `value`: bits of enum lop_how_stopped */
	LOP_RECORD_BLOCK,
	LOP_RECORD_ENDED,
	LOP_RECORD_FORGET,    /* lop_forget(), lop_pace_exits() */
	LOP_RECORD_LENGTH,    /* lop_declare_length() of `value` */
	LOP_RECORD_HINTS,     /* lop_set_hints() of the flags `value` */
	LOP_RECORD_SPIN,      /* lop_spin(), `value`: spinning */
	LOP_RECORD_DECLARE,   /* lop_declare() of `value` for the process of `task` */
	LOP_RECORD_IDLE,      /* lop_cpu_idle() of `cpu`, `value`: idle */
	LOP_RECORD_TIMER,
	LOP_RECORD_ONLINE,
	LOP_RECORD_OFFLINE,
	LOP_RECORD_ANCHOR,    /* lop_anchor_anew() of `task` */
	LOP_RECORD_TAKEN,     /* lop_cpu_taken() of `cpu`, `value`: taken */
	/* Orders of the loader (enum lop_order_kind), which are calls of the policy too. */
	LOP_RECORD_DOMAIN,    /* lop_set_domain() of `task`, now at `cpu`, `value`: memory domain, (u32)LOP_NONE: any */
	LOP_RECORD_DOMAIN_ON, /* lop_set_domain_on() of the memory domain `value` */
	LOP_RECORD_DOMAIN_OFF,
	LOP_RECORD_REST,      /* lop_end_plans() */
	LOP_RECORD_GOAL,      /* lop_set_goal(), with a struct lop_goal_config */
	/* What the simulator and the agent do, too, and of it the kernel LOP_RECORD_SHARES. */
	LOP_RECORD_SPEEDUP,   /* lop_task.speedup_permille of `task` is now `value` */
	LOP_RECORD_SHARES,    /* lop_share_memory() for the application of `task`, `value`: 1 + the only node of its memory; 0: there are several */
	LOP_RECORD_EXITS,     /* lop_pace_exits() of `task` */
	LOP_RECORD_LATE,      /* lop_claim_late() of `task` */
	LOP_RECORD_TEMPERATURE, /* `cpu` has `value` thousandths of a degree Celsius in the next LOP_RECORD_HEAT */
	LOP_RECORD_HEAT,      /* lop_rotate_heat() */
};

/* Bits: what the policy has to know about a waking task. */
enum lop_woken {
	LOP_WOKEN_BRIEF = 1,  /* lop_task.brief */
	LOP_WOKEN_SYSTEM = 2, /* lop_task.system */
	LOP_WOKEN_AHEAD = 4,  /* lop_task.ahead, which follows from virtual times, as the next one does */
};

/* Bits: how a task stopped. */
enum lop_how_stopped {
	LOP_STOPPED_RUNNABLE = 1,
	LOP_STOPPED_AHEAD = 2,
};

#define LOP_RECORD_WORDS 8

struct lop_record {
	u64 at_ns;
	u64 task;
	u32 kind;
	s32 cpu;
	u32 value;
	u32 unused;
};

/* For records with a set of CPUs: LOP_RECORD_TASK and LOP_RECORD_ALLOWED. */
struct lop_record_of_cpus {
	struct lop_record record;
	u64 words[LOP_RECORD_WORDS];
};

/* The fields of lop_config that a change of the goal changes in the running scheduler (goal.h). */
struct lop_goal_config {
	u64 spare, last_hold_ns;
	u64 keeps_kind;       /* a flag */
	u64 domains;          /* enum lop_domains */
};

/* LOP_RECORD_GOAL */
struct lop_record_of_goal {
	struct lop_record record;
	struct lop_goal_config goal;
};
