/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "fair.h"
#include "green.h"
#include "sets.h"
/*
 * Work that a clock paces runs on the kind of core and at the speed that are cheapest and still done in time.
 * Frames, audio and timers come at their own times, however fast each is done. Nobody waits for them, so a second is
 * worth nothing there, and energy per work decides. A task that wakes by itself at equal intervals may be of that kind, or
 * may compute and then sleep for as long each time. That shows when it is tried: it gets a home in the green set, and goes
 * back if its wakeups come later there, or if it is not done before its next one. Whom it wakes has the same clock.
 * Tested in: pace, clock. Studied in: everything.
 */
#define LOP_NEED_FALLS 64 /* wakes: what a task needs falls to 1/e within so many */
#ifndef LOP_STEADY_WAKES /* a test that lasts for milliseconds has its own */
#define LOP_STEADY_WAKES 8
#define LOP_OFF_MOST_PERMILLE 100 /* of the interval: a wakeup that is further off begins another one */
#define LOP_PENALTY_NS 1000000000ULL
#define LOP_HOME_ENDS_NS 10000000000ULL
#endif
#define LOP_PENALTY_MOST_NS (60 * LOP_PENALTY_NS)
#define LOP_EXIT_TRIES 1000

/* The cheapest of the points that are cheaper than `limit_uj` and faster than the rungs of their kind; of equals the faster. */
lop_rule s32 lop_next_rung(const struct lop_config *c, const struct lop_point *points, u32 nr, u64 limit_uj)
{
	u64 best_uj = limit_uj;
	s32 best = LOP_NONE;
	u32 n, r;
	lop_for(n, 0, nr) {
		u64 cost_uj = lop_cost_uj(&points[n], 0);
		bool faster = true;
		lop_for(r, 0, c->nr_rungs)
			faster &= c->rung[r].tier != points[n].at.tier || c->rung[r].rate_permille < points[n].at.rate_permille;
		if (!faster || cost_uj > best_uj || (best < 0 && cost_uj == best_uj))
			continue;
		if (cost_uj == best_uj && points[best].at.rate_permille >= points[n].at.rate_permille)
			continue;
		best = (s32)n;
		best_uj = cost_uj;
	}
	return best;
}

/*
 * The ladder: kinds and speeds that cost less than the fastest core at its highest speed, by cost, where a second
 * costs nothing, whatever the goal: nobody waits for paced work. A speed of a kind is
 * left out if a faster one of it costs less. Empty where nothing is cheaper: then no task is paced.
 */
lop_rule void lop_make_ladder(struct lop_config *c, const struct lop_point *points, u32 nr)
{
	u32 n, top = 0;
	s32 next;
	c->nr_rungs = 0;
	lop_for(n, 0, nr)
		if (points[n].at.rate_permille > points[top].at.rate_permille)
			top = n;
	lop_for(n, 0, LOP_MAX_RUNGS - 1) {
		next = nr ? lop_next_rung(c, points, nr, lop_cost_uj(&points[top], 0)) : LOP_NONE;
		if (next < 0)
			break;
		c->rung_uj[c->nr_rungs] = (u32)lop_cost_uj(&points[next], 0);
		c->rung[c->nr_rungs++] = points[next].at;
	}
	c->rung[c->nr_rungs] = (struct lop_rung){ .speed_permille = 1000, .rate_permille = 1000 };
	c->rung_uj[c->nr_rungs] = nr ? (u32)lop_cost_uj(&points[top], 0) : 0;
	c->green = c->nr_rungs ? LOP_GREEN_WORK_PACED : LOP_GREEN_WORK_NONE;
}

lop_rule const struct lop_rung *lop_rung_at(const struct lop_sched *s, u32 rung) { return &s->config.rung[rung & (LOP_MAX_RUNGS - 1)]; }

lop_rule u32 lop_clock_domain_of(const struct lop_sched *s, u32 cpu) { return lop_cpu_index(s->topology.clock_domain[lop_cpu_index(cpu)]); }

/* How fast the CPU's kind works at its highest speed, of the fastest kind, x 1000. */
lop_rule u32 lop_kind_permille(const struct lop_sched *s, u32 cpu)
{
	u32 kind = s->topology.tier_permille[lop_tier_of(s, cpu)];
	return kind ? kind : 1000;
}

/*
 * Of the fastest core, x 1000: how fast `cpu` works. A home works at its rung, unless a high core has the same clock. If it
 * counted as slow then, its tasks would seem to need less than they do, and be late once that core is not high any more.
 */
