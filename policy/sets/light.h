/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "pace.h"
/*
 * Where energy-aware scheduling (EAS) ships, or schedutil where that saves, light work runs where EAS would run it, at the speed
 * that schedutil would choose. What a task needs for a moment then costs no more than there, and the high set is for work that lasts. Light are all tasks that
 * sleep now and then, those that hold locks too:
 *     1. heavy is a task that has run for 64 ms without a sleep, or that may not run on all CPUs: the high set has it. Work that nobody
 *        waits for, or that is for the reserved CPU, has its own cores as before.
 *     2. A light task has a home from its wakeup until it sleeps, or has to move:
 *        the CPU where busy power rises least and it fits, as long as no CPU is used by more than four fifths and it is not new;
 *        else the roomiest, an idle one first, then its last one.
 *     3. The clock of green cores is the lowest that gives 5/4 of what the one of them with most demand needs.
 *     4. Every 2 ms there is a look at it, and it is placed again if it is heavy, if it no longer fits while a CPU of a faster kind is
 *        idle, or if another task waits while any is. A look does not end its slice (fair.h).
 * Demand is as the kernel's PELT and util_est have it. `used` is the average of what a task did, with a half-life of 32 ms, of the
 * fastest core; on a slower core its clock is slower, and catches up when the task sleeps. `peak` is what it was when the task slept
 * last, and falls by quarters. A CPU's are sums: `used` of the tasks whose light home it was last, `peak` of the active ones. A sum may
 * exceed what the CPU can give for as long as tasks came together there; busy, it falls to that.
 *     lop_demand() = max(used, peak),    lop_fits() = 5/4 demand <= what the CPU gives at its highest speed
 * Tested in: light, light_shared. Studied in: everything.
 */
#ifndef LOP_HEAVY_NS /* a test that lasts for milliseconds has its own */
#define LOP_HEAVY_NS (64 * LOP_MS_NS) /* two half-lives */
#endif
#define LOP_USED_ALL (1000U << 10)    /* the fastest core, all the time */
#define LOP_HOME_TRIES 16

/* The first CPU of a word that is not 0. It leaves the word. */
lop_rule u32 lop_pop(u64 *cpus)
{
	u32 cpu = lop_lowest_bit(*cpus) & (LOP_LIGHT_CPUS - 1);
	*cpus &= *cpus - 1;
	return cpu;
}

/* used * 2^(-ns / 32 ms), by periods of 2^20 ns as in PELT, and linear within one. */
lop_rule u32 lop_decayed(u32 used, u64 ns)
{
	static const u32 left_after[33] = { 65536, 64132, 62757, 61413, 60097, 58809, 57549, 56316, 55109, 53928, 52773, 51642, 50535, 49452, 48393, 47356, 46341,
					    45348, 44376, 43425, 42495, 41584, 40693, 39821, 38968, 38133, 37316, 36516, 35734, 34968, 34219, 33486, 32768 };
	u64 periods = lop_min(ns >> 20, 1023);
	u32 n = (u32)(periods & 31), part = (u32)(ns >> 10) & 1023;
	u32 left = left_after[n] - (((left_after[n] - left_after[n + 1]) * part) >> 10);
	return (u32)((((u64)used * left) >> 16) >> (periods >> 5));
}

lop_rule u64 lop_since_ns(u64 at_ns, u64 now_ns) { return now_ns - lop_min(at_ns, now_ns); }

/* The same after the CPU was busy for so long: the average of what is not used decays, and so does what is more than all. */
lop_rule u32 lop_after_run(const struct lop_sched *s, u32 used, u32 cpu, u64 ran_ns)
{
	u64 at_full_ns = ran_ns * lop_rate_permille(s, cpu) / 1000;
	if (used > LOP_USED_ALL)
		return LOP_USED_ALL + lop_decayed(used - LOP_USED_ALL, at_full_ns);
	return LOP_USED_ALL - lop_decayed(LOP_USED_ALL - used, at_full_ns);
}

