/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "demand.h"
/*
 * Where woken tasks migrate too often, the set has room beyond demand for at least a second (our choice).
 * Threads that take turns at a lock are never all active, so the set has fewer cores than threads. Each finds its last
 * core taken when it wakes, and pays for a migration.
 * Tested in: room. Studied in: hybrid-laptop.
 */
#define LOP_ROOM_NS 1000000000ULL

/*
 * The task comes back while its last core would still be high, had it become surplus when the task went to sleep: after that
 * another high core is as good.
 *     now - slept < T_hold
 */
lop_rule bool lop_returns_soon(const struct lop_sched *s, const struct lop_task *t, u64 now_ns)
{
	return t->slept_ns && now_ns - t->slept_ns < s->config.hold_ns;
}

/*
 * A set is tight if migrations of woken tasks cost more than a share of T_hold (auto.h chooses it).
 *     moves * migration / T_hold > share
 * Worked example: with 19 us per migration, a T_hold of 10 ms and 1 %, from the sixth wakeup within T_hold that changed
 * its core.
 */
lop_rule bool lop_is_tight(const struct lop_config *c, u32 moves) { return moves * c->migration_ns * 1000 > c->hold_ns * c->room_permille; }

/*
 * A task that returns soon was placed on a core other than its last. A tight set gets one more member, for a second at
 * least.
 */
lop_subprog bool lop_note_changed_core(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u64 now_ns)
{
	if (now_ns - s->room.since_ns >= s->config.hold_ns) {
		s->room.since_ns = now_ns;
		s->room.moves = 0;
	}
	lop_atomic_add(&s->room.moves, 1);
	if (!lop_is_tight(&s->config, s->room.moves) || s->set[LOP_HIGH].size >= lop_most_members(s))
		return false;
	s->room.moves = 0;
	lop_atomic_add(&s->room.members, 1);
	s->room.ends_ns = now_ns + LOP_ROOM_NS;
	lop_timer_by(s, world, s->room.ends_ns, now_ns);
	return true;
}

/*
 * Called by the timer: after the second there is one member less. Within T_hold it shows whether the set is tight
 * again.
 */
lop_rule void lop_end_room(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	u32 before = lop_target(s, LOP_HIGH);
	if (!s->room.members)
		return;
	if (now_ns < s->room.ends_ns) {
		lop_timer_by(s, world, s->room.ends_ns, now_ns);
		return;
	}
	lop_atomic_add(&s->room.members, -1);
	s->room.ends_ns = now_ns + LOP_ROOM_NS;
	if (s->room.members)
		lop_timer_by(s, world, s->room.ends_ns, now_ns);
	lop_target_fell(&s->set[LOP_HIGH], before, lop_target(s, LOP_HIGH), now_ns);
}