lop_rule u32 lop_rate_permille(const struct lop_sched *s, u32 cpu)
{
	u32 kind = lop_kind_permille(s, cpu);
	if (lop_set_of(s, cpu) == LOP_GREEN && !s->membership.clock_high[lop_clock_domain_of(s, cpu)])
		return (u32)lop_min(lop_rung_at(s, s->pace.rung[lop_cpu_index(cpu)])->rate_permille, kind);
	return kind;
}

/* What fits on a core of this rate, x 1000 of the fastest. */
lop_rule u32 lop_room_permille_at(const struct lop_rung *r) { return r->rate_permille * LOP_BUSY_MOST_PERMILLE / 1000; }

/* The first rung of the CPU's kind at which it can carry the load; the last of that kind if none can. */
lop_subprog u32 lop_rung_for(const struct lop_sched *s lop_nonnull, u32 cpu, u32 load_permille)
{
	u32 n, rung = 0;
	bool found = false;
	lop_for(n, 0, LOP_MAX_RUNGS) {
		const struct lop_rung *r = lop_rung_at(s, n);
		if (n >= s->config.nr_rungs)
			break;
		if (r->tier != lop_tier_of(s, cpu) || found)
			continue;
		rung = n;
		found = load_permille <= lop_room_permille_at(r);
	}
	return rung;
}

/* Time that a task can wait in each interval: interval * (1 - need / rate). */
lop_rule u64 lop_slack_ns(const struct lop_task *t, const struct lop_rung *r)
{
	u64 runs_ns = t->pace.interval_ns * t->pace.need_permille / lop_max(r->rate_permille, 1);
	return t->pace.interval_ns - lop_min(runs_ns, t->pace.interval_ns);
}

/*
 * Whether a home has room for one more task at this rung: it is busy for four fifths of the time at most, and each of
 * its tasks can wait for a slice of every other one.
 *     load + need <= 0.8 * rate,    slack >= tasks * slice_max
 */
lop_rule bool lop_has_room(const struct lop_sched *s, const struct lop_task *t, u32 cpu, const struct lop_rung *r)
{
	u32 c = lop_cpu_index(cpu);
	return s->pace.load_permille[c] + t->pace.need_permille <= lop_room_permille_at(r) &&
	       lop_min(s->pace.slack_ns[c], lop_slack_ns(t, r)) >= s->pace.tasks[c] * s->config.slice_max_ns;
}

/*
 * An idle high core of this kind that the high set can do without. The task itself asks for none, as it is not counted
 * yet, so there is one if all cores are high and wait for paced tasks.
 */
lop_rule s32 lop_idle_surplus(const struct lop_sched *s, const struct lop_cpus *kind)
{
	const struct lop_members *high = &s->set[LOP_HIGH];
	s32 cpu = LOP_NONE, found = LOP_NONE;
	int n;
	if (high->size <= lop_target(s, LOP_HIGH))
		return LOP_NONE;
	lop_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(&high->cpus, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		if (!lop_cpus_has(kind, (u32)cpu) || !lop_cpus_has(&s->idle, (u32)cpu) || lop_cpus_has(&high->pinned, (u32)cpu) ||
		    (lop_has_rank(s) && lop_is_claimed(s, lop_cpu_index((u32)cpu))))
			continue;
		found = cpu;
		break;
	}
	return found;
}

/* A home of this kind that has room for the task; else a core that may become one; LOP_NONE. */
lop_subprog s32 lop_home_at(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, const struct lop_task *t lop_nonnull, u32 rung)
{
	const struct lop_rung *r = lop_rung_at(s, rung);
	const struct lop_cpus *kind = &s->topology.tier_cpus[r->tier & (LOP_MAX_TIERS - 1)];
	s32 cpu = LOP_NONE;
	int n;
	if (t->pace.need_permille > lop_room_permille_at(r))
		return LOP_NONE;
	lop_cpus_and(&world->usable, kind, &s->set[LOP_GREEN].pinned);
	lop_cpus_drop(&world->usable, &s->taken);
	lop_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(&world->usable, (u32)(cpu + 1));
		if (cpu < 0 || lop_has_room(s, t, (u32)cpu, r))
			break;
	}
	if (cpu < 0) { /* one that has just ceased to be a home, or was for work that nobody waits for */
		lop_cpus_and(&world->usable, kind, &s->idle);
		cpu = lop_cpus_first(&world->usable, &s->set[LOP_GREEN].cpus, &s->set[LOP_GREEN].pinned);
	}
	if (cpu >= 0)
		return cpu;
	lop_cpus_and(&world->usable, kind, &s->open);
	lop_cpus_drop(&world->usable, &s->set[LOP_HIGH].cpus);
	lop_cpus_drop(&world->usable, &s->set[LOP_GREEN].pinned);
	lop_cpus_drop(&world->usable, &s->taken);
	if (lop_has_domains(s))
		lop_cpus_drop(&world->usable, &s->off);
	if (lop_has_reserved(s))
		lop_cpus_drop(&world->usable, &s->reserved.cpus);
	cpu = lop_is_full(s) ? LOP_NONE : lop_joiner(s, world, LOP_GREEN, &world->usable, LOP_NONE);
	if (cpu < 0) /* as above, and busy */
		cpu = lop_cpus_first(kind, &s->set[LOP_GREEN].cpus, &s->set[LOP_GREEN].pinned);
	return cpu >= 0 ? cpu : lop_idle_surplus(s, kind);
}