/* An average as of `at_ns` after nothing ran until `began_ns`, and then so long. */
lop_rule u32 lop_after_rest(const struct lop_sched *s, u32 used, u64 at_ns, u64 began_ns, u32 cpu, u64 ran_ns)
{
	return lop_after_run(s, lop_decayed(used, lop_since_ns(at_ns, began_ns)), cpu, ran_ns);
}

lop_rule u32 lop_demand(const struct lop_task *t) { return (u32)lop_max(t->light.used, t->light.peak); }
lop_rule bool lop_fits(const struct lop_sched *s, u32 demand, u32 cpu) { return demand + demand / 4 <= lop_kind_permille(s, cpu) << 10; }

/* What a CPU is used by now. */
lop_subprog u32 lop_used(const struct lop_sched *s lop_nonnull, u32 cpu, u64 now_ns)
{
	u64 passed_ns;
	bool runs = lop_is_home(s, cpu) && lop_set_of(s, cpu) == LOP_GREEN && !lop_cpus_has(&s->idle, cpu);
	cpu = lop_cpu_index(cpu);
	passed_ns = lop_since_ns(s->light.at_ns[cpu], now_ns);
	return (u32)lop_min(runs ? lop_after_run(s, s->light.used[cpu], cpu, passed_ns) : lop_decayed(s->light.used[cpu], passed_ns), LOP_USED_ALL);
}

/* A CPU's demand, by all that is there. */
lop_rule u32 lop_cpu_demand(const struct lop_sched *s, u32 cpu, u64 now_ns) { return (u32)lop_max(lop_used(s, cpu, now_ns), s->pace.load_permille[cpu] << 10); }

/* The same with the task there, or without it. */
lop_rule u32 lop_demand_at(const struct lop_sched *s, const struct lop_task *t, u32 cpu, bool with, u64 now_ns)
{
	u32 used = lop_used(s, cpu, now_ns), own = t->light.counts_at == cpu + 1 ? t->light.used : 0, peak = s->pace.load_permille[cpu] << 10;
	used -= (u32)lop_min(own, used);
	return (u32)lop_min(with ? lop_max(used + t->light.used, peak + t->light.peak) : lop_max(used, peak), LOP_USED_ALL);
}

/* Brings the CPU's average up to date while it is idle, or was until now, and adds what a task brings or takes. */
lop_rule void lop_note_unused(struct lop_sched *s, u32 cpu, s64 more, u64 behind_ns, u64 now_ns)
{
	s64 used = (s64)lop_decayed(s->light.used[cpu], lop_since_ns(s->light.at_ns[cpu], now_ns) + behind_ns) + more;
	s->light.used[cpu] = used < 0 ? 0 : (u32)lop_min((u64)used, ~0U);
	s->light.at_ns[cpu] = now_ns;
}

/* The CPU falls idle, or is put to work: its clock catches up. */
lop_rule void lop_light_idle(struct lop_sched *s, u32 cpu, bool idle, u64 now_ns)
{
	lop_note_unused(s, cpu, 0, idle ? s->light.behind_ns[cpu] : 0, now_ns);
	s->light.behind_ns[cpu] = 0;
}

/* The task's use counts at this CPU from now on; LOP_NONE: at none. One that changes its CPU is not behind any more. */
lop_rule void lop_count_use(struct lop_sched *s, struct lop_task *t, s32 to, u64 now_ns)
{
	u32 from = t->light.counts_at;
	if (from == (u32)(to + 1))
		return;
	if (from)
		lop_note_unused(s, lop_cpu_index(from - 1), -(s64)t->light.used, 0, now_ns);
	if (to >= 0)
		lop_note_unused(s, lop_cpu_index((u32)to), t->light.used, 0, now_ns);
	t->light.counts_at = (u32)(to + 1);
	t->light.behind_ns = 0;
}

