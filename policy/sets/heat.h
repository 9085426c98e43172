/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "sets.h"
/*
 * Every few minutes the hottest idle high core of a socket swaps with the coolest low core.
 * Tested in: heat. Studied in: heat.
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

/*
 * Low CPUs that may take the place of a high one, in a word of CPUs: open ones of no set, where work would be as fast as on a
 * core of its own. So none in a memory domain that is off, none beside a high CPU or on the reserved core, and none
 * that a higher class has.
 */
lop_rule u64 lop_places_for_heat(const struct lop_sched *s, int n)
{
	u64 low = s->open.word[n] & ~s->set[LOP_HIGH].cpus.word[n] & ~s->set[LOP_GREEN].cpus.word[n] & ~s->off.word[n];
	low &= ~s->membership.beside_high.word[n] & ~s->taken.word[n];
	return lop_has_reserved(s) ? low & ~s->reserved.cpus.word[n] & ~s->reserved.beside.word[n] : low;
}

/* Whether temperatures matter now: some core is high, and another one may take its place. */
lop_rule bool lop_is_partial(const struct lop_sched *s)
{
	u64 low = 0;
	int n;
	lop_for_words(n) low |= lop_places_for_heat(s, n);
	return low && s->set[LOP_HIGH].size;
}

/*
 * The CPU of `among` on `socket` with the highest (`hottest`) or lowest temperature; LOP_NONE if there is none. CPUs
 * without a sensor do not count, so they never swap.
 */
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
		if (mc == LOP_NO_TEMPERATURE || (best >= 0 && (hottest ? mc <= best_mc : mc >= best_mc)))
			continue;
		best = cpu;
		best_mc = mc;
	}
	return best;
}

/*
 * One swap at most on a socket, with the lock held, and only if it cools: the low core must be cooler, and of the same
 * kind. The high core is idle, and no task is on its way to it. A waker that takes it meanwhile goes elsewhere: lop_came_too_late().
 */
lop_subprog bool lop_swap_cores(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 socket, u64 now_ns)
{
	struct lop_cpus *idle_high = &world->usable, *low = &world->others;
	s32 hottest, coolest;
	int n;
	lop_cpus_and(idle_high, &s->set[LOP_HIGH].cpus, &s->idle);
	lop_for_words(n) low->word[n] = lop_places_for_heat(s, n);
	lop_cpus_drop(idle_high, &s->set[LOP_HIGH].pinned);
	hottest = lop_extreme(s, world, idle_high, socket, true);
	if (hottest < 0 || (lop_has_rank(s) && lop_is_claimed(s, lop_cpu_index((u32)hottest))))
		return false;
	lop_cpus_and(low, low, &s->topology.tier_cpus[s->topology.tier[lop_cpu_index(hottest)] & (LOP_MAX_TIERS - 1)]);
	coolest = lop_extreme(s, world, low, socket, false);
	if (coolest < 0 || lop_env_temperature_mc(world, (u32)hottest) <= lop_env_temperature_mc(world, (u32)coolest))
		return false;
	lop_join(s, world, lop_cpu_index((u32)coolest), LOP_HIGH, now_ns);
	lop_leave(s, world, lop_cpu_index((u32)hottest), LOP_HIGH, now_ns);
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
 * The adapter calls this whenever it has read temperatures. A socket may swap a heat
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