/* Homes of the CPU's kind that have its clock. */
lop_rule bool lop_shares_pace(const struct lop_sched *s, u32 cpu, u32 home)
{
	return lop_clock_domain_of(s, home) == lop_clock_domain_of(s, cpu) && lop_tier_of(s, home) == lop_tier_of(s, cpu);
}

/* Sets the speed of the homes that have the CPU's clock by the one with most load: that sets the clock. With the lock held. */
lop_subprog bool lop_set_pace(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u32 cpu)
{
	const struct lop_cpus *homes = &s->set[LOP_GREEN].pinned;
	u32 most_permille = 0, rung;
	s32 home = LOP_NONE;
	int n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		home = lop_cpus_next(homes, (u32)(home + 1));
		if (home < 0)
			break;
		if (lop_shares_pace(s, cpu, (u32)home))
			most_permille = lop_max(most_permille, s->pace.load_permille[lop_cpu_index((u32)home)]);
	}
	rung = lop_rung_for(s, cpu, most_permille);
	home = LOP_NONE;
	lop_for(n, 0, LOP_MAX_CPUS) {
		home = lop_cpus_next(homes, (u32)(home + 1));
		if (home < 0)
			break;
		if (!lop_shares_pace(s, cpu, (u32)home) || s->pace.rung[lop_cpu_index((u32)home)] == rung)
			continue;
		s->pace.rung[lop_cpu_index((u32)home)] = rung;
		if (lop_cpus_has(&s->set[LOP_GREEN].cpus, (u32)home))
			lop_env_set_changed(world, (u32)home, LOP_GREEN);
	}
	return true;
}

/* The task has no home any more. The last one to go closes it. With the lock held. */
lop_rule void lop_leave_home(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u64 now_ns)
{
	u32 cpu = lop_cpu_index(t->pace.home - 1), target = lop_target(s, LOP_GREEN);
	bool known = lop_keeps_home(s, t);
	t->pace.home = 0;
	t->pace.ends = false;
	if (!known)
		return;
	lop_assert(s->pace.tasks[cpu] > 0);
	s->pace.load_permille[cpu] -= t->pace.taken_permille;
	if (!--s->pace.tasks[cpu])
		lop_close_home(s, cpu);
	lop_set_pace(s, world, cpu);
	lop_target_fell(&s->set[LOP_GREEN], target, lop_target(s, LOP_GREEN), now_ns);
}

/* With the lock held. */
lop_rule void lop_enter_home(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u32 cpu, u64 now_ns)
{
	u64 slack_ns;
	cpu = lop_cpu_index(cpu);
	if (lop_set_of(s, cpu) == LOP_HIGH)
		lop_leave(s, world, cpu, LOP_HIGH, now_ns);
	if (lop_cpus_try_add(&s->set[LOP_GREEN].pinned, cpu)) {
		s->pace.nr_homes++;
		s->pace.slack_ns[cpu] = LOP_NO_TIME;
		if (lop_is_green(s, cpu))
			lop_clear(s, world, cpu);
	}
	t->pace.home = cpu + 1;
	t->pace.epoch = s->pace.epoch[cpu];
	t->pace.taken_permille = t->pace.need_permille;
	s->pace.woke_ns[cpu] = now_ns;
	lop_timer_by(s, world, now_ns + LOP_HOME_ENDS_NS, now_ns);
	s->pace.tasks[cpu]++;
	s->pace.load_permille[cpu] += t->pace.need_permille;
	lop_set_pace(s, world, cpu);
	slack_ns = lop_slack_ns(t, lop_rung_at(s, s->pace.rung[cpu]));
	s->pace.slack_ns[cpu] = lop_min(s->pace.slack_ns[cpu], slack_ns);
}

