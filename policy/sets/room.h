/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "config.h"
#include "state.h"
/*
 * A task that sleeps for a moment finds its core as it left it (our choice).
 * Threads that take turns at a lock are never all active, so that demand asks for fewer cores than there are threads. A core that
 * leaves between two turns is missed at the next one: the thread goes to another core, takes it from the thread that comes back
 * there, and so on for as long as they share the lock. So
 *     1. a surplus member stays while tasks come back to it, lop_has_rested()
 *     2. a task that finds its last CPU taken leaves others theirs (place.h)
 * and where slow cores are the cheaper ones (auto.h), so that an idle fast core is not worth a change of kinds,
 *     3. a task that returns soon goes to its last CPU, unless a faster one has rested (place.h)
 *     4. rank moves a task to another core once it has run for 2 ms, if nothing else is known of it (pull.h)
 * The times were chosen by looking at everything: half a millisecond to 8 instead of 2, and 0.5 to 10 instead of 1, free as many cells.
 * Tested in: room. Studied in: hybrid-laptop.
 */

/* An adapter that makes room only by some configurations defines this as a constant of its own, so the verifier drops the rules. */
#ifndef lop_uses_room
#define lop_uses_room(s) ((s)->config.room)
#endif

/*
 * The task comes back while its last core would still be high, had it become surplus when the task went to sleep: after that
 * another high core is as good.
 *     now - slept < T_hold
 */
lop_rule bool lop_returns_soon(const struct lop_sched *s, const struct lop_task *t, u64 now_ns)
{
	return t->slept_ns && now_ns - t->slept_ns < s->config.hold_ns;
}

/* A task that has run for so long since it woke may be moved to another core by rank (pull.h); the one whose core it takes comes back otherwise. */
#define LOP_LASTS_NS (2 * LOP_MS_NS)

/*
 * A surplus member leaves once it has rested, and the last one no later than it pays to keep it (auto.h):
 *     now - idle_since >= min(T_hold / 10, h_min)        of 10 ms: 1 ms
 * A tenth is ten transitions at most, beside the two of a core that leaves and joins again. What wakes more rarely than that
 * gathers on fewer cores as before.
 */
lop_rule u64 lop_rest_ns(const struct lop_config *c) { return lop_min(c->hold_ns / 10, c->last_hold_ns); }

lop_rule bool lop_has_rested(const struct lop_sched *s, u32 cpu, u64 now_ns)
{
	u64 since_ns = s->idle_since_ns.ns[lop_cpu_index(cpu)];
	return !lop_uses_room(s) || now_ns - lop_min(since_ns, now_ns) >= lop_rest_ns(&s->config);
}