/* The rung at which the CPU gives 5/4 of this; where none of its kind does, its highest speed. */
lop_rule u32 lop_light_rung(const struct lop_sched *s, u32 cpu, u32 demand)
{
	u32 rung = lop_rung_for(s, cpu, demand >> 10);
	const struct lop_rung *r = lop_rung_at(s, rung);
	return r->tier == lop_tier_of(s, cpu) && (demand >> 10) <= lop_room_permille_at(r) ? rung : s->config.nr_rungs & (LOP_MAX_RUNGS - 1);
}

/* Green cores that have the CPU's clock and not this speed. */
lop_rule u64 lop_with_other_rung(const struct lop_sched *s, u32 of, u32 rung, u64 green)
{
	u64 others = 0;
	int n;
	lop_for(n, 0, LOP_LIGHT_CPUS) {
		u32 c;
		if (!green)
			break;
		c = lop_pop(&green);
		others |= (u64)(lop_shares_pace(s, of, c) && s->pace.rung[c] != rung) << c;
	}
	return others;
}

/* Sets the speed of the green cores that have the CPU's clock. While another CPU changes the sets, the next event does it. */
lop_subprog bool lop_light_speed(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 of, u64 now_ns)
{
	u64 green = s->set[LOP_GREEN].cpus.word[0] | s->set[LOP_GREEN].pinned.word[0], rest = green;
	u32 most = 0, rung, asked;
	int n;
	of = lop_cpu_index(of);
	lop_for(n, 0, LOP_LIGHT_CPUS) {
		u32 c;
		if (!rest)
			break;
		c = lop_pop(&rest);
		if (lop_shares_pace(s, of, c))
			most = (u32)lop_max(most, lop_cpu_demand(s, c, now_ns));
	}
	rung = lop_light_rung(s, of, most);
	rest = lop_with_other_rung(s, of, rung, green);
	if (!rest || !lop_lock(s))
		return false;
	asked = s->membership.asked;
	lop_for(n, 0, LOP_LIGHT_CPUS) {
		u32 c;
		if (!rest)
			break;
		c = lop_pop(&rest);
		s->pace.rung[c] = rung;
		if (lop_cpus_has(&s->set[LOP_GREEN].cpus, c))
			lop_env_set_changed(world, c, LOP_GREEN);
	}
	lop_unlock(s);
	if (s->membership.asked != asked)
		lop_timer_by(s, world, now_ns, now_ns);
	return true;
}

lop_rule bool lop_is_heavy(const struct lop_sched *s, const struct lop_task *t)
{
	return t->light.ran_ns >= LOP_HEAVY_NS || t->restricted || lop_nobody_waits(s, t) || lop_for_reserved(s, t);
}

/* High cores that are surplus. */
lop_rule u32 lop_surplus(const struct lop_sched *s) { return s->set[LOP_HIGH].size - (u32)lop_min(lop_target(s, LOP_HIGH), s->set[LOP_HIGH].size); }

/* CPUs where a light task may go: homes, and idle ones that the high set can do without. */
lop_subprog u64 lop_light_usable(const struct lop_sched *s lop_nonnull)
{
	u64 high = s->set[LOP_HIGH].cpus.word[0], homes = s->set[LOP_GREEN].pinned.word[0];
	u64 usable = s->open.word[0] & ~(s->taken.word[0] | s->off.word[0] | s->reserved.cpus.word[0] | s->fast.claimed.word[0]);
	usable &= s->idle.word[0] | (homes & ~high);
	return usable & ~(high & (lop_all_if(!lop_surplus(s)) | s->set[LOP_HIGH].pinned.word[0]));
}

/* Some CPU is used by more than four fifths: then nothing is saved by waiting. */
lop_subprog bool lop_any_overused(const struct lop_sched *s lop_nonnull, u64 now_ns)
{
	u64 rest = s->open.word[0] & ~s->set[LOP_HIGH].cpus.word[0];
	bool any = false;
	int n;
	lop_for(n, 0, LOP_LIGHT_CPUS) {
		u32 c;
		if (!rest || any)
			break;
		c = lop_pop(&rest);
		any = !lop_fits(s, lop_cpu_demand(s, c, now_ns), c);
	}
	return any;
}