/* Finds the task the cheapest home, or takes its home away. False: another CPU changes the sets, so ask again. */
lop_subprog bool lop_find_home(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, struct lop_task *t lop_nonnull, bool wanted, u64 now_ns)
{
	bool moves = t->pace.home;
	s32 cpu = LOP_NONE;
	u32 rung;
	if (!lop_lock(s))
		return false;
	lop_leave_home(s, world, t, now_ns);
	lop_for(rung, 0, LOP_MAX_RUNGS) {
		if (!wanted || rung >= s->config.nr_rungs)
			break;
		cpu = lop_home_at(s, world, t, rung);
		if (cpu >= 0)
			break;
	}
	if (cpu >= 0)
		lop_enter_home(s, world, t, (u32)cpu, now_ns);
	else if (wanted)
		t->pace.not_before_ns = now_ns + LOP_PENALTY_NS;
	t->pace.raised &= cpu >= 0; /* a late task that moves is still late */
	if (cpu >= 0 && !moves) { /* a task that moves keeps its clock */
		t->pace.since_ns = t->pace.clock_ns;
		t->pace.steady = 0;
	}
	lop_unlock(s);
	return true;
}

/* The task is not what it was tried as. It is not tried again for a second, and twice as long each time. */
lop_rule void lop_end_pace(struct lop_task *t, u64 now_ns)
{
	struct lop_paced *p = &t->pace;
	p->ends = true;
	p->steady = 0;
	p->penalty_ns = lop_clamp(2 * p->penalty_ns, LOP_PENALTY_NS, LOP_PENALTY_MOST_NS);
	p->not_before_ns = now_ns + p->penalty_ns;
}

/*
 * A clock wakes a task that has a home. The clock goes on as before if its wakeups come as they did:
 *     now - since <= (1.02 * wakeups + 0.1) * interval
 * Worked example: with a cycle of 10 ms, a task that computes for 3 ms and then sleeps for 7 takes 6 ms at half the
 * speed. Its next wakeup is 3 ms late, so that it was waiting for the CPU.
 */
lop_rule void lop_watch_clock(struct lop_task *t, u64 now_ns)
{
	struct lop_paced *p = &t->pace;
	u64 passed_ns = now_ns - p->since_ns, n = ++p->steady;
	if (passed_ns > n * p->interval_ns + n * p->interval_ns / 50 + p->interval_ns / 10) {
		lop_end_pace(t, now_ns);
	} else if (n == 8 * LOP_STEADY_WAKES) {
		p->interval_ns = passed_ns / n;
		p->since_ns = now_ns;
		p->steady = 0;
		p->penalty_ns = 0;
	}
}

/*
 * A clock wakes another task. It is steady while its interval is off by a tenth of the mean at most. What it needs is its
 * work over its interval; this rises at once and falls slowly.
 */
lop_rule void lop_follow_interval(struct lop_task *t, u64 interval_ns)
{
	struct lop_paced *p = &t->pace;
	u64 off_ns = lop_max(interval_ns, p->interval_ns) - lop_min(interval_ns, p->interval_ns);
	if (1000 * off_ns > LOP_OFF_MOST_PERMILLE * p->interval_ns) {
		p->steady = 0;
		p->interval_ns = interval_ns;
		p->need_permille = 0;
		return;
	}
	p->steady++;
	off_ns /= LOP_STEADY_WAKES;
	p->interval_ns = interval_ns > p->interval_ns ? p->interval_ns + off_ns : p->interval_ns - off_ns;
}

/* A task of steady interval that sleeps for a fifth of it, and was not found to be something else. */
lop_rule bool lop_may_be_paced(const struct lop_task *t, u64 now_ns)
{
	return t->pace.steady >= LOP_STEADY_WAKES && t->pace.need_permille <= LOP_BUSY_MOST_PERMILLE && now_ns >= t->pace.not_before_ns &&
	       !t->restricted && !t->system;
}

/* The home no longer fits: the task needs a tenth more than it counts for there, or a quarter less. */
lop_rule bool lop_has_outgrown(const struct lop_task *t)
{
	return 10 * t->pace.need_permille > 11 * t->pace.taken_permille || 4 * t->pace.need_permille < 3 * t->pace.taken_permille;
}

