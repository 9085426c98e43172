/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "state.h"
/* The policy's own times, where nobody asks for others, and the rules that a policy's name stands for. */
#define LOP_MS_NS 1000000ULL

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

enum lop_policy {
	LOP_SIMPLE_SETS,
	LOP_HIGHLOW,
	LOP_HIGHLOW_SPARE,
	LOP_RESERVED_CORE,
	LOP_PHASE,
	LOP_LONGEST_FIRST,
	LOP_FAIR_SHARE,
	LOP_SPECIALISE,
	LOP_SPREAD,
	LOP_GATHER,
	LOP_AUTO,
};

/*
 * The rules that a policy's name stands for. All have high/low sets by demand without a spare, and beside that:
 *     simple-sets      a set of fixed size, which is the adapter's to fill
 *     highlow-spare    a spare
 *     reserved-core    all cores high but one, which is reserved
 *     phase            sequential phases first, then all in turn
 *     longest-first    who has most work left
 *     fair-share       all in turn
 *     specialise       who gains most from speed: at once where a fast core falls idle (rank.h), beside that by exchanges (specialise.h)
 *     spread, gather   as they are called
 *     auto             all, in the order of auto.h, which leaves out what a machine has no use for; a reserved core for barrier-bound loads
 */
lop_rule void lop_choose(struct lop_config *c, enum lop_policy policy)
{
	c->sizing = LOP_SIZE_BY_DEMAND;
	c->spare = 0;
	c->most_high = 0;
	c->reserve = LOP_RESERVE_NEVER;
	c->rules = 0;
	c->domains = LOP_DOMAINS_AS_COME;
	c->specialise = policy == LOP_SPECIALISE || policy == LOP_AUTO;
	c->only_known = policy == LOP_AUTO;
	c->room_permille = policy == LOP_AUTO ? 10 : 0;
	switch (policy) {
	case LOP_SIMPLE_SETS: c->sizing = LOP_SIZE_FIXED; break;
	case LOP_HIGHLOW_SPARE: c->spare = 1; break;
	case LOP_RESERVED_CORE:
		c->sizing = LOP_SIZE_ALL;
		c->reserve = LOP_RESERVE_ASKED;
		break;
	case LOP_PHASE: c->rules = LOP_PHASES | LOP_TURNS; break;
	case LOP_LONGEST_FIRST: c->rules = LOP_LONGEST; break;
	case LOP_FAIR_SHARE: c->rules = LOP_TURNS; break;
	case LOP_SPECIALISE: c->rules = LOP_SPEEDUP; break;
	case LOP_SPREAD: c->domains = LOP_DOMAINS_SPREAD; break;
	case LOP_GATHER: c->domains = LOP_DOMAINS_GATHER; break;
	case LOP_AUTO:
		c->spare = 1;
		c->reserve = LOP_RESERVE_BY_LOAD;
		c->rules = LOP_PHASES | LOP_LONGEST | LOP_SPEEDUP | LOP_TURNS | LOP_WHOLE;
		c->domains = LOP_DOMAINS_GATHER;
		break;
	case LOP_HIGHLOW: break;
	}
}