/* Idle before busy, then one that it fits on, then its last CPU; then the largest idle one, or the busy one with most room. */
lop_rule u64 lop_roominess(const struct lop_sched *s, const struct lop_task *t, u32 cpu, u64 now_ns)
{
	bool idle = lop_cpus_has(&s->idle, cpu), fits = lop_fits(s, lop_demand(t), cpu);
	u64 room = 2 * LOP_USED_ALL + ((u64)lop_kind_permille(s, cpu) << 10) - lop_demand_at(s, t, cpu, true, now_ns);
	return (u64)idle << 50 | (u64)fits << 49 | (u64)(cpu + 1 == t->light.counts_at) << 48 | room;
}

lop_subprog s32 lop_roomiest(const struct lop_sched *s lop_nonnull, const struct lop_task *t lop_nonnull, u64 usable, u64 now_ns)
{
	s32 best = LOP_NONE;
	u64 most = 0;
	int n;
	lop_for(n, 0, LOP_LIGHT_CPUS) {
		u64 room;
		u32 c;
		if (!usable)
			break;
		c = lop_pop(&usable);
		room = lop_roominess(s, t, c, now_ns);
		if (room <= most)
			continue;
		most = room;
		best = (s32)c;
	}
	return best;
}

/* In one clock domain: an idle CPU, its last one first, then the one that was busy last, as it sleeps least deeply; else the one with most room. */
lop_rule u64 lop_suitability(const struct lop_sched *s, const struct lop_task *t, u32 cpu, u32 with)
{
	if (!lop_cpus_has(&s->idle, cpu))
		return LOP_USED_ALL + ((u64)lop_kind_permille(s, cpu) << 10) - with;
	return 1ULL << 60 | (cpu + 1 == t->light.counts_at ? 1ULL << 59 : s->idle_since_ns.ns[cpu] & ((1ULL << 59) - 1));
}

/* The most suitable one of the usable CPUs that are in this clock domain; LOP_NONE: the task fits on none. */
lop_subprog s32 lop_most_suitable(const struct lop_sched *s lop_nonnull, const struct lop_task *t lop_nonnull, u64 usable, u32 domain, u64 now_ns)
{
	s32 best = LOP_NONE;
	u64 most = 0;
	int n;
	lop_for(n, 0, LOP_LIGHT_CPUS) {
		u32 c, with;
		u64 suitable;
		if (!usable)
			break;
		c = lop_pop(&usable);
		if (lop_clock_domain_of(s, c) != domain)
			continue;
		with = lop_demand_at(s, t, c, true, now_ns);
		suitable = lop_suitability(s, t, c, with);
		if (!lop_fits(s, with, c) || suitable <= most)
			continue;
		best = (s32)c;
		most = suitable;
	}
	return best;
}

/*
 * What the power of its clock domain rises by if the task runs on this CPU, as EAS counts it:
 *     cost(rung with it) * (sum + demand) - cost(rung without it) * sum
 * So many high cores as are surplus will not hold the clock up; others cost as much as at the highest speed.
 */
lop_subprog u64 lop_power_rises(const struct lop_sched *s lop_nonnull, const struct lop_task *t lop_nonnull, u32 at, u32 surplus, u64 now_ns)
{
	u32 before = 0, after, high;
	u64 sum = 0, rest = s->open.word[0];
	int n;
	at = lop_cpu_index(at);
	high = s->membership.clock_high[lop_clock_domain_of(s, at)];
	lop_for(n, 0, LOP_LIGHT_CPUS) {
		u32 c, used;
		if (!rest)
			break;
		c = lop_pop(&rest);
		if (lop_clock_domain_of(s, c) != lop_clock_domain_of(s, at))
			continue;
		if (surplus && high && lop_cpus_has(&s->set[LOP_HIGH].cpus, c) && lop_cpus_has(&s->idle, c)) {
			surplus--;
			high--;
		}
		used = lop_demand_at(s, t, c, false, now_ns);
		sum += used & ~1023U; /* less than a thousandth is what rounding left, and decides nothing */
		before = (u32)lop_max(before, used);
	}
	after = (u32)lop_max(before, lop_demand_at(s, t, at, true, now_ns));
	before = s->config.rung_uj[(high ? s->config.nr_rungs : lop_light_rung(s, at, before)) & (LOP_MAX_RUNGS - 1)];
	after = s->config.rung_uj[(high ? s->config.nr_rungs : lop_light_rung(s, at, after)) & (LOP_MAX_RUNGS - 1)];
	return after * (sum + lop_demand(t)) - before * sum;
}