/*
 * At each wakeup. One by a task that has no clock belongs to the cycle that the last one by a clock began. True: homes have
 * changed, so the sets have to be settled.
 * A chain has until its clock comes again, and who is woken last has what is left. Woken when it should be done already, it runs
 * high in this cycle.
 *     need = work / (interval - offset)
 */
lop_subprog bool lop_pace_task(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, struct lop_task *t lop_nonnull, u64 now_ns)
{
	struct lop_paced *p = &t->pace;
	u64 clock_ns = t->clock_ns, interval_ns, need_permille;
	bool paced, first = !p->clock_ns;
	t->clock_ns = 0;
	if (!lop_keeps_home(s, t))
		p->home = 0;
	if (clock_ns <= p->clock_ns)
		return p->ends && lop_find_home(s, world, t, false, now_ns);
	interval_ns = clock_ns - p->clock_ns;
	need_permille = lop_min(1000 * p->work_ns / lop_max(interval_ns - lop_min(p->offset_ns, interval_ns), 1), 1000);
	p->work_ns = 0;
	p->clock_ns = clock_ns;
	p->offset_ns = now_ns - lop_min(clock_ns, now_ns);
	p->raised = p->home && now_ns >= lop_should_be_done_ns(t);
	if (first)
		return false;
	if (!p->home)
		lop_follow_interval(t, interval_ns);
	else if (!p->ends)
		lop_watch_clock(t, clock_ns);
	if (p->home)
		s->pace.woke_ns[lop_cpu_index(p->home - 1)] = now_ns;
	p->need_permille = (u32)lop_max(need_permille, p->need_permille - p->need_permille / LOP_NEED_FALLS);
	paced = p->home ? !p->ends && !t->restricted : lop_may_be_paced(t, now_ns);
	if (p->home ? paced && !lop_has_outgrown(t) : !paced)
		return false;
	return lop_find_home(s, world, t, paced, now_ns);
}

/*
 * The task ran, and stops or goes on. If it is not done after four fifths of the interval it takes the rest of its cycle
 * high: it is not counted any more, so that it is woken anew, as work that somebody waits for. One that is not done
 * when its clock comes again has no home from now on.
 */
lop_rule void lop_pace_ran(struct lop_sched *s, struct lop_task *t, u32 cpu, u64 ran_ns, u64 now_ns)
{
	struct lop_paced *p = &t->pace;
	u64 passed_ns = now_ns - p->clock_ns;
	bool was_paced = t->role == LOP_ROLE_AT_HOME && lop_has_home(s, t);
	p->work_ns += ran_ns * lop_rate_permille(s, cpu) / 1000;
	if (!p->home || p->ends)
		return;
	p->raised |= now_ns >= lop_should_be_done_ns(t);
	if (passed_ns > p->interval_ns)
		lop_end_pace(t, now_ns);
	if (was_paced && (p->raised || p->ends))
		lop_count_inactive(s, t, 0, now_ns);
}

/*
 * The timer: a home ends when none of its tasks has woken for 10 s. They may sleep for hours, and have others once they wake.
 */
lop_subprog bool lop_end_quiet_homes(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u64 now_ns)
{
	s32 cpu = LOP_NONE;
	int n;
	if (lop_lock(s)) {
		lop_for(n, 0, LOP_MAX_CPUS) {
			cpu = lop_cpus_next(&s->set[LOP_GREEN].pinned, (u32)(cpu + 1));
			if (cpu < 0)
				break;
			if (now_ns - s->pace.woke_ns[lop_cpu_index((u32)cpu)] < LOP_HOME_ENDS_NS)
				continue;
			lop_target_fell(&s->set[LOP_GREEN], s->pace.nr_homes, s->pace.nr_homes - 1, now_ns);
			lop_close_home(s, lop_cpu_index((u32)cpu));
			lop_set_pace(s, world, lop_cpu_index((u32)cpu));
		}
		lop_unlock(s);
	}
	return s->pace.nr_homes && lop_timer_by(s, world, now_ns + LOP_HOME_ENDS_NS, now_ns);
}

/*
 * The task has no home from now on. If it could not get the lock, what it counts for would stay until its home ends:
 * so it tries again, as another CPU has the lock for a moment only.
 */
lop_rule void lop_give_home_up(struct lop_sched *s, struct lop_world *world, struct lop_task *t, u64 now_ns)
{
	u32 n;
	if (!t->pace.home)
		return;
	lop_for(n, 0, LOP_EXIT_TRIES)
		if (lop_find_home(s, world, t, false, now_ns))
			break;
}
