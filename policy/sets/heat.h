/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "sets.h"
/*
 * Every few minutes the hottest idle high core of a socket swaps with the coolest low core.
 * Tested in: heat. Studied in: none.
 */

lop_rule void lop_note_heat(struct lop_sched *s, struct lop_world *world)
{
	s32 cpu = LOP_NONE;
	int n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(&s->online, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		if (lop_env_temperature_mc(world, (u32)cpu) > s->config.hot_mc)
			lop_cpus_add(&s->heat.hot, (u32)cpu);
		else
			lop_cpus_take(&s->heat.hot, (u32)cpu);
	}
}

/* The CPU of `among` on `socket` with the highest (`hottest`) or lowest temperature; LOP_NONE if there is none. */
lop_subprog s32 lop_extreme(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, const struct lop_cpus *among lop_nonnull, u32 socket, bool hottest)
{
	s32 cpu = LOP_NONE, best = LOP_NONE, best_mc = 0;
	int n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		s32 mc;
		cpu = lop_cpus_next(among, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		if (s->topology.socket[lop_cpu_index(cpu)] != socket)
			continue;
		mc = lop_env_temperature_mc(world, (u32)cpu);
		if (best >= 0 && (hottest ? mc <= best_mc : mc >= best_mc))
			continue;
		best = cpu;
		best_mc = mc;
	}
	return best;
}

/*
 * One swap at most on a socket, with the lock held, and only if it cools: the low core must be cooler, and of the same
 * kind. The high core is claimed first: a waker that took it meanwhile keeps it.
 */
lop_subprog bool lop_swap_cores(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 socket, u64 now_ns)
{
	struct lop_cpus *idle_high = &world->usable, *low = &world->others;
	s32 hottest, coolest;
	lop_cpus_and(idle_high, &s->set[LOP_HIGH].cpus, &s->idle);
	*low = s->open;
	lop_cpus_drop(low, &s->set[LOP_HIGH].cpus);
	lop_cpus_drop(low, &s->set[LOP_GREEN].cpus);
	if (lop_has_reserved(s))
		lop_cpus_drop(low, &s->reserved.cpus);
	lop_cpus_drop(idle_high, &s->set[LOP_HIGH].pinned);
	hottest = lop_extreme(s, world, idle_high, socket, true);
	if (hottest < 0)
		return false;
	lop_cpus_and(low, low, &s->topology.tier_cpus[s->topology.tier[lop_cpu_index(hottest)] & (LOP_MAX_TIERS - 1)]);
	coolest = lop_extreme(s, world, low, socket, false);
	if (coolest < 0 ||
	    lop_env_temperature_mc(world, (u32)hottest) <= lop_env_temperature_mc(world, (u32)coolest) ||
	    !lop_cpus_take(&s->idle, lop_cpu_index((u32)hottest)))
		return false;
	lop_join(s, world, lop_cpu_index((u32)coolest), LOP_HIGH, now_ns);
	lop_leave(s, world, lop_cpu_index((u32)hottest), LOP_HIGH, now_ns);
	lop_cpus_add(&s->idle, lop_cpu_index((u32)hottest));
	s->heat.swaps++;
	return true;
}

/* Swaps nothing while sets are being resized; the next look is soon enough. */
lop_rule bool lop_swap_on_socket(struct lop_sched *s, struct lop_world *world, u32 socket, u64 now_ns)
{
	bool swapped;
	if (!lop_lock(s))
		return false;
	swapped = lop_swap_cores(s, world, socket, now_ns);
	lop_unlock(s);
	return swapped;
}

/*
 * The adapter calls this periodically while anything runs, and when a core passes its limit. A socket may swap a heat
 * period after its last swap, or at once (but at most once a minute) if one of its high cores is hot.
 */
lop_rule void lop_rotate_heat(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	struct lop_cpus *hot_high = &world->usable;
	u32 socket;
	lop_note_heat(s, world);
	lop_for(socket, 0, s->topology.nr_sockets) {
		u64 *swapped_ns = &s->heat.swapped_ns[socket & (LOP_MAX_NODES - 1)];
		u64 wait_ns;
		bool hot;
		lop_cpus_and(hot_high, &s->set[LOP_HIGH].cpus, &s->heat.hot);
		hot = lop_extreme(s, world, hot_high, socket, true) >= 0;
		wait_ns = hot ? LOP_MINUTE_NS : lop_max(s->config.heat_period_ns, LOP_MINUTE_NS);
		if (now_ns - *swapped_ns < wait_ns)
			continue;
		if (lop_swap_on_socket(s, world, socket, now_ns))
			*swapped_ns = now_ns;
	}
	lop_settle(s, world, LOP_NONE, now_ns); /* for callers that found the lock taken */
}