/* In the clock domain where it adds least, of equals where it need not wait; LOP_NONE: it fits nowhere. */
lop_rule s32 lop_least_power(const struct lop_sched *s, const struct lop_task *t, u64 usable, u64 now_ns)
{
	u64 least = LOP_NO_TIME, seen = 0, rest = usable;
	u32 surplus = lop_surplus(s);
	s32 best = LOP_NONE;
	int n;
	lop_for(n, 0, LOP_LIGHT_CPUS) {
		u32 domain;
		u64 rises;
		s32 cpu;
		if (!rest)
			break;
		domain = lop_clock_domain_of(s, lop_pop(&rest));
		if (seen >> (domain & (LOP_LIGHT_CPUS - 1)) & 1)
			continue;
		seen |= 1ULL << (domain & (LOP_LIGHT_CPUS - 1));
		cpu = lop_most_suitable(s, t, usable, domain, now_ns);
		if (cpu < 0)
			continue;
		rises = lop_power_rises(s, t, (u32)cpu, surplus, now_ns) << 1 | !lop_cpus_has(&s->idle, (u32)cpu);
		if (rises >= least)
			continue;
		least = rises;
		best = cpu;
	}
	return best;
}

/* A new task counts as half of what is spare where it starts. */
lop_rule s32 lop_light_cpu(struct lop_sched *s, struct lop_task *t, bool is_new, u64 now_ns)
{
	u64 usable = lop_light_usable(s);
	s32 cpu = LOP_NONE;
	if (!is_new && !lop_any_overused(s, now_ns))
		cpu = lop_least_power(s, t, usable, now_ns);
	if (cpu < 0)
		cpu = lop_roomiest(s, t, usable, now_ns);
	if (cpu >= 0 && is_new) {
		u32 c = lop_cpu_index((u32)cpu), room = lop_kind_permille(s, c) << 10;
		t->light.used = (room - (u32)lop_min(lop_used(s, c, now_ns), room)) / 2;
	}
	return cpu;
}

/* One active task less. The last one to go leaves the home to be closed: another set may have an idle core at once. */
lop_rule void lop_count_out(struct lop_sched *s, u32 cpu)
{
	if (lop_atomic_add(&s->pace.tasks[cpu], -1) == 1)
		lop_cpus_add(&s->light.left, cpu);
}

/*
 * One more active task there. The CPU becomes a home, if it is none, unless the high set wants it by now, or others hold the lock for long.
 * The count comes first: who closes the home meanwhile (lop_close_left_home()) looks at it afterwards.
 */
lop_rule bool lop_enter_light(struct lop_sched *s, struct lop_world *world, u32 cpu, u64 now_ns)
{
	bool open = false;
	u32 n;
	lop_atomic_add(&s->pace.tasks[cpu], 1);
	lop_for(n, 0, LOP_HOME_TRIES) {
		open = lop_is_home(s, cpu);
		if (open)
			break;
		if (!lop_lock(s))
			continue;
		open = lop_cpus_has(&s->open, cpu) &&
		       (!lop_cpus_has(&s->set[LOP_HIGH].cpus, cpu) || (lop_surplus(s) && lop_leave(s, world, cpu, LOP_HIGH, now_ns)));
		if (open && lop_cpus_try_add(&s->set[LOP_GREEN].pinned, cpu))
			s->pace.nr_homes++;
		lop_unlock(s);
		break;
	}
	if (!open)
		lop_count_out(s, cpu);
	return open;
}

