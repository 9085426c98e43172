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
