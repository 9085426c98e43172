/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "env.h"
#include "topology.h"
/*
 * A policy's name stands for a choice of rules; its times are fixed or follow from T_hold.
 * Tested in: config. Studied in: barriers, compile-governors, compile-parallelism, critical-sections, hybrid-laptop, recorded-build.
 */
#define LOP_MS_NS 1000000ULL
#define LOP_MINUTE_NS 60000000000ULL

/*
 * Sizing of the high set: by demand (high/low), fixed (simple sets, where a governor sets the speeds), or all cores
 * that may be in it.
 */
enum lop_sizing { LOP_SIZE_BY_DEMAND, LOP_SIZE_FIXED, LOP_SIZE_ALL };

/*
 * When one core is reserved for the operating system's own work: never, on machines with enough cores, or if asked for.
 */
enum lop_reserve { LOP_RESERVE_NEVER, LOP_RESERVE_BY_SIZE, LOP_RESERVE_ASKED };

/*
 * Rules that decide which task gets a fast core (rank.h): bits of lop_config.rules. None: the task that finds one idle.
 */
enum lop_rules {
	LOP_PHASES = 1,  /* lock holders and sequential phases first */
	LOP_LONGEST = 2, /* then the thread with most declared work left */
	LOP_SPEEDUP = 4, /* then the task that gains most from speed, before turns */
	LOP_TURNS = 8,   /* equal tasks take turns */
	LOP_WHOLE = 16,  /* with SMT, a whole core comes before a share of one (smt_spread.h) */
};
/* Which memory domain a task runs in: where it is placed, by spread.h, or by gather.h, which switches domains off. */
enum lop_domains { LOP_DOMAINS_AS_COME, LOP_DOMAINS_SPREAD, LOP_DOMAINS_GATHER };

/*
 * What runs in the green set: work that hardly gains from speed (demand.h), or work that a clock paces (pace.h) and work that
 * nobody waits for (background.h).
 */
enum lop_green_work { LOP_GREEN_WORK_NONE, LOP_GREEN_WORK_LOW_GAIN, LOP_GREEN_WORK_PACED };

/* A kind of core at a speed: a step of the ladder of pace.h. */
struct lop_rung {
	u16 tier;
	u16 speed_permille;   /* frequency, of the highest of this kind */
	u32 rate_permille;    /* work per time, of the fastest kind at its highest frequency */
};
#define LOP_MAX_RUNGS 32 /* a power of two */
#define LOP_RESERVE_SPEEDS 32 /* most speeds of the reserved core; a power of two */
#define LOP_LIGHT_CPUS 64 /* light work is placed on machines of so many CPUs at most: those with energy-aware scheduling have about a dozen */
#define LOP_FULL_SPEED 1024 /* on the scale of the kernel's uclamp */

/* What plans for memory domains go by (gather.h): the machine with all nodes off, each node that is on, each busy core. */
struct lop_power { u32 base_mw, node_mw, core_mw; };

/* The adapter fills this in before lop_start(); lop_set_times() sets the policy's own times. */
struct lop_config {
	u32 nr_cpus;
	enum lop_sizing sizing;
	u32 fixed_size;
	u32 spare;            /* high cores kept idle for the next wakeup */
	u32 most_high;        /* power cap: at most so many cores are high (cap.h); 0: no cap */
	enum lop_green_work green;
	enum lop_domains domains;
	struct lop_power power; /* all 0: not known */
	bool room;            /* cores stay for tasks that sleep for a moment (room.h) */
	bool keeps_kind;      /* with room: such tasks stay on their kind of core, too */
	bool only_known;      /* plans for memory domains move only threads of known intensity */
	u64 transition_ns;    /* until a new member runs at its speed */
	u64 hold_ns;          /* T_hold: how long a member is surplus before it leaves */
	u64 last_hold_ns;     /* the same for the last member (h_min), and for the spare if it is longer */
	u64 slice_min_ns, slice_max_ns;
	u64 period_ns;        /* every waiting task should get a slice within it, while slices stay above the minimum */
	u64 heat_period_ns;   /* between two swaps on a socket */
	s32 hot_mc;           /* a core above this is hot */
	u32 rules;            /* bits of enum lop_rules */
	u64 migration_ns;     /* cost of migrating a running task */
	u64 grace_ns;         /* how long a thread keeps its fast core after its sequential phase */
	u64 turn_ns;          /* length of a turn on a fast core */
	enum lop_reserve reserve;
	u32 reserve_raises;   /* steps from the reserved core's speed, which the adapter chooses, to the highest */
	u16 reserve_permille[LOP_RESERVE_SPEEDS]; /* the speed after so many steps, of the highest; 0: not known, and the core never returns to it */
	u32 nr_rungs;
	struct lop_rung rung[LOP_MAX_RUNGS]; /* least energy per work first; after the last one any kind at its highest speed */
	u32 rung_uj[LOP_MAX_RUNGS]; /* what work costs there: lop_cost_uj() */
	bool light;           /* light work runs as fast as it has demand for, instead of at a clock's pace (light.h); never under a power cap */
	u64 reserve_window_ns; /* more than 90 % busy in it: raised, and given up after the last step; 0: never, nor lowered */
};

/*
 * T_hold = max(10 ms, 100 transition latencies)
 * A core stays high much longer than its change of speed takes.
 */
lop_rule u64 lop_default_hold_ns(u64 transition_ns) { return lop_max(10 * LOP_MS_NS, 100 * transition_ns); }

/*
 * Hold of the last member = max(1 s, T_hold)
 * One core and the spare stay high while anything ran in the last second; no other member stays longer. Under auto,
 * where power is known, it is lop_break_even_ns(), and the spare stays for T_hold at least.
 */
lop_rule u64 lop_last_hold_ns(u64 hold_ns) { return lop_max(1000 * LOP_MS_NS, hold_ns); }

/* The times that follow from T_hold and the constant ones. The adapter fills in those of the machine (transition_ns). */
lop_rule void lop_set_times(struct lop_config *c, u64 hold_ns)
{
	c->hold_ns = hold_ns;
	c->last_hold_ns = lop_last_hold_ns(hold_ns);
	c->slice_min_ns = LOP_MS_NS;
	c->slice_max_ns = 6 * LOP_MS_NS;
	c->period_ns = 20 * LOP_MS_NS;
	c->heat_period_ns = 3 * LOP_MINUTE_NS;
	c->grace_ns = 10 * LOP_MS_NS;
	c->turn_ns = 20 * LOP_MS_NS;
	c->reserve_window_ns = 100 * LOP_MS_NS;
}

/* The policies by name. */
enum lop_policy {
#define LOP_POLICY(name, constant, about, ...) LOP_##constant,
#include "policies.def"
#undef LOP_POLICY
};

/* Sets the rules that a policy's name stands for, and clears the rest. */
lop_rule void lop_choose(struct lop_config *c, enum lop_policy policy)
{
	switch (policy) {
#define LOP_POLICY(name, constant, about, ...) case LOP_##constant: *c = (struct lop_config){ __VA_ARGS__ }; break;
#include "policies.def"
#undef LOP_POLICY
	}
}