/* The task is not active at its home any more. */
lop_rule void lop_leave_light(struct lop_sched *s, struct lop_task *t)
{
	u32 cpu = lop_cpu_index(t->pace.home - 1);
	if (!t->pace.home)
		return;
	t->pace.home = 0;
	lop_atomic_add(&s->pace.load_permille[cpu], -t->pace.taken_permille);
	lop_count_out(s, cpu);
}

/*
 * At each wakeup, and when it has to leave a CPU: a light task gets a home. True: homes have changed, so the sets have to be settled.
 */
lop_subprog bool lop_light_task(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, struct lop_task *t lop_nonnull, u64 now_ns)
{
	struct lop_light_task *d = &t->light;
	bool is_new = !d->at_ns;
	s32 cpu = LOP_NONE;
	lop_leave_light(s, t);
	t->clock_ns = 0;
	t->pace.raised = false;
	d->used = lop_decayed(d->used, lop_since_ns(d->at_ns, now_ns) + (d->ran_ns ? 0 : d->behind_ns));
	d->behind_ns = d->ran_ns ? d->behind_ns : 0;
	d->at_ns = lop_max(now_ns, 1);
	if (!lop_is_heavy(s, t))
		cpu = lop_light_cpu(s, t, is_new, now_ns);
	if (cpu >= 0 && !lop_enter_light(s, world, lop_cpu_index((u32)cpu), now_ns))
		cpu = LOP_NONE;
	lop_count_use(s, t, cpu, now_ns);
	if (cpu < 0)
		return false;
	t->pace.home = lop_cpu_index((u32)cpu) + 1;
	t->pace.epoch = s->pace.epoch[lop_cpu_index((u32)cpu)];
	t->pace.taken_permille = d->peak >> 10;
	lop_atomic_add(&s->pace.load_permille[lop_cpu_index((u32)cpu)], t->pace.taken_permille);
	lop_light_speed(s, world, (u32)cpu, now_ns);
	return true;
}

/* Idle CPUs that a light task could have at once. */
lop_rule u64 lop_light_vacant(const struct lop_sched *s) { return lop_light_usable(s) & s->idle.word[0] & ~s->queues.given.word[0]; }

/* Another task waits for the CPU, and the one that runs there could have an idle one. */
lop_rule bool lop_keeps_one_waiting(const struct lop_sched *s, u32 cpu)
{
	return lop_cpus_has(&s->queues.cpu_waiting, cpu) && lop_light_vacant(s);
}

/* A CPU of a faster kind is idle. */
lop_rule bool lop_faster_is_idle(const struct lop_sched *s, u32 cpu)
{
	u64 faster = 0;
	u32 tier;
	lop_for_few(tier, 0, LOP_MAX_TIERS) faster |= s->topology.tier_cpus[tier].word[0] & lop_all_if(tier < lop_tier_of(s, cpu));
	return lop_light_vacant(s) & faster;
}

/* What it has had of its slice, which is over for one that stops before the look: it yields, or was asked to leave. */
lop_rule u64 lop_had_of_slice_ns(const struct lop_sched *s, const struct lop_light_task *d, u32 cpu, u64 ran_ns)
{
	u64 slice_ns = lop_slice_in_ns(s, lop_cpu_queue(cpu));
	if (ran_ns < LOP_LIGHT_SLICE_NS)
		return slice_ns;
	return d->slice_ns < slice_ns ? d->slice_ns + ran_ns : ran_ns;
}

/*
 * The task ran, and stops or goes on. It is placed again if it is heavy, if it does not fit and a faster CPU is idle, or if it shares
 * a CPU while one is idle.
 */
