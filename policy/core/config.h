/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "env.h"
/* What a policy is asked for, its own times where nobody asks for others, and the rules that its name stands for. */
#define LOP_MS_NS 1000000ULL
#define LOP_MINUTE_NS 60000000000ULL

/* Sizes of the high set: by demand (high/low), fixed (simple sets, where a governor sets the speeds), or all cores that may be in it. */
enum lop_sizing { LOP_SIZE_BY_DEMAND, LOP_SIZE_FIXED, LOP_SIZE_ALL };

/* Whether one core is reserved for the operating system's own work: never, on machines with enough cores, if asked for, or as barrier.h says. */
enum lop_reserve { LOP_RESERVE_NEVER, LOP_RESERVE_BY_SIZE, LOP_RESERVE_ASKED, LOP_RESERVE_BY_LOAD };

/* Which rules say who gets the fast cores (rank.h): bits of lop_config.rules. None: whoever finds them idle. */
enum lop_rules {
	LOP_PHASES = 1,  /* lock holders and sequential phases first */
	LOP_LONGEST = 2, /* then who has most work left, as declared */
	LOP_SPEEDUP = 4, /* then who gains most from speed, before turn */
	LOP_TURNS = 8,   /* equals share them in turn */
	LOP_WHOLE = 16,  /* on a machine with SMT a whole core goes before a share of one (smt_spread.h) */
};
/* Which memory domain a task runs in: as it comes, by spread.h, or by gather.h, which switches domains off. */
enum lop_domains { LOP_DOMAINS_AS_COME, LOP_DOMAINS_SPREAD, LOP_DOMAINS_GATHER };

/* Filled by the adapter before lop_start(); the policy's own times by lop_set_times(). */
struct lop_config {
	u32 nr_cpus;
	enum lop_sizing sizing;
	u32 fixed_size;
	u32 spare;            /* high cores kept idle for what comes next */
	u32 most_high;        /* power cap: so many cores are high at most, see cap.h; 0: no cap */
	bool green;           /* work that hardly gains from speed runs in the green set */
	enum lop_domains domains;
	u32 room_permille;    /* share of T_hold that migrations of woken tasks may cost before a set has room beyond demand, see room.h; 0: never any */
	bool only_known;      /* no plan for memory domains moves a thread of which nothing is known */
	bool specialise;      /* tasks that gain most from fast cores change with others that have them, see specialise.h */
	u64 transition_ns;    /* a new member runs at its speed after this */
	u64 hold_ns;          /* T_hold: surplus lasts this long before a member leaves */
	u64 last_hold_ns;     /* the same for the last member (h_min: 1 while anything ran this recently), and for the spare if it is longer */
	u64 slice_min_ns, slice_max_ns;
	u64 period_ns;        /* within it every waiting task should get a slice, while slices stay above the minimum */
	u64 heat_period_ns;   /* a swap per socket at most this often */
	s32 hot_mc;           /* a core above it is hot */
	u32 rules;            /* of enum lop_rules */
	u64 migration_ns;     /* what it costs a running task to go on elsewhere */
	u64 grace_ns;         /* a thread keeps its fast core so long after its sequential phase */
	u64 turn_ns;          /* equals share fast cores in turns of this length */
	enum lop_reserve reserve;
	u32 reserve_raises;   /* steps from the reserved core's speed, which is the adapter's to choose, to the highest */
	u64 reserve_window_ns; /* more than 90 % busy for so long, it is raised, and given up after the last step; 0: never */
};

/*
 * T_hold = max(10 ms, 100 transition latencies)
 * A core stays high much longer than its change of speed takes.
 */
lop_rule u64 lop_default_hold_ns(u64 transition_ns) { return lop_max(10 * LOP_MS_NS, 100 * transition_ns); }

/*
 * Hold of the last member = max(1 s, T_hold)
 * One core, and the spare, stay high while anything ran in the last second, and no other stays longer. Under auto, where watts are known, it is
 * lop_break_even_ns(), and the spare has T_hold at least.
 */
lop_rule u64 lop_last_hold_ns(u64 hold_ns) { return lop_max(1000 * LOP_MS_NS, hold_ns); }

/* All times that follow from T_hold or from nothing. Those of the machine (transition_ns) are the adapter's to fill. */
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

/* The rules that a policy's name stands for, and nothing else. */
lop_rule void lop_choose(struct lop_config *c, enum lop_policy policy)
{
	switch (policy) {
#define LOP_POLICY(name, constant, about, ...) case LOP_##constant: *c = (struct lop_config){ __VA_ARGS__ }; break;
#include "policies.def"
#undef LOP_POLICY
	}
}