lop_subprog bool lop_light_ran(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, struct lop_task *t lop_nonnull, u32 cpu, u64 ran_ns)
{
	struct lop_light_task *d = &t->light;
	u64 now_ns = lop_env_now_ns(world), began_ns = now_ns - lop_min(ran_ns, now_ns), behind_ns;
	cpu = lop_cpu_index(cpu);
	behind_ns = ran_ns * (1000 - lop_min(lop_rate_permille(s, cpu), 1000)) / 1000;
	lop_cpus_take_if(&s->light.asked, cpu);
	d->used = lop_after_rest(s, d->used, d->at_ns, began_ns, cpu, ran_ns);
	d->at_ns = lop_max(now_ns, 1);
	d->ran_ns += ran_ns;
	d->slice_ns = lop_had_of_slice_ns(s, d, cpu, ran_ns);
	d->behind_ns += behind_ns;
	s->light.behind_ns[cpu] += behind_ns;
	if (d->counts_at == cpu + 1) {
		s->light.used[cpu] = lop_after_rest(s, s->light.used[cpu], s->light.at_ns[cpu], began_ns, cpu, ran_ns);
		s->light.at_ns[cpu] = now_ns;
	}
	if (t->role == LOP_ROLE_BACKGROUND)
		return lop_light_speed(s, world, cpu, now_ns);
	if (!t->counted || lop_own_cpu(s, t) != (s32)cpu)
		return false;
	if (!lop_is_heavy(s, t) && (lop_fits(s, lop_demand(t), cpu) || !lop_faster_is_idle(s, cpu)) && !lop_keeps_one_waiting(s, cpu))
		return lop_light_speed(s, world, cpu, now_ns);
	t->pace.raised = true;
	lop_count_inactive(s, t, 0, now_ns);
	return true;
}

/* The task sleeps: its peak is what it has used by now, or falls towards it. */
lop_rule void lop_light_blocks(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u64 now_ns)
{
	struct lop_light_task *d = &t->light;
	u32 home = t->pace.home;
	d->peak = d->used >= d->peak ? d->used : d->peak - (d->peak - d->used) / 4;
	d->ran_ns = 0;
	lop_leave_light(s, t);
	if (home)
		lop_light_speed(s, world, home - 1, now_ns);
}

/* The task exits, or leaves the policy. */
lop_rule void lop_light_exits(struct lop_sched *s, struct lop_task *t, u64 now_ns)
{
	lop_leave_light(s, t);
	lop_count_use(s, t, LOP_NONE, now_ns);
}

/*
 * A CPU falls idle. Where a light task runs on a core of no slower kind and another waits, that core is asked to let the former go.
 */
lop_subprog bool lop_light_pulls(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 cpu)
{
	u64 rest = s->queues.cpu_waiting.word[0] & s->set[LOP_GREEN].pinned.word[0] & ~(s->idle.word[0] | s->light.asked.word[0]);
	int n;
	if (!rest || cpu >= LOP_LIGHT_CPUS || !(lop_light_usable(s) & s->idle.word[0] & 1ULL << cpu))
		return false;
	lop_for(n, 0, LOP_LIGHT_CPUS) {
		u32 from;
		if (!rest)
			break;
		from = lop_pop(&rest);
		if (lop_tier_of(s, cpu) < lop_tier_of(s, from))
			continue;
		lop_cpus_add(&s->light.asked, from);
		lop_env_preempt(world, from);
		return true;
	}
	return false;
}

/* At a wakeup: the task gets a home, keeps it or gives it up. True: homes have changed, so the sets have to be settled. */
lop_rule bool lop_find_pace(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u64 now_ns)
{
	return lop_has_light(s) ? lop_light_task(s, world, t, now_ns) : lop_pace_task(s, world, t, now_ns);
}

/* The task ran, and stops or goes on. */
lop_rule void lop_note_ran(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u32 cpu, u64 ran_ns, u64 now_ns)
{
	if (lop_has_light(s))
		lop_light_ran(s, world, t, cpu, ran_ns);
	else
		lop_pace_ran(s, t, cpu, ran_ns, now_ns);
}

/* The task exits, or leaves the policy: it has no home any more. */
lop_rule void lop_pace_exits(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u64 now_ns)
{
	if (lop_has_light(s))
		lop_light_exits(s, t, now_ns);
	else if (lop_has_ladder(s))
		lop_give_home_up(s, world, t, now_ns);
}
